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
        self.listed = self.probed = 0
        self.probes: list[Any] = []
        self.idle = threading.Event()

    def list_all(self, *_args: Any, trim: Any = None, **_more: Any) -> ListResult:
        self.listed += 1
        step = self._lists.pop(0)
        if isinstance(step, Exception):
            raise step
        return ListResult([trim(one) if trim else one for one in step], str(100 * self.listed))

    def serves(self) -> bool:
        self.probed += 1
        if not self.probes:
            return True
        step = self.probes.pop(0)
        if isinstance(step, Exception):
            raise step
        return bool(step)

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


REFUSED = Unreachable("refused", asked=ASKED)


def test_one_thread_asks_for_all_whether_the_server_is_back() -> None:
    kube, watches = started([[pod("a")]], [[REFUSED]])
    assert kube.idle.wait(5)
    assert (kube.probed, kube.listed, kube.versions) == (1, 1, ["100", "100"])
    kube, watches = started([[pod("a")]], [])
    assert kube.idle.wait(5)
    kube.probes, kube.probed = [REFUSED, False, Unreachable("no route", asked=ASKED), True], 0
    watches._await_server(0.0)
    assert kube.probed == 4
    watches._answered_at += 1000
    watches._await_server(0.0)
    assert kube.probed == 4, "who waited meanwhile takes that answer"


def test_an_outage_is_told_until_what_it_hid_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "SETTLING", 1000.0)
    kube, watches = started([[pod("a")]], [])
    assert kube.idle.wait(5)
    store = watches._stores[0]
    store.back_at = -5000.0
    assert watches.outage() is None
    watches._failed(store, REFUSED)
    outage = watches.outage()
    assert outage is not None
    assert "refused" in outage.detail
    assert names(watches) == ["a"], "what was read stays known"
    watches._back(store)
    settling = watches.outage()
    assert settling is not None
    assert settling.detail == ""
    monkeypatch.setattr(watching, "SETTLING", 0.0)
    assert watches.outage() is None


def test_an_optional_kinds_own_trouble_is_no_outage() -> None:
    kube, watches = started([[pod("a")], [pod("e")]], [], kinds=(PODS, Watched("Event", "v1", "team-a")))
    assert kube.idle.wait(5)
    events = watches._stores[1]
    watches._failed(events, KubeError("webhook failed", asked=ASKED, status=500))
    assert watches.outage() is None
    watches._back(events)
    events.back_at = -5000.0
    watches._failed(events, REFUSED)
    assert watches.outage() is not None, "nobody knows yet whether it is the whole server"
    watches._answered_at = events.lost_at + 0.001
    events.lost_at -= 100
    watches._answered_at -= 50
    assert watches.outage() is None, "the server answers others"


@pytest.mark.parametrize("error", [Forbidden("no", asked=ASKED, status=403), Absent("no", asked=ASKED, status=404)])
@pytest.mark.parametrize("required", [True, False])
def test_a_kind_that_was_read_may_be_refused_for_a_moment(error: KubeError, required: bool) -> None:
    """A server that just came up knows neither its roles nor its kinds."""
    kinds = (Watched("Pod", "v1", "team-a", required=required),)
    kube, watches = started([[pod("a")]], [[error], [error], [("ADDED", pod("b", 101))]], kinds=kinds)
    assert kube.idle.wait(5)
    assert (names(watches), watches.kinds()["pods"]["state"]) == (["a", "b"], "observed")


