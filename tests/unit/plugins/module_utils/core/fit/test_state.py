# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each filter on the smallest cluster that shows it; expected answers were seen on the real scheduler."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit import reasons as why
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.state import Options
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.fit.builders import (
    GPU,
    HOST,
    ZONE,
    Plain,
    apart,
    bound,
    near,
    node,
    pod,
    reasons,
    requires,
    spread,
    state,
)

APP = {"matchLabels": {"app": "a"}}
LABELS = {"app": "a"}


def one(snapshot: Plain, pod_: Plain) -> tuple[str, ...]:
    """Return the reasons of the first node."""
    return next(iter(reasons(snapshot, pod_).values()))


def test_cordons_names_and_taints_come_first() -> None:
    taint = {"key": GPU, "effect": "NoSchedule"}
    cluster = {"nodes": [node("a", unschedulable=True, taints=[taint]), node("b", taints=[taint]), node("c")]}
    assert reasons(cluster, pod("p", 1, nodeName="b")) == {
        "a": (why.UNSCHEDULABLE,),
        "b": (why.TAINT,),
        "c": (why.NODE_NAME,),
    }
    tolerant = pod("p", 1, tolerations=[{"operator": "Exists"}])
    assert reasons(cluster, tolerant) == {"a": (), "b": (), "c": ()}


def test_gpu_pods_do_not_tolerate_gpu_taints_by_themselves() -> None:
    assert one({"nodes": [node("a", taints=[{"key": GPU, "effect": "NoSchedule"}])]}, pod("p", 1)) == (why.TAINT,)


def test_selector_and_affinity_must_both_hold() -> None:
    cluster = {"nodes": [node("a", labels={"pool": "x"}), node("b", labels={"pool": "x", "gen": "9"})]}
    wanted = requires({"matchExpressions": [{"key": "gen", "operator": "Exists"}]})
    found = reasons(cluster, pod("p", 1, nodeSelector={"pool": "x"}, affinity=wanted))
    assert found == {"a": (why.NODE_AFFINITY,), "b": ()}


def test_nodes_that_are_not_named_are_not_looked_at() -> None:
    wanted = requires({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]})
    found = reasons({"nodes": [node("a", unschedulable=True), node("b")]}, pod("p", 1, affinity=wanted))
    assert found == {"a": (why.NOT_NAMED,), "b": ()}


def test_conflicting_names_fail_for_the_whole_cluster() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("a", "b")]
    found = state({"nodes": [node("a")]}, pod("p", affinity=requires({"matchFields": fields})))
    assert found.cluster_failure(0) == why.AFFINITY_CONFLICT


def test_every_short_resource_is_told() -> None:
    cluster = {"nodes": [node("a", 1, room={"pods": "0", "cpu": "1"})]}
    assert one(cluster, pod("p", 2, cpu="2")) == (why.TOO_MANY_PODS, "Insufficient cpu", f"Insufficient {GPU}")


def test_what_is_not_asked_for_is_not_checked() -> None:
    cluster = {"nodes": [node("a", 1, room={"cpu": "1"})], "pods": [bound("e", "a", cpu="5")]}
    assert one(cluster, pod("p", 1)) == ()
    assert one(cluster, pod("p", 1, cpu="1m")) == ("Insufficient cpu",)


def test_allocatable_decides_and_capacity_stands_in_for_it() -> None:
    short = node("a", 8)
    short["status"] = {"capacity": {GPU: "8", "pods": "9"}, "allocatable": {GPU: "6", "pods": "9"}}
    assert one({"nodes": [short], "pods": [bound("e", "a", 6)]}, pod("p", 1)) == (f"Insufficient {GPU}",)
    del short["status"]["allocatable"]
    assert one({"nodes": [short]}, pod("p", 8)) == ()


