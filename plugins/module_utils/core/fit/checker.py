# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A second opinion on a placement: each pod in turn against its node, read straight from the objects.

Written apart from the search and shares none of its counters: it walks over lists of pods, filter by filter. A verdict
``fits`` is only given for a placement that passes here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..csi import Attachment
from ..demand import K8sObject
from ..podresources import pod_requests, whole_amounts
from .cluster import Cluster, NodeView
from .model import (
    NO_AFFINITY,
    Affinity,
    Spread,
    Term,
    affinity_of,
    host_ports,
    labels_of,
    metadata,
    namespace_of,
    node_rules,
    ports_conflict,
    spreads_of,
)
from .selectors import UNSCHEDULABLE_TAINT, any_term, tolerates, untolerated
from .volumes import ClaimKey, PodVolumes


@dataclass(frozen=True)
class Step:
    """One pod of a witness and the node it is to stand on."""

    name: str
    pod: K8sObject
    node: str


@dataclass(frozen=True)
class _Standing:
    """A pod that stands on a node, by the node's position."""

    pod: K8sObject
    node: int
    requests: Mapping[str, int]
    affinity: Affinity
    attached: frozenset[Attachment] = frozenset()


class Checker:
    """Checks steps one after another; each accepted pod stands for the next."""

    def __init__(self, cluster: Cluster, *, provisioned_anywhere: bool = False) -> None:
        self.cluster = cluster
        self.anywhere = provisioned_anywhere
        self.nodes = cluster.nodes
        self.where = {node.name: position for position, node in enumerate(cluster.nodes)}
        self.standing: list[_Standing] = []
        self.on_node: dict[int, list[_Standing]] = {}
        # By namespace and labels: pods with equal labels are meant by the same selectors.
        self.alike: dict[str, dict[tuple[tuple[str, str], ...], list[_Standing]]] = {}
        self.anti: dict[Term, list[_Standing]] = {}
        # What a pod's own rules make of the nodes does not change while pods are placed.
        self.eligible: dict[str, tuple[dict[int, str], frozenset[str]]] = {}
        ruled = {id(pod): affinity for pod, affinity in cluster.rules}
        for pod in cluster.bound:
            used = frozenset(cluster.storage.used_by(pod.source) if cluster.limits.most else ())
            self._stand(_Standing(pod.source, pod.node, pod.requests, ruled.get(id(pod), NO_AFFINITY), used))
        self.bound_claims: dict[ClaimKey, str] = {}
        self.made_claims: dict[ClaimKey, str] = {}

    def refuse(self, step: Step) -> str:
        """Return why the step is not allowed now, or nothing; an allowed pod stands from now on."""
        position = self.where.get(step.node)
        if position is None:
            return f"there is no node {step.node}"
        node = self.nodes[position]
        volumes = self.cluster.storage.look_up(step.pod)
        for refused in (
            self._node(step.pod, node),
            self._room(step.pod, node, position),
            self._volumes(step.pod, volumes, node),
            self._limits(volumes, position),
            self._spread(step.pod, node),
            self._pods(step.pod, node),
        ):
            if refused:
                return f"{step.name} on {step.node}: {refused}"
        self._bind(volumes, node)
        used = frozenset(volumes.attaches)
        self._stand(_Standing(step.pod, position, pod_requests(step.pod), affinity_of(step.pod), used))
        return ""

    def _stand(self, one: _Standing) -> None:
        self.standing.append(one)
        self.on_node.setdefault(one.node, []).append(one)
        labels = tuple(labels_of(one.pod).items())
        self.alike.setdefault(namespace_of(one.pod), {}).setdefault(labels, []).append(one)
        for term in one.affinity.apart:
            self.anti.setdefault(term, []).append(one)

    def _node(self, pod: K8sObject, node: NodeView) -> str:
        rules = node_rules(pod)
        if node.unschedulable and not tolerates(rules.tolerations, UNSCHEDULABLE_TAINT):
            return "cordoned"
        if rules.name not in ("", node.name):
            return "another node is named"
        if untolerated(node.taints, rules.tolerations) is not None:
            return "untolerated taint"
        if not self._selected(pod, node):
            return "node selector or affinity"
        return ""

    def _selected(self, pod: K8sObject, node: NodeView) -> bool:
        rules = node_rules(pod)
        for key, value in rules.selector.items():
            if node.labels.get(key) != value:
                return False
        return rules.terms is None or any_term(rules.terms, node.labels, node.name)

    def _room(self, pod: K8sObject, node: NodeView, position: int) -> str:
        here = self.on_node.get(position, [])
        status = node.source.get("status") or {}
        has = whole_amounts(status["allocatable"] if "allocatable" in status else status.get("capacity"))
        if len(here) + 1 > has.get("pods", 0):
            return "too many pods"
        for name, value in pod_requests(pod).items():
            counted = name in ("cpu", "memory", "ephemeral-storage") or "/" in name or name.startswith("hugepages-")
            held = sum(one.requests.get(name, 0) for one in here)
            if value > 0 and counted and value > has.get(name, 0) - held:
                return f"insufficient {name}"
        ports = host_ports(pod.get("spec") or {})
        if ports and any(ports_conflict(ports, host_ports(one.pod.get("spec") or {})) for one in here):
            return "host port taken"
        return ""

    def _volumes(self, pod: K8sObject, volumes: PodVolumes, node: NodeView) -> str:
        storage = self.cluster.storage
        if volumes.failure:
            return volumes.failure
        if volumes.bound and storage.node_reasons(volumes, node.labels):
            return "a bound volume is out of reach"
        for key in volumes.once:
            if any(_mounts(one.pod, key) for one in self.standing):
                return f"claim {key[1]} allows one pod"
        return self._waiting(volumes, node)

    def _limits(self, volumes: PodVolumes, position: int) -> str:
        limits = self.cluster.limits
        here = {volume for one in self.on_node.get(position, ()) for volume in one.attached}
        for driver, most in limits.most.get(position, {}).items():
            new = {one for one in volumes.attaches if one.driver == driver} - here
            lingering = limits.lingering.get(position, {}).get(driver, 0)
            if new and len(new) + sum(one.driver == driver for one in here) + lingering > most:
                return f"too many volumes of {driver}"
        return ""

    def _waiting(self, volumes: PodVolumes, node: NodeView) -> str:
        storage = self.cluster.storage
        taken = {volume: key for key, volume in self.bound_claims.items()}
        for claim in volumes.waiting:
            if claim.key in self.bound_claims:
                volume = self.bound_claims[claim.key]
                if not storage.reachable(volume, node.labels) or not storage.in_zone(volume, node.labels):
                    return f"claim {claim.key[1]} was bound elsewhere"
                continue
            home = claim.selected_node or self.made_claims.get(claim.key, "")
            if home:
                free = self.anywhere and claim.key in self.made_claims
                if (home != node.name and not free) or not storage.provisions_on(claim.storage_class, node.labels):
                    return f"claim {claim.key[1]} is being made for another node"
                continue
            found = storage.match(claim, taken, node.labels)
            if found is None and storage.why_not_made(claim, node.labels):
                return f"no volume for claim {claim.key[1]}"
            if found is not None:
                taken[found] = claim.key
        return ""

    def _bind(self, volumes: PodVolumes, node: NodeView) -> None:
        for claim in volumes.waiting:
            if claim.key in self.bound_claims or claim.key in self.made_claims or claim.selected_node:
                continue
            taken = {volume: key for key, volume in self.bound_claims.items()}
            found = self.cluster.storage.match(claim, taken, node.labels)
            if found is None:
                self.made_claims[claim.key] = node.name
            else:
                self.bound_claims[claim.key] = found

    def _spread(self, pod: K8sObject, node: NodeView) -> str:
        hard = [rule for rule in spreads_of(pod) if rule.hard]
        for rule in hard:
            if rule.key not in node.labels:
                return f"no label {rule.key}"
            counts = self._domains(pod, rule, hard)
            least = min(counts.values(), default=0)
            if len(counts) < rule.min_domains:
                least = 0
            itself = 1 if rule.selector.matches(labels_of(pod)) else 0
            if counts.get(node.labels[rule.key], 0) + itself - least > rule.max_skew:
                return f"spread over {rule.key}"
        return ""

    def _domains(self, pod: K8sObject, rule: Spread, hard: Sequence[Spread]) -> dict[str, int]:
        domain_of, domains = self._eligible(pod, rule, hard)
        counts = dict.fromkeys(domains, 0)
        for pods in self.alike.get(namespace_of(pod), {}).values() if rule.selector.requirements else ():
            if not rule.selector.matches(labels_of(pods[0].pod)):
                continue
            for one in pods:
                if one.node in domain_of and not metadata(one.pod).get("deletionTimestamp"):
                    counts[domain_of[one.node]] += 1
        return counts

    def _eligible(self, pod: K8sObject, rule: Spread, hard: Sequence[Spread]) -> tuple[dict[int, str], frozenset[str]]:
        """Return the domain of each node that the constraint counts, and all those domains."""
        rules = node_rules(pod)
        identity = repr((rules, rule, [one.key for one in hard]))
        if identity not in self.eligible:
            found = {
                position: node.labels[rule.key]
                for position, node in enumerate(self.nodes)
                if all(one.key in node.labels for one in hard)
                and (not rule.honor_affinity or self._selected(pod, node))
                and (not rule.honor_taints or untolerated(node.taints, rules.tolerations) is None)
            }
            self.eligible[identity] = (found, frozenset(found.values()))
        return self.eligible[identity]

    def _pods(self, pod: K8sObject, node: NodeView) -> str:
        affinity = affinity_of(pod)
        if affinity.near and not self._near(pod, affinity.near, node):
            return "pod affinity"
        for term in affinity.apart:
            if self._domain_has(term, node, self._meant_by([term])):
                return "pod anti-affinity"
        for term, owners in self.anti.items():
            if self._means(term, pod) and self._domain_has(term, node, owners):
                return "anti-affinity of a standing pod"
        return ""

    def _near(self, pod: K8sObject, terms: Sequence[Term], node: NodeView) -> bool:
        if any(term.key not in node.labels for term in terms):
            return False
        friends = self._meant_by(terms)
        if all(self._domain_has(term, node, friends) for term in terms):
            return True
        known = any(term.key in self.nodes[one.node].labels for one in friends for term in terms)
        return not known and all(self._means(term, pod) for term in terms)

    def _meant_by(self, terms: Sequence[Term]) -> list[_Standing]:
        """Return the standing pods that every one of the terms means."""
        return [
            one
            for kinds in self.alike.values()
            for pods in kinds.values()
            if all(self._means(term, pods[0].pod) for term in terms)
            for one in pods
        ]

    def _means(self, term: Term, pod: K8sObject) -> bool:
        return term.matches(namespace_of(pod), labels_of(pod), self.cluster.namespace_labels)

    def _domain_has(self, term: Term, node: NodeView, pods: Sequence[_Standing]) -> bool:
        if term.key not in node.labels:
            return False
        return any(self.nodes[one.node].labels.get(term.key) == node.labels[term.key] for one in pods)


def _mounts(pod: K8sObject, key: ClaimKey) -> bool:
    return namespace_of(pod) == key[0] and any(
        (volume.get("persistentVolumeClaim") or {}).get("claimName") == key[1]
        for volume in (pod.get("spec") or {}).get("volumes") or ()
    )


def check_placement(cluster: Cluster, steps: Sequence[Step], *, provisioned_anywhere: bool = False) -> str:
    """Return why the steps are not a valid placement, one after another, or nothing where they are."""
    checker = Checker(cluster, provisioned_anywhere=provisioned_anywhere)
    for step in steps:
        refused = checker.refuse(step)
        if refused:
            return refused
    return ""
