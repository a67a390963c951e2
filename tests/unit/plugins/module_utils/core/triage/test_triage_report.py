# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as a whole: every category has a case, and equal causes are one finding with all that it affects."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import CATEGORIES, REASONS
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage import (
    test_cases_containers,
    test_cases_kubelet,
    test_cases_refusals,
    test_cases_scheduling,
)
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.builders import (
    Object,
    at,
    dgd,
    event,
    judged,
    labels,
    node,
    pending,
    pod,
    ready_pod,
    running,
)
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.cases import (
    FULL,
    GPU,
    TAINTED,
    Case,
    crash,
)

TABLES = (test_cases_containers, test_cases_kubelet, test_cases_refusals, test_cases_scheduling)
#: All cases of all areas, by their names.
CASES: dict[str, Case] = {name: case for table in TABLES for name, case in table.CASES.items()}

#: Reason codes are public: a play may compare them, so they never change.
CODES = {
    "triage_ready",
    "triage_model_loading",
    "triage_insufficient_resource",
    "triage_taint",
    "triage_node_affinity",
    "triage_pod_affinity",
    "triage_topology_spread",
    "triage_node_unschedulable",
    "triage_host_port",
    "triage_pvc",
    "triage_dra_claim",
    "triage_scheduling_gated",
    "triage_gang",
    "triage_quota",
    "triage_admission",
    "triage_node_admission",
    "triage_image_pull",
    "triage_image_platform",
    "triage_config_missing",
    "triage_mount",
    "triage_sandbox",
    "triage_crash_loop",
    "triage_oom",
    "triage_probe_failure",
    "triage_evicted",
    "triage_scheduler_error",
    "triage_scheduler_missing",
    "triage_config_invalid",
    "triage_node_lost",
    "triage_operator_error",
    "triage_rollout_stuck",
    "triage_unknown",
    "triage_scheduler_disagrees",
}


def test_every_category_has_a_case_and_a_code() -> None:
    covered = {case[3] for case in CASES.values()}
    assert covered == set(CATEGORIES)
    assert {reason.code for reason in REASONS} == CODES
    assert CODES - {"triage_scheduler_disagrees"} == {f"triage_{name}" for name in CATEGORIES}


def test_taints_and_affinities_are_never_called_contention() -> None:
    for pods, events, more, category, _way, _sub in CASES.values():
        if category in ("taint", "node_affinity"):
            assert judged(pods, events, **more).way != "contention"


def test_equal_causes_are_one_finding_with_all_that_it_affects() -> None:
    tainted = [pending(TAINTED, name=f"demo-worker-{number}") for number in range(3)]
    report = judged([pending(TAINTED, name="demo-frontend-0", component="Frontend"), *tainted])
    assert [(cause.category, cause.replicas) for cause in report.causes] == [("taint", 4)]
    assert [(one.component, one.replicas) for one in report.causes[0].affected] == [("Frontend", 1), ("Worker", 3)]
    assert report.causes[0].to_finding().outcome == "fail"


def test_different_causes_are_told_apart_the_most_telling_first() -> None:
    crashed = {**crash(1)}
    report = judged([pending(FULL, name="demo-worker-1"), crashed])
    assert [cause.category for cause in report.causes] == ["crash_loop", "insufficient_resource"]
    assert report.way == "failed_deploy"


def test_the_scheduler_and_the_nodes_may_disagree() -> None:
    report = judged([pending(TAINTED)], nodes=[node("a"), node("b")])
    found = [one for one in report.findings if one.reason_code == "triage_scheduler_disagrees"]
    assert [one.outcome for one in found] == ["unknown"]
    assert "2 nodes would take the pod" in found[0].message
    other = judged([pending(TAINTED)], nodes=[node("a")])
    assert "looked at 2 nodes, 1 are there now" in other.extra[0].message
    free = judged([pending(FULL, spec=GPU)], nodes=[node("a"), node("b")], cluster_pods=[])
    assert "it is nothing" in free.extra[0].message
    busy = [ready_pod(f"x-{name}", node=name, spec={**GPU, "nodeName": name}) for name in ("a", "b")]
    agreed = judged([pending(FULL, spec=GPU)], nodes=[node("a"), node("b")], cluster_pods=busy)
    assert agreed.extra == ()
    assert agreed.causes[0].detail["most_free"] == 0
    assert agreed.causes[0].detail["requested"] == 8


def test_of_the_nodes_only_those_meant_for_the_pod_explain_it() -> None:
    text = "0/4 nodes are available: 1 node(s) were unschedulable, 3 node(s) didn't match Pod's node affinity/selector."
    nodes = [node("a"), node("b"), node("c"), node("gpu", unschedulable=True, labels={"sku": "h100"})]
    report = judged([pending(text, spec={"nodeSelector": {"sku": "h100"}})], nodes=nodes)
    assert [(cause.category, cause.way) for cause in report.causes] == [("node_unschedulable", "fix_dependency")]


def test_silence_about_a_claim_or_a_gang_is_no_missing_scheduler() -> None:
    claims = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]}
    assert judged([pending(age=60, spec=claims)]).category == "dra_claim"
    assert judged([pending(age=60, spec={"workloadRef": {"name": "gang"}})]).category == "gang"


