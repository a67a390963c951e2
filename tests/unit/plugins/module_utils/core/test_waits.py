# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One judgement of each thing that can be waited for, and its result as plain data."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.readiness import (
    Outage,
    WaitMemory,
    WaitPolicy,
    decide,
    decide_blind,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import ClusterState
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.waits import (
    Clocked,
    Judgement,
    Sight,
    WaitRequest,
    allocated_at,
    conclude,
    judge,
    keep,
    wait_result,
)
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.builders import (
    NAMESPACE,
    NOW,
    Object,
    at,
    container,
    dgd,
    pending,
    pod,
    ready_pod,
    terminated,
)

LOOK = WaitPolicy(timeout=0)
LONG = WaitPolicy(timeout=600)
CLOCKED = Clocked("t0", "t1", 12.3, "t2", {"Worker": 7.0})


def request(wait_for: Any = "dgd", *names: str, policy: WaitPolicy = LONG, **more: Any) -> WaitRequest:
    return WaitRequest(wait_for, NAMESPACE, names or ("demo",), policy, **more)


def sight(elapsed: float = 60, **objects: Any) -> Sight:
    memory = objects.pop("job_memory", {})
    runs = objects.pop("operator_runs", None)
    dgd_name = objects.pop("dgd_name", "demo")
    return Sight(ClusterState(NOW, dgd_name, objects), elapsed, job_memory=memory, operator_runs=runs)


def outcome(wanted: WaitRequest, seen: Sight) -> tuple[Judgement, Object]:
    judged = judge(wanted, seen)
    decision = conclude(judged, decide(judged.report, WaitMemory(0.0), wanted.policy, seen.elapsed))
    return judged, wait_result(wanted, judged, decision, seen, CLOCKED)


# --- a DGD ------------------------------------------------------------------------------------------------------------

READY = [ready_pod("demo-frontend-0", "Frontend"), ready_pod("demo-worker-0"), ready_pod("demo-worker-1")]


def test_a_ready_dgd() -> None:
    graph = [dgd(True)]
    _judged, result = outcome(request(policy=LOOK), sight(dynamographdeployments=graph, pods=READY))
    assert (result["state"], result["category"], result["way"]) == ("ready", "ready", "none")
    assert (result["causes"], result["top_reasons"], result["failed_attempt"], result["next_check"]) == ([], [], {}, {})
    assert result["timings"]["components"] == {"Worker": 7.0}
    assert result["timings"]["ready_at"] == "t1"
    assert result["discovery"]["backend"] == "kubernetes"


def test_discovery_is_asked_only_once_pods_are_ready() -> None:
    judged, result = outcome(request(policy=LOOK), sight(dynamographdeployments=[dgd()], pods=READY[:1]))
    assert "discovery" not in judged.parts
    assert result["state"] == "progressing"


def test_a_failed_deploy_comes_with_its_ledger_entry() -> None:
    tainted = pending("0/2 nodes are available: 2 node(s) had untolerated taint(s).")
    _judged, result = outcome(request(policy=LOOK), sight(dynamographdeployments=[dgd()], pods=[READY[0], tainted]))
    assert (result["state"], result["way"], result["failed_attempt"]["category"]) == (
        "failed",
        "failed_deploy",
        "taint",
    )
    assert result["msg"].startswith("dgd demo: failed after 12 s: Worker (1): taint")
    assert {finding["reason_code"] for finding in result["findings"]} == {"triage_taint"}


def test_a_legitimate_wait_comes_with_its_next_check() -> None:
    full = pending("0/2 nodes are available: 2 Insufficient nvidia.com/gpu.")
    _judged, result = outcome(request(policy=LOOK), sight(dynamographdeployments=[dgd()], pods=[READY[0], full]))
    assert (result["state"], result["way"], result["failed_attempt"]) == ("progressing", "contention", {})
    assert result["next_check"]["at"] == "t2"
    assert "Insufficient" in result["next_check"]["evidence"][0]


