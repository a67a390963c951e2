# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every rule by which a DGD is refused, of the API server and of the operator's webhooks of 1.1 and 1.5."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import keys
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.admission import AdmissionResult, admit
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.api import CheckpointConfig, ClusterFacts
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.config import helm_config
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import (
    DELETE,
    Graph,
    alpha,
    beta,
    changed,
    service,
    worker_component,
)

TOPOLOGIES = {"cluster": (("zone", "z"), ("rack", "r"), ("host", "h"))}
CONTAINER_MODE = {keys.ANNOTATION_DISCOVERY_MODE: "container"}
W = "spec/services/Worker/"
C = "spec/components/1/"
MAIN = "spec/components/1/podTemplate/spec/containers/0/"
GMS = {"enabled": True}


def admitted(graph: Graph, release: str, **config: Any) -> AdmissionResult:
    facts = ClusterFacts(topologies=TOPOLOGIES)
    return admit(graph, release=release, config=replace(helm_config(release), **config), facts=facts)


def on(path: str, value: Any, graph: Graph | None = None) -> Graph:
    return changed(alpha() if graph is None else graph, path, value)


def at(path: str, value: Any, graph: Graph | None = None) -> Graph:
    return changed(beta() if graph is None else graph, path, value)


DECODE = [
    (on(W + "replicas", "2"), "type_mismatch", "spec.services[Worker].replicas"),
    (on(W + "replicas", True), "type_mismatch", "spec.services[Worker].replicas"),
    (on(W + "replicas", 1.5), "type_mismatch", "spec.services[Worker].replicas"),
    (on(W + "replicas", 2**31), "number_out_of_range", "spec.services[Worker].replicas"),
    (on(W + "resources/limits/gpu", 4), "type_mismatch", "spec.services[Worker].resources.limits.gpu"),
    (on(W + "extraPodSpec/nodeSelector", "a=b"), "type_mismatch", "spec.services[Worker].extraPodSpec.nodeSelector"),
    (on(W + "envs", {"A": "b"}), "type_mismatch", "spec.services[Worker].envs"),
    (on(W + "envs", [{"name": "A", "value": 5}]), "type_mismatch", "spec.services[Worker].envs[0].value"),
    (on(W + "annotations", {"a": True}), "type_mismatch", "spec.services[Worker].annotations[a]"),
    (on(W + "sharedMemory", {"size": "big"}), "bad_quantity", "spec.services[Worker].sharedMemory.size"),
    (on(W + "sharedMemory", {"size": [1]}), "bad_quantity", "spec.services[Worker].sharedMemory.size"),
    (on("spec/services", ["Worker"]), "type_mismatch", "spec.services"),
    (on("spec/services/Worker", 5), "type_mismatch", "spec.services[Worker]"),
    (on("metadata/labels", {"a": 1}), "type_mismatch", "metadata.labels[a]"),
    (on(W + "eppConfig", {"config": True}), "type_mismatch", "spec.services[Worker].eppConfig.config"),
    (
        on(W + "eppConfig", {"config": {"plugins": [5]}}),
        "type_mismatch",
        "spec.services[Worker].eppConfig.config.plugins[0]",
    ),
]


@pytest.mark.parametrize("release", ["1.1", "1.5", "documented"])
@pytest.mark.parametrize(("graph", "rule", "field"), DECODE, ids=lambda value: value if isinstance(value, str) else "")
def test_values_of_a_wrong_type(release: str, graph: Graph, rule: str, field: str) -> None:
    (error,) = admitted(graph, release).errors
    assert (error.stage, error.rule, error.field) == ("decode", rule, field)
    assert "found" in error.message


def test_the_component_is_named_and_quotes_are_advised() -> None:
    (error,) = admitted(on(W + "resources/limits/gpu", 4), "1.1").errors
    assert error.component == "Worker"
    assert error.message == "text is needed, found 4; put it in quotes"
    (error,) = admitted(at(C + "replicas", "x"), "1.5").errors
    assert (error.component, error.field) == ("Worker", "spec.components[1].replicas")


def test_release_1_1_knows_no_v1beta1() -> None:
    (error,) = admitted(beta(), "1.1").errors
    assert (error.stage, error.rule) == ("decode", "unknown_api_version")


