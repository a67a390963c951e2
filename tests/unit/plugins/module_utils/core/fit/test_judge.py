# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole judgement: verdicts, findings, holdings, headroom, suggestions, prediction."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.account import is_gpu
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.report import REASONS, FitReport
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.fit.builders import (
    DGD_LABEL,
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
)

TAINT = {"key": "reserved-for", "value": "another-team", "effect": "NoSchedule"}


def codes(report: FitReport) -> list[str]:
    return [finding.reason_code for finding in report.findings]


def many(name: str, count: int, gpus: int, **spec: Any) -> list[Plain]:
    return [pod(f"{name}-{number}", gpus, **spec) for number in range(count)]


def of_dgd(name: str, where: str, gpus: int, dgd: str, **more: Any) -> Plain:
    return bound(name, where, gpus, labels={DGD_LABEL: dgd}, **more)


def test_a_fit_names_a_node_for_each_pod() -> None:
    report = judge({"nodes": [node("a"), node("b", 4)]}, demands(*many("w", 1, 8), *many("v", 2, 2)))
    assert report.verdict == "fits"
    assert sorted((one.pod, one.component, one.node) for one in report.placements) == [
        ("v-0", "v", "b"),
        ("v-1", "v", "b"),
        ("w-0", "w", "a"),
    ]
    assert codes(report) == ["fit_fits"]
    assert report.findings[0].outcome == "pass"
    assert (report.proof, report.unknown, report.unplaced, report.suggestions) == ("", (), (), ())


def test_enough_in_all_but_not_on_one_node() -> None:
    nodes = [node(name, 1) for name in "abc"]
    report = judge({"nodes": nodes}, demands(*many("w", 1, 2)))
    assert report.verdict == "does_not_fit"
    assert report.unplaced[0].reasons == {f"Insufficient {GPU}": 3}
    assert report.unplaced[0].message == f"0/3 nodes are available: 3 Insufficient {GPU}."
    assert report.unplaced[0].requests == {GPU: "2"}
    assert codes(report) == ["fit_does_not_fit"]
    assert judge({"nodes": nodes}, demands(*many("w", 3, 1))).verdict == "fits"


def test_several_extended_resources_bind_together() -> None:
    efa = "vpc.amazonaws.com/efa"

    def run(second: str) -> FitReport:
        nodes = [node(name, 8, room={efa: amount, "cpu": "200"}) for name, amount in (("a", "32"), ("b", second))]
        pods = many("prefill", 6, 2) + many("decode", 2, 2)
        for one in pods:
            one["spec"]["containers"][0]["resources"]["requests"][efa] = "8"
        return judge({"nodes": nodes}, demands(*pods))

    assert run("32").verdict == "fits"
    short = run("31")
    assert short.verdict == "does_not_fit"
    assert short.proof == f"prefill and decode need 8 places for 8 {efa}; 2 nodes have 7"
    assert [one.reasons for one in short.unplaced] == [{f"Insufficient {efa}": 2, f"Insufficient {GPU}": 1}]


def tight() -> tuple[Plain, tuple[Any, ...]]:
    """Two resources whose sums and counts allow the pods, but no packing does."""
    nodes = [node("a", 4, room={"cpu": "4"}), node("b", 4, room={"cpu": "4"})]
    sizes = (("p", 3, "3"), ("q", 1, "2"), ("r", 2, "1"), ("s", 2, "2"))
    return {"nodes": nodes}, demands(*(pod(f"{name}-0", gpus, cpu=cpu) for name, gpus, cpu in sizes))


def test_exhaustive_proof_tells_what_was_tried() -> None:
    report = judge(*tight())
    assert report.verdict == "does_not_fit"
    assert report.states > 0
    assert "every way to place the 4 pods on the 2 nodes open to them was tried" in report.proof


def test_time_that_is_up_is_unknown() -> None:
    report = judge(*tight(), limit=1.0, step=5.0)
    assert report.verdict == "unknown"
    assert report.unknown == ("the time limit was reached before the search ended",)
    assert codes(report)[0] == "fit_unknown"
    assert report.headroom == ()