def test_who_holds_and_who_does_not() -> None:
    leaving = bound("d", "a", 1)
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    cluster = {
        "nodes": [node("a", 4)],
        "pods": [
            bound("s", "a", 4, phase="Succeeded"),
            bound("f", "a", 4, phase="Failed"),
            leaving,
            bound("elsewhere", "gone", 4),
            pod("pending", 4),
        ],
    }
    assert one(cluster, pod("p", 3)) == ()
    assert one(cluster, pod("p", 4)) == (f"Insufficient {GPU}",)


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        ({"hostPort": 80}, (why.PORTS,)),
        ({"hostPort": 80, "protocol": "UDP"}, ()),
        ({"hostPort": 80, "hostIP": "127.0.0.1"}, (why.PORTS,)),
        ({"containerPort": 80}, ()),
    ],
)
def test_host_ports(port: Plain, expected: tuple[str, ...]) -> None:
    holder = bound("e", "a")
    holder["spec"]["containers"][0]["ports"] = [{"hostPort": 80}]
    wanted = pod("p")
    wanted["spec"]["containers"][0]["ports"] = [port]
    assert one({"nodes": [node("a")], "pods": [holder]}, wanted) == expected


def test_addresses_that_differ_do_not_conflict_and_the_host_network_takes_all_ports() -> None:
    holder = bound("e", "a")
    holder["spec"]["containers"][0]["ports"] = [{"hostPort": 80, "hostIP": "10.0.0.1"}]
    wanted = pod("p")
    wanted["spec"]["containers"][0]["ports"] = [{"hostPort": 80, "hostIP": "10.0.0.2"}]
    cluster = {"nodes": [node("a")], "pods": [holder]}
    assert one(cluster, wanted) == ()
    wanted["spec"]["containers"][0]["ports"] = [{"containerPort": 80}]
    wanted["spec"]["hostNetwork"] = True
    assert one(cluster, wanted) == (why.PORTS,)


def test_sidecars_take_ports_and_init_containers_do_not() -> None:
    wanted = pod("p", initContainers=[{"name": "i", "ports": [{"hostPort": 80}]}])
    holder = bound("e", "a", initContainers=[{"name": "i", "ports": [{"hostPort": 80}], "restartPolicy": "Always"}])
    cluster = {"nodes": [node("a")], "pods": [holder]}
    assert one(cluster, wanted) == ()
    wanted["spec"]["initContainers"][0]["restartPolicy"] = "Always"
    assert one(cluster, wanted) == (why.PORTS,)


# --- pod affinity -----------------------------------------------------------------------------------------------------

ZONES = [node("a", zone="x"), node("b", zone="y"), node("c")]


def test_affinity_needs_a_pod_in_the_domain_and_the_label_on_the_node() -> None:
    found = reasons({"nodes": ZONES, "pods": [bound("e", "a", labels=LABELS)]}, pod("p", affinity=near(ZONE, APP)))
    assert found == {"a": (), "b": (why.POD_AFFINITY,), "c": (why.POD_AFFINITY,)}


def test_the_first_of_a_series_may_go_anywhere_until_a_pod_matches() -> None:
    first = pod("p", labels=LABELS, affinity=near(ZONE, APP))
    assert reasons({"nodes": ZONES}, first) == {"a": (), "b": (), "c": (why.POD_AFFINITY,)}
    # A matching pod on a node without the label does not end the exception.
    assert reasons({"nodes": ZONES, "pods": [bound("e", "c", labels=LABELS)]}, first)["b"] == ()
    assert reasons({"nodes": ZONES, "pods": [bound("e", "a", labels=LABELS)]}, first)["b"] == (why.POD_AFFINITY,)
    other = pod("p", affinity=near(ZONE, APP))
    assert reasons({"nodes": ZONES}, other)["a"] == (why.POD_AFFINITY,)


def test_one_pod_must_meet_all_terms() -> None:
    terms = near(ZONE, APP)
    terms["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"].append(
        {"topologyKey": HOST, "labelSelector": {"matchLabels": {"team": "r"}}}
    )
    two = [bound("e", "a", labels=LABELS), bound("f", "a", labels={"team": "r"})]
    assert one({"nodes": ZONES, "pods": two}, pod("p", affinity=terms)) == (why.POD_AFFINITY,)
    both = [bound("e", "a", labels={**LABELS, "team": "r"})]
    assert one({"nodes": ZONES, "pods": both}, pod("p", affinity=terms)) == ()


