# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loop of a wait, with a clock and a source that a test plays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils import waiting
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.readiness import WaitPolicy
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import ClusterState
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.waits import Judgement, Sight, WaitRequest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import ListResult
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube_errors import Asked, Forbidden, KubeError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.waiting import (
    ClusterSource,
    FileSource,
    Progress,
    appender,
    kinds_for,
    rfc3339,
    run_wait,
    trim_bound,
    trim_node,
    trim_pod,
    without_waiting,
)
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.builders import (
    NOW,
    Object,
    dgd,
    node,
    pending,
    pod,
    ready_pod,
    terminated,
)
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.builders import (
    waiting as waits,
)

READY = [ready_pod("demo-frontend-0", "Frontend"), ready_pod("demo-worker-0"), ready_pod("demo-worker-1")]
FULL = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
FORBIDDEN = Forbidden("no", asked=Asked("list", "x"), status=403)


def request(wait_for: Any = "dgd", *, timeout: float = 100, **more: Any) -> WaitRequest:
    policy = WaitPolicy(timeout=timeout, stable_for=5, progress_interval=10)
    return WaitRequest(wait_for, "team-a", ("demo",), policy, **more)


class PlayedClock:
    """A clock that moves only when somebody waits."""

    def __init__(self) -> None:
        self.time = 0.0

    def monotonic(self) -> float:
        return self.time

    def now(self) -> float:
        return NOW + self.time


class PlayedSource:
    """Gives the state that holds at the played time; waiting moves the clock on."""

    def __init__(self, clock: PlayedClock, state_at: Callable[[float], dict[str, list[Object]]]) -> None:
        self._clock, self._state_at = clock, state_at
        self.looks = 0

    def look(self, elapsed: float, judged: Judgement | None) -> Sight:
        self.looks += 1
        return Sight(ClusterState(self._clock.now(), "demo", self._state_at(elapsed)), elapsed)

    def wait(self, bound: float) -> bool:
        self._clock.time += max(bound, 0.01)
        return False


def played(state_at: Callable[[float], dict[str, list[Object]]], **more: Any) -> tuple[Object, list[str], PlayedSource]:
    clock = PlayedClock()
    source = PlayedSource(clock, state_at)
    lines: list[str] = []
    return run_wait(request(**more), source, clock, Progress(lines.append)), lines, source


def objects(pods: list[Object], ready: bool | None = None) -> dict[str, list[Object]]:
    return {"dynamographdeployments": [dgd(ready)], "pods": pods}


def test_it_ends_when_it_is_ready_for_long_enough() -> None:
    result, lines, _source = played(lambda now: objects(READY, now >= 20))
    assert (result["state"], result["timings"]["elapsed_seconds"]) == ("ready", 25)
    assert result["timings"]["started_at"] == rfc3339(NOW)
    assert lines[-1].startswith("[25s of 1m40s] Frontend 1/1 ready, Worker 2/2 ready")


def test_it_is_never_silent_for_longer_than_the_interval() -> None:
    result, lines, source = played(lambda _now: objects([READY[0], pending(FULL)]))
    assert (result["state"], result["timings"]["elapsed_seconds"]) == ("timeout", 100)
    assert len(lines) == 11
    assert source.looks <= 12, "it looks when the answer may change, not all the time"
    assert result["top_reasons"] == [result["msg"].split(": ", 2)[2]]


def test_a_change_is_told_at_once() -> None:
    _result, lines, _source = played(lambda now: objects(READY[:1] if now < 10 else READY[:2]))
    assert "Worker 0/2" in lines[0]
    assert "Worker 1/2" in lines[1]


def test_a_failure_ends_it_early() -> None:
    result, _lines, _source = played(
        lambda _now: objects([READY[0], pending("0/1 nodes are available: 1 node(s) had untolerated taint(s).")])
    )
    assert (result["state"], result["timings"]["elapsed_seconds"]) == ("failed", 30)


def test_one_look_says_nothing_on_the_way() -> None:
    result, lines, source = played(lambda _now: objects(READY[:1]), timeout=0)
    assert (result["state"], lines, source.looks) == ("progressing", [], 1)


def test_kept_lines_are_bounded() -> None:
    progress = Progress(lambda _line: None)
    for number in range(500):
        progress.say(str(number))
    assert (len(progress.lines), progress.lines[-1]) == (waiting.KEPT_LINES, "499")