@pytest.mark.parametrize("kind", ["nodes", "pods"])
def test_an_unread_cluster_is_unknown(kind: str) -> None:
    kinds = {"nodes": {"state": "observed"}, "pods": {"state": "observed"}, kind: {"state": "forbidden"}}
    report = judge({"nodes": [node("a")], "kinds": kinds}, demands(*many("w", 1, 1)))
    assert report.verdict == "unknown"
    assert kind in report.unknown[0]
    assert codes(report) == ["fit_unknown"]


@pytest.mark.parametrize(
    "spec",
    [
        {"resourceClaims": [{"name": "gpu"}]},
        {"volumes": [{"name": "d", "rbd": {"image": "i"}}]},
        {"hostNetwork": True, "hostUsers": False},
        {"initContainers": [{"name": "i", "restartPolicyRules": [{"action": "RestartAllContainers"}]}]},
        {"affinity": apart(ZONE, {}, namespaceSelector={"matchLabels": {"a": "b"}})},
    ],
)
def test_what_is_not_judged_is_unknown_unless_the_rest_does_not_fit(spec: Plain) -> None:
    kinds = {"nodes": {"state": "observed"}, "pods": {"state": "observed"}, "namespaces": {"state": "forbidden"}}
    snapshot = {"nodes": [node("a")], "kinds": kinds}
    doubtful = demands(pod("d-0", **spec))
    report = judge(snapshot, doubtful)
    assert (report.verdict, report.prediction.state) == ("unknown", "not_judged")
    assert report.unknown[0].startswith("d: ")
    assert judge(snapshot, (*doubtful, *demands(*many("w", 2, 8)))).verdict == "does_not_fit"


def test_device_classes_and_demands_that_are_unknown_themselves() -> None:
    by_class = pod("d-0")
    by_class["spec"]["containers"][0]["resources"]["requests"] = {"deviceclass.resource.kubernetes.io/gpu": "1"}
    assert judge({"nodes": [node("a")]}, demands(by_class)).verdict == "unknown"
    unsure = replace(demands(*many("w", 1, 1))[0], unknown=("the graph could not be expanded",))
    report = judge({"nodes": [node("a")]}, (unsure,))
    assert report.unknown == ("w-0: the graph could not be expanded",)


def test_nothing_to_place_fits() -> None:
    assert judge({"nodes": []}, ()).verdict == "fits"


def test_bad_quantities_are_errors() -> None:
    broken = pod("w-0")
    broken["spec"]["containers"][0]["resources"]["requests"] = {GPU: "two"}
    with pytest.raises(InputError, match="not a resource quantity"):
        judge({"nodes": [node("a")]}, demands(broken))


def test_zone_labels_that_come_with_binding() -> None:
    """Seen on the real scheduler: whether such rules hold depends on when it sees the bound pods' new labels."""
    selector = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["x"]}]}
    pods = many("w", 2, 1, affinity=apart(ZONE, selector))
    report = judge({"nodes": [node("a", zone="x")]}, demands(*pods))
    assert report.verdict == "unknown"
    assert "zone label" in report.unknown[0]
    assert judge({"nodes": [node("a", zone="x"), node("b", zone="y")]}, demands(*pods)).verdict == "fits"


# --- whose GPUs -------------------------------------------------------------------------------------------------------


