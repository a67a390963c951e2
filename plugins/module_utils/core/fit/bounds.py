# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reasons, in words, why pods cannot all be placed whatever the order: counting arguments that need no search.

Each bound holds for any order and any choice, because it only counts what a node could take at most. They prove most
cases that do not fit at once, also on thousands of nodes, and cut the search short elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..podresources import written
from .model import PODS
from .state import State

#: Above this many units the exact sum of sizes is not worked out; the plain amount is a bound as well.
_SMALL = 64


@dataclass(frozen=True)
class Shortage:
    """A proof that the remaining pods cannot all be placed."""

    text: str
    groups: tuple[int, ...]
    resource: str = ""


Names = Callable[[Sequence[int]], str]


def shortage(state: State, remaining: Sequence[int], names: Names = lambda groups: "") -> Shortage | None:
    """Return the first counting argument against placing ``remaining`` pods of each group, or None.

    ``names`` turns groups into words for the text; without it the text is of no use (inside the search).
    """
    active = [index for index, count in enumerate(remaining) if count]
    full = _volumes(state, active, names)
    if full:
        return full
    copies = {index: [state.copies(index, node) for node in range(len(state.nodes))] for index in active}
    for index in active:
        found = (
            _places(state, index, remaining[index], copies[index], names)
            or _spread_places(state, index, remaining, copies, names)
            or _near_places(state, index, remaining, copies[index], names)
        )
        if found:
            return found
    masks = {index: _mask(copies[index]) for index in active}
    for mask in sorted(set(masks.values()), key=int.bit_count):
        inside = [index for index in active if masks[index] | mask == mask]
        found = _resources(state, inside, remaining, mask, masks, names)
        if found:
            return found
    return None


def _volumes(state: State, active: Sequence[int], names: Names) -> Shortage | None:
    """Volumes that no node has attached yet: each of them takes one of the places that some node still has."""
    attached = state.attached
    by_driver: dict[str, list[int]] = {}
    for index in active:
        for driver in {volume.driver for volume in attached.wanted[index]}:
            by_driver.setdefault(driver, []).append(index)
    for driver, groups in by_driver.items():
        new = {one for index in groups for one in attached.wanted[index] if one.driver == driver}
        new = {one for one in new if not attached.anywhere(one)}
        usable = [node for node in range(len(state.nodes)) if any(not any(state.static[i][node]) for i in groups)]
        if any(driver not in attached.limits.most.get(node, {}) for node in usable):
            continue
        room = sum(max(attached.room(node, driver), 0) for node in usable)
        if room < len(new):
            text = (
                f"{names(groups)} mount {len(new)} volumes of {driver} that are attached nowhere; the {len(usable)}"
                f" nodes open to them take {room} more"
            )
            return Shortage(text, tuple(groups))
    return None


