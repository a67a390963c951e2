# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each category made to happen on a real control plane: real scheduler and controllers, kubelets played by KWOK."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.tests.cluster.api import Api, ApiError, wait_until
from ansible_collections.inference_ops.dynamo.tests.cluster.stages import DELAY, LOST, MESSAGE, OUTCOME
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import RunningCluster
from ansible_collections.inference_ops.dynamo.tests.integration.triage.graph import (
    NAME,
    PROBE,
    Object,
    deploy,
    deployment,
    first_worker,
    labels,
    request,
    set_ready,
    tell,
    wait_for,
    worker_pods,
)

pytestmark = pytest.mark.cluster

L40S = {"nvidia.com/gpu.product": "NVIDIA-L40S"}
GPU = "nvidia.com/gpu"


def asks(gpus: int = 0, **more: Any) -> Object:
    """A main container that asks for GPUs."""
    resources = {"resources": {"limits": {GPU: str(gpus)}}} if gpus else {}
    return {"containers": [{"name": "main", "image": "reg.example/vllm:1", **resources, **more}]}


def nothing(api: Api, namespace: str) -> None:
    """No preparation."""


@dataclass(frozen=True)
class Case:
    """How to bring a category about: what exists ``before``, the worker, and what happens ``after``."""

    category: str
    way: str
    pod: Mapping[str, Any] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    workers: int = 1
    before: Callable[[Api, str], None] = nothing
    after: Callable[[Api, str], None] = nothing
    state: str = "failed"
    timeout: float = 30
    ahead: float = 0
    status: bool = True
    worker: bool = True
    spec: Mapping[str, Any] = field(default_factory=dict)
    sub: str = ""


def outcome(name: str, message: str = "") -> dict[str, str]:
    return {OUTCOME: name, **({MESSAGE: message} if message else {})}


def own_node(name: str, ready: str = "True", **spec: Any) -> Callable[[Api, str], None]:
    """Make a node of one's own, which no kubelet and no KWOK keeps alive."""

    def make(api: Api, namespace: str) -> None:
        marks = {"own": name, LOST: "true"}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": marks}, "spec": spec}
        api.create(node)
        amounts = {"cpu": "8", "memory": "32Gi", "pods": "10"}
        told = {"type": "Ready", "status": ready, "reason": "x", "message": "as the test says"}
        api.patch(node, {"status": {"allocatable": amounts, "capacity": amounts, "conditions": [told]}}, "status")

    return make


def quota(api: Api, namespace: str) -> None:
    hard = {"hard": {"requests.nvidia.com/gpu": "1"}}
    api.create(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "gpus", "namespace": namespace},
            "spec": hard,
        }
    )


def limit_range(api: Api, namespace: str) -> None:
    limits = {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]}
    api.create(
        {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "small", "namespace": namespace},
            "spec": limits,
        }
    )


def restricted(api: Api, namespace: str) -> None:
    live = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    api.patch(live, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})


def unbound_claim(api: Api, namespace: str) -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "fast-nvme",
    }
    api.create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "cache", "namespace": namespace},
            "spec": spec,
        }
    )


def event(reason: str, message: str) -> Callable[[Api, str], None]:
    def write(api: Api, namespace: str) -> None:
        tell(api, first_worker(api, namespace), reason, message)

    return write


def failed(reason: str, message: str, times: int = 1) -> Callable[[Api, str], None]:
    """Let a worker end as the kubelet would end it, and its successors as well where it is to happen several times."""

    ended = {"status": {"phase": "Failed", "reason": reason, "message": message}}

    def end(api: Api, namespace: str) -> None:
        def stay_failed() -> bool:
            # KWOK may be writing a pod's first status just now, so what was written is looked at again.
            pods = worker_pods(api, namespace)
            alive = [pod for pod in pods if pod["status"].get("reason") != reason]
            if len(pods) - len(alive) >= times:
                return True
            for pod in alive:
                if pod["spec"].get("nodeName"):
                    api.patch(pod, ended, "status")
            return False

        wait_until("the pods' end", stay_failed, interval=0.5)

    return end