def test_what_is_left_of_an_old_status_is_not_believed() -> None:
    stale = dgd(True)
    stale["metadata"]["generation"] = 2
    report = judged([ready_pod("demo-worker-0"), ready_pod("demo-worker-1")], graph=stale)
    assert (report.ready, report.stale_status) == (False, True)


def test_the_rendered_pods_say_how_many_are_wanted() -> None:
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.demand import PodDemand
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import ClusterState, triage

    demands = tuple(PodDemand(f"d-{n}", "Worker", "main", n, {"spec": {}}) for n in range(4))
    objects = {"dynamographdeployments": [dgd(True)], "pods": [ready_pod("demo-worker-0")]}
    view = triage(ClusterState(1.0, "demo", objects, demands=demands)).component("Worker")
    assert view is not None
    assert (view.desired, view.ready) == (4, 1)


def test_the_old_generation_does_not_count_for_the_new_one() -> None:
    def part(generation: str, created: float) -> Object:
        marks = labels(**{"nvidia.com/dynamo-worker-hash": generation})
        return {"metadata": {"name": f"demo-worker-{generation}", "labels": marks, "creationTimestamp": at(created)}}

    old = ready_pod("demo-worker-0")
    old["metadata"]["labels"]["nvidia.com/dynamo-worker-hash"] = "aaaa1111"
    new = pod("demo-worker-1", containers=[running(ready=False, started=False)])
    new["metadata"]["labels"]["nvidia.com/dynamo-worker-hash"] = "bbbb2222"
    parts = [part("aaaa1111", 500), part("bbbb2222", 50)]
    report = judged([old, new], graph=dgd(False, workers=1), dynamocomponentdeployments=parts)
    view = report.component("Worker")
    assert view is not None
    assert (view.ready, view.category, view.updating) == (0, "model_loading", True)


def replica_set(revision: int, **status: Any) -> Object:
    """A ReplicaSet of the worker's Deployment; its UID is its revision's."""
    owner = {"kind": "Deployment", "name": "demo-worker", "uid": "u-demo-worker", "controller": True}
    metadata = {
        "name": f"demo-worker-{revision}",
        "uid": f"u-rs-{revision}",
        "labels": labels(),
        "annotations": {"deployment.kubernetes.io/revision": str(revision)},
        "ownerReferences": [owner],
    }
    return {"metadata": metadata, "spec": {"replicas": 1}, "status": status}


def of_revision(made: Object, revision: int) -> Object:
    """The pod as one of the ReplicaSet of that revision."""
    made["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "uid": f"u-rs-{revision}", "controller": True}]
    return made


def test_pods_of_an_older_template_do_not_count_for_the_newest() -> None:
    # Revision 10 is newer than 9: they are numbers.
    sets = [replica_set(9, replicas=2), replica_set(10, replicas=1)]
    old = [of_revision(ready_pod(f"demo-worker-{number}"), 9) for number in range(2)]
    report = judged([*old, of_revision(crash(1), 10)], replicasets=sets)
    view = report.component("Worker")
    assert view is not None
    assert (view.category, view.ready, view.updating) == ("crash_loop", 0, True)
    new = [of_revision(ready_pod(f"demo-worker-n{number}"), 10) for number in range(2)]
    broken = of_revision(crash(1), 9)
    assert judged([broken, *new], replicasets=sets).ready, "what the old template did is over"


def test_a_new_template_that_is_refused_is_not_hidden_by_the_old_pods() -> None:
    text = "exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, used: requests.nvidia.com/gpu=2, limited: x=2"
    failure = {"type": "ReplicaFailure", "status": "True", "message": f'pods "x" is forbidden: {text}'}
    sets = [replica_set(1, replicas=2), replica_set(2, replicas=0, conditions=[failure])]
    old = [of_revision(ready_pod(f"demo-worker-{number}"), 1) for number in range(2)]
    assert judged(old, replicasets=sets).category == "quota"


def test_dumps_with_entries_that_are_no_objects_are_judged_without_them() -> None:
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import (
        ClusterState,
        from_dumps,
        triage,
    )

    made = ready_pod("demo-worker-0")
    made["status"]["conditions"].append(None)
    read: dict[str, list[Any]] = {
        "pods": [made, None, "x"],
        "events": [None],
        "dynamographdeployments": [dgd(workers=1)],
    }
    objects = from_dumps(read)
    view = triage(ClusterState(1.0, "demo", objects)).component("Worker")
    assert view is not None
    assert view.category == "ready"


def test_many_events_that_are_kept_as_one_say_the_same() -> None:
    text = "(combined from similar events): 0/1 nodes are available: 1 node(s) were unschedulable."
    assert judged([pending()], [event("FailedScheduling", text, count=9)]).category == "node_unschedulable"


def test_without_the_dgd_its_deployments_say_how_many_are_wanted() -> None:
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import ClusterState, triage

    deployment = {"metadata": {"name": "demo-worker", "labels": labels()}, "spec": {"replicas": 3}}
    objects = {"pods": [ready_pod("demo-worker-0")], "deployments": [deployment]}
    view = triage(ClusterState(1.0, "demo", objects)).component("Worker")
    assert view is not None
    assert (view.desired, view.ready) == (3, 1)


def test_a_dgd_whose_pods_are_there_was_taken_up() -> None:
    report = judged([ready_pod("demo-worker-0"), ready_pod("demo-worker-1")], graph={**dgd(), "status": {}})
    assert (report.category, report.causes) == ("ready", ())
