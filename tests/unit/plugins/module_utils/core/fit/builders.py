# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small clusters and pods for the tests of fit."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.demand import Gang, PodDemand
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.cluster import (
    Cluster,
    Group,
    build_cluster,
    group_pods,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.judge import judge_fit
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.report import FitReport, FitRequest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.state import Options, State

Plain = dict[str, Any]
GPU = "nvidia.com/gpu"
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
DGD_LABEL = "nvidia.com/dynamo-graph-deployment-name"


def node(name: str, gpus: int = 8, *, zone: str = "", taints: Any = (), **more: Any) -> Plain:
    """Return a node; ``labels``, ``room`` (further allocatable) and ``unschedulable`` by keyword."""
    room = {"cpu": "64", "memory": "512Gi", "pods": "110", **({GPU: str(gpus)} if gpus else {}), **more.get("room", {})}
    labels = {HOST: name, **({ZONE: zone} if zone else {}), **more.get("labels", {})}
    spec: Plain = {"taints": list(taints)} if taints else {}
    if more.get("unschedulable"):
        spec["unschedulable"] = True
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"allocatable": room}}


def pod(name: str, gpus: int = 0, *, cpu: str = "", labels: Mapping[str, str] | None = None, **spec: Any) -> Plain:
    """Return a pod with one container; further fields of its spec by keyword."""
    requests = {**({GPU: str(gpus)} if gpus else {}), **({"cpu": cpu} if cpu else {})}
    container = {"name": "main", "image": "i", "resources": {"requests": requests}}
    meta = {"name": name, "namespace": spec.pop("namespace", "team"), "labels": dict(labels or {})}
    return {"metadata": meta, "spec": {"containers": [container], **spec}}


def bound(name: str, where: str, gpus: int = 0, *, phase: str = "Running", **more: Any) -> Plain:
    """Return a pod that stands on a node."""
    found = pod(name, gpus, nodeName=where, **more)
    found["status"] = {"phase": phase}
    return found


def near(key: str, selector: Any, kind: str = "podAffinity", **term: Any) -> Plain:
    """Return a required rule about other pods, as a pod's ``affinity``."""
    terms = [{"topologyKey": key, **({"labelSelector": selector} if selector is not None else {}), **term}]
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def apart(key: str, selector: Any, **term: Any) -> Plain:
    """Return a required anti-affinity, as a pod's ``affinity``."""
    return near(key, selector, "podAntiAffinity", **term)


def spread(key: str, selector: Any, skew: int = 1, **more: Any) -> list[Plain]:
    """Return one spread constraint that filters."""
    rule = {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
        **more,
    }
    return [rule]


def requires(*terms: Plain) -> Plain:
    """Return required node affinity, as a pod's ``affinity``."""
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def demands(*pods: Plain, component: str = "") -> tuple[PodDemand, ...]:
    """Return the pods as demands; a pod's component is its name up to the last dash."""
    counts: dict[str, Any] = {}
    found = []
    for one in pods:
        name = one["metadata"]["name"]
        part = component or name.rpartition("-")[0] or name
        number = next(counts.setdefault(part, itertools.count()))
        found.append(PodDemand(name, part, "main", number, one))
    return tuple(found)


def in_gang(demand: PodDemand, name: str, members: int, key: str = "", replica: int | None = None) -> PodDemand:
    """Return the demand as a member of a gang."""
    gangs = (*demand.gangs, Gang(name, members, key))
    number = demand.replica if replica is None else replica
    return PodDemand(demand.name, demand.component, demand.role, number, demand.pod, gangs)


class Ticks:
    """A test double of a clock: each look at it takes as long as it is told."""

    def __init__(self, step: float = 0.0) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def judge(
    snapshot: Plain, wanted: tuple[PodDemand, ...], *, limit: float = 10.0, step: float = 0.0, **more: Any
) -> FitReport:
    """Judge demands of namespace team on a snapshot; further fields of the request by keyword."""
    return judge_fit(FitRequest(wanted, snapshot, namespace="team", **more), clock=Ticks(step), time_limit=limit)


def made(snapshot: Plain, *pods: Plain) -> tuple[Cluster, tuple[Group, ...]]:
    """Return the cluster and the pods' groups."""
    cluster = build_cluster(snapshot)
    return cluster, group_pods(list(pods), cluster)


def state(snapshot: Plain, *pods: Plain, options: Options | None = None) -> State:
    """Return the state before anything is placed."""
    cluster, groups = made(snapshot, *pods)
    return State(cluster, groups, options)


def reasons(snapshot: Plain, one: Plain) -> dict[str, tuple[str, ...]]:
    """Return why the pod is refused, by node."""
    found = state(snapshot, one)
    return {view.name: found.why_not(0, position) for position, view in enumerate(found.nodes)}
