# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster and the pods to place, compiled once: nodes with what is free, bound pods, groups of equal demands."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..demand import Gang, K8sObject
from ..keys import LABEL_SELECTOR
from ..podresources import pod_requests, whole_amounts
from .attach import NO_LIMITS, Used, VolumeLimits, used_volumes, volume_limits
from .model import (
    NO_AFFINITY,
    PODS,
    TERMINAL,
    Affinity,
    NodeRules,
    Port,
    Spread,
    affinity_of,
    claim_names,
    host_ports,
    labels_of,
    metadata,
    namespace_of,
    node_rules,
    selector_keys,
    spreads_of,
    wanted,
)
from .selectors import NO_LABELS, Labels
from .volumes import PodVolumes, Storage

#: What of a pod's spec a filter or a score looks at, apart from its containers.
_SPEC_KEYS = (
    "affinity",
    "hostNetwork",
    "initContainers",
    "nodeName",
    "nodeSelector",
    "overhead",
    "preemptionPolicy",
    "priority",
    "resourceClaims",
    "resources",
    "schedulerName",
    "schedulingGates",
    "tolerations",
    "topologySpreadConstraints",
)
_CONTAINER_KEYS = ("image", "ports", "resources", "restartPolicy")


Static = tuple[str, tuple[str, ...]]
"""Why a node is out: the reason that comes before resources, and those after."""


@dataclass(frozen=True, eq=False)
class NodeView:
    """One node: what the filters look at."""

    name: str
    labels: Labels
    taints: tuple[K8sObject, ...]
    unschedulable: bool
    allocatable: Mapping[str, int]
    source: K8sObject


@dataclass(frozen=True, eq=False)
class BoundPod:
    """One bound, non-terminal pod: it holds its full request whatever it is doing."""

    source: K8sObject
    node: int
    requests: Mapping[str, int]

    @property
    def priority(self) -> int:
        """The pod's priority; 0 where it has none."""
        return int((self.source.get("spec") or {}).get("priority") or 0)

    @property
    def terminating(self) -> bool:
        """Whether the pod is being deleted: it still holds, but topology spread no longer counts it."""
        return bool(metadata(self.source).get("deletionTimestamp"))


@dataclass(frozen=True, eq=False)
class Group:
    """Demands that the scheduler cannot tell apart. ``members`` are positions in the list of demands."""

    index: int
    source: K8sObject
    members: tuple[int, ...]
    namespace: str
    labels: Labels
    requests: Mapping[str, int]
    rules: NodeRules
    affinity: Affinity
    spreads: tuple[Spread, ...]
    ports: frozenset[Port]
    volumes: PodVolumes
    packs: tuple[Gang, ...]

    @property
    def count(self) -> int:
        """How many pods the group has."""
        return len(self.members)

    @property
    def priority(self) -> int:
        """The pods' priority."""
        return int((self.source.get("spec") or {}).get("priority") or 0)

    @property
    def preempts(self) -> bool:
        """Whether the pods may evict others of lower priority."""
        return (self.source.get("spec") or {}).get("preemptionPolicy") != "Never"


@dataclass(eq=False)
class Cluster:
    """Nodes, what is bound to them, storage, and the labels of namespaces."""

    nodes: list[NodeView]
    bound: list[BoundPod]
    storage: Storage
    namespaces: dict[str, Labels] = field(default_factory=dict)
    #: Label keys that the rules of bound pods look at, and those pods: most clusters have few.
    rules: list[tuple[BoundPod, Affinity]] = field(default_factory=list)
    limits: VolumeLimits = NO_LIMITS

    @cached_property
    def static(self) -> dict[str, list[Static]]:
        """What node_filters has worked out of the nodes, by what the pods look at."""
        return {}

    @cached_property
    def used_volumes(self) -> dict[int, Used]:
        """The volumes that bound pods use on each node that limits some driver's."""
        return used_volumes(self.storage, ((pod.source, pod.node) for pod in self.bound), self.limits.most)

    @cached_property
    def alike(self) -> list[tuple[str, Labels, list[BoundPod]]]:
        """Bound pods by namespace and labels: a selector needs to look at each kind only once."""
        found: dict[tuple[str, tuple[tuple[str, str], ...]], list[BoundPod]] = {}
        for pod in self.bound:
            identity = (namespace_of(pod.source), tuple(labels_of(pod.source).items()))
            found.setdefault(identity, []).append(pod)
        return [(namespace, dict(labels), pods) for (namespace, labels), pods in found.items()]

    @cached_property
    def _usage(self) -> dict[tuple[str, ...], list[list[int]]]:
        return {}

    def usage(self, resources: Sequence[str]) -> list[list[int]]:
        """Return what is free of each of ``resources`` on each node, in lists of the caller's own."""
        key = tuple(resources)
        if key not in self._usage:
            self._usage[key] = usage(self, resources)
        return [list(row) for row in self._usage[key]]

    def namespace_labels(self, namespace: str) -> Labels:
        """Return a namespace's labels; every namespace has its own name as one."""
        return self.namespaces.get(namespace) or {"kubernetes.io/metadata.name": namespace}

    def without(self, gone: Iterable[BoundPod]) -> Cluster:
        """Return the cluster as it would be with some bound pods gone."""
        names = {id(pod) for pod in gone}
        return Cluster(
            self.nodes,
            [pod for pod in self.bound if id(pod) not in names],
            self.storage,
            self.namespaces,
            [entry for entry in self.rules if id(entry[0]) not in names],
            self.limits,
        )


def objects(source: Mapping[str, Any], kind: str) -> Sequence[K8sObject]:
    """Return the objects of one kind in a snapshot, the readable ones."""
    found = source.get(kind) or ()
    return [entry for entry in found if isinstance(entry, Mapping)]


