# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters that look at a pod and a node alone: what no other pod changes."""

from __future__ import annotations

from collections.abc import Sequence

from . import reasons
from .cluster import Cluster, Group, NodeView, Static
from .model import Spread
from .selectors import UNSCHEDULABLE_TAINT, any_term, tolerates, untolerated


def hard_of(group: Group) -> list[Spread]:
    """Return the constraints that filter."""
    return [rule for rule in group.spreads if rule.hard]


def node_keys(group: Group) -> list[str]:
    """Return the node labels that the pod looks at."""
    keys = set(group.rules.selector)
    for term in group.rules.terms or ():
        keys |= {requirement.key for requirement in term.labels}
    return sorted(keys)


def matches_node(group: Group, node: NodeView) -> bool:
    """Return whether the node meets the pod's node selector and required node affinity."""
    rules = group.rules
    if any(node.labels.get(key) != value for key, value in rules.selector.items()):
        return False
    return rules.terms is None or any_term(rules.terms, node.labels, node.name)


def node_reason(group: Group, node: NodeView, only: frozenset[str] | None) -> str:
    """Return why the node is out by its own properties, or nothing."""
    rules = group.rules
    if only is not None and node.name not in only:
        return reasons.NOT_NAMED
    if node.unschedulable and not tolerates(rules.tolerations, UNSCHEDULABLE_TAINT):
        return reasons.UNSCHEDULABLE
    if rules.name and rules.name != node.name:
        return reasons.NODE_NAME
    if node.taints and untolerated(node.taints, rules.tolerations) is not None:
        return reasons.TAINT
    return "" if matches_node(group, node) else reasons.NODE_AFFINITY


def static_reasons(group: Group, cluster: Cluster) -> Sequence[Static]:
    """Return per node why it is out whatever is placed: the reason before and those after resources.

    Groups that look at the same share one answer for as long as the cluster is looked at.
    """
    identity = repr((group.rules, group.volumes.bound))
    if identity not in cluster.static:
        cluster.static[identity] = _static(group, cluster)
    return cluster.static[identity]


def _static(group: Group, cluster: Cluster) -> list[Static]:
    only = group.rules.only
    keys = node_keys(group)
    placed = any(map(cluster.storage.is_placed, group.volumes.bound))
    memo: dict[object, Static] = {}
    found = []
    for node in cluster.nodes:
        # Nodes alike in everything the group looks at share one answer.
        labels = node.labels
        alike = (
            tuple(labels.get(key) for key in keys),
            node.name if group.rules.name or group.rules.terms else "",
            id(node.taints) if node.taints else 0,
            node.unschedulable,
            id(node) if placed else 0,
        )
        answer = memo.get(alike)
        if answer is None:
            after = cluster.storage.node_reasons(group.volumes, labels) if placed else ()
            answer = memo[alike] = (node_reason(group, node, only), after)
        found.append(answer)
    return found
