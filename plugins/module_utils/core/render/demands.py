# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pods that rendered objects become: every component, replica, leader and worker, with its gangs.

How many there are is read from the DGD, not from the objects: on a first pass the operator starts some workloads low
and raises them as pods become ready. What the pods are is read from the objects. Names are those of the controllers
where they are predictable (LeaderWorkerSet, Grove) without their random ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import keys
from ..demand import Gang, K8sObject, PodDemand, Role
from .shapes import plain

Topologies = Mapping[str, tuple[tuple[str, str], ...]]

#: Every pod of one gang has this annotation of LeaderWorkerSet's value in common.
_EXCLUSIVE_TOPOLOGY = "leaderworkerset.sigs.k8s.io/exclusive-topology"
_TEMPLATE_HASH = "pod-template-hash"
_LEADER_SUFFIX, _WORKER_SUFFIX = "-ldr", "-wkr"


@dataclass(frozen=True)
class _Part:
    """A component as the DGD has it."""

    name: str
    replicas: int
    nodes: int

    @property
    def lower(self) -> str:
        return self.name.lower()


def pod_demands(
    objects: Iterable[K8sObject], definition: Mapping[str, Any], topologies: Topologies | None = None
) -> tuple[PodDemand, ...]:
    """Return the pods of rendered ``objects``.

    ``definition`` is the admitted DGD; ``topologies`` gives per cluster topology its domains with their node labels.
    Without the label of a domain the pods packed into it are marked unknown.
    """
    parts = _parts(definition)
    name = str(definition["metadata"]["name"])
    found: list[PodDemand] = []
    groups: dict[str, list[K8sObject]] = {}
    for item in objects:
        kind = item.get("kind")
        if kind == "Deployment":
            found.extend(_deployment(item, _owner(item, name, parts)))
        elif kind == "LeaderWorkerSet":
            groups.setdefault(_owner(item, name, parts).name, []).append(item)
        elif kind == "PodCliqueSet":
            found.extend(_CliqueSet(item, parts, topologies or {}).demands())
    for component, sets in groups.items():
        part = next((part for part in parts if part.name == component), None)
        found.extend(_leader_worker_sets(sets, part or _Part(component, 1, 1)))
    order = {part.name: number for number, part in enumerate(parts)}
    return tuple(sorted(found, key=lambda demand: order.get(demand.component, len(order))))


def _parts(definition: Mapping[str, Any]) -> tuple[_Part, ...]:
    spec = definition.get("spec") or {}
    services = spec.get("services") or {}
    pairs = [(name, services[name] or {}) for name in sorted(services)]
    pairs += [(str(component.get("name", "")), component) for component in spec.get("components") or ()]
    return tuple(
        _Part(name, 1 if item.get("replicas") is None else int(item["replicas"]), _nodes(item)) for name, item in pairs
    )


def _nodes(component: Mapping[str, Any]) -> int:
    multinode = component.get("multinode")
    return int(multinode.get("nodeCount", 2)) if multinode is not None else 1


def _owner(item: K8sObject, dgd: str, parts: Sequence[_Part]) -> _Part:
    """Return the component of a workload: the one whose name its own begins with, the longest such."""
    name = str(item["metadata"]["name"])
    base = f"{dgd}-"
    fitting = [part for part in parts if name == base + part.lower or name.startswith(f"{base}{part.lower}-")]
    if fitting:
        return max(fitting, key=lambda part: len(part.name))
    return _Part(name, int(item.get("spec", {}).get("replicas", 1)), 1)


def _deployment(item: K8sObject, part: _Part) -> Iterator[PodDemand]:
    template = item["spec"]["template"]
    for replica in range(part.replicas):
        name = f"{item['metadata']['name']}-{replica}"
        yield PodDemand(name, part.name, "main", replica, _pod(name, item, template))