def says(reason: str, message: str) -> Callable[[Api, str], None]:
    """Write the condition of a scheduler that does not run here."""

    def write(api: Api, namespace: str) -> None:
        pod = first_worker(api, namespace)
        told = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        api.patch(pod, {"status": {"conditions": [told]}}, "status")

    return write


def invalid_template(api: Api, namespace: str) -> None:
    """The operator's error when the API server refuses its Deployment, in the server's own words."""
    graph = api.get("nvidia.com/v1alpha1", "DynamoGraphDeployment", namespace, NAME)
    assert graph is not None
    part = api.create(
        {
            "apiVersion": "nvidia.com/v1alpha1",
            "kind": "DynamoComponentDeployment",
            "metadata": {"name": f"{NAME}-worker", "namespace": namespace, "labels": labels("Worker")},
            "spec": {"serviceName": "Worker", "componentType": "worker"},
        }
    )
    with pytest.raises(ApiError) as refused:
        api.create(deployment(namespace, "Worker", pod=asks(startupProbe={"failureThreshold": 3})))
    tell(api, part, "ReconcileError", f"Failed to reconcile: failed to create Deployment: {refused.value.message}")


ZONES = {
    "maxSkew": 1,
    "topologyKey": "no-such-label",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"nvidia.com/selector": f"{NAME}-worker"}},
}
COMPANY = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "nobody"}}}
        ]
    }
}
MISSING_CLAIM = {**asks(), "volumes": [{"name": "m", "persistentVolumeClaim": {"claimName": "cache"}}]}
DRA = {
    "resourceClaims": [{"name": "gpu", "resourceClaimName": "no-such-claim"}],
    "containers": [{"name": "main", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}],
}
FIX, FAIL, WAIT = "fix_dependency", "failed_deploy", "contention"

