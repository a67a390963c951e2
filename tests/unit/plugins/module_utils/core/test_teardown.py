# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking a DGD down: what goes with it, what would bring it back, and what holds it (cases H01 to H05)."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.teardown import (
    FINALIZER,
    REASONS,
    DeletionReport,
    deletion_plan,
    judge_deletion,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage.state import ClusterState, seconds

Object = dict[str, Any]
DGD = "DynamoGraphDeployment"
NOW = seconds("2026-01-01T01:00:00Z")
MINE = {"nvidia.com/dynamo-graph-deployment-name": "demo"}


def graph(*finalizers: str, deleted: str = "2026-01-01T00:50:00Z", uid: str = "u1", **metadata: Any) -> Object:
    given = {"name": "demo", "uid": uid, "finalizers": list(finalizers), **metadata}
    return {"kind": DGD, "metadata": {**given, **({"deletionTimestamp": deleted} if deleted else {})}}


def claim(name: str = "model-cache", *, owned: bool = True, volume: str = "pv-1") -> Object:
    owners = [{"kind": "Other", "name": "x", "uid": "u9"}]
    if owned:
        owners.append({"kind": DGD, "name": "demo", "uid": "u1"})
    return {"metadata": {"name": name, "uid": f"u-{name}", "ownerReferences": owners}, "spec": {"volumeName": volume}}


def pod(name: str = "demo-w-0", *, deleted: str = "2026-01-01T01:00:20Z", node: str = "n", **metadata: Any) -> Object:
    given = {"name": name, "labels": MINE, **metadata}
    return {"metadata": {**given, **({"deletionTimestamp": deleted} if deleted else {})}, "spec": {"nodeName": node}}


def live(**objects: list[Object]) -> ClusterState:
    nodes = objects.pop("nodes", None)
    return ClusterState(NOW, "demo", objects, nodes)


def judged(targets: list[Object], objects: dict[str, list[Object]] | None = None, **more: Any) -> DeletionReport:
    return judge_deletion(live(**(objects or {})), targets, kind=DGD, uids={"demo": "u1"}, **more)


def codes(report: Any) -> list[str]:
    return [finding.reason_code for finding in report.findings]


# --- the plan ---------------------------------------------------------------------------------------------------------


def test_a_claim_that_the_dgd_owns_goes_with_it() -> None:  # H03
    volume = {"metadata": {"name": "pv-1"}, "spec": {"persistentVolumeReclaimPolicy": "Delete"}}
    state = live(
        dynamographdeployments=[graph(deleted="")],
        persistentvolumeclaims=[claim(), claim("kept", owned=False)],
        persistentvolumes=[volume],
        dynamographdeploymentrequests=[],
    )
    plan = deletion_plan(state)
    assert [(one.name, one.owner_index) for one in plan.owned_claims] == [("model-cache", 1)]
    assert codes(plan) == ["teardown_owned_pvc", "teardown_pv_reclaim_delete"]
    assert plan.to_result()["blockers"] == ["PersistentVolumeClaim/model-cache: claim model-cache is owned by DGD demo"]
    assert deletion_plan(state, retain_pvcs=False).to_result()["blockers"] == []


def test_a_claim_of_a_dgd_of_the_same_name_that_is_gone_is_not_ours() -> None:
    other = claim()
    other["metadata"]["ownerReferences"][1]["uid"] = "u0"
    assert deletion_plan(live(dynamographdeployments=[graph()], persistentvolumeclaims=[other])).owned_claims == ()


@pytest.mark.parametrize(
    ("request_object", "metadata"),
    [
        (
            {"metadata": {"name": "demo-req"}},
            {"ownerReferences": [{"kind": "DynamoGraphDeploymentRequest", "name": "demo-req"}]},
        ),
        ({"metadata": {"name": "demo-req"}}, {"labels": {"dgdr.nvidia.com/name": "demo-req"}}),
        ({"metadata": {"name": "demo-req"}, "status": {"dgdName": "demo"}}, {}),
    ],
)
def test_a_request_would_make_it_again(request_object: Object, metadata: Object) -> None:  # H05
    plan = deletion_plan(
        live(
            dynamographdeployments=[graph(deleted="", **metadata)],
            dynamographdeploymentrequests=[request_object, {"metadata": {"name": "other"}}],
            persistentvolumeclaims=[],
        )
    )
    assert plan.requests == ("demo-req",)
    assert plan.order == (("DynamoGraphDeploymentRequest", "demo-req"), (DGD, "demo"))
    assert codes(plan) == ["teardown_request_recreates"]


