# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Release 1.5's Grove path: the whole graph as one PodCliqueSet (rules 1.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import keys
from . import gms_interpod, labels_beta, launch, names, pod_steps, services
from .backend_vllm import is_elastic_single
from .checkpoint_beta import mark_pod, waits_for_checkpoint
from .explain import Notes
from .graph import Component, Graph, Refused, effective_discovery, metadata, uses_kubernetes
from .grove import clique, clique_set, scaling_group
from .node import Role
from .pod_beta import build_pod
from .restart import restart_marks
from .shapes import plain
from .template_beta import (
    TOPOLOGY_ANNOTATIONS,
    apply_graph_defaults,
    kv_policy,
    main_container,
    pod_metadata,
    set_pod_metadata,
    topology_annotations,
)


def is_grouped(component: Component) -> bool:
    """Return whether the component's cliques scale as a group."""
    forced = ((component.spec.get("experimental") or {}).get("grove") or {}).get("forceScalingGroup")
    return component.nodes > 1 or bool(forced) or gms_interpod.is_inter_pod(component)


def set_name(graph: Graph) -> str:
    """Return the PodCliqueSet's name, cut where pod names would get too long (``PCSNameForDGD``)."""
    lengths = []
    for component in graph.components:
        length = len(component.lower)
        if is_grouped(component):
            length += max(len(name) for name in _clique_names(component))
        lengths.append(length)
    return names.clique_set_name(graph.name, lengths)


def _clique_names(component: Component) -> list[str]:
    if gms_interpod.is_inter_pod(component):
        return [name for name, _role, _rank in gms_interpod.cliques_of(component)]
    if component.nodes > 1:
        return [f"{component.lower}-ldr", f"{component.lower}-wkr"]
    return [component.lower]


def run_grove(graph: Graph) -> None:
    """Add the graph's PodCliqueSet and the Services beside it."""
    if graph.config.kai_scheduler and graph.config.volcano_scheduler:
        raise Refused("dgd-controller", "two_schedulers", "the operator is set up for both KAI and Volcano")
    backend = effective_discovery(graph.annotations, graph.config)
    has_epp = any(component.type == keys.EPP for component in graph.components)
    name = set_name(graph)
    cliques: list[dict[str, Any]] = []
    groups: list[dict[str, Any]] = []
    claims: list[dict[str, Any]] = []
    for component in graph.components:
        _take_graph_values(graph, component, backend)
        made, shared = _cliques(graph, component, name, has_epp=has_epp)
        cliques += made
        if is_grouped(component):
            group = scaling_group(component, made)
            group.update(shared.pop("group", {}))
            if waits_for_checkpoint(graph, component):
                group["replicas"] = 0
            groups.append(group)
            claims += shared.pop("claims", [])
        _place(graph, component, groups[-1:] if is_grouped(component) else made)
    ordered = any("startsAfter" in item["spec"] for item in cliques)
    item = clique_set(graph, name, cliques, groups, ordered=ordered, labels={keys.LABEL_DGD: graph.name})
    _finish(graph, item, claims)
    graph.add(item, "1.6-clique-set")
    for component in graph.components:
        _services(graph, component)


def _take_graph_values(graph: Graph, component: Component, backend: str) -> None:
    component.user_metadata = plain((component.spec.get("podTemplate") or {}).get("metadata") or {})
    if component.is_worker and graph.profile.switches.suffix_on_grove:
        own = {**pod_metadata(component, "labels"), keys.LABEL_WORKER_HASH: graph.worker_hash}
        set_pod_metadata(component, "labels", own)
    # The graph's own values count least, so they are laid under before the pod template takes them in.
    component.service_labels = labels_beta.resource_labels(graph, component)
    own = pod_metadata(component, "annotations")
    component.service_annotations = labels_beta.resource_annotations(graph, component, own)
    propagated = {key: graph.annotations[key] for key in keys.PROPAGATED_ANNOTATIONS if key in graph.annotations}
    component.clique_annotations = labels_beta.resource_annotations(
        graph, component, {**propagated, **own, keys.ANNOTATION_DISCOVERY_BACKEND: backend}
    )
    set_pod_metadata(component, "annotations", {**propagated, **own})
    apply_graph_defaults(graph, component, with_domains=True)
    annotations = {**pod_metadata(component, "annotations"), keys.ANNOTATION_DISCOVERY_BACKEND: backend}
    set_pod_metadata(component, "annotations", annotations)