ALPHA_SCHEMA = [
    (on(W + "replicas", -1), "below_minimum", "spec.services[Worker].replicas"),
    (on(W + "multinode", {"nodeCount": 1}), "below_minimum", "spec.services[Worker].multinode.nodeCount"),
    (on("spec/backendFramework", "tgi"), "not_allowed", "spec.backendFramework"),
    (on(W + "volumeMounts", [{"mountPoint": "/m"}]), "required", "spec.services[Worker].volumeMounts[0].name"),
    (on("spec/pvcs", [{"create": False}]), "required", "spec.pvcs[0].name"),
    (on("spec/pvcs", [{"name": "a", "create": True}]), "pvc_create_incomplete", "spec.pvcs[0]"),
    (on("spec/pvcs", [{"name": f"p{n}"} for n in range(101)]), "too_many", "spec.pvcs"),
    (on("spec/services", {f"s{n}": service() for n in range(26)}), "too_many", "spec.services"),
    (on("spec/services/Worker", None), "null_entry", "spec.services[Worker]"),
    (on(W + "gpuMemoryService", GMS | {"mode": "both"}), "not_allowed", "spec.services[Worker].gpuMemoryService.mode"),
    (on(W + "failover", GMS | {"numShadows": -1}), "below_minimum", "spec.services[Worker].failover.numShadows"),
    (
        on(W + "topologyConstraint", {"packDomain": "Rack"}),
        "bad_pattern",
        "spec.services[Worker].topologyConstraint.packDomain",
    ),
    (
        on(W + "extraPodSpec/containers", [{"name": "a"}, {"name": "a"}]),
        "duplicate",
        "spec.services[Worker].extraPodSpec.containers[1]",
    ),
    (
        on(W + "eppConfig", {"config": {"plugins": [], "schedulingProfiles": [{"plugins": [{"pluginRef": "p"}]}]}}),
        "epp_plugin_weight",
        "spec.services[Worker].eppConfig.config.schedulingProfiles[0].plugins[0].weight",
    ),
    (
        on(W + "eppConfig", {"config": {"plugins": []}}),
        "epp_list_missing",
        "spec.services[Worker].eppConfig.config.schedulingProfiles",
    ),
    (
        on(W + "eppConfig", {"config": {"plugins": [None], "schedulingProfiles": []}}),
        "null_entry",
        "spec.services[Worker].eppConfig.config.plugins[0]",
    ),
    (
        on(W + "eppConfig", {"config": {"plugins": [], "schedulingProfiles": [{}]}}),
        "epp_list_missing",
        "spec.services[Worker].eppConfig.config.schedulingProfiles[0].plugins",
    ),
    (
        on(W + "extraPodSpec/affinity", {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}),
        "list_missing",
        "spec.services[Worker].extraPodSpec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        ".nodeSelectorTerms",
    ),
]


