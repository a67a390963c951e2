# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The validating webhook of release 1.1 (``internal/webhook/validation/{dynamographdeployment,shared}.go``).

Groups of checks run one after the other, and the first group that refuses ends it. Within a service, too, only the
first refusal is told; the operator looks at the services in no order, so all services' first refusals are given here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .. import keys
from ..quantity import parse_quantity
from . import gpus
from .crd import PATTERNS
from .webhook import (
    NAME_LIMIT,
    Findings,
    Review,
    check_annotations,
    check_domains,
    check_executor,
    check_restart_order,
    warn_deprecated,
)

_LEADER = "-ldr"


def review(view: Review) -> Findings:
    """Return what release 1.1 refuses, and its warnings where it refuses nothing."""
    for group in (_has_services, check_annotations, _claims, _restart, _topology, _failover_discovery):
        found = Findings(view.definition)
        group(view, found)
        if found.errors:
            return found
    found = Findings(view.definition)
    for name, service, path in view.services:
        _service(view, name, service, path, found)
    if found.errors:
        found.warnings.clear()
    return found


def _has_services(view: Review, found: Findings) -> None:
    if not view.spec.get("services"):
        found.refuse("no_components", "spec.services", "at least one service is needed")


def _claims(view: Review, found: Findings) -> None:
    for index, claim in enumerate(view.spec.get("pvcs") or ()):
        if found.errors:
            return
        path = f"spec.pvcs[{index}]"
        if not claim.get("name"):
            found.refuse("pvc_name", f"{path}.name", "a name is needed")
        if not claim.get("create"):
            continue
        for key in ("storageClass", "size", "volumeAccessMode"):
            value = claim.get(key)
            if not value or (key == "size" and not parse_quantity(value).value):
                found.refuse("pvc_create_incomplete", f"{path}.{key}", "is needed when create is true")


def _restart(view: Review, found: Findings) -> None:
    restart = view.spec.get("restart")
    if restart is None:
        return
    if not restart.get("id"):
        found.refuse("restart_id", "spec.restart.id", "an id is needed")
    check_restart_order(restart, set(view.spec["services"]), found)


def _topology(view: Review, found: Findings) -> None:
    own = view.spec.get("topologyConstraint")
    services = [(service.get("topologyConstraint"), path) for _unused, service, path in view.services]
    if own and own.get("packDomain"):
        _domain_format(own["packDomain"], "spec.topologyConstraint.packDomain", found)
    for constraint, path in services:
        if constraint is None:
            continue
        place = f"{path}.topologyConstraint.packDomain"
        if not constraint.get("packDomain"):
            found.refuse("topology_pack_domain", place, "a domain is needed")
        else:
            _domain_format(constraint["packDomain"], place, found)
    if own is None and not any(constraint for constraint, _unused in services):
        return
    if own is None:
        found.refuse(
            "topology_spec_missing",
            "spec.topologyConstraint",
            "is needed, with topologyProfile, when a service has a topology constraint",
        )
        return
    if not own.get("topologyProfile"):
        found.refuse("topology_profile", "spec.topologyConstraint.topologyProfile", "a profile is needed")
    if not own.get("packDomain"):
        for constraint, path in services:
            if constraint is None:
                found.refuse(
                    "topology_service_missing",
                    f"{path}.topologyConstraint",
                    "is needed, because spec.topologyConstraint has no packDomain",
                )
    if not found.errors and _may_be_grove(view):
        check_domains(
            view,
            own["topologyProfile"],
            "spec.topologyConstraint.topologyProfile",
            [
                ("spec.topologyConstraint.packDomain", own.get("packDomain", "")),
                *((f"{path}.topologyConstraint.packDomain", item["packDomain"]) for item, path in services if item),
            ],
            found,
        )


def _domain_format(domain: str, path: str, found: Findings) -> None:
    if not PATTERNS["domain"].fullmatch(domain):
        found.refuse("topology_domain_format", path, f"{domain} is no domain: lower-case letters, digits and - inside")


def _failover_discovery(view: Review, found: Findings) -> None:
    wanted = any((service.get("failover") or {}).get("enabled") for _unused, service, _unused in view.services)
    if wanted and view.annotations.get(keys.ANNOTATION_DISCOVERY_MODE) != "container":
        found.refuse(
            "failover_discovery_mode",
            f"metadata.annotations[{keys.ANNOTATION_DISCOVERY_MODE}]",
            "must be container when a service has failover: each engine needs a discovery identity of its own",
        )


def _may_be_grove(view: Review) -> bool:
    """The webhook looks at the annotation only, not at whether Grove is switched on."""
    return str(view.annotations.get(keys.ANNOTATION_ENABLE_GROVE, "")).lower() != "false"


def _service(view: Review, name: str, service: Mapping[str, Any], path: str, found: Findings) -> None:
    checks: list[Callable[[], tuple[str, str, str] | None]] = [
        lambda: _name_length(view, name, service, path),
        lambda: _simple(service, path),
        lambda: _sidecar(service, path),
        lambda: _executor(service, path),
        lambda: _endpoint_picker(view, service, path) if service.get("componentType") == keys.EPP else None,
        lambda: _gpu_memory_service(service, path),
        lambda: _failover(service, path),
    ]
    for check in checks:
        problem = check()
        if problem is not None:
            found.refuse(*problem)
            return
    is_global = bool(service.get("globalDynamoNamespace"))
    warn_deprecated(service, path, keys.dynamo_namespace(view.namespace, view.name, is_global=is_global), found)


