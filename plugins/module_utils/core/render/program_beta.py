# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Release 1.5: a v1beta1 graph becomes component deployments or one PodCliqueSet (rules 1, 2.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import keys
from . import gms, names, pod_steps, shared_objects
from .api import Rejection, Stage
from .autoscaling import add_autoscaler
from .checkpoint_beta import add_checkpoints
from .components_beta import run_components
from .convert import Converted, component_alpha_only
from .epp import add_epp
from .graph import Component, Graph, Refused
from .grove_beta import run_grove
from .pod_beta import gpu_count
from .shapes import plain
from .template_beta import main_container


def prepare(graph: Graph, converted: Converted) -> None:
    """Make the components of the graph in the order in which it lists them."""
    for entry in graph.spec.get("components") or ():
        component: dict[str, Any] = plain(entry)
        kind = str(component.get("type") or "")
        name = str(component.get("name") or "")
        kept = converted.preserved.get(name, {}) if converted.alpha else component_alpha_only(component)
        sub = str(kept.get("subComponentType") or "")
        graph.components.append(
            Component(
                name=name,
                type=kind,
                sub_type=sub or (kind if kind in (keys.PREFILL, keys.DECODE) else ""),
                spec=component,
                preserved=kept,
                backend_framework=str(graph.spec.get("backendFramework") or ""),
            )
        )


def run(graph: Graph, converted: Converted, provider: str) -> list[Rejection]:
    """Add all objects of the graph; return what stopped single components."""
    prepare(graph, converted)
    shared_objects.add_rbac(graph)
    shared_objects.add_claims(graph, list(converted.claims))
    for component in graph.components:
        add_claim_template(graph, component)
    add_checkpoints(graph, grove=provider == "grove")
    add_epp(graph, class_selector=True)
    shared_objects.add_multinode_support(graph)
    for component in graph.components:
        if component.spec.get("scalingAdapter") is not None:
            shared_objects.scaling_adapter(graph, component)
        add_autoscaler(graph, component)
    graph.backend_framework = shared_backend(graph)
    if provider == "grove":
        run_grove(graph)
        return []
    if graph.is_multinode and not graph.config.lws:
        raise Refused(
            "dgd-controller",
            "no_multinode_orchestrator",
            "a component spans several nodes, but neither Grove nor LeaderWorkerSet is there to place it",
        )
    return run_components(graph)


def shared_backend(graph: Graph) -> str:
    """Return the one backend of all workers; two different ones are refused (``backendFrameworkForGeneratedDCDs``)."""
    explicit = str(graph.spec.get("backendFramework") or "")
    if explicit:
        return explicit
    stage: Stage = "dgd-controller"
    found: dict[str, str] = {}
    for component in graph.components:
        backend = pod_steps.choose_backend(component, main_container(component) or {}, "", stage)
        if backend:
            found.setdefault(backend, component.name)
    if len(found) > 1:
        raise Refused(
            stage,
            "mixed_backends",
            "the workers of one graph use different backends: "
            + ", ".join(f"{backend} ({name})" for backend, name in found.items()),
        )
    return next(iter(found), "")


def add_claim_template(graph: Graph, component: Component) -> None:
    """Add the claim from which the pods of a GPU memory service get their GPUs."""
    service: Mapping[str, Any] | None = (component.spec.get("experimental") or {}).get("gpuMemoryService")
    if service is None:
        return
    if not graph.config.dra:
        raise Refused(
            "dgd-controller",
            "dra_missing",
            "gpuMemoryService needs dynamic resource allocation (API group resource.k8s.io), which the cluster lacks",
            component.name,
        )
    name = names.claim_template_name(graph.name, component.name)
    device_class = service.get("deviceClassName") or "gpu.nvidia.com"
    graph.add(gms.claim_template(graph, name, device_class, gpu_count(graph, component)), "10.3-gms")
