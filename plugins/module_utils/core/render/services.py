# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services, Ingresses and VirtualServices of components, and the headless Services of models (rules 8, 9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import keys
from . import names
from .graph import Component, Graph, metadata

_FRONTEND_PORT = {"name": keys.PORT_HTTP, "port": keys.HTTP_PORT, "targetPort": keys.PORT_HTTP, "protocol": "TCP"}
_SYSTEM_PORT = {"name": keys.PORT_SYSTEM, "port": keys.SYSTEM_PORT, "targetPort": keys.PORT_SYSTEM, "protocol": "TCP"}
_EPP_PORT = {
    "name": keys.PORT_GRPC,
    "port": keys.EPP_GRPC_PORT,
    "targetPort": keys.EPP_GRPC_PORT,
    "protocol": "TCP",
    "appProtocol": "http2",
}
_PORTS: Mapping[str, Mapping[str, Any]] = {keys.FRONTEND: _FRONTEND_PORT, keys.EPP: _EPP_PORT}

DISCOVERY_LABELS: Mapping[str, str] = {
    keys.LABEL_DISCOVERY_BACKEND: "kubernetes",
    keys.LABEL_DISCOVERY_ENABLED: "true",
}


def component_service(
    graph: Graph,
    component: Component,
    name: str,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    namespace: str,
    *,
    leader_only: bool,
) -> None:
    """Add a component's Service. Its selector leaves out the worker hash, so generations share endpoints."""
    selector = {
        keys.LABEL_COMPONENT_TYPE: component.type,
        keys.LABEL_NAMESPACE: namespace,
        keys.LABEL_COMPONENT: component.name,
    }
    if leader_only:
        selector[keys.LABEL_ROLE] = "leader"
    item = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(name, graph.namespace, labels, annotations),
        "spec": {"selector": selector, "ports": [dict(_PORTS.get(component.type, _SYSTEM_PORT))]},
    }
    graph.add(item, "8-service")


def model_service(graph: Graph, model: str, annotations: Mapping[str, str]) -> None:
    """Add the headless Service of a base model, once however many components serve it."""
    name = names.model_service_name(model)
    if any(item["kind"] == "Service" and item["metadata"]["name"] == name for item in graph.objects):
        return
    digest = names.sha_8(model)
    item = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(
            name,
            graph.namespace,
            {keys.LABEL_BASE_MODEL_HASH: digest, keys.LABEL_MANAGED_BY: keys.OPERATOR_MANAGER},
            {**annotations, keys.ANNOTATION_BASE_MODEL: model},
        ),
        "spec": {
            "clusterIP": "None",
            "selector": {keys.LABEL_BASE_MODEL_HASH: digest},
            "ports": [
                {"name": keys.PORT_SYSTEM, "port": keys.SYSTEM_PORT, "targetPort": keys.SYSTEM_PORT, "protocol": "TCP"}
            ],
        },
    }
    graph.add(item, "9-model-service")


def default_ingress(graph: Graph) -> dict[str, Any]:
    """Return the ingress that a frontend without its own gets from the operator's configuration."""
    config = graph.config.ingress
    spec: dict[str, Any] = {"host": graph.name}
    if config.class_name or config.virtual_service_gateway:
        spec["enabled"] = True
    if config.virtual_service_gateway:
        spec["useVirtualService"] = True
        spec["virtualServiceGateway"] = config.virtual_service_gateway
    if config.host_suffix:
        spec["hostSuffix"] = config.host_suffix
    if config.tls_secret:
        spec["tls"] = {"secretName": config.tls_secret}
    if config.class_name:
        spec["ingressControllerClassName"] = config.class_name
    return spec


def expose(graph: Graph, name: str, ingress: Mapping[str, Any] | None) -> None:
    """Add the Ingress and the VirtualService that ``ingress`` asks for; both lead to the Service of the same name."""
    if not ingress or not ingress.get("enabled"):
        return
    suffix = ingress.get("hostSuffix")
    host = f"{ingress.get('hostPrefix') or ''}{ingress.get('host', '')}.{'local' if suffix is None else suffix}"
    class_name = ingress.get("ingressControllerClassName")
    if class_name is not None:
        graph.add(_ingress(graph, name, host, class_name, ingress.get("tls")), "9-ingress")
    gateway = ingress.get("virtualServiceGateway")
    if graph.config.ingress.virtual_service_gateway and ingress.get("useVirtualService") and gateway is not None:
        graph.add(_virtual_service(graph, name, host, gateway), "9-ingress")


def _ingress(graph: Graph, name: str, host: str, class_name: str, tls: Mapping[str, Any] | None) -> dict[str, Any]:
    backend = {"service": {"name": name, "port": {"number": keys.HTTP_PORT}}}
    spec: dict[str, Any] = {
        "ingressClassName": class_name,
        "rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}],
    }
    if tls:
        entry: dict[str, Any] = {"hosts": [host]}
        if tls.get("secretName"):
            entry["secretName"] = tls["secretName"]
        spec["tls"] = [entry]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": metadata(name, graph.namespace),
        "spec": spec,
    }


def _virtual_service(graph: Graph, name: str, host: str, gateway: str) -> dict[str, Any]:
    route = {"destination": {"host": name, "port": {"number": keys.HTTP_PORT}}}
    return {
        "apiVersion": "networking.istio.io/v1beta1",
        "kind": "VirtualService",
        "metadata": metadata(name, graph.namespace),
        "spec": {
            "hosts": [host],
            "gateways": [gateway],
            "http": [{"match": [{"uri": {"prefix": "/"}}], "route": [route]}],
        },
    }