def _leader_worker_sets(sets: Sequence[K8sObject], part: _Part) -> Iterator[PodDemand]:
    """One set with all replicas, or one set a replica of which a first pass may show only some."""
    single = len(sets) == 1 and "instance-id" not in (sets[0]["metadata"].get("labels") or {})
    for replica in range(part.replicas):
        item = sets[0] if single else sets[min(replica, len(sets) - 1)]
        set_name = str(item["metadata"]["name"])
        if not single:
            set_name = f"{set_name.rpartition('-')[0]}-{replica}"
        group = replica if single else 0
        yield from _group(item, part, replica, f"{set_name}-{group}", set_name)


def _group(item: K8sObject, part: _Part, replica: int, leader: str, set_name: str) -> Iterator[PodDemand]:
    spec = item["spec"]["leaderWorkerTemplate"]
    size = int(spec.get("size", 1))
    worker = spec.get("workerTemplate") or {}
    annotations = item["metadata"].get("annotations") or {}
    gang = Gang(leader, size, str(annotations.get(_EXCLUSIVE_TOPOLOGY, "")))
    for index in range(size):
        name = leader if index == 0 else f"{leader}-{index}"
        template = (spec.get("leaderTemplate") or worker) if index == 0 else worker
        role: Role = "leader" if index == 0 else "worker"
        pod = _pod(name, item, template)
        pod["metadata"]["labels"] = {
            **pod["metadata"].get("labels", {}),
            keys.LABEL_LWS_NAME: set_name,
            "leaderworkerset.sigs.k8s.io/worker-index": str(index),
        }
        yield PodDemand(name, part.name, role, replica, pod, (gang,))


class _CliqueSet:
    """Grove's view: cliques of equal pods, scaling groups of cliques, gangs over what must start together."""

    def __init__(self, item: K8sObject, parts: Sequence[_Part], topologies: Topologies) -> None:
        self.item = item
        self.template = item["spec"]["template"]
        self.name = f"{item['metadata']['name']}-0"
        self.parts = {part.lower: part for part in parts}
        self.topologies = topologies
        self.cliques = {clique["name"]: clique for clique in self.template.get("cliques") or ()}
        self.groups = {group["name"]: group for group in self.template.get("podCliqueScalingGroups") or ()}
        self.grouped = {name for group in self.groups.values() for name in group.get("cliqueNames") or ()}

    def demands(self) -> Iterator[PodDemand]:
        base = self._base_size()
        for name, clique in self.cliques.items():
            if name not in self.grouped:
                yield from self._single(clique, base)
        for group in self.groups.values():
            yield from self._scaling_group(group, base)

    def _base_size(self) -> int:
        """How many pods the base gang needs: of each clique and group its least number."""
        size = sum(_least(clique) for name, clique in self.cliques.items() if name not in self.grouped)
        for group in self.groups.values():
            least = min(int(group.get("minAvailable", 1)), self._replicas(group["name"], group))
            size += least * sum(_least(self.cliques[name]) for name in group.get("cliqueNames") or ())
        return size

    def _replicas(self, name: str, item: Mapping[str, Any]) -> int:
        part = self.parts.get(name)
        return part.replicas if part is not None else int(item.get("replicas", 1))

    def _single(self, clique: Mapping[str, Any], base: int) -> Iterator[PodDemand]:
        name = clique["name"]
        packed, why = self._packed(clique, f"{self.name}-{name}", _least(clique))
        for replica in range(self._replicas(name, clique["spec"])):
            gangs, unknown = self._base(base, replica < _least(clique))
            pod_name = f"{self.name}-{name}-{replica}"
            component = self.parts[name].name if name in self.parts else name
            yield self._demand(pod_name, component, "main", replica, clique, (*gangs, *packed), (*unknown, *why))

    def _scaling_group(self, group: Mapping[str, Any], base: int) -> Iterator[PodDemand]:
        name = group["name"]
        cliques = [self.cliques[clique] for clique in group.get("cliqueNames") or ()]
        size = sum(_least(clique) for clique in cliques)
        component = self.parts[name].name if name in self.parts else name
        for replica in range(self._replicas(name, group)):
            group_name = f"{self.name}-{name}-{replica}"
            in_base = replica < int(group.get("minAvailable", 1))
            base_gangs, unknown = self._base(base, in_base)
            own, why = self._packed(group, group_name, size)
            if not in_base:
                own = own or (Gang(group_name, size),)
            for clique in cliques:
                clique_name = f"{group_name}-{clique['name']}"
                packed, more = self._packed(clique, clique_name, _least(clique))
                for index in range(int(clique["spec"].get("replicas", 1))):
                    yield self._demand(
                        f"{clique_name}-{index}",
                        component,
                        _role(clique["name"], name),
                        replica,
                        clique,
                        (*base_gangs, *own, *packed),
                        (*unknown, *why, *more),
                    )

    def _base(self, size: int, required: bool) -> tuple[tuple[Gang, ...], tuple[str, ...]]:
        """The gang of the whole set; pods above the least number only share its place."""
        packed, why = self._packed(self.template, self.name, size if required else 1)
        if packed:
            return packed, why
        return ((Gang(self.name, size),) if required else ()), why

    def _packed(self, item: Mapping[str, Any], name: str, size: int) -> tuple[tuple[Gang, ...], tuple[str, ...]]:
        """The gang of pods that must lie in one domain, or why its domain is not known."""
        constraint = item.get("topologyConstraint") or {}
        domain = constraint.get("packDomain") or (constraint.get("pack") or {}).get("required")
        if not domain:
            return (), ()
        label = self._label(str(constraint.get("topologyName") or ""), str(domain))
        if label:
            return (Gang(name, size, label),), ()
        return (), (f"packed into one {domain}, and which node label that is was not seen (no cluster topology known)",)

    def _label(self, topology: str, domain: str) -> str:
        own = str((self.template.get("topologyConstraint") or {}).get("topologyName") or topology)
        named = self.topologies.get(own)
        candidates = [named] if named is not None else list(self.topologies.values())
        labels = {label for levels in candidates for level, label in levels if level == domain}
        return labels.pop() if len(labels) == 1 else ""

    def _demand(
        self,
        name: str,
        component: str,
        role: Role,
        replica: int,
        clique: Mapping[str, Any],
        gangs: tuple[Gang, ...],
        unknown: tuple[str, ...],
    ) -> PodDemand:
        if self.template.get("resourceClaimTemplates"):
            unknown = (*unknown, "its GPUs come from a claim that pods share, which is not counted pod by pod")
        template = {
            "metadata": {"labels": clique.get("labels") or {}, "annotations": clique.get("annotations") or {}},
            "spec": clique["spec"]["podSpec"],
        }
        return PodDemand(name, component, role, replica, _pod(name, self.item, template), gangs, unknown)


