# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CRDs' rules over several fields (they are CEL there), and the nulls that the webhook's answer leaves behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..quantity import parse_quantity
from .profiles import profile_of
from .profiles.model import Admission

Problem = tuple[str, str, str]


def crd_rules(definition: Mapping[str, Any], release: str) -> Iterator[Problem]:
    """Yield rule id, path and words of each rule that the cleaned ``definition`` breaks."""
    spec = definition.get("spec") or {}
    rules = profile_of(release).admission
    yield from _graph_rules(spec, rules)
    if str(definition.get("apiVersion", "")).endswith("/v1beta1"):
        yield from _beta_rules(spec)
    else:
        yield from _alpha_rules(spec, rules)


def _graph_rules(spec: Mapping[str, Any], rules: Admission) -> Iterator[Problem]:
    if spec.get("restart") is not None and not rules.restart_at_creation:
        yield "restart_on_create", "spec.restart", "a restart can be asked for only after the DGD was created"
    policy = (spec.get("experimental") or {}).get("kvTransferPolicy")
    if policy is not None:
        yield from _kv_transfer(policy, "spec.experimental.kvTransferPolicy")


def _kv_transfer(policy: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if ("labelKey" in policy) == ("clusterTopologyName" in policy):
        yield "kv_transfer_source", path, "give either labelKey or clusterTopologyName"
    preferred = policy.get("enforcement") == "preferred"
    if preferred and "preferredWeight" not in policy:
        yield "kv_transfer_weight_missing", f"{path}.preferredWeight", "is needed when enforcement is preferred"
    if not preferred and "preferredWeight" in policy:
        yield "kv_transfer_weight_unused", f"{path}.preferredWeight", "is allowed only when enforcement is preferred"
    label = policy.get("labelKey", "")
    if "/" in label and len(label.split("/")[0]) > 253:
        yield "kv_transfer_label_prefix", f"{path}.labelKey", "its prefix has more than 253 characters"


def _alpha_rules(spec: Mapping[str, Any], rules: Admission) -> Iterator[Problem]:
    for index, claim in enumerate(spec.get("pvcs") or ()):
        if claim.get("create") and not all(claim.get(key) for key in ("storageClass", "size", "volumeAccessMode")):
            yield (
                "pvc_create_incomplete",
                f"spec.pvcs[{index}]",
                "size, storageClass and volumeAccessMode are needed when create is true",
            )
    for name, service in (spec.get("services") or {}).items():
        path = f"spec.services[{name}]"
        yield from _shared_memory(service.get("sharedMemory"), f"{path}.sharedMemory", rules)
        yield from _alpha_checkpoint(service.get("checkpoint"), f"{path}.checkpoint", rules)
        yield from _endpoint_picker(service.get("eppConfig"), f"{path}.eppConfig")
        yield from _extra_clients(service.get("gpuMemoryService") or {}, f"{path}.gpuMemoryService", "intraPod")
        shadows = (service.get("failover") or {}).get("numShadows", 1)
        if rules.most_shadows is not None and shadows > rules.most_shadows:
            problem = f"at most {rules.most_shadows} is allowed, found {shadows}"
            yield "above_maximum", f"{path}.failover.numShadows", problem


def _shared_memory(memory: Mapping[str, Any] | None, path: str, rules: Admission) -> Iterator[Problem]:
    if memory is None:
        return
    if rules.refuses_disabled_memory and memory.get("disabled"):
        # The webhook itself fills in size "0", so this refuses every disabled shared memory.
        yield (
            "shared_memory_disabled",
            path,
            "this release refuses disabled: true, for its own webhook adds a size beside it; leave sharedMemory out",
        )
    if rules.schema_wants_memory_size and not memory.get("disabled") and not parse_quantity(memory["size"]).value:
        yield "shared_memory_size", f"{path}.size", "a size above 0 is needed unless disabled is true"


def _alpha_checkpoint(checkpoint: Mapping[str, Any] | None, path: str, rules: Admission) -> Iterator[Problem]:
    if checkpoint is None:
        return
    reference = checkpoint.get("checkpointRef")
    identity = checkpoint.get("identity") or {}
    if rules.checkpoint_needs_source:
        if checkpoint.get("enabled") and not reference and not ("model" in identity and "backendFramework" in identity):
            yield (
                "checkpoint_source",
                path,
                "an enabled checkpoint needs checkpointRef, or identity with model and backendFramework",
            )
    elif checkpoint.get("job") is not None and reference:
        yield "checkpoint_job_with_ref", f"{path}.job", "cannot be given together with checkpointRef"


def _endpoint_picker(config: Mapping[str, Any] | None, path: str) -> Iterator[Problem]:
    """What Go prints as null in the structured EPP configuration is refused as no list and no number."""
    structured = (config or {}).get("config")
    if not isinstance(structured, Mapping):
        return
    path = f"{path}.config"
    for key in ("plugins", "schedulingProfiles"):
        if not isinstance(structured.get(key), list):
            yield "epp_list_missing", f"{path}.{key}", "a list is needed"
    for index, plugin in enumerate(structured.get("plugins") or ()):
        if plugin is None:
            yield "null_entry", f"{path}.plugins[{index}]", "a mapping is needed, found nothing"
    for number, profile in enumerate(structured.get("schedulingProfiles") or ()):
        place = f"{path}.schedulingProfiles[{number}].plugins"
        plugins = profile.get("plugins") if isinstance(profile, Mapping) else None
        if not isinstance(plugins, list):
            yield "epp_list_missing", place, "a list is needed"
            continue
        for index, plugin in enumerate(plugins):
            weight = plugin.get("weight") if isinstance(plugin, Mapping) else None
            if not isinstance(weight, int) or isinstance(weight, bool):
                yield (
                    "epp_plugin_weight",
                    f"{place}[{index}].weight",
                    "a whole number is needed: the webhook turns a missing weight into null",
                )


def _extra_clients(memory: Mapping[str, Any], path: str, intra: str) -> Iterator[Problem]:
    if memory.get("extraClientContainers") and memory.get("mode") != intra:
        yield "gms_clients_mode", f"{path}.extraClientContainers", f"is allowed only with mode {intra}"
    if memory.get("extraClientPods"):
        yield "gms_client_pods", f"{path}.extraClientPods", "is reserved and not supported yet"


def _beta_rules(spec: Mapping[str, Any]) -> Iterator[Problem]:
    components = spec.get("components") or ()
    if sum(component.get("type") == "epp" for component in components) > 1:
        yield "epp_twice", "spec.components", "at most one component may have the type epp"
    names = [component.get("name", "").lower() for component in components]
    if len(set(names)) < len(names):
        yield "component_name_twice", "spec.components", "component names must differ by more than capital letters"
    for index, component in enumerate(components):
        yield from _beta_component(component, f"spec.components[{index}]")


def _beta_component(component: Mapping[str, Any], path: str) -> Iterator[Problem]:
    picker = component.get("eppConfig")
    if picker is not None:
        if component.get("type") != "epp":
            yield "epp_config_type", f"{path}.eppConfig", "is allowed only on a component of type epp"
        if ("configMapRef" in picker) == ("config" in picker):
            yield "epp_config_source", f"{path}.eppConfig", "give either configMapRef or config"
        yield from _endpoint_picker(picker, f"{path}.eppConfig")
    minimum, replicas = component.get("minAvailable"), component.get("replicas", 1)
    if minimum is not None and replicas != 0 and minimum > replicas:
        yield "min_available", f"{path}.minAvailable", f"must be at most replicas ({replicas}), found {minimum}"
    experimental = component.get("experimental") or {}
    place = f"{path}.experimental"
    yield from _extra_clients(experimental.get("gpuMemoryService") or {}, f"{place}.gpuMemoryService", "IntraPod")
    checkpoint = experimental.get("checkpoint") or {}
    if checkpoint.get("job") is not None and checkpoint.get("checkpointRef"):
        yield "checkpoint_job_with_ref", f"{place}.checkpoint.job", "cannot be given together with checkpointRef"
