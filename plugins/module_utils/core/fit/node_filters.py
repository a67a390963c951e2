# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters that look at a pod and a node alone: what no other pod changes."""

from __future__ import annotations

from . import reasons
from .cluster import Group, NodeView
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
