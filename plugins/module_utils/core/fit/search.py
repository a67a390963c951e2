# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finding a placement of all pods, or proving that there is none.

First counting arguments, then greedy orders, then an exhaustive search over states. The search is exact: a state is
who stands where, up to nodes that nothing tells apart; each state is expanded once. Only pods that can open or close
nodes for others by coming earlier (topology spread, required affinity, volumes bound late) are tried in every order;
for the rest the order does not matter and one is enough.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .bounds import Shortage, shortage
from .cluster import Cluster, Group
from .state import Options, State

Expired = Callable[[], bool]
#: States between two looks at the clock.
_TICK = 16
#: The states remembered take about a kilobyte each.
MOST_STATES = 250_000


@dataclass(frozen=True)
class Found:
    """What the search ended with. ``placed`` is True, False (there is none) or None (time was up).

    ``steps`` are (group, node) in an order that works.
    """

    placed: bool | None
    steps: tuple[tuple[int, int], ...] = ()
    proof: str = ""
    shortage: Shortage | None = None
    states: int = 0


class Signatures:
    """Tells which nodes are alike for the search: same properties, same room, same standing pods that matter."""

    def __init__(self, state: State) -> None:
        self.state = state
        groups = state.groups
        self.matters = [self._interacts(index) for index in range(len(groups))]
        ids: dict[object, int] = {}
        keys = self._keys()
        sizes = [Counter(node.labels.get(key) for node in state.nodes) for key in keys]
        alone = any(group.volumes.waiting for group in groups)
        self.static: list[int] = []
        for position in range(len(state.nodes)):
            identity = (
                tuple(any(state.static[index][position]) for index in range(len(groups))),
                tuple(state.free[position]),
                frozenset(state.ports[position]),
                tuple(self._domain(position, key, count) for key, count in zip(keys, sizes, strict=True)),
                tuple(count.domains[position] is None for counts in state.spreads for count in counts),
                position if alone else 0,
                state.attached.identity(position),
            )
            self.static.append(ids.setdefault(identity, len(ids)))

    def _interacts(self, index: int) -> bool:
        group, state = self.state.groups[index], self.state
        watched = any(state.effects(index, node) != ([], []) for node in range(min(1, len(state.nodes))))
        shared = group.volumes.once or state.attached.wanted[index]
        return bool(watched or state.options.copied_labels or group.ports or group.packs or shared)

    def _keys(self) -> list[str]:
        state = self.state
        keys = {gang.topology_key for group in state.groups for gang in group.packs}
        for index, group in enumerate(state.groups):
            keys |= {term.key for term in (*group.affinity.near, *group.affinity.apart)}
            keys |= {count.rule.key for count in state.spreads[index]}
            keys |= set(state.existing_keys[index])
        if state.options.copied_labels:
            keys |= {"topology.kubernetes.io/zone", "topology.kubernetes.io/region"}
        return sorted(keys)

    def _domain(self, position: int, key: str, sizes: Counter[str | None]) -> object:
        """Return a shared domain by its name; of a domain that is one node only what stands in it counts."""
        state = self.state
        value = state.nodes[position].labels.get(key)
        if value is None or sizes[value] > 1 or any(group.packs for group in state.groups):
            return value
        pair = (key, value)
        counters = (*state.near, *state.apart, *state.existing)
        return (
            tuple(pairs.get(pair, 0) for pairs in counters),
            tuple(count.counts.get(value) for counts in state.spreads for count in counts if count.rule.key == key),
        )

    def of(self, node: int) -> tuple[object, ...]:
        """Return what the node is now."""
        matters = self.matters
        here = self.state.placed[node].items()
        standing = tuple(sorted((group, count) for group, count in here if count and matters[group])) if here else ()
        return (self.static[node], tuple(self.state.free[node]), standing)