CASES: dict[str, Case] = {
    "taint": Case("taint", FAIL, {**asks(8), "nodeSelector": {"kubernetes.io/hostname": "reserved-0"}}),
    "node-affinity": Case("node_affinity", FAIL, {**asks(), "nodeSelector": {"sku": "h300"}}),
    "pod-affinity": Case("pod_affinity", FAIL, {**asks(), "affinity": COMPANY}),
    "topology-spread": Case("topology_spread", FAIL, {**asks(), "topologySpreadConstraints": [ZONES]}),
    "cordoned": Case(
        "node_unschedulable",
        FIX,
        {**asks(), "nodeSelector": {"own": "cordoned"}, "tolerations": [{"operator": "Exists", "effect": "NoExecute"}]},
        before=own_node("cordoned", unschedulable=True),
    ),
    "host-port": Case(
        "host_port", FAIL, {**asks(ports=[{"containerPort": 9090, "hostPort": 19090}]), "nodeSelector": L40S}, workers=3
    ),
    "never-fits": Case("insufficient_resource", FAIL, asks(16)),
    "contention": Case(
        "insufficient_resource", WAIT, {**asks(4), "nodeSelector": L40S}, workers=3, state="timeout", timeout=5
    ),
    "claim-missing": Case("pvc", FIX, MISSING_CLAIM),
    "claim-unbound": Case("pvc", FIX, MISSING_CLAIM, before=unbound_claim),
    "attach": Case(
        "pvc",
        FIX,
        annotations={DELAY: "600s"},
        after=event(
            "FailedAttachVolume", 'Multi-Attach error for volume "pvc-1" Volume is already used by pod(s) other'
        ),
        sub="multi_attach",
    ),
    "dra": Case("dra_claim", FIX, DRA, ahead=20),
    "gated": Case("scheduling_gated", FIX, {**asks(), "schedulingGates": [{"name": "example.com/hold"}]}),
    "gang": Case(
        "gang",
        WAIT,
        {**asks(), "schedulerName": "volcano"},
        after=says(
            "Unschedulable", "1/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, 2 minAvailable"
        ),
        state="timeout",
        timeout=3,
    ),
    "quota": Case("quota", FIX, asks(2), before=quota),
    "pod-security": Case("admission", FIX, asks(), before=restricted, sub="pod_security"),
    "limit-range": Case("admission", FIX, asks(resources={"limits": {"memory": "8Gi"}}), before=limit_range),
    "service-account": Case("admission", FIX, {**asks(), "serviceAccountName": "nobody"}),
    "priority-class": Case("admission", FIX, {**asks(), "priorityClassName": "gpu-high"}),
    "runtime-class": Case("admission", FIX, {**asks(), "runtimeClassName": "kata-gpu"}),
    "kubelet-refuses": Case(
        "node_admission",
        FAIL,
        annotations={DELAY: "600s"},
        after=failed("UnexpectedAdmissionError", "Allocate failed due to no healthy devices present", times=2),
    ),
    "evicted": Case(
        "evicted",
        FIX,
        annotations={DELAY: "600s"},
        after=failed("Evicted", "The node was low on resource: memory", times=2),
    ),
    # Its successor is on its way.
    "evicted-once": Case(
        "evicted",
        "wait",
        annotations={DELAY: "600s"},
        after=failed("Evicted", "The node was low on resource: memory"),
        state="timeout",
        timeout=3,
    ),
    "image": Case(
        "image_pull",
        FIX,
        annotations=outcome("image-pull-backoff", 'Back-off pulling image "r/x:1": ErrImagePull: no such host'),
        sub="unreachable",
    ),
    "platform": Case(
        "image_platform",
        FAIL,
        annotations=outcome("image-pull-backoff", "ErrImagePull: no match for platform in manifest: not found"),
    ),
    "secret": Case("config_missing", FIX, annotations=outcome("config-error", 'secret "hf-token-secret" not found')),
    "config-map": Case(
        "config_missing",
        FIX,
        annotations={DELAY: "600s"},
        after=event("FailedMount", 'MountVolume.SetUp failed for volume "c" : configmap "engine" not found'),
    ),
    "mount": Case(
        "mount",
        FIX,
        annotations={DELAY: "600s"},
        after=event("FailedMount", 'MountVolume.SetUp failed for volume "h" : hostPath type check failed'),
    ),
    "sandbox": Case(
        "sandbox", FIX, annotations={DELAY: "600s"}, after=event("FailedCreatePodSandBox", "plugin type calico failed")
    ),
    "crash": Case(
        "crash_loop",
        FAIL,
        annotations=outcome("crash-loop", "torch.OutOfMemoryError: CUDA out of memory."),
        sub="cuda_oom",
    ),
    "oom": Case("oom", FAIL, annotations=outcome("oom-killed")),
    "readiness": Case("probe_failure", FAIL, asks(readinessProbe=PROBE), annotations=outcome("never-ready")),
    "scheduler": Case("scheduler_missing", FAIL, {**asks(), "schedulerName": "nobody"}, ahead=20),
    "scheduler-error": Case(
        "scheduler_error",
        FIX,
        {**asks(), "schedulerName": "nobody"},
        after=says("SchedulerError", 'running Bind plugin "X": boom'),
    ),
    "unknown": Case(
        "unknown",
        "investigate",
        {**asks(), "schedulerName": "nobody"},
        after=says("Unschedulable", "the moon is wrong"),
        state="timeout",
        timeout=3,
    ),
    "node-lost": Case("node_lost", FIX, {**asks(), "nodeName": "dead"}, before=own_node("dead", ready="Unknown")),
    "invalid": Case("config_invalid", FAIL, after=invalid_template, worker=False),
    "operator": Case("operator_error", FIX, status=False, worker=False, ahead=60),
    "rollout": Case("rollout_stuck", FAIL, annotations=outcome("never-ready"), spec={"progressDeadlineSeconds": 2}),
    "loading": Case("model_loading", "wait", asks(readinessProbe=PROBE), {DELAY: "600s"}, state="timeout", timeout=3),
}


