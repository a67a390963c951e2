# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The confusion table of states: each real case with its right category and way, and no other one."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import CATEGORIES, REASONS
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.builders import (
    Object,
    at,
    container,
    dgd,
    event,
    judged,
    labels,
    node,
    pending,
    pod,
    ready_pod,
    running,
    terminated,
    waiting,
)

FULL = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
TAINTED = "0/2 nodes are available: 2 node(s) had untolerated taint(s)."
KILLED = "Container main failed liveness probe, will be restarted"
LIVENESS = "Liveness probe failed: HTTP probe failed with statuscode: 404"
NOT_BOUND = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"


def crash(code: int, reason: str = "Error", **more: Any) -> Object:
    return pod(containers=[waiting("CrashLoopBackOff", "back-off", last=terminated(code, reason, **more), restarts=4)])


def replicaset(text: str, *, replicas: int = 0) -> Object:
    failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": text}
    return {
        "metadata": {"name": "demo-worker-abc", "uid": "u-demo-worker-abc", "labels": labels()},
        "spec": {"replicas": 2},
        "status": {"replicas": replicas, "conditions": [failure]},
    }


def refused(text: str) -> dict[str, Any]:
    return {"replicasets": [replicaset(text)]}


def claim(name: str = "cache", phase: str = "Pending", **spec: Any) -> Object:
    return {"metadata": {"name": name, "uid": f"u-{name}"}, "spec": spec, "status": {"phase": phase}}


