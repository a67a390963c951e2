# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod of a v1beta1 component, step by step in 1.5's order (rules 2.2; ``graph.go :: GenerateBasePodSpec``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import keys
from ..quantity import canonical, parse_quantity
from . import failover, gms, gpus, pod_steps
from .api import Stage
from .containers import base_container, base_pod, infrastructure_env
from .documented_checkpoint import documented_env
from .explain import Notes
from .graph import Component, Graph, Refused
from .launch import Deployer
from .merge import merge, merge_env
from .node import PROBES, Node, Role
from .pod_alpha import VLLM_CACHE
from .runtime_version import image_version
from .semver import parse_version
from .shapes import plain
from .template_beta import kv_env, kv_policy, main_container, pod_metadata

#: From this runtime on, one slow answer no longer means that a worker is dead.
PATIENT_SINCE = (1, 5, 0)


def build_pod(
    graph: Graph,
    component: Component,
    role: Role,
    deployer: Deployer | None,
    stage: Stage,
    notes: Notes,
    *,
    gms_engine: bool = False,
    gms_shadow: bool = False,
) -> dict[str, Any]:
    """Return the pod spec of one role of a component; the two flags are an inter-pod memory service's."""
    annotations = pod_metadata(component, "annotations")
    component.annotations, component.labels = annotations, pod_metadata(component, "labels")
    user: dict[str, Any] = plain((component.spec.get("podTemplate") or {}).get("spec") or {})
    sidecars = [item for item in user.pop("containers", []) if item.get("name") != keys.MAIN_CONTAINER]
    main = plain(main_container(component) or {})
    container = _main_container(graph, component, main, notes)
    backend = pod_steps.choose_backend(component, main, component.backend_framework, stage)
    cache = _cache_mount(component, container, backend, stage)
    _check_mounts(component, container, stage)
    own_mounts = plain(container.get("volumeMounts", []))
    infrastructure = infrastructure_env(graph)
    notes.env(keys.MAIN_CONTAINER, infrastructure, "4.1-infrastructure")
    container["env"] = merge_env(infrastructure, container["env"])
    count = gpu_count(graph, component)
    node = Node(
        profile=graph.profile,
        dgd=graph.name,
        component=component.name,
        role=role,
        nodes=component.nodes,
        deployer=deployer,
        annotations=annotations,
        gpus=count,
        gpus_trtllm=count,
        cache_root=cache if backend == keys.VLLM else "",
        ssh_secret=graph.config.mpi_ssh_secret,
        notes=notes,
        gms_engine=gms_engine,
        gms_shadow=gms_shadow,
    )
    pod_steps.update_container(backend, container, node)
    spec = base_pod(graph, component, notes)
    merge(spec, user, "PodSpec")
    pod_steps.default_security(graph, spec, notes)
    pod_steps.discovery_account(graph, spec, annotations, notes)
    if cache:
        _cache_volume(component, spec, stage, notes)
    pod_steps.shared_memory(spec, container, shared_memory_size(graph, component), notes)
    spec["containers"] = [container, *sidecars]
    _frontend_sidecar(graph, component, spec, own_mounts, stage, notes)
    pod_steps.update_pod(backend, spec, node)
    _order_volumes(spec, notes)
    images = [str(item.get("image", "")) for item in spec["containers"]]
    if graph.profile.switches.init_image_secrets:
        images += [str(item.get("image", "")) for item in user.get("initContainers") or ()]
    pod_steps.add_pull_secrets(graph, spec, images, annotations, notes)
    _add_gpu_memory(graph, component, spec, backend, stage, notes)
    return spec


