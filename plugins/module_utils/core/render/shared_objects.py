# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects that a DGD gets on every pathway (rules 1.2, 8, 9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import keys
from ..quantity import canonical
from . import names
from .graph import Component, Graph, Refused, metadata, uses_kubernetes

RBAC = "rbac.authorization.k8s.io/v1"
RBAC_GROUP = "rbac.authorization.k8s.io"
WAIT_SCRIPT_KEY = "wait-for-leader.py"
WAIT_SCRIPT = "«script wait-for-leader.py»"
GENERATED = "<generated>"

_DISCOVERY_RULES: tuple[dict[str, list[str]], ...] = (
    {"apiGroups": [""], "resources": ["endpoints", "pods"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["get", "list", "watch"]},
    {
        "apiGroups": [keys.GROUP],
        "resources": ["dynamoworkermetadatas"],
        "verbs": ["create", "get", "list", "watch", "update", "patch", "delete"],
    },
)


def _account_labels(account: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/managed-by": keys.OPERATOR_MANAGER,
        "app.kubernetes.io/component": "rbac",
        "app.kubernetes.io/name": names.label_value(account),
    }


def _account(graph: Graph, account: str, rule_id: str) -> None:
    item = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(account, graph.namespace, _account_labels(account)),
    }
    graph.add(item, rule_id)


def _binding(graph: Graph, account: str, name: str, role_kind: str, role: str, rule_id: str) -> None:
    item = {
        "apiVersion": RBAC,
        "kind": "RoleBinding",
        "metadata": metadata(name, graph.namespace, _account_labels(account)),
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": role_kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": graph.namespace}],
    }
    graph.add(item, rule_id)


def add_rbac(graph: Graph) -> None:
    """Add the planner's, the EPP's and the discovery ServiceAccounts with their rights."""
    if not graph.config.restricted_namespace:
        _cluster_role_account(graph, keys.PLANNER_SERVICE_ACCOUNT, graph.config.planner_cluster_role)
        if any(component.type == keys.EPP for component in graph.components):
            _cluster_role_account(graph, keys.EPP_SERVICE_ACCOUNT, graph.config.epp_cluster_role)
    if not uses_kubernetes(graph.annotations, graph.config):
        return
    account = keys.discovery_service_account(graph.name)
    _account(graph, account, "8-discovery-rbac")
    role = {
        "apiVersion": RBAC,
        "kind": "Role",
        "metadata": metadata(names.discovery_role(graph.name), graph.namespace, _account_labels(account)),
        "rules": [{key: list(value) for key, value in entry.items()} for entry in _DISCOVERY_RULES],
    }
    graph.add(role, "8-discovery-rbac")
    binding = names.discovery_binding(graph.name)
    _binding(graph, account, binding, "Role", names.discovery_role(graph.name), "8-discovery-rbac")


def _cluster_role_account(graph: Graph, account: str, role: str) -> None:
    if not role:
        raise Refused("dgd-controller", "no_cluster_role", f"the operator has no ClusterRole for {account}")
    _account(graph, account, "9-component-rbac")
    _binding(graph, account, f"{account}-binding", "ClusterRole", role, "9-component-rbac")


def add_claims(graph: Graph, claims: list[Mapping[str, Any]]) -> None:
    """Add the PersistentVolumeClaims that the DGD creates; one that it only names must exist."""
    for claim in claims:
        name = str(claim.get("name") or "")
        existing = graph.facts.claims
        if existing is not None and name in existing:
            continue
        if not claim.get("create"):
            if existing is None:
                continue
            raise Refused("dgd-controller", "pvc_missing", f"PersistentVolumeClaim {name} does not exist")
        spec = {
            "accessModes": [claim.get("volumeAccessMode", "")],
            "resources": {"requests": {"storage": canonical(claim.get("size") or 0)}},
            "storageClassName": claim.get("storageClass", ""),
        }
        item = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata(name, graph.namespace),
            "spec": spec,
        }
        graph.add(item, "5-pvcs")


def add_multinode_support(graph: Graph) -> None:
    """Add the wait-for-leader script and the ssh keys, which any multinode DGD gets whatever its backend."""
    if not graph.is_multinode:
        return
    script = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(names.wait_script_name(graph.name), graph.namespace, {keys.LABEL_DGD: graph.name}),
        "data": {WAIT_SCRIPT_KEY: WAIT_SCRIPT},
    }
    graph.add(script, "7.1-wait-for-leader")
    if graph.config.mpi_ssh_secret:
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata(
                graph.config.mpi_ssh_secret,
                graph.namespace,
                {"app.kubernetes.io/managed-by": keys.OPERATOR_MANAGER},
            ),
            "data": {"private.key": GENERATED, "private.key.pub": GENERATED},
        }
        graph.add(secret, "7.3-ssh-keys")


def scaling_adapter(graph: Graph, component: Component) -> None:
    """Add a component's scaling adapter, seeded with its replicas."""
    replicas = component.replicas
    item = {
        "apiVersion": keys.V1ALPHA1,
        "kind": keys.SCALING_ADAPTER_KIND,
        "metadata": metadata(
            f"{graph.name}-{component.lower}",
            graph.namespace,
            {keys.LABEL_DGD: graph.name, keys.LABEL_COMPONENT: component.name},
        ),
        "spec": {
            "replicas": 1 if replicas is None else replicas,
            "dgdRef": {"name": graph.name, "serviceName": component.name},
        },
    }
    graph.add(item, "9-scaling-adapter")
