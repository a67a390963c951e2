# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rendering as users ask for it: with a snapshot or without, refused or not, compared or not."""

from __future__ import annotations

import re
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.docker_secrets import SecretEntry
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.manifest import choose_dgd, documents_of
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.rendering import (
    REASONS,
    RenderOptions,
    RenderReport,
    render_document,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot import Snapshot
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import Graph, alpha, beta, service

MULTINODE = {"W": service(gpus="8", args=("--tensor-parallel-size", "16"), multinode={"nodeCount": 2})}


def snapshot(namespace: str = "team-a", **more: Any) -> Snapshot:
    data = {
        "schema": "inference_ops.dynamo/snapshot/v1",
        "taken_at": "2026-01-01T00:00:00Z",
        "context": "c",
        "server_version": "v1.36.3",
        "namespace": namespace,
        "kinds": {},
    }
    return Snapshot.from_plain(data | more)


def reported(graph: Graph, **options: Any) -> RenderReport:
    return render_document(choose_dgd(documents_of(graph, "deploy.yaml")), RenderOptions(**options))


def codes(report: RenderReport) -> list[str]:
    return [finding.reason_code for finding in report.findings]


def test_a_sound_graph_passes() -> None:
    report = reported(beta(), release="1.5", pathway="deployment")
    result = report.to_result()
    assert (result["verdict"], result["findings"], result["rejections"]) == ("pass", [], [])
    assert (result["name"], result["namespace"], result["api_version"]) == ("demo", "team-a", "nvidia.com/v1beta1")
    assert (result["release"], result["pathway"]) == ("1.5", "deployment")
    assert [component["name"] for component in result["components"]] == ["Frontend", "Worker"]
    assert [pod["component"] for pod in result["pods"]] == ["Frontend", "Worker"]
    assert "explanation" not in result
    assert "changes" not in result


def test_release_and_pathway_come_from_the_snapshot() -> None:
    seen = snapshot(operator={"release": "1.1.2", "evidence": "image x:1.1.2", "grove": False, "lws": True})
    report = reported(alpha(MULTINODE), snapshot=seen)
    assert (report.result.release, report.pathway) == ("1.1", "lws")
    assert report.release.evidence == "the operator is 1.1.2 (image x:1.1.2)"
    assert "LeaderWorkerSet is on (the cluster offers its API)" in report.pathway_evidence
    seen = snapshot(operator={"release": "1.5.0", "grove": True, "lws": True})
    assert reported(alpha(MULTINODE), snapshot=seen).pathway == "grove"
    off = alpha(MULTINODE, annotations={"nvidia.com/enable-grove": "false"})
    assert reported(off, snapshot=seen).pathway == "lws"
    assert reported(alpha(), snapshot=seen, config={"grove": False}).pathway == "deployment"


def test_assumptions_are_told() -> None:
    report = reported(alpha(MULTINODE))
    assert codes(report) == ["render_release_assumed", "render_pathway_assumed"]
    assert {finding.outcome for finding in report.findings} == {"warn"}
    assert report.pathway == "grove"


def test_a_refusal_is_a_finding_and_a_message() -> None:
    graph = alpha({"W": service(ingress={"enabled": True}), "X": service(volumeMounts=[{"name": "a"}])})
    report = reported(graph, release="1.1")
    assert codes(report) == ["render_refused", "render_refused"]
    assert report.findings[0].subject == "component/W"
    assert report.findings[0].message == "spec.services[W].ingress.host: is needed when the ingress is enabled."
    assert report.refusal() == (
        "deploy.yaml: release 1.1 refuses the DGD at validating-webhook: spec.services[W].ingress.host: "
        "is needed when the ingress is enabled (1 more)."
    )
    assert report.to_result()["verdict"] == "fail"
    assert report.to_result()["pods"] == []


def test_a_refusal_without_a_field_is_a_sentence() -> None:
    report = reported(alpha(MULTINODE), release="1.1", pathway="deployment")
    (finding,) = report.findings
    assert finding.message[0].isupper()
    assert "refuses the DGD at dgd-controller: " in report.refusal()


def test_unknown_fields_and_warnings_are_findings() -> None:
    graph = alpha({"W": service(replica=2, autoscaling={"enabled": True}, scalingAdapter={"enabled": True})})
    report = reported(graph, release="1.1")
    assert sorted(codes(report)) == ["render_operator_warning", "render_replicas_managed", "render_unknown_field"]
    assert report.to_result()["unknown_fields"] == ["spec.services.W.replica"]
    off = alpha({"W": service(scalingAdapter={"enabled": False})})
    assert codes(reported(off, release="1.1")) == []
    adapter = beta()
    adapter["spec"]["components"][1]["scalingAdapter"] = {}
    assert codes(reported(adapter, release="1.5")) == ["render_replicas_managed"]


def test_pods_that_cannot_run_fail() -> None:
    graph = alpha({"W": service(livenessProbe={"failureThreshold": 3})})
    report = reported(graph, release="1.5")
    assert codes(report) == ["render_probe_handler"]


@pytest.mark.parametrize(("release", "names"), [("1.1", ["b-secret", "a-secret"]), ("1.5", ["a-secret", "b-secret"])])
def test_pull_secrets_are_found_in_the_operators_order(release: str, names: list[str]) -> None:
    docker = "kubernetes.io/dockerconfigjson"
    secrets = (
        SecretEntry("b-secret", "", docker, ("registry.example",)),
        SecretEntry("a-secret", "team-a", docker, ("https://registry.example/v2/",)),
        SecretEntry("other", "team-b", docker, ("registry.example",)),
    )
    (frontend, *_unused) = reported(alpha(), release=release, secrets=secrets).result.pods
    assert [item["name"] for item in frontend.pod["spec"]["imagePullSecrets"]] == names
    seen = snapshot(secrets=[{"name": "s", "namespace": "team-a", "type": docker, "registries": ["registry.example"]}])
    (frontend, *_unused) = reported(alpha(), release=release, snapshot=seen).result.pods
    assert frontend.pod["spec"]["imagePullSecrets"] == [{"name": "s"}]


def test_the_component_service_account_of_the_snapshots_namespace() -> None:
    account = {"metadata": {"name": "pods", "labels": {"nvidia.com/dynamo-component-pod": "true"}}}
    options = {"release": "1.1", "config": {"discovery_backend": "etcd"}}
    seen = snapshot(serviceaccounts=[account])
    (frontend, *_unused) = reported(alpha(), snapshot=seen, **options).result.pods
    assert frontend.pod["spec"]["serviceAccountName"] == "pods"
    elsewhere = snapshot("team-b", serviceaccounts=[account])
    (frontend, *_unused) = reported(alpha(), snapshot=elsewhere, **options).result.pods
    assert frontend.pod["spec"]["serviceAccountName"] == "default"


def test_cluster_topologies_of_the_snapshot() -> None:
    graph = alpha(topologyConstraint={"topologyProfile": "grove", "packDomain": "rack"})
    levels = [{"domain": "zone", "key": "node/zone"}, {"domain": "rack", "key": "node/rack"}]
    seen = snapshot(
        kinds={"clustertopologies": {"state": "observed", "detail": ""}},
        clustertopologies=[{"metadata": {"name": "grove"}, "spec": {"levels": levels}}],
    )
    report = reported(graph, release="1.1", pathway="grove", snapshot=seen)
    assert {gang.topology_key for pod in report.result.pods for gang in pod.gangs} == {"node/rack"}
    unseen = reported(graph, release="1.1", pathway="grove", snapshot=snapshot())
    assert all(pod.unknown for pod in unseen.result.pods)
    other = alpha(topologyConstraint={"topologyProfile": "mine", "packDomain": "rack"})
    assert [error.rule for error in reported(other, release="1.1", pathway="grove", snapshot=seen).rejections] == [
        "topology_missing"
    ]


def test_the_operators_settings() -> None:
    config = {
        "nats_address": "nats://here",
        "ingress_class": "nginx",
        "ingress_host_suffix": "example.com",
        "lws": None,
    }
    report = reported(alpha(), release="1.5", config=config)
    env = report.result.pods[0].pod["spec"]["containers"][0]["env"]
    assert {"name": "NATS_SERVER", "value": "nats://here"} in env
    assert "Ingress" in {item["kind"] for item in report.result.objects}
    with pytest.raises(InputError, match=r"operator_config.nats: not a setting of the operator \(found 'x'\)"):
        reported(alpha(), release="1.5", config={"nats": "x"})


def test_dra_follows_the_snapshot() -> None:
    graph = alpha({"W": service(gpuMemoryService={"enabled": True})})
    assert reported(graph, release="1.5").rejections == ()
    missing = snapshot(operator={"dra": False})
    assert [error.rule for error in reported(graph, release="1.5", snapshot=missing).rejections] == ["dra_missing"]
    assert reported(graph, release="1.5", snapshot=missing, config={"dra": True}).rejections == ()


def test_explanations_on_request() -> None:
    report = reported(alpha(), release="1.1", explain=True)
    explained = report.to_result()["explanation"]
    assert explained
    assert {"object", "path", "release", "rule", "source", "why", "value"} == set(explained[0])
    assert any("livenessProbe" in origin["path"] for origin in explained)


def test_comparison_on_request() -> None:
    changes = reported(alpha(), release="1.1", compare_to="1.5").to_result()["changes"]
    assert (changes["from"], changes["to"]) == ("1.1", "1.5")
    assert changes["summary"]


def test_the_diff_shows_the_manifest_beside_the_pods() -> None:
    diff = reported(alpha(MULTINODE), release="1.1", pathway="lws").diff()
    assert diff["before"] == MULTINODE
    assert list(diff["after"]) == ["W (leader)", "W (worker)"]
    assert diff["before_header"] == "deploy.yaml: components"
    assert diff["after"]["W (leader)"]["spec"]["containers"][0]["name"] == "main"


@pytest.mark.parametrize(
    ("limits", "field"),
    [({"gpu": "two"}, "gpu"), ({"cpu": "lots"}, "cpu"), ({"custom": {"a.b/c": "1x"}}, "custom[a.b/c]")],
)
def test_amounts_that_1_5_would_drop_are_errors(limits: dict[str, Any], field: str) -> None:
    graph = alpha({"W": service(resources={"limits": limits})})
    with pytest.raises(InputError, match=f"deploy.yaml: spec.services.W..resources.limits.{re.escape(field)}: not a "):
        reported(graph, release="1.5")
    assert [error.rule for error in reported(graph, release="1.1").rejections] == ["bad_quantity"]


def test_names_that_no_object_can_have() -> None:
    graph = alpha()
    graph["metadata"]["namespace"] = "<your-namespace>"
    with pytest.raises(InputError, match=r"deploy.yaml: metadata.namespace: not a namespace name"):
        reported(graph)
    with pytest.raises(InputError, match="the manifest's namespace is not other"):
        reported(alpha(), namespace="other")


def test_every_reason_has_a_meaning_and_a_remedy() -> None:
    assert all(reason.meaning and reason.remedy and reason.code.startswith("render_") for reason in REASONS)