def build_cluster(source: Mapping[str, Any], planned_claims: Iterable[K8sObject] = ()) -> Cluster:
    """Compile a snapshot. Pods on nodes that are not there count for nothing, as in the scheduler."""
    shared: dict[str, tuple[K8sObject, ...]] = {}
    nodes = [_node(node, shared) for node in objects(source, "nodes")]
    where = {node.name: position for position, node in enumerate(nodes)}
    bound: list[BoundPod] = []
    rules: list[tuple[BoundPod, Affinity]] = []
    for pod in objects(source, "pods"):
        spec = pod.get("spec") or {}
        node = where.get(str(spec.get("nodeName") or ""))
        if node is None or (pod.get("status") or {}).get("phase") in TERMINAL:
            continue
        held = BoundPod(pod, node, pod_requests(pod, bound=True))
        bound.append(held)
        if spec.get("affinity"):
            affinity = affinity_of(pod)
            if affinity is not NO_AFFINITY:
                rules.append((held, affinity))
    storage = Storage.of(
        objects(source, "persistentvolumeclaims"),
        objects(source, "persistentvolumes"),
        objects(source, "storageclasses"),
        planned_claims,
        readable=all(
            readable(source, kind) for kind in ("persistentvolumeclaims", "persistentvolumes", "storageclasses")
        ),
        drivers=objects(source, "csidrivers"),
        capacities=objects(source, "csistoragecapacities"),
    )
    limits = volume_limits(
        objects(source, "csinodes"),
        objects(source, "volumeattachments"),
        storage,
        where,
        ((pod.source, pod.node) for pod in bound),
    )
    namespaces = {str(metadata(one).get("name")): labels_of(one) for one in objects(source, "namespaces")}
    return Cluster(nodes, bound, storage, namespaces, rules, limits)


def readable(source: Mapping[str, Any], kind: str) -> bool:
    """Return whether a kind was read; objects that carry no note of how they were read are taken as whole."""
    kinds = source.get("kinds")
    if kinds is None:
        return True
    return (kinds.get(kind) or {}).get("state") in ("observed", "absent")


def _node(source: K8sObject, shared: dict[str, tuple[K8sObject, ...]]) -> NodeView:
    """Compile a node; nodes with equal taints share one tuple of them, so that they can be told alike quickly."""
    spec, status = source.get("spec") or {}, source.get("status") or {}
    allocatable = status.get("allocatable")
    taints = tuple(spec.get("taints") or ())
    if allocatable is None:  # the API server copies it
        allocatable = status.get("capacity")
    return NodeView(
        name=str(metadata(source).get("name") or ""),
        labels=labels_of(source),
        taints=shared.setdefault(json.dumps(taints, sort_keys=True, default=str), taints) if taints else (),
        unschedulable=bool(spec.get("unschedulable")),
        allocatable=whole_amounts(allocatable),
        source=source,
    )


def group_pods(
    pods: Sequence[K8sObject], cluster: Cluster, packs: Sequence[tuple[Gang, ...]] = ()
) -> tuple[Group, ...]:
    """Group pods that no filter and no score can tell apart, in the order in which each group first appears."""
    compiled = [(affinity_of(pod), spreads_of(pod)) for pod in pods]
    # The default spread scores count by the operator's selector label.
    keys = (
        {LABEL_SELECTOR} | selector_keys(compiled) | selector_keys((affinity, ()) for _pod, affinity in cluster.rules)
    )
    positions: dict[str, list[int]] = defaultdict(list)
    for position, pod in enumerate(pods):
        gangs = packs[position] if packs else ()
        positions[_identity(pod, keys, gangs)].append(position)
    groups = []
    for index, members in enumerate(positions.values()):
        first = members[0]
        pod = pods[first]
        affinity, spreads = compiled[first]
        groups.append(
            Group(
                index=index,
                source=pod,
                members=tuple(members),
                namespace=namespace_of(pod),
                labels=labels_of(pod),
                requests=wanted(pod),
                rules=node_rules(pod),
                affinity=affinity,
                spreads=spreads,
                ports=host_ports(pod.get("spec") or {}),
                volumes=cluster.storage.look_up(pod),
                packs=tuple(gang for gang in (packs[first] if packs else ()) if gang.topology_key),
            )
        )
    return tuple(groups)


def _identity(pod: K8sObject, keys: Set[str], gangs: Sequence[Gang]) -> str:
    spec = pod.get("spec") or {}
    labels = labels_of(pod) or NO_LABELS
    return json.dumps(
        (
            namespace_of(pod),
            {key: labels[key] for key in keys if key in labels},
            {key: spec[key] for key in _SPEC_KEYS if key in spec},
            [
                {key: container[key] for key in _CONTAINER_KEYS if key in container}
                for container in spec.get("containers") or ()
            ],
            claim_names(pod),
            [(gang.name, gang.topology_key) for gang in gangs if gang.topology_key],
        ),
        sort_keys=True,
        default=str,
    )


def usage(cluster: Cluster, resources: Sequence[str]) -> list[list[int]]:
    """Return what is free of each of ``resources`` on each node; below zero where more is held than there is."""
    free = [[node.allocatable.get(name, 0) for name in resources] for node in cluster.nodes]
    columns = {name: column for column, name in enumerate(resources)}
    places = columns.get(PODS)
    for pod in cluster.bound:
        row = free[pod.node]
        for name, value in pod.requests.items():
            column = columns.get(name)
            if column is not None and column != places:
                row[column] -= value
        if places is not None:
            row[places] -= 1
    return free
