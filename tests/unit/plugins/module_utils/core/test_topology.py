# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workloads that a DGD should not have: before an apply and after one (cases F01 to F05)."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.topology import (
    REASONS,
    Leftover,
    leftover_findings,
    leftovers,
    topology_changes,
    topology_findings,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage.state import ClusterState

Object = dict[str, Any]
DCD = "DynamoComponentDeployment"


def owner(kind: str, name: str) -> list[Object]:
    return [{"kind": kind, "name": name, "uid": f"u-{kind}-{name}", "controller": True}]


def graph(
    nodes: int = 1,
    *,
    annotations: Object | None = None,
    status: Object | None = None,
    parts: tuple[str, ...] = ("worker",),
) -> Object:
    services = {
        name: {"componentType": "worker", **({"multinode": {"nodeCount": nodes}} if nodes > 1 else {})}
        for name in parts
    }
    metadata = {"name": "demo", "uid": "u-demo", "annotations": annotations or {}}
    return {
        "kind": "DynamoGraphDeployment",
        "metadata": metadata,
        "spec": {"services": services},
        "status": status or {},
    }


def thing(
    kind: str,
    name: str,
    *,
    component: str = "worker",
    owned_by: list[Object] | None = None,
    generation: str = "",
    created: str = "2026-01-01T00:00:00Z",
    ready: int = 1,
    **metadata: Any,
) -> Object:
    labels = {"nvidia.com/dynamo-graph-deployment-name": "demo", "nvidia.com/dynamo-component": component}
    if generation:
        labels["nvidia.com/dynamo-worker-hash"] = generation
    return {
        "apiVersion": {"Deployment": "apps/v1", "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1"}.get(
            kind, "nvidia.com/v1alpha1"
        ),
        "kind": kind,
        "metadata": {
            "name": name,
            "uid": f"u-{kind}-{name}",
            "labels": labels,
            "creationTimestamp": created,
            "ownerReferences": owner("DynamoGraphDeployment", "demo") if owned_by is None else owned_by,
            **metadata,
        },
        "spec": {"replicas": 1},
        "status": {
            "readyReplicas": ready,
            "conditions": [{"type": "Available", "status": "True" if ready else "False"}],
        },
    }


def pod(name: str, owned_by: list[Object], gpus: int, node: str = "n") -> Object:
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}}
    metadata = {"name": name, "uid": f"u-{name}", "ownerReferences": owned_by, "labels": {}}
    return {
        "metadata": metadata,
        "spec": {"nodeName": node, "containers": [{"name": "main", "resources": resources}]},
        "status": {"phase": "Running"},
    }


def live(dgd: Object | None = None, **objects: list[Object]) -> ClusterState:
    return ClusterState(0.0, "demo", {"dynamographdeployments": [dgd or graph()], **objects})


DEPLOYMENT = thing("Deployment", "demo-worker", owned_by=owner(DCD, "demo-worker"))
LWS = thing("LeaderWorkerSet", "demo-worker-0", owned_by=owner(DCD, "demo-worker"))
PLAIN_DCD = thing(DCD, "demo-worker")


def short(found: tuple[Leftover, ...]) -> list[tuple[str, str, str, bool]]:
    return [(one.kind, one.name, one.state, one.deletable) for one in found]


# --- after an apply ---------------------------------------------------------------------------------------------------


def test_a_deployment_left_by_an_older_operator_is_an_orphan() -> None:  # F01
    replicaset = {"metadata": {"name": "rs", "uid": "u-rs", "ownerReferences": owner("Deployment", "demo-worker")}}
    state = live(
        graph(2),
        dynamocomponentdeployments=[PLAIN_DCD],
        deployments=[DEPLOYMENT],
        leaderworkersets=[LWS],
        replicasets=[replicaset],
        pods=[
            pod("p-0", [{"uid": "u-rs", "controller": True}], 8),
            pod("p-1", [{"uid": "u-rs", "controller": True}], 8, node=""),
        ],
    )
    found = leftovers(state)
    assert short(found) == [("Deployment", "demo-worker", "orphan", True)]
    assert found[0].gpus == 8, "what its bound pods hold"
    assert "topology_orphan" in {finding.reason_code for finding in leftover_findings(state, found)}


def test_the_other_way_round() -> None:
    state = live(graph(1), dynamocomponentdeployments=[PLAIN_DCD], deployments=[DEPLOYMENT], leaderworkersets=[LWS])
    assert short(leftovers(state)) == [("LeaderWorkerSet", "demo-worker-0", "orphan", True)]


