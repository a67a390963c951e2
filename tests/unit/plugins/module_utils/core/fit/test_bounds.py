# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counting arguments and greedy placing, and the words of a proof."""

from __future__ import annotations

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.bounds import shortage, usable_amount
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.greedy import Greedy, orders
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.fit.builders import (
    GPU,
    HOST,
    ZONE,
    Plain,
    apart,
    bound,
    demands,
    in_gang,
    judge,
    near,
    node,
    pod,
    spread,
    state,
)

LABELS = {"app": "a"}
SELF = {"matchLabels": LABELS}


def proof(nodes: list[Plain], *pods: Plain) -> str:
    """Return the proof of a verdict that needed no search."""
    report = judge({"nodes": nodes}, demands(*pods), predict=False, explain=False)
    assert report.verdict == "does_not_fit"
    assert report.states == 0
    return report.proof


def many(name: str, count: int, gpus: int, **spec: object) -> list[Plain]:
    return [pod(f"{name}-{number}", gpus, **spec) for number in range(count)]  # type: ignore[arg-type]  # fields of a spec


def test_no_node_even_alone_tells_the_reasons() -> None:
    text = proof([node("a", 4), node("b", taints=[{"key": "k", "effect": "NoSchedule"}])], pod("big-0", 8))
    assert "big fits on none of the 2 nodes even alone" in text
    assert f"1 Insufficient {GPU}" in text
    assert "1 node(s) had untolerated taint(s)" in text


def test_too_few_places() -> None:
    assert proof([node("a"), node("b"), node("c", 4)], *many("w", 3, 8)) == (
        f"w need 3 places for 8 {GPU}; 2 nodes have 2"
    )


def test_too_few_blocks_of_several_groups() -> None:
    text = proof([node("a"), node("b"), node("c", 6)], *many("w", 2, 8), pod("v-0", 7))
    assert text == f"w and v need 3 free blocks of 7 {GPU}; 2 nodes have 2"


def test_what_is_left_over_cannot_be_used() -> None:
    text = proof([node("a", 7), node("b", 7)], *many("w", 3, 2), *many("v", 2, 4))
    assert text == f"w and v need 14 {GPU} together; the 2 nodes open to them have 12 to use"


def test_pod_places_count() -> None:
    text = proof([node("a", room={"pods": "3"})], *many("w", 2, 1), *many("v", 2, 2))
    assert "need 4 pod places together" in text


def test_apart_from_itself_needs_a_domain_each() -> None:
    rule = {"labels": LABELS, "affinity": apart(ZONE, SELF)}
    text = proof([node(name, zone="x") for name in "abc"], *many("w", 2, 1, **rule))
    assert text.endswith(f"one in each domain of {ZONE} because the anti-affinity means the pods themselves")


def test_the_emptiest_domain_bounds_the_others() -> None:
    rule = {"labels": LABELS, "topologySpreadConstraints": spread(ZONE, SELF)}
    text = proof([node("a", zone="x"), node("b", zone="y"), node("c", 0, zone="z")], *many("w", 3, 1, **rule))
    assert text == f"w need 3 places; the topology spread over {ZONE} leaves 2, because {ZONE}=z can hold 0"
    few = {"labels": LABELS, "topologySpreadConstraints": spread(ZONE, SELF, minDomains=2)}
    assert "there are 1 domains of at least 2" in proof([node("a", zone="x")], *many("w", 2, 1, **few))


def test_required_affinity_keeps_pods_in_one_domain_or_finds_none() -> None:
    zones = [node("a", 2, zone="x"), node("b", 2, zone="y")]
    together = {"labels": LABELS, "affinity": near(ZONE, SELF)}
    assert "in its largest domain, and all of them must share one" in proof(zones, *many("w", 3, 1, **together))
    assert "neither stand nor come" in proof(zones, pod("w-0", 1, affinity=near(ZONE, SELF)))
    standing = {"nodes": zones, "pods": [bound("e", "a", 2, labels=LABELS)]}
    report = judge(standing, demands(*many("w", 1, 1, **together)), predict=False, explain=False)
    assert (
        report.proof == f"w need 1 places near each other by {ZONE}; there are 0 in the domains where such pods stand"
    )


def test_no_bound_where_all_can_be_placed() -> None:
    found = state({"nodes": [node("a"), node("b")]}, *many("w", 4, 4))
    assert shortage(found, [4]) is None
    assert shortage(found, [5]) is not None


