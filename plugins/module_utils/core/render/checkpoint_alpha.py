# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checkpoints of 1.1: found by identity, or made from the component's own pod (rules 10.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .. import keys
from .api import CheckpointState
from .explain import Notes
from .graph import Component, Graph, Refused, metadata
from .identity import identity_hash
from .pod_alpha import build_pod
from .shapes import plain


def resolve(graph: Graph, component: Component) -> CheckpointState | None:
    """Return the checkpoint that the component would restore from, ``None`` where there is none yet."""
    wanted = component.spec.get("checkpoint") or {}
    if not wanted.get("enabled"):
        return None
    existing = graph.facts.checkpoints or {}
    reference = wanted.get("checkpointRef")
    if reference:
        if reference not in existing:
            raise Refused(
                "dgd-controller", "checkpoint_not_found", f"DynamoCheckpoint {reference} does not exist", component.name
            )
        return existing[reference]
    return existing.get(f"checkpoint-{identity_hash(wanted.get('identity') or {})}")


def ready_checkpoint(graph: Graph, component: Component) -> CheckpointState | None:
    """Return the checkpoint from which the component's pods are restored now."""
    state = resolve(graph, component)
    return state if state is not None and state.ready else None


def add_checkpoints(graph: Graph) -> None:
    """Add the DynamoCheckpoint of each component that lets the operator make it."""
    for component in graph.components:
        wanted = component.spec.get("checkpoint") or {}
        if not wanted.get("enabled") or resolve(graph, component) is not None:
            continue
        if wanted.get("mode", "Auto") == "Auto":
            _add(graph, component, wanted.get("identity") or {})


def _add(graph: Graph, component: Component, identity: Mapping[str, Any]) -> None:
    digest = identity_hash(identity)
    name = f"checkpoint-{digest}"
    if any(item["kind"] == keys.CHECKPOINT_KIND and item["metadata"]["name"] == name for item in graph.objects):
        return
    stripped = {
        key: value
        for key, value in plain(component.spec).items()
        if key not in ("checkpoint", "gpuMemoryService", "failover", "frontendSidecar", "multinode")
    }
    single = replace(component, spec=stripped, backend_framework=str(identity.get("backendFramework") or ""))
    notes = Notes(on=graph.explanation.on)
    spec = build_pod(graph, single, "main", None, "dgd-controller", notes)
    spec["restartPolicy"] = "Never"
    template = {"metadata": {"labels": {keys.LABEL_COMPONENT: component.name}}, "spec": spec}
    item = {
        "apiVersion": keys.V1ALPHA1,
        "kind": keys.CHECKPOINT_KIND,
        "metadata": metadata(
            name,
            graph.namespace,
            {keys.LABEL_CHECKPOINT_ID: digest},
            {keys.ANNOTATION_SNAPSHOT_VERSION: "1"},
        ),
        "spec": {"identity": plain(identity), "job": {"podTemplateSpec": template}},
    }
    graph.add(item, "10.1-checkpoint")
    graph.explanation.pod(f"{keys.CHECKPOINT_KIND}/{name}", ".spec.job.podTemplateSpec.spec", spec, notes)
