# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would help: how many replicas fit, and changes that were tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..demand import Gang, PodDemand
from .ask import Problem, answer
from .cluster import BoundPod, Cluster
from .greedy import Greedy
from .report import Headroom, Suggestion
from .selectors import HARD_EFFECTS, tolerates
from .state import Options, State

Expired = Callable[[], bool]
#: More replicas than asked for that are tried; what fits beyond is told as "at least".
MOST_EXTRA = 256
#: Above this many pairs of pod and node one answer takes long, and counting has to do.
SMALL = 20_000
_MOST_TAINTS = 16


def components(demands: Sequence[PodDemand]) -> dict[str, list[int]]:
    """Return the replica numbers of each component, in order."""
    found: dict[str, list[int]] = {}
    for demand in demands:
        if demand.component and demand.replica not in found.setdefault(demand.component, []):
            found[demand.component].append(demand.replica)
    return {name: sorted(numbers) for name, numbers in found.items()}


def with_replicas(demands: Sequence[PodDemand], component: str, count: int) -> tuple[PodDemand, ...]:
    """Return the demands with ``count`` replicas of one component; further ones are copies of its last."""
    numbers = components(demands)[component]
    kept = [demand for demand in demands if demand.component != component or numbers.index(demand.replica) < count]
    pattern = [demand for demand in demands if demand.component == component and demand.replica == numbers[-1]]
    # A gang that is this replica's own needs a name of its own in each copy; a wider one takes the copies in.
    own = {demand.name for demand in pattern}
    wider = {gang.name for demand in demands if demand.name not in own for gang in demand.gangs}
    for extra in range(1, count - len(numbers) + 1):
        kept.extend(_copied(demand, numbers[-1] + extra, extra, wider) for demand in pattern)
    return tuple(kept)


def _copied(demand: PodDemand, replica: int, extra: int, wider: set[str]) -> PodDemand:
    meta = demand.pod.get("metadata") or {}
    return replace(
        demand,
        name=f"{demand.name}+{extra}",
        replica=replica,
        pod={**demand.pod, "metadata": {**meta, "name": f"{meta.get('name', demand.name)}+{extra}"}},
        gangs=tuple(_renamed(gang, wider, extra) for gang in demand.gangs),
    )


def _renamed(gang: Gang, wider: set[str], extra: int) -> Gang:
    return gang if gang.name in wider else replace(gang, name=f"{gang.name}+{extra}")


def headroom(problem: Problem, fits: bool, steps: Sequence[tuple[int, int]], expired: Expired) -> tuple[Headroom, ...]:
    """Return per component the largest number of replicas that fits while the others stay as asked."""
    found = []
    small = len(problem.demands) * len(problem.cluster.nodes) <= SMALL
    filling = None if small or not fits else _Filling(problem, steps)
    for name, numbers in components(problem.demands).items():
        if expired():
            found.append(Headroom(name, len(numbers), len(numbers) if fits else 0, False))
        elif not fits:
            found.append(_shrunk(problem, name, len(numbers), expired))
        elif filling is not None:
            found.append(filling.of(name, numbers))
        else:
            found.append(_grown(problem, name, len(numbers), expired))
    return tuple(found)


def _fits(problem: Problem, component: str, count: int, expired: Expired) -> bool | None:
    changed = with_replicas(problem.demands, component, count)
    return answer(Problem.of(problem.cluster, changed), expired).placed


def _shrunk(problem: Problem, component: str, asked: int, expired: Expired) -> Headroom:
    """Bisect downwards; nothing fits where not even the others do."""
    low, high, exact = -1, asked, True
    while high - low > 1:
        middle = (low + high) // 2
        fits = _fits(problem, component, middle, expired)
        exact = exact and fits is not None
        low, high = (middle, high) if fits else (low, middle)
    return Headroom(component, asked, max(low, 0), exact)


def _grown(problem: Problem, component: str, asked: int, expired: Expired) -> Headroom:
    """Double the step upwards, then bisect."""
    low, step, high, exact = asked, 1, asked + MOST_EXTRA + 1, True
    while low + step < high and high == asked + MOST_EXTRA + 1:
        fits = _fits(problem, component, low + step, expired)
        exact = exact and fits is not None
        if fits:
            low, step = low + step, step * 2
        else:
            high = low + step
    while high - low > 1 and not expired():
        middle = (low + high) // 2
        fits = _fits(problem, component, middle, expired)
        exact = exact and fits is not None
        low, high = (middle, high) if fits else (low, middle)
    return Headroom(component, asked, low, exact and high - low == 1 and high <= asked + MOST_EXTRA)


