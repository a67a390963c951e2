# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Grove's objects: cliques, scaling groups and the set of them (rules 1.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import keys
from .graph import Component, Graph, metadata
from .node import Role

_ROLE_SUFFIX: Mapping[str, str] = {"main": "", "leader": "-ldr", "worker": "-wkr"}


def clique_name(component: Component, role: Role) -> str:
    """Return the name of a role's clique."""
    return component.lower + _ROLE_SUFFIX[role]


def clique(
    graph: Graph,
    component: Component,
    role: Role,
    spec: dict[str, Any],
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    *,
    grouped: bool = False,
) -> dict[str, Any]:
    """Return a clique template: one role's pods. In a scaling group a single clique counts one replica of the group."""
    replicas = component.replicas
    alone = 1 if replicas is None or grouped else replicas
    count = {"main": alone, "leader": 1, "worker": component.nodes - 1}[role]
    least = component.spec.get("minAvailable", 1) if not grouped else 1
    own_labels = {**labels, **schedule(graph, spec)}
    result: dict[str, Any] = {
        "name": clique_name(component, role),
        "labels": own_labels,
        "annotations": dict(annotations),
        "spec": {
            "roleName": clique_name(component, role),
            "replicas": count,
            "minAvailable": least if role == "main" else count,
            "podSpec": spec,
        },
    }
    return {key: value for key, value in result.items() if value}


def schedule(graph: Graph, spec: dict[str, Any]) -> dict[str, str]:
    """Name the scheduler in use where the user named no other, and return the labels that go with it."""
    wanted = spec.get("schedulerName")
    if graph.config.kai_scheduler and wanted in (None, "", keys.KAI_SCHEDULER):
        spec["schedulerName"] = keys.KAI_SCHEDULER
        queue = graph.annotations.get(keys.ANNOTATION_KAI_QUEUE, "").strip()
        return {keys.LABEL_KAI_QUEUE: queue or "dynamo"}
    if graph.config.volcano_scheduler and wanted in (None, ""):
        spec["schedulerName"] = keys.VOLCANO_SCHEDULER
    return {}


def scaling_group(component: Component, cliques: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the group that scales a multinode component's cliques together."""
    replicas = component.replicas
    return {
        "name": component.lower,
        "cliqueNames": [item["name"] for item in cliques],
        "replicas": 1 if replicas is None else replicas,
        "minAvailable": component.spec.get("minAvailable", 1),
    }


def clique_set(
    graph: Graph,
    name: str,
    cliques: list[dict[str, Any]],
    groups: list[dict[str, Any]],
    *,
    ordered: bool,
    labels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the PodCliqueSet of a graph; ``labels`` are the operator's own beside the graph's."""
    startup = "CliqueStartupTypeExplicit" if ordered else "CliqueStartupTypeAnyOrder"
    template: dict[str, Any] = {
        "cliqueStartupType": startup,
        "headlessServiceConfig": {"publishNotReadyAddresses": True},
        "cliques": cliques,
    }
    if groups:
        template["podCliqueScalingGroups"] = groups
    if graph.config.termination_delay:
        template["terminationDelay"] = graph.config.termination_delay
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": metadata(
            name,
            graph.namespace,
            {**(graph.spec.get("labels") or {}), **(labels or {})},
            graph.spec.get("annotations") or {},
        ),
        "spec": {"replicas": 1, "template": template},
    }