def test_a_required_kind_that_stays_refused_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A role that may list and not watch, or one that was taken away."""
    kube, watches = started([[pod("a")]], [])
    assert kube.idle.wait(5)
    watches._failed(watches._stores[0], Forbidden("no", asked=Asked("watch", "pods"), status=403))
    outage = watches.outage()
    assert outage is not None
    assert 'verb "watch" on pods' in outage.detail
    monkeypatch.setattr(watching, "REFUSED_FOR", -1.0)
    with pytest.raises(Forbidden):
        watches.outage()


def test_what_stays_refused_is_refused_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "REFUSED_FOR", -1.0)
    error = Absent("no", asked=ASKED, status=404)
    _kube, watches = started([[pod("a")]], [[error], [error], [error]], kinds=(Watched("Pod", "v1"),))
    for _step in range(5):
        if watches.kinds()["pods"]["state"] == "absent":
            break
        watches.wait(5)
    assert watches.objects()["pods"] == (), "what is not installed any more has no objects"


def test_a_list_that_fails_after_410_keeps_what_was_read() -> None:
    error = KubeError("starting", asked=ASKED, status=503)
    kube, watches = started([[pod("a")], REFUSED, error, [pod("c")]], [[Gone("too old", asked=ASKED, status=410)]])
    seen = set()
    while names(watches) != ["c"]:
        seen.add(tuple(names(watches)))
        assert watches.wait(5)
    assert seen <= {("a",)}
    assert kube.listed == 4


def test_a_version_that_the_server_cannot_serve_is_doubted() -> None:
    too_new = KubeError("Too large resource version", asked=ASKED, status=504, reason="Timeout")
    kube, watches = started([[pod("a")], [pod("c")]], [[too_new], [too_new], [too_new]])
    assert kube.idle.wait(5)
    assert (names(watches), kube.versions) == (["c"], ["100", "100", "100", "200"])


@pytest.mark.parametrize("end", [[], [Gone("too old", asked=ASKED, status=410)]])
def test_a_watch_that_ends_at_once_is_not_hammered(end: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    monkeypatch.setattr(watching, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(watching, "LONGEST_PAUSE", 0.004)

    def rest(_watches: WatchSet, pause: float, _at_least: float = 0.0) -> float:
        rests.append(pause)
        return min(pause * 2, 0.004)

    monkeypatch.setattr(WatchSet, "_rest", rest)
    kube, _watches = started([[pod("a")]] * 6, [list(end) for _number in range(5)])
    assert kube.idle.wait(5)
    assert rests[:4] == [0.001, 0.002, 0.004, 0.004]


def test_a_required_kind_that_is_not_heard_of_at_the_start_ends_it() -> None:
    refusing = ScriptedKube([REFUSED, *[KubeError("starting", asked=ASKED, status=503)] * 9, [pod("a")]], [])
    refusing.probes = [REFUSED, *[False] * 10**6]
    watches = WatchSet(refusing, (PODS,))  # type: ignore[arg-type]  # the double has what is used
    with pytest.raises(Unreachable, match="refused"):
        watches.start(0.05)
    watches.stop()
    silent = ScriptedKube([], [])
    gate = threading.Event()

    def never(*_args: Any, **_more: Any) -> ListResult:
        gate.wait(30)
        raise REFUSED

    silent.list_all = never  # type: ignore[method-assign]  # a server that does not answer
    watches = WatchSet(silent, (PODS,))  # type: ignore[arg-type]  # the double has what is used
    with pytest.raises(Unreachable, match="no answer within 0 s"):
        watches.start(0.05)
    watches.stop()
    gate.set()


def test_a_single_look_gives_a_silent_server_up_soon_and_lets_a_slow_one_answer() -> None:
    refusing = ScriptedKube([REFUSED, [pod("a")]], [])
    refusing.probes = [False] * 10**6
    watches = WatchSet(refusing, (PODS,))  # type: ignore[arg-type]  # the double has what is used
    with pytest.raises(Unreachable, match="refused"):
        watches.start(60, patience=0.05)
    watches.stop()
    slow = ScriptedKube([[pod("a")]], [])
    listing = slow.list_all
    gate = threading.Event()

    def late(*args: Any, **more: Any) -> ListResult:
        gate.wait(0.3)
        return listing(*args, **more)

    slow.list_all = late  # type: ignore[method-assign]  # a slow server
    watches = WatchSet(slow, (PODS,))  # type: ignore[arg-type]  # the double has what is used
    watches.start(5, patience=0.05)
    assert names(watches) == ["a"]


def test_what_may_be_absent_is_none_there() -> None:
    gone = Watched("Pod", "v1", required=True, may_be_absent=True)
    _kube, watches = started([Absent("no", asked=ASKED, status=404)], [], kinds=(gone,))
    assert watches.objects()["pods"] == ()
    assert watches.outage() is None
    with pytest.raises(Forbidden):
        started([Forbidden("no", asked=ASKED, status=403)], [], kinds=(gone,))


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
