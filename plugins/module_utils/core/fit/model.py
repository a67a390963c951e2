# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods and nodes compiled to what the scheduler's filters look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..demand import K8sObject
from ..podresources import is_sidecar, pod_requests
from .selectors import (
    NO_LABELS,
    NOTHING,
    Labels,
    NodeTerm,
    Selector,
    label_selector,
    named_nodes,
    node_term,
    node_terms,
    with_label_values,
)

#: Every pod takes one of the node's pod places; counted like any other resource.
PODS = "pods"
ANY_IP = "0.0.0.0"
TERMINAL = ("Succeeded", "Failed")
_PLAIN = ("cpu", "memory", "ephemeral-storage")
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"

Port = tuple[str, int, str]
"""Protocol, number, host address."""
NamespaceLabels = Callable[[str], Labels]


@dataclass(frozen=True)
class Term:
    """One pod (anti-)affinity term: which pods it means and over which node label."""

    key: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector
    weight: int = 0

    def matches(self, namespace: str, labels: Labels, namespace_labels: NamespaceLabels) -> bool:
        """Return whether the term means a pod of ``namespace`` with ``labels``."""
        if namespace not in self.namespaces and not self.namespace_selector.matches(namespace_labels(namespace)):
            return False
        return self.selector.matches(labels)


@dataclass(frozen=True)
class Spread:
    """One topology spread constraint with its defaults filled in (policies: affinity Honor, taints Ignore)."""

    key: str
    max_skew: int
    min_domains: int
    selector: Selector
    honor_affinity: bool
    honor_taints: bool
    hard: bool


@dataclass(frozen=True)
class Affinity:
    """The pod's rules about other pods, required and preferred."""

    near: tuple[Term, ...] = ()
    apart: tuple[Term, ...] = ()
    prefer_near: tuple[Term, ...] = ()
    prefer_apart: tuple[Term, ...] = ()


NO_AFFINITY = Affinity()


@dataclass(frozen=True)
class NodeRules:
    """The pod's rules about nodes."""

    name: str = ""
    selector: Mapping[str, str] = field(default_factory=dict)
    terms: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[K8sObject, ...] = ()
    preferred: tuple[tuple[int, NodeTerm], ...] = ()

    @property
    def only(self) -> frozenset[str] | None:
        """The nodes named by ``matchFields``; the scheduler looks at no other one."""
        return named_nodes(self.terms)


def metadata(pod: K8sObject) -> K8sObject:
    """Return an object's metadata, or nothing."""
    found = pod.get("metadata")
    return found if isinstance(found, Mapping) else {}


def labels_of(pod: K8sObject) -> Labels:
    """Return an object's labels."""
    return metadata(pod).get("labels") or NO_LABELS


def namespace_of(pod: K8sObject) -> str:
    """Return a pod's namespace."""
    return str(metadata(pod).get("namespace") or "default")