def test_holdings_and_ceiling() -> None:
    pods = [
        of_dgd("r", "a", 2, "other"),
        bound("x", "a", 1, namespace="team-b"),
        of_dgd("far", "a", 1, "other", namespace="n"),
    ]
    snapshot = {"nodes": [node("a"), node("b")], "pods": pods}
    wanted = demands(*many("w", 2, 4))
    report = judge(snapshot, wanted, run_dgds=("other",), gpu_ceiling=10)
    assert report.verdict == "fits"
    assert report.holdings.run == {GPU: 2}
    assert report.holdings.by_namespace == {"n": {GPU: 1}, "team": {GPU: 2}, "team-b": {GPU: 1}}
    assert report.holdings.demanded == {GPU: 8}
    assert (report.holdings.allocatable, report.holdings.free) == ({GPU: 16}, {GPU: 12})
    over = judge(snapshot, wanted, run_dgds=("other",), gpu_ceiling=9)
    assert over.verdict == "does_not_fit"
    assert "the run would hold 10 GPUs (8 for these pods, 2 held already), its ceiling is 9" in over.proof
    assert "fit_gpu_ceiling" in codes(over)
    assert judge(snapshot, wanted, gpu_ceiling=8).verdict == "fits"


def test_the_own_live_pods_are_replaced_and_the_retiring_ones_gone() -> None:
    snapshot = {"nodes": [node("a")], "pods": [of_dgd("o", "a", 4, "mine"), of_dgd("r", "a", 4, "old")]}
    wanted = demands(*many("w", 2, 4, labels={DGD_LABEL: "mine"}))
    assert judge(snapshot, wanted).verdict == "does_not_fit"
    report = judge(snapshot, wanted, retiring=("old",), run_dgds=("old", "mine"), gpu_ceiling=8)
    assert report.verdict == "fits"
    assert (report.holdings.replaced, report.holdings.retiring, report.holdings.run) == ({GPU: 4}, {GPU: 4}, {})
    named = judge(snapshot, demands(*many("w", 1, 4)), dgd_name="mine")
    assert named.holdings.replaced == {GPU: 4}


def test_free_counts_each_node_from_zero() -> None:
    short = node("a", 6)
    snapshot = {"nodes": [short, node("b", 2)], "pods": [bound("e", "a", 8)]}
    assert judge(snapshot, demands(*many("w", 1, 1))).holdings.free == {GPU: 2}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (GPU, True),
        ("nvidia.com/gpu.shared", True),
        ("nvidia.com/mig-1g.10gb", True),
        ("gpu.intel.com/xe", True),
        ("amd.com/gpu", True),
        ("habana.ai/gaudi", True),
        ("rdma/ib", False),
        ("cpu", False),
        ("gpu", False),
    ],
)
def test_what_is_a_gpu(name: str, expected: bool) -> None:
    assert is_gpu(name) is expected


def test_quotas_speak_for_the_namespace() -> None:
    quota = {"metadata": {"name": "q", "namespace": "team"}, "spec": {"hard": {f"requests.{GPU}": "1"}}}
    report = judge({"nodes": [node("a")], "resourcequotas": [quota]}, demands(*many("w", 2, 1)))
    assert report.verdict == "does_not_fit"
    assert "resource quota q keeps pods from being created" in report.proof
    assert codes(report) == ["fit_does_not_fit", "fit_quota"]


def test_quotas_that_were_not_read_are_said_so() -> None:
    kinds = {kind: {"state": "observed"} for kind in ("nodes", "pods", "limitranges")}
    snapshot = {"nodes": [node("a")], "kinds": {**kinds, "resourcequotas": {"state": "forbidden"}}}
    report = judge(snapshot, demands(*many("w", 1, 1)))
    assert (report.verdict, codes(report)) == ("fits", ["fit_quota_unknown", "fit_fits"])
    elsewhere = {"nodes": [node("a")], "namespace": "another"}
    assert codes(judge(elsewhere, demands(*many("w", 1, 1)))).count("fit_quota_unknown") == 2


def test_claims_of_a_snapshot_of_another_namespace_are_not_judged() -> None:
    mount: Any = {"volumes": [{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}]}
    report = judge({"nodes": [node("a")], "namespace": "another"}, demands(pod("w-0", **mount)))
    assert report.verdict == "unknown"


# --- explanation ------------------------------------------------------------------------------------------------------