def test_an_outage_is_told_before_what_was_seen_last() -> None:
    wanted = request()
    full = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    seen = sight(dynamographdeployments=[dgd()], pods=[READY[0], pending(full)])
    before = judge(wanted, seen)
    blind = keep(before, Outage(25.0, "Could not watch pods: refused"), wanted)
    blind = keep(blind, Outage(30.0, "Could not watch pods: refused"), wanted)
    assert (before.blind, blind.blind) == (False, True)
    assert [one.category for one in blind.report.causes] == ["unknown", "insufficient_resource"]
    assert blind.report.components == before.report.components
    decision = decide_blind(blind.report, WaitMemory(0.0), wanted.policy, 600)
    result = wait_result(wanted, blind, decision, seen, CLOCKED)
    assert (result["state"], result["category"], result["way"]) == ("timeout", "unknown", "investigate")
    assert result["msg"] == (
        "dgd demo: not ready within 600 s: API server: unknown: not heard of for 30s: Could not watch pods: refused"
    )
    assert result["findings"][0]["subject"] == "Cluster/API server"
    assert result["findings"][0]["outcome"] == "unknown"
    assert result["next_check"] == result["failed_attempt"] == {}


def test_an_outage_that_is_over_has_what_was_missed_still_to_come() -> None:
    judged = keep(None, Outage(3.0, ""), request("jobs", "download"))
    cause = judged.report.primary
    assert cause is not None
    assert cause.message == "heard of again after 3s; what was missed is still coming"
    assert [one.component for one in judged.report.components] == ["download"]
    assert not judged.report.ready


def test_a_dgd_may_appear_a_little_late() -> None:
    judged, result = outcome(request(), sight(elapsed=3))
    assert (judged.final, result["state"]) == (None, "progressing")
    _judged, late = outcome(request(), sight(elapsed=30))
    assert (late["state"], late["category"]) == ("failed", "config_missing")


def test_leftovers_are_part_of_the_answer() -> None:
    marks = {"nvidia.com/dynamo-graph-deployment-name": "demo", "nvidia.com/dynamo-component": "Gone"}
    left = {"kind": "Deployment", "metadata": {"name": "demo-gone", "uid": "u-left", "labels": marks}}
    _judged, result = outcome(
        request(policy=LOOK), sight(dynamographdeployments=[dgd(True)], pods=READY, deployments=[left])
    )
    assert [one["name"] for one in result["leftovers"]] == ["demo-gone"]


def test_gpu_time_counts_from_the_first_gpu_pod_scheduled() -> None:
    def scheduled(name: str, ago: float, gpus: int) -> Object:
        resources = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
        told = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at(ago)}]
        return pod(name, conditions=told, spec={"containers": [{"name": "main", "resources": resources}]})

    held = [scheduled("a", 90, 0), scheduled("b", 50, 8), scheduled("c", 70, 8), pending("x", name="d")]
    assert allocated_at(ClusterState(NOW, "demo", {"dynamographdeployments": [dgd()], "pods": held})) == at(70)
    assert allocated_at(ClusterState(NOW, "demo", {"pods": [held[0]]})) == ""


# --- Jobs -------------------------------------------------------------------------------------------------------------


def job(*conditions: str, name: str = "download", uid: str = "u-j", **status: Any) -> Object:
    told = [{"type": one, "status": "True", "reason": "R", "message": "m"} for one in conditions]
    return {"kind": "Job", "metadata": {"name": name, "uid": uid}, "spec": {}, "status": {"conditions": told, **status}}


def job_pod(**more: Any) -> Object:
    return pod(
        "download-x", ownerReferences=[{"kind": "Job", "name": "download", "uid": "u-j", "controller": True}], **more
    )


def jobs(*live: Object, names: tuple[str, ...] = ("download",), policy: WaitPolicy = LONG, **more: Any) -> Object:
    _judged, result = outcome(request("jobs", *names, policy=policy), sight(dgd_name="", jobs=list(live), **more))
    return result


def test_jobs_are_ready_when_all_are_complete() -> None:
    both = (job("Complete"), job("Complete", name="validate", uid="u-v"))
    assert jobs(*both, names=("download", "validate"), policy=LOOK)["state"] == "ready"
    one = jobs(both[0], job(name="validate", uid="u-v", active=1), names=("download", "validate"))
    assert (one["state"], [entry["state"] for entry in one["jobs"]]) == ("progressing", ["complete", "active"])


def test_a_failed_job_ends_the_wait_at_once_and_says_what_it_died_of() -> None:
    ended = job_pod(phase="Failed", containers=[container(terminated(1, message="CUDA out of memory"))])
    result = jobs(job("Failed"), pods=[ended])
    assert (result["state"], result["category"], result["way"]) == ("failed", "crash_loop", "failed_deploy")
    assert result["causes"][0]["detail"]["sub"] == "cuda_oom"
    bare = jobs(job("Failed"))
    assert (bare["state"], bare["category"]) == ("failed", "unknown")
    assert bare["evidence"]