def _main_container(graph: Graph, component: Component, main: dict[str, Any], notes: Notes) -> dict[str, Any]:
    container = base_container(graph, component, component.type, component.annotations, notes)
    base_env = container["env"]
    if graph.profile.switches.runtime_liveness and component.is_worker:
        _patient_liveness(component, container, main, notes)
    merge(container, {key: value for key, value in main.items() if key not in ("env", "name")}, "Container")
    for probe in PROBES:
        if main.get(probe) is not None:
            container[probe] = plain(main[probe])
    if graph.profile.switches.checkpoint_variables:
        extra = documented_env(graph, component)
        notes.env(keys.MAIN_CONTAINER, extra, "10.1-checkpoint")
        base_env = merge_env(base_env, extra)
    container["env"] = merge_env(base_env, main.get("env") or ())
    policy = kv_policy(graph, component)
    if policy is not None:
        notes.env(keys.MAIN_CONTAINER, kv_env(policy), "4.1-kv-transfer")
    return container


def _patient_liveness(component: Component, container: dict[str, Any], main: Mapping[str, Any], notes: Notes) -> None:
    """Let a runtime that answers fast enough fail three times before it is restarted."""
    version = parse_version(str(component.spec.get("runtimeVersionOverride") or ""))
    version = version or image_version(str(main.get("image") or ""))
    if version is not None and version.at_least(*PATIENT_SINCE):
        container["livenessProbe"] = {**container["livenessProbe"], "failureThreshold": 3}
        path = ("containers", keys.MAIN_CONTAINER, "livenessProbe")
        notes.note(path, container["livenessProbe"], "3-worker-runtime")


def _cache_mount(component: Component, container: dict[str, Any], backend: str, stage: Stage) -> str:
    """Mount the compilation cache and return where; empty where there is none."""
    cache = component.spec.get("compilationCache")
    if not cache:
        return ""
    name, path = cache.get("pvcName", ""), cache.get("mountPath") or (VLLM_CACHE if backend == keys.VLLM else "")
    if not path:
        raise Refused(
            stage,
            "cache_mount_path",
            f"compilationCache.mountPath is needed: {backend or 'no backend'} has no default for it",
            component.name,
            "compilationCache.mountPath",
        )
    kept: list[dict[str, Any]] = []
    mounted = False
    for mount in container.get("volumeMounts", ()):
        if mount.get("name") == name and not mount.get("mountPath"):
            mount["mountPath"] = path
        if mount.get("mountPath") != path:
            kept.append(mount)
        elif mount.get("name") != name:
            raise Refused(stage, "cache_path_taken", f"{path} is already mounted from {mount['name']}", component.name)
        elif mount.get("readOnly"):
            raise Refused(
                stage, "cache_read_only", f"the compilation cache {name} is mounted read-only", component.name
            )
        elif not mounted:
            mounted = True
            kept.append(mount)
    container["volumeMounts"] = kept if mounted else [*kept, {"name": name, "mountPath": path}]
    return str(path)


def _check_mounts(component: Component, container: Mapping[str, Any], stage: Stage) -> None:
    for mount in container.get("volumeMounts", ()):
        if not mount.get("name"):
            raise Refused(stage, "mount_without_name", "a volumeMount needs a name", component.name)
        if not mount.get("mountPath"):
            raise Refused(stage, "mount_without_path", f"volumeMount {mount['name']} needs a mountPath", component.name)


def _cache_volume(component: Component, spec: dict[str, Any], stage: Stage, notes: Notes) -> None:
    name = component.spec["compilationCache"].get("pvcName", "")
    same = [item for item in spec.get("volumes", ()) if item.get("name") == name]
    for volume in same:
        claim = volume.get("persistentVolumeClaim") or {}
        if claim.get("claimName") != name or claim.get("readOnly") or len(same) > 1:
            raise Refused(
                stage,
                "cache_volume",
                f"the volume {name} of the compilation cache must be the writable claim {name}, once",
                component.name,
            )
    if not same:
        volume = {"name": name, "persistentVolumeClaim": {"claimName": name}}
        spec["volumes"] = [*spec.get("volumes", ()), volume]
        notes.note(("volumes", name), volume, "5-pvc-mount")