def test_a_missing_operator_is_told_before_the_deletion_hangs() -> None:
    state = live(dynamographdeployments=[graph(FINALIZER)], persistentvolumeclaims=[], dynamographdeploymentrequests=[])
    assert codes(deletion_plan(state, operator_runs=False)) == ["teardown_finalizer_owner_absent"]
    assert codes(deletion_plan(state, operator_runs=True)) == []
    assert codes(deletion_plan(state)) == []


def test_what_was_not_read_is_unknown() -> None:
    plan = deletion_plan(live(dynamographdeployments=[graph()]))
    assert {finding.outcome for finding in plan.findings} == {"unknown"}
    assert codes(plan) == ["teardown_not_read", "teardown_not_read"]


# --- while it is being deleted ----------------------------------------------------------------------------------------


def test_gone_is_gone() -> None:
    report = judged([])
    assert (report.gone, report.stuck, codes(report)) == (True, False, ["teardown_gone"])


def test_a_finalizer_without_its_operator() -> None:  # H01
    report = judged([graph(FINALIZER)], operator_runs=False, crd_deleting=True)
    assert (report.gone, report.stuck) == (False, True)
    assert codes(report) == ["teardown_finalizer_owner_absent", "teardown_order"]
    assert report.remedy == {
        "action": "remove_finalizer",
        "finalizer": FINALIZER,
        "objects": [{"kind": DGD, "name": "demo", "index": 0}],
        "only_when_asked": True,
    }
    assert report.to_result()["holders"] == ["finalizer owner absent"]


@pytest.mark.parametrize("runs", [True, None])
def test_a_finalizer_whose_operator_may_run_is_waited_for(runs: bool | None) -> None:
    report = judged([graph(FINALIZER)], operator_runs=runs)
    assert (codes(report), report.stuck, report.remedy) == (["teardown_finalizer_held"], False, None)


def test_a_dgd_made_anew_is_not_the_one_deleted() -> None:  # H05
    report = judged([graph(uid="u2", deleted="")], {"pods": [pod(deleted="")]})
    assert (report.gone, report.recreated, codes(report)) == (True, True, ["teardown_recreated"])


def test_what_nobody_has_deleted_is_told() -> None:
    report = judged([graph(deleted="")])
    assert (report.gone, codes(report)) == (False, ["teardown_not_deleted"])


def test_foreground_deletion_waits_for_dependents() -> None:
    report = judged([graph("foregroundDeletion")], {"deployments": [{"metadata": {"name": "demo-w", "labels": MINE}}]})
    assert codes(report) == ["teardown_dependents"]
    assert [one.kind for one in report.remaining] == [DGD, "Deployment"]


@pytest.mark.parametrize(
    ("one", "nodes", "code", "stuck"),
    [
        (pod(), [], "teardown_pod_terminating", False),
        (pod(deleted="2026-01-01T00:50:00Z"), [], "teardown_pod_stuck", True),
        (pod(finalizers=["x/y"]), [], "teardown_finalizer_held", False),
        (pod(deleted=""), [], "teardown_not_deleted", False),
        (
            pod(),
            [{"metadata": {"name": "n"}, "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}],
            "teardown_pod_stuck",
            True,
        ),
    ],
)
def test_pods_that_remain(one: Object, nodes: list[Object], code: str, stuck: bool) -> None:
    report = judged([], {"pods": [one], "nodes": nodes})
    assert (report.gone, codes(report), report.stuck) == (False, [code], stuck)


def test_other_peoples_objects_do_not_count() -> None:
    foreign = pod("other-0")
    foreign["metadata"]["labels"] = {"nvidia.com/dynamo-graph-deployment-name": "other"}
    assert judged([], {"pods": [foreign]}).gone
    assert judge_deletion(live(pods=[pod()]), [], kind="Job").gone, "only a DGD owns pods by its label"


def test_the_codes() -> None:
    assert len({reason.code for reason in REASONS}) == len(REASONS) == 13
