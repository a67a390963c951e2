# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loop of a wait, with a clock and a source that a test plays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils import waiting
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.readiness import WaitPolicy
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import ClusterState
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.waits import Judgement, Sight, WaitRequest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import ListResult
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube_errors import Asked, Forbidden
from ansible_collections.inference_ops.dynamo.plugins.module_utils.moments import moment
from ansible_collections.inference_ops.dynamo.plugins.module_utils.wait_kinds import (
    confirming_kinds,
    first_kinds,
    kinds_for,
    trim_bound,
    trim_node,
    trim_pod,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.waiting import (
    ClusterSource,
    FileSource,
    Progress,
    appender,
    run_wait,
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

    def deepen(self, _sight: Sight, _judged: Judgement) -> bool:
        return False

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
    assert result["timings"]["started_at"] == moment(NOW)
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
    assert not FileSource(held, {}, NOW, wanted).deepen(sight, judged_with())


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
    assert set(first_kinds(wanted)) <= set(watched)


def test_readiness_is_confirmed_by_few_kinds() -> None:
    workloads = {"DynamoComponentDeployment", "Deployment", "LeaderWorkerSet", "PodClique"}
    assert {one.kind for one in confirming_kinds(request(check_discovery=False))} == workloads
    assert {one.kind for one in confirming_kinds(request())} == workloads | {"EndpointSlice", "DynamoWorkerMetadata"}
    assert set(confirming_kinds(request())) <= set(kinds_for(request(), check_fit=True)), "asked for in one way only"


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
        self.followed: set[str] = set()
        self.allowed = True

    def list_all(self, _version: str, kind: str, *, field_selector: str = "", **_more: Any) -> ListResult:
        self.asked.append(f"{kind} {field_selector}".strip())
        if self.denied and field_selector == "spec.nodeName!=":
            raise FORBIDDEN
        return ListResult([dict(one) for one in self._held.get(kind, [])], "1")

    def watch(self, _version: str, kind: str, *, opened: Callable[[], None], **_more: Any) -> Any:
        self.followed.add(kind)
        opened()
        threading.Event().wait(30)
        yield from ()  # a generator, as the client's watch is one

    def logs(self, name: str, _namespace: str, container: str, *, previous: bool = False, tail_lines: int = 20) -> str:
        self.asked.append(f"log {name}/{container} {previous} {tail_lines}")
        if self.denied:
            raise FORBIDDEN
        return "CUDA out of memory"

    def access_review(self, *, user: str, verb: str, resource: str, **_more: Any) -> tuple[bool | None, str]:
        self.asked.append(f"may {user} {verb} {resource}")
        return (None, "no") if self.denied else (self.allowed, "")


def source(
    held: dict[str, list[Object]], wanted: WaitRequest | None = None, *, denied: bool = False
) -> tuple[AnsweringKube, ClusterSource]:
    kube = AnsweringKube(held, denied=denied)
    made = ClusterSource(kube, wanted or request(), PlayedClock(), check_fit=True, logs=True)  # type: ignore[arg-type]  # a double
    return kube, made


def looked(live: ClusterSource, wanted: WaitRequest, elapsed: float = 0.0) -> tuple[Sight, Judgement]:
    """Look and judge as the loop does."""
    return waiting._judged(wanted, live, elapsed, None)


def kinds_asked(kube: AnsweringKube) -> set[str]:
    return {one.split(" ", 1)[0] for one in kube.asked if not one.startswith(("may", "log"))}


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
    assert looked(live, request())[0].state.cluster_pods is not None, "with the very judgement that shows the want"
    kube, live = source(held, request(timeout=0))
    assert live.look(0, judged_with()).state.cluster_pods is None
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import Cause

    short = judged_with(Cause("insufficient_resource", "contention", "m", (), "", (), {}))
    assert live.look(1, short).state.cluster_pods is not None
    live.look(2, short)
    assert kube.asked.count("Pod spec.nodeName!=") == 1, "not again within a minute"
    denied_kube, denied = source(held, request(timeout=0), denied=True)
    for elapsed in (0.0, 100.0, 200.0):
        assert denied.look(elapsed, short).state.cluster_pods is None
    assert denied_kube.asked.count("Pod spec.nodeName!=") == 1, "what is forbidden is not asked again"


REGISTERED = {
    "metadata": {
        "name": "demo-worker-0",
        "ownerReferences": [{"kind": "Pod", "name": "demo-worker-0", "uid": "uid-demo-worker-0"}],
    },
    "spec": {"data": {"endpoints": {"team-a-demo/backend/generate": {}}}},
}


def discoverable() -> Object:
    worker = ready_pod("demo-worker-0")
    worker["metadata"]["uid"] = "uid-demo-worker-0"
    worker["metadata"]["labels"] |= {
        "nvidia.com/dynamo-discovery-enabled": "true",
        "nvidia.com/dynamo-component-type": "worker",
    }
    return worker


def serving(*, registered: bool = False) -> dict[str, list[Object]]:
    target = {"kind": "Pod", "name": "demo-worker-0", "uid": "uid-demo-worker-0"}
    held = {
        "DynamoGraphDeployment": [dgd(True)],
        "Pod": [READY[0], discoverable(), READY[2]],
        "EndpointSlice": [{"endpoints": [{"conditions": {"ready": True}, "targetRef": target}]}],
    }
    return {**held, "DynamoWorkerMetadata": [REGISTERED]} if registered else held


def test_a_deployment_that_goes_well_is_read_with_few_requests() -> None:
    kube, live = source(serving(registered=True))
    sight, judged = looked(live, request())
    assert (judged.report.ready, judged.parts["discovery"]["visible"]) == (True, ["demo-worker-0"])
    assert kinds_asked(kube) == {"DynamoGraphDeployment", "Pod", *(one.kind for one in confirming_kinds(request()))}
    asked = [one for one in kube.asked if one.startswith("may")]
    assert [one.split(" ", 2)[2] for one in asked] == ["watch dynamoworkermetadatas"], "a registration shows the rest"
    assert sight.access
    before = len(kube.asked)
    looked(live, request(), 2.0)
    assert len(kube.asked) == before, "nothing is asked twice"
    wait_until_followed(kube, {"DynamoGraphDeployment", "Pod", "DynamoComponentDeployment"})
    assert len(kube.followed) == 3


def test_permissions_are_asked_in_full_for_a_worker_that_has_not_registered() -> None:
    kube, live = source(serving())
    _sight, judged = looked(live, request())
    assert judged.parts["discovery"]["workers"][1]["state"] == "not_registered"
    asked = [one for one in kube.asked if one.startswith("may")]
    assert len(asked) == 6
    assert asked[0].startswith("may system:serviceaccount:team-a:default ")
    wait_until_followed(kube, {"EndpointSlice", "DynamoWorkerMetadata"})
    _kube, denied = source(serving(), denied=True)
    assert [one.allowed for one in looked(denied, request())[0].access] == [None]


def test_a_refusal_is_asked_about_once_more() -> None:
    kube, live = source(serving())
    kube.allowed = False
    first = looked(live, request())[1]
    assert "discovery_missing_rbac" in [one.reason_code for one in first.findings]
    kube.allowed = True
    assert "discovery_missing_rbac" not in [one.reason_code for one in looked(live, request(), 5.0)[1].findings]


def test_a_refusal_to_a_registered_worker_is_asked_about_in_full() -> None:
    kube, live = source(serving(registered=True))
    kube.allowed = False
    assert "discovery_missing_rbac" in [one.reason_code for one in looked(live, request())[1].findings]
    looked(live, request(), 5.0)
    assert len([one for one in kube.asked if one.startswith("may")]) == 7


def wait_until_followed(kube: AnsweringKube, kinds: set[str]) -> None:
    for _unused in range(500):
        if kinds <= kube.followed:
            return
        threading.Event().wait(0.01)
    raise AssertionError(f"followed are {kube.followed}")


def test_an_etcd_backend_asks_for_no_permissions() -> None:
    held = serving()
    held["DynamoGraphDeployment"][0]["metadata"]["annotations"] = {"nvidia.com/dynamo-discovery-backend": "etcd"}
    kube, live = source(held)
    looked(live, request())
    assert not [one for one in kube.asked if one.startswith("may")]


def test_trouble_is_judged_with_every_kind() -> None:
    told = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "demo-worker-0"},
        "reason": "FailedScheduling",
        "message": FULL,
        "type": "Warning",
    }
    held = {"DynamoGraphDeployment": [dgd()], "Pod": [READY[0], pending(FULL)], "Event": [told], "Node": [node("a")]}
    kube, live = source(held)
    sight, _judged = looked(live, request())
    assert sight.state.nodes is not None
    assert sight.state.of("events")
    assert {one.kind for one in kinds_for(request(), check_fit=True)} <= kinds_asked(kube)


