# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API server makes of pods before they exist, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.admission import Admission, pod_limits
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.quota import pod_usage, quota_refusals
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.podresources import pod_requests
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.fit.builders import (
    GPU,
    Plain,
    bound,
    demands,
    judge,
    node,
    pod,
)

KATA = {
    "metadata": {"name": "kata"},
    "overhead": {"podFixed": {"cpu": "250m"}},
    "scheduling": {"nodeSelector": {"pool": "kata"}, "tolerations": [{"key": "kata", "operator": "Exists"}]},
}
CLASSES = [
    {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"},
    {"metadata": {"name": "usual"}, "value": 5, "globalDefault": True},
]


def admit(snapshot: Plain, one: Plain) -> Any:
    return Admission(snapshot).admit(one, "team")


def limit_range(*limits: Plain) -> Plain:
    return {"limitranges": [{"metadata": {"name": "l", "namespace": "team"}, "spec": {"limits": list(limits)}}]}


def test_runtime_class_adds_overhead_selector_and_tolerations() -> None:
    found = admit({"runtimeclasses": [KATA]}, pod("p", cpu="1", runtimeClassName="kata", nodeSelector={"a": "b"}))
    assert pod_requests(found.pod)["cpu"] == 1250
    assert found.pod["spec"]["nodeSelector"] == {"a": "b", "pool": "kata"}
    assert {"key": "kata", "operator": "Exists"} in found.pod["spec"]["tolerations"]
    again = admit({"runtimeclasses": [KATA]}, found.pod)
    assert again.pod == found.pod


@pytest.mark.parametrize(
    ("snapshot", "one", "refusal"),
    [
        ({}, pod("p", runtimeClassName="kata"), "there is no runtime class kata"),
        (
            {"runtimeclasses": [KATA]},
            pod("p", runtimeClassName="kata", nodeSelector={"pool": "x"}),
            "the node selector of runtime class kata conflicts with the pod's own",
        ),
        ({}, pod("p", priorityClassName="high"), "there is no priority class high"),
    ],
)
def test_refusals(snapshot: Plain, one: Plain, refusal: str) -> None:
    assert admit(snapshot, one).refusals == (refusal,)
    report = judge({"nodes": [node("a")], **snapshot}, demands(one), explain=False)
    assert report.verdict == "does_not_fit"
    assert refusal in report.proof
    assert "fit_refused" in [finding.reason_code for finding in report.findings]


def test_what_could_not_be_read_is_unknown() -> None:
    kinds = {"nodes": {"state": "observed"}, "pods": {"state": "observed"}, "runtimeclasses": {"state": "forbidden"}}
    snapshot = {"nodes": [node("a")], "kinds": {**kinds, "priorityclasses": {"state": "forbidden"}}}
    for one in (pod("p", runtimeClassName="kata"), pod("p", priorityClassName="high")):
        assert admit(snapshot, one).refusals == ()
        assert "could not be read" in admit(snapshot, one).unknown[0]
        assert judge(snapshot, demands(one)).verdict == "unknown"


def test_priorities() -> None:
    snapshot = {"priorityclasses": CLASSES}
    high = admit(snapshot, pod("p", priorityClassName="high")).pod["spec"]
    assert (high["priority"], high["preemptionPolicy"]) == (1000, "Never")
    assert admit(snapshot, pod("p")).pod["spec"]["priority"] == 5
    assert admit(snapshot, pod("p", priority=7)).pod["spec"]["priority"] == 7
    critical = admit(snapshot, pod("p", priorityClassName="system-node-critical")).pod["spec"]
    assert critical["priority"] == 2_000_001_000


def test_default_tolerations_are_added_once() -> None:
    found = admit({}, pod("p")).pod
    assert [one["key"] for one in found["spec"]["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    assert admit({}, found).pod == found
    assert len(admit({}, pod("p", tolerations=[{"operator": "Exists"}])).pod["spec"]["tolerations"]) == 1


def test_limit_range_defaults() -> None:
    source = limit_range(
        {"type": "Container", "default": {"cpu": "4"}, "defaultRequest": {"cpu": "2", "memory": "1Gi"}}
    )
    assert pod_requests(admit(source, pod("p")).pod) == {"cpu": 2000, "memory": 2**30}
    assert pod_requests(admit(source, pod("p", cpu="1")).pod)["cpu"] == 1000
    elsewhere = {**pod("p"), "metadata": {"name": "p", "namespace": "other"}}
    assert pod_requests(admit(source, elsewhere).pod) == {}


@pytest.mark.parametrize(
    ("limit", "refused"),
    [
        ({"type": "Container", "min": {"cpu": "2"}}, "below the limit range's minimum 2"),
        ({"type": "Container", "max": {"cpu": "500m"}}, "not within the limit range's maximum 500m"),
        ({"type": "Container", "max": {GPU: "1"}}, "not within the limit range's maximum 1"),
        ({"type": "Pod", "max": {"cpu": "500m"}}, "pod: "),
        ({"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}, "above the ratio 2"),
        ({"type": "Container", "max": {"cpu": "8"}, "default": {"cpu": "1"}}, ""),
    ],
)
def test_limit_range_violations(limit: Plain, refused: str) -> None:
    found = " ".join(admit(limit_range(limit), pod("p", 2, cpu="1")).refusals)
    assert refused in found
    assert bool(found) is bool(refused)


def test_limits_are_summed_as_requests_are() -> None:
    one = pod("p", overhead={"cpu": "1", "memory": "1Gi"})
    one["spec"]["containers"] = [{"resources": {"limits": {"cpu": "2"}}}, {"resources": {"limits": {"cpu": "3"}}}]
    assert pod_limits(one) == {"cpu": 6000}
    one["spec"]["resources"] = {"limits": {"cpu": "4"}}
    assert pod_limits(one)["cpu"] == 5000


# --- quotas -----------------------------------------------------------------------------------------------------------


def quota(hard: Plain, used: Plain | None = None, **spec: Any) -> Plain:
    found = {"metadata": {"name": "q", "namespace": "team"}, "spec": {"hard": hard, **spec}}
    return {"resourcequotas": [{**found, "status": {"hard": hard, "used": used or {}}}]}


def over(source: Plain, *pods: Plain, gone: tuple[Plain, ...] = ()) -> list[str]:
    return [text for _name, text in quota_refusals(source, list(pods), gone)]


def test_what_a_pod_counts_for() -> None:
    assert pod_usage(pod("p", 2, cpu="500m")) == {
        "pods": 1,
        "count/pods": 1,
        "cpu": 500,
        "requests.cpu": 500,
        f"requests.{GPU}": 2,
    }


@pytest.mark.parametrize(
    ("hard", "used", "fits"),
    [
        ({f"requests.{GPU}": "8"}, {f"requests.{GPU}": "4"}, True),
        ({f"requests.{GPU}": "8"}, {f"requests.{GPU}": "5"}, False),
        ({"pods": "2"}, {"pods": "0"}, True),
        ({"pods": "2"}, {"pods": "1"}, False),
        ({"requests.cpu": "1"}, {"requests.cpu": "0"}, True),
        ({"requests.cpu": "900m"}, {}, False),
        ({"cpu": "1"}, {"cpu": "100m"}, False),
        ({"limits.example.com/x": "0"}, {}, True),
    ],
)
def test_quotas(hard: Plain, used: Plain, fits: bool) -> None:
    pods = [pod("p", 2, cpu="500m"), pod("q", 2, cpu="500m")]
    assert bool(over(quota(hard, used), *pods)) is not fits


def test_what_goes_is_given_back() -> None:
    source = quota({f"requests.{GPU}": "8"}, {f"requests.{GPU}": "8"})
    assert over(source, pod("p", 8))
    assert over(source, pod("p", 8), gone=(bound("old", "a", 8),)) == []


def test_quotas_that_count_cpu_need_every_container_to_ask() -> None:
    assert over(quota({"limits.cpu": "100"}), pod("p", cpu="1")) == ["limits.cpu must be set for container main"]
    level = pod("p", resources={"requests": {"cpu": "1"}})
    assert over(quota({"requests.cpu": "100"}), level) == []


@pytest.mark.parametrize(
    ("spec", "one", "counts"),
    [
        ({"scopes": ["BestEffort"]}, pod("p"), True),
        ({"scopes": ["NotBestEffort"]}, pod("p"), False),
        ({"scopes": ["Terminating"]}, pod("p", activeDeadlineSeconds=5), True),
        ({"scopes": ["NotTerminating"]}, pod("p", activeDeadlineSeconds=5), False),
        ({"scopes": ["CrossNamespacePodAffinity"]}, pod("p"), False),
        (
            {"scopes": ["CrossNamespacePodAffinity"]},
            pod(
                "p",
                affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"namespaces": ["x"]}]}},
            ),
            True,
        ),
        *(
            (
                {
                    "scopeSelector": {
                        "matchExpressions": [{"scopeName": "PriorityClass", "operator": operator, "values": values}]
                    }
                },
                pod("p", priorityClassName=name),
                counts,
            )
            for operator, values, name, counts in (
                ("In", ["high"], "high", True),
                ("In", ["high"], "low", False),
                ("NotIn", ["high"], "low", True),
                ("Exists", [], "low", True),
                ("DoesNotExist", [], "low", False),
            )
        ),
    ],
)
def test_scopes(spec: Plain, one: Plain, counts: bool) -> None:
    assert bool(over(quota({"pods": "0"}, **spec), one)) is counts
