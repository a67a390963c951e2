# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every reason code of the preflight, and when it stops."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.findings import Finding
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.preflight import (
    PreflightReport,
    PreflightRequest,
    judge_preflight,
)
from ansible_collections.inference_ops.dynamo.tests.doubles.snapshots import named, snapshot

DGD = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "agg"}, "spec": {}}
SERVED: dict[str, Any] = {
    "api_groups": ["nvidia.com"],
    "api_versions": ["nvidia.com/v1alpha1"],
    "api_resources": ["dynamographdeployments.nvidia.com"],
    "operator": {"release": "1.5.0", "evidence": "Deployment x/y", "ready": True},
}


def judge(
    *definitions: dict[str, Any], findings: tuple[Finding, ...] = (), unknown: Any = "warn", **parts: Any
) -> PreflightReport:
    request = PreflightRequest(
        snapshot(**{**SERVED, **parts}), definitions or (DGD,), findings=findings, unknown=unknown
    )
    return judge_preflight(request)


def outcomes(report: PreflightReport) -> dict[str, str]:
    return {finding.reason_code: finding.outcome for finding in report.findings}


def test_all_well() -> None:
    report = judge()
    assert outcomes(report) == {
        "preflight_namespace_present": "pass",
        "preflight_kind_present": "pass",
        "preflight_operator_present": "pass",
    }
    assert report.to_result()["verdict"] == "pass"
    assert report.to_result()["stop"] is False


@pytest.mark.parametrize(
    ("parts", "code", "outcome"),
    [
        ({"namespaces": []}, "preflight_namespace_missing", "fail"),
        (
            {"namespaces": [named("ml", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})]},
            "preflight_namespace_terminating",
            "fail",
        ),
        ({"namespaces": [], "states": {"namespaces": "forbidden"}}, "preflight_namespace_unreadable", "unknown"),
        ({"api_versions": [], "api_resources": []}, "preflight_kind_absent", "fail"),
        ({"api_resources": ["other.nvidia.com"]}, "preflight_kind_absent", "fail"),
        ({"states": {"api_groups": "error"}}, "preflight_kind_unreadable", "unknown"),
        ({"operator": {}}, "preflight_operator_unseen", "unknown"),
        ({"operator": {"ready": False}}, "preflight_operator_not_ready", "warn"),
        ({"states": {"nodes": "forbidden"}}, "preflight_limitation", "warn"),
        ({"states": {"customresourcedefinitions": "forbidden"}}, "preflight_limitation", "warn"),
    ],
)
def test_what_the_cluster_lacks(parts: dict[str, Any], code: str, outcome: str) -> None:
    report = judge(**parts)
    assert outcomes(report)[code] == outcome
    assert report.findings[0].reason_code == code, "the worst stands first"


def test_a_definition_of_another_version_says_what_there_is() -> None:
    report = judge({**DGD, "apiVersion": "nvidia.com/v1beta1"})
    assert report.findings[0].evidence == ("it has nvidia.com/v1alpha1",)
    assert judge({**DGD, "apiVersion": "example.io/v1"}).findings[0].evidence == ("it has no API group example.io",)


def test_a_dry_run_is_the_better_witness_where_discovery_fails() -> None:
    run = {"apiVersion": DGD["apiVersion"], "kind": DGD["kind"], "name": "agg", "outcome": "accepted"}
    report = judge(states={"api_groups": "forbidden"}, dry_runs=[run])
    assert outcomes(report)["preflight_kind_unreadable"] == "warn"
    assert outcomes(report)["preflight_dry_run_accepted"] == "pass"


@pytest.mark.parametrize(
    ("run", "code", "outcome"),
    [
        ({"outcome": "refused", "message": "spec.x: unknown"}, "preflight_dry_run_refused", "fail"),
        ({"outcome": "conflict", "message": "conflict with helm"}, "preflight_dry_run_conflict", "fail"),
        ({"outcome": "forbidden", "message": "cannot patch"}, "preflight_dry_run_forbidden", "fail"),
        ({"outcome": "error", "message": "webhook down"}, "preflight_dry_run_failed", "unknown"),
        ({"outcome": "refused", "message": "spec.template: field is immutable"}, "preflight_dry_run_immutable", "fail"),
        ({"outcome": "refused", "message": "field is immutable", "kind": "Job"}, "preflight_dry_run_immutable", "warn"),
    ],
)
def test_what_the_server_says_to_a_dry_run(run: dict[str, str], code: str, outcome: str) -> None:
    report = judge(dry_runs=[{"kind": "DynamoGraphDeployment", "name": "agg", **run}])
    finding = next(finding for finding in report.findings if finding.reason_code == code)
    assert (finding.outcome, finding.evidence) == (outcome, (run["message"],))


def test_a_manifest_for_another_namespace() -> None:
    other = {**DGD, "metadata": {"name": "agg", "namespace": "other"}}
    assert outcomes(judge(other))["preflight_namespace_differs"] == "fail"
    assert "preflight_namespace_differs" not in outcomes(judge({**DGD, "metadata": {"name": "agg", "namespace": "ml"}}))
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "namespace": "x"}}
    assert "preflight_namespace_differs" not in outcomes(judge(DGD, node))


def test_all_blockers_are_told_at_once_and_once() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"image": "Bad/Image", "envFrom": [{"secretRef": {"name": "gone"}}]}]},
    }
    pull = Finding("pull_secrets", "fail", "pull_image_invalid", "Image/Bad/Image", "no image")
    fit = Finding("gpu_fit", "unknown", "fit_unknown", "DGD/agg", "who knows")
    report = judge(DGD, pod, findings=(fit, pull), namespaces=[])
    assert [finding.reason_code for finding in report.blockers] == [
        "pull_image_invalid",
        "preflight_namespace_missing",
        "ref_secret_missing",
    ]
    assert report.to_result()["blockers"][0] == "no image"
    assert report.verdict == "fail"


def test_unknown_stops_only_where_the_user_says_so() -> None:
    assert judge(operator={}).to_result()["stop"] is False
    report = judge(operator={}, unknown="fail")
    assert report.verdict == "unknown"
    assert report.to_result()["stop"] is True
    assert report.to_result()["blockers"][0].startswith("The Dynamo operator was not seen")


def test_what_the_operator_makes_is_not_missed() -> None:
    account = {"kind": "ServiceAccount", "metadata": {"name": "agg-k8s-service-discovery"}}
    pod = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"serviceAccountName": "agg-k8s-service-discovery"}}
    request = PreflightRequest(snapshot(**SERVED), (DGD, pod), rendered=(account,))
    assert outcomes(judge_preflight(request))["ref_present"] == "pass"
