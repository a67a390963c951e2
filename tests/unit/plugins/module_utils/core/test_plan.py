# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole judgement: the judges' findings come together, and what is not known never counts as enough."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.pinned import PINNED_UNKNOWN
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.plan import PlanReport, PlanRequest, make_plan
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot import Snapshot

IMAGE = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.1.0"
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "gpu-0", "labels": {"kubernetes.io/hostname": "gpu-0"}},
    "spec": {},
    "status": {
        "allocatable": {
            "cpu": "64",
            "memory": "512Gi",
            "pods": "110",
            "nvidia.com/gpu": "8",
            "ephemeral-storage": "1Ti",
        },
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
OBSERVED = (
    *("namespaces", "nodes", "pods", "persistentvolumeclaims", "persistentvolumes", "storageclasses", "secrets"),
    *("configmaps", "serviceaccounts", "resourcequotas", "limitranges", "priorityclasses", "runtimeclasses"),
    *("dynamographdeployments", "deployments", "services"),
)


def snapshot(**changes: Any) -> Snapshot:
    data: dict[str, Any] = {
        "schema": "inference_ops.dynamo/snapshot/v1",
        "taken_at": "2026-01-31T12:00:00Z",
        "context": "test",
        "server_version": "v1.36.3",
        "namespace": "serving",
        "kinds": {kind: {"state": "observed", "detail": ""} for kind in OBSERVED},
        **{kind: [] for kind in OBSERVED},
        "namespaces": [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "serving"}}],
        "nodes": [NODE],
        "api_requests": 0,
    }
    return Snapshot.from_plain({**data, **changes})


def graph(gpus: str = "4", replicas: int = 2, **service: Any) -> dict[str, Any]:
    worker = {
        "componentType": "worker",
        "replicas": replicas,
        "resources": {"limits": {"gpu": gpus}},
        "extraPodSpec": {"mainContainer": {"image": IMAGE}},
        **service,
    }
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "demo"},
        "spec": {"backendFramework": "vllm", "services": {"Worker": worker}},
    }


def plan(definitions: list[dict[str, Any]], state: Snapshot | None = None, **options: Any) -> PlanReport:
    request = PlanRequest(tuple(copy.deepcopy(definitions)), state or snapshot(), release="1.1", **options)
    return make_plan(request, clock=lambda: 0.0, time_limit=5.0)


def codes(report: PlanReport, outcome: str) -> set[str]:
    return {finding.reason_code for finding in report.findings if finding.outcome == outcome}


def test_a_deployment_that_fits_gets_a_placement() -> None:
    report = plan([graph()])
    assert report.verdict == "fits"
    assert report.ok
    assert report.gpus_requested == 8
    result = report.to_result()
    assert [entry["node"] for entry in result["fit"]["placements"]] == ["gpu-0", "gpu-0"]
    assert result["render"]["name"] == "demo"
    assert result["limitations"] == []


def test_all_blockers_are_told_at_once() -> None:
    report = plan([graph(replicas=3, envFromSecret="no-such-secret")], gpu_ceiling=8)
    assert report.verdict == "does_not_fit"
    assert not report.ok
    failed = codes(report, "fail")
    assert {"fit_does_not_fit", "ref_secret_missing"} <= failed
    assert any("ceiling" in code for code in failed)


def test_an_accepted_finding_warns_and_others_still_stop() -> None:
    report = plan([graph(replicas=3)], accepted=frozenset({"fit_does_not_fit"}))
    assert report.ok
    assert "fit_does_not_fit" in codes(report, "warn")
    # The verdict is what was found, whatever a person makes of it.
    assert report.verdict == "does_not_fit"


def test_pods_of_a_refused_deployment_are_unknown_and_not_enough() -> None:
    refused = graph()
    refused["metadata"]["name"] = "Not_A_Name"
    try:
        report = plan([refused])
    except InputError:
        refused = graph(replicas=-1)
        report = plan([refused])
    assert report.fit is None
    assert (report.verdict, report.ok) == ("unknown", False)
    assert "plan_not_expanded" in codes(report, "unknown")


def test_a_pin_that_cannot_be_compared_stops_until_a_person_accepts_it() -> None:
    pin = PINNED_UNKNOWN.finding("unknown", "Knob/replicas", "cannot be told")
    assert not plan([graph()], findings=(pin,)).ok
    assert plan([graph()], findings=(pin,), accepted=frozenset({PINNED_UNKNOWN.code})).ok


@pytest.mark.parametrize(("unknown", "ok"), [("warn", True), ("fail", False)])
def test_nodes_that_may_not_be_read_are_unknown(unknown: Any, ok: bool) -> None:
    kinds = {**snapshot().data["kinds"], "nodes": {"state": "forbidden", "detail": "needs list on nodes"}}
    report = plan([graph()], snapshot(kinds=kinds, nodes=[]), unknown=unknown)
    assert report.verdict == "unknown"
    assert report.ok is ok
    assert [finding["subject"] for finding in report.to_result()["limitations"]] == ["Kind/nodes"]


def test_a_claim_of_the_manifests_counts_as_there() -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "cache"},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "fast",
        },
    }
    storage = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "example.org/disks",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    state = snapshot(storageclasses=[storage])
    dgd = graph(volumeMounts=[{"name": "cache", "mountPoint": "/cache"}])
    dgd["spec"]["pvcs"] = [{"name": "cache", "create": False}]
    report = plan([dgd, claim], state)
    assert (report.verdict, codes(report, "fail")) == ("fits", set())
    assert "ref_claim_missing" in codes(plan([dgd], state), "fail")


def test_manifests_without_a_deployment_are_refused() -> None:
    with pytest.raises(InputError, match="DynamoGraphDeployment"):
        plan([])


def test_another_release_is_compared_where_asked() -> None:
    assert plan([graph()], compare_to="1.5").to_result()["render"]["changes"]["to"] == "1.5"
    assert "changes" not in plan([graph()]).to_result()["render"]
