# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Release 1.1: a v1alpha1 graph becomes component deployments or one PodCliqueSet (rules 1, 2.1)."""

from __future__ import annotations

from typing import Any

from .. import keys
from . import deployment_config, gms, gpus, labels_alpha, launch, names, pod_steps, restore, services, shared_objects
from .api import Rejection
from .checkpoint_alpha import add_checkpoints, ready_checkpoint
from .epp import add_epp, epp_config
from .explain import Notes
from .gotypes import printed
from .graph import Component, Graph, Refused, effective_discovery, metadata, ref, uses_kubernetes
from .grove import clique, clique_set, scaling_group
from .merge import merge_env, with_missing
from .node import Role
from .pod_alpha import build_pod
from .restart import restart_marks
from .shapes import plain
from .strategy import deployment_strategy, first_pass_replicas

_TEMPLATE = ".spec.template.spec"


def prepare(graph: Graph) -> None:
    """Make the components: the DGD's variables, annotations and labels are copied down where one lacks them."""
    spec = graph.spec
    graph.backend_framework = str(spec.get("backendFramework") or "")
    propagated = {key: graph.annotations[key] for key in keys.PROPAGATED_ANNOTATIONS if key in graph.annotations}
    for name in sorted(spec.get("services") or {}):
        service: dict[str, Any] = plain((spec["services"] or {})[name] or {})
        if spec.get("envs"):
            service["envs"] = merge_env(spec["envs"], service.get("envs") or [])
        annotations = with_missing(service.get("annotations") or {}, propagated)
        graph.components.append(
            Component(
                name=name,
                type=str(service.get("componentType") or ""),
                sub_type=str(service.get("subComponentType") or ""),
                spec=service,
                annotations=with_missing(annotations, spec.get("annotations") or {}),
                labels=with_missing(service.get("labels") or {}, spec.get("labels") or {}),
                backend_framework=graph.backend_framework,
            )
        )


def run(graph: Graph, provider: str) -> list[Rejection]:
    """Add all objects of the graph; return what stopped single components."""
    prepare(graph)
    shared_objects.add_rbac(graph)
    shared_objects.add_claims(graph, list(graph.spec.get("pvcs") or ()))
    add_checkpoints(graph)
    for component in graph.components:
        if (component.spec.get("scalingAdapter") or {}).get("enabled"):
            shared_objects.scaling_adapter(graph, component)
    add_epp(graph)
    shared_objects.add_multinode_support(graph)
    if provider == "grove":
        _grove(graph)
        return []
    if graph.is_multinode and not graph.config.lws:
        raise Refused(
            "dgd-controller",
            "no_multinode_orchestrator",
            "a component spans several nodes, but neither Grove nor LeaderWorkerSet is there to place it",
        )
    return _components(graph)


# --- component path -------------------------------------------------------------------------------------------------


def _components(graph: Graph) -> list[Rejection]:
    rejections = []
    by_name: dict[str, Component] = {}
    for component in graph.components:
        name = _component_deployment(graph, component)
        if name in by_name:  # they differ only in case: the first's labels stay, the last's spec counts
            component.labels = {**component.labels, **by_name[name].labels}
        by_name[name] = component
    for name, component in by_name.items():
        try:
            _reconcile(graph, component, name)
        except Refused as refused:
            rejections.append(refused.rejection)
    return rejections


def _component_deployment(graph: Graph, component: Component) -> str:
    """Add the component's DCD and bring the component into the DCD's terms."""
    worker_hash = graph.worker_hash if component.is_worker else ""
    name = names.resource_name(graph.name, component.name, worker_hash)
    component.labels = {
        **component.labels,
        keys.LABEL_COMPONENT: component.name,
        keys.LABEL_NAMESPACE: graph.component_namespace(component),
        keys.LABEL_DGD: graph.name,
    }
    if worker_hash:
        component.labels[keys.LABEL_WORKER_HASH] = worker_hash
    restarted = restart_marks(graph).get(component.name)
    if restarted:
        component.annotations = {**component.annotations, keys.ANNOTATION_RESTARTED_AT: restarted}
    _apply_deployment_config(component)
    if component.type == keys.PLANNER:
        component.spec.setdefault("extraPodSpec", {})["serviceAccountName"] = keys.PLANNER_SERVICE_ACCOUNT
    if component.type == keys.FRONTEND and component.spec.get("ingress") is None:
        component.spec["ingress"] = services.default_ingress(graph)
    if component.is_worker and graph.is_multinode and graph.profile.switches.first_pass_rolls_lws:
        start = first_pass_replicas(component.replicas or 0, component.annotations)
        component.spec["replicas"] = start or component.replicas
    graph.add(_dcd_object(graph, component, name), "1.2-component-deployment")
    return name


