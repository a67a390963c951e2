# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From quick to exact: one answer to whether all pods can be placed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .bounds import Names, Shortage, shortage
from .cluster import Cluster, Group
from .greedy import Greedy, orders
from .search import Expired, Found, explore
from .state import Options, State


def solve(cluster: Cluster, groups: Sequence[Group], options: Options, expired: Expired, names: Names) -> Found:
    """Return a placement of all pods of ``groups``, a proof that there is none, or neither when time is up."""
    state = State(cluster, groups, options)
    found = _alone(state, names) or _counted(state, names)
    if found:
        return found
    for order in orders(state):
        attempt = Greedy(state)
        if attempt.run(order):
            return Found(True, tuple((one.group, one.node) for one in state.log))
        while state.log:
            state.take_back()
        if expired():
            return Found(None)
    return _exhaustive(cluster, groups, options, expired, state, names)


def _alone(state: State, names: Names) -> Found | None:
    """Return a proof where some group has no node even by itself."""
    for index, group in enumerate(state.groups):
        failure = state.cluster_failure(index)
        if failure:
            return Found(False, proof=f"{names([index])}: {failure}", shortage=Shortage(failure, (index,)))
        if group.count and not any(state.open_to(index, node) for node in range(len(state.nodes))):
            counts = state.reason_counts(index)
            text = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items(), key=lambda one: -one[1]))
            text = f"{names([index])} fits on none of the {len(state.nodes)} nodes even alone: {text or 'no nodes'}"
            return Found(False, proof=text, shortage=Shortage(text, (index,)))
    return None


def _counted(state: State, names: Names) -> Found | None:
    found = shortage(state, [group.count for group in state.groups], names)
    return Found(False, proof=found.text, shortage=found) if found else None


def _exhaustive(
    cluster: Cluster, groups: Sequence[Group], options: Options, expired: Expired, state: State, names: Names
) -> Found:
    pods = sum(group.count for group in groups)
    nodes = sum(1 for node in range(len(state.nodes)) if any(not any(static[node]) for static in state.static))
    tried = 0
    ordered = any(state.spreads) or any(group.affinity.near for group in groups)
    if ordered:
        # What does not fit without the rules that order matters to does not fit with them.
        loose = explore(cluster, groups, replace(options, relaxed=True), expired)
        tried += loose.states
        if loose.placed is False:
            return _proved(tried, pods, nodes, "even without topology spread and required pod affinity")
    exact = explore(cluster, groups, options, expired)
    tried += exact.states
    if exact.placed is False:
        return _proved(tried, pods, nodes, "in every order that matters" if ordered else "")
    return Found(exact.placed, exact.steps, states=tried)


def _proved(states: int, pods: int, nodes: int, how: str) -> Found:
    text = f"every way to place the {pods} pods on the {nodes} nodes open to them was tried"
    return Found(False, proof=f"{text}{', ' + how if how else ''} ({states} states); none places all", states=states)
