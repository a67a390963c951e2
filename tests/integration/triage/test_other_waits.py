# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs, claims, deletions and leftovers, with the real controllers."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.collect import collect_snapshot
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.readiness import WaitPolicy
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.teardown import FINALIZER
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.topology import leftovers, topology_changes
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage.state import from_snapshot
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.waits import WaitRequest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import connect
from ansible_collections.inference_ops.dynamo.tests.cluster.api import Api, wait_until
from ansible_collections.inference_ops.dynamo.tests.cluster.stages import DELAY, OUTCOME, STOP_DELAY
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import RunningCluster
from ansible_collections.inference_ops.dynamo.tests.integration.triage.graph import (
    GRACES,
    NAME,
    Object,
    deploy,
    deployment,
    dgd,
    labels,
    wait_for,
    worker_pods,
)

pytestmark = pytest.mark.cluster

WORKER = f"{NAME}-worker"


def wanted(wait_for: Any, namespace: str, *names: str, timeout: float = 30, **more: Any) -> WaitRequest:
    policy = WaitPolicy(timeout=timeout, graces=GRACES, stable_for=0, progress_interval=2)
    return WaitRequest(wait_for, namespace, names, policy, **more)


def job(
    namespace: str, name: str = "download", annotations: Object | None = None, pod: Object | None = None, **spec: Any
) -> Object:
    template = {
        "metadata": {"annotations": annotations or {}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}], **(pod or {})},
    }
    meta = {"name": name, "namespace": namespace}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta,
        "spec": {"backoffLimit": 0, "template": template, **spec},
    }


def test_jobs_that_complete(bare_cluster: RunningCluster) -> None:
    api, namespace = bare_cluster.api, bare_cluster.namespace("jobs-complete")
    api.create(job(namespace))
    api.create(job(namespace, "validate", {DELAY: "2s"}))
    result = wait_for(bare_cluster, wanted("jobs", namespace, "download", "validate"))
    assert (result["state"], [one["state"] for one in result["jobs"]]) == ("ready", ["complete", "complete"])


def test_a_job_that_fails_ends_the_wait_at_once(bare_cluster: RunningCluster) -> None:
    api, namespace = bare_cluster.api, bare_cluster.namespace("jobs-fail")
    api.create(job(namespace, annotations={OUTCOME: "failed", DELAY: "1s"}))
    result = wait_for(bare_cluster, wanted("jobs", namespace, "download"))
    assert (result["state"], result["jobs"][0]["reason"]) == ("failed", "BackoffLimitExceeded")
    assert result["category"] == "crash_loop"
    assert result["timings"]["elapsed_seconds"] < 20


def test_a_job_that_its_ttl_takes_away_while_we_wait(bare_cluster: RunningCluster) -> None:
    api, namespace = bare_cluster.api, bare_cluster.namespace("jobs-ttl")
    api.create(job(namespace, annotations={DELAY: "2s"}, ttlSecondsAfterFinished=0))
    result = wait_for(bare_cluster, wanted("jobs", namespace, "download"))
    assert (result["state"], result["jobs"][0]["state"]) == ("ready", "complete")


def test_a_job_that_can_never_run_does_not_wait_for_its_bound(bare_cluster: RunningCluster) -> None:
    api, namespace = bare_cluster.api, bare_cluster.namespace("jobs-stuck")
    api.create(job(namespace, pod={"nodeSelector": {"sku": "h300"}}))
    result = wait_for(bare_cluster, wanted("jobs", namespace, "download"))
    assert (result["state"], result["category"], result["way"]) == ("failed", "node_affinity", "failed_deploy")


def test_claims_that_bind_and_that_do_not(bare_cluster: RunningCluster) -> None:
    api, namespace = bare_cluster.api, bare_cluster.namespace("claims")

    def claim(name: str, **more: Any) -> Object:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **more}
        meta = {"name": name, "namespace": namespace}
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}

    api.create(claim("cache"))
    assert wait_for(bare_cluster, wanted("pvc", namespace, "cache"))["state"] == "ready"
    api.create(claim("broken", storageClassName="fast-nvme"))
    broken = wait_for(bare_cluster, wanted("pvc", namespace, "broken", "cache"))
    assert (broken["state"], broken["category"]) == ("failed", "pvc")
    assert "fast-nvme" in broken["evidence"][0] + broken["msg"]


def delete_graph(api: Api, namespace: str) -> None:
    api.delete(dgd(namespace))
    for component in ("Frontend", "Worker"):
        api.delete(deployment(namespace, component))


