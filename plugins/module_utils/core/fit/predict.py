# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the default scheduler would do now: pods in their order, its filters, its scores, ties at random.

Not a promise: between the snapshot and the pods' creation the cluster changes, and ties are drawn. It shows whether a
placement that exists is likely to be missed (fragmentation).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from .cluster import Cluster, Group
from .model import ZONE
from .scores import Scores
from .state import Options, State

DEFAULT_SCHEDULER = "default-scheduler"
#: numFeasibleNodesToFind: below this all nodes are looked at.
_ALL_NODES = 100
_LEAST_PERCENT = 5


@dataclass(frozen=True)
class Pending:
    """Pods of a group that found no node, and the counts at that moment."""

    group: int
    members: tuple[int, ...]
    reasons: dict[str, int]
    failure: str = ""


@dataclass(frozen=True)
class Run:
    """One simulated run: (member, node) in binding order, and what stayed pending."""

    placed: tuple[tuple[int, int], ...]
    pending: tuple[Pending, ...]

    @property
    def left(self) -> tuple[int, ...]:
        """The members left pending."""
        return tuple(sorted(member for one in self.pending for member in one.members))


@dataclass(frozen=True)
class Prediction:
    """All runs; ``usual`` is the run whose outcome came most often."""

    runs: int
    all_placed: int
    usual: Run | None
    complete: bool
    gated: tuple[int, ...] = ()
    may_preempt: tuple[int, ...] = ()


def gated(group: Group) -> bool:
    """Return whether the pods wait for scheduling gates."""
    return bool((group.source.get("spec") or {}).get("schedulingGates"))


@dataclass
class _Draw:
    """A small generator of repeatable draws; the scheduler draws among equal scores."""

    value: int
    state: int = field(init=False)

    def __post_init__(self) -> None:
        self.state = self.value * 2654435761 % 2**32 or 1

    def below(self, limit: int) -> int:
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return (self.state >> 8) % limit


class Simulation:
    """Runs the scheduler over one state, which is empty again after each run."""

    def __init__(
        self, cluster: Cluster, groups: Sequence[Group], options: Options, expired: Callable[[], bool]
    ) -> None:
        self.state = State(cluster, groups, options)
        self.scores = Scores(self.state)
        self.groups = groups
        self.expired = expired
        self.order = _zone_order(self.state)
        self.start = 0
        self.group_of = {member: group.index for group in groups for member in group.members}
        # Room and the node's own score only change where a pod is placed.
        self.cached: list[dict[int, int]] = [{} for _unused in groups]
        self.steady = [self._steady(index) for index in range(len(groups))]

    def _steady(self, index: int) -> bool:
        state, group = self.state, self.groups[index]
        volumes = group.volumes
        return not (
            state.spreads[index]
            or group.affinity.near
            or group.affinity.apart
            or state.existing_keys[index]
            or volumes.failure
            or volumes.waiting
            or volumes.once
            or group.packs
        )

    def run(self, members: Sequence[int], seed: int) -> Run | None:
        """Simulate one run; None when time is up."""
        draw = _Draw(seed)
        self.start = 0
        placed: list[tuple[int, int]] = []
        waiting = [member for member in members if not gated(self.groups[self.group_of[member]])]
        reasons: dict[int, Pending] = {}
        progress = True
        while waiting and progress:
            progress, refused = False, []
            hopeless: set[int] = set()
            for member in waiting:
                group = self.group_of[member]
                node = None if group in hopeless else self._choose(group, draw)
                if node is None:
                    if group not in hopeless:
                        reasons[group] = Pending(
                            group, (), self.state.reason_counts(group), self.state.cluster_failure(group)
                        )
                        hopeless.add(group)
                    refused.append(member)
                    continue
                self._place(group, node)
                placed.append((member, node))
                progress = True
                hopeless = (
                    set() if self.state.effects(group, node)[0] or self.state.effects(group, node)[1] else hopeless
                )
                if self.expired():
                    self._reset()
                    return None
            waiting = refused
        left = Counter(self.group_of[member] for member in waiting)
        pending = tuple(
            Pending(
                group,
                tuple(member for member in waiting if self.group_of[member] == group),
                reasons[group].reasons,
                reasons[group].failure,
            )
            for group in left
        )
        self._reset()
        return Run(tuple(placed), pending)

    def _place(self, group: int, node: int) -> None:
        self.state.place(group, node)
        self.scores.placed(group, node)
        for cache in self.cached:
            cache.pop(node, None)

    def _reset(self) -> None:
        while self.state.log:
            last = self.state.take_back()
            self.scores.taken_back(last.group, last.node)
            for cache in self.cached:
                cache.pop(last.node, None)

    def _choose(self, group: int, draw: _Draw) -> int | None:
        if self.state.cluster_failure(group):
            return None
        nodes, own = self._feasible(group)
        if len(nodes) < 2:
            return nodes[0] if nodes else None
        totals = self.scores.total(group, nodes, own)
        best = max(totals)
        ties = [node for node, total in zip(nodes, totals, strict=True) if total == best]
        return ties[draw.below(len(ties))]

    def _feasible(self, group: int) -> tuple[list[int], list[int]]:
        """Return passing nodes and their own scores, as many as the scheduler looks for, from where it stopped."""
        order, count = self.order, len(self.order)
        wanted = nodes_to_find(count)
        cache, alone = self.cached[group], self.steady[group]
        passes, rate = self.state.passes_others, self._rate
        nodes: list[int] = []
        scores: list[int] = []
        seen = 0
        for node in chain(order[self.start :], order[: self.start]):
            seen += 1
            own = cache.get(node)
            if own is None:
                own = cache[node] = rate(group, node)
            if own >= 0 and (alone or passes(group, node)):
                nodes.append(node)
                scores.append(own)
                if len(nodes) >= wanted:
                    break
        self.start = (self.start + seen) % count if count else 0
        return nodes, scores

    def _rate(self, group: int, node: int) -> int:
        return self.scores.own(group, node) if self.state.has_room(group, node) else -1


