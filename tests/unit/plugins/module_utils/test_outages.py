# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A wait whose API server is away for a while, with doubles of the client, the clock and the source."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils import waiting
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.readiness import Outage
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import Cause, ClusterState
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.waits import Judgement, Sight
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import ListResult
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube_errors import (
    Asked,
    Forbidden,
    KubeError,
    Unreachable,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.waiting import Progress, run_wait
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.builders import (
    NOW,
    Object,
    dgd,
    node,
    pending,
)
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.test_waiting import (
    CRASHED,
    FULL,
    READY,
    AnsweringKube,
    PlayedClock,
    PlayedSource,
    judged_with,
    looked,
    objects,
    request,
    serving,
    source,
)

AWAY = Unreachable("gave no answer: refused", asked=Asked("watch", "pods"))
TAINTED = "0/1 nodes are available: 1 node(s) had untolerated taint(s)."


class BlindSource(PlayedSource):
    """Gives what was there when it went blind, from ``away`` to ``back``."""

    def __init__(self, clock: PlayedClock, state_at: Any, away: float, back: float) -> None:
        super().__init__(clock, state_at)
        self.away, self.back = away, back

    def look(self, elapsed: float, judged: Judgement | None) -> Sight:
        if not self.away <= elapsed < self.back:
            return super().look(elapsed, judged)
        state = ClusterState(self._clock.now(), "demo", self._state_at(self.away))
        return Sight(state, elapsed, outage=Outage(elapsed - self.away, str(AWAY)))

    def wait(self, bound: float) -> bool:
        return super().wait(min(bound, 5.0))


def played(state_at: Any, away: float, back: float) -> tuple[Object, list[str]]:
    clock = PlayedClock()
    lines: list[str] = []
    return run_wait(request(), BlindSource(clock, state_at, away, back), clock, Progress(lines.append)), lines


def test_an_outage_is_no_failure() -> None:
    result, lines = played(lambda now: objects(READY, now >= 60), away=20, back=60)
    assert result["state"] == "ready"
    assert result["timings"]["elapsed_seconds"] == 65, "stable for 5 s after it is seen again"
    assert any("as last seen: API server not heard of for 20s" in line for line in lines)


def test_readiness_before_an_outage_is_not_concluded_in_it() -> None:
    result, _lines = played(lambda now: objects(READY, 14 <= now < 20), away=17, back=60)
    assert result["state"] == "timeout"


def test_a_cause_does_not_run_out_of_grace_unseen() -> None:
    result, _lines = played(lambda _now: objects([READY[0], pending(TAINTED)]), away=20, back=60)
    assert (result["state"], result["category"]) == ("failed", "taint")
    assert result["timings"]["elapsed_seconds"] == 70, "30 s of grace, and 40 s that nobody saw"


def test_a_server_that_stays_away_is_what_the_timeout_names() -> None:
    result, lines = played(lambda _now: objects([READY[0], pending(FULL)]), away=20, back=1000)
    assert (result["state"], result["category"], result["timings"]["elapsed_seconds"]) == ("timeout", "unknown", 100)
    assert "API server: unknown: not heard of for 1m20s: Could not watch pods" in result["msg"]
    assert result["top_reasons"][1].startswith("Worker (1): insufficient_resource")
    assert all("Worker 0/2 ready" in line for line in lines)


# --- the reads beside the watches -------------------------------------------------------------------------------------


class FailingKube(AnsweringKube):
    """A double of the API client whose reads beside the watches fail with ``error``."""

    error: KubeError | None = None

    def list_all(self, _version: str, kind: str, *, field_selector: str = "", **_more: Any) -> ListResult:
        if self.error is not None and field_selector == "spec.nodeName!=":
            self.asked.append("others")
            raise self.error
        return super().list_all(_version, kind, field_selector=field_selector)

    def logs(self, *args: Any, **more: Any) -> str:
        if self.error is not None:
            self.asked.append("log")
            raise self.error
        return super().logs(*args, **more)

    def access_review(self, **more: Any) -> tuple[bool | None, str]:
        if self.error is not None:
            self.asked.append("may")
            raise self.error
        return super().access_review(**more)


def failing(held: dict[str, list[Object]], error: KubeError | None = AWAY) -> tuple[FailingKube, waiting.ClusterSource]:
    kube = FailingKube(held)
    live = waiting.ClusterSource(kube, request(), PlayedClock(), check_fit=True, logs=True)  # type: ignore[arg-type]  # a double
    kube.error = error
    return kube, live


def test_a_log_that_did_not_come_through_is_asked_for_again() -> None:
    kube, live = failing({"DynamoGraphDeployment": [dgd()], "Pod": [CRASHED]})
    assert live.look(0, None).state.logs == {}
    kube.error = None
    assert list(live.look(1, None).state.logs) == ["demo-worker-0/main (previous)"]


@pytest.mark.parametrize("error", [AWAY, KubeError("dial tcp: i/o timeout", asked=Asked("get", "log"), status=500)])
def test_a_kubelet_that_is_away_is_not_asked_for_ever(error: KubeError) -> None:
    pods = [{**CRASHED, "metadata": {**CRASHED["metadata"], "name": f"demo-worker-{number}"}} for number in range(9)]
    kube, live = failing({"DynamoGraphDeployment": [dgd()], "Pod": pods}, error)
    for elapsed in range(9):
        live.look(elapsed, None)
    assert kube.asked.count("log") == waiting.LOG_FAILURES


def test_other_peoples_pods_are_asked_for_again() -> None:
    held = {"DynamoGraphDeployment": [dgd()], "Pod": [pending(FULL)], "Node": [node("a")]}
    kube, live = failing(held)
    assert looked(live, request())[0].state.cluster_pods is None
    kube.error = None
    short = judged_with(Cause("insufficient_resource", "contention", "m", (), "", (), {}))
    assert live.look(100, short).state.cluster_pods is not None


def test_permissions_are_asked_about_again_and_not_for_ever() -> None:
    held = serving(registered=True)
    kube, live = failing(held)
    sight, _judged = looked(live, request())
    assert {one.allowed for one in sight.access} == {None}, "it is told that this is not known"
    assert kube.asked.count("may") == waiting.REVIEW_FAILURES + 1
    kube, live = failing(held, Forbidden("no", asked=Asked("create", "x"), status=403))
    looked(live, request())
    assert kube.asked.count("may") == 1


def test_nothing_is_read_beside_the_watches_in_an_outage() -> None:
    kube, live = source({"DynamoGraphDeployment": [dgd()], "Pod": [CRASHED]})
    live.watches._stores[0].running = True
    live.watches._failed(live.watches._stores[0], AWAY)
    sight, judged = looked(live, request())
    assert sight.outage is not None
    assert judged.blind
    assert not [one for one in kube.asked if one.startswith("log")]
    assert {one.split(" ")[0] for one in kube.asked} == {"DynamoGraphDeployment", "Pod"}, "and nothing more is opened"
    assert sight.state.now == NOW


def test_a_deletion_is_not_done_because_it_may_not_be_seen() -> None:
    error = Forbidden("no", asked=Asked("list", "jobs"), status=403)

    class Refusing(AnsweringKube):
        def list_all(self, _version: str, kind: str, *, field_selector: str = "", **_more: Any) -> ListResult:
            raise error

    wanted = request("deletion", kind="Job", plural="jobs", api_version="batch/v1")
    for one in (wanted, request("deletion")):
        with pytest.raises(Forbidden):
            waiting.ClusterSource(Refusing({}), one, PlayedClock(), check_fit=True, logs=True)  # type: ignore[arg-type]  # a double