def _dcd_object(graph: Graph, component: Component, name: str) -> dict[str, Any]:
    spec = printed(component.spec, "Service")
    if (spec.get("eppConfig") or {}).get("config") is not None:
        spec["eppConfig"] = {**spec["eppConfig"], "config": epp_config(spec["eppConfig"]["config"])}
    extra = spec.get("extraPodSpec", {})
    if "mainContainer" in extra:
        extra["mainContainer"].setdefault("name", "")
    if graph.backend_framework:
        spec["backendFramework"] = graph.backend_framework
    spec["serviceName"] = component.name
    spec["dynamoNamespace"] = graph.component_namespace(component)
    spec["annotations"] = dict(component.annotations)
    spec["labels"] = dict(component.labels)
    return {
        "apiVersion": graph.profile.api_version,
        "kind": keys.DCD_KIND,
        "metadata": metadata(name, graph.namespace, component.labels),
        "spec": {key: value for key, value in spec.items() if value != {} or key not in ("annotations", "labels")},
    }


def _apply_deployment_config(component: Component) -> None:
    variables = component.spec.get("envs") or []
    text = deployment_config.find(variables)
    if not text:
        return
    config = deployment_config.parse(text, component.name)
    wanted = deployment_config.service_args(config, component.name).get("resources")
    if component.type == keys.FRONTEND:
        changed = deployment_config.with_frontend_port(config, component.name, keys.HTTP_PORT)
        component.spec["envs"] = [
            {**item, "value": changed} if item.get("name") == deployment_config.VARIABLE else item for item in variables
        ]
    if isinstance(wanted, dict):
        amounts = {key: wanted[key] for key in ("cpu", "memory", "gpu", "custom") if wanted.get(key)}
        resources = plain(component.spec.get("resources") or {})
        for side in ("requests", "limits"):
            resources[side] = {**(resources.get(side) or {}), **plain(amounts)}
        component.spec["resources"] = resources


def _reconcile(graph: Graph, component: Component, name: str) -> None:
    """Do what the DCD's own controller does."""
    _claim_template(graph, component, "dcd-controller")
    if component.nodes > 1:
        _leader_worker_sets(graph, component, name)
    else:
        _deployment(graph, component, name)
    kubernetes = uses_kubernetes(component.annotations, graph.config)
    service = names.kube_name(name, lower=False)
    if kubernetes or component.type == keys.FRONTEND:
        services.component_service(
            graph,
            component,
            service,
            {**labels_alpha.kube_labels(component), **(services.DISCOVERY_LABELS if kubernetes else {})},
            labels_alpha.kube_annotations(component),
            graph.component_namespace(component),
            leader_only=component.nodes > 1,
        )
    services.expose(graph, name, component.spec.get("ingress"))
    model = (component.spec.get("modelRef") or {}).get("name")
    if model:
        services.model_service(graph, model, {})


def _claim_template(graph: Graph, component: Component, stage: str) -> None:
    service = component.spec.get("gpuMemoryService") or {}
    if not service.get("enabled"):
        return
    if not graph.config.dra:
        raise Refused(
            "dgd-controller" if stage == "dgd-controller" else "dcd-controller",
            "dra_missing",
            "gpuMemoryService needs dynamic resource allocation (API group resource.k8s.io), which the cluster lacks",
            component.name,
        )
    count = gpus.dedicated(component.spec.get("resources") or {}, ("limits", "requests"))
    name = names.claim_template_name(graph.name, component.name)
    graph.add(gms.claim_template(graph, name, service.get("deviceClassName") or "gpu.nvidia.com", count), "10.3-gms")


