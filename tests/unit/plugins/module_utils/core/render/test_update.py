# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a live DGD can be changed, and what the operator refuses."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import keys
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.manifest import choose_dgd, documents_of
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import helm_config
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.admission import admit
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.update import review_update
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.rendering import (
    RenderOptions,
    RenderReport,
    render_document,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot import Snapshot
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import (
    DELETE,
    Graph,
    alpha,
    beta,
    changed,
    service,
)

W = "spec/services/Worker/"
C = "spec/components/1/"


def live(graph: Graph, release: str, **status: Any) -> Graph:
    """Return the graph as a cluster holds it."""
    config = replace(helm_config(release), grove=True)
    made = copy.deepcopy(admit(graph, release=release, config=config).definition)
    return made | ({"status": status} if status else {})


def rules(old: Graph, new: Graph, release: str) -> list[tuple[str, str]]:
    config = replace(helm_config(release), grove=True)
    return [(error.rule, error.field) for error in review_update(old, new, release, config)]


@pytest.mark.parametrize("release", ["1.1", "1.5"])
def test_the_same_manifest_and_harmless_changes_pass(release: str) -> None:
    assert rules(live(alpha(), release), alpha(), release) == []
    new = changed(alpha(), W + "replicas", 5)
    changed(new, W + "extraPodSpec/mainContainer/image", "registry.example/other:1.6.0")
    changed(new, W + "envs", [{"name": "A", "value": "b"}])
    assert rules(live(alpha(), release), new, release) == []


@pytest.mark.parametrize("release", ["1.1", "1.5"])
@pytest.mark.parametrize(
    ("path", "value", "rule", "field"),
    [
        ("spec/backendFramework", "vllm", "update_backend_framework", "spec.backendFramework"),
        (W + "multinode", {"nodeCount": 2}, "update_multinode", "spec.services[Worker].multinode"),
        ("spec/services/Extra", service(), "update_components", "spec.services"),
        ("spec/services/Worker", DELETE, "update_components", "spec.services"),
    ],
)
def test_what_is_fixed_at_creation(release: str, path: str, value: Any, rule: str, field: str) -> None:
    assert rules(live(alpha(), release), changed(alpha(), path, value), release) == [(rule, field)]


def packed(domain: str) -> Graph:
    graph = alpha(topologyConstraint={"topologyProfile": "t", "packDomain": "zone"})
    return changed(graph, W + "topologyConstraint", {"packDomain": domain})


@pytest.mark.parametrize("release", ["1.1", "1.5"])
def test_topology_is_fixed(release: str) -> None:
    assert rules(live(packed("rack"), release), packed("host"), release) == [
        ("update_topology", "spec.services[Worker].topologyConstraint")
    ]
    assert rules(
        live(alpha(), release), alpha(topologyConstraint={"topologyProfile": "t", "packDomain": "a"}), release
    ) == [("update_topology", "spec.topologyConstraint")]


@pytest.mark.parametrize("release", ["1.1", "1.5"])
def test_replicas_under_a_scaling_adapter_are_not_the_users(release: str) -> None:
    managed = changed(alpha(), W + "scalingAdapter", {"enabled": True})
    more = changed(copy.deepcopy(managed), W + "replicas", 5)
    assert rules(live(managed, release), more, release) == [
        ("update_replicas_managed", "spec.services[Worker].replicas")
    ]
    off = changed(copy.deepcopy(more), W + "scalingAdapter", DELETE)
    assert bool(rules(live(managed, release), off, release)) == (release == "1.5")


def test_no_restart_while_a_rolling_update_is_on() -> None:
    rolling = live(alpha(), "1.1", rollingUpdate={"phase": "InProgress"})
    assert rules(rolling, alpha(restart={"id": "2"}), "1.1") == [("update_restart_rolling", "spec.restart.id")]
    done = live(alpha(), "1.1", rollingUpdate={"phase": "Completed"})
    assert rules(done, alpha(restart={"id": "2"}), "1.1") == []
    rolling = live(beta(), "1.5", rollingUpdate={"phase": "Pending"})
    assert rules(rolling, beta(restart={"id": "2"}), "1.5") == [("update_restart_rolling", "spec.restart.id")]


def test_what_only_1_5_fixes() -> None:
    old = changed(beta(), C + "minAvailable", 1)
    new = changed(beta(), C + "replicas", 3)
    assert rules(live(old, "1.5"), changed(new, C + "minAvailable", 2), "1.5") == [
        ("update_min_available", "spec.components[1].minAvailable")
    ]
    forced = changed(beta(), C + "experimental", {"grove": {"forceScalingGroup": True}})
    assert rules(live(beta(), "1.5"), forced, "1.5") == [
        ("update_scaling_group", "spec.components[1].experimental.grove.forceScalingGroup")
    ]
    between = changed(
        beta(backendFramework="vllm"),
        C + "experimental",
        {"gpuMemoryService": {"mode": "InterPod"}, "failover": {"mode": "InterPod"}},
    )
    assert [rule for rule, _unused in rules(live(beta(backendFramework="vllm"), "1.5"), between, "1.5")] == [
        "update_inter_pod",
        "update_shadows",
    ]
    powered = changed(beta(), C + "podTemplate/metadata", {"annotations": {"dynamo.nvidia.com/gpu-power-limit": "300"}})
    assert [rule for rule, _unused in rules(live(beta(), "1.5"), powered, "1.5")] == ["update_power_limit"]
    policy = {"kvTransferPolicy": {"domain": "zone", "labelKey": "k"}}
    assert [rule for rule, _unused in rules(live(beta(experimental=policy), "1.5"), beta(), "1.5")] == [
        "update_kv_transfer"
    ]
    provider = beta(annotations={keys.ANNOTATION_WORKLOAD_PROVIDER: "component"})
    assert [rule for rule, _unused in rules(live(beta(), "1.5"), provider, "1.5")] == ["update_workload_provider"]


def test_an_alpha_manifest_over_what_the_server_stores_as_beta() -> None:
    assert (
        rules(live(beta(), "1.5"), alpha({"Frontend": service("frontend", gpus=None), "Worker": service()}), "1.5")
        == []
    )
    renamed = alpha({"Frontend": service("frontend", gpus=None), "Other": service()})
    assert rules(live(beta(), "1.5"), renamed, "1.5") == [("update_components", "spec.services")]


def test_nothing_is_said_of_what_cannot_be_read() -> None:
    assert rules({"apiVersion": "nvidia.com/v1alpha1", "spec": {"services": 5}}, alpha(), "1.1") == []
    assert rules(live(alpha(), "1.1"), alpha({}), "1.1") == []
    assert rules(live(beta(), "1.5"), alpha(), "1.1") == []


def reported(graph: Graph, old: Graph, release: str) -> RenderReport:
    snapshot = Snapshot.from_plain(
        {
            "schema": "inference_ops.dynamo/snapshot/v1",
            "taken_at": "",
            "context": "",
            "server_version": "",
            "namespace": "team-a",
            "kinds": {"dynamographdeployments": {"state": "observed", "detail": ""}},
            "dynamographdeployments": [old],
        }
    )
    options = RenderOptions(release=release, pathway="grove", snapshot=snapshot)
    return render_document(choose_dgd(documents_of(graph)), options)


def test_a_refused_update_is_a_finding_of_the_rendering() -> None:
    report = reported(changed(alpha(), "spec/backendFramework", "vllm"), live(alpha(), "1.1"), "1.1")
    (finding,) = report.findings
    assert (finding.reason_code, finding.outcome) == ("render_update_refused", "fail")
    assert finding.message.startswith("spec.backendFramework: is fixed at creation")
    assert report.result.pods, "the pods are told all the same"
    assert reported(alpha(), live(alpha(), "1.1"), "1.1").findings == ()


def test_a_restart_of_a_live_graph_is_no_refusal() -> None:
    report = reported(beta(restart={"id": "2"}), live(beta(), "1.5"), "1.5")
    assert report.rejections == ()
    assert report.findings == ()