def test_headroom_grows_and_shrinks() -> None:
    nodes = [node("a"), node("b")]
    report = judge({"nodes": nodes}, demands(*many("w", 1, 8), *many("v", 2, 2)))
    assert [(one.component, one.asked, one.fits, one.exact) for one in report.headroom] == [
        ("w", 1, 1, True),
        ("v", 2, 4, True),
    ]
    short = judge({"nodes": nodes}, demands(*many("w", 2, 8), *many("v", 2, 2)))
    assert [(one.component, one.fits) for one in short.headroom] == [("w", 1), ("v", 0)]
    assert [one.message for one in short.suggestions] == ["w with 1 replicas instead of 2 fits"]


def test_headroom_without_a_limit_says_at_least() -> None:
    endless = node("a", room={"pods": "9999"})
    report = judge({"nodes": [endless]}, demands(pod("front-0")))
    assert [(one.fits >= 257, one.exact) for one in report.headroom] == [(True, False)]


def test_headroom_counts_whole_gangs() -> None:
    racks = [node(f"{rack}{number}", labels={"rack": rack}) for rack in "abc" for number in range(2)]
    members = tuple(
        in_gang(one, f"g{number // 2}", 2, "rack", replica=number // 2)
        for number, one in enumerate(demands(*many("w", 2, 8)))
    )
    report = judge({"nodes": racks}, members)
    assert [(one.asked, one.fits, one.exact) for one in report.headroom] == [(1, 3, True)]


def test_fewer_of_all_where_fewer_of_one_is_not_enough() -> None:
    report = judge({"nodes": [node("a", 6)]}, demands(*many("w", 4, 2), *many("v", 4, 2)))
    assert [one.message for one in report.suggestions] == ["fewer replicas fit together: w 1 of 4, v 1 of 4"]


def test_a_missing_toleration_is_named_and_not_added() -> None:
    nodes = [
        node("a", taints=[TAINT]),
        node("b", 4),
        node("c", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]),
    ]
    report = judge({"nodes": nodes}, demands(*many("w", 1, 8)))
    assert report.verdict == "does_not_fit"
    assert [one.kind for one in report.suggestions] == ["missing_toleration"]
    assert "reserved-for=another-team:NoSchedule (1 nodes)" in report.suggestions[0].message
    assert report.findings[0].remedy == report.suggestions[0].message


def test_retiring_the_runs_own_is_suggested_where_it_helps() -> None:
    snapshot = {"nodes": [node("a")], "pods": [of_dgd("r", "a", 8, "old")]}
    report = judge(snapshot, demands(*many("w", 1, 8)), run_dgds=("old",))
    assert [one.message for one in report.suggestions] == ["with old gone the pods fit"]


def test_only_by_preempting() -> None:
    snapshot = {"nodes": [node("a")], "pods": [bound("low", "a", 8, priority=0)]}
    report = judge(snapshot, demands(*many("w", 1, 8, priority=10)))
    assert (report.verdict, report.fits_only_by_preempting) == ("does_not_fit", True)
    assert codes(report) == ["fit_does_not_fit", "fit_only_by_preempting"]
    assert report.prediction.may_preempt == ("w-0",)
    never = judge(snapshot, demands(*many("w", 1, 8, priority=10, preemptionPolicy="Never")))
    assert (never.fits_only_by_preempting, never.prediction.may_preempt) == (False, ())
    assert not judge(snapshot, demands(*many("w", 1, 8, priority=0))).fits_only_by_preempting
    assert not judge(snapshot, demands(*many("w", 2, 8, priority=10))).fits_only_by_preempting


def test_a_fit_the_scheduler_would_miss() -> None:
    """Small pods first are spread over all nodes, and none is left whole."""
    nodes = [node("a"), node("b")]
    report = judge({"nodes": nodes}, demands(*many("small", 2, 1, cpu="1"), *many("large", 1, 8)))
    assert report.verdict == "fits"
    assert report.prediction.pending == ("large-0",)
    assert (report.prediction.runs, report.prediction.all_placed) == (16, 0)
    assert codes(report) == ["fit_prediction_pending", "fit_fits"]
    assert report.findings[0].outcome == "warn"
    assert report.unplaced[0].component == "large"