def test_lines_are_appended_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    say = appender(str(path))
    say("one")
    say("two")
    assert path.read_text(encoding="utf-8") == "one\ntwo\n"
    appender(None)("nowhere")


def test_files_are_judged_without_a_cluster() -> None:
    held = {**objects([READY[0], pending(FULL)]), "nodes": [node("a")]}
    held["pods"].append({**pod("foreign"), "metadata": {"name": "foreign", "namespace": "other", "uid": "u"}})
    wanted = without_waiting(request())
    sight = FileSource(held, {}, NOW, wanted).look(0, None)
    assert [one["metadata"]["name"] for one in sight.state.of("pods")] == ["demo-frontend-0", "demo-worker-0"]
    assert sight.unread == {"endpointslices": "not among the files", "dynamoworkermetadatas": "not among the files"}
    assert wanted.policy.timeout == 0
    assert not FileSource(held, {}, NOW, wanted).wait(10)


@pytest.mark.parametrize(
    ("wanted", "kinds"),
    [
        (
            request(),
            {"DynamoGraphDeployment", "Pod", "Event", "Node", "LeaderWorkerSet", "PodClique", "DynamoWorkerMetadata"},
        ),
        (request("jobs"), {"Job", "Pod", "Event", "PersistentVolumeClaim", "Node"}),
        (request("pvc"), {"PersistentVolumeClaim", "StorageClass", "Event", "Pod"}),
        (request("deletion"), {"DynamoGraphDeployment", "Pod", "Deployment", "Node"}),
        (request("deletion", kind="Job", plural="jobs", api_version="batch/v1"), {"Job"}),
    ],
)
def test_what_is_watched(wanted: WaitRequest, kinds: set[str]) -> None:
    watched = kinds_for(wanted, check_fit=True)
    assert kinds <= {one.kind for one in watched}
    assert len(watched) == len({one.plural for one in watched}), "each kind once"
    assert "Node" not in {one.kind for one in kinds_for(wanted, check_fit=False)}


def test_what_no_judge_reads_is_dropped() -> None:
    heavy = {"metadata": {"name": "n", "managedFields": [1]}, "status": {"images": [1], "allocatable": {}}}
    assert trim_node(heavy) == {"metadata": {"name": "n"}, "status": {"allocatable": {}}}
    assert trim_pod({"metadata": {"managedFields": [1]}}) == {"metadata": {}}
    bound = pod("x", spec={"containers": [{"name": "main", "env": [{"name": "TOKEN"}], "resources": {"limits": {}}}]})
    trimmed = trim_bound(bound)
    assert trimmed is not None
    assert trimmed["spec"]["containers"] == [{"name": "main", "resources": {"limits": {}}}]
    assert trimmed["spec"]["nodeName"] == "gpu-1"
    assert trim_bound(pod("done", phase="Succeeded")) is None


# --- the live source --------------------------------------------------------------------------------------------------


class AnsweringKube:
    """A double of the API client: answers lists, and watches that never say anything."""

    def __init__(self, held: dict[str, list[Object]], *, denied: bool = False) -> None:
        self._held = held
        self.denied = denied
        self.asked: list[str] = []

    def list_all(self, _version: str, kind: str, *, field_selector: str = "", **_more: Any) -> ListResult:
        self.asked.append(f"{kind} {field_selector}".strip())
        if self.denied and field_selector == "spec.nodeName!=":
            raise FORBIDDEN
        return ListResult([dict(one) for one in self._held.get(kind, [])], "1")

    def watch(self, *_args: Any, **_more: Any) -> Any:
        yield from ()  # a generator, as the client's watch is one
        raise KubeError("ended", asked=Asked("watch", "x"), status=503)

    def logs(self, name: str, _namespace: str, container: str, *, previous: bool = False, tail_lines: int = 20) -> str:
        self.asked.append(f"log {name}/{container} {previous} {tail_lines}")
        if self.denied:
            raise FORBIDDEN
        return "CUDA out of memory"

    def access_review(self, *, user: str, verb: str, resource: str, **_more: Any) -> tuple[bool | None, str]:
        self.asked.append(f"may {user} {verb} {resource}")
        return (None, "no") if self.denied else (True, "")


