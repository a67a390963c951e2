# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod of a v1alpha1 component, step by step in 1.1's order (rules 2.1; ``graph.go :: GenerateBasePodSpec``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import keys
from ..errors import InputError
from ..quantity import canonical
from . import failover, gms, gpus, pod_steps
from .api import Stage
from .containers import base_container, base_pod, infrastructure_env
from .explain import Notes
from .graph import Component, Graph, Refused
from .launch import Deployer
from .merge import merge, merge_env
from .node import Node, Role
from .shapes import plain

VLLM_CACHE = "/root/.cache/vllm"


def build_pod(
    graph: Graph,
    component: Component,
    role: Role,
    deployer: Deployer | None,
    stage: Stage,
    notes: Notes,
) -> dict[str, Any]:
    """Return the pod spec of one role of a component."""
    service = component.spec
    extra = {key: value for key, value in (service.get("extraPodSpec") or {}).items() if key != "mainContainer"}
    user_main = (service.get("extraPodSpec") or {}).get("mainContainer")
    main: dict[str, Any] = plain(user_main or {})
    container = _main_container(graph, component, main, stage, notes)
    backend = pod_steps.choose_backend(component, main, component.backend_framework, stage)
    claims = _add_mounts(component, container, backend, stage, notes)
    resources = service.get("resources") or {}
    node = Node(
        profile=graph.profile,
        dgd=graph.name,
        component=component.name,
        role=role,
        nodes=component.nodes,
        deployer=deployer,
        annotations=component.annotations,
        gpus=gpus.dedicated(resources, ("limits",)),
        gpus_trtllm=gpus.dedicated(resources, ("requests", "limits")),
        cache_root=_cache_root(service) if backend == keys.VLLM else "",
        ssh_secret=graph.config.mpi_ssh_secret,
        notes=notes,
    )
    pod_steps.update_container(backend, container, node)
    spec = base_pod(graph, component, notes)
    merge(spec, extra, "PodSpec")
    pod_steps.default_security(graph, spec, notes)
    pod_steps.discovery_account(graph, spec, component.annotations, notes)
    if claims:
        spec["volumes"] = [*spec.get("volumes", ()), *claims]
    pod_steps.shared_memory(spec, container, shared_memory_size(graph, service), notes)
    spec["containers"] = [*spec.get("containers", ()), container]
    pod_steps.add_pull_secrets(graph, spec, [main.get("image", "")], component.annotations, notes)
    pod_steps.update_pod(backend, spec, node)
    _add_sidecar(graph, component, spec, notes)
    _add_gpu_memory(graph, component, spec, backend, stage, notes)
    return spec


def _main_container(
    graph: Graph, component: Component, main: dict[str, Any], stage: Stage, notes: Notes
) -> dict[str, Any]:
    service = component.spec
    container = base_container(graph, component, component.type, component.annotations, notes)
    base_env = container["env"]
    if main.get("name"):
        notes.renamed[keys.MAIN_CONTAINER] = (main["name"],)
    merge(container, {key: value for key, value in main.items() if key != "env"}, "Container")
    container["env"] = merge_env(base_env, main.get("env", ()))
    if "startupProbe" in main:
        container["startupProbe"] = plain(main["startupProbe"])
    container["env"] = merge_env(container["env"], service.get("envs") or ())
    for probe in ("livenessProbe", "readinessProbe"):
        if service.get(probe) is not None:
            container[probe] = plain(service[probe])
    _add_resources(component, container, stage)
    if service.get("envFromSecret") is not None:
        container["envFrom"] = [*container.get("envFrom", ()), secret_source(service["envFromSecret"])]
    infrastructure = infrastructure_env(graph)
    notes.env(container["name"], infrastructure, "4.1-infrastructure")
    container["env"] = merge_env(infrastructure, container["env"])
    return container


def secret_source(name: str) -> dict[str, Any]:
    """Return an entry of envFrom; the operator adds one even for an empty name."""
    return {"secretRef": {"name": name} if name else {}}


def _add_resources(component: Component, container: dict[str, Any], stage: Stage) -> None:
    wanted = component.spec.get("resources") or {}
    resources = plain(container.get("resources", {}))
    for side in ("limits", "requests"):
        amounts = side_amounts(component, wanted.get(side) or {}, side, stage, gpu_type(wanted, side))
        if amounts:
            resources[side] = {**resources.get(side, {}), **amounts}
    if wanted.get("claims"):
        claims = plain(wanted["claims"])
        resources["claims"] = [*resources.get("claims", ()), *claims]
    if resources:
        container["resources"] = resources