def _least(clique: Mapping[str, Any]) -> int:
    spec = clique["spec"]
    replicas = int(spec.get("replicas", 1))
    return min(int(spec.get("minAvailable", replicas)), max(replicas, 1))


def _role(clique: str, group: str) -> Role:
    if clique == group:
        return "main"
    return "leader" if clique == group + _LEADER_SUFFIX else "worker"


def _pod(name: str, item: K8sObject, template: Mapping[str, Any]) -> dict[str, Any]:
    """Return a template as the pod that the API server would store, as far as scheduling looks at it."""
    metadata = template.get("metadata") or {}
    spec = plain(template.get("spec") or {})
    labels = plain(metadata.get("labels") or {})
    if any(_TEMPLATE_HASH in (spread.get("matchLabelKeys") or ()) for spread in _spreads(spec)):
        labels.setdefault(_TEMPLATE_HASH, str(item["metadata"]["name"]))
    spec.setdefault("schedulerName", "default-scheduler")
    if spec.get("hostNetwork"):
        for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
            for port in container.get("ports") or ():
                port.setdefault("hostPort", port.get("containerPort"))
    made: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": item["metadata"].get("namespace", "default"), "labels": labels},
        "spec": spec,
    }
    if metadata.get("annotations"):
        made["metadata"]["annotations"] = plain(metadata["annotations"])
    return made


def _spreads(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from spec.get("topologySpreadConstraints") or ()
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        yield from terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        for term in terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            yield term.get("podAffinityTerm") or {}