def nodes_to_find(count: int) -> int:
    """Return after how many feasible nodes the scheduler stops looking."""
    if count < _ALL_NODES:
        return count
    percent = max(50 - count // 125, _LEAST_PERCENT)
    return max(count * percent // 100, _ALL_NODES)


def _zone_order(state: State) -> list[int]:
    """Return the nodes in turn from each zone, as the scheduler's snapshot lists them."""
    zones: dict[str, list[int]] = {}
    for position, node in enumerate(state.nodes):
        zones.setdefault(node.labels.get(ZONE, ""), []).append(position)
    queues = list(zones.values())
    longest = max(map(len, queues), default=0)
    return [queue[turn] for turn in range(longest) for queue in queues if turn < len(queue)]


def predict(
    cluster: Cluster,
    groups: Sequence[Group],
    options: Options,
    expired: Callable[[], bool],
    runs: int = 1,
) -> Prediction:
    """Simulate the scheduler ``runs`` times over the groups' members in the order in which they are created."""
    members = sorted(member for group in groups for member in group.members)
    simulation = Simulation(cluster, groups, options, expired)
    done: list[Run] = []
    for seed in range(1, runs + 1):
        one = simulation.run(members, seed)
        if one is None:
            break
        done.append(one)
    waiting = tuple(member for group in groups if gated(group) for member in group.members)
    if not done:
        return Prediction(0, 0, None, False, waiting)
    outcomes = Counter(_outcome(one) for one in done)
    common = outcomes.most_common(1)[0][0]
    usual = next(one for one in done if _outcome(one) == common)
    lowest = min((pod.priority for pod in cluster.bound), default=None)
    by_member = {member: group for group in groups for member in group.members}
    may = tuple(
        member
        for member in usual.left
        if by_member[member].preempts and _someone_below(by_member[member], groups, usual, lowest)
    )
    return Prediction(len(done), sum(1 for one in done if not one.pending), usual, True, waiting, may)


def _outcome(run: Run) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((one.group, len(one.members)) for one in run.pending))


def _someone_below(group: Group, groups: Sequence[Group], run: Run, lowest: int | None) -> bool:
    if lowest is not None and lowest < group.priority:
        return True
    placed = {member for member, _node in run.placed}
    return any(other.priority < group.priority and placed & set(other.members) for other in groups)