def test_an_orphan_is_kept_while_its_successor_is_not_ready() -> None:
    starting = thing("LeaderWorkerSet", "demo-worker-0", owned_by=owner(DCD, "demo-worker"), ready=0)
    state = live(
        graph(2), dynamocomponentdeployments=[PLAIN_DCD], deployments=[DEPLOYMENT], leaderworkersets=[starting]
    )
    assert short(leftovers(state)) == [("Deployment", "demo-worker", "orphan", False)]


OLD = thing(DCD, "demo-worker-aaaa1111", generation="aaaa1111")
NEW = thing(DCD, "demo-worker-bbbb2222", generation="bbbb2222", created="2026-01-02T00:00:00Z")
OLD_DEPLOYMENT = thing("Deployment", "demo-worker-aaaa1111", owned_by=owner(DCD, "demo-worker-aaaa1111"))
NEW_LWS = thing("LeaderWorkerSet", "demo-worker-bbbb2222-0", owned_by=owner(DCD, "demo-worker-bbbb2222"))
CURRENT = {"nvidia.com/current-worker-hash": "bbbb2222"}


@pytest.mark.parametrize("key", ["nvidia.com/current-worker-hash", "nvidia.com/current-worker-hash-v2"])
def test_a_superseded_generation_is_an_orphan_with_its_deployment(key: str) -> None:  # F01
    state = live(
        graph(2, annotations={key: "bbbb2222"}),
        dynamocomponentdeployments=[OLD, NEW],
        deployments=[OLD_DEPLOYMENT],
        leaderworkersets=[NEW_LWS],
    )
    found = leftovers(state)
    assert short(found) == [(DCD, "demo-worker-aaaa1111", "orphan", True)]
    assert found[0].holds == ("Deployment/demo-worker-aaaa1111",)


@pytest.mark.parametrize("phase", ["Pending", "InProgress"])
def test_a_rolling_update_is_no_leftover(phase: str) -> None:
    state = live(
        graph(annotations={"nvidia.com/current-worker-hash": "aaaa1111"}, status={"rollingUpdate": {"phase": phase}}),
        dynamocomponentdeployments=[OLD, NEW],
    )
    found = leftovers(state)
    assert short(found) == [(DCD, "demo-worker-aaaa1111", "rolling_update", False)]
    assert [(one.reason_code, one.outcome) for one in leftover_findings(state, found)] == [
        ("topology_rolling_update", "pass")
    ]


def test_an_update_that_just_begins_is_no_leftover() -> None:
    state = live(
        graph(annotations={"nvidia.com/current-worker-hash": "aaaa1111"}), dynamocomponentdeployments=[OLD, NEW]
    )
    assert short(leftovers(state)) == [(DCD, "demo-worker-bbbb2222", "rolling_update", False)]


def test_the_old_generation_is_kept_while_the_new_one_is_not_ready() -> None:
    starting = thing(DCD, "demo-worker-bbbb2222", generation="bbbb2222", created="2026-01-02T00:00:00Z", ready=0)
    state = live(graph(2, annotations=CURRENT), dynamocomponentdeployments=[OLD, starting])
    assert short(leftovers(state)) == [(DCD, "demo-worker-aaaa1111", "orphan", False)]


def test_a_removed_component_leaves_an_orphan() -> None:  # F03
    prefill = thing(
        "Deployment", "demo-prefill-worker", component="prefill", owned_by=owner(DCD, "demo-prefill-worker")
    )
    state = live(deployments=[DEPLOYMENT, prefill])
    assert short(leftovers(state)) == [("Deployment", "demo-prefill-worker", "orphan", True)]


def test_without_the_hash_annotation_nothing_is_safe_to_delete() -> None:  # F05, D22
    state = live(dynamocomponentdeployments=[OLD, NEW])
    found = leftovers(state)
    assert short(found) == [(DCD, "demo-worker-aaaa1111", "stale_generation", False)]
    codes = {one.reason_code for one in leftover_findings(state, found)}
    assert codes == {"topology_stale_generation", "topology_hash_annotation_lost"}


def test_what_somebody_else_owns_is_never_deletable() -> None:
    foreign = thing("Deployment", "demo-worker", owned_by=[])
    state = live(graph(2), deployments=[foreign], leaderworkersets=[LWS])
    assert short(leftovers(state)) == [("Deployment", "demo-worker", "orphan", False)]
    assert "not owned" in leftovers(state)[0].reason