def test_a_deletion_waits_for_the_last_pod(bare_cluster: RunningCluster) -> None:
    api, namespace = bare_cluster.api, bare_cluster.namespace("deletion")
    deploy(api, namespace, annotations={STOP_DELAY: "4s"})
    wait_until("the worker", lambda: worker_pods(api, namespace))
    delete_graph(api, namespace)
    lines: list[str] = []
    result = wait_for(bare_cluster, wanted("deletion", namespace, NAME), lines=lines)
    assert (result["state"], result["deletion"]["gone"]) == ("ready", True)
    assert not api.list("v1", "Pod", namespace)
    assert any("Pod" in line for line in lines)


def test_a_finalizer_without_its_operator_is_named_and_nothing_is_removed(bare_cluster: RunningCluster) -> None:
    api, namespace = bare_cluster.api, bare_cluster.namespace("deletion-stuck")
    held = dgd(namespace)
    held["metadata"]["finalizers"] = [FINALIZER]
    live = api.create(held)
    api.delete(live)
    look = wait_for(bare_cluster, wanted("deletion", namespace, NAME, timeout=0))
    assert (look["state"], look["deletion"]["holders"]) == ("failed", ["finalizer owner absent"])
    assert look["deletion"]["remedy"]["only_when_asked"] is True
    assert api.get("nvidia.com/v1alpha1", "DynamoGraphDeployment", namespace, NAME) is not None
    again = wait_for(bare_cluster, wanted("deletion", namespace, NAME, timeout=0, uids={NAME: "another"}))
    assert (again["state"], again["deletion"]["recreated"]) == ("failed", True)
    api.patch(live, {"metadata": {"finalizers": None}})


def test_a_switch_to_multinode_leaves_a_deployment_behind(bare_cluster: RunningCluster) -> None:
    """The recorded fault of the operator, played: the LeaderWorkerSet comes, the Deployment stays."""
    api, namespace = bare_cluster.api, bare_cluster.namespace("multinode")
    graph = api.create(dgd(namespace))

    def owner(obj: Object) -> list[Object]:
        meta = obj["metadata"]
        return [
            {
                "apiVersion": obj["apiVersion"],
                "kind": obj["kind"],
                "name": meta["name"],
                "uid": meta["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]

    part = api.create(
        {
            "apiVersion": "nvidia.com/v1alpha1",
            "kind": "DynamoComponentDeployment",
            "metadata": {
                "name": WORKER,
                "namespace": namespace,
                "labels": labels("Worker"),
                "ownerReferences": owner(graph),
            },
            "spec": {"serviceName": "Worker", "componentType": "worker"},
        }
    )
    resources = {"containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]}
    single = deployment(namespace, "Worker", pod=resources)
    single["metadata"]["ownerReferences"] = owner(part)
    api.create(single)
    wait_until("a bound worker", lambda: [one for one in worker_pods(api, namespace) if one["spec"].get("nodeName")])
    template = {"metadata": {"labels": labels("Worker")}, "spec": resources}
    several = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": f"{WORKER}-0", "namespace": namespace, "labels": labels("Worker")},
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template}},
    }

    def snapshot() -> Any:
        kube = connect({"kubeconfig": str(bare_cluster.kubeconfig), "context": bare_cluster.context}, agent="test")
        kinds = ("replicasets", "dynamocomponentdeployments")
        return from_snapshot(collect_snapshot(kube, namespace, kinds=None) | more(kinds), NAME)

    def more(kinds: tuple[str, ...]) -> dict[str, Any]:
        names = {
            "replicasets": ("apps/v1", "ReplicaSet"),
            "dynamocomponentdeployments": ("nvidia.com/v1alpha1", "DynamoComponentDeployment"),
        }
        return {plural: api.list(*names[plural], namespace) for plural in kinds}

    # Before the apply the guard sees the change.
    changes = topology_changes([several], snapshot())
    assert [(one.component, one.live_kind, one.wanted_kind) for one in changes] == [
        ("Worker", "Deployment", "LeaderWorkerSet")
    ]
    # After it, the leftover is found, with the GPUs that it holds.
    api.create({**several, "metadata": {**several["metadata"], "ownerReferences": owner(part)}})  # type: ignore[dict-item]  # a mapping
    api.patch(graph, {"spec": {"services": {"Worker": {"multinode": {"nodeCount": 2}}}}})
    api.patch(several, {"status": {"readyReplicas": 1}}, "status")
    found = leftovers(snapshot())
    assert [(one.kind, one.name, one.state, one.deletable, one.gpus) for one in found] == [
        ("Deployment", WORKER, "orphan", True, 2)
    ]
    status = wait_for(bare_cluster, WaitRequest("dgd", namespace, (NAME,), WaitPolicy(timeout=0)))
    assert [one["name"] for one in status["leftovers"]] == [WORKER]
    api.delete(single)