@pytest.mark.parametrize("release", ["1.1", "1.5"])
@pytest.mark.parametrize(
    ("graph", "rule", "field"), ALPHA_SCHEMA, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_the_alpha_schema_refuses(release: str, graph: Graph, rule: str, field: str) -> None:
    (error,) = admitted(graph, release).errors
    assert (error.stage, error.rule, error.field) == ("crd-schema", rule, field)


def test_schema_rules_that_only_one_release_has() -> None:
    disabled = on(W + "sharedMemory", {"disabled": True})
    assert [error.rule for error in admitted(disabled, "1.1").errors] == ["shared_memory_disabled"]
    assert admitted(disabled, "1.5").errors == ()
    assert admitted(disabled, "documented").errors == ()
    sizeless = on(W + "sharedMemory", {})
    (error,) = admitted(sizeless, "1.1").errors
    assert (error.stage, error.rule) == ("validating-webhook", "shared_memory_size")
    (error,) = admitted(sizeless, "1.5").errors
    assert (error.stage, error.rule) == ("crd-schema", "shared_memory_size")
    restart = on("spec/restart", {"id": "1"})
    assert admitted(restart, "1.1").errors == ()
    assert [error.rule for error in admitted(restart, "1.5").errors] == ["restart_on_create"]
    sourceless = on(W + "checkpoint", {"enabled": True})
    assert [error.rule for error in admitted(sourceless, "1.1").errors] == ["checkpoint_source"]
    both = on(W + "checkpoint", {"enabled": False, "checkpointRef": "c", "job": {"a": 1}})
    assert [error.rule for error in admitted(both, "1.5").errors] == ["checkpoint_job_with_ref"]
    clients = on(W + "gpuMemoryService", {"enabled": False, "mode": "interPod", "extraClientContainers": ["a"]})
    assert [error.rule for error in admitted(clients, "1.5").errors] == ["gms_clients_mode"]


def test_schema_errors_can_be_passed_over() -> None:
    graph = on(W + "sharedMemory", {"disabled": True})
    result = admit(graph, release="1.1", config=helm_config("1.1"), ignore_schema_errors=True)
    assert result.errors == ()


KV = "spec/experimental/kvTransferPolicy"
EPP = {"name": "Epp", "type": "epp", "replicas": 1}
BETA_SCHEMA = [
    (at(C + "name", "a_b"), "bad_pattern", "spec.components[1].name"),
    (at(C + "name", DELETE), "bad_length", "spec.components[1].name"),
    (at(C + "name", "x" * 64), "bad_length", "spec.components[1].name"),
    (at(C + "name", "Frontend"), "duplicate", "spec.components[1]"),
    (at(C + "name", "frontend"), "component_name_twice", "spec.components"),
    (at(C + "type", "router"), "not_allowed", "spec.components[1].type"),
    (at(C + "replicas", -1), "below_minimum", "spec.components[1].replicas"),
    (at(C + "minAvailable", 2), "min_available", "spec.components[1].minAvailable"),
    (at(C + "runtimeVersionOverride", "1.5"), "bad_pattern", "spec.components[1].runtimeVersionOverride"),
    (at(C + "compilationCache", {}), "bad_length", "spec.components[1].compilationCache.pvcName"),
    (at(C + "modelRef", {"revision": "1"}), "bad_length", "spec.components[1].modelRef.name"),
    (
        at(C + "eppConfig", {"configMapRef": {"name": "a", "key": "k"}}),
        "epp_config_type",
        "spec.components[1].eppConfig",
    ),
    (beta([{**EPP, "eppConfig": {}}]), "epp_config_source", "spec.components[0].eppConfig"),
    (beta([EPP, {**EPP, "name": "Epp2"}]), "epp_twice", "spec.components"),
    (at(C + "podTemplate", {"spec": {}}), "list_missing", "spec.components[1].podTemplate.spec.containers"),
    (at("spec/restart", {"id": "1"}), "restart_on_create", "spec.restart"),
    (at(KV, {"domain": "zone"}), "kv_transfer_source", "spec.experimental.kvTransferPolicy"),
    (
        at(KV, {"domain": "zone", "labelKey": "k", "enforcement": "preferred"}),
        "kv_transfer_weight_missing",
        "spec.experimental.kvTransferPolicy.preferredWeight",
    ),
    (
        at(KV, {"domain": "zone", "labelKey": "k", "preferredWeight": 0.5}),
        "kv_transfer_weight_unused",
        "spec.experimental.kvTransferPolicy.preferredWeight",
    ),
    (
        at(KV, {"domain": "zone", "labelKey": "k", "enforcement": "preferred", "preferredWeight": 2}),
        "above_maximum",
        "spec.experimental.kvTransferPolicy.preferredWeight",
    ),
    (
        at(KV, {"domain": "zone", "labelKey": ".".join(["a" * 60] * 5) + "/k"}),
        "kv_transfer_label_prefix",
        "spec.experimental.kvTransferPolicy.labelKey",
    ),
    (
        at(C + "experimental", {"gpuMemoryService": {"extraClientPods": [{"name": "a", "podTemplate": {}}]}}),
        "gms_client_pods",
        "spec.components[1].experimental.gpuMemoryService.extraClientPods",
    ),
    (
        at(C + "experimental", {"gpuMemoryService": {"extraClientContainers": ["a", "a"]}}),
        "duplicate",
        "spec.components[1].experimental.gpuMemoryService.extraClientContainers[1]",
    ),
    (
        at(C + "experimental", {"checkpoint": {"enabled": False, "checkpointRef": "c", "job": {}}}),
        "checkpoint_job_with_ref",
        "spec.components[1].experimental.checkpoint.job",
    ),
]


@pytest.mark.parametrize(
    ("graph", "rule", "field"), BETA_SCHEMA, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_the_beta_schema_refuses(graph: Graph, rule: str, field: str) -> None:
    (error,) = admitted(graph, "1.5").errors
    assert (error.stage, error.rule, error.field) == ("crd-schema", rule, field)


def epp_service(**more: Any) -> Graph:
    picker = {"eppConfig": {"configMapRef": {"name": "c", "key": "k"}}} | more
    return alpha({"Epp": service("epp", gpus=None, **picker)})


#: graph, rule, field: refused by the webhooks of both releases.
BOTH_WEBHOOKS = [
    (alpha({}), "no_components"),
    (alpha(annotations={keys.ANNOTATION_ORIGIN_VERSION: "new"}), "annotation_origin_version"),
    (alpha(annotations={keys.ANNOTATION_VLLM_EXECUTOR: "torch"}), "annotation_executor"),
    (alpha(annotations={keys.ANNOTATION_DISCOVERY_MODE: "node"}), "annotation_discovery_mode"),
    (on(W + "annotations", {keys.ANNOTATION_VLLM_EXECUTOR: "torch"}), "annotation_executor"),
    (on(W + "ingress", {"enabled": True}), "ingress_host"),
    (on(W + "volumeMounts", [{"name": "a"}]), "mount_point"),
    (
        on(
            W + "frontendSidecar",
            {"image": "a:1.5.0"},
            on(W + "extraPodSpec/containers", [{"name": "sidecar-frontend", "image": "a"}]),
        ),
        "sidecar_name_taken",
    ),
    (epp_service(multinode={"nodeCount": 2}), "epp_multinode"),
    (epp_service(replicas=2), "epp_replicas"),
    (epp_service(eppConfig=None), "epp_config_missing"),
    (epp_service(eppConfig={"configMapRef": {"key": "k"}}), "epp_config_name"),
    (epp_service(eppConfig={}), "epp_config_source"),
    (alpha({"F": service("frontend", gpuMemoryService=GMS)}), "gms_component_type"),
    (alpha({"W": service(gpus=None, gpuMemoryService=GMS)}), "gms_gpus"),
    (alpha({"W": service(failover=GMS, gpuMemoryService=GMS)}), "failover_discovery_mode"),
    (alpha({"W": service(failover=GMS)}, annotations=CONTAINER_MODE), "failover_needs_gms"),
    (
        alpha({"W": service(failover={**GMS, "mode": "interPod"}, gpuMemoryService=GMS)}, annotations=CONTAINER_MODE),
        "failover_mode",
    ),
    (on(W + "topologyConstraint", {"packDomain": "rack"}), "topology_spec_missing"),
]


@pytest.mark.parametrize("release", ["1.1", "1.5"])
@pytest.mark.parametrize(("graph", "rule"), BOTH_WEBHOOKS, ids=lambda value: value if isinstance(value, str) else "")
def test_what_the_webhooks_of_both_releases_refuse(release: str, graph: Graph, rule: str) -> None:
    errors = admitted(graph, release).errors
    assert {error.stage for error in errors} == {"validating-webhook"}
    assert rule in {error.rule for error in errors}


@pytest.mark.parametrize("release", ["1.1", "1.5"])
def test_an_epp_needs_the_inference_extension(release: str) -> None:
    assert admitted(epp_service(), release).errors == ()
    assert [error.rule for error in admitted(epp_service(), release, inference_pool=False).errors] == [
        "epp_no_inference_pool"
    ]


PROFILE = {"topologyProfile": "cluster"}
ONLY_1_1 = [
    (alpha(restart={"id": "1", "strategy": {"type": "Parallel", "order": ["Worker"]}}), ["restart_order_parallel"]),
    (
        alpha(restart={"id": "1", "strategy": {"order": ["Worker", "Worker"]}}),
        ["restart_order_twice", "restart_order_incomplete"],
    ),
    (alpha(restart={"id": "1", "strategy": {"order": ["Worker", "X"]}}), ["restart_order_unknown"]),
    (alpha(topologyConstraint=PROFILE), ["topology_service_missing"] * 2),
    (alpha(topologyConstraint={"packDomain": "rack"}), ["topology_profile"]),
    (alpha(topologyConstraint=PROFILE | {"packDomain": "pod"}), ["topology_domain"]),
    (alpha(topologyConstraint={"topologyProfile": "none", "packDomain": "rack"}), ["topology_missing"]),
    (
        on(
            W + "topologyConstraint", {"packDomain": "zone"}, alpha(topologyConstraint=PROFILE | {"packDomain": "rack"})
        ),
        ["topology_broader"],
    ),
    (alpha({"W": service(gpuMemoryService=GMS | {"mode": "interPod"})}), ["gms_inter_pod"]),
    (alpha({"W" * 43: service()}), ["name_length"]),
    (alpha({"W" * 19: service(multinode={"nodeCount": 2})}), ["name_length"]),
    (
        alpha({"A": service(gpus="0", gpuMemoryService=GMS), "B": service(ingress={"enabled": True})}),
        ["gms_gpus", "ingress_host"],
    ),
]


@pytest.mark.parametrize(("graph", "rules"), ONLY_1_1)
def test_what_the_webhook_of_1_1_refuses(graph: Graph, rules: list[str]) -> None:
    assert [error.rule for error in admitted(graph, "1.1").errors] == rules


def test_name_length_in_1_1_does_not_ask_whether_grove_is_there() -> None:
    long = alpha({"W" * 41: service()})
    assert admitted(long, "1.1").errors == ()
    off = alpha({"W" * 43: service()}, annotations={keys.ANNOTATION_ENABLE_GROVE: "False"})
    assert admitted(off, "1.1", grove=True).errors == ()
    assert admitted(alpha({"W" * 43: service()}), "documented").errors == ()


IP = {"gpuMemoryService": {"mode": "InterPod"}}
OVERRIDE = {"apiVersion": "grove.io/v1alpha1", "value": {"spec": {"template": {"topologyConstraint": {}}}}}
ELASTIC = ("--enable-elastic-ep", "--data-parallel-backend", "ray")
CLUSTER = {"clusterTopologyName": "cluster"}
RACK = CLUSTER | {"packDomain": "rack"}
NOWHERE = {"clusterTopologyName": "none", "packDomain": "rack"}
TAGGED = "registry.example/runtime:latest"
#: graph, grove, rules
ONLY_1_5 = [
    (at(C + "minAvailable", 1), False, ["min_available_pathway"]),
    (at(C + "minAvailable", 1), True, []),
    (at(C + "sharedMemorySize", "-1Gi"), False, ["shared_memory_negative"]),
    (at(C + "sharedMemorySize", "0"), False, []),
    (at(C + "frontendSidecar", "side"), False, ["sidecar_missing"]),
    (at(C + "frontendSidecar", ""), False, ["sidecar_missing"]),
    (at(C + "frontendSidecar", "side", at(C + "podTemplate", DELETE)), False, ["sidecar_missing", "image_missing"]),
    (at(MAIN + "image", DELETE), False, ["image_missing"]),
    (at(MAIN + "name", "other"), False, ["image_missing"]),
    (at(MAIN + "image", TAGGED), False, ["runtime_version"]),
    (at(MAIN + "image", TAGGED, at(C + "runtimeVersionOverride", "1.5.0")), False, []),
    (at("spec/priorityClassName", "high"), False, ["priority_class_pathway"]),
    (at("spec/priorityClassName", "high"), True, []),
    (at("spec/components", []), False, ["no_components"]),
    (at(C + "experimental", {"grove": {"forceScalingGroup": True}}), False, ["force_scaling_group_pathway"]),
    (at(C + "experimental", IP), False, ["gms_inter_pod_pathway", "gms_inter_pod_backend"]),
    (at(C + "experimental", IP, beta(backendFramework="vllm")), True, []),
    (at(C + "experimental", {"failover": {}}, beta(annotations=CONTAINER_MODE)), False, ["failover_needs_gms"]),
    (
        at(
            C + "experimental",
            {"failover": {"numShadows": 2}, "gpuMemoryService": {}},
            beta(annotations=CONTAINER_MODE),
        ),
        False,
        ["failover_shadows"],
    ),
    (
        at(C + "experimental", {"gpuMemoryService": {"extraClientContainers": ["side"]}}),
        False,
        ["gms_client_missing"],
    ),
    (at(C + "experimental", {"checkpoint": {"enabled": True}}), False, ["checkpoint_disabled"]),
    (
        at(C + "experimental", {"checkpoint": {"enabled": False, "job": {"gmsClientContainers": ["a"]}}}),
        False,
        ["checkpoint_job_needs_gms"],
    ),
    (at("spec/providerOverride", OVERRIDE), False, ["provider_override_pathway"]),
    (at("spec/providerOverride", OVERRIDE), True, []),
    (at("spec/providerOverride", {**OVERRIDE, "apiVersion": "v1"}), True, ["provider_override_version"]),
    (at("spec/providerOverride", {**OVERRIDE, "target": "X"}), True, ["provider_override_target"]),
    (at("spec/providerOverride", {**OVERRIDE, "value": 5}), True, ["provider_override_value"]),
    (
        at("spec/providerOverride", {**OVERRIDE, "value": {"spec": {"template": {"terminationDelay": "1h"}}}}),
        True,
        ["provider_override_owned", "provider_override_missing"],
    ),
    (
        at("spec/providerOverride", OVERRIDE, beta(topologyConstraint=RACK)),
        True,
        ["provider_override_topology"],
    ),
    (beta(topologyConstraint=CLUSTER), False, ["topology_pack_domain"]),
    (beta(topologyConstraint=NOWHERE), True, ["topology_missing"]),
    (beta(topologyConstraint=NOWHERE), False, []),
    (
        at(C + "topologyConstraint", {"packDomain": "pod"}, beta(topologyConstraint=CLUSTER)),
        True,
        ["topology_domain"],
    ),
    (at(KV, {"domain": "zone", "clusterTopologyName": "cluster"}), False, ["kv_transfer_pathway"]),
    (at(KV, {"domain": "pod", "clusterTopologyName": "cluster"}), True, ["topology_domain"]),
    (at(KV, {"domain": "zone", "clusterTopologyName": "Not A Name"}), True, ["kv_transfer_name"]),
    (beta(annotations={keys.ANNOTATION_GROVE_UPDATE_STRATEGY: "Never"}), True, ["annotation_grove_update_strategy"]),
    (
        at(C + "podTemplate/metadata", {"annotations": {"dynamo.nvidia.com/gpu-power-limit": "much"}}),
        False,
        ["power_limit_value"],
    ),
    (
        at(
            MAIN + "resources/claims",
            [{"name": "gpus"}],
            at(C + "podTemplate/metadata", {"annotations": {"dynamo.nvidia.com/gpu-power-limit": "300"}}),
        ),
        False,
        ["power_limit_dra"],
    ),
    (beta([worker_component("W" * 46)]), True, ["name_length"]),
    (beta([worker_component("W" * 46)]), False, []),
    (alpha({"W": service(), "X": {"componentType": "worker"}}), False, ["image_missing"]),
    (on(W + "extraPodSpec/mainContainer/image", TAGGED), False, ["runtime_version"]),
]


@pytest.mark.parametrize(("graph", "grove", "rules"), ONLY_1_5)
def test_what_the_webhook_of_1_5_refuses(graph: Graph, grove: bool, rules: list[str]) -> None:
    assert [error.rule for error in admitted(graph, "1.5", grove=grove).errors] == rules


def test_inter_pod_failover_needs_gpus_and_a_worker() -> None:
    experimental = {"failover": {"mode": "InterPod"}, **IP}
    graph = beta([worker_component(gpus=None, experimental=experimental)], backendFramework="vllm")
    assert [error.rule for error in admitted(graph, "1.5", grove=True).errors] == ["gms_gpus", "failover_gpus"]
    planner = beta([worker_component(kind="planner", experimental=experimental)], backendFramework="vllm")
    assert [error.rule for error in admitted(planner, "1.5", grove=True).errors] == [
        "gms_component_type",
        "failover_component_type",
    ]


def test_elastic_expert_parallelism_needs_a_command() -> None:
    graph = beta([worker_component(args=ELASTIC)], backendFramework="vllm")
    assert admitted(graph, "1.5").errors == ()
    del graph["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]["command"]
    assert [error.rule for error in admitted(graph, "1.5").errors] == ["elastic_ep_command"]


def test_checkpoints_do_not_go_with_failover_or_inter_pod() -> None:
    checkpoint = {"enabled": True, "job": {"gmsClientContainers": ["a"]}}
    graph = beta([worker_component(experimental={"checkpoint": checkpoint, **IP})], backendFramework="vllm")
    rules = [error.rule for error in admitted(graph, "1.5", grove=True, checkpoint=CheckpointConfig(True)).errors]
    assert rules == ["checkpoint_with_inter_pod", "checkpoint_job_mode"]
    experimental = {"checkpoint": {"enabled": True}, "failover": {}, "gpuMemoryService": {}}
    graph = beta([worker_component(experimental=experimental)], annotations=CONTAINER_MODE)
    rules = [error.rule for error in admitted(graph, "1.5", checkpoint=CheckpointConfig(True)).errors]
    assert rules == ["checkpoint_with_failover"]


def test_claims_without_a_name_or_complete_description() -> None:
    graph = alpha(pvcs=[{"name": "", "create": True, "size": "0", "storageClass": "s", "volumeAccessMode": "RWX"}])
    assert {error.rule for error in admitted(graph, "1.1").errors} == {"pvc_name", "pvc_create_incomplete"}
    assert [error.rule for error in admitted(alpha(pvcs=[{"name": ""}]), "1.5").errors] == ["pvc_name"]


def test_restart_needs_an_id() -> None:
    assert [error.rule for error in admitted(alpha(restart={}), "1.1").errors] == ["bad_length"]


@pytest.mark.parametrize("release", ["1.1", "1.5"])
def test_warnings_name_the_field_and_the_reason(release: str) -> None:
    graph = alpha({"W": service(dynamoNamespace="old", autoscaling={"enabled": True})})
    namespace, autoscaling = admitted(graph, release).warnings
    assert namespace.startswith("spec.services[W].dynamoNamespace: has no effect")
    assert "team-a-demo" in namespace
    assert autoscaling.startswith("spec.services[W].autoscaling: has no effect")


def test_1_1_gives_no_warnings_beside_a_refusal() -> None:
    graph = alpha({"W": service(dynamoNamespace="old", ingress={"enabled": True})})
    assert admitted(graph, "1.1").warnings == ()
    assert len(admitted(graph, "1.5").warnings) == 1


def test_defaults_stamps_and_unknown_fields() -> None:
    graph = alpha(
        {"W": service(multinode={}, gpuMemoryService=GMS, replica=3)},
        typo=1,
    )
    main = graph["spec"]["services"]["W"]["extraPodSpec"]["mainContainer"]
    main["ports"] = [{"containerPort": 1, "portocol": "UDP"}]
    main["resources"] = {"limits": {"cpu": "1000m"}}
    main["env"] = [{"name": "EMPTY", "value": ""}, {"name": "NULL", "value": None}]
    result = admitted(graph, "1.1")
    assert result.errors == ()
    assert result.unknown_fields == (
        "spec.services.W.extraPodSpec.mainContainer.ports[0].portocol",
        "spec.services.W.replica",
        "spec.typo",
    )
    kept = result.definition["spec"]["services"]["W"]
    assert kept["replicas"] == 1
    assert kept["multinode"] == {"nodeCount": 2}
    assert kept["gpuMemoryService"] == {"enabled": True, "mode": "intraPod", "deviceClassName": "gpu.nvidia.com"}
    container = kept["extraPodSpec"]["mainContainer"]
    assert container["ports"] == [{"containerPort": 1, "protocol": "TCP"}]
    assert container["resources"] == {"limits": {"cpu": "1"}}
    assert container["env"] == [{"name": "EMPTY"}, {"name": "NULL"}]
    assert result.definition["metadata"]["annotations"] == {keys.ANNOTATION_ORIGIN_VERSION: "1.1.0"}
    assert "typo" in graph["spec"], "the caller's data is left alone"


def test_1_5_stamps_the_pathway_over_the_users_value() -> None:
    graph = beta(annotations={keys.ANNOTATION_WORKLOAD_PROVIDER: "mine", keys.ANNOTATION_ORIGIN_VERSION: "0.9.0"})
    result = admitted(graph, "1.5", grove=True, version="1.5.3")
    assert result.definition["metadata"]["annotations"] == {
        keys.ANNOTATION_WORKLOAD_PROVIDER: "grove",
        keys.ANNOTATION_ORIGIN_VERSION: "0.9.0",
    }
    assert [item["minAvailable"] for item in result.definition["spec"]["components"]] == [1, 1]
    off = admitted(beta(annotations={keys.ANNOTATION_ENABLE_GROVE: "FALSE"}), "1.5", grove=True)
    assert off.definition["metadata"]["annotations"][keys.ANNOTATION_WORKLOAD_PROVIDER] == "component"
    assert "minAvailable" not in off.definition["spec"]["components"][0]


def test_a_provider_override_gets_its_only_target() -> None:
    result = admitted(at("spec/providerOverride", dict(OVERRIDE)), "1.5", grove=True)
    assert result.definition["spec"]["providerOverride"]["target"] == "PodCliqueSet"


def test_unknown_fields_of_metadata_and_status() -> None:
    graph = beta()
    graph |= {"status": {"state": "x", "extra": 1}, "extra": 1}
    graph["metadata"]["extra"] = 1
    assert admitted(graph, "1.5").unknown_fields == ("extra", "status.extra")