def test_anti_affinity_both_ways() -> None:
    standing = [bound("e", "a", labels=LABELS)]
    assert reasons({"nodes": ZONES, "pods": standing}, pod("p", affinity=apart(ZONE, APP))) == {
        "a": (why.POD_ANTI_AFFINITY,),
        "b": (),
        "c": (),
    }
    owner = [bound("e", "a", affinity=apart(ZONE, APP))]
    assert one({"nodes": ZONES, "pods": owner}, pod("p", labels=LABELS)) == (why.EXISTING_ANTI_AFFINITY,)
    assert one({"nodes": ZONES, "pods": owner}, pod("p", labels=LABELS, namespace="other")) == ()


def test_selectors_of_terms() -> None:
    standing = [bound("e", "a", labels={"app": "b"})]
    assert one({"nodes": ZONES, "pods": standing}, pod("p", affinity=apart(ZONE, {}))) == (why.POD_ANTI_AFFINITY,)
    assert one({"nodes": ZONES, "pods": standing}, pod("p", affinity=apart(ZONE, None))) == ()


def test_namespaces_and_namespace_selector_are_a_union() -> None:
    spaces = [{"metadata": {"name": "gold", "labels": {"tier": "gold"}}}, {"metadata": {"name": "iron"}}]
    wanted = pod(
        "p", affinity=apart(ZONE, APP, namespaces=["iron"], namespaceSelector={"matchLabels": {"tier": "gold"}})
    )
    for space, expected in (("gold", why.POD_ANTI_AFFINITY), ("iron", why.POD_ANTI_AFFINITY), ("team", "")):
        standing = [bound("e", "a", labels=LABELS, namespace=space)]
        cluster = {"nodes": ZONES, "pods": standing, "namespaces": spaces}
        assert one(cluster, wanted) == ((expected,) if expected else ())


def test_match_label_keys_narrow_a_term() -> None:
    standing = [bound("e", "a", labels={**LABELS, "hash": "1"})]
    for keys, hash_, expected in (
        ({"matchLabelKeys": ["hash"]}, "1", True),
        ({"matchLabelKeys": ["hash"]}, "2", False),
        ({"mismatchLabelKeys": ["hash"]}, "1", False),
        ({"mismatchLabelKeys": ["hash"]}, "2", True),
    ):
        wanted = pod("p", labels={"hash": hash_}, affinity=apart(ZONE, APP, **keys))
        assert bool(one({"nodes": ZONES, "pods": standing}, wanted)) is expected


# --- topology spread --------------------------------------------------------------------------------------------------


def test_spread_counts_the_emptiest_domain() -> None:
    standing = [bound("e", "a", labels=LABELS)]
    wanted = pod("p", labels=LABELS, topologySpreadConstraints=spread(ZONE, APP))
    assert reasons({"nodes": ZONES, "pods": standing}, wanted) == {
        "a": (why.SPREAD,),
        "b": (),
        "c": (why.SPREAD_LABEL,),
    }


def test_spread_ignores_leaving_pods_other_namespaces_and_empty_selectors() -> None:
    leaving = bound("e", "a", labels=LABELS)
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    wanted = pod("p", labels=LABELS, topologySpreadConstraints=spread(ZONE, APP))
    assert one({"nodes": ZONES, "pods": [leaving]}, wanted) == ()
    assert one({"nodes": ZONES, "pods": [bound("e", "a", labels=LABELS, namespace="o")]}, wanted) == ()
    anything = pod("p", labels=LABELS, topologySpreadConstraints=spread(ZONE, {}))
    assert one({"nodes": ZONES, "pods": [bound("e", "a", labels=LABELS)]}, anything) == ()


@pytest.mark.parametrize(("policy", "expected"), [({}, (why.SPREAD,)), ({"nodeTaintsPolicy": "Honor"}, ())])
def test_spread_and_tainted_domains(policy: Plain, expected: tuple[str, ...]) -> None:
    nodes = [node("a", zone="x"), node("b", zone="y", taints=[{"key": "k", "effect": "NoSchedule"}])]
    wanted = pod("p", labels=LABELS, topologySpreadConstraints=spread(ZONE, APP, **policy))
    assert one({"nodes": nodes, "pods": [bound("e", "a", labels=LABELS)]}, wanted) == expected