def _pod_template(graph: Graph, component: Component, name: str, role: Role, notes: Notes) -> dict[str, Any]:
    deployer = launch.LWS if component.nodes > 1 else None
    spec = build_pod(graph, component, role, deployer, "dcd-controller", notes)
    state = ready_checkpoint(graph, component) if graph.config.checkpoint.enabled else None
    if state is not None:
        restore.shape_1_1(graph, spec, notes)
    pod_steps.fallback_account(graph, spec, notes)
    labels = restore.marked_labels(labels_alpha.deployment_pod_labels(graph, component, name), state)
    annotations = restore.marked_annotations(labels_alpha.deployment_pod_annotations(component), state)
    return labels_alpha.with_labels({"spec": spec}, labels, annotations)


def _deployment(graph: Graph, component: Component, name: str) -> None:
    notes = Notes(on=graph.explanation.on)
    template = _pod_template(graph, component, name, "main", notes)
    annotations = labels_alpha.kube_annotations(component)
    strategy = deployment_strategy(annotations)
    if keys.LABEL_RESTORE_TARGET in template["metadata"]["labels"]:
        strategy = {"type": "Recreate"}
    spec: dict[str, Any] = {
        "selector": {"matchLabels": {keys.LABEL_SELECTOR: name}},
        "strategy": strategy,
        "template": template,
    }
    if component.replicas is not None:
        spec["replicas"] = component.replicas
    item = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(name, graph.namespace, labels_alpha.kube_labels(component), annotations),
        "spec": spec,
    }
    graph.add(item, "1.6-deployment")
    graph.explanation.pod(ref(item), _TEMPLATE, template["spec"], notes)
    graph.explanation.pod_metadata(
        ref(item), ".spec.template.metadata", template["metadata"], _user_metadata(component)
    )


def _leader_worker_sets(graph: Graph, component: Component, name: str) -> None:
    notes = {role: Notes(on=graph.explanation.on) for role in ("leader", "worker")}
    templates: dict[str, dict[str, Any]] = {}
    for role in ("leader", "worker"):
        template = _pod_template(graph, component, name, role, notes[role])
        pod_steps.check_lws_container(component, template["spec"])
        templates[role] = template
    if gpus.dedicated(component.spec.get("resources") or {}, ("limits",)) == 0:
        raise Refused(
            "dcd-controller",
            "lws_gpu_limit",
            "a LeaderWorkerSet's worker needs resources.limits.gpu",
            component.name,
        )
    for index in range(1 if component.replicas is None else component.replicas):
        _leader_worker_set(graph, component, f"{name}-{index}", index, templates, notes)


def _leader_worker_set(
    graph: Graph,
    component: Component,
    name: str,
    index: int,
    templates: dict[str, dict[str, Any]],
    notes: dict[str, Notes],
) -> None:
    own = {keys.LABEL_INSTANCE_ID: str(index)}
    labels = {**labels_alpha.kube_labels(component), **own}
    worker_template: dict[str, Any] = {"size": component.nodes}
    for role, template in templates.items():
        worker_template[f"{role}Template"] = _lws_template(template, role, name, labels)
    group = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": metadata(name, graph.namespace, own),
        "spec": {"minMember": component.nodes},
    }
    item = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": metadata(name, graph.namespace, labels),
        "spec": {
            "replicas": 1,
            "startupPolicy": "LeaderCreated",
            "leaderWorkerTemplate": worker_template,
            "rolloutStrategy": {"type": ""},
        },
    }
    graph.add(group, "1.6-volcano")
    graph.add(item, "1.6-lws")
    for role in templates:
        made, path = worker_template[f"{role}Template"], f".spec.leaderWorkerTemplate.{role}Template"
        graph.explanation.pod(ref(item), f"{path}.spec", made["spec"], notes[role])
        graph.explanation.pod_metadata(ref(item), f"{path}.metadata", made["metadata"], _user_metadata(component))


def _lws_template(template: dict[str, Any], role: str, name: str, labels: dict[str, str]) -> dict[str, Any]:
    own = plain(template)
    pod_labels = {**own["metadata"].get("labels", {}), **labels, keys.LABEL_ROLE: role}
    pod_labels.pop(keys.LABEL_SELECTOR, None)
    own["metadata"]["labels"] = pod_labels
    own["metadata"]["annotations"] = {**own["metadata"].get("annotations", {}), keys.ANNOTATION_POD_GROUP: name}
    own["spec"]["schedulerName"] = keys.VOLCANO_SCHEDULER
    return own


