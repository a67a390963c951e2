# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The validating webhook of release 1.5 (``internal/webhook/validation``), for new objects of both API versions.

It sees the v1beta1 object (a v1alpha1 request is converted first), then the v1alpha1 fields that only a v1alpha1
request has. All refusals are told together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import keys
from ..errors import shown
from ..manifest import is_subdomain
from ..quantity import parse_quantity
from . import gpus
from .backend_vllm import is_elastic_single
from .names import clique_set_name
from .provider import override_problems, writes_topology
from .runtime_version import image_version
from .webhook import (
    NAME_LIMIT,
    Findings,
    Review,
    annotation_path,
    check_annotations,
    check_domains,
    check_executor,
    check_restart_order,
    warn_deprecated,
)
from .webhook_1_1 import epp_config_problem

_GROVE_STRATEGIES = ("RollingRecreate", "OnDelete")
_NEEDS_GROVE = "needs the Grove pathway, which this graph does not take"
_OVERRIDE_NEEDED = (
    "is needed, because the main container's image has no version as its tag; give the Dynamo version as 1.5.0"
)


def review(view: Review, hub: Mapping[str, Any]) -> Findings:
    """Return what release 1.5 refuses, and its warnings. ``hub`` is the object as v1beta1."""
    found = Findings(view.definition if hub is view.definition else hub)
    spec = hub.get("spec") or {}
    components: Sequence[Mapping[str, Any]] = spec.get("components") or []
    check_annotations(view, found)
    _more_annotations(view, components, found)
    _graph(view, spec, components, found)
    own_version = hub is view.definition
    for index, component in enumerate(components):
        path = f"spec.components[{index}]"
        _component_in_graph(view, spec, component, path, components, found)
        _component(view, component, path, found)
        if own_version and view.rules.wants_runtime_version:
            _runtime_version(component, path, found)
    if spec.get("restart"):
        check_restart_order(spec["restart"], {component.get("name", "") for component in components}, found)
    _topology(view, spec, components, found)
    _kv_transfer(view, spec, found)
    if not own_version:
        found.definition = view.definition
        _alpha(view, found)
    return found


def _more_annotations(view: Review, components: Sequence[Mapping[str, Any]], found: Findings) -> None:
    strategy = view.annotations.get(keys.ANNOTATION_GROVE_UPDATE_STRATEGY)
    if strategy is not None and strategy not in _GROVE_STRATEGIES:
        found.refuse(
            "annotation_grove_update_strategy",
            annotation_path(keys.ANNOTATION_GROVE_UPDATE_STRATEGY),
            f"must be {' or '.join(_GROVE_STRATEGIES)}, found {shown(strategy)}",
        )
    intra = any(_failover(component) and _mode(_failover(component)) == "IntraPod" for component in components)
    if intra and view.annotations.get(keys.ANNOTATION_DISCOVERY_MODE) != "container":
        found.refuse(
            "failover_discovery_mode",
            annotation_path(keys.ANNOTATION_DISCOVERY_MODE),
            "must be container when a component has failover in its pod: each engine needs an identity of its own",
        )


def _graph(view: Review, spec: Mapping[str, Any], components: Sequence[Mapping[str, Any]], found: Findings) -> None:
    if spec.get("providerOverride"):
        provider = view.annotations.get(keys.ANNOTATION_WORKLOAD_PROVIDER, "component")
        for problem in override_problems(spec["providerOverride"], "spec.providerOverride", provider):
            found.refuse(*problem)
    if spec.get("priorityClassName") and not view.grove:
        found.refuse("priority_class_pathway", "spec.priorityClassName", _NEEDS_GROVE)
    if not components:
        found.refuse("no_components", "spec.components", "at least one component is needed")


def _experimental(component: Mapping[str, Any]) -> Mapping[str, Any]:
    return component.get("experimental") or {}


