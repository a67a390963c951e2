# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The search against brute force, and what must hold of any answer."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.checker import (
    Checker,
    Step,
    check_placement,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.cluster import build_cluster
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.fit.builders import (
    HOST,
    ZONE,
    Plain,
    apart,
    bound,
    demands,
    judge,
    near,
    node,
    pod,
    spread,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

LABELS = {"app": "a"}
SELF = {"matchLabels": LABELS}
OTHER = {"matchLabels": {"app": "b"}}
RULES: tuple[Plain, ...] = (
    {},
    {},
    {"affinity": near(ZONE, SELF)},
    {"affinity": near(ZONE, OTHER)},
    {"affinity": apart(HOST, SELF)},
    {"affinity": apart(ZONE, OTHER)},
    {"topologySpreadConstraints": spread(ZONE, SELF)},
    {"topologySpreadConstraints": spread(HOST, SELF, 2)},
    {"topologySpreadConstraints": spread(ZONE, SELF, minDomains=2)},
    {"nodeSelector": {"pool": "p"}},
    {"tolerations": [{"operator": "Exists"}]},
)
BOUNDED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


DRIVER = "csi.example.com"


def _storage() -> Plain:
    """Return two bound claims and their volumes."""
    found: Plain = {"persistentvolumeclaims": [], "persistentvolumes": []}
    for name in ("c0", "c1"):
        annotations = {"pv.kubernetes.io/bind-completed": "yes"}
        meta = {"name": name, "namespace": "team", "annotations": annotations}
        found["persistentvolumeclaims"].append({"metadata": meta, "spec": {"volumeName": name}})
        source = {"driver": DRIVER, "volumeHandle": name}
        found["persistentvolumes"].append({"metadata": {"name": name}, "spec": {"csi": source}})
    return found


def _mounts(names: list[str]) -> Plain:
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    return {"volumes": volumes} if volumes else {}


MOUNTED: Any = st.sampled_from([[], [], ["c0"], ["c1"], ["c0", "c1"]])


@st.composite
def clusters(draw: st.DrawFn) -> Plain:
    """Up to four small nodes with zones, pools, taints, volume limits and standing pods."""
    nodes = []
    pods = []
    limits = []
    for number in range(draw(st.integers(1, 4))):
        taints = [{"key": "k", "effect": "NoSchedule"}] if draw(st.integers(0, 4)) == 0 else []
        labels = {"pool": "p"} if draw(st.booleans()) else {}
        nodes.append(
            node(
                f"n{number}",
                draw(st.integers(0, 3)),
                zone=draw(st.sampled_from(["x", "y", ""])),
                taints=taints,
                labels=labels,
            )
        )
        if draw(st.booleans()):
            app = draw(st.sampled_from(["a", "b"]))
            rule: Any = draw(st.sampled_from([{}, {}, {"affinity": apart(ZONE, SELF)}]))
            rule = {**rule, **_mounts(draw(MOUNTED))}
            pods.append(bound(f"e{number}", f"n{number}", draw(st.integers(0, 1)), labels={"app": app}, **rule))
        drivers = [{"name": DRIVER, "allocatable": {"count": draw(st.integers(0, 2))}}]
        limits.append({"metadata": {"name": f"n{number}"}, "spec": {"drivers": drivers}})
    limited = draw(st.integers(0, len(limits)))
    return {"nodes": nodes, "pods": pods, "csinodes": limits[:limited], **_storage()}


@st.composite
def runs(draw: st.DrawFn) -> list[Plain]:
    """Up to two groups of up to five pods together."""
    found = []
    for group in range(draw(st.integers(1, 2))):
        rule = draw(st.sampled_from(RULES))
        app = draw(st.sampled_from(["a", "b"]))
        gpus = draw(st.integers(0, 2))
        rule = {**rule, **_mounts(draw(MOUNTED))}
        for number in range(draw(st.integers(1, 3 if group else 2))):
            found.append(pod(f"g{group}-{number}", gpus, labels={"app": app}, **rule))
    return found


def brute_force(snapshot: Plain, pods: list[Plain]) -> bool:
    """Try every order of groups and every node with the checker alone."""
    cluster = build_cluster(snapshot)
    names = [view.name for view in cluster.nodes]
    seen: set[Any] = set()

    def kind(one: Plain) -> str:
        return str(one["metadata"]["name"].split("-")[0])

    def extend(steps: list[Step], left: list[Plain]) -> bool:
        if not left:
            return True
        state = tuple(sorted((kind(dict(step.pod)), step.node) for step in steps))
        if state in seen:
            return False
        seen.add(state)
        for first in {kind(one): one for one in left}.values():
            for name in names:
                step = Step(first["metadata"]["name"], first, name)
                if check_placement(cluster, [*steps, step]):
                    continue
                if extend([*steps, step], [one for one in left if one is not first]):
                    return True
        return False

    return extend([], pods)


@BOUNDED
@given(clusters(), runs())
def test_the_verdict_is_that_of_brute_force(snapshot: Plain, pods: list[Plain]) -> None:
    report = judge(snapshot, demands(*pods), predict=False, explain=False)
    assert report.verdict == ("fits" if brute_force(snapshot, pods) else "does_not_fit"), report.proof
    assert bool(report.proof) is (report.verdict == "does_not_fit")


@BOUNDED
@given(clusters(), runs())
def test_a_witness_passes_the_checker(snapshot: Plain, pods: list[Plain]) -> None:
    report = judge(snapshot, demands(*pods), predict=False, explain=False)
    if report.verdict == "fits":
        by_name = {one["metadata"]["name"]: one for one in pods}
        steps = [Step(one.pod, by_name[one.pod], one.node) for one in report.placements]
        assert len(steps) == len(pods)
        assert check_placement(build_cluster(snapshot), steps) == ""


@BOUNDED
@given(clusters(), runs(), st.randoms(use_true_random=False))
def test_order_of_nodes_and_pods_does_not_matter(snapshot: Plain, pods: list[Plain], random: Any) -> None:
    first = judge(snapshot, demands(*pods), predict=False, explain=False).verdict
    shuffled = {kind: random.sample(found, len(found)) for kind, found in snapshot.items()}
    other = judge(shuffled, demands(*random.sample(pods, len(pods))), predict=False, explain=False)
    assert other.verdict == first


@BOUNDED
@given(clusters(), runs())
def test_one_more_node_never_hurts(snapshot: Plain, pods: list[Plain]) -> None:
    """A node that no spread constraint counts: one with a new domain can hold the minimum at 0."""
    if judge(snapshot, demands(*pods), predict=False, explain=False).verdict != "fits":
        return
    more = node("extra", 3)
    del more["metadata"]["labels"][HOST]
    wider = {**snapshot, "nodes": [*snapshot["nodes"], more]}
    assert judge(wider, demands(*pods), predict=False, explain=False).verdict == "fits"


@BOUNDED
@given(st.lists(st.integers(0, 8), min_size=1, max_size=4), st.lists(st.integers(1, 8), min_size=1, max_size=6))
def test_packing_is_exact(free: list[int], sizes: list[int]) -> None:
    snapshot = {"nodes": [node(f"n{number}", gpus) for number, gpus in enumerate(free)]}
    pods = [pod(f"g{size}-{number}", size) for number, size in enumerate(sizes)]

    def packs() -> bool:
        for places in itertools.product(range(len(free)), repeat=len(sizes)):
            used = [0] * len(free)
            for place, size in zip(places, sizes, strict=True):
                used[place] += size
            if all(have <= room for have, room in zip(used, free, strict=True)):
                return True
        return False

    verdict = judge(snapshot, demands(*pods), predict=False, explain=False).verdict
    assert verdict == ("fits" if packs() else "does_not_fit")


@pytest.mark.parametrize(
    ("step", "refused"),
    [
        (("p", 1, "none"), "there is no node"),
        (("p", 9, "a"), "insufficient"),
        (("p", 1, "b"), "untolerated taint"),
        (("p", 1, "c"), "cordoned"),
    ],
)
def test_the_checker_refuses_on_its_own(step: tuple[str, int, str], refused: str) -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    cluster = build_cluster({"nodes": [node("a"), node("b", taints=[taint]), node("c", unschedulable=True)]})
    name, gpus, where = step
    assert refused in Checker(cluster).refuse(Step(name, pod(name, gpus), where))


def test_the_checker_remembers_what_it_accepted() -> None:
    checker = Checker(build_cluster({"nodes": [node("a", 4, zone="x"), node("b", 4, zone="x")]}))
    assert checker.refuse(Step("one", pod("one", 4), "a")) == ""
    assert "insufficient" in checker.refuse(Step("two", pod("two", 1), "a"))
    keeper = pod("three", labels=LABELS, affinity=apart(ZONE, SELF))
    assert checker.refuse(Step("three", keeper, "b")) == ""
    assert "anti-affinity" in checker.refuse(Step("four", pod("four", labels=LABELS), "a"))