def test_what_does_not_run_yet_is_given_a_moment() -> None:
    creating = pod(containers=[waits("ContainerCreating")])
    kube = AnsweringKube({"DynamoGraphDeployment": [dgd()], "Pod": [READY[0], creating]})
    clock = PlayedClock()
    live = ClusterSource(kube, request(), clock, check_fit=True, logs=True)  # type: ignore[arg-type]  # a double
    looked(live, request())
    assert kinds_asked(kube) == {"DynamoGraphDeployment", "Pod"}
    clock.time = waiting.PATIENCE
    live.wait(60)  # returns at once: patience is over
    looked(live, request(), clock.time)
    assert {"Event", "PersistentVolumeClaim", "Node", "ReplicaSet"} <= kinds_asked(kube)


def test_readiness_that_is_lost_opens_every_kind() -> None:
    held = serving(registered=True)
    kube, live = source(held)
    assert looked(live, request())[1].report.ready
    unready = {"metadata": {"name": "demo", "namespace": "team-a"}}
    graph = next(store for store in live.watches._stores if store.watched.kind == "DynamoGraphDeployment")
    graph.objects = {"team-a/demo": {**dgd(False), **unready}}
    looked(live, request(), 1.0)
    assert "Event" in kinds_asked(kube)


def job(state: str = "") -> Object:
    told = [{"type": state, "status": "True"}] if state else []
    return {"metadata": {"name": "demo", "uid": "u1"}, "status": {"active": 1, "conditions": told}}


