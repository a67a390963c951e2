# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Autoscaling as the document describes it; no release of the operator makes an autoscaler (rules 9)."""

from __future__ import annotations

from typing import Any

from . import names
from .graph import Component, Graph, metadata
from .shapes import plain


def add_autoscaler(graph: Graph, component: Component) -> None:
    """Add the component's HorizontalPodAutoscaler where the release has one and the component asks for it."""
    wanted = component.preserved.get("autoscaling") or {}
    if not graph.profile.switches.hpa or not wanted.get("enabled"):
        return
    name = names.resource_name(graph.name, component.name, graph.worker_hash if component.is_worker else "")
    cpu = {"type": "Utilization", "averageUtilization": graph.profile.hpa_cpu_target}
    default: list[dict[str, Any]] = [{"type": "Resource", "resource": {"name": "cpu", "target": cpu}}]
    spec: dict[str, Any] = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
        "minReplicas": wanted.get("minReplicas") or 1,
        "maxReplicas": wanted.get("maxReplicas") or component.replicas or 1,
        "metrics": plain(wanted.get("metrics")) or default,
    }
    if wanted.get("behavior"):
        spec["behavior"] = plain(wanted["behavior"])
    item = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata(name, graph.namespace),
        "spec": spec,
    }
    graph.add(item, "9-autoscaling")
