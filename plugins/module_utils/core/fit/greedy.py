# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Placing pods without ever going back: fast, and on large clusters nearly always enough.

A unit is a gang that must share a topology domain, or one group. Units come largest first; a gang tries the domains
that just hold it before the roomy ones, and is taken back whole where a domain proves too small.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from .search import others_of, rank
from .state import State

Orders = Iterable[Sequence[int]]


class Greedy:
    """One attempt. After :meth:`run` the state's log holds what was placed and ``remaining`` what was not."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.remaining = [group.count for group in state.groups]
        self.everywhere = list(range(len(state.nodes)))

    def run(self, order: Sequence[int]) -> bool:
        """Place the groups in ``order``; pods that wait for others get another chance once those stand."""
        before = -1
        while any(self.remaining) and len(self.state.log) != before:
            before = len(self.state.log)
            self._units([index for index in order if self.remaining[index]], self.everywhere, frozenset())
        return not any(self.remaining)

    def _units(self, groups: Sequence[int], nodes: Sequence[int], settled: frozenset[str]) -> bool:
        """Place groups on ``nodes``; gangs in ``settled`` have their domain already."""
        done = True
        left = list(groups)
        while left:
            gang = self._outer(left, settled)
            if gang is None:
                for group in left:
                    done = self._group(group, nodes) and done
                return done
            members = [group for group in left if any(one.name == gang[0] for one in self.state.groups[group].packs)]
            done = self._gang(members, nodes, gang, settled) and done
            left = [group for group in left if group not in members]
        return done

    def _outer(self, groups: Sequence[int], settled: frozenset[str]) -> tuple[str, str] | None:
        """Return the unsettled gang (name, node label) of the first group that has most members."""
        first = next((group for group in groups if self._open_packs(group, settled)), None)
        if first is None:
            return None
        sizes = Counter(gang.name for group in groups for gang in self._open_packs(group, settled))
        best = max(self._open_packs(first, settled), key=lambda gang: sizes[gang.name])
        return best.name, best.topology_key

    def _open_packs(self, group: int, settled: frozenset[str]) -> list:  # type: ignore[type-arg]  # of Gang
        return [gang for gang in self.state.groups[group].packs if gang.name not in settled]

    def _gang(self, members: list[int], nodes: Sequence[int], gang: tuple[str, str], settled: frozenset[str]) -> bool:
        name, key = gang
        domains: dict[str, list[int]] = defaultdict(list)
        for node in nodes:
            value = self.state.nodes[node].labels.get(key)
            if value is not None:
                domains[value].append(node)
        standing = self.state.packs[name]
        needed = [(group, self.remaining[group]) for group in members]
        fitting = []
        for value, inside in domains.items():
            if standing and value not in standing:
                continue
            room = [sum(self.state.copies(group, node) for node in inside) for group, _count in needed]
            if all(have >= count for have, (_group, count) in zip(room, needed, strict=True)):
                fitting.append((sum(room), value))
        for _room, value in sorted(fitting):
            mark = len(self.state.log)
            if self._units(members, domains[value], settled | {name}):
                return True
            self._back_to(mark)
        return False

    def _back_to(self, mark: int) -> None:
        while len(self.state.log) > mark:
            self.remaining[self.state.take_back().group] += 1

    def _group(self, group: int, nodes: Sequence[int]) -> bool:
        if self.state.spreads[group]:
            self._spread(group, nodes)
        elif self.state.groups[group].affinity.near and not self.state.options.relaxed:
            self._near(group, nodes)
        else:
            self._fill(group, self._candidates(group, nodes))
        return not self.remaining[group]

    def _candidates(self, group: int, nodes: Sequence[int]) -> list[int]:
        state = self.state
        static = state.static[group]
        asked = state.asked[group]
        # Most nodes of a large cluster are full: they fall out here before anything dear is asked.
        roomy = [
            node
            for node in nodes
            if not static[node][0] and all(value <= state.free[node][column] for column, value in asked)
        ]
        others = others_of(group, self.remaining)
        return sorted(roomy, key=lambda node: rank(state, group, node, others))

    def _fill(self, group: int, candidates: Sequence[int]) -> None:
        state = self.state
        for node in candidates:
            while self.remaining[group] and state.fits(group, node):
                state.place(group, node)
                self.remaining[group] -= 1
            if not self.remaining[group]:
                return

    def _near(self, group: int, nodes: Sequence[int]) -> None:
        """Let the first pod choose the smallest domain that holds all of them, else the largest."""
        candidates = self._candidates(group, nodes)
        key = self.state.groups[group].affinity.near[0].key
        if not self.state.near[group]:
            room: Counter[str] = Counter()
            for node in candidates:
                value = self.state.nodes[node].labels.get(key)
                if value is not None:
                    room[value] += self.state.copies(group, node)
            enough = [(have, value) for value, have in room.items() if have >= self.remaining[group]]
            chosen = min(enough)[1] if enough else (max(room, key=lambda value: room[value]) if room else None)
            candidates.sort(key=lambda node: self.state.nodes[node].labels.get(key) != chosen)
        self._fill(group, candidates)

    def _spread(self, group: int, nodes: Sequence[int]) -> None:
        """Go round the domains of the first constraint, emptiest first."""
        state = self.state
        count = state.spreads[group][0]
        queues: dict[str, list[int]] = defaultdict(list)
        for node in self._candidates(group, nodes):
            value = state.nodes[node].labels.get(count.rule.key)
            if value is not None:
                queues[value].append(node)
        heap: list[tuple[int, int, str]] = []
        for order, (value, queue) in enumerate(queues.items()):
            queue.reverse()
            heapq.heappush(heap, (count.counts.get(value, 0), order, value))
        while heap and self.remaining[group]:
            _have, order, value = heapq.heappop(heap)
            queue = queues[value]
            while queue and not state.fits(group, queue[-1]):
                queue.pop()
            if queue:
                state.place(group, queue[-1])
                self.remaining[group] -= 1
                heapq.heappush(heap, (count.counts.get(value, 0), order, value))


def orders(state: State) -> list[list[int]]:
    """Return orders of the groups worth trying: hardest first in a few senses, then as given."""
    groups = state.groups
    numbers = list(range(len(groups)))

    def largest(index: int) -> int:
        return max((value for name, value in groups[index].requests.items() if "/" in name), default=0)

    open_nodes = [sum(1 for entry in static if not any(entry)) for static in state.static]
    needy = [bool(state.spreads[index] or groups[index].affinity.near) for index in numbers]
    tried = [
        sorted(numbers, key=lambda index: (-largest(index), open_nodes[index])),
        sorted(numbers, key=lambda index: (open_nodes[index], -largest(index))),
        sorted(numbers, key=lambda index: (not needy[index], open_nodes[index], -largest(index))),
        sorted(numbers, key=lambda index: (needy[index], open_nodes[index], -largest(index))),
        numbers,
    ]
    return [list(order) for order in dict.fromkeys(map(tuple, tried))]