class _Filling:
    """Puts further replicas beside the placement that was found, one component after another; a lower bound."""

    def __init__(self, problem: Problem, steps: Sequence[tuple[int, int]]) -> None:
        self.problem = problem
        self.group_of = {member: group.index for group in problem.groups for member in group.members}
        self.greedy = Greedy(State(problem.cluster, problem.groups, Options()))
        for member, node in steps:
            self.greedy.state.place(self.group_of[member], node)

    def of(self, component: str, numbers: Sequence[int]) -> Headroom:
        """Return how many replicas of the component fit."""
        pattern = Counter(
            self.group_of[index]
            for index, demand in enumerate(self.problem.demands)
            if demand.component == component and demand.replica == numbers[-1]
        )
        asked = len(numbers)
        if any(self.problem.groups[group].packs for group in pattern):
            return Headroom(component, asked, asked, False)
        greedy, state = self.greedy, self.greedy.state
        greedy.remaining = [pattern[group.index] * MOST_EXTRA for group in self.problem.groups]
        mark = len(state.log)
        greedy.run(sorted(pattern))
        placed = Counter(one.group for one in state.log[mark:])
        while len(state.log) > mark:
            state.take_back()
        return Headroom(component, asked, asked + min(placed[group] // pattern[group] for group in pattern), False)


def suggestions(
    problem: Problem, rooms: Sequence[Headroom], retirable: Sequence[BoundPod], names: Sequence[str], expired: Expired
) -> tuple[Suggestion, ...]:
    """Return the changes that were tried and make all pods fit."""
    found = [
        Suggestion(
            "fewer_replicas",
            f"{room.component} with {room.fits} replicas instead of {room.asked} fits"
            + ("" if room.exact else ", and more may"),
        )
        for room in rooms
        if 0 < room.fits < room.asked
    ]
    if not found:
        found.extend(_all_fewer(problem, expired))
    found.extend(_tolerations(problem, expired))
    if retirable and not expired():
        without = Problem(problem.cluster.without(retirable), problem.demands, problem.groups)
        if answer(without, expired).placed:
            found.append(Suggestion("retire", f"with {', '.join(sorted(names))} gone the pods fit"))
    return tuple(found)


def _all_fewer(problem: Problem, expired: Expired) -> Iterator[Suggestion]:
    """Try the same share of every component."""
    asked = {name: len(numbers) for name, numbers in components(problem.demands).items()}
    most = max(asked.values(), default=0)
    for share in range(most - 1, 0, -1):
        counts = {name: max(count * share // most, 1) for name, count in asked.items()}
        if expired():
            return
        demands: tuple[PodDemand, ...] = problem.demands
        for name, count in counts.items():
            demands = with_replicas(demands, name, count)
        if answer(Problem.of(problem.cluster, demands), expired).placed:
            changed = [f"{name} {count} of {asked[name]}" for name, count in counts.items() if count < asked[name]]
            yield Suggestion("fewer_replicas", f"fewer replicas fit together: {', '.join(changed)}")
            return


def _tolerations(problem: Problem, expired: Expired) -> Iterator[Suggestion]:
    """Name each taint whose toleration alone would make the pods fit."""
    for taint, count in _missing(problem):
        if expired():
            return
        toleration: dict[str, Any] = {"key": taint["key"], "operator": "Equal", "effect": taint["effect"]}
        if taint.get("value"):
            toleration["value"] = taint["value"]
        demands = [replace(demand, pod=_tolerating(demand.pod, toleration)) for demand in problem.demands]
        if answer(Problem.of(problem.cluster, demands), expired).placed:
            shown = f"{taint['key']}={taint.get('value') or ''}:{taint['effect']}"
            yield Suggestion(
                "missing_toleration",
                f"with a toleration for {shown} ({count} nodes) the pods fit; ask the nodes' owner before adding it",
            )


def _tolerating(pod: Any, toleration: dict[str, Any]) -> dict[str, Any]:
    spec = dict(pod["spec"])
    spec["tolerations"] = [*(spec.get("tolerations") or ()), toleration]
    return {**pod, "spec": spec}


def _missing(problem: Problem) -> list[tuple[dict[str, Any], int]]:
    counts: dict[tuple[str, str, str], int] = {}
    for node in problem.cluster.nodes:
        for taint in node.taints:
            key = str(taint.get("key"))
            # What the node controller sets says that a node is not usable now.
            if taint.get("effect") not in HARD_EFFECTS or key.startswith("node.kubernetes.io/"):
                continue
            if all(tolerates(group.rules.tolerations, taint) for group in problem.groups):
                continue
            identity = (key, str(taint.get("value") or ""), str(taint.get("effect")))
            counts[identity] = counts.get(identity, 0) + 1
    usual = sorted(counts.items(), key=lambda one: -one[1])[:_MOST_TAINTS]
    return [({"key": key, "value": value, "effect": effect}, count) for (key, value, effect), count in usual]


def fits_by_preempting(problem: Problem, cluster: Cluster, expired: Expired) -> bool:
    """Return whether the pods would fit with the bound pods of lower priority than all of them gone."""
    able = [group for group in problem.groups if group.preempts]
    if not able:
        return False
    threshold = min(group.priority for group in able)
    victims = [pod for pod in cluster.bound if pod.priority < threshold]
    if not victims:
        return False
    without = Problem(cluster.without(victims), problem.demands, problem.groups)
    return answer(without, expired).placed is True
