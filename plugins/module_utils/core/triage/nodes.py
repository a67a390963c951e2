# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the nodes themselves say about a pending pod, asked of gpu_fit's own filters: can it ever run here?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..demand import K8sObject
from ..errors import InputError
from ..fit.cluster import Cluster, Group, NodeView, build_cluster, group_pods
from ..fit.node_filters import matches_node, node_reason
from ..fit.selectors import untolerated
from ..fit.state import State
from .messages import SchedulerMessage, classify
from .state import ClusterState, condition, labels_of, meta

#: Texts of these categories are compared with what we find; the others depend on more than nodes and requests.
COMPARED = frozenset({"taint", "node_affinity", "node_unschedulable", "insufficient_resource"})
#: Taints that the node controller sets on a node that does not report.
LOST_TAINTS = frozenset({"node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"})


@dataclass(frozen=True)
class NodeOpinion:
    """What the nodes say about one pod.

    ``able`` nodes take it and could hold it when empty; ``full`` are those able ones that lack something now.
    ``barred`` counts nodes that could hold it but refuse it, by category; ``meant`` those among them that the pod's own
    selector and affinity ask for, so that they are the ones it was to run on. ``lacking`` maps each resource that no
    eligible node has enough of to (asked, the most that any eligible node has).
    """

    nodes: int
    eligible: int
    able: int
    barred: Mapping[str, int] = field(default_factory=dict)
    meant: Mapping[str, int] = field(default_factory=dict)
    subjects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lacking: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    requests: Mapping[str, int] = field(default_factory=dict)
    most_free: Mapping[str, int] = field(default_factory=dict)
    #: How many nodes are out now, by the scheduler's own words; None where the bound pods are not known.
    counts: Mapping[str, int] | None = None
    lost: bool = False

    @property
    def can_ever_fit(self) -> bool:
        """Whether some node takes the pod and is large enough."""
        return self.able > 0

    @property
    def obstacle(self) -> str:
        """The category that keeps the nodes meant for the pod from taking it; "" where none is meant or barred."""
        found = self.meant or self.barred
        return max(found, key=lambda name: (found[name], name)) if found and not self.able else ""


class NodeJudge:
    """Asks the nodes; equal pods are asked about once."""

    def __init__(self, state: ClusterState, pending: list[K8sObject]) -> None:
        self._cluster: Cluster | None = None
        self._opinions: dict[int, NodeOpinion] = {}
        self._group_of: dict[str, Group] = {}
        self._bound_known = state.cluster_pods is not None
        if state.nodes is None or not pending:
            return
        try:
            self._cluster = build_cluster(_source(state))
            for group in group_pods(pending, self._cluster):
                for member in group.members:
                    self._group_of[str(meta(pending[member]).get("uid") or id(pending[member]))] = group
        except InputError:
            # A node or pod with a quantity that is none: then the nodes are not asked at all.
            self._cluster = None

    def opinion(self, pod: K8sObject) -> NodeOpinion | None:
        """Return the nodes' opinion on ``pod``; None where the nodes could not be read."""
        group = self._group_of.get(str(meta(pod).get("uid") or id(pod)))
        if self._cluster is None or group is None:
            return None
        if group.index not in self._opinions:
            self._opinions[group.index] = self._ask(self._cluster, group)
        return self._opinions[group.index]

    def _ask(self, cluster: Cluster, group: Group) -> NodeOpinion:
        barred: Counter[str] = Counter()
        meant: Counter[str] = Counter()
        subjects: dict[str, list[str]] = {}
        eligible: list[tuple[int, NodeView]] = []
        for position, node in enumerate(cluster.nodes):
            why = node_reason(group, node, group.rules.only)
            holds = all(node.allocatable.get(name, 0) >= value for name, value in group.requests.items())
            if not why:
                eligible.append((position, node))
            elif holds:
                category = classify(why).category
                barred[category] += 1
                if category != "node_affinity" and matches_node(group, node):
                    meant[category] += 1
                subjects.setdefault(category, []).append(_subject(category, group, node))
        able = [
            (position, node)
            for position, node in eligible
            if all(node.allocatable.get(name, 0) >= value for name, value in group.requests.items())
        ]
        most = {
            name: max((node.allocatable.get(name, 0) for _position, node in eligible), default=0)
            for name in group.requests
        }
        free, counts = self._free(cluster, group, eligible)
        return NodeOpinion(
            nodes=len(cluster.nodes),
            eligible=len(eligible),
            able=len(able),
            barred=dict(barred),
            meant=dict(meant),
            subjects={category: tuple(sorted(set(found))) for category, found in subjects.items()},
            lacking={}
            if able
            else {name: (value, most[name]) for name, value in group.requests.items() if most[name] < value},
            requests=group.requests,
            most_free=free,
            counts=counts,
            lost=bool(cluster.nodes) and all(_lost(node) for node in cluster.nodes),
        )

    def _free(
        self, cluster: Cluster, group: Group, eligible: list[tuple[int, NodeView]]
    ) -> tuple[dict[str, int], dict[str, int] | None]:
        if not self._bound_known:
            return {}, None
        held: dict[int, Counter[str]] = {position: Counter() for position, _node in eligible}
        for bound in cluster.bound:
            if bound.node in held:
                held[bound.node].update(bound.requests)
        free = {
            name: max(
                (max(0, node.allocatable.get(name, 0) - held[position][name]) for position, node in eligible), default=0
            )
            for name in group.requests
            if name != "pods"
        }
        placed = State(cluster, [group])
        return free, placed.reason_counts(0)


