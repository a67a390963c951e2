# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels and annotations of 1.1's objects and pods (rules 1.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import keys
from . import names
from .graph import Component, Graph, uses_kubernetes
from .services import DISCOVERY_LABELS


def _pod_metadata(component: Component, kind: str) -> dict[str, str]:
    values: Mapping[str, str] = (component.spec.get("extraPodMetadata") or {}).get(kind) or {}
    return dict(values)


def _model(component: Component) -> str:
    return str((component.spec.get("modelRef") or {}).get("name") or "")


def kube_labels(component: Component) -> dict[str, str]:
    """Return the labels of a component's Deployment and Service."""
    labels = dict(component.labels)
    if _model(component):
        labels[keys.LABEL_BASE_MODEL_HASH] = names.sha_8(_model(component))
    return labels


def kube_annotations(component: Component) -> dict[str, str]:
    """Return the annotations of a component's Deployment and Service."""
    annotations = {**component.annotations, **_pod_metadata(component, "annotations")}
    if _model(component):
        annotations[keys.ANNOTATION_BASE_MODEL] = _model(component)
    return annotations


def _reasserted(component: Component, graph_name: str, namespace: str) -> dict[str, str]:
    labels = {keys.LABEL_DGD: graph_name}
    if component.type:
        labels[keys.LABEL_COMPONENT_TYPE] = component.type
    if namespace:
        labels[keys.LABEL_NAMESPACE] = namespace
    if component.labels.get(keys.LABEL_WORKER_HASH):
        labels[keys.LABEL_WORKER_HASH] = component.labels[keys.LABEL_WORKER_HASH]
    return labels


def deployment_pod_labels(graph: Graph, component: Component, dcd: str) -> dict[str, str]:
    """Return the labels of pods on the component path."""
    labels = kube_labels(component)
    if component.annotations.get(keys.ANNOTATION_ENABLE_METRICS) != "false":
        labels[keys.LABEL_METRICS] = "true"
    graph_name = component.labels.get(keys.LABEL_DGD, "")
    labels[keys.LABEL_DGD] = graph_name
    if component.type:
        labels[keys.LABEL_COMPONENT_TYPE] = component.type
    if component.sub_type:
        labels[keys.LABEL_SUB_COMPONENT_TYPE] = component.sub_type
    labels[keys.LABEL_SELECTOR] = dcd
    if uses_kubernetes(component.annotations, graph.config):
        labels.update(DISCOVERY_LABELS)
    labels.update(_pod_metadata(component, "labels"))
    labels.update(_reasserted(component, graph_name, graph.component_namespace(component)))
    return labels


def deployment_pod_annotations(component: Component) -> dict[str, str]:
    """Return the annotations of pods on the component path: of the component's own only the restart mark gets there."""
    annotations = _pod_metadata(component, "annotations")
    restarted = component.annotations.get(keys.ANNOTATION_RESTARTED_AT)
    if restarted:
        annotations[keys.ANNOTATION_RESTARTED_AT] = restarted
    return annotations


def grove_labels(graph: Graph, component: Component) -> dict[str, str]:
    """Return the labels of a clique, which Grove gives to its pods."""
    namespace = graph.component_namespace(component)
    labels = {
        keys.LABEL_SELECTOR: names.resource_name(graph.name, component.name),
        keys.LABEL_DGD: graph.name,
        keys.LABEL_COMPONENT: component.name,
        keys.LABEL_NAMESPACE: namespace,
    }
    if component.type:
        labels[keys.LABEL_COMPONENT_TYPE] = component.type
    if component.sub_type:
        labels[keys.LABEL_SUB_COMPONENT_TYPE] = component.sub_type
    if _model(component):
        labels[keys.LABEL_BASE_MODEL_HASH] = names.sha_8(_model(component))
    if graph.annotations.get(keys.ANNOTATION_ENABLE_METRICS) != "false":
        labels[keys.LABEL_METRICS] = "true"
    labels.update(component.labels)
    labels.update(_pod_metadata(component, "labels"))
    labels.update(_reasserted(component, graph.name, namespace))
    if uses_kubernetes(component.annotations, graph.config):
        labels.update(DISCOVERY_LABELS)
    return labels


def grove_annotations(component: Component, restarted: str) -> dict[str, str]:
    """Return the annotations of a clique."""
    annotations = {**component.annotations, **_pod_metadata(component, "annotations")}
    if restarted:
        annotations[keys.ANNOTATION_RESTARTED_AT] = restarted
    return annotations


def with_labels(template: dict[str, Any], labels: Mapping[str, str], annotations: Mapping[str, str]) -> dict[str, Any]:
    """Return a pod template with its metadata."""
    metadata: dict[str, Any] = {}
    if labels:
        metadata["labels"] = dict(labels)
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"metadata": metadata, **template} if metadata else template
