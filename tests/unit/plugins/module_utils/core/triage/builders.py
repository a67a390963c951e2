# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the objects of a small DGD called demo, so that a test says only what is special in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import (
    ClusterState,
    TriageReport,
    triage,
)

NOW = 1_800_000_000.0
NAMESPACE = "team-a"
Object = dict[str, Any]


def at(ago: float) -> str:
    """Return the time ``ago`` seconds before NOW."""
    return datetime.fromtimestamp(NOW - ago, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def dgd(ready: bool | None = None, *, workers: int = 2, age: float = 100, **metadata: Any) -> Object:
    """A DGD with a Frontend and ``workers`` workers."""
    status: Object = {"observedGeneration": 1, "conditions": []}
    if ready is not None:
        status["conditions"] = [
            {"type": "Ready", "status": str(ready), "reason": "x", "message": "Resources not ready"}
        ]
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {
            "name": "demo",
            "namespace": NAMESPACE,
            "uid": "u-demo",
            "generation": 1,
            "creationTimestamp": at(age),
            **metadata,
        },
        "spec": {
            "services": {
                "Frontend": {"componentType": "frontend", "replicas": 1},
                "Worker": {"componentType": "worker", "replicas": workers},
            }
        },
        "status": status,
    }


def labels(component: str = "Worker", **more: str) -> dict[str, str]:
    """The labels of a component's objects."""
    return {
        "nvidia.com/dynamo-graph-deployment-name": "demo",
        "nvidia.com/dynamo-component": component,
        "nvidia.com/dynamo-namespace": f"{NAMESPACE}-demo",
        **more,
    }


PROBES: Object = {
    "startupProbe": {"httpGet": {"path": "/live"}, "periodSeconds": 10, "failureThreshold": 720},
    "livenessProbe": {"httpGet": {"path": "/live"}, "periodSeconds": 5, "failureThreshold": 1},
    "readinessProbe": {"httpGet": {"path": "/health"}, "periodSeconds": 10, "failureThreshold": 3},
}


def pod(
    name: str = "demo-worker-0",
    *,
    component: str = "Worker",
    node: str = "gpu-1",
    phase: str = "Running",
    containers: Sequence[Object] = (),
    init: Sequence[Object] = (),
    conditions: Sequence[Object] = (),
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    age: float = 100,
    **metadata: Any,
) -> Object:
    """A pod of a component; ``containers`` and ``init`` are container statuses."""
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "uid": f"u-{name}",
            "labels": labels(component),
            "creationTimestamp": at(age),
            **metadata,
        },
        "spec": {
            **({"nodeName": node} if node else {}),
            "containers": [{"name": "main", "image": "reg.example/vllm:1", **PROBES}],
            **({"initContainers": [{"name": one["name"], "image": "i"} for one in init]} if init else {}),
            **(spec or {}),
        },
        "status": {
            "phase": phase,
            "conditions": list(conditions),
            "containerStatuses": list(containers),
            "initContainerStatuses": list(init),
            **(status or {}),
        },
    }


def ready_pod(name: str, component: str = "Worker", **more: Any) -> Object:
    """A pod that runs as it should."""
    conditions = [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}]
    return pod(name, component=component, containers=[running()], conditions=conditions, **more)


def pending(message: str = "", *, name: str = "demo-worker-0", reason: str = "Unschedulable", **more: Any) -> Object:
    """A pod without a node, with what the scheduler says of it."""
    conditions = [{"type": "PodScheduled", "status": "False", "reason": reason, "message": message}] if message else []
    return pod(name, node="", phase="Pending", conditions=conditions, **more)


def container(
    state: Object, *, name: str = "main", last: Object | None = None, restarts: int = 0, **more: Any
) -> Object:
    """A container's status."""
    return {"name": name, "state": state, "lastState": last or {}, "restartCount": restarts, "ready": False, **more}


def running(*, ago: float = 60, ready: bool = True, started: bool = True, **more: Any) -> Object:
    """A container that runs since ``ago`` seconds."""
    return container({"running": {"startedAt": at(ago)}}, ready=ready, started=started, **more)


def waiting(reason: str, message: str = "", **more: Any) -> Object:
    """A container that waits."""
    return container({"waiting": {"reason": reason, "message": message}}, **more)


def terminated(code: int, reason: str = "Error", *, ago: float = 30, ran: float = 10, message: str = "") -> Object:
    """The end of a container's run."""
    ended = {"exitCode": code, "reason": reason, "startedAt": at(ago + ran), "finishedAt": at(ago)}
    return {"terminated": {**ended, **({"message": message} if message else {})}}


def event(
    reason: str,
    message: str,
    *,
    name: str = "demo-worker-0",
    kind: str = "Pod",
    uid: str | None = None,
    count: int = 1,
    ago: float = 20,
    warning: bool = True,
    container: str = "",
) -> Object:
    """A v1 event."""
    about: Object = {"kind": kind, "name": name, "uid": f"u-{name}" if uid is None else uid}
    if container:
        about["fieldPath"] = f"spec.containers{{{container}}}"
    return {
        "involvedObject": about,
        "reason": reason,
        "message": message,
        "type": "Warning" if warning else "Normal",
        "count": count,
        "firstTimestamp": at(ago + count),
        "lastTimestamp": at(ago),
    }


def node(
    name: str = "gpu-1", *, gpus: int = 8, taints: Sequence[Object] = (), ready: str = "True", **more: Any
) -> Object:
    """A node; ``more`` goes into its spec, except ``labels``."""
    node_labels = {"kubernetes.io/hostname": name, **more.pop("labels", {})}
    allocatable = {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": node_labels},
        "spec": {"taints": list(taints), **more},
        "status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": ready}]},
    }


def state(
    pods: Sequence[Object] = (),
    events: Sequence[Object] = (),
    *,
    graph: Object | None = None,
    nodes: Sequence[Object] | None = None,
    cluster_pods: Sequence[Object] | None = None,
    logs: Mapping[str, str] | None = None,
    **objects: Sequence[Object],
) -> ClusterState:
    """The state of the DGD demo at NOW."""
    held = {"dynamographdeployments": (graph or dgd(),), "pods": tuple(pods), "events": tuple(events), **objects}
    return ClusterState(NOW, "demo", held, nodes, cluster_pods, logs or {})


def judged(pods: Sequence[Object] = (), events: Sequence[Object] = (), **more: Any) -> TriageReport:
    """Return the report; a ready frontend is there unless the pods have one."""
    if not any(one["metadata"]["labels"]["nvidia.com/dynamo-component"] == "Frontend" for one in pods):
        pods = [ready_pod("demo-frontend-0", "Frontend"), *pods]
    return triage(state(pods, events, **more))


def worker_category(pods: Sequence[Object] = (), events: Sequence[Object] = (), **more: Any) -> str:
    """Return what the component Worker is called."""
    view = judged(pods, events, **more).component("Worker")
    return view.category if view else ""