def _mask(copies: Sequence[int]) -> int:
    bits = bytearray((len(copies) + 7) // 8)
    for node, count in enumerate(copies):
        if count:
            bits[node >> 3] |= 1 << (node & 7)
    return int.from_bytes(bits, "little")


def _places(state: State, group: int, needed: int, copies: Sequence[int], names: Names) -> Shortage | None:
    """One group alone: the places on all nodes, one a domain where the group keeps apart from itself."""
    total = sum(copies)
    one = state.groups[group]
    if one.volumes.once:
        total = min(total, 1)
    known = state.cluster.namespace_labels
    key = ""
    for term in (term for term in one.affinity.apart if term.matches(one.namespace, one.labels, known)):
        domains: set[str] = set()
        loose = 0
        for node, count in enumerate(copies):
            value = state.nodes[node].labels.get(term.key)
            if value is None:
                loose += count
            elif count:
                domains.add(value)
        if loose + len(domains) < min(total, needed):
            total, key = loose + len(domains), term.key
    if total >= needed:
        return None
    scarce, most = _scarcest(state, group, copies)
    holders = sum(1 for count in copies if count)
    if most < needed and not key:
        total = min(total, most)
    else:
        scarce = _scarce(state, group)
    what = f"{written(scarce, state.groups[group].requests[scarce])} {scarce}" if scarce else "a pod"
    text = f"{names([group])} need {needed} places for {what}; {holders} nodes have {total}"
    if key:
        text += f", one in each domain of {key} because the anti-affinity means the pods themselves"
    return Shortage(text, (group,), scarce)


def _scarcest(state: State, group: int, copies: Sequence[int]) -> tuple[str, int]:
    """Return the resource of which the open nodes have fewest shares, and how many; of the equal ones the rarest."""
    shares = []
    for column, value in state.asked[group]:
        resource = state.resources[column]
        if resource != PODS:
            total = sum(state.free[node][column] // value for node, count in enumerate(copies) if count)
            shares.append((total, "/" not in resource, "gpu" not in resource, resource))
    return (min(shares)[3], min(shares)[0]) if shares else ("", sum(copies))


def _by_domain(state: State, key: str, copies: Sequence[int]) -> dict[str, int]:
    """Add up the places of each domain of a node label."""
    found: dict[str, int] = {}
    for node, count in enumerate(copies):
        value = state.nodes[node].labels.get(key) if count else None
        if value is not None:
            found[value] = found.get(value, 0) + count
    return found


def _spread_places(
    state: State, group: int, remaining: Sequence[int], copies: dict[int, list[int]], names: Names
) -> Shortage | None:
    """Topology spread: the domain that can grow least bounds all others."""
    for count, itself in zip(state.spreads[group], state.self_spread[group], strict=True):
        # The most that each domain can come to hold of what the constraint counts.
        most = dict(count.counts)
        for other in copies:
            if state.options.copied_labels or any(one is count for one in state.effects(other, 0)[1]):
                for value, room in _by_domain(state, count.rule.key, copies[other]).items():
                    if value in most:
                        most[value] += min(room, remaining[other])
        floor = min(most.values(), default=0) if len(most) >= count.rule.min_domains else 0
        ceiling = floor + count.rule.max_skew
        total = 0
        for value, room in _by_domain(state, count.rule.key, copies[group]).items():
            have = count.counts.get(value, 0)
            total += min(room, max(ceiling - have, 0)) if itself else room * (have <= ceiling)
        if total < remaining[group]:
            least = min(most, key=lambda value: most[value], default="")
            why = f"{count.rule.key}={least} can hold {most[least]}" if least else "no node has its label"
            if len(most) < count.rule.min_domains:
                why = f"there are {len(most)} domains of at least {count.rule.min_domains}"
            text = (
                f"{names([group])} need {remaining[group]} places; the topology spread over {count.rule.key}"
                f" leaves {total}, because {why}"
            )
            return Shortage(text, (group,), _scarce(state, group))
    return None


def _near_places(
    state: State, group: int, remaining: Sequence[int], copies: Sequence[int], names: Names
) -> Shortage | None:
    """Required affinity: the pods it means stand already, come with others, or are the group itself."""
    terms = state.groups[group].affinity.near
    if not terms or state.options.relaxed:
        return None
    mine = id(state.near[group])
    for other, count in enumerate(remaining):
        if count and other != group and any(id(pairs) == mine for pairs, _key in state.effects(other, 0)[0]):
            return None
    if state.options.copied_labels:
        return None
    needed = remaining[group]
    for term in terms:
        rooms = _by_domain(state, term.key, copies)
        if state.near[group]:
            total = sum(room for value, room in rooms.items() if state.near[group].get((term.key, value)))
            what = "in the domains where such pods stand"
        elif state.self_near[group]:
            total = max(rooms.values(), default=0)
            what = "in its largest domain, and all of them must share one"
        else:
            return Shortage(f"{names([group])} need pods near them that neither stand nor come", (group,))
        if total < needed:
            text = f"{names([group])} need {needed} places near each other by {term.key}; there are {total} {what}"
            return Shortage(text, (group,), _scarce(state, group))
    return None


def _scarce(state: State, group: int) -> str:
    """Return the resource by which a person thinks of the pod: an extended one where it asks for any."""
    requests = state.groups[group].requests
    extended = sorted(name for name in requests if "/" in name)
    return next((name for name in extended if "gpu" in name), extended[0] if extended else "")


def _resources(
    state: State, inside: Sequence[int], remaining: Sequence[int], mask: int, masks: dict[int, int], names: Names
) -> Shortage | None:
    """All groups that can only go to the nodes of ``mask``: each resource in blocks and as a whole."""
    for column, resource in enumerate(state.resources):
        sizes: dict[int, int] = {}
        for index in inside:
            size = state.groups[index].requests.get(resource, 0)
            if size:
                sizes[index] = size
        if not sizes:
            continue
        nodes = [node for node in range(len(state.nodes)) if mask >> node & 1]
        found = _blocks(state, column, sizes, remaining, nodes, masks, names) or _whole(
            state, column, sizes, remaining, nodes, masks, names
        )
        if found:
            return found
    return None


def _whole(
    state: State,
    column: int,
    sizes: dict[int, int],
    remaining: Sequence[int],
    nodes: Sequence[int],
    masks: dict[int, int],
    names: Names,
) -> Shortage | None:
    needed = sum(size * remaining[index] for index, size in sizes.items())
    usable = 0
    for node in nodes:
        open_sizes = frozenset(size for index, size in sizes.items() if masks[index] >> node & 1)
        usable += usable_amount(state.free[node][column], open_sizes)
        if usable >= needed:
            return None
    resource = state.resources[column]
    what = "pod places" if resource == PODS else resource
    text = (
        f"{names(list(sizes))} need {written(resource, needed)} {what} together; the {len(nodes)} nodes open to them"
        f" have {written(resource, usable)} to use"
    )
    return Shortage(text, tuple(sizes), resource)


def _blocks(
    state: State,
    column: int,
    sizes: dict[int, int],
    remaining: Sequence[int],
    nodes: Sequence[int],
    masks: dict[int, int],
    names: Names,
) -> Shortage | None:
    resource = state.resources[column]
    for size in sorted(set(sizes.values()), reverse=True) if resource != PODS else ():
        large = [index for index, one in sizes.items() if one >= size]
        needed = sum(remaining[index] for index in large)
        open_to = 0
        for index in large:
            open_to |= masks[index]
        blocks = [state.free[node][column] // size for node in nodes if open_to >> node & 1]
        if sum(blocks) < needed:
            holders = sum(1 for count in blocks if count)
            amount = written(resource, size)
            text = (
                f"{names(large)} need {needed} free blocks of {amount} {resource}; {holders} nodes have {sum(blocks)}"
            )
            return Shortage(text, tuple(large), resource)
    return None


@lru_cache(maxsize=65536)
def usable_amount(free: int, sizes: frozenset[int]) -> int:
    """Return the most of ``free`` that pods of ``sizes`` can use up: 3 free with sizes of 2 only gives 2."""
    if free <= 0 or not sizes:
        return 0
    smallest = min(sizes)
    if len(sizes) == 1:
        return free // smallest * smallest
    if free > _SMALL:
        return free if free >= smallest else 0
    reached = 1
    for total in range(1, free + 1):
        if any(total >= size and reached >> (total - size) & 1 for size in sizes):
            reached |= 1 << total
    return reached.bit_length() - 1