def test_gates_and_other_schedulers() -> None:
    gated = judge({"nodes": [node("a")]}, demands(*many("w", 1, 1, schedulingGates=[{"name": "g"}])))
    assert gated.prediction.gated == ("w-0",)
    assert "fit_scheduling_gate" in codes(gated)
    other = judge({"nodes": [node("a")]}, demands(*many("w", 1, 1, schedulerName="kai-scheduler")))
    assert (other.prediction.state, other.prediction.reason) == ("not_judged", "the pods go to kai-scheduler")
    none = judge({"nodes": [node("a", 0)]}, demands(*many("w", 1, 1, schedulerName="kai-scheduler")))
    assert none.unplaced[0].pods == ("w-0",)
    assert (
        judge({"nodes": [node("a")]}, demands(*many("w", 1, 1)), predict=False).prediction.reason
        == "it was not asked for"
    )


def test_a_gang_of_which_the_scheduler_would_place_a_part() -> None:
    ganged = tuple(in_gang(one, "group", 3) for one in demands(*many("w", 3, 8)))
    report = judge({"nodes": [node("a"), node("b")]}, ganged)
    assert report.verdict == "does_not_fit"
    assert report.prediction.incomplete_gangs == ("group",)
    assert codes(report) == ["fit_does_not_fit", "fit_gang_incomplete"]
    none = judge({"nodes": [node("a", 4)]}, ganged)
    assert none.prediction.incomplete_gangs == ()


def test_shares_of_a_gpu_may_be_one_gpu() -> None:
    shared = node("a", 4, labels={"nvidia.com/gpu.sharing-strategy": "time-slicing"})
    report = judge({"nodes": [shared]}, demands(*many("w", 1, 2)))
    assert (report.verdict, codes(report)) == ("fits", ["fit_shared_gpu", "fit_fits"])
    assert codes(judge({"nodes": [shared]}, demands(*many("w", 2, 1)))) == ["fit_fits"]
    by_product = node("a", 4, labels={"nvidia.com/gpu.product": "NVIDIA-A100-SHARED"})
    assert "fit_shared_gpu" in codes(judge({"nodes": [by_product]}, demands(*many("w", 1, 2))))


def test_rows_of_the_picture() -> None:
    snapshot = {
        "nodes": [
            node("a"),
            node("b", taints=[TAINT]),
            node("c", 0),
            node("d", 0, room={"nvidia.com/mig-1g.10gb": "7"}),
        ],
        "pods": [of_dgd("r", "a", 1, "old"), bound("x", "a", 2)],
    }
    report = judge(snapshot, demands(*many("w", 1, 4)), run_dgds=("old",))
    rows = {row.node: row for row in report.nodes}
    assert sorted(rows) == ["a", "b", "d"]
    assert (rows["a"].others, rows["a"].run, rows["a"].placed, rows["a"].free) == (2, 1, (("w", 4),), 1)
    assert (rows["b"].free, rows["b"].out) == (8, "node(s) had untolerated taint(s)")
    assert (rows["d"].resource, rows["d"].out) == ("nvidia.com/mig-1g.10gb", "no pod asks for it")


def test_the_result_is_plain_data() -> None:
    nodes = [node("a"), node("b", 4)]
    pods = many("w", 3, 8, labels={"app": "a"}, affinity=near(HOST, {}), topologySpreadConstraints=spread(ZONE, {}))
    report = judge({"nodes": nodes}, demands(*pods))
    result = report.to_result()
    assert json.loads(json.dumps(result)) == result
    assert set(result) == {
        "verdict", "proof", "fits_only_by_preempting", "unknown", "placements", "unplaced", "prediction", "holdings",
        "headroom", "suggestions", "nodes", "findings", "states",
    }  # fmt: skip


def test_every_reason_says_what_to_do() -> None:
    assert all(reason.code.startswith("fit_") and reason.meaning for reason in REASONS)
    assert [reason.code for reason in REASONS if not reason.remedy] == ["fit_fits"]
