# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The default scheduler's scores and order, as far as they are not drawn."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.predict import (
    Prediction,
    nodes_to_find,
    predict,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.scores import Scores
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.state import Options
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.fit.builders import (
    HOST,
    ZONE,
    Plain,
    bound,
    made,
    near,
    node,
    pod,
    spread,
    state,
)

LABELS = {"app": "a"}
SELF = {"matchLabels": LABELS}


def totals(snapshot: Plain, *pods: Plain) -> list[int]:
    """Return the first group's scores of all nodes."""
    found = state(snapshot, *pods)
    scores = Scores(found)
    nodes = list(range(len(found.nodes)))
    return scores.total(0, nodes, [scores.own(0, number) for number in nodes])


def run(snapshot: Plain, *pods: Plain, runs: int = 4) -> Prediction:
    cluster, groups = made(snapshot, *pods)
    return predict(cluster, groups, Options(), lambda: False, runs)


def test_least_allocated_and_balanced() -> None:
    """Shares of 64 CPUs and 512 Gi; a container without a memory request counts as 200 Mi when it is scored."""
    snapshot = {"nodes": [node("a"), node("b")], "pods": [bound("e", "a", cpu="32")]}
    # a: cpu (64-33)/64 = 48, memory 99 → 73; balance 76 % → 75 %: 50 + (50 + 74 - 75) / 2 = 74.
    # b: cpu 98, memory 99 → 98; balance 100 % → 99 %: 50 + (50 + 99 - 100) / 2 = 74.
    assert totals(snapshot, pod("p", cpu="1")) == [147, 172]


def test_pods_without_requests_are_not_balanced() -> None:
    assert totals({"nodes": [node("a")]}, pod("p", 1)) == [99]


def test_placed_pods_count_and_those_taken_back_no_longer() -> None:
    found = state({"nodes": [node("a", room={"cpu": "4"})]}, pod("p", cpu="1"))
    scores = Scores(found)
    before = scores.own(0, 0)
    scores.placed(0, 0)
    assert scores.own(0, 0) == before - 12  # the CPU share falls from 75 to 50, the mean with memory by 12
    scores.taken_back(0, 0)
    assert scores.own(0, 0) == before


def test_soft_taints_and_preferred_nodes() -> None:
    soft = {"key": "k", "effect": "PreferNoSchedule"}
    snapshot = {"nodes": [node("a", taints=[soft]), node("b", labels={"pool": "x"}), node("c")]}
    plain = totals(snapshot, pod("p", 1))
    assert [score - 99 for score in plain] == [0, 300, 300]
    assert totals(snapshot, pod("p", 1, tolerations=[{"key": "k", "operator": "Exists"}])) == [99, 99, 99]
    rule = {"weight": 10, "preference": {"matchExpressions": [{"key": "pool", "operator": "Exists"}]}}
    wish = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [rule]}}
    assert [score - 99 for score in totals(snapshot, pod("p", 1, affinity=wish))] == [0, 500, 300]


def test_images_that_are_there_already() -> None:
    warm = node("a")
    warm["status"]["images"] = [{"names": ["reg.example/vllm:latest"], "sizeBytes": 2 * 523 * 2**20}]
    snapshot = {"nodes": [warm, node("b")]}
    wanted = pod("p", 1)
    wanted["spec"]["containers"][0]["image"] = "reg.example/vllm"
    # Half of the nodes have it, so half of its size counts: 500 of 977 MiB between the thresholds.
    assert [score - 99 for score in totals(snapshot, wanted)] == [51, 0]


