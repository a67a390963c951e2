# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of our rules says the same as an error text of the real operator.

The recorded texts are the operator's and the API server's own; our words are others. A text means the rules whose
patterns it holds; a refusal is the same when it comes from the same stage by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.api import Rejection

#: Rule id and what an error text holds when it means the rule. Several ids may stand for one text: any will do.
PATTERNS: tuple[tuple[str, str], ...] = (
    # decode
    ("type_mismatch|number_out_of_range", r"cannot unmarshal"),
    ("bad_quantity", r"quantities must match the regular expression|unable to parse quantity"),
    # crd-schema
    ("below_minimum", r"should be greater than or equal to"),
    ("above_maximum", r"should be less than or equal to"),
    ("not_allowed", r"spec\S*: Unsupported value"),
    ("bad_length", r"should be at least \d+ chars long|Too long|may not be more than \d+ bytes"),
    ("bad_pattern", r"should match '"),
    ("too_many", r"Too many"),
    ("duplicate", r"Duplicate value"),
    ("required", r"spec\S*: Required value$"),
    ("epp_plugin_weight", r"weight in body must be of type integer"),
    ("epp_list_missing|list_missing", r"in body must be of type array"),
    ("null_entry", r"in body must be of type object"),
    ("shared_memory_disabled", r"sharedMemory\.size must not be set when sharedMemory\.disabled is true"),
    ("shared_memory_size", r"size is required when disabled is false"),
    ("pvc_create_incomplete", r"When create is true, size, storageClass|is required when create is true"),
    ("restart_on_create", r"spec\.restart must be unset on create"),
    ("component_name_twice", r"component names must be unique case-insensitively"),
    ("epp_twice", r"at most one component may have type epp"),
    ("epp_config_type", r"eppConfig may only be set when type is epp"),
    ("min_available", r"minAvailable must be less than or equal to replicas"),
    ("checkpoint_source", r"either checkpointRef or both identity\.model"),
    ("checkpoint_job_with_ref", r"checkpoint\.job cannot be set when checkpointRef"),
    ("kv_transfer_source", r"exactly one of labelKey or clusterTopologyName"),
    ("kv_transfer_weight_missing", r"preferredWeight is required when"),
    ("kv_transfer_weight_unused", r"preferredWeight may only be set when"),
    ("kv_transfer_label_prefix", r"labelKey prefix must be"),
    ("gms_clients_mode", r"extraClientContainers is only supported with mode"),
    ("gms_client_pods", r"extraClientPods is"),
    # validating-webhook
    ("no_components", r"must have at least one (service|component)"),
    ("name_length", r"combined resource name length"),
    ("epp_multinode", r"EPP component cannot be multinode"),
    ("epp_replicas", r"EPP component must have exactly"),
    ("epp_config_missing", r"is required for EPP components"),
    (
        "epp_config_source",
        r"configMapRef and config are mutually|either configMapRef or config must|exactly one of configMapRef",
    ),
    ("epp_config_name", r"configMapRef\.name:? (is required|Required)"),
    ("epp_no_inference_pool", r"cannot deploy EPP component"),
    ("mount_point", r"is required when useAsCompilationCache is false"),
    (
        "annotation_executor",
        r"vllm-distributed-executor-backend\S* ?(has invalid value|\S* ?Invalid value)|must be \"mp\" or \"ray\"",
    ),
    (
        "annotation_discovery_mode",
        r"dynamo-kube-discovery-mode has invalid value|dynamo-kube-discovery-mode\]: Unsupported value",
    ),
    ("annotation_origin_version", r"must be valid semver"),
    ("annotation_grove_update_strategy", r"grove-update-strategy\]: Unsupported value"),
    (
        "failover_discovery_mode",
        r"failover requires per-container K8s discovery|when intra-pod failover is configured",
    ),
    ("failover_needs_gms", r"failover requires gpuMemoryService|gpuMemoryService is required when failover mode"),
    ("failover_mode", r"must match gpuMemoryService\.mode"),
    ("failover_inter_pod", r"\.failover: mode \"interPod\" is not yet supported"),
    ("failover_gpus", r"GMS failover requires at least 1 GPU"),
    ("failover_component_type", r"GMS failover is not supported for component type"),
    ("failover_shadows", r"fixed 1 primary"),
    ("gms_component_type", r"GPU memory service is only supported for worker"),
    ("gms_gpus", r"GPU memory service requires"),
    ("gms_inter_pod", r"gpuMemoryService: mode \"interPod\" is not yet supported"),
    ("gms_inter_pod_pathway", r"gpuMemoryService\.mode: Forbidden: requires the Grove pathway"),
    ("gms_inter_pod_backend", r"inter-pod GMS layout is currently supported only for vLLM"),
    ("gms_client_missing", r"does not name a container in podTemplate"),
    (
        "topology_spec_missing",
        r"topologyConstraint with topologyProfile is required|topologyConstraint: Required value: is required when any",
    ),
    ("topology_profile", r"topologyProfile is required when any topology constraint is set$"),
    ("topology_pack_domain", r"packDomain is required|packDomain: Required value"),
    ("topology_service_missing", r"because spec\.topologyConstraint\.packDomain is not set"),
    ("topology_domain_format", r"is not a valid topology domain"),
    ("topology_missing", r"ClusterTopology(Binding)? resource.*not found|ClusterTopologyBinding resource that was not"),
    ("topology_domain", r"does not exist in ClusterTopology"),
    ("topology_broader", r"equal to or narrower than the deployment-level"),
    ("ingress_host", r"is required when ingress is enabled"),
    ("sidecar_name_taken", r"cannot inject frontend sidecar"),
    ("sidecar_missing", r"must match a podTemplate\.spec\.containers name|is required when frontendSidecar is set"),
    ("runtime_version", r"has no parseable semantic-version tag"),
    (
        "image_missing",
        r"\.image: Required value: is required|podTemplate\.spec\.containers: Required value: is required(?! when)",
    ),
    ("checkpoint_disabled", r"checkpoint functionality is disabled"),
    ("checkpoint_with_failover", r"checkpoint\S*: Forbidden: .*failover"),
    ("checkpoint_with_inter_pod", r"checkpoint\S*: Forbidden: .*inter.?pod"),
    ("checkpoint_job_mode", r"only supported with gpuMemoryService\.mode=IntraPod"),
    ("checkpoint_job_needs_gms", r"requires gpuMemoryService to be set"),
    ("min_available_pathway", r"minAvailable: Forbidden"),
    ("force_scaling_group_pathway", r"forceScalingGroup: Forbidden"),
    ("priority_class_pathway", r"priorityClassName: Forbidden"),
    ("kv_transfer_name", r"kvTransferPolicy\.clusterTopologyName: Invalid value: .*RFC 1123"),
    ("kv_transfer_pathway", r"kvTransferPolicy\.clusterTopologyName: Forbidden"),
    ("shared_memory_negative", r"sharedMemorySize: Invalid value: .* must be non-negative"),
    ("elastic_ep_command", r"requires an explicit container command"),
    ("power_limit_value", r"gpu-power-limit\]: Invalid value: .*(decimal integer|greater than zero)"),
    ("power_limit_dra", r"gpu-power-limit\]: Forbidden"),
    ("provider_override_pathway", r"providerOverride: Forbidden: requires workload provider"),
    ("provider_override_owned", r"is Dynamo-owned or not enabled for provider override"),
    ("provider_override_missing", r"providerOverride\.value\S*: Invalid value: null: is required"),
    ("provider_override_value", r"must be a JSON object|does not match the registered"),
    ("provider_override_topology", r"cannot be combined with spec\.topologyConstraint"),
    ("provider_override_version", r"unsupported Grove apiVersion|providerOverride\.apiVersion: Unsupported value"),
    ("provider_override_target", r"providerOverride\.target: (Invalid|Unsupported) value"),
    ("restart_id", r"spec\.restart\.id is required"),
    ("restart_order_parallel", r"cannot be specified when strategy is parallel"),
    ("restart_order_twice", r"order must be unique"),
    ("restart_order_incomplete", r"same number of unique (services|components)"),
    ("restart_order_unknown", r"contains unknown service"),
    ("pvc_name", r"pvcs\[\d+\]\.name(:? Required value:?)? is required"),
    # dgd-controller, dcd-controller
    ("no_multinode_orchestrator", r"no multinode orchestrator available"),
    ("backend_mismatch", r"backend framework mismatch"),
    ("several_backends", r"multiple backend frameworks detected from command"),
    ("mixed_backends", r"multiple backend frameworks detected for generated"),
    ("cache_mount_path", r"useAsCompilationCache=true requires an explicit|compilationCache\.mountPath is required"),
    ("dra_missing", r"requires DRA \(Dynamic Resource Allocation\)"),
    ("lws_gpu_limit", r"GPU limit is not set for LWS"),
    ("lws_main_container|restore_without_main", r"main container not found|no container named \"?main"),
    ("lws_args_empty", r"container Args cannot be empty"),
    ("lws_command_empty", r"container Command cannot be empty"),
    ("failover_backend", r"failover is currently supported only for vLLM"),
    ("checkpoint_not_found", r"failed to get referenced checkpoint"),
    ("pvc_missing", r"(?i)(persistentvolumeclaims?|\bpvc)\b.*(not found|not exist)"),
    (
        "cache_path_taken|cache_read_only|cache_volume",
        r"(?i)compilation.?cache.*(already|conflict|read.?only|writable)",
    ),
    ("mount_without_name", r"(?i)volume ?mounts?\b.*\bname\b.*(required|empty)"),
    ("mount_without_path", r"(?i)volume ?mounts?\b.*\bmount ?path\b.*(required|empty)"),
    ("sidecar_not_found", r"(?i)frontend ?sidecar.*not found"),
    ("bad_deployment_config", r"DYN_DEPLOYMENT_CONFIG|(?i:dyn ?deployment ?config)"),
    ("no_cluster_role", r"(?i)cluster ?role\b.*(not found|required|empty|missing)"),
    ("two_schedulers", r"(?i)kai.*volcano|volcano.*kai"),
    ("checkpoint_storage", r"(?i)checkpoint storage|snapshot-agent"),
)
_COMPILED = tuple((frozenset(ids.split("|")), re.compile(pattern, re.MULTILINE)) for ids, pattern in PATTERNS)