PART = {
    "dynamocomponentdeployments": [{"metadata": {"name": "demo-worker", "uid": "u-demo-worker", "labels": labels()}}]
}
WITH_CLAIM = {"volumes": [{"name": "m", "persistentVolumeClaim": {"claimName": "cache"}}]}
GPU = {"containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}
GPU_16 = {"containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "16"}}}]}
FORBIDDEN = 'pods "demo-worker-abc-x" is forbidden: '

#: name → (pods, events, more, category, way, sub)
CASES: dict[str, tuple[list[Object], list[Object], dict[str, Any], str, str, str]] = {
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
    "quota": (
        [ready_pod("demo-worker-0")],
        [],
        refused(
            FORBIDDEN + "exceeded quota: gpus, requested: requests.nvidia.com/gpu=2, used: requests.nvidia.com/gpu=2, "
            "limited: requests.nvidia.com/gpu=3"
        ),
        "quota",
        "fix_dependency",
        "",
    ),
    "quota that wants requests": (
        [],
        [],
        refused(FORBIDDEN + "failed quota: gpus: must specify limits.cpu for: main"),
        "quota",
        "fix_dependency",
        "",
    ),
    "SCC": (
        [],
        [],
        refused(FORBIDDEN + "unable to validate against any security context constraint: [x]"),
        "admission",
        "fix_dependency",
        "",
    ),  # D14
    "pod security": (  # D14
        [],
        [],
        refused(FORBIDDEN + 'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false'),
        "admission",
        "fix_dependency",
        "pod_security",
    ),
    "webhook named in the DGD's condition, no pod exists": (  # D14
        [],
        [],
        {
            "graph": {
                **dgd(),
                "status": {
                    "observedGeneration": 1,
                    "conditions": [
                        {
                            "type": "Ready",
                            "status": "False",
                            "reason": "failed_to_reconcile_the_resources",
                            "message": 'admission webhook "pcs.validating.webhooks.grove.io" denied the request: '
                            "spec.replicas: Invalid value: 0: must be greater than 0",
                        }
                    ],
                },
            }
        },
        "admission",
        "fix_dependency",
        "webhook",
    ),
    "immutable topology": (
        [],
        [],
        refused("component topology is immutable: worker"),
        "admission",
        "fix_dependency",
        "",
    ),  # D14
    "priority class missing": (
        [],
        [],
        refused(FORBIDDEN + "no PriorityClass with name gpu-high was found"),
        "admission",
        "fix_dependency",
        "",
    ),
    "service account missing": (
        [],
        [],
        refused(FORBIDDEN + 'error looking up service account team-a/runner: serviceaccount "runner" not found'),
        "admission",
        "fix_dependency",
        "",
    ),
    "limit range": (
        [],
        [],
        refused(FORBIDDEN + "maximum memory usage per Container is 1Gi, but limit is 8Gi"),
        "admission",
        "fix_dependency",
        "",
    ),
    "webhook that does not answer": (
        [],
        [],
        refused('Internal error occurred: failed calling webhook "inject.example": dial tcp: connection refused'),
        "admission",
        "fix_dependency",
        "webhook_unreachable",
    ),
    "the pod template is invalid": (
        [],
        [
            event(
                "ReconcileError",
                'failed to create Deployment: Deployment.apps "demo-worker" is invalid: startupProbe: Required value',
                kind="DynamoComponentDeployment",
                name="demo-worker",
            )
        ],
        PART,
        "config_invalid",
        "failed_deploy",
        "",
    ),
    "an update conflict stays behind in DGDs that are fine": (
        [ready_pod("demo-worker-0"), ready_pod("demo-worker-1")],
        [
            event(
                "ReconcileError",
                "Operation cannot be fulfilled on x: the object has been modified",
                kind="DynamoComponentDeployment",
                name="demo-worker",
            )
        ],
        PART,
        "ready",
        "none",
        "",
    ),
    "the operator cannot make what is described": (
        [],
        [
            event(
                "ReconcileError",
                "failed to generate pod spec: multinode needs LWS or Grove",
                kind="DynamoComponentDeployment",
                name="demo-worker",
            )
        ],
        PART,
        "config_invalid",
        "failed_deploy",
        "refused_by_operator",
    ),
    "the operator fails at something else": (
        [],
        [
            event(
                "ReconcileError",
                "failed to list secrets: connection reset",
                kind="DynamoComponentDeployment",
                name="demo-worker",
            )
        ],
        PART,
        "operator_error",
        "fix_dependency",
        "reconcile",
    ),
    "no operator takes the DGD up": (
        [],
        [],
        {"graph": {**dgd(), "status": {}}},
        "operator_error",
        "fix_dependency",
        "not_taken_up",
    ),
    "kubelet refused the device": (
        [
            pod(
                phase="Failed",
                status={"reason": "UnexpectedAdmissionError", "message": "Allocate failed due to no healthy devices"},
            )
        ],
        [],
        {},
        "node_admission",
        "failed_deploy",
        "",
    ),
    "kubelet found no room": (
        [pod(phase="Failed", status={"reason": "OutOfcpu", "message": "Node didn't have enough resource: cpu"})],
        [],
        {},
        "node_admission",
        "failed_deploy",
        "",
    ),
    "evicted": (
        [
            pod(
                phase="Failed",
                status={"reason": "Evicted", "message": "The node was low on resource: ephemeral-storage"},
            )
        ],
        [],
        {},
        "evicted",
        "fix_dependency",
        "",
    ),
    "node shut down": (
        [
            pod(
                phase="Failed",
                status={"reason": "Terminated", "message": "Pod was terminated in response to imminent node shutdown"},
            )
        ],
        [],
        {},
        "evicted",
        "fix_dependency",
        "",
    ),
    "an evicted pod that was replaced is over": (
        [
            pod("demo-worker-9", phase="Failed", status={"reason": "Evicted"}),
            ready_pod("demo-worker-0"),
            ready_pod("demo-worker-1"),
        ],
        [],
        {},
        "ready",
        "none",
        "",
    ),
    "pods that are evicted again and again are not over": (
        [
            pod("demo-worker-8", phase="Failed", status={"reason": "Evicted", "message": "low"}, age=60),
            pod("demo-worker-9", phase="Failed", status={"reason": "Evicted", "message": "low"}, age=90),
            ready_pod("demo-worker-0"),
            ready_pod("demo-worker-1"),
        ],
        [],
        {},
        "evicted",
        "fix_dependency",
        "",
    ),
    "evictions of long ago are over": (
        [
            pod("demo-worker-8", phase="Failed", status={"reason": "Evicted"}, age=6000),
            pod("demo-worker-9", phase="Failed", status={"reason": "Evicted"}, age=9000),
            ready_pod("demo-worker-0"),
            ready_pod("demo-worker-1"),
        ],
        [],
        {},
        "ready",
        "none",
        "",
    ),
    "bound to a node that does not exist": (
        [pod(phase="Pending", node="no-such-node")],
        [],
        {"nodes": [node("gpu-1")]},
        "node_lost",
        "fix_dependency",
        "",
    ),
    "node does not report": (
        [ready_pod("demo-worker-0")],
        [],
        {"nodes": [node("gpu-1", ready="Unknown")]},
        "node_lost",
        "fix_dependency",
        "",
    ),
    "registry does not resolve": (
        [
            pod(
                phase="Pending",
                containers=[
                    waiting(
                        "ImagePullBackOff",
                        'Back-off pulling image "r/x:1": ErrImagePull: dial tcp: lookup r: no such host',
                    )
                ],
            )
        ],
        [],
        {},
        "image_pull",
        "fix_dependency",
        "unreachable",
    ),
    "back-off hides the reason, the event has it": (  # D18
        [pod(phase="Pending", containers=[waiting("ImagePullBackOff", 'Back-off pulling image "r/x:1"')])],
        [
            event("Failed", 'Failed to pull image "r/x:1": manifest unknown'),
            event("Failed", "Error: ErrImagePull", ago=10),
        ],
        {},
        "image_pull",
        "fix_dependency",
        "missing_tag",
    ),
    "pull access denied": (  # D18
        [
            pod(
                phase="Pending",
                containers=[
                    waiting(
                        "ErrImagePull", "pull access denied, repository does not exist or may require authorization"
                    )
                ],
            )
        ],
        [],
        {},
        "image_pull",
        "fix_dependency",
        "auth_or_missing",
    ),
    "no basic auth": (
        [pod(phase="Pending", containers=[waiting("ErrImagePull", "no basic auth credentials")])],
        [],
        {},
        "image_pull",
        "fix_dependency",
        "auth",
    ),  # D18
    "rate limit": (
        [pod(phase="Pending", containers=[waiting("ErrImagePull", "429 Too Many Requests: toomanyrequests")])],
        [],
        {},
        "image_pull",
        "contention",
        "rate_limit",
    ),
    "invalid image name": (
        [pod(phase="Pending", containers=[waiting("InvalidImageName", "couldn't parse image reference")])],
        [],
        {},
        "image_pull",
        "fix_dependency",
        "invalid_name",
    ),
    "image never pulled": (
        [pod(phase="Pending", containers=[waiting("ErrImageNeverPull", "Container image is not present")])],
        [],
        {},
        "image_pull",
        "fix_dependency",
        "never_pull",
    ),
    "no image for the platform": (  # D18: ends in "not found" and is no missing tag
        [pod(phase="Pending", containers=[waiting("ErrImagePull", "no match for platform in manifest: not found")])],
        [],
        {},
        "image_platform",
        "failed_deploy",
        "no_platform",
    ),
    "exec format error in the log": (  # D18
        [crash(1)],
        [],
        {"logs": {"demo-worker-0": "exec /usr/bin/python3: exec format error\n"}},
        "image_platform",
        "failed_deploy",
        "exec_format",
    ),
    "secret missing": (
        [pod(phase="Pending", containers=[waiting("CreateContainerConfigError", 'secret "hf-token" not found')])],
        [],
        {},
        "config_missing",
        "fix_dependency",
        "",
    ),
    "key missing in a secret": (
        [
            pod(
                phase="Pending",
                containers=[
                    waiting("CreateContainerConfigError", "couldn't find key HF_TOKEN in Secret team-a/hf-token")
                ],
            )
        ],
        [],
        {},
        "config_missing",
        "fix_dependency",
        "",
    ),
    "config map volume": (
        [pod(phase="Pending", containers=[waiting("ContainerCreating")])],
        [event("FailedMount", 'MountVolume.SetUp failed for volume "cfg" : configmap "engine" not found', count=9)],
        {},
        "config_missing",
        "fix_dependency",
        "",
    ),
    "root image under runAsNonRoot": (
        [
            pod(
                phase="Pending",
                containers=[
                    waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root")
                ],
            )
        ],
        [],
        {},
        "config_invalid",
        "failed_deploy",
        "",
    ),
    "mount": (
        [pod(phase="Pending", containers=[waiting("ContainerCreating")])],
        [
            event(
                "FailedMount",
                'MountVolume.SetUp failed for volume "h" : hostPath type check failed: /x is not a directory',
            )
        ],
        {},
        "mount",
        "fix_dependency",
        "",
    ),
    "sandbox": (
        [pod(phase="Pending", containers=[waiting("ContainerCreating")])],
        [event("FailedCreatePodSandBox", "Failed to create pod sandbox: plugin type calico failed")],
        {},
        "sandbox",
        "fix_dependency",
        "",
    ),
    "what the kubelet got over does not count": (
        [pod(phase="Pending", containers=[waiting("ContainerCreating")])],
        [
            event("FailedCreatePodSandBox", "no network yet", ago=50),
            event("Pulling", "Pulling image", ago=5, warning=False),
        ],
        {},
        "model_loading",
        "wait",
        "",
    ),
    "crash with a CUDA out of memory line": (
        [crash(1)],
        [],
        {
            "logs": {
                "demo-worker-0 (previous)": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 GiB\n"
            }
        },
        "crash_loop",
        "failed_deploy",
        "cuda_oom",
    ),
    "crash with an NCCL line": (
        [crash(1)],
        [],
        {"logs": {"demo-worker-0": "RuntimeError: NCCL error: unhandled system error"}},
        "crash_loop",
        "failed_deploy",
        "nccl",
    ),
    "crash of the driver": (
        [crash(1)],
        [],
        {"logs": {"demo-worker-0": "CUDA driver version is insufficient for CUDA runtime version"}},
        "crash_loop",
        "failed_deploy",
        "gpu_driver",
    ),
    "crash for want of host memory": (
        [crash(1)],
        [],
        {"logs": {"demo-worker-0": "std::bad_alloc"}},
        "crash_loop",
        "failed_deploy",
        "host_oom",
    ),
    "crash without a log": ([crash(3)], [], {}, "crash_loop", "failed_deploy", "error"),
    "command does not exist": (
        [crash(128, "StartError", message='exec: "/bin/nope": stat /bin/nope: no such file or directory')],
        [],
        {},
        "crash_loop",
        "failed_deploy",
        "command_not_found",
    ),
    "driver hook fails": (
        [
            pod(
                phase="Pending",
                containers=[waiting("RunContainerError", "nvidia-container-cli: initialization error: nvml error")],
            )
        ],
        [],
        {},
        "crash_loop",
        "failed_deploy",
        "gpu_driver",
    ),
    "ends without an error": ([crash(0, "Completed")], [], {}, "crash_loop", "failed_deploy", "exited"),
    "ends without an error, before the first restart": (
        [pod(containers=[container(terminated(0, "Completed"))])],
        [],
        {},
        "crash_loop",
        "failed_deploy",
        "exited",
    ),
    "ready just now after two crashes": (
        [pod(containers=[running(ago=20, last=terminated(1), restarts=2)])],
        [],
        {},
        "crash_loop",
        "failed_deploy",
        "error",
    ),
    "between two crashes it shows Running": (
        [pod(containers=[running(ago=5, ready=False, started=False, last=terminated(1), restarts=3)])],
        [],
        {},
        "crash_loop",
        "failed_deploy",
        "error",
    ),
    "init container fails": (
        [
            pod(
                phase="Pending",
                init=[waiting("CrashLoopBackOff", last=terminated(3), restarts=3, name="fetch")],
                containers=[waiting("PodInitializing")],
            )
        ],
        [],
        {},
        "crash_loop",
        "failed_deploy",
        "error",
    ),
    "out of memory": ([crash(137, "OOMKilled")], [], {}, "oom", "failed_deploy", ""),  # D16
    "out of memory, before the first restart": (
        [pod(containers=[container(terminated(137, "OOMKilled"))])],
        [],
        {},
        "oom",
        "failed_deploy",
        "",
    ),
    "137 by a liveness probe": (  # D16
        [crash(137)],
        [event("Unhealthy", LIVENESS, ago=40), event("Killing", KILLED, ago=40, warning=False)],
        {},
        "probe_failure",
        "failed_deploy",
        "",
    ),
    "137 from outside": ([crash(137)], [], {}, "crash_loop", "failed_deploy", "killed"),  # D16
    "143 with OOMKilled was stopped, a child was killed earlier": (
        [crash(143, "OOMKilled")],
        [],
        {},
        "crash_loop",
        "failed_deploy",
        "stopped",
    ),  # D16
    "143 with OOMKilled and a probe's kill": (  # D16
        [crash(143, "OOMKilled")],
        [event("Killing", KILLED, ago=35, warning=False)],
        {},
        "probe_failure",
        "failed_deploy",
        "",
    ),
    "137 of unknown status": ([crash(137, "ContainerStatusUnknown")], [], {}, "evicted", "fix_dependency", ""),  # D16
    "a probe's kill of an earlier run does not explain this crash": (
        [crash(1, ran=10)],
        [event("Killing", KILLED, ago=4000, warning=False)],
        {},
        "crash_loop",
        "failed_deploy",
        "error",
    ),
    "being killed by its liveness probe while still ready": (
        [ready_pod("demo-worker-0")],
        [event("Unhealthy", LIVENESS, ago=20), event("Killing", KILLED, ago=20, warning=False)],
        {},
        "probe_failure",
        "failed_deploy",
        "",
    ),
    "readiness answers 404 for ever": (
        [pod(containers=[running(ago=130, ready=False)])],
        [event("Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 404", count=14)],
        {},
        "probe_failure",
        "failed_deploy",
        "",
    ),
    "startup probe is refused by a server that is up": (
        [pod(containers=[running(ago=130, ready=False, started=False)])],
        [event("Unhealthy", "Startup probe failed: HTTP probe failed with statuscode: 404", count=12)],
        {},
        "probe_failure",
        "failed_deploy",
        "",
    ),
    "startup probe's time is used up": (
        [pod(containers=[running(ago=7300, ready=False, started=False)])],
        [event("Unhealthy", "Startup probe failed: connection refused", count=730)],
        {},
        "probe_failure",
        "failed_deploy",
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
    "rollout stuck": (
        [pod(containers=[running(ago=900, ready=False)], spec={"containers": [{"name": "main", "image": "i"}]})],
        [],
        {
            "deployments": [
                {
                    "metadata": {"name": "demo-worker", "uid": "u-d", "labels": labels()},
                    "status": {
                        "conditions": [
                            {
                                "type": "Progressing",
                                "status": "False",
                                "reason": "ProgressDeadlineExceeded",
                                "message": "has timed out progressing",
                            }
                        ]
                    },
                }
            ]
        },
        "rollout_stuck",
        "failed_deploy",
        "",
    ),
}


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


@pytest.mark.parametrize("name", CASES)
def test_the_case_is_called_by_its_name(name: str) -> None:
    pods, events, more, category, way, sub = CASES[name]
    report = judged(pods, events, **more)
    view = report.component("Worker")
    assert view is not None
    assert view.category == category, view.slowest
    causes = [cause for cause in report.causes if cause.category == category]
    if category == "ready":
        assert report.ready
        assert report.causes == ()
        return
    assert causes, [cause.category for cause in report.causes]
    assert causes[0].way == way, causes[0].message
    if sub:
        assert causes[0].detail.get("sub") == sub
    if way not in ("wait",):
        assert causes[0].evidence, "every verdict shows what it rests on"
        assert causes[0].remedy
    assert causes[0].to_finding().reason_code == f"triage_{category}"


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