def test_a_healthy_dgd_has_no_leftovers() -> None:
    state = live(graph(annotations={"nvidia.com/current-worker-hash": "bbbb2222"}), dynamocomponentdeployments=[NEW])
    assert leftovers(state) == ()
    assert leftover_findings(state, ()) == ()
    assert leftovers(ClusterState(0.0, "demo", {})) == ()


def test_what_is_being_deleted_is_no_leftover() -> None:
    going = thing(
        "Deployment", "demo-worker", owned_by=owner(DCD, "demo-worker"), deletionTimestamp="2026-01-01T00:00:00Z"
    )
    assert leftovers(live(graph(2), deployments=[going], leaderworkersets=[LWS])) == ()


def test_where_grove_is_at_work_a_deployment_is_left_over() -> None:
    clique = thing("PodClique", "demo-0-worker", owned_by=owner("PodCliqueSet", "demo"))
    state = live(deployments=[DEPLOYMENT], podcliques=[clique])
    assert short(leftovers(state)) == [("Deployment", "demo-worker", "orphan", True)]


# --- before an apply --------------------------------------------------------------------------------------------------

RENDERED_LWS = {
    "kind": "LeaderWorkerSet",
    "metadata": {"name": "x", "labels": {"nvidia.com/dynamo-component": "worker"}},
}
RENDERED_DEPLOYMENT = {
    "kind": "Deployment",
    "metadata": {"name": "x", "labels": {"nvidia.com/dynamo-component": "worker"}},
}
RENDERED_GROVE = {
    "kind": "PodCliqueSet",
    "metadata": {"name": "demo"},
    "spec": {"template": {"cliques": [{"name": "worker", "labels": {"nvidia.com/dynamo-component": "worker"}}]}},
}
LIVE_SET = {
    "kind": "PodCliqueSet",
    "metadata": {"name": "demo", "labels": {"nvidia.com/dynamo-graph-deployment-name": "demo"}},
    "spec": RENDERED_GROVE["spec"],
}


@pytest.mark.parametrize(
    ("rendered", "objects", "expected"),
    [
        ([RENDERED_DEPLOYMENT], {"deployments": [DEPLOYMENT]}, []),
        ([RENDERED_LWS], {"deployments": [DEPLOYMENT]}, [("kind", "Deployment", "LeaderWorkerSet")]),
        ([RENDERED_DEPLOYMENT], {"leaderworkersets": [LWS]}, [("kind", "LeaderWorkerSet", "Deployment")]),
        ([RENDERED_GROVE], {"deployments": [DEPLOYMENT]}, [("kind", "Deployment", "PodClique")]),
        ([RENDERED_DEPLOYMENT], {"podcliquesets": [LIVE_SET]}, [("kind", "PodClique", "Deployment")]),
        ([RENDERED_GROVE], {"podcliquesets": [LIVE_SET]}, []),
        # Both kinds run already: that is a leftover, and the apply changes nothing about it.
        ([RENDERED_LWS], {"deployments": [DEPLOYMENT], "leaderworkersets": [LWS]}, []),
        ([RENDERED_LWS], {}, []),
        ([], {"deployments": [DEPLOYMENT]}, []),
    ],
)
def test_a_change_of_kind_is_found_before_the_apply(
    rendered: list[Object], objects: dict[str, list[Object]], expected: list[Any]
) -> None:
    state = live(None, **objects)
    changes = topology_changes(rendered, state)
    assert [(one.change, one.live_kind, one.wanted_kind) for one in changes] == expected
    codes = {one.reason_code for one in topology_findings(changes, state)}
    assert codes == ({"topology_kind_change"} if expected else {"topology_same"})


def test_added_and_removed_components_are_found() -> None:
    other = {"kind": "Deployment", "metadata": {"name": "y", "labels": {"nvidia.com/dynamo-component": "decode"}}}
    state = live(deployments=[DEPLOYMENT])
    changes = topology_changes([other], state)
    assert [(one.component, one.change) for one in changes] == [("decode", "added"), ("worker", "removed")]
    assert {one.reason_code for one in topology_findings(changes, state)} == {"topology_component_set"}
    assert "is not in the new manifest" in changes[1].to_result()["message"]


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(InputError, match="must be a mapping"):
        topology_changes(["text"], live())  # type: ignore[list-item]  # as a filter may be given


def test_the_codes() -> None:
    assert len({reason.code for reason in REASONS}) == len(REASONS) == 7
