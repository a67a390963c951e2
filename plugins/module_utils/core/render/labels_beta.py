# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels and annotations of 1.5's objects and pods (rules 1.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import keys
from . import names
from .graph import Component, Graph, uses_kubernetes
from .services import DISCOVERY_LABELS
from .template_beta import TOPOLOGY_ANNOTATIONS, pod_metadata

_REASSERTED = (
    keys.LABEL_COMPONENT,
    keys.LABEL_NAMESPACE,
    keys.LABEL_DGD,
    keys.LABEL_WORKER_HASH,
    keys.LABEL_COMPONENT_CLASS,
)


def _model(component: Component) -> str:
    return str((component.spec.get("modelRef") or {}).get("name") or "")


def _preserved(component: Component, kind: str) -> Mapping[str, str]:
    values: Mapping[str, str] = component.preserved.get(kind) or {}
    return values


def workload_namespace(graph: Graph, component: Component) -> str:
    """Return the Dynamo namespace on the component path: there a deprecated value of v1alpha1 still counts."""
    return str(component.preserved.get("dynamoNamespace") or graph.component_namespace(component))


def kube_labels(graph: Graph, component: Component, dcd_labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of a component's Deployment and Service (``GetDCDKubeLabels``)."""
    labels = {**dcd_labels, **_preserved(component, "labels"), **pod_metadata(component, "labels")}
    if _model(component):
        labels[keys.LABEL_BASE_MODEL_HASH] = names.sha_8(_model(component))
    if component.sub_type:
        labels[keys.LABEL_SUB_COMPONENT_TYPE] = component.sub_type
    labels[keys.LABEL_COMPONENT] = component.name
    labels[keys.LABEL_NAMESPACE] = workload_namespace(graph, component)
    labels.update({key: dcd_labels[key] for key in _REASSERTED if dcd_labels.get(key)})
    return labels


def kube_annotations(component: Component, dcd_annotations: Mapping[str, str]) -> dict[str, str]:
    """Return the annotations of a component's Deployment, Service and pods (``GetDCDKubeAnnotations``)."""
    annotations = {**_preserved(component, "annotations"), **pod_metadata(component, "annotations")}
    if _model(component):
        annotations[keys.ANNOTATION_BASE_MODEL] = _model(component)
    for key in (keys.ANNOTATION_ORIGIN_VERSION, *TOPOLOGY_ANNOTATIONS):
        annotations.pop(key, None)
    annotations.update({key: dcd_annotations[key] for key in TOPOLOGY_ANNOTATIONS if dcd_annotations.get(key)})
    return annotations


def deployment_pod_labels(
    graph: Graph,
    component: Component,
    dcd: str,
    dcd_labels: Mapping[str, str],
    annotations: Mapping[str, str],
) -> dict[str, str]:
    """Return the labels of pods on the component path."""
    labels = kube_labels(graph, component, dcd_labels)
    if annotations.get(keys.ANNOTATION_ENABLE_METRICS) != "false":
        labels[keys.LABEL_METRICS] = "true"
    labels[keys.LABEL_DGD] = graph.name
    if component.type:
        labels[keys.LABEL_COMPONENT_TYPE] = component.type
    labels[keys.LABEL_COMPONENT] = component.name
    labels[keys.LABEL_NAMESPACE] = workload_namespace(graph, component)
    labels[keys.LABEL_SELECTOR] = dcd
    if uses_kubernetes(annotations, graph.config):
        labels.update(DISCOVERY_LABELS)
    return labels


def grove_labels(graph: Graph, component: Component, *, has_epp: bool) -> dict[str, str]:
    """Return the labels of a clique, which Grove gives to its pods."""
    namespace = graph.component_namespace(component)
    asserted = {
        keys.LABEL_SELECTOR: names.resource_name(graph.name, component.name),
        keys.LABEL_DGD: graph.name,
        keys.LABEL_COMPONENT: component.name,
        keys.LABEL_NAMESPACE: namespace,
    }
    if component.type:
        asserted[keys.LABEL_COMPONENT_TYPE] = component.type
    labels = dict(asserted)
    if component.sub_type:
        labels[keys.LABEL_SUB_COMPONENT_TYPE] = component.sub_type
    if _model(component):
        labels[keys.LABEL_BASE_MODEL_HASH] = names.sha_8(_model(component))
    if graph.annotations.get(keys.ANNOTATION_ENABLE_METRICS) != "false":
        labels[keys.LABEL_METRICS] = "true"
    labels.update(component.service_labels)
    labels.update(asserted)
    if has_epp and component.is_worker:
        labels[keys.LABEL_COMPONENT_CLASS] = keys.WORKER
    if uses_kubernetes(pod_metadata(component, "annotations"), graph.config):
        labels.update(DISCOVERY_LABELS)
    return labels


def resource_labels(graph: Graph, component: Component) -> dict[str, str]:
    """Return the labels of what a component gets directly from the graph (``GetDGDComponentResourceLabels``)."""
    return {
        **(graph.spec.get("labels") or {}),
        **_preserved(component, "labels"),
        **pod_metadata(component, "labels"),
    }


def resource_annotations(graph: Graph, component: Component, own: Mapping[str, str]) -> dict[str, str]:
    """Return the annotations likewise; ``own`` are those of the pod template."""
    return {**(graph.spec.get("annotations") or {}), **_preserved(component, "annotations"), **own}


def lws_labels(labels: Mapping[str, str], role: str) -> dict[str, str]:
    """Return a LeaderWorkerSet's pod labels: with the role, without the selector."""
    result: dict[str, Any] = {**labels, keys.LABEL_ROLE: role}
    result.pop(keys.LABEL_SELECTOR, None)
    return result
