# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges pods by their node: one that does not report, is not ready, or does not exist."""

from __future__ import annotations

from collections.abc import Sequence

from ..demand import K8sObject
from .kubelet import quote
from .state import ClusterState, Event, condition, created, name_of, seconds
from .verdict import Verdict

#: How long a node may come later than a pod that names it.
NO_SUCH_NODE = 10.0


def on_lost_node(node: K8sObject) -> Verdict:
    """Return the verdict on a pod of a node that does not report."""
    ready = condition(node, "Ready")
    since, told = ready.get("lastTransitionTime", ""), ready.get("message", "")
    line = f"node {name_of(node)}: Ready is {ready.get('status')} since {since}: {told}"
    return Verdict(
        "node_lost",
        f"Node {name_of(node)} does not report any more",
        (quote(line),),
        name_of(node),
        {"node": name_of(node)},
        since=seconds(ready.get("lastTransitionTime")),
    )


def absent_node(pod: K8sObject, state: ClusterState) -> Verdict | None:
    """A pod may name a node that does not exist: no kubelet will ever take it up."""
    node = str((pod.get("spec") or {}).get("nodeName") or "")
    if state.nodes is None or node in state.node_of or state.now - created(pod) < NO_SUCH_NODE:
        return None
    line = f"pod {name_of(pod)}: nodeName {node}, there is no such node"
    return Verdict("node_lost", f"Node {node} does not exist", (line,), node, {"node": node})


def node_away(pod: K8sObject, events: Sequence[Event], state: ClusterState) -> Verdict | None:
    """The node controller calls every pod of a node unready whose kubelet calls itself unready, or is silent."""
    node = str((pod.get("spec") or {}).get("nodeName") or "")
    ready = condition(state.node_of.get(node, {}), "Ready")
    told = next((event for event in reversed(events) if event.reason == "NodeNotReady"), None)
    if ready:
        if ready.get("status") == "True":
            return None
        line = f"node {node}: Ready is {ready.get('status')}: {ready.get('reason', '')}: {ready.get('message', '')}"
    elif told is None:
        return None
    else:
        line = f"{told.reason}: {told.message}"
    return Verdict("node_lost", f"Node {node} is not ready", (quote(line),), node, {"node": node})