# --- Grove ----------------------------------------------------------------------------------------------------------


def _grove(graph: Graph) -> None:
    backend = effective_discovery(graph.annotations, graph.config)
    cliques, groups, ordered = [], [], False
    for component in graph.components:
        component.annotations = {**component.annotations, keys.ANNOTATION_DISCOVERY_BACKEND: backend}
        _claim_template(graph, component, "dgd-controller")
        made, group, starts_after = _component_cliques(graph, component)
        cliques += made
        groups += group
        ordered = ordered or starts_after
    item = clique_set(graph, graph.name, cliques, groups, ordered=ordered)
    domain = (graph.spec.get("topologyConstraint") or {}).get("packDomain")
    if domain:
        item["spec"]["template"]["topologyConstraint"] = {"packDomain": domain}
    graph.add(item, "1.6-clique-set")
    for component in graph.components:
        _grove_services(graph, component)
    model_names = [(component.spec.get("modelRef") or {}).get("name") for component in graph.components]
    for model in model_names:
        if model:
            services.model_service(graph, model, {})


def _component_cliques(graph: Graph, component: Component) -> tuple[list[Any], list[Any], bool]:
    # The marks do not ask whether the operator restores at all; only the pod's shape does.
    state = ready_checkpoint(graph, component)
    restarted = restart_marks(graph).get(component.name, "")
    labels = restore.marked_labels(labels_alpha.grove_labels(graph, component), state)
    annotations = restore.marked_annotations(labels_alpha.grove_annotations(component, restarted), state)
    roles: tuple[Role, ...] = ("leader", "worker") if component.nodes > 1 else ("main",)
    deployer = launch.GROVE if component.nodes > 1 else None
    cliques, ordered = [], False
    for role in roles:
        notes = Notes(on=graph.explanation.on)
        spec = build_pod(graph, component, role, deployer, "dgd-controller", notes)
        if state is not None and graph.config.checkpoint.enabled:
            restore.shape_1_1(graph, spec, notes)
        made = clique(graph, component, role, spec, labels, annotations)
        if role == "leader" and _backend_of(component) == keys.TRTLLM:
            made["spec"]["startsAfter"] = [f"{component.lower}-wkr"]
            ordered = True
        cliques.append(made)
        owner, path = f"PodCliqueSet/{graph.name}", f".spec.template.cliques[{made['name']}]"
        graph.explanation.pod(owner, f"{path}.spec.podSpec", spec, notes)
        graph.explanation.pod_metadata(owner, path, made, _user_metadata(component))
    groups = [scaling_group(component, cliques)] if component.nodes > 1 else []
    if groups and component.spec.get("topologyConstraint"):
        groups[0]["topologyConstraint"] = {"packDomain": component.spec["topologyConstraint"]["packDomain"]}
    elif component.spec.get("topologyConstraint"):
        cliques[0]["topologyConstraint"] = {"packDomain": component.spec["topologyConstraint"]["packDomain"]}
    return cliques, groups, ordered


def _user_metadata(component: Component) -> dict[str, Any]:
    own: dict[str, Any] = component.spec.get("extraPodMetadata") or {}
    return own


def _backend_of(component: Component) -> str:
    main = (component.spec.get("extraPodSpec") or {}).get("mainContainer") or {}
    return pod_steps.choose_backend(component, main, component.backend_framework, "dgd-controller")


def _grove_services(graph: Graph, component: Component) -> None:
    kubernetes = uses_kubernetes(component.annotations, graph.config)
    name = names.kube_name(names.resource_name(graph.name, component.name), lower=False)
    if kubernetes or component.type == keys.FRONTEND:
        services.component_service(
            graph,
            component,
            name,
            {**component.labels, **(services.DISCOVERY_LABELS if kubernetes else {})},
            {},
            graph.component_namespace(component),
            leader_only=False,
        )
    if component.type == keys.FRONTEND:
        ingress = component.spec.get("ingress")
        services.expose(
            graph,
            names.resource_name(graph.name, component.name),
            services.default_ingress(graph) if ingress is None else ingress,
        )