class Search:
    """One exhaustive search over a state; the state is left with the placement when one is found."""

    def __init__(self, state: State, expired: Expired) -> None:
        self.state = state
        self.expired = expired
        self.groups = range(len(state.groups))
        self.remaining = [group.count for group in state.groups]
        self.signatures = Signatures(state)
        self.usable = [
            [node for node in range(len(state.nodes)) if not any(state.static[index][node])] for index in self.groups
        ]
        self.touched = sorted({node for nodes in self.usable for node in nodes})
        self.sensitive = [index for index in self.groups if self._sensitive(index)]
        self.fixed = sorted((index for index in self.groups if index not in self.sensitive), key=self._ease)
        self.seen: set[object] = set()
        self.states = 0

    def _sensitive(self, index: int) -> bool:
        """Return whether it can matter when the group's pods come."""
        state, group = self.state, self.state.groups[index]
        if group.volumes.waiting:
            return True
        if state.options.relaxed:
            return False
        if state.spreads[index] or group.affinity.near:
            return True
        near = {id(pairs) for position, pairs in enumerate(state.near) if state.groups[position].affinity.near}
        for node in range(len(state.nodes)) if state.options.copied_labels else range(min(1, len(state.nodes))):
            effects, spreads = state.effects(index, node)
            if spreads or any(id(pairs) in near for pairs, _key in effects):
                return True
        return False

    def _ease(self, index: int) -> tuple[int, ...]:
        requests = self.state.groups[index].requests
        largest = max((value for name, value in requests.items() if "/" in name), default=0)
        nodes = len(self.usable[index])
        return (0 if largest else nodes, -largest, nodes, -self.remaining[index])

    def run(self) -> bool | None:
        """Return True with the placement in the state's log, False where there is none, None when time is up."""
        stack: list[Iterator[tuple[int, int]]] = [self._choices()]
        while stack:
            if not any(self.remaining):
                return True
            if (self.states % _TICK == 0 and self.expired()) or self.states > MOST_STATES:
                return None
            choice = next(stack[-1], None)
            if choice is None:
                stack.pop()
                if stack:
                    self.remaining[self.state.take_back().group] += 1
                continue
            group, node = choice
            self.state.place(group, node)
            self.remaining[group] -= 1
            stack.append(self._choices())
        return False

    def _choices(self) -> Iterator[tuple[int, int]]:
        """Yield the placements to try from the state as it is; none where it was seen or a count rules it out."""
        key = self._key()
        if key in self.seen:
            return iter(())
        self.seen.add(key)
        self.states += 1
        if not any(self.remaining):
            return iter(())
        if shortage(self.state, self.remaining) is not None:
            return iter(())
        turn = [index for index in self.sensitive if self.remaining[index]]
        if not turn:
            turn = [next(index for index in self.fixed if self.remaining[index])]
        return iter(self._ranked(turn))

    def _ranked(self, turn: Sequence[int]) -> list[tuple[int, int]]:
        found: list[tuple[tuple[int, ...], int, int]] = []
        for group in turn:
            others = others_of(group, self.remaining)
            tried: set[object] = set()
            for node in self.usable[group]:
                signature = self.signatures.of(node)
                if signature in tried or not self.state.fits(group, node):
                    continue
                tried.add(signature)
                found.append((rank(self.state, group, node, others), group, node))
        return [(group, node) for _rank, group, node in sorted(found)]

    def _key(self) -> object:
        of, state = self.signatures.of, self.state
        nodes = frozenset(Counter(of(node) for node in self.touched).items())
        return (tuple(self.remaining), nodes, frozenset(state.claimed.items()), frozenset(state.selected.items()))


def others_of(group: int, remaining: Sequence[int]) -> int:
    """Return the other groups that still wait, as bits."""
    return sum(1 << index for index, count in enumerate(remaining) if count and index != group)


def rank(state: State, group: int, node: int, others: int) -> tuple[int, ...]:
    """Order nodes for a pod: first those that fewest ``others`` could use, then the tightest."""
    wanted_by = (state.open_groups[node] & others).bit_count()
    free = state.free[node]
    left = tuple(free[column] - value for column, value in reversed(state.asked[group]))
    return (wanted_by, *left)


def explore(cluster: Cluster, groups: Sequence[Group], options: Options, expired: Expired) -> Found:
    """Run one exhaustive search from an empty state."""
    state = State(cluster, groups, options)
    search = Search(state, expired)
    placed = search.run()
    steps = tuple((one.group, one.node) for one in state.log) if placed else ()
    return Found(placed, steps, states=search.states)
