# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Watches survive what networks and servers do, shown with a double of the client that follows a script."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils import watching
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import ListResult
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube_errors import (
    Absent,
    Asked,
    Forbidden,
    Gone,
    KubeError,
    Unreachable,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.watching import Watched, WatchSet

Object = dict[str, Any]
ASKED = Asked("list", "pods")
PODS = Watched("Pod", "v1", "team-a", required=True)


def pod(name: str, version: int = 1, **more: Any) -> Object:
    return {"metadata": {"name": name, "namespace": "team-a", "resourceVersion": str(version)}, **more}


class ScriptedKube:
    """A double of the API client: each list and each watch takes the next step of its script, then blocks."""

    def __init__(self, lists: list[Any], watches: list[Any]) -> None:
        self._lists, self._watches = lists, watches
        self.versions: list[str] = []
        self.listed = 0
        self.idle = threading.Event()

    def list_all(self, *_args: Any, trim: Any = None, **_more: Any) -> ListResult:
        self.listed += 1
        step = self._lists.pop(0)
        if isinstance(step, Exception):
            raise step
        return ListResult([trim(one) if trim else one for one in step], str(100 * self.listed))

    def watch(self, *_args: Any, resource_version: str, **_more: Any) -> Iterator[tuple[str, Object]]:
        self.versions.append(resource_version)
        if not self._watches:
            self.idle.set()
            threading.Event().wait(30)
            return
        for step in self._watches.pop(0):
            if isinstance(step, Exception):
                raise step
            yield step


def started(
    lists: list[Any], watches: list[Any], kinds: tuple[Watched, ...] = (PODS,), **more: Any
) -> tuple[ScriptedKube, WatchSet]:
    kube = ScriptedKube(lists, watches)
    watches_of = WatchSet(kube, kinds, **more)  # type: ignore[arg-type]  # the double has what is used
    watches_of.start(5)
    return kube, watches_of


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "FIRST_PAUSE", 0.0)
    monkeypatch.setattr(watching, "LONGEST_PAUSE", 0.0)


def names(watches: WatchSet) -> list[str]:
    return sorted(one["metadata"]["name"] for one in watches.objects()["pods"])


def test_a_list_and_what_came_after_it() -> None:
    events = [("ADDED", pod("b", 101)), ("MODIFIED", pod("a", 102, status="new")), ("DELETED", pod("b", 103))]
    kube, watches = started([[pod("a")]], [events])
    assert kube.idle.wait(5)
    assert names(watches) == ["a"]
    assert watches.objects()["pods"][0]["status"] == "new"
    assert kube.versions == ["100", "103"], "a watch that ends is taken up where it ended"
    assert watches.kinds() == {"pods": {"state": "observed", "detail": ""}}


def test_bookmarks_move_the_version_on_and_change_nothing() -> None:
    kube, watches = started([[pod("a")]], [[("BOOKMARK", {"metadata": {"resourceVersion": "150"}})]])
    assert kube.idle.wait(5)
    assert (kube.versions, names(watches)) == (["100", "150"], ["a"])


def test_a_version_that_is_too_old_is_listed_anew() -> None:
    kube, watches = started(
        [[pod("a"), pod("gone")], [pod("a"), pod("c")]], [[Gone("too old", asked=ASKED, status=410)]]
    )
    assert kube.idle.wait(5)
    assert (names(watches), kube.listed, watches.restarts) == (["a", "c"], 2, 1)


@pytest.mark.parametrize(
    "error",
    [
        Unreachable("connection reset", asked=ASKED),
        KubeError("starting", asked=ASKED, status=503),
        KubeError("bug", asked=ASKED, status=500),
    ],
)
def test_a_broken_connection_is_taken_up_again(error: KubeError) -> None:
    kube, watches = started([[pod("a")]], [[("ADDED", pod("b", 101)), error], [error], [("ADDED", pod("c", 102))]])
    assert kube.idle.wait(5)
    assert (names(watches), kube.listed) == (["a", "b", "c"], 1)
    assert kube.versions == ["100", "101", "101", "102"]


def test_a_server_that_is_not_up_yet_is_asked_again() -> None:
    kube, watches = started([Unreachable("refused", asked=ASKED), [pod("a")]], [], kinds=(Watched("Pod", "v1"),))
    assert kube.idle.wait(5)
    assert names(watches) == ["a"]


@pytest.mark.parametrize(
    ("error", "state"),
    [(Forbidden("no", asked=ASKED, status=403), "forbidden"), (Absent("no", asked=ASKED, status=404), "absent")],
)
def test_an_optional_kind_may_be_missing(error: KubeError, state: str) -> None:
    _kube, watches = started([error], [], kinds=(Watched("Pod", "v1"),))
    assert watches.kinds()["pods"]["state"] == state
    assert watches.kinds()["pods"]["detail"]
    assert watches.objects().get("pods", ()) == ()
    assert ("pods" in watches.objects()) == (state == "absent"), "what is forbidden is unknown, what is absent is empty"


def test_a_required_kind_that_is_forbidden_ends_it() -> None:
    with pytest.raises(Forbidden):
        started([Forbidden("no", asked=ASKED, status=403)], [])


def test_a_wait_ends_with_a_change() -> None:
    kube, watches = started([[pod("a")]], [[("ADDED", pod("b", 101))]])
    assert kube.idle.wait(5)
    assert watches.wait(5)
    assert not watches.wait(0), "what was seen is not told twice"


def test_objects_are_trimmed_as_they_come() -> None:
    kube, watches = started(
        [[pod("a", big=1)]],
        [[("ADDED", pod("b", 101, big=1))]],
        trim={"pods": lambda one: {"metadata": one["metadata"]}},
    )
    assert kube.idle.wait(5)
    assert all("big" not in one for one in watches.objects()["pods"])
    watches.stop()


def test_a_kind_may_be_listed_long_before_it_is_followed() -> None:
    kube = ScriptedKube([[pod("a")]], [[("ADDED", pod("b", 101))]])
    watches = WatchSet(kube, (PODS,))  # type: ignore[arg-type]  # the double has what is used
    watches.start(5, follow=False)
    assert (names(watches), kube.versions) == (["a"], [])
    watches.follow(but=("pods",))
    assert kube.versions == []
    watches.follow()
    watches.follow()
    assert kube.idle.wait(5)
    assert (names(watches), kube.versions) == (["a", "b"], ["100", "101"]), "from where the list ended, and once"
    assert kube.listed == 1


def test_a_kind_may_be_added_and_is_never_listed_twice() -> None:
    kube, watches = started([[pod("a")], [pod("e")]], [])
    assert watches.add([PODS, Watched("Event", "v1", "team-a")], 5)
    assert not watches.add([PODS], 5)
    assert [one["metadata"]["name"] for one in watches.objects()["events"]] == ["e"]
    assert kube.listed == 2


def test_a_kind_that_is_not_there_is_not_followed() -> None:
    kube = ScriptedKube([Absent("no", asked=ASKED, status=404)], [])
    watches = WatchSet(kube, (Watched("Pod", "v1"),))  # type: ignore[arg-type]  # the double has what is used
    watches.start(5, follow=False)
    watches.follow()
    assert watches.kinds()["pods"]["state"] == "absent"
    assert kube.versions == []