EVERY = {"Job", "Pod", "Event", "PersistentVolumeClaim", "Node"}


def job_pod(made: Object) -> Object:
    made["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "demo", "uid": "u1"}]
    return made


@pytest.mark.parametrize(
    ("jobs", "pods", "kinds"),
    [
        ([job("Complete")], [], {"Job"}),
        ([job()], [job_pod(ready_pod("demo-x", "Worker"))], {"Job", "Pod"}),
        ([job()], [job_pod(pending("0/1 nodes are available: 1 Too many pods."))], EVERY),
        ([], [], EVERY),
    ],
)
def test_a_job_needs_no_more_than_itself_and_its_pods(jobs: list[Object], pods: list[Object], kinds: set[str]) -> None:
    wanted = request("jobs")
    kube, live = source({"Job": jobs, "Pod": pods}, wanted)
    for elapsed in (0.0, 100.0):
        looked(live, wanted, elapsed)
    assert kinds_asked(kube) == kinds
    assert live._patient_until is None


def claim(phase: str) -> Object:
    return {"metadata": {"name": "demo"}, "spec": {"storageClassName": "slow"}, "status": {"phase": phase}}


@pytest.mark.parametrize(("phase", "asked"), [("Bound", 1), ("Pending", 4)])
def test_a_claim_is_looked_at_once_where_that_tells(phase: str, asked: int) -> None:
    wanted = WaitRequest("pvc", "team-a", ("demo",), WaitPolicy(timeout=100, stable_for=0))
    classes = [{"metadata": {"name": "slow"}, "volumeBindingMode": "WaitForFirstConsumer"}]
    kube, live = source({"PersistentVolumeClaim": [claim(phase)], "StorageClass": classes}, wanted)
    assert looked(live, wanted)[1].report.ready
    assert (len(kube.asked), kube.followed) == (asked, set())


def test_a_single_look_reads_everything_and_follows_nothing() -> None:
    wanted = request(timeout=0)
    kube, live = source({"DynamoGraphDeployment": [dgd()], "Pod": READY}, wanted)
    looked(live, wanted)
    assert kinds_asked(kube) == {one.kind for one in kinds_for(wanted, check_fit=True)}
    assert not kube.followed


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