def host_ports(spec: K8sObject) -> frozenset[Port]:
    """Return the host ports a pod takes: containers and sidecars; on the host network every container port is one."""
    found: set[Port] = set()
    host = bool(spec.get("hostNetwork"))
    for container in (*filter(is_sidecar, spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        for port in container.get("ports") or ():
            number = port.get("hostPort") or (port.get("containerPort") if host else 0)
            if number:
                found.add((str(port.get("protocol") or "TCP"), int(number), str(port.get("hostIP") or ANY_IP)))
    return frozenset(found)


def ports_conflict(wanted: Iterable[Port], used: Iterable[Port]) -> bool:
    """Return whether two pods with these host ports cannot share a node; the any-address meets every address."""
    return any(
        one[:2] == other[:2] and (one[2] == other[2] or ANY_IP in (one[2], other[2]))
        for one in wanted
        for other in used
    )


def _term(source: Mapping[str, Any], namespace: str, labels: Labels, merge: bool, weight: int = 0) -> Term:
    selector = label_selector(source.get("labelSelector"))
    if merge:
        selector = _with_keys(selector, source, labels)
    namespaces = frozenset(map(str, source.get("namespaces") or ()))
    wide = source.get("namespaceSelector")
    if not namespaces and wide is None:
        namespaces = frozenset((namespace,))
    return Term(str(source.get("topologyKey") or ""), selector, namespaces, label_selector(wide), weight)


def _with_keys(selector: Selector, source: Mapping[str, Any], labels: Labels) -> Selector:
    """Do what the API server does to a pod's (anti-)affinity term with (mis)matchLabelKeys."""
    selector = with_label_values(selector, source.get("matchLabelKeys") or (), labels)
    unlike = with_label_values(Selector(), source.get("mismatchLabelKeys") or (), labels).requirements
    if selector.nothing or not unlike:
        return selector
    more = tuple(type(one)(one.key, "NotIn", one.values) for one in unlike)
    return Selector(selector.requirements + tuple(one for one in more if one not in selector.requirements))


def affinity_of(pod: K8sObject, *, merge: bool = True) -> Affinity:
    """Compile the pod's rules about other pods; ``merge`` adds what the API server makes of matchLabelKeys."""
    affinity = (pod.get("spec") or {}).get("affinity")
    if not affinity:
        return NO_AFFINITY
    namespace, labels = namespace_of(pod), labels_of(pod)

    def required(kind: str) -> tuple[Term, ...]:
        terms = (affinity.get(kind) or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        return tuple(_term(term, namespace, labels, merge) for term in terms)

    def preferred(kind: str) -> tuple[Term, ...]:
        terms = (affinity.get(kind) or {}).get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        return tuple(
            _term(term.get("podAffinityTerm") or {}, namespace, labels, merge, int(term.get("weight") or 0))
            for term in terms
        )

    return Affinity(
        required("podAffinity"), required("podAntiAffinity"), preferred("podAffinity"), preferred("podAntiAffinity")
    )


def spreads_of(pod: K8sObject) -> tuple[Spread, ...]:
    """Compile the pod's topology spread constraints."""
    labels = labels_of(pod)
    return tuple(
        Spread(
            key=str(source.get("topologyKey") or ""),
            max_skew=int(source.get("maxSkew") or 1),
            min_domains=int(source.get("minDomains") or 1),
            selector=with_label_values(
                label_selector(source.get("labelSelector")), source.get("matchLabelKeys") or (), labels
            ),
            honor_affinity=(source.get("nodeAffinityPolicy") or "Honor") == "Honor",
            honor_taints=(source.get("nodeTaintsPolicy") or "Ignore") == "Honor",
            hard=(source.get("whenUnsatisfiable") or "DoNotSchedule") == "DoNotSchedule",
        )
        for source in (pod.get("spec") or {}).get("topologySpreadConstraints") or ()
    )


def node_rules(pod: K8sObject) -> NodeRules:
    """Compile the pod's rules about nodes."""
    spec = pod.get("spec") or {}
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return NodeRules(
        name=str(spec.get("nodeName") or ""),
        selector=spec.get("nodeSelector") or NO_LABELS,
        terms=node_terms(affinity.get("requiredDuringSchedulingIgnoredDuringExecution")),
        tolerations=tuple(spec.get("tolerations") or ()),
        preferred=tuple(
            (int(entry.get("weight") or 0), node_term(entry.get("preference") or {}))
            for entry in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        ),
    )


def wanted(pod: K8sObject) -> dict[str, int]:
    """Return what the pod asks of a node, its place included, without what it asks nothing of.

    Names without a domain other than the well-known ones are no resources to the scheduler, which skips them.
    """
    found = {
        name: value
        for name, value in pod_requests(pod).items()
        if value > 0 and (name in _PLAIN or "/" in name or name.startswith("hugepages-"))
    }
    found[PODS] = 1
    return found


def claim_names(pod: K8sObject) -> tuple[tuple[str, K8sObject | None], ...]:
    """Return the claims the pod mounts, in order: name, and the template of a generic ephemeral volume or None."""
    name = str(metadata(pod).get("name") or metadata(pod).get("generateName") or "")
    found: list[tuple[str, K8sObject | None]] = []
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        claim = volume.get("persistentVolumeClaim")
        ephemeral = volume.get("ephemeral")
        if claim:
            found.append((str(claim.get("claimName") or ""), None))
        elif ephemeral:
            found.append((f"{name}-{volume.get('name')}", ephemeral.get("volumeClaimTemplate") or {}))
    return tuple(found)


def selector_keys(pods: Iterable[tuple[Affinity, tuple[Spread, ...]]]) -> frozenset[str]:
    """Return every pod label key that some rule of ``pods`` looks at."""
    keys: set[str] = set()
    for affinity, spreads in pods:
        for term in (*affinity.near, *affinity.apart, *affinity.prefer_near, *affinity.prefer_apart):
            keys |= term.selector.keys
        for spread in spreads:
            keys |= spread.selector.keys
    return frozenset(keys)


__all__ = [
    "ANY_IP",
    "HOSTNAME",
    "NOTHING",
    "NO_AFFINITY",
    "PODS",
    "REGION",
    "TERMINAL",
    "ZONE",
    "Affinity",
    "NodeRules",
    "Port",
    "Spread",
    "Term",
    "affinity_of",
    "claim_names",
    "host_ports",
    "labels_of",
    "metadata",
    "namespace_of",
    "node_rules",
    "ports_conflict",
    "selector_keys",
    "spreads_of",
    "wanted",
]