@pytest.mark.parametrize(
    ("free", "sizes", "expected"),
    [(7, {2, 4}, 6), (7, {3}, 6), (5, {3, 4}, 4), (-1, {1}, 0), (3, {4}, 0), (1000, {3, 7}, 1000), (8, {3, 5}, 8)],
)
def test_usable_amount(free: int, sizes: set[int], expected: int) -> None:
    assert usable_amount(free, frozenset(sizes)) == expected


# --- greedy -----------------------------------------------------------------------------------------------------------


def test_greedy_keeps_whole_nodes_for_whole_node_pods() -> None:
    found = state({"nodes": [node("a"), node("b"), node("c", 4)]}, *many("small", 4, 1), *many("large", 2, 8))
    assert Greedy(found).run(orders(found)[0])
    assert {one.node for one in found.log if one.group == 0} == {2}


def test_a_series_goes_to_the_smallest_domain_that_holds_it() -> None:
    nodes = [node("a", 2, zone="x"), node("b", 4, zone="y"), node("c", 8, zone="z")]
    pods = many("w", 3, 1, labels=LABELS, affinity=near(ZONE, SELF))
    report = judge({"nodes": nodes}, demands(*pods), predict=False, explain=False)
    assert {one.node for one in report.placements} == {"b"}


def test_spread_goes_round_the_domains() -> None:
    nodes = [node(name, zone=zone) for name, zone in (("a", "x"), ("b", "x"), ("c", "y"))]
    pods = many("w", 6, 1, labels=LABELS, topologySpreadConstraints=spread(ZONE, SELF))
    report = judge({"nodes": nodes}, demands(*pods), predict=False, explain=False)
    counts = [sum(1 for one in report.placements if one.node in names) for names in ("ab", "c")]
    assert counts == [3, 3]


# --- gangs ------------------------------------------------------------------------------------------------------------

RACKS = [node(f"{rack}{number}", labels={"rack": rack}) for rack in "ab" for number in range(2)]


def test_a_gang_shares_a_domain() -> None:
    members = demands(*many("w", 2, 8))
    ganged = tuple(in_gang(one, "g", 2, "rack") for one in members)
    report = judge({"nodes": RACKS}, ganged, predict=False, explain=False)
    assert len({one.node[0] for one in report.placements}) == 1
    taken = [bound("e", "a0", 1), bound("f", "b0", 1)]
    split = judge({"nodes": RACKS, "pods": taken}, ganged, predict=False, explain=False)
    assert split.verdict == "does_not_fit"
    assert judge({"nodes": RACKS, "pods": taken}, members, predict=False, explain=False).verdict == "fits"


def test_each_gang_has_its_own_domain() -> None:
    members = demands(*many("w", 4, 8))
    ganged = tuple(in_gang(one, f"g{number // 2}", 2, "rack") for number, one in enumerate(members))
    report = judge({"nodes": RACKS}, ganged, predict=False, explain=False)
    racks = [one.node[0] for one in sorted(report.placements, key=lambda one: one.pod)]
    assert racks[0] == racks[1] != racks[2] == racks[3]


def test_a_gang_inside_a_gang() -> None:
    nodes = [node(f"{row}{rack}", labels={"row": row, "rack": row + rack}) for row in "ab" for rack in "01"]
    members = tuple(in_gang(one, "whole", 4, "row") for one in demands(*many("w", 4, 4)))
    inner = tuple(in_gang(one, f"pair{number // 2}", 2, "rack") for number, one in enumerate(members))
    report = judge({"nodes": nodes}, inner, predict=False, explain=False)
    assert report.verdict == "fits"
    assert len({one.node[0] for one in report.placements}) == 1


def test_nodes_without_the_label_are_out_of_a_gangs_reach() -> None:
    ganged = tuple(in_gang(one, "g", 1, "rack") for one in demands(pod("w-0", 1)))
    report = judge({"nodes": [node("a")]}, ganged)
    assert report.verdict == "does_not_fit"
    assert "1 node(s) were outside the topology domain of the pod's gang" in report.unplaced[0].message


def test_hostname_is_a_domain_as_any_other() -> None:
    ganged = tuple(in_gang(one, "g", 2, HOST) for one in demands(*many("w", 2, 5)))
    assert judge({"nodes": [node("a"), node("b")]}, ganged).verdict == "does_not_fit"
