# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The confusion table of progress and of pods without a node: what schedulers say, and their silence (D02 to D08)."""

from __future__ import annotations

import pytest
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.builders import (
    at,
    event,
    node,
    pending,
    pod,
    ready_pod,
    running,
    waiting,
)
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.cases import (
    FULL,
    GPU,
    GPU_16,
    NOT_BOUND,
    TAINTED,
    WITH_CLAIM,
    Case,
    check,
    claim,
)

CASES: dict[str, Case] = {
    "all ready": ([ready_pod("demo-worker-0"), ready_pod("demo-worker-1")], [], {}, "ready", "none", ""),
    "healthy start leaves Unhealthy warnings behind": (
        [ready_pod("demo-worker-0"), ready_pod("demo-worker-1")],
        [event("Unhealthy", "Startup probe failed: connection refused", count=6)],
        {},
        "ready",
        "none",
        "",
    ),
    "startup probe not yet passed, port closed": (
        [pod(containers=[running(ready=False, started=False)])],
        [event("Unhealthy", "Startup probe failed: Get http://10.0.0.1:9090/live: connection refused", count=5)],
        {},
        "model_loading",
        "wait",
        "",
    ),
    "just created": ([pending(age=2)], [], {}, "model_loading", "wait", ""),
    "image is being pulled": (
        [pod(phase="Pending", containers=[waiting("ContainerCreating")])],
        [event("Pulling", 'Pulling image "reg.example/vllm:1"', warning=False)],
        {},
        "model_loading",
        "wait",
        "",
    ),
    "init container at work": (
        [pod(phase="Pending", init=[running(ready=False, name="fetch")], containers=[waiting("PodInitializing")])],
        [],
        {},
        "model_loading",
        "wait",
        "",
    ),
    "running, readiness within its thresholds": (
        [pod(containers=[running(ago=12, ready=False)])],
        [event("Unhealthy", "Readiness probe failed: statuscode: 503")],
        {},
        "model_loading",
        "wait",
        "",
    ),
    "nodes are full": (
        [pending(FULL, spec=GPU)],
        [],
        {"nodes": [node("a"), node("b")]},
        "insufficient_resource",
        "contention",
        "",
    ),
    "full nodes and a tainted one": (
        [pending("0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient nvidia.com/gpu.")],
        [],
        {},
        "insufficient_resource",
        "contention",
        "",
    ),
    "no node is large enough": (
        [pending(FULL, spec=GPU_16)],
        [],
        {"nodes": [node("a"), node("b")]},
        "insufficient_resource",
        "failed_deploy",
        "",
    ),
    "short nodes are CPU nodes, the GPU nodes are tainted": (
        [
            pending(
                "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) had untolerated taint(s).", spec=GPU
            )
        ],
        [],
        {
            "nodes": [
                node("cpu", gpus=0),
                node("gpu", taints=[{"key": "reserved", "value": "x", "effect": "NoSchedule"}]),
            ]
        },
        "taint",
        "failed_deploy",
        "",
    ),
    "short nodes are CPU nodes, the GPU nodes are cordoned": (
        [pending("0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) were unschedulable.", spec=GPU)],
        [],
        {"nodes": [node("cpu", gpus=0), node("gpu", unschedulable=True)]},
        "node_unschedulable",
        "fix_dependency",
        "",
    ),
    "tainted": ([pending(TAINTED)], [], {}, "taint", "failed_deploy", ""),
    "cordoned looks like tainted to a careless reader": (
        [pending("0/1 nodes are available: 1 node(s) were unschedulable.")],
        [],
        {
            "nodes": [
                node(
                    "a",
                    unschedulable=True,
                    taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}],
                )
            ]
        },
        "node_unschedulable",
        "fix_dependency",
        "",
    ),
    "selector mismatch": (
        [
            pending(
                "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
                spec={"nodeSelector": {"sku": "h200"}},
            )
        ],
        [],
        {"nodes": [node("a"), node("b")]},
        "node_affinity",
        "failed_deploy",
        "",
    ),
    "anti-affinity": (
        [pending("0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.")],
        [],
        {},
        "pod_affinity",
        "failed_deploy",
        "",
    ),
    "spread": (
        [pending("0/2 nodes are available: 2 node(s) didn't match pod topology spread constraints.")],
        [],
        {},
        "topology_spread",
        "failed_deploy",
        "",
    ),
    "host port taken by the other replica": (
        [
            ready_pod(
                "demo-worker-1", spec={"containers": [{"name": "main", "image": "i", "ports": [{"hostPort": 9090}]}]}
            ),
            pending(
                "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
                spec={"containers": [{"name": "main", "image": "i", "ports": [{"hostPort": 9090}]}]},
            ),
        ],
        [],
        {},
        "host_port",
        "failed_deploy",
        "",
    ),
    "host port taken by a stranger": (
        [
            pending(
                "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
                spec={"containers": [{"name": "main", "image": "i", "ports": [{"hostPort": 9090}]}]},
            )
        ],
        [],
        {},
        "host_port",
        "contention",
        "",
    ),
    "claim of a storage class that is not there": (
        [pending(NOT_BOUND, spec=WITH_CLAIM)],
        [
            event(
                "ProvisioningFailed",
                'storageclass.storage.k8s.io "fast" not found',
                kind="PersistentVolumeClaim",
                name="cache",
            )
        ],
        {"persistentvolumeclaims": [claim()]},
        "pvc",
        "fix_dependency",
        "",
    ),
    "claim missing": (
        [pending('0/2 nodes are available: persistentvolumeclaim "cache" not found.', spec=WITH_CLAIM)],
        [],
        {},
        "pvc",
        "fix_dependency",
        "",
    ),
    "volume in another zone, new wording": (  # D06
        [pending("0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity.")],
        [],
        {},
        "pvc",
        "fix_dependency",
        "",
    ),
    "volume used on another node": (  # D20
        [pod(phase="Pending", containers=[waiting("ContainerCreating")])],
        [
            event(
                "FailedAttachVolume",
                'Multi-Attach error for volume "pvc-1" Volume is already used by pod(s) demo-worker-1',
            )
        ],
        {},
        "pvc",
        "fix_dependency",
        "multi_attach",
    ),
    "resource claim": (
        [pending("0/2 nodes are available: 2 cannot allocate all claims.")],
        [],
        {},
        "dra_claim",
        "fix_dependency",
        "",
    ),
    "resource claim cannot be prepared": (
        [pod(phase="Pending", containers=[waiting("ContainerCreating")])],
        [event("FailedPrepareDynamicResources", "failed to prepare dynamic resources")],
        {},
        "dra_claim",
        "fix_dependency",
        "",
    ),
    "gated": (
        [
            pending(
                "Scheduling is blocked due to non-empty scheduling gates",
                reason="SchedulingGated",
                spec={"schedulingGates": [{"name": "x.example/hold"}]},
            )
        ],
        [],
        {},
        "scheduling_gated",
        "fix_dependency",
        "",
    ),
    "gated by Grove until its gang exists": (
        [pending(spec={"schedulingGates": [{"name": "grove.io/podgang-pending-creation"}]})],
        [],
        {},
        "scheduling_gated",
        "contention",
        "",
    ),
    "gated by Kueue for want of quota": (
        [pending(spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]})],
        [],
        {
            "workloads": [
                {
                    "metadata": {
                        "name": "w",
                        "ownerReferences": [{"kind": "Pod", "name": "demo-worker-0", "uid": "u-demo-worker-0"}],
                    },
                    "status": {
                        "conditions": [
                            {
                                "type": "QuotaReserved",
                                "status": "False",
                                "message": "couldn't assign flavors to pod set main: insufficient unused quota for "
                                "nvidia.com/gpu in flavor h100, 4 more needed",
                            }
                        ]
                    },
                }
            ]
        },
        "quota",
        "contention",
        "",
    ),
    "a gang that does not fit": (
        [pending("2/2 tasks in gang unschedulable: pod group is not ready, 2 Pending, 2 minAvailable")],
        [],
        {},
        "gang",
        "contention",
        "",
    ),
    "KAI says it by an event only": (
        [pending()],
        [
            event(
                "Unschedulable",
                "No nodes with enough resources were found: 2 node(s) didn't have enough resources: GPUs.",
            )
        ],
        {},
        "insufficient_resource",
        "contention",
        "",
    ),
    "nobody serves the scheduler": (
        [pending(age=90, spec={"schedulerName": "no-such-scheduler"})],
        [],
        {},
        "scheduler_missing",
        "failed_deploy",
        "",
    ),
    "the scheduler met an error": (
        [pending("something broke in etcd", reason="SchedulerError")],
        [],
        {},
        "scheduler_error",
        "fix_dependency",
        "",
    ),
    "an unknown text is unknown": ([pending("the moon is in the wrong phase")], [], {}, "unknown", "investigate", ""),
    "an event about an earlier pod of the name is stale": (
        [pending(age=2)],
        [event("FailedScheduling", TAINTED, uid="another")],
        {},
        "model_loading",
        "wait",
        "",
    ),
    "the scheduler refused no node for what the nodes look like now": (
        [pending(FULL, spec={**GPU, "nodeSelector": {"sku": "h200"}})],
        [],
        {"nodes": [node("a"), node("b")]},
        "insufficient_resource",
        "contention",
        "",
    ),
    "a taint that the node controller sets, nodes not visible": (
        [pending("0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }.")],
        [],
        {},
        "node_unschedulable",
        "fix_dependency",
        "",
    ),
    "a cordoned node, told by its taint": (
        [pending("0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unschedulable: }.")],
        [],
        {},
        "node_unschedulable",
        "fix_dependency",
        "",
    ),
    "pods of a name that comes again are still ending": (
        [ready_pod("demo-worker-0", deletionTimestamp=at(-20)), ready_pod("demo-worker-1", deletionTimestamp=at(-20))],
        [],
        {},
        "model_loading",
        "wait",
        "",
    ),
    "pods before them do not end": (
        [ready_pod("demo-worker-0", deletionTimestamp=at(300))],
        [],
        {},
        "unknown",
        "investigate",
        "",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_case_is_called_by_its_name(name: str) -> None:
    check(CASES[name])
