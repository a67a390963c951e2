# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Release 1.5's component path: a DCD for each component, and what its controller makes of it (rules 1, 2.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .. import keys
from . import deployment_config, labels_beta, launch, names, pod_steps, services
from .api import Rejection
from .checkpoint_beta import mark_pod, pin
from .convert import component_text
from .epp import epp_config
from .explain import Notes
from .graph import Component, Graph, Refused, metadata, ref, uses_kubernetes
from .merge import env_var
from .node import Role
from .pod_beta import build_pod
from .restart import restart_marks
from .shapes import plain
from .strategy import deployment_strategy
from .template_beta import (
    apply_graph_defaults,
    kv_policy,
    main_container,
    pod_metadata,
    set_pod_metadata,
    template,
    topology_annotations,
)


@dataclass(frozen=True)
class Deployed:
    """A component in its DCD's terms."""

    component: Component
    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    user: Mapping[str, Any]


def run_components(graph: Graph) -> list[Rejection]:
    """Add every component's DCD and what becomes of it; return what stopped single ones."""
    rejections = []
    by_name: dict[str, Deployed] = {}
    for deployed in [_deploy(graph, component) for component in graph.components]:
        earlier = by_name.get(deployed.name)
        by_name[deployed.name] = deployed if earlier is None else _overwritten(earlier, deployed)
    for deployed in by_name.values():
        try:
            _reconcile(graph, deployed)
        except Refused as refused:
            rejections.append(refused.rejection)
    return rejections


def _overwritten(earlier: Deployed, later: Deployed) -> Deployed:
    """Return a DCD that two components share, as they differ only in case: the first's metadata, the last's spec."""
    later.component.preserved = earlier.component.preserved
    return replace(later, labels=earlier.labels, annotations=earlier.annotations)


def _deploy(graph: Graph, component: Component) -> Deployed:
    user = plain((component.spec.get("podTemplate") or {}).get("metadata") or {})
    worker_hash = graph.worker_hash if component.is_worker else ""
    name = names.resource_name(graph.name, component.name, worker_hash)
    labels = {
        **pod_metadata(component, "labels"),
        keys.LABEL_COMPONENT: component.name,
        keys.LABEL_NAMESPACE: graph.component_namespace(component),
        keys.LABEL_DGD: graph.name,
    }
    if worker_hash:
        own = {keys.LABEL_WORKER_HASH: worker_hash}
        if any(other.type == keys.EPP for other in graph.components):
            own[keys.LABEL_COMPONENT_CLASS] = keys.WORKER
        labels.update(own)
        set_pod_metadata(component, "labels", {**pod_metadata(component, "labels"), **own})
    if component.type == keys.EPP:
        opt_out = {keys.ANNOTATION_ISTIO_INJECT: "false", **pod_metadata(component, "annotations")}
        set_pod_metadata(component, "annotations", opt_out)
    apply_graph_defaults(graph, component, with_domains=False)
    restarted = restart_marks(graph).get(component.name)
    if restarted:
        marks = {**pod_metadata(component, "annotations"), keys.ANNOTATION_RESTARTED_AT: restarted}
        set_pod_metadata(component, "annotations", marks)
    if component.type == keys.PLANNER:
        template(component)["spec"]["serviceAccountName"] = keys.PLANNER_SERVICE_ACCOUNT
    component.backend_framework = graph.backend_framework
    pin(graph, component)
    _apply_deployment_config(component)
    annotations = {
        keys.ANNOTATION_DCD_SPEC: component_text(component.preserved),
        **topology_annotations(kv_policy(graph, component)),
    }
    spec: dict[str, Any] = plain(component.spec)
    if (spec.get("eppConfig") or {}).get("config") is not None:
        spec["eppConfig"]["config"] = epp_config(spec["eppConfig"]["config"])
    if graph.backend_framework:
        spec["backendFramework"] = graph.backend_framework
    item = {
        "apiVersion": graph.profile.api_version,
        "kind": keys.DCD_KIND,
        "metadata": metadata(name, graph.namespace, labels, annotations),
        "spec": spec,
    }
    graph.add(item, "1.2-component-deployment")
    return Deployed(component, name, labels, annotations, user)