def shared_memory_size(graph: Graph, component: Component) -> str | None:
    """Return the size of shared memory, ``None`` where zero switches it off."""
    size = component.spec.get("sharedMemorySize")
    if size is None:
        return graph.profile.shared_memory_size
    return canonical(size) if parse_quantity(size).value > 0 else None


def gpu_count(graph: Graph, component: Component) -> int:
    """Return the GPUs of the main container, by resource or by the claims it uses."""
    main = main_container(component) or {}
    count = gpus.of_container(main)
    if count:
        return count
    used = {item.get("name") for item in (main.get("resources") or {}).get("claims") or ()}
    claims = ((component.spec.get("podTemplate") or {}).get("spec") or {}).get("resourceClaims") or ()
    return sum(
        graph.facts.device_counts.get(str(item.get("resourceClaimTemplateName") or item.get("resourceClaimName")), 0)
        for item in claims
        if item.get("name") in used
    )


def _frontend_sidecar(
    graph: Graph,
    component: Component,
    spec: dict[str, Any],
    main_mounts: list[dict[str, Any]],
    stage: Stage,
    notes: Notes,
) -> None:
    name = component.spec.get("frontendSidecar")
    if not name:
        return
    index = next((at for at, item in enumerate(spec["containers"]) if item.get("name") == name), -1)
    if index < 0:
        raise Refused(stage, "sidecar_not_found", f"there is no container {name} for frontendSidecar", component.name)
    user = spec["containers"][index]
    container = base_container(graph, component, keys.FRONTEND, component.annotations, Notes())
    base_env = container["env"]
    merge(container, {key: value for key, value in user.items() if key != "env"}, "Container")
    container["env"] = merge_env(infrastructure_env(graph), merge_env(base_env, user.get("env") or ()))
    mounts = {item["name"]: item for item in reversed(main_mounts)}
    for item in container.get("volumeMounts", ()):
        mounts.pop(item.get("name"), None)
    added = [mount for mount in main_mounts if mounts.get(mount["name"]) is mount]
    if added:
        container["volumeMounts"] = [*container.get("volumeMounts", ()), *added]
    spec["containers"][index] = container
    for key, value in container.items():
        if user.get(key) != value:
            notes.note(("containers", name, key), value, "3.3-sidecar")


def _order_volumes(spec: dict[str, Any], notes: Notes) -> None:
    """Put the volumes of the first container's mounts first; a mount without volume names a claim."""
    volumes: list[dict[str, Any]] = list(spec.get("volumes", ()))
    ordered: dict[str, dict[str, Any]] = {}
    for mount in spec["containers"][0].get("volumeMounts", ()):
        name = mount["name"]
        if name in ordered:
            continue
        found = next((item for item in volumes if item.get("name") == name), None)
        if found is None:
            found = {"name": name, "persistentVolumeClaim": {"claimName": name}}
            notes.note(("volumes", name), found, "5-pvc-mount")
        ordered[name] = found
    rest = [item for item in volumes if item.get("name") not in ordered]
    if ordered or rest:
        spec["volumes"] = [*ordered.values(), *rest]


def _add_gpu_memory(
    graph: Graph, component: Component, spec: dict[str, Any], backend: str, stage: Stage, notes: Notes
) -> None:
    experimental = component.spec.get("experimental") or {}
    memory = experimental.get("gpuMemoryService")
    if memory is not None and memory.get("mode", "IntraPod") == "IntraPod":
        gms.add_service(graph, spec, component.name, tuple(memory.get("extraClientContainers") or ()), notes)
    wanted = experimental.get("failover")
    if wanted is not None and wanted.get("mode", "IntraPod") == "IntraPod":
        if backend != keys.VLLM:
            raise Refused(
                stage, "failover_backend", f"failover needs vLLM, found {backend or 'no backend'}", component.name
            )
        failover.split_engines(graph, spec, component.nodes, notes)
