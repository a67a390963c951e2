# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The main container before the user's values are merged over it (rules 3, 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import keys
from .explain import Notes
from .graph import Component, Graph, effective_discovery
from .merge import env_field, env_var, merge_env
from .profiles.model import TypeDefaults
from .shapes import plain

EPP_CONFIG_VOLUME = "epp-config"
EPP_CACHE_VOLUME = "hf-cache"
_EPP_CONFIG_FILE = "epp-config-dynamo.yaml"
#: What part of a type's defaults a container field belongs to; the rest are probes.
_ASPECTS: Mapping[str, str] = {"command": "command", "args": "command", "ports": "ports"}


def base_container(
    graph: Graph, component: Component, component_type: str, annotations: Mapping[str, str], notes: Notes
) -> dict[str, Any]:
    """Return the main container that the component type gets.

    ``component_type`` differs from the component's only for a frontend sidecar; ``annotations`` decide on discovery.
    """
    defaults = graph.profile.defaults(component_type)
    rule_id = f"3-{defaults.name}"
    container: dict[str, Any] = {"name": keys.MAIN_CONTAINER}
    values = {"dgd": graph.name, "namespace": graph.namespace}
    if defaults.command:
        container["command"] = list(defaults.command)
    if defaults.args:
        container["args"] = [arg.format_map(values) for arg in defaults.args]
    if defaults.ports:
        container["ports"] = [
            {"name": port.name, "containerPort": port.number, "protocol": "TCP"} for port in defaults.ports
        ]
    for key, probe in (
        ("livenessProbe", defaults.liveness),
        ("readinessProbe", defaults.readiness),
        ("startupProbe", defaults.startup),
    ):
        if probe is not None:
            container[key] = plain(probe)
    for key, value in container.items():
        if key != "name":
            notes.note(("containers", keys.MAIN_CONTAINER, key), value, f"{rule_id}-{_ASPECTS.get(key, 'probes')}")
    if component_type == keys.EPP:
        container["volumeMounts"] = _epp_mounts(notes)
    container["env"] = merge_env(
        _common_env(graph, component, annotations, component_type, notes),
        _type_env(graph, component, defaults, notes),
    )
    return container


def _common_env(
    graph: Graph, component: Component, annotations: Mapping[str, str], component_type: str, notes: Notes
) -> list[dict[str, Any]]:
    variables = [
        env_var("DYN_NAMESPACE", graph.component_namespace(component)),
        env_var("DYN_COMPONENT", component_type),
        env_var("DYN_PARENT_DGD_K8S_NAME", graph.name),
        env_var("DYN_PARENT_DGD_K8S_NAMESPACE", graph.namespace),
        env_field("POD_NAME", "metadata.name"),
        env_field("POD_NAMESPACE", "metadata.namespace"),
        env_field("POD_UID", "metadata.uid"),
    ]
    notes.env(keys.MAIN_CONTAINER, variables, "4.1-common")
    backend = effective_discovery(annotations, graph.config)
    discovery = []
    if backend != "etcd":
        discovery.append(env_var("DYN_DISCOVERY_BACKEND", "kubernetes"))
    elif graph.profile.switches.etcd_variable:
        discovery.append(env_var("DYN_DISCOVERY_BACKEND", backend))
    if annotations.get(keys.ANNOTATION_DISCOVERY_MODE) == "container":
        discovery.append(env_var("CONTAINER_NAME", keys.MAIN_CONTAINER))
        discovery.append(env_var("DYN_KUBE_DISCOVERY_MODE", "container"))
    notes.env(keys.MAIN_CONTAINER, discovery, "4.1-discovery")
    return variables + discovery


def _type_env(graph: Graph, component: Component, defaults: TypeDefaults, notes: Notes) -> list[dict[str, Any]]:
    variables = [env_var(name, value) for name, value in defaults.env.items()]
    if defaults.prefixed:
        variables.append(env_var("DYN_NAMESPACE_PREFIX", graph.component_namespace(component)))
    notes.env(keys.MAIN_CONTAINER, variables, f"4.1-{defaults.name}")
    suffix = component.labels.get(keys.LABEL_WORKER_HASH, "")
    if suffix and defaults.name == keys.WORKER and graph.profile.switches.worker_suffix == "always":
        extra = [env_var("DYN_NAMESPACE_WORKER_SUFFIX", suffix)]
        notes.env(keys.MAIN_CONTAINER, extra, "4.1-worker-suffix")
        variables += extra
    return variables


def infrastructure_env(graph: Graph) -> list[dict[str, Any]]:
    """Return the variables that the operator's configuration gives to every component."""
    config = graph.config
    values = {
        "NATS_SERVER": config.nats_address,
        "ETCD_ENDPOINTS": config.etcd_address,
        "MODEL_EXPRESS_URL": config.model_express_url,
        "PROMETHEUS_ENDPOINT": config.prometheus_endpoint,
    }
    return [env_var(name, value) for name, value in values.items() if value]


def base_pod(graph: Graph, component: Component, notes: Notes) -> dict[str, Any]:
    """Return the pod spec that the component type gets, without its containers."""
    defaults = graph.profile.defaults(component.type)
    spec: dict[str, Any] = {
        "terminationGracePeriodSeconds": defaults.grace_period,
        "restartPolicy": graph.profile.restart_policy,
    }
    for key, value in spec.items():
        notes.note((key,), value, "3-pod")
    if defaults.service_account:
        spec["serviceAccountName"] = defaults.service_account
        notes.note(("serviceAccountName",), defaults.service_account, f"3-{defaults.name}-account")
    if component.type == keys.EPP:
        spec["volumes"] = _epp_volumes(graph, component, notes)
    return spec


def _epp_mounts(notes: Notes) -> list[dict[str, Any]]:
    mounts: list[dict[str, Any]] = [
        {"name": EPP_CONFIG_VOLUME, "mountPath": "/etc/epp", "readOnly": True},
        {"name": EPP_CACHE_VOLUME, "mountPath": "/home/nonroot/.cache"},
    ]
    for mount in mounts:
        notes.note(("containers", keys.MAIN_CONTAINER, "volumeMounts", str(mount["name"])), mount, "3.1-epp-volumes")
    return mounts


def _epp_volumes(graph: Graph, component: Component, notes: Notes) -> list[dict[str, Any]]:
    reference = (component.spec.get("eppConfig") or {}).get("configMapRef") or {}
    config_map = {
        "name": reference.get("name") or f"{graph.name}-epp-config",
        "items": [{"key": reference.get("key") or _EPP_CONFIG_FILE, "path": _EPP_CONFIG_FILE}],
    }
    volumes: list[dict[str, Any]] = [
        {"name": EPP_CONFIG_VOLUME, "configMap": config_map},
        {"name": EPP_CACHE_VOLUME, "emptyDir": {}},
    ]
    for volume in volumes:
        notes.note(("volumes", str(volume["name"])), volume, "3.1-epp-volumes")
    return volumes