def test_a_jobs_crashes_are_its_own_business_until_its_limit() -> None:
    ended = job_pod(phase="Failed", containers=[container(terminated(1), restarts=5)])
    result = jobs(job(failed=1, active=1), pods=[ended], policy=LOOK)
    assert (result["state"], result["way"]) == ("progressing", "wait")


@pytest.mark.parametrize("next_one", [ready_pod("dl-1"), pending("0/1 nodes are available: 1 Insufficient memory.")])
def test_a_pod_that_a_job_lost_is_replaced(next_one: Object) -> None:
    lost = pod("dl-0", phase="Failed", status={"reason": "Evicted", "message": "The node was low on resource: memory"})
    for one in (lost, next_one):
        one["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "download", "uid": "u-j"}]
    _judged, result = outcome(request("jobs", "download", policy=LOOK), sight(jobs=[job()], pods=[lost, next_one]))
    assert result["state"] == "progressing"
    assert result["way"] in ("wait", "contention")
    assert "evicted" in {one["category"] for one in result["causes"]}, "it is told, and ends nothing"


def test_a_job_whose_pod_can_never_run_does_not_wait_for_its_deadline() -> None:
    stuck = pending(
        "0/2 nodes are available: 2 node(s) had untolerated taint(s).", ownerReferences=[{"uid": "u-j", "kind": "Job"}]
    )
    assert jobs(job(active=1), pods=[stuck], policy=LOOK)["category"] == "taint"
    refused = {
        "involvedObject": {"kind": "Job", "name": "download", "uid": "u-j"},
        "type": "Warning",
        "reason": "FailedCreate",
        "message": 'pods "download-" is forbidden: exceeded quota: q, requested: cpu=2, used: cpu=2, limited: cpu=3',
    }
    assert jobs(job(), events=[refused], policy=LOOK)["category"] == "quota"


def test_a_job_that_vanished_is_remembered() -> None:  # D10
    assert jobs(job_memory={"download": job(active=1)})["state"] == "failed"
    done = jobs(job_memory={"download": job("Complete")}, policy=LOOK)
    assert (done["state"], done["jobs"][0]["state"]) == ("ready", "complete")


def test_a_job_that_never_appears() -> None:
    early = judge(request("jobs", "download"), sight(elapsed=2, dgd_name="", jobs=[]))
    assert early.final is None
    late = jobs()
    assert (late["state"], late["category"], late["jobs"][0]["state"]) == ("failed", "config_missing", "absent")


# --- claims -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claims", "state"),
    [
        ([{"metadata": {"name": "demo"}, "status": {"phase": "Bound"}}], "ready"),
        ([{"metadata": {"name": "demo"}, "status": {"phase": "Pending"}}], "progressing"),
        ([{"metadata": {"name": "demo"}, "status": {"phase": "Lost"}}], "failed"),
        ([], "failed"),
    ],
)
def test_claims(claims: list[Object], state: str) -> None:
    _judged, result = outcome(request("pvc", policy=LOOK), sight(persistentvolumeclaims=claims))
    assert result["state"] == state
    assert len(result["claims"]) == 1


# --- a deletion -------------------------------------------------------------------------------------------------------


def test_a_deletion_waits_for_the_pods_too() -> None:
    gone = request("deletion", policy=LOOK)
    assert outcome(gone, sight())[1]["state"] == "ready"
    leaving = pod(deletionTimestamp=at(-20))
    result = outcome(gone, sight(pods=[leaving]))[1]
    assert (result["state"], result["deletion"]["gone"]) == ("progressing", False)
    assert "Pod demo-worker-0 (terminating)" in result["components"][0]["slowest"]


def test_a_deletion_that_hangs_says_on_what() -> None:  # H01
    held = dgd()
    held["metadata"].update(deletionTimestamp=at(600), finalizers=["nvidia.com/finalizer"])
    wanted = request("deletion", policy=LOOK)
    _judged, result = outcome(wanted, sight(dynamographdeployments=[held], operator_runs=False))
    assert (result["state"], result["category"]) == ("failed", "operator_error")
    assert result["deletion"]["remedy"]["only_when_asked"] is True


def test_a_dgd_that_comes_back_ends_the_wait() -> None:  # H05
    wanted = request("deletion", uids={"demo": "u-before"})
    _judged, result = outcome(wanted, sight(dynamographdeployments=[dgd()]))
    assert (result["state"], result["deletion"]["recreated"]) == ("failed", True)