def gpu_type(wanted: Mapping[str, Any], side: str) -> str:
    """Return the resource name of a side's GPUs."""
    return str((wanted.get(side) or {}).get("gpuType") or keys.GPU_RESOURCE)


def side_amounts(
    component: Component, wanted: Mapping[str, Any], side: str, stage: Stage, gpu_name: str
) -> dict[str, str]:
    """Return one side of v1alpha1 resources under Kubernetes' own names (``GetResourcesConfig``)."""
    pairs = [("cpu", wanted.get("cpu")), ("memory", wanted.get("memory")), (gpu_name, wanted.get("gpu"))]
    pairs += list((wanted.get("custom") or {}).items())
    amounts = {}
    for name, text in pairs:
        if text in (None, ""):
            continue
        try:
            amounts[name] = canonical(text)
        except InputError as problem:
            field = f"resources.{side}.{name}"
            raise Refused(stage, "bad_quantity", f"{field}: {problem.problem}", component.name, field) from None
    return amounts


def _add_mounts(
    component: Component, container: dict[str, Any], backend: str, stage: Stage, notes: Notes
) -> list[dict[str, Any]]:
    volumes = []
    for mount in component.spec.get("volumeMounts") or ():
        name, path, cache = mount.get("name", ""), mount.get("mountPoint", ""), bool(mount.get("useAsCompilationCache"))
        if not name:
            raise Refused(stage, "mount_without_name", "a volumeMount needs a name", component.name)
        if not path and not cache:
            raise Refused(stage, "mount_without_path", f"volumeMount {name} needs a mountPoint", component.name)
        if not path:
            if backend != keys.VLLM:
                raise Refused(
                    stage,
                    "cache_mount_path",
                    f"volumeMount {name} is a compilation cache without mountPoint, and {backend or 'no backend'} "
                    "has no default for it",
                    component.name,
                )
            path = VLLM_CACHE
            notes.note(
                ("containers", container["name"], "volumeMounts", name), {"name": name, "mountPath": path}, "5-cache"
            )
        container["volumeMounts"] = [*container.get("volumeMounts", ()), {"name": name, "mountPath": path}]
        volume = {"name": name, "persistentVolumeClaim": {"claimName": name}}
        notes.note(("volumes", name), volume, "5-pvc-mount")
        volumes.append(volume)
    return volumes


def _cache_root(service: Mapping[str, Any]) -> str:
    """Return the path of the first mount flagged as cache: without one the variable is not set."""
    for mount in service.get("volumeMounts") or ():
        if mount.get("useAsCompilationCache"):
            return str(mount.get("mountPoint") or "")
    return ""


def shared_memory_size(graph: Graph, service: Mapping[str, Any]) -> str | None:
    """Return the size of shared memory, ``None`` where it is switched off."""
    shared = service.get("sharedMemory")
    if shared is None:
        return graph.profile.shared_memory_size
    if shared.get("disabled"):
        return None
    return canonical(shared.get("size") or 0)


def _add_sidecar(graph: Graph, component: Component, spec: dict[str, Any], notes: Notes) -> None:
    sidecar = component.spec.get("frontendSidecar")
    if sidecar is None:
        return
    own = Notes(on=notes.on)
    container = base_container(graph, component, keys.FRONTEND, component.annotations, own)
    container["name"] = keys.SIDECAR_FRONTEND
    if sidecar.get("image"):
        container["image"] = sidecar["image"]
    if sidecar.get("args"):
        container["args"] = list(sidecar["args"])
    if sidecar.get("envFromSecret") is not None:
        container["envFrom"] = [secret_source(sidecar["envFromSecret"])]
    container["env"] = merge_env(
        infrastructure_env(graph),
        merge_env(container["env"], sidecar.get("envs") or ()),
    )
    spec["containers"].append(container)
    pod_steps.add_pull_secrets(graph, spec, [sidecar.get("image", "")], component.annotations, notes)
    notes.note(("containers", keys.SIDECAR_FRONTEND), container, "3.3-sidecar")


def _add_gpu_memory(
    graph: Graph, component: Component, spec: dict[str, Any], backend: str, stage: Stage, notes: Notes
) -> None:
    service = component.spec
    if (service.get("gpuMemoryService") or {}).get("enabled"):
        gms.add_service(graph, spec, component.name, (), notes)
    if (service.get("failover") or {}).get("enabled"):
        if backend != keys.VLLM:
            raise Refused(
                stage, "failover_backend", f"failover needs vLLM, found {backend or 'no backend'}", component.name
            )
        failover.split_engines(graph, spec, component.nodes, notes)


__all__ = ["VLLM_CACHE", "build_pod", "gpu_type", "shared_memory_size", "side_amounts"]