def source(
    held: dict[str, list[Object]], wanted: WaitRequest | None = None, *, denied: bool = False
) -> tuple[AnsweringKube, ClusterSource]:
    kube = AnsweringKube(held, denied=denied)
    made = ClusterSource(kube, wanted or request(), PlayedClock(), check_fit=True, logs=True)  # type: ignore[arg-type]  # a double
    return kube, made


def judged_with(*causes: Any, ready: bool = False) -> Judgement:
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import TriageReport

    return Judgement(TriageReport(tuple(causes), (), ready=ready))


CRASHED = pod(containers=[waits("CrashLoopBackOff", last=terminated(1), restarts=4)])


def test_a_log_is_read_once_a_restart() -> None:
    kube, live = source({"DynamoGraphDeployment": [dgd()], "Pod": [CRASHED]})
    first = live.look(0, None)
    assert first.state.logs == {"demo-worker-0/main (previous)": "CUDA out of memory"}
    live.look(1, None)
    assert len([one for one in kube.asked if one.startswith("log")]) == 1


def test_a_log_that_may_not_be_read_ends_nothing() -> None:
    _kube, live = source({"DynamoGraphDeployment": [dgd()], "Pod": [CRASHED]}, denied=True)
    assert live.look(0, None).state.logs == {}


def test_other_peoples_pods_are_read_only_for_want_of_room() -> None:
    held = {"DynamoGraphDeployment": [dgd()], "Pod": [pending(FULL)], "Node": [node("a")]}
    kube, live = source(held)
    assert live.look(0, judged_with()).state.cluster_pods is None
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import Cause

    short = judged_with(Cause("insufficient_resource", "contention", "m", (), "", (), {}))
    assert live.look(1, short).state.cluster_pods is not None
    live.look(2, short)
    assert kube.asked.count("Pod spec.nodeName!=") == 1, "not again within a minute"
    denied_kube, denied = source(held, denied=True)
    for elapsed in (0.0, 100.0, 200.0):
        assert denied.look(elapsed, short).state.cluster_pods is None
    assert denied_kube.asked.count("Pod spec.nodeName!=") == 1, "what is forbidden is not asked again"


def test_permissions_are_asked_once_when_pods_are_ready() -> None:
    discoverable = ready_pod("demo-worker-0")
    discoverable["metadata"]["labels"]["nvidia.com/dynamo-discovery-enabled"] = "true"
    kube, live = source({"DynamoGraphDeployment": [dgd()], "Pod": [*READY, discoverable]})
    assert live.look(0, judged_with()).access == ()
    found = live.look(1, judged_with(ready=True)).access
    assert {one.allowed for one in found} == {True}
    live.look(2, judged_with(ready=True))
    asked = [one for one in kube.asked if one.startswith("may")]
    assert len(asked) == len(found)
    assert asked[0].startswith("may system:serviceaccount:team-a:default ")
    _kube, denied = source({"DynamoGraphDeployment": [dgd()], "Pod": [discoverable]}, denied=True)
    assert [one.allowed for one in denied.look(1, judged_with(ready=True)).access] == [None]


@pytest.mark.parametrize(
    ("operators", "runs"), [([{"status": {"readyReplicas": 1}}], True), ([{"status": {}}], False), ([], False)]
)
def test_a_deletion_asks_for_the_operator_only_when_it_takes_long(operators: list[Object], runs: bool) -> None:
    kube, live = source({"Deployment": operators}, request("deletion"))
    before = kube.asked.count("Deployment")
    assert live.look(1, None).operator_runs is None
    assert live.look(waiting.OPERATOR_ASKED_AFTER, None).operator_runs is runs
    live.look(waiting.OPERATOR_ASKED_AFTER + 5, None)
    assert kube.asked.count("Deployment") == before + 1


def test_a_job_is_remembered_under_the_uid_it_had_first() -> None:
    def job(uid: str) -> Object:
        return {"metadata": {"name": "download", "uid": uid}}

    _kube, live = source({"Job": [job("u1")]}, request("jobs"))
    assert live.look(0, None).job_memory["download"]["metadata"]["uid"] == "u1"
    live._remember_job(job("u2"))
    assert live.look(1, None).job_memory["download"]["metadata"]["uid"] == "u1"
