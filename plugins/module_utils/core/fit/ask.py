# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One question to the solver, asked under each reading of what the snapshot leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..demand import Gang, PodDemand
from .checker import Step, check_placement
from .cluster import Cluster, Group, group_pods
from .model import REGION, ZONE, affinity_of, selector_keys, spreads_of
from .search import Expired, Found
from .solve import solve
from .state import Options, State


@dataclass(frozen=True)
class Answer:
    """``placed`` True comes with (demand, node) in order, False with a proof, None with the reasons."""

    placed: bool | None
    steps: tuple[tuple[int, int], ...] = ()
    proof: str = ""
    unknown: tuple[str, ...] = ()
    states: int = 0


@dataclass(frozen=True)
class Problem:
    """Demands on a cluster, grouped."""

    cluster: Cluster
    demands: tuple[PodDemand, ...]
    groups: tuple[Group, ...]

    @classmethod
    def of(cls, cluster: Cluster, demands: Sequence[PodDemand]) -> Problem:
        """Group the demands' pods, which have been admitted."""
        groups = group_pods([demand.pod for demand in demands], cluster, [_packs(demand) for demand in demands])
        return cls(cluster, tuple(demands), groups)

    def names(self, groups: Sequence[int]) -> str:
        """Return groups in words, by their components."""
        found = dict.fromkeys(
            self.demands[member].component or self.demands[member].name
            for index in groups
            for member in self.groups[index].members
        )
        return " and ".join(found)

    @property
    def location_labels(self) -> bool:
        """Whether some rule looks at the zone or region label of pods, which they only get when bound."""
        rules = [(affinity_of(demand.pod), spreads_of(demand.pod)) for demand in self.demands]
        keys = selector_keys(rules) | selector_keys((affinity, ()) for _pod, affinity in self.cluster.rules)
        return bool(keys & {ZONE, REGION})

    @property
    def makes_volumes(self) -> bool:
        """Whether several pods share a claim whose volume is made for the first of them."""
        users: dict[tuple[str, str], int] = {}
        for group in self.groups:
            for claim in group.volumes.waiting:
                users[claim.key] = users.get(claim.key, 0) + group.count
        return any(
            users[claim.key] > 1 and self.cluster.storage.provisions(claim.storage_class)
            for group in self.groups
            for claim in group.volumes.waiting
        )


def _packs(demand: PodDemand) -> tuple[Gang, ...]:
    return tuple(gang for gang in demand.gangs if gang.topology_key)


def answer(problem: Problem, expired: Expired, *, relaxed: bool = False) -> Answer:
    """Say whether the pods can be placed under every reading, under none, or only under some."""
    readings = [Options(relaxed=relaxed)]
    if problem.location_labels and not relaxed:
        readings.append(Options(copied_labels=True))
    found = [solve(problem.cluster, problem.groups, one, expired, problem.names) for one in readings]
    states = sum(one.states for one in found)
    for options, one in zip(readings, found, strict=True):
        if one.placed and all(_holds(problem, one, other) for other in readings if other != options):
            return _checked(problem, one, states)
    if all(one.placed is False for one in found):
        return _refuted(problem, found, states, expired, relaxed)
    if any(one.placed is None for one in found):
        return Answer(None, unknown=("the time limit was reached before the search ended",), states=states)
    text = "whether the pods fit depends on when bound pods get their node's zone label, which some rule looks at"
    return Answer(None, unknown=(text,), states=states)


def _refuted(problem: Problem, found: Sequence[Found], states: int, expired: Expired, relaxed: bool) -> Answer:
    """All readings with volumes made for one node say no; ask again with volumes that every node reaches."""
    if not problem.makes_volumes:
        return Answer(False, proof=found[0].proof, states=states)
    options = Options(relaxed=relaxed, provisioned_anywhere=True)
    wide = solve(problem.cluster, problem.groups, options, expired, problem.names)
    if wide.placed is False:
        return Answer(False, proof=wide.proof, states=states + wide.states)
    text = "from which nodes a shared volume can be reached is known only when it has been made"
    return Answer(None, unknown=(text,), states=states + wide.states)


def _holds(problem: Problem, found: Found, options: Options) -> bool:
    """Return whether a placement found under one reading passes the filters under another."""
    state = State(problem.cluster, problem.groups, options)
    for group, node in found.steps:
        if not state.fits(group, node):
            return False
        state.place(group, node)
    return True


def _checked(problem: Problem, found: Found, states: int) -> Answer:
    steps = members(problem.groups, found.steps)
    refused = check_placement(
        problem.cluster,
        [
            Step(problem.demands[member].name, problem.demands[member].pod, problem.cluster.nodes[node].name)
            for member, node in steps
        ],
    )
    if refused:
        return Answer(None, unknown=(f"the placement found did not pass the second check: {refused}",), states=states)
    return Answer(True, steps=steps, states=states)


def members(groups: Sequence[Group], steps: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Give each step of a group one of its members, in their order."""
    left = [iter(group.members) for group in groups]
    return tuple((next(left[group]), node) for group, node in steps)
