# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod template of a v1beta1 component before the operator's defaults: what the graph gives to all (rules 2.2)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from .. import keys
from .graph import Component, Graph
from .merge import env_var, merge_env, with_missing

TOPOLOGY_VOLUME = "topology-labels"
TOPOLOGY_PATH = "/etc/dynamo/topology"
_TOPOLOGY_LABEL_PREFIX = "nvidia.com/dynamo-topology."
TOPOLOGY_ANNOTATIONS = (keys.ANNOTATION_TOPOLOGY_LABEL_KEY, keys.ANNOTATION_TOPOLOGY_CLUSTER)


def template(component: Component) -> dict[str, Any]:
    """Return the component's pod template, made where it has none."""
    result: dict[str, Any] = component.spec.setdefault("podTemplate", {})
    result.setdefault("spec", {}).setdefault("containers", [])
    return result


def main_container(component: Component) -> dict[str, Any] | None:
    """Return the container named main, if there is one."""
    containers = ((component.spec.get("podTemplate") or {}).get("spec") or {}).get("containers") or ()
    return next((item for item in containers if item.get("name") == keys.MAIN_CONTAINER), None)


def ensure_main(component: Component) -> dict[str, Any]:
    """Return the container named main, put first where it is missing."""
    found = main_container(component)
    if found is None:
        found = {"name": keys.MAIN_CONTAINER}
        template(component)["spec"]["containers"].insert(0, found)
    return found


def pod_metadata(component: Component, kind: str) -> dict[str, str]:
    """Return the labels or annotations of the pod template."""
    values: Mapping[str, str] = ((component.spec.get("podTemplate") or {}).get("metadata") or {}).get(kind) or {}
    return dict(values)


def set_pod_metadata(component: Component, kind: str, values: Mapping[str, str]) -> None:
    """Set the labels or annotations of the pod template."""
    if values:
        component.spec.setdefault("podTemplate", {}).setdefault("metadata", {})[kind] = dict(values)


def apply_graph_defaults(graph: Graph, component: Component, *, with_domains: bool) -> None:
    """Copy the graph's variables, KV transfer policy, labels and annotations down to the pod template."""
    spec = graph.spec
    if spec.get("env"):
        main = ensure_main(component)
        main["env"] = merge_env(spec["env"], main.get("env") or ())
    policy = kv_policy(graph, component)
    if policy is not None:
        _apply_kv_policy(graph, component, policy, with_domains=with_domains)
    propagated = {key: graph.annotations[key] for key in keys.PROPAGATED_ANNOTATIONS if key in graph.annotations}
    annotations = with_missing(pod_metadata(component, "annotations"), spec.get("annotations") or {})
    set_pod_metadata(component, "annotations", with_missing(annotations, propagated))
    set_pod_metadata(component, "labels", with_missing(pod_metadata(component, "labels"), spec.get("labels") or {}))


def kv_policy(graph: Graph, component: Component) -> Mapping[str, Any] | None:
    """Return the graph's KV transfer policy where it concerns the component: workers only."""
    policy: Mapping[str, Any] | None = (graph.spec.get("experimental") or {}).get("kvTransferPolicy")
    if not policy or not component.is_worker:
        return None
    return policy if policy.get("labelKey") or policy.get("clusterTopologyName") else None


def topology_annotations(policy: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the annotations that tell the topology controller what to copy onto the pod."""
    wanted = {
        keys.ANNOTATION_TOPOLOGY_LABEL_KEY: (policy or {}).get("labelKey"),
        keys.ANNOTATION_TOPOLOGY_CLUSTER: (policy or {}).get("clusterTopologyName"),
    }
    return {key: str(value) for key, value in wanted.items() if value}


def kv_env(policy: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the variables of a KV transfer policy; they beat the user's of the same names."""
    variables = [
        env_var("DYN_KV_TRANSFER_DOMAIN", str(policy.get("domain") or "")),
        env_var("DYN_KV_TRANSFER_ENFORCEMENT", str(policy.get("enforcement") or "required")),
        env_var("DYN_TOPOLOGY_ENABLED", "true"),
        env_var("DYN_TOPOLOGY_MOUNT_PATH", TOPOLOGY_PATH),
    ]
    weight = policy.get("preferredWeight")
    if weight is not None:
        variables.append(env_var("DYN_KV_TRANSFER_PREFERRED_WEIGHT", shortest(weight)))
    return variables


def shortest(number: float) -> str:
    """Return the shortest decimal text, without exponent, that leads back to the same 32-bit number."""
    wanted = struct.pack("f", number)
    texts = (format(number, f".{digits}g") for digits in range(1, 10))
    text = next((text for text in texts if struct.pack("f", float(text)) == wanted), repr(float(number)))
    return format(Decimal(text), "f")


def _apply_kv_policy(graph: Graph, component: Component, policy: Mapping[str, Any], *, with_domains: bool) -> None:
    main = ensure_main(component)
    names = {
        "DYN_KV_TRANSFER_DOMAIN",
        "DYN_KV_TRANSFER_ENFORCEMENT",
        "DYN_KV_TRANSFER_PREFERRED_WEIGHT",
        "DYN_TOPOLOGY_ENABLED",
        "DYN_TOPOLOGY_MOUNT_PATH",
    }
    main["env"] = merge_env([item for item in main.get("env") or () if item["name"] not in names], kv_env(policy))
    mount = {"name": TOPOLOGY_VOLUME, "mountPath": TOPOLOGY_PATH, "readOnly": True}
    main["volumeMounts"] = [
        *(
            item
            for item in main.get("volumeMounts") or ()
            if item["name"] != TOPOLOGY_VOLUME and item.get("mountPath") != TOPOLOGY_PATH
        ),
        mount,
    ]
    spec = template(component)["spec"]
    volume = {"name": TOPOLOGY_VOLUME, "downwardAPI": {"items": _topology_items(graph, policy, with_domains)}}
    spec["volumes"] = [*(item for item in spec.get("volumes") or () if item["name"] != TOPOLOGY_VOLUME), volume]


def _topology_items(graph: Graph, policy: Mapping[str, Any], with_domains: bool) -> list[dict[str, Any]]:
    topology = policy.get("clusterTopologyName")
    domain = str(policy.get("domain") or "")
    if topology and with_domains:
        known = (graph.facts.topologies or {}).get(str(topology), ())
        domains = [name for name, _key in known] or [domain]
        pairs = [(name, f"{_TOPOLOGY_LABEL_PREFIX}{name}") for name in domains]
    else:
        pairs = [(domain, str(policy.get("labelKey") or f"{_TOPOLOGY_LABEL_PREFIX}{domain}"))]
    return [{"path": name, "fieldRef": {"fieldPath": f"metadata.labels['{label}']"}} for name, label in pairs]