def _apply_deployment_config(component: Component) -> None:
    main = main_container(component)
    text = deployment_config.find((main or {}).get("env") or [])
    if main is None or not text:
        return
    config = deployment_config.parse(text, component.name)
    frontend = component.type == keys.FRONTEND
    entry = component.name
    if frontend and not isinstance(config.get(entry), dict):
        entry = next((key for key in config if key.lower() == keys.FRONTEND), entry)
    if frontend:
        changed = deployment_config.with_frontend_port(config, entry, keys.HTTP_PORT)
        main["env"] = [
            env_var(item["name"], changed) if item["name"] == deployment_config.VARIABLE else item
            for item in main["env"]
        ]
    args = deployment_config.service_args(config, entry)
    if component.replicas is None and isinstance(args.get("workers"), int):
        component.spec["replicas"] = args["workers"]
    amounts = deployment_config.native_amounts(args, component.name)
    if amounts:
        resources = main.setdefault("resources", {})
        for side in ("limits", "requests"):
            resources[side] = {**resources.get(side, {}), **amounts}


def _reconcile(graph: Graph, deployed: Deployed) -> None:
    component = deployed.component
    annotations = labels_beta.kube_annotations(component, deployed.annotations)
    kubernetes = uses_kubernetes(annotations, graph.config)
    if component.nodes > 1:
        _leader_worker_set(graph, deployed, annotations)
    else:
        _deployment(graph, deployed, annotations)
    name = names.kube_name(deployed.name, lower=True)
    if kubernetes or component.type == keys.FRONTEND:
        labels = labels_beta.kube_labels(graph, component, deployed.labels)
        services.component_service(
            graph,
            component,
            name,
            {**labels, **(services.DISCOVERY_LABELS if kubernetes else {})},
            annotations,
            labels_beta.workload_namespace(graph, component),
            leader_only=component.nodes > 1,
        )
    ingress = component.preserved.get("ingress")
    if component.type == keys.FRONTEND and ingress is None:
        ingress = services.default_ingress(graph)
    services.expose(graph, name, ingress)
    model = (component.spec.get("modelRef") or {}).get("name")
    if model:
        services.model_service(graph, model, {})


def _pod_template(
    graph: Graph, deployed: Deployed, role: Role, annotations: Mapping[str, str], notes: Notes
) -> dict[str, Any]:
    component = deployed.component
    deployer = launch.LWS if component.nodes > 1 else None
    spec = build_pod(graph, component, role, deployer, "dcd-controller", notes)
    pod_steps.fallback_account(graph, spec, notes)
    labels = labels_beta.deployment_pod_labels(graph, component, deployed.name, deployed.labels, annotations)
    return mark_pod(graph, component, {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec})


def _deployment(graph: Graph, deployed: Deployed, annotations: Mapping[str, str]) -> None:
    notes = Notes(on=graph.explanation.on)
    pods = _pod_template(graph, deployed, "main", annotations, notes)
    spec: dict[str, Any] = {
        "selector": {"matchLabels": {keys.LABEL_SELECTOR: deployed.name}},
        "strategy": deployment_strategy(annotations),
        "template": pods,
    }
    if deployed.component.replicas is not None:
        spec["replicas"] = deployed.component.replicas
    labels = labels_beta.kube_labels(graph, deployed.component, deployed.labels)
    item = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(deployed.name, graph.namespace, labels, annotations),
        "spec": spec,
    }
    graph.add(item, "1.6-deployment")
    graph.explanation.pod(ref(item), ".spec.template.spec", pods["spec"], notes)
    graph.explanation.pod_metadata(ref(item), ".spec.template.metadata", pods["metadata"], deployed.user)


def _leader_worker_set(graph: Graph, deployed: Deployed, annotations: Mapping[str, str]) -> None:
    component = deployed.component
    roles: tuple[Role, ...] = ("leader", "worker")
    notes: dict[str, Notes] = {role: Notes(on=graph.explanation.on) for role in roles}
    group: dict[str, Any] = {"size": component.nodes}
    for role in roles:
        pods = _pod_template(graph, deployed, role, annotations, notes[role])
        pod_steps.check_lws_container(component, pods["spec"])
        pods["metadata"]["labels"] = labels_beta.lws_labels(pods["metadata"]["labels"], role)
        group[f"{role}Template"] = pods
    labels = labels_beta.kube_labels(graph, component, deployed.labels)
    item = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": metadata(f"{deployed.name}-0", graph.namespace, labels),
        "spec": {
            "replicas": 1 if component.replicas is None else component.replicas,
            "startupPolicy": "LeaderCreated",
            "leaderWorkerTemplate": group,
            "rolloutStrategy": {"type": ""},
        },
    }
    graph.add(item, "1.6-lws")
    for role in roles:
        pods, path = group[f"{role}Template"], f".spec.leaderWorkerTemplate.{role}Template"
        graph.explanation.pod(ref(item), f"{path}.spec", pods["spec"], notes[role])
        graph.explanation.pod_metadata(ref(item), f"{path}.metadata", pods["metadata"], deployed.user)