def disagreement(message: SchedulerMessage, opinion: NodeOpinion | None) -> str:
    """Return how the scheduler's text and the nodes differ; "" where they agree or cannot be compared."""
    primary = message.primary
    if opinion is None or primary is None or primary.category not in COMPARED or message.scheduler != "kube-scheduler":
        return ""
    if message.nodes is not None and message.nodes != opinion.nodes:
        return f"the scheduler looked at {message.nodes} nodes, {opinion.nodes} are there now"
    if primary.category != "insufficient_resource" and opinion.able:
        return (
            f"the scheduler names {primary.category}, but {opinion.able} nodes would take the pod and are large enough"
        )
    if opinion.counts is None:
        return ""
    said = Counter({(one.category, one.resource): one.nodes for one in message.blockers if one.category in COMPARED})
    found: Counter[tuple[str, str]] = Counter()
    for text, count in opinion.counts.items():
        one = classify(text, count)
        if one.category in COMPARED:
            found[one.category, one.resource] += count
    if set(said) == set(found):
        return ""
    return f"the scheduler says {_listed(said)}; by the nodes as read now it is {_listed(found) or 'nothing'}"


def _listed(counts: Counter[tuple[str, str]]) -> str:
    return ", ".join(
        f"{count} {category}{' ' + resource if resource else ''}"
        for (category, resource), count in sorted(counts.items())
    )


def _source(state: ClusterState) -> dict[str, object]:
    source: dict[str, object] = {
        kind: list(state.of(kind))
        for kind in ("persistentvolumeclaims", "persistentvolumes", "storageclasses", "namespaces")
    }
    source["nodes"] = list(state.nodes or ())
    source["pods"] = list(state.cluster_pods or ())
    return source


def _subject(category: str, group: Group, node: NodeView) -> str:
    if category == "taint":
        taint = untolerated(node.taints, group.rules.tolerations) or {}
        return f"{taint.get('key', '')}={taint.get('value') or ''}:{taint.get('effect', '')}"
    if category == "node_affinity":
        missing = [
            f"{key}={value}" for key, value in sorted(group.rules.selector.items()) if node.labels.get(key) != value
        ]
        return ", ".join(missing) or "required node affinity"
    return node.name


def _lost(node: NodeView) -> bool:
    return any(taint.get("key") in LOST_TAINTS for taint in node.taints) or is_lost(node.source)


def is_lost(node: K8sObject) -> bool:
    """Return whether a node's kubelet has stopped reporting (condition Ready is Unknown)."""
    return condition(node, "Ready").get("status") == "Unknown"


def architecture(node: K8sObject) -> str:
    """Return a node's architecture."""
    return str(labels_of(node).get("kubernetes.io/arch") or "")
