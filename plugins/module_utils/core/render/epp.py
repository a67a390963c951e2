# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The endpoint picker: its configuration and the pool that names it (rules 9; ``internal/dynamo/epp``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import keys
from . import names
from .goyaml import to_yaml
from .graph import Component, Graph, Refused, metadata

CONFIG_KEY = "epp-config-dynamo.yaml"


def add_epp(graph: Graph, class_selector: bool = False) -> None:
    """Add what each EPP needs beside its pods; ``class_selector`` picks pods by component class, as 1.5 does."""
    for component in graph.components:
        if component.type == keys.EPP:
            _add(graph, component, class_selector)


def _add(graph: Graph, component: Component, class_selector: bool) -> None:
    labels = {
        keys.LABEL_COMPONENT: component.name,
        keys.LABEL_COMPONENT_TYPE: keys.EPP,
        keys.LABEL_DGD: graph.name,
    }
    config = (component.spec.get("eppConfig") or {}).get("config")
    if config is not None:
        item = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata(f"{graph.name}-epp-config", graph.namespace, labels),
            "data": {CONFIG_KEY: to_yaml(epp_config(config))},
        }
        graph.add(item, "9-epp-config")
    if not graph.config.inference_pool:
        raise Refused(
            "dgd-controller", "no_inference_pool", "the cluster has no InferencePool kind, which an EPP needs"
        )
    selector = {
        (keys.LABEL_COMPONENT_CLASS if class_selector else keys.LABEL_COMPONENT_TYPE): keys.WORKER,
        keys.LABEL_NAMESPACE: graph.component_namespace(component),
    }
    pool = {
        "apiVersion": f"{keys.INFERENCE_POOL_GROUP}/v1",
        "kind": "InferencePool",
        "metadata": metadata(f"{graph.name}-pool", graph.namespace, labels),
        "spec": {
            "selector": {"matchLabels": selector},
            "targetPorts": [{"number": keys.HTTP_PORT}],
            "endpointPickerRef": {
                "kind": "Service",
                "name": f"{graph.name}-{component.lower}",
                "port": {"number": keys.EPP_GRPC_PORT},
            },
        },
    }
    graph.add(pool, "9-inference-pool")
    if graph.config.istio and class_selector:
        _destination_rule(graph, f"{graph.name}-{component.lower}")


def _destination_rule(graph: Graph, service: str) -> None:
    """Tell a mesh that the endpoint picker speaks TLS by itself."""
    name = names.kube_name(service, lower=True)
    item = {
        "apiVersion": "networking.istio.io/v1beta1",
        "kind": "DestinationRule",
        "metadata": metadata(name, graph.namespace),
        "spec": {
            "host": f"{name}.{graph.namespace}.svc.cluster.local",
            "trafficPolicy": {"tls": {"mode": "SIMPLE", "insecureSkipVerify": True}},
        },
    }
    graph.add(item, "9-destination-rule")


def epp_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return an inline configuration with what Go's struct always prints."""
    result = {key: value for key, value in config.items() if value is not None}
    result["apiVersion"] = "inference.networking.x-k8s.io/v1alpha1"
    result["kind"] = "EndpointPickerConfig"
    result["plugins"] = [{"name": "", "parameters": None, **plugin} for plugin in _objects(config, "plugins")]
    result["schedulingProfiles"] = [
        {
            **profile,
            "plugins": [{"weight": None, **plugin} for plugin in _objects(profile, "plugins")],
        }
        for profile in _objects(config, "schedulingProfiles")
    ]
    return result


def _objects(holder: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return a list's objects; one left empty in the YAML counts as an object without fields."""
    return [item or {} for item in holder.get(key) or ()]