@pytest.mark.parametrize("name", CASES)
def test_a_category_happens_and_is_named(bare_cluster: RunningCluster, name: str) -> None:
    case = CASES[name]
    api = bare_cluster.api
    namespace = bare_cluster.namespace(f"triage-{name}")
    case.before(api, namespace)
    deploy(
        api,
        namespace,
        workers=case.workers,
        pod=case.pod,
        annotations=case.annotations,
        status=case.status,
        worker=case.worker,
        **case.spec,
    )
    case.after(api, namespace)
    result = wait_for(bare_cluster, request(namespace, timeout=case.timeout), ahead=case.ahead)
    try:
        assert result["state"] == case.state, result["msg"]
        worker = next(one for one in result["components"] if one["component"] == "Worker")
        assert worker["category"] == case.category, result["msg"]
        cause = next(one for one in result["causes"] if one["category"] == case.category)
        assert cause["way"] == case.way, cause
        if case.sub:
            assert cause["detail"]["sub"] == case.sub
        if case.way != "wait":
            assert cause["evidence"]
        assert bool(result["failed_attempt"]) == (result["way"] == "failed_deploy")
        if case.state == "failed":
            assert result["timings"]["elapsed_seconds"] < case.timeout - 5, (
                "a failure that waiting cannot mend ends it early"
            )
    finally:
        for component in ("frontend", "worker"):
            api.delete(
                {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "metadata": {"name": f"{NAME}-{component}", "namespace": namespace},
                }
            )


def test_a_legitimate_wait_says_when_to_look_again_and_whether_it_can_end(bare_cluster: RunningCluster) -> None:
    namespace = bare_cluster.namespace("triage-next-check")
    deploy(bare_cluster.api, namespace, workers=3, pod={**asks(4), "nodeSelector": L40S})
    result = wait_for(bare_cluster, request(namespace, timeout=3))
    assert (result["state"], result["way"]) == ("timeout", "contention")
    assert result["next_check"]["can_ever_fit"] is True
    assert "Insufficient nvidia.com/gpu" in result["next_check"]["evidence"][0]
    assert result["failed_attempt"] == {}
    assert result["timings"]["allocated_at"], "two of three workers hold GPUs since then"
    bare_cluster.api.delete(deployment(namespace, "Worker"))


def test_ready_comes_with_the_operators_word(bare_cluster: RunningCluster) -> None:
    api, namespace = bare_cluster.api, bare_cluster.namespace("triage-ready")
    deploy(api, namespace)
    early = wait_for(bare_cluster, request(namespace, timeout=3, check_discovery=False))
    assert early["state"] == "timeout", "all pods are ready, the operator has not said so"
    graph = api.get("nvidia.com/v1alpha1", "DynamoGraphDeployment", namespace, NAME)
    assert graph is not None
    set_ready(api, graph, True)
    lines: list[str] = []
    done = wait_for(bare_cluster, request(namespace, check_discovery=False), lines=lines)
    assert (done["state"], done["category"], done["way"]) == ("ready", "ready", "none")
    assert done["timings"]["ready_at"]
    assert "Worker 1/1 ready" in lines[-1]


def test_a_status_look_does_not_wait(bare_cluster: RunningCluster) -> None:
    namespace = bare_cluster.namespace("triage-look")
    deploy(bare_cluster.api, namespace, annotations={DELAY: "600s"})
    result = wait_for(bare_cluster, request(namespace, timeout=0))
    assert (result["state"], result["category"]) == ("progressing", "model_loading")
    assert result["timings"]["elapsed_seconds"] < 5