def _cliques(
    graph: Graph, component: Component, set_name_: str, *, has_epp: bool
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    labels = labels_beta.grove_labels(graph, component, has_epp=has_epp)
    annotations = _annotations(graph, component)
    if gms_interpod.is_inter_pod(component):
        return gms_interpod.build_cliques(graph, component, set_name_, labels, annotations)
    roles: tuple[Role, ...] = ("leader", "worker") if component.nodes > 1 else ("main",)
    deployer = launch.GROVE if component.nodes > 1 else None
    cliques = []
    for role in roles:
        notes = Notes(on=graph.explanation.on)
        spec = build_pod(graph, component, role, deployer, "dgd-controller", notes)
        pods = {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec}
        marks = mark_pod(graph, component, pods)["metadata"]
        made = clique(
            graph, component, role, spec, marks["labels"], marks.get("annotations", {}), grouped=is_grouped(component)
        )
        if role == "leader" and _backend(component) == keys.TRTLLM:
            made["spec"]["startsAfter"] = [f"{component.lower}-wkr"]
        if waits_for_checkpoint(graph, component):
            made["spec"]["replicas"] = 0
        cliques.append(made)
        owner, path = f"PodCliqueSet/{set_name_}", f".spec.template.cliques[{made['name']}]"
        graph.explanation.pod(owner, f"{path}.spec.podSpec", spec, notes)
        graph.explanation.pod_metadata(owner, path, made, component.user_metadata)
    return cliques, {}


def _backend(component: Component) -> str:
    main = main_container(component) or {}
    return pod_steps.choose_backend(component, main, component.backend_framework, "dgd-controller")


def _annotations(graph: Graph, component: Component) -> dict[str, str]:
    annotations = dict(component.clique_annotations)
    for key in TOPOLOGY_ANNOTATIONS:
        annotations.pop(key, None)
    annotations.update(topology_annotations(kv_policy(graph, component)))
    restarted = restart_marks(graph).get(component.name)
    if restarted:
        annotations[keys.ANNOTATION_RESTARTED_AT] = restarted
    return annotations


def _place(graph: Graph, component: Component, targets: list[dict[str, Any]]) -> None:
    """Put the component's topology constraint on its cliques or its scaling group."""
    domain = (component.spec.get("topologyConstraint") or {}).get("packDomain")
    if not domain:
        return
    root = graph.spec.get("topologyConstraint") or {}
    constraint: dict[str, Any] = {"pack": {"required": domain}}
    if root.get("clusterTopologyName") and not root.get("packDomain"):
        constraint["topologyName"] = root["clusterTopologyName"]
    for target in targets:
        target["topologyConstraint"] = plain(constraint)


def _finish(graph: Graph, item: dict[str, Any], claims: list[dict[str, Any]]) -> None:
    template = item["spec"]["template"]
    root = graph.spec.get("topologyConstraint") or {}
    if root.get("packDomain"):
        template["topologyConstraint"] = {
            "topologyName": root.get("clusterTopologyName", ""),
            "pack": {"required": root["packDomain"]},
        }
    if graph.spec.get("priorityClassName"):
        template["priorityClassName"] = graph.spec["priorityClassName"]
    if claims:
        template["resourceClaimTemplates"] = claims
    strategy = graph.annotations.get(keys.ANNOTATION_GROVE_UPDATE_STRATEGY)
    if strategy:
        item["spec"]["updateStrategy"] = {"type": strategy}
    if graph.config.volcano_scheduler:
        queue = graph.annotations.get(keys.ANNOTATION_VOLCANO_QUEUE, "").strip()
        if queue:
            item["metadata"].setdefault("annotations", {})[keys.ANNOTATION_GROVE_VOLCANO_QUEUE] = queue
    _override(template, graph.spec.get("providerOverride"))


def _override(template: dict[str, Any], override: Mapping[str, Any] | None) -> None:
    """Lay the graph's own Grove topology over the template."""
    value: Any = (override or {}).get("value")
    for key in ("spec", "template", "topologyConstraint"):
        value = value.get(key) if isinstance(value, Mapping) else None
    if value is not None:
        template["topologyConstraint"] = plain(value)


def _services(graph: Graph, component: Component) -> None:
    kubernetes = uses_kubernetes(pod_metadata(component, "annotations"), graph.config)
    name = names.kube_name(names.resource_name(graph.name, component.name), lower=True)
    if kubernetes or component.type == keys.FRONTEND:
        services.component_service(
            graph,
            component,
            name,
            {**component.service_labels, **(services.DISCOVERY_LABELS if kubernetes else {})},
            component.service_annotations,
            graph.component_namespace(component),
            leader_only=False,
        )
    if component.type == keys.FRONTEND:
        ingress = component.preserved.get("ingress")
        services.expose(graph, name, services.default_ingress(graph) if ingress is None else ingress)
    model = (component.spec.get("modelRef") or {}).get("name")
    if model:
        services.model_service(graph, model, graph.spec.get("annotations") or {})
    if _heads_ray(component):
        graph.add(_ray_service(graph, component), "7.1-elastic-ep")


def _heads_ray(component: Component) -> bool:
    """Return whether the component is one elastic expert-parallel pod, whose Ray head others may join."""
    main = main_container(component)
    single = component.nodes == 1 and component.replicas in (None, 1)
    return component.is_worker and single and main is not None and is_elastic_single(main)


def _ray_service(graph: Graph, component: Component) -> dict[str, Any]:
    ports = [
        {"name": "ray-gcs", "port": keys.RAY_PORT, "targetPort": keys.RAY_PORT, "protocol": "TCP"},
        {"name": keys.PORT_SYSTEM, "port": keys.SYSTEM_PORT, "targetPort": keys.PORT_SYSTEM, "protocol": "TCP"},
    ]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(
            names.elastic_service_name(graph.name, component.name),
            graph.namespace,
            component.service_labels,
            component.service_annotations,
        ),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {
                keys.LABEL_COMPONENT_TYPE: component.type,
                keys.LABEL_NAMESPACE: graph.component_namespace(component),
                keys.LABEL_COMPONENT: component.name,
            },
            "ports": ports,
        },
    }