def _nodes(service: Mapping[str, Any]) -> int:
    return int((service.get("multinode") or {"nodeCount": 1}).get("nodeCount", 1))


def _name_length(view: Review, name: str, service: Mapping[str, Any], path: str) -> tuple[str, str, str] | None:
    if not _may_be_grove(view) or not view.rules.limits_names:
        return None
    length = len(view.name) + len(name)
    if _nodes(service) > 1:
        length += len(name) + len(_LEADER)
    if length <= NAME_LIMIT:
        return None
    return (
        "name_length",
        path,
        f"names are too long together: {length} characters of DGD and service (and {_LEADER} when multinode), at most "
        f"{NAME_LIMIT} are allowed; shorten {view.name} ({len(view.name)}) or {name} ({len(name)})",
    )


def _simple(service: Mapping[str, Any], path: str) -> tuple[str, str, str] | None:
    if (service.get("replicas") or 0) < 0:
        return "replicas_negative", f"{path}.replicas", "must not be negative"
    ingress = service.get("ingress") or {}
    if ingress.get("enabled") and not ingress.get("host"):
        return "ingress_host", f"{path}.ingress.host", "is needed when the ingress is enabled"
    for index, mount in enumerate(service.get("volumeMounts") or ()):
        if not mount.get("useAsCompilationCache") and not mount.get("mountPoint"):
            return (
                "mount_point",
                f"{path}.volumeMounts[{index}].mountPoint",
                "is needed unless useAsCompilationCache is true",
            )
    memory = service.get("sharedMemory")
    if memory is not None and not memory.get("disabled") and not parse_quantity(memory.get("size", "0")).value:
        return "shared_memory_size", f"{path}.sharedMemory.size", "a size is needed unless disabled is true"
    return None


def _sidecar(service: Mapping[str, Any], path: str) -> tuple[str, str, str] | None:
    containers = (service.get("extraPodSpec") or {}).get("containers") or ()
    if service.get("frontendSidecar") is None or not any(
        container.get("name") == keys.SIDECAR_FRONTEND for container in containers
    ):
        return None
    return (
        "sidecar_name_taken",
        f"{path}.frontendSidecar",
        f"extraPodSpec.containers has a container named {keys.SIDECAR_FRONTEND} already",
    )


def _executor(service: Mapping[str, Any], path: str) -> tuple[str, str, str] | None:
    found = Findings({})
    place = f"{path}.annotations[{keys.ANNOTATION_VLLM_EXECUTOR}]"
    check_executor(service.get("annotations") or {}, place, found)
    return next(((error.rule, error.field, error.message) for error in found.errors), None)


def _endpoint_picker(view: Review, service: Mapping[str, Any], path: str) -> tuple[str, str, str] | None:
    if not view.config.inference_pool:
        return (
            "epp_no_inference_pool",
            path,
            f"an EPP needs the API group {keys.INFERENCE_POOL_GROUP} (Gateway API Inference Extension)",
        )
    if _nodes(service) > 1:
        return "epp_multinode", f"{path}.multinode", "an EPP cannot span several nodes"
    if service.get("replicas") not in (None, 1):
        return "epp_replicas", f"{path}.replicas", f"an EPP has exactly 1 replica, found {service['replicas']}"
    config = service.get("eppConfig")
    if config is None:
        return "epp_config_missing", f"{path}.eppConfig", "is needed for an EPP"
    return epp_config_problem(config, f"{path}.eppConfig")


def epp_config_problem(config: Mapping[str, Any], path: str) -> tuple[str, str, str] | None:
    """Exactly one source of the EPP's configuration, and a name for a reference."""
    reference = config.get("configMapRef")
    if (reference is None) == (config.get("config") is None):
        return "epp_config_source", path, "give either configMapRef or config"
    if reference is not None and not reference.get("name"):
        return "epp_config_name", f"{path}.configMapRef.name", "a name is needed"
    return None


def _gpu_memory_service(service: Mapping[str, Any], path: str) -> tuple[str, str, str] | None:
    memory = service.get("gpuMemoryService") or {}
    place = f"{path}.gpuMemoryService"
    if not memory.get("enabled"):
        return None
    if memory.get("mode") == "interPod":
        return "gms_inter_pod", f"{place}.mode", "interPod is not supported by this release"
    if service.get("componentType") not in keys.WORKER_TYPES:
        return "gms_component_type", place, "is only for components of type worker, prefill or decode"
    if gpus.dedicated(service.get("resources") or {}, ("limits", "requests")) < 1:
        return "gms_gpus", place, "needs a whole number of GPUs, at least 1, in resources.limits.gpu"
    return None


def _failover(service: Mapping[str, Any], path: str) -> tuple[str, str, str] | None:
    failover = service.get("failover") or {}
    memory = service.get("gpuMemoryService") or {}
    place = f"{path}.failover"
    if not failover.get("enabled"):
        return None
    if not memory.get("enabled"):
        return "failover_needs_gms", place, "needs gpuMemoryService.enabled"
    mode, other = failover.get("mode"), memory.get("mode")
    if mode and other and mode != other:
        return "failover_mode", f"{place}.mode", f"must be the gpuMemoryService's mode {other}, found {mode}"
    if mode == "interPod":
        return "failover_inter_pod", f"{place}.mode", "interPod is not supported by this release"
    return None