@pytest.mark.parametrize(("policy", "expected"), [({}, ()), ({"nodeAffinityPolicy": "Ignore"}, (why.SPREAD,))])
def test_spread_and_unselected_domains(policy: Plain, expected: tuple[str, ...]) -> None:
    nodes = [node("a", zone="x", labels={"pool": "p"}), node("b", zone="y")]
    rules = spread(ZONE, APP, **policy)
    wanted = pod("p", labels=LABELS, nodeSelector={"pool": "p"}, topologySpreadConstraints=rules)
    assert one({"nodes": nodes, "pods": [bound("e", "a", labels=LABELS)]}, wanted) == expected


def test_spread_with_too_few_domains_takes_the_minimum_as_zero() -> None:
    standing = [bound("e", "a", labels=LABELS), bound("f", "b", labels=LABELS)]
    nodes = ZONES[:2]
    few = pod("p", labels=LABELS, topologySpreadConstraints=spread(ZONE, APP, minDomains=3))
    enough = pod("p", labels=LABELS, topologySpreadConstraints=spread(ZONE, APP, minDomains=2))
    assert one({"nodes": nodes, "pods": standing}, few) == (why.SPREAD,)
    assert one({"nodes": nodes, "pods": standing}, enough) == ()


def test_soft_spread_is_no_filter_and_match_label_keys_count_the_own_revision() -> None:
    standing = [bound("e", "a", labels={**LABELS, "hash": "1"})]
    soft = pod("p", labels=LABELS, topologySpreadConstraints=spread(ZONE, APP, whenUnsatisfiable="ScheduleAnyway"))
    assert one({"nodes": ZONES[:2], "pods": standing}, soft) == ()
    for hash_, expected in (("1", (why.SPREAD,)), ("2", ())):
        rules = spread(ZONE, APP, matchLabelKeys=["hash"])
        wanted = pod("p", labels={**LABELS, "hash": hash_}, topologySpreadConstraints=rules)
        assert one({"nodes": ZONES[:2], "pods": standing}, wanted) == expected


# --- the state --------------------------------------------------------------------------------------------------------


def every_rule() -> tuple[Plain, list[Plain]]:
    ports = pod("ports-0", 1)
    ports["spec"]["containers"][0]["ports"] = [{"hostPort": 80}]
    cluster = {"nodes": ZONES[:2], "pods": [bound("e", "a", 1, labels=LABELS)]}
    return cluster, [
        pod("s", 1, labels=LABELS, topologySpreadConstraints=spread(ZONE, APP, 2)),
        pod("n", 1, labels=LABELS, affinity=near(ZONE, APP)),
        pod("x", 1, affinity=apart(HOST, APP)),
        ports,
    ]


def counters(found: Any) -> Any:
    spreads = [[dict(count.counts) for count in counts] for counts in found.spreads]
    floors = [[count.floor() for count in counts] for counts in found.spreads]
    plain = [[dict(pairs) for pairs in kind] for kind in (found.near, found.apart, found.existing)]
    return ([list(row) for row in found.free], plain, spreads, floors, [dict(used) for used in found.ports])


def test_taking_back_leaves_nothing_behind() -> None:
    cluster, pods = every_rule()
    found = state(cluster, *pods)
    before = counters(found)
    for group in range(len(pods)):
        for place in range(2):
            found.place(group, place)
    assert counters(found) != before
    while found.log:
        found.take_back()
    assert counters(found) == before


def test_relaxed_leaves_out_what_later_pods_can_open() -> None:
    wanted = pod("p", affinity=near(ZONE, APP), topologySpreadConstraints=spread("none", APP))
    assert not state({"nodes": ZONES}, wanted).fits(0, 0)
    assert state({"nodes": ZONES}, wanted, options=Options(relaxed=True)).fits(0, 0)


def test_counts_by_reason_count_a_node_for_each_resource() -> None:
    found = state({"nodes": [node("a", 1), node("b", 0)]}, pod("p", 2, cpu="65"))
    assert found.reason_counts(0) == {"Insufficient cpu": 2, f"Insufficient {GPU}": 2}