def _memory_service(component: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return _experimental(component).get("gpuMemoryService")


def _failover(component: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return _experimental(component).get("failover")


def _mode(service: Mapping[str, Any] | None) -> str:
    return str((service or {}).get("mode") or "IntraPod")


def _nodes(component: Mapping[str, Any]) -> int:
    return int((component.get("multinode") or {"nodeCount": 1}).get("nodeCount", 1))


def _containers(component: Mapping[str, Any], kind: str = "containers") -> Sequence[Mapping[str, Any]]:
    return ((component.get("podTemplate") or {}).get("spec") or {}).get(kind) or ()


def _main(component: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
    for index, container in enumerate(_containers(component)):
        if container.get("name") == keys.MAIN_CONTAINER:
            return index, container
    return -1, {}


def _inter_pod(component: Mapping[str, Any]) -> bool:
    memory = _memory_service(component)
    return memory is not None and _mode(memory) == "InterPod"


def _longest_clique(component: Mapping[str, Any]) -> str:
    """Return the longest name of the component's cliques (rules 1.3)."""
    name = str(component.get("name", "")).lower()
    nodes = _nodes(component)
    if _inter_pod(component):
        return f"{name}-wkr-{nodes - 1}" if nodes > 1 else f"{name}-gms-0"
    return f"{name}-ldr" if nodes > 1 else name


def _added_length(component: Mapping[str, Any]) -> int:
    """What the component adds to the length of a Grove pod's name."""
    length = len(str(component.get("name", "")))
    return length + len(_longest_clique(component)) if _grouped(component) else length


def _grouped(component: Mapping[str, Any]) -> bool:
    return _nodes(component) > 1 or _inter_pod(component)


def _component_in_graph(
    view: Review,
    spec: Mapping[str, Any],
    component: Mapping[str, Any],
    path: str,
    components: Sequence[Mapping[str, Any]],
    found: Findings,
) -> None:
    if view.grove:
        set_name = clique_set_name(view.name, [_added_length(item) for item in components])
        length = len(set_name) + _added_length(component)
        if length > NAME_LIMIT:
            found.refuse(
                "name_length",
                f"{path}.name",
                f"names are too long together: {length} characters of set, group and longest clique "
                f"({_longest_clique(component)}), at most {NAME_LIMIT} are allowed; shorten {view.name} or "
                f"{component.get('name')}",
            )
    if _inter_pod(component):
        place = f"{path}.experimental.gpuMemoryService.mode"
        if not view.grove:
            found.refuse("gms_inter_pod_pathway", place, _NEEDS_GROVE)
        if spec.get("backendFramework") != keys.VLLM:
            found.refuse("gms_inter_pod_backend", place, "InterPod needs spec.backendFramework: vllm")
    _power_limit(component, path, found)
    if spec.get("backendFramework") == keys.VLLM:
        index, main = _main(component)
        if index >= 0 and not main.get("command") and is_elastic_single({**main}):
            found.refuse(
                "elastic_ep_command",
                f"{path}.podTemplate.spec.containers[{index}].command",
                "elastic expert parallelism on Ray needs a command: the operator wraps it and cannot see the image's",
            )


def _power_limit(component: Mapping[str, Any], path: str, found: Findings) -> None:
    annotations = ((component.get("podTemplate") or {}).get("metadata") or {}).get("annotations") or {}
    value = annotations.get(keys.ANNOTATION_POWER_LIMIT)
    if value is None:
        return
    place = f"{path}.podTemplate.metadata.annotations[{keys.ANNOTATION_POWER_LIMIT}]"
    if gpus.whole(value) <= 0:
        found.refuse("power_limit_value", place, f"a whole number of watts above 0 is needed, found {shown(value)}")
    claims = any(
        (container.get("resources") or {}).get("claims")
        for kind in ("containers", "initContainers")
        for container in _containers(component, kind)
    )
    if claims or _memory_service(component) is not None:
        found.refuse("power_limit_dra", place, "cannot be given for GPUs that come from resource claims")


def _component(view: Review, component: Mapping[str, Any], path: str, found: Findings) -> None:
    if component.get("minAvailable") is not None and not view.grove:
        found.refuse("min_available_pathway", f"{path}.minAvailable", _NEEDS_GROVE)
    if parse_quantity(component.get("sharedMemorySize", "0")).value < 0:
        found.refuse("shared_memory_negative", f"{path}.sharedMemorySize", "must not be negative")
    if component.get("type") == keys.EPP:
        _endpoint_picker(view, component, path, found)
    config = component.get("eppConfig") or {}
    if config.get("configMapRef") is not None and not config["configMapRef"].get("name"):
        found.refuse("epp_config_name", f"{path}.eppConfig.configMapRef.name", "a name is needed")
    _sidecar(component, path, found)
    _experiments(view, component, f"{path}.experimental", found)


def _endpoint_picker(view: Review, component: Mapping[str, Any], path: str, found: Findings) -> None:
    if not view.config.inference_pool:
        found.refuse(
            "epp_no_inference_pool",
            f"{path}.type",
            f"an EPP needs the API group {keys.INFERENCE_POOL_GROUP} (Gateway API Inference Extension)",
        )
    if _nodes(component) > 1:
        found.refuse("epp_multinode", f"{path}.multinode", "an EPP cannot span several nodes")
    if component.get("replicas") not in (None, 1):
        found.refuse("epp_replicas", f"{path}.replicas", f"an EPP has exactly 1 replica, found {component['replicas']}")
    if component.get("eppConfig") is None:
        found.refuse("epp_config_missing", f"{path}.eppConfig", "is needed for an EPP")


def _sidecar(component: Mapping[str, Any], path: str, found: Findings) -> None:
    name = component.get("frontendSidecar")
    if name is None:
        return
    place = f"{path}.frontendSidecar"
    if component.get("podTemplate") is None:
        found.refuse("sidecar_missing", place, "names a container, and there is no podTemplate")
    elif not name:
        found.refuse("sidecar_missing", place, "must not be empty")
    elif not any(container.get("name") == name for container in _containers(component)):
        found.refuse("sidecar_missing", place, f"podTemplate.spec.containers has no container named {shown(name)}")


def _experiments(view: Review, component: Mapping[str, Any], path: str, found: Findings) -> None:
    experimental = _experimental(component)
    count = gpus.of_container(_main(component)[1])
    memory = experimental.get("gpuMemoryService")
    if memory is not None:
        _gpu_memory_service(component, memory, f"{path}.gpuMemoryService", count, found)
    failover = experimental.get("failover")
    if failover is not None:
        _failover_rules(component, failover, memory, f"{path}.failover", count, found)
    checkpoint = experimental.get("checkpoint")
    if checkpoint is not None:
        _checkpoint(view, checkpoint, memory, failover, f"{path}.checkpoint", found)
    if (experimental.get("grove") or {}).get("forceScalingGroup") and not view.grove:
        found.refuse("force_scaling_group_pathway", f"{path}.grove.forceScalingGroup", _NEEDS_GROVE)


def _gpu_memory_service(
    component: Mapping[str, Any], memory: Mapping[str, Any], path: str, count: int, found: Findings
) -> None:
    if component.get("type") not in keys.WORKER_TYPES:
        found.refuse("gms_component_type", path, "is only for components of type worker, prefill or decode")
    if count < 1:
        found.refuse("gms_gpus", path, "needs at least 1 GPU in the main container's resources.limits")
    if _mode(memory) != "IntraPod":
        return
    names = {container.get("name") for container in _containers(component)}
    clients = memory.get("extraClientContainers") or ()
    for index, client in enumerate(clients):
        place = f"{path}.extraClientContainers[{index}]"
        if client in clients[:index]:
            found.refuse("gms_client_twice", place, f"{client} stands here a second time")
        elif client not in names:
            found.refuse("gms_client_missing", place, f"podTemplate.spec.containers has no container {client}")


def _failover_rules(
    component: Mapping[str, Any],
    failover: Mapping[str, Any],
    memory: Mapping[str, Any] | None,
    path: str,
    count: int,
    found: Findings,
) -> None:
    mode = _mode(failover)
    if memory is None:
        found.refuse("failover_needs_gms", path, "needs gpuMemoryService")
    elif _mode(memory) != mode:
        found.refuse(
            "failover_mode", f"{path}.mode", f"must be the gpuMemoryService's mode {_mode(memory)}, found {mode}"
        )
    if mode != "InterPod":
        if failover.get("numShadows", 1) not in (0, 1):
            found.refuse("failover_shadows", f"{path}.numShadows", "more than one shadow needs mode InterPod")
        return
    if count < 1:
        found.refuse("failover_gpus", path, "needs at least 1 GPU in the main container's resources.limits")
    if component.get("type") in (keys.EPP, keys.FRONTEND, keys.PLANNER):
        found.refuse("failover_component_type", path, f"is not for components of type {component['type']}")


def _checkpoint(
    view: Review,
    checkpoint: Mapping[str, Any],
    memory: Mapping[str, Any] | None,
    failover: Mapping[str, Any] | None,
    path: str,
    found: Findings,
) -> None:
    if checkpoint.get("enabled"):
        if not view.config.checkpoint.enabled:
            found.refuse("checkpoint_disabled", path, "checkpoints are switched off in the operator's configuration")
        if failover is not None:
            found.refuse("checkpoint_with_failover", path, "cannot be used together with failover")
        if memory is not None and _mode(memory) == "InterPod":
            found.refuse("checkpoint_with_inter_pod", path, "cannot be used together with gpuMemoryService InterPod")
    if (checkpoint.get("job") or {}).get("gmsClientContainers"):
        place = f"{path}.job.gmsClientContainers"
        if memory is None:
            found.refuse("checkpoint_job_needs_gms", place, "needs gpuMemoryService")
        elif _mode(memory) == "InterPod":
            found.refuse("checkpoint_job_mode", place, "is allowed only with gpuMemoryService mode IntraPod")


def _runtime_version(component: Mapping[str, Any], path: str, found: Findings) -> None:
    index, main = _main(component)
    place = f"{path}.podTemplate.spec.containers"
    if not main.get("image"):
        place = f"{place}[{index}].image" if index >= 0 else place
        found.refuse("image_missing", place, f"a container named {keys.MAIN_CONTAINER} with an image is needed")
    elif not component.get("runtimeVersionOverride") and image_version(main["image"]) is None:
        found.refuse("runtime_version", f"{path}.runtimeVersionOverride", _OVERRIDE_NEEDED)


def _topology(view: Review, spec: Mapping[str, Any], components: Sequence[Mapping[str, Any]], found: Findings) -> None:
    own = spec.get("topologyConstraint")
    constraints = [
        (f"spec.components[{index}].topologyConstraint", component["topologyConstraint"])
        for index, component in enumerate(components)
        if component.get("topologyConstraint") is not None
    ]
    if own is None and not constraints:
        return
    if view.grove and writes_topology(spec.get("providerOverride")):
        found.refuse(
            "provider_override_topology",
            "spec.providerOverride.value",
            "cannot be given together with a topologyConstraint of the DGD; use one or the other",
        )
    if own is None:
        found.refuse(
            "topology_spec_missing", "spec.topologyConstraint", "is needed when a component has a topology constraint"
        )
        return
    if not own.get("packDomain") and not constraints:
        found.refuse(
            "topology_pack_domain",
            "spec.topologyConstraint.packDomain",
            "a domain is needed when no component has a topology constraint",
        )
    name = own.get("clusterTopologyName")
    if name and view.grove:
        domains = [("spec.topologyConstraint.packDomain", own.get("packDomain", ""))]
        domains += [(f"{path}.packDomain", constraint.get("packDomain", "")) for path, constraint in constraints]
        check_domains(view, name, "spec.topologyConstraint.clusterTopologyName", domains, found)


def _kv_transfer(view: Review, spec: Mapping[str, Any], found: Findings) -> None:
    policy = (spec.get("experimental") or {}).get("kvTransferPolicy") or {}
    name = policy.get("clusterTopologyName")
    if not name:
        return
    path = "spec.experimental.kvTransferPolicy"
    before = len(found.errors)
    if not is_subdomain(name):
        found.refuse("kv_transfer_name", f"{path}.clusterTopologyName", f"no object can be named {shown(name)}")
    if not view.grove:
        found.refuse("kv_transfer_pathway", f"{path}.clusterTopologyName", _NEEDS_GROVE)
    if len(found.errors) == before:
        check_domains(view, name, f"{path}.clusterTopologyName", [(f"{path}.domain", policy.get("domain", ""))], found)


def _alpha(view: Review, found: Findings) -> None:
    """Rules for the fields that only v1alpha1 has."""
    for index, claim in enumerate(view.spec.get("pvcs") or ()):
        if not claim.get("name"):
            found.refuse("pvc_name", f"spec.pvcs[{index}].name", "a name is needed")
    for _unused, service, path in view.services:
        check_executor(service.get("annotations") or {}, f"{path}.annotations[{keys.ANNOTATION_VLLM_EXECUTOR}]", found)
        is_global = bool(service.get("globalDynamoNamespace"))
        warn_deprecated(service, path, keys.dynamo_namespace(view.namespace, view.name, is_global=is_global), found)
        _alpha_service(service, path, found)


def _alpha_service(service: Mapping[str, Any], path: str, found: Findings) -> None:
    for index, mount in enumerate(service.get("volumeMounts") or ()):
        if not mount.get("useAsCompilationCache") and not mount.get("mountPoint"):
            found.refuse(
                "mount_point",
                f"{path}.volumeMounts[{index}].mountPoint",
                "is needed unless useAsCompilationCache is true",
            )
    ingress = service.get("ingress") or {}
    if ingress.get("enabled") and not ingress.get("host"):
        found.refuse("ingress_host", f"{path}.ingress.host", "is needed when the ingress is enabled")
    if service.get("eppConfig") is not None:
        problem = epp_config_problem(service["eppConfig"], f"{path}.eppConfig")
        # A missing name was told of the converted component already.
        if problem is not None and problem[0] != "epp_config_name":
            found.refuse(*problem)
    pod = service.get("extraPodSpec") or {}
    names = [container.get("name") for container in pod.get("containers") or ()]
    if service.get("frontendSidecar") is not None and keys.SIDECAR_FRONTEND in names:
        found.refuse(
            "sidecar_name_taken",
            f"{path}.frontendSidecar",
            f"extraPodSpec.containers has a container named {keys.SIDECAR_FRONTEND} already",
        )
    image = (pod.get("mainContainer") or {}).get("image")
    if not image:
        found.refuse("image_missing", f"{path}.extraPodSpec.mainContainer.image", "an image is needed")
    elif not service.get("runtimeVersionOverride") and image_version(image) is None:
        found.refuse("runtime_version", f"{path}.runtimeVersionOverride", _OVERRIDE_NEEDED)
