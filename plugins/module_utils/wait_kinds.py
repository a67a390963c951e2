# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kinds a wait reads from the start, once it is ready, and where something is wrong; and what is kept of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .core.waits import WaitRequest
from .watching import Watched

_WORKLOADS = (
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "LeaderWorkerSet",
    "PodCliqueSet",
    "PodCliqueScalingGroup",
    "PodClique",
)


#: What is looked at when a DGD is ready: what was left behind, and how its workers are registered.
GENERATIONS = "DynamoComponentDeployment"
_CONFIRMING = (GENERATIONS, "Deployment", "LeaderWorkerSet", "PodClique")


def kinds_for(request: WaitRequest, check_fit: bool) -> tuple[Watched, ...]:
    """Return all that a request's judgement may need, for where something is wrong or takes its time."""
    namespace = request.namespace
    needed = [*first_kinds(request), *running_kinds(request), Watched("Event", "v1", namespace)]
    if request.wait_for == "pvc":
        return (*needed, Watched("Pod", "v1", namespace), Watched("StorageClass", "storage.k8s.io/v1"))
    if request.wait_for in ("jobs", "dgd"):
        needed.append(Watched("PersistentVolumeClaim", "v1", namespace))
    if request.dgd:
        needed += [Watched(kind, "", namespace) for kind in (GENERATIONS, *_WORKLOADS)]
    if request.wait_for == "dgd" and request.check_discovery:
        needed += _registrations(request)
    if check_fit and (request.wait_for == "jobs" or request.dgd):
        needed.append(Watched("Node", "v1"))
    return tuple(needed)


def first_kinds(request: WaitRequest) -> tuple[Watched, ...]:
    """Return what is read from the start: enough to see that all goes well."""
    namespace = request.namespace
    if request.wait_for == "pvc":
        return (Watched("PersistentVolumeClaim", "v1", namespace, required=True),)
    if request.wait_for == "jobs":
        return (Watched("Job", "batch/v1", namespace, required=True),)
    if not request.dgd:
        return (Watched(request.kind, request.api_version, namespace, required=True, may_be_absent=True),)
    only = f"metadata.name={request.dgd}"
    # A DGD whose kind is not installed any more is gone; one that may not be read is not.
    graph = Watched(
        "DynamoGraphDeployment",
        request.api_version,
        namespace,
        field_selector=only,
        required=True,
        may_be_absent=request.wait_for == "deletion",
    )
    return graph, Watched("Pod", "v1", namespace, _label(request), required=True)


def running_kinds(request: WaitRequest) -> tuple[Watched, ...]:
    """Return what shows that Jobs that are not done yet run."""
    return (Watched("Pod", "v1", request.namespace, required=True),) if request.wait_for == "jobs" else ()


def confirming_kinds(request: WaitRequest) -> tuple[Watched, ...]:
    """Return what a DGD's readiness is confirmed by, each to be listed once."""
    kinds = [Watched(kind, "", request.namespace) for kind in _CONFIRMING]
    return (*kinds, *_registrations(request)) if request.check_discovery else tuple(kinds)


def _registrations(request: WaitRequest) -> tuple[Watched, ...]:
    namespace = request.namespace
    return Watched("EndpointSlice", "", namespace, _label(request)), Watched("DynamoWorkerMetadata", "", namespace)


def _label(request: WaitRequest) -> str:
    return f"nvidia.com/dynamo-graph-deployment-name={request.dgd}"


def trim_node(node: dict[str, Any]) -> dict[str, Any]:
    """Drop what no judge reads of a node: images and managed fields are most of it."""
    (node.get("metadata") or {}).pop("managedFields", None)
    (node.get("status") or {}).pop("images", None)
    return node


def trim_pod(pod: dict[str, Any]) -> dict[str, Any]:
    """Drop managed fields."""
    (pod.get("metadata") or {}).pop("managedFields", None)
    return pod


def trim_bound(pod: dict[str, Any]) -> dict[str, Any] | None:
    """Keep of other people's pods what they hold of their nodes; drop the ones that ended."""
    metadata, spec, status = pod.get("metadata") or {}, pod.get("spec") or {}, pod.get("status") or {}
    if status.get("phase") in ("Succeeded", "Failed"):
        return None
    kept = ("nodeName", "overhead", "affinity", "topologySpreadConstraints", "priority", "resources", "hostNetwork")
    return {
        "metadata": {
            key: metadata.get(key)
            for key in ("name", "namespace", "uid", "labels", "deletionTimestamp")
            if key in metadata
        },
        "spec": {
            **{key: spec[key] for key in kept if key in spec},
            "containers": [_slim(one) for one in spec.get("containers") or ()],
            "initContainers": [_slim(one) for one in spec.get("initContainers") or ()],
        },
        "status": {"phase": status.get("phase")},
    }


def _slim(container: Mapping[str, Any]) -> dict[str, Any]:
    return {key: container[key] for key in ("name", "resources", "ports", "restartPolicy") if key in container}