@pytest.mark.parametrize(("kind", "expected"), [("podAffinity", [200, 0, 0]), ("podAntiAffinity", [0, 200, 200])])
def test_preferred_pods(kind: str, expected: list[int]) -> None:
    nodes = [node("a", zone="x"), node("b", zone="y"), node("c")]
    snapshot = {"nodes": nodes, "pods": [bound("e", "a", labels=LABELS)]}
    term = {"weight": 5, "podAffinityTerm": {"topologyKey": ZONE, "labelSelector": SELF}}
    wish = {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    base = totals(snapshot, pod("p", 1))
    assert [
        score - plain for score, plain in zip(totals(snapshot, pod("p", 1, affinity=wish)), base, strict=True)
    ] == expected


def test_standing_pods_draw_those_their_affinity_means() -> None:
    nodes = [node("a", zone="x"), node("b", zone="y")]
    snapshot = {"nodes": nodes, "pods": [bound("e", "a", affinity=near(ZONE, SELF))]}
    scores = totals(snapshot, pod("p", 1, labels=LABELS))
    assert scores[0] - scores[1] == 200


def test_soft_spread_prefers_the_emptier_domain() -> None:
    rules = spread(ZONE, SELF, whenUnsatisfiable="ScheduleAnyway")
    nodes = [node("a", zone="x"), node("b", zone="y"), node("c")]
    snapshot = {"nodes": nodes, "pods": [bound("e", "a", labels=LABELS)]}
    plain = totals(snapshot, pod("p", 1, labels=LABELS))
    scores = totals(snapshot, pod("p", 1, labels=LABELS, topologySpreadConstraints=rules))
    assert [score - base for score, base in zip(scores, plain, strict=True)] == [0, 200, 0]
    by_host = spread(HOST, SELF, whenUnsatisfiable="ScheduleAnyway")
    hosts = totals(snapshot, pod("p", 1, labels=LABELS, topologySpreadConstraints=by_host))
    assert hosts[1] == hosts[2] > hosts[0]


@pytest.mark.parametrize(
    ("nodes", "expected"), [(50, 50), (99, 99), (100, 100), (1000, 420), (5000, 500), (10000, 500)]
)
def test_how_many_nodes_the_scheduler_looks_for(nodes: int, expected: int) -> None:
    assert nodes_to_find(nodes) == expected


def test_creation_order_decides_over_size() -> None:
    """Placed small first the pods are spread, and no node is left whole; large first all fit."""
    snapshot = {"nodes": [node("a"), node("b")]}
    small, large = [pod(f"s-{number}", 1, cpu="1") for number in range(2)], pod("l-0", 8)
    assert run(snapshot, *small, large).all_placed == 0
    assert run(snapshot, large, *small).all_placed == 4


def test_a_pod_that_waits_gets_another_chance() -> None:
    snapshot = {"nodes": [node("a", zone="x")]}
    needs = pod("n-0", 1, affinity=near(ZONE, SELF))
    found = run(snapshot, needs, pod("w-0", 1, labels=LABELS))
    assert found.all_placed == 4
    assert found.usual is not None
    assert [member for member, _node in found.usual.placed] == [1, 0]


def test_pending_pods_come_with_their_counts() -> None:
    found = run({"nodes": [node("a", 1), node("b", 0)]}, pod("w-0", 1), pod("w-1", 1))
    assert found.usual is not None
    assert [(one.members, one.reasons) for one in found.usual.pending] == [((1,), {"Insufficient nvidia.com/gpu": 2})]


def test_failures_of_the_whole_cluster_are_kept() -> None:
    mount: Any = {"volumes": [{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}]}
    found = run({"nodes": [node("a")]}, pod("w-0", 1, **mount))
    assert found.usual is not None
    assert found.usual.pending[0].failure == 'persistentvolumeclaim "c" not found'


def test_gated_pods_wait_and_hold_nothing() -> None:
    gates: Any = {"schedulingGates": [{"name": "g"}]}
    found = run({"nodes": [node("a", 1)]}, pod("g-0", 1, **gates), pod("w-0", 1))
    assert (found.all_placed, found.gated) == (4, (0,))


def test_the_outcome_is_the_same_each_time() -> None:
    snapshot = {"nodes": [node(name) for name in "abcd"]}
    pods = [pod(f"w-{number}", 1 + number % 3) for number in range(9)]
    assert run(snapshot, *pods) == run(snapshot, *pods)


def test_time_that_is_up_makes_it_incomplete() -> None:
    cluster, groups = made({"nodes": [node("a")]}, pod("w-0", 1))
    found = predict(cluster, groups, Options(), lambda: True, 2)
    assert (found.complete, found.usual, found.runs) == (False, None, 0)


def test_large_clusters_are_sampled_and_later_pods_start_where_the_last_stopped() -> None:
    snapshot = {"nodes": [node(f"n{number:03d}", zone=f"z{number % 3}") for number in range(300)]}
    found = run(snapshot, *(pod(f"w-{number}", 8) for number in range(200)), runs=1)
    assert found.usual is not None
    assert len({place for _member, place in found.usual.placed}) == 200