#: A warning begins with its field; what follows says why.
_WARNED = re.compile(r"^(spec\S*?):? ")


def meaning(text: str) -> tuple[frozenset[str], ...]:
    """Return the rules that an error text means, each as the set of our ids that say it."""
    return tuple(ids for ids, pattern in _COMPILED if pattern.search(text))


def difference(text: str, stage: str, errors: Iterable[Rejection], release: str) -> str:
    """Say how our refusals differ in meaning from the recorded one, or return an empty text.

    1.1 tells one of the services' refusals, whichever it came upon first, and so does a controller; we tell all of a
    stage.
    """
    told = tuple(errors)
    if not told:
        return f"accepted here, refused there at {stage}: {text}"
    here = told[0].stage
    rules = {error.rule for error in told}
    wanted = meaning(text)
    if here != stage:
        return f"refused at {here} by {sorted(rules)}, there at {stage}: {text}"
    if not wanted:
        return f"refused by {sorted(rules)}, and no rule is known for the recorded text: {text}"
    missing = [sorted(ids) for ids in wanted if not ids & rules]
    if missing:
        return f"refused by {sorted(rules)}, and the recorded text also means {missing}: {text}"
    extra = rules - frozenset().union(*wanted)
    if extra and release != "1.1" and not stage.endswith("-controller"):
        return f"refused also by {sorted(extra)}, which the recorded text does not mean: {text}"
    return ""


def warned_fields(warnings: Iterable[str]) -> list[str]:
    """Return the fields that warnings are about, for a comparison of warnings by meaning."""
    return sorted(match[1] if (match := _WARNED.match(text)) else text for text in warnings)
