# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checkpoints of 1.5: made per component and worker generation, restored when a pod is created (rules 10.2)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .. import keys
from . import pod_steps, restore
from .api import CheckpointState, Stage
from .explain import Notes
from .failover import ENGINES
from .graph import Component, Graph, Refused, metadata
from .merge import merge, merge_env
from .node import PROBES
from .pod_beta import build_pod
from .shapes import plain
from .template_beta import apply_graph_defaults, main_container, pod_metadata, set_pod_metadata

_ANNOTATION_AUTO = "nvidia.com/dynamo-auto-checkpoint"
_ANNOTATION_DELETION = "nvidia.com/dynamo-checkpoint-deletion-policy"
_STAGE: Stage = "dgd-controller"


def _wanted(component: Component) -> Mapping[str, Any] | None:
    checkpoint: Mapping[str, Any] | None = (component.spec.get("experimental") or {}).get("checkpoint")
    return checkpoint if checkpoint and checkpoint.get("enabled") else None


def checkpoint_id(graph: Graph, component: Component, worker_hash: str) -> str:
    """Return 32 digits that stand for a checkpoint's id: the operator's own comes from the live DGD's UID."""
    text = f"{graph.facts.dgd_uid}/{graph.namespace}/{graph.name}/{component.name}/{worker_hash}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _hash(graph: Graph, component: Component) -> str:
    return graph.worker_hash if component.is_worker else ""


def checkpoint_name(graph: Graph, component: Component) -> str:
    """Return the name of the checkpoint that the component restores from, empty where it has none."""
    wanted = _wanted(component)
    if wanted is None:
        return ""
    reference = str(wanted.get("checkpointRef") or "")
    return reference or f"checkpoint-{checkpoint_id(graph, component, _hash(graph, component))}"


def state_of(graph: Graph, component: Component) -> CheckpointState | None:
    """Return what is known of the component's checkpoint."""
    return (graph.facts.checkpoints or {}).get(checkpoint_name(graph, component))


def add_checkpoints(graph: Graph, *, grove: bool) -> None:
    """Add the checkpoints that the operator makes; one that is only named must exist.

    On Grove the first pass knows no worker hash yet, so a checkpoint without it is made as well.
    """
    for component in graph.components:
        wanted = _wanted(component)
        if wanted is None:
            continue
        reference = wanted.get("checkpointRef")
        if reference:
            if reference not in (graph.facts.checkpoints or {}):
                raise Refused(
                    _STAGE, "checkpoint_not_found", f"DynamoCheckpoint {reference} does not exist", component.name
                )
            continue
        current = _hash(graph, component)
        for worker_hash in ("", current) if grove and current else (current,):
            _add(graph, component, wanted, worker_hash)


def _add(graph: Graph, component: Component, wanted: Mapping[str, Any], worker_hash: str) -> None:
    identifier = checkpoint_id(graph, component, worker_hash)
    labels = {keys.LABEL_COMPONENT: component.name, keys.LABEL_DGD: graph.name}
    if worker_hash:
        labels[keys.LABEL_WORKER_HASH] = worker_hash
    annotations = {
        _ANNOTATION_AUTO: "true",
        _ANNOTATION_DELETION: str(wanted.get("deletionPolicy") or "Delete"),
        keys.ANNOTATION_SNAPSHOT_VERSION: "1",
    }
    notes = Notes(on=graph.explanation.on)
    backend = _backend(graph, component, wanted)
    target = str(wanted.get("targetContainerName") or keys.MAIN_CONTAINER)
    template = _job_template(graph, component, backend, target, notes)
    template["metadata"]["labels"] |= labels
    name = f"checkpoint-{identifier}"
    item = {
        "apiVersion": keys.V1ALPHA1,
        "kind": keys.CHECKPOINT_KIND,
        "metadata": metadata(name, graph.namespace, {**labels, keys.LABEL_CHECKPOINT_ID: identifier}, annotations),
        "spec": {
            "identity": {
                "backendFramework": backend,
                "model": f"{graph.namespace}/{graph.name}",
                "extraParameters": {
                    "checkpointID": identifier,
                    "component": component.name,
                    "dgdUID": graph.facts.dgd_uid,
                },
            },
            "job": {"podTemplateSpec": template, "targetContainerName": target},
        },
    }
    graph.add(item, "10.1-checkpoint")
    graph.explanation.pod(f"{keys.CHECKPOINT_KIND}/{name}", ".spec.job.podTemplateSpec.spec", template["spec"], notes)


def _backend(graph: Graph, component: Component, wanted: Mapping[str, Any]) -> str:
    """Return the backend, by the command or the graph, else by the checkpoint's own old-fashioned identity."""
    backend = pod_steps.choose_backend(
        component, main_container(component) or {}, str(graph.spec.get("backendFramework") or ""), _STAGE
    )
    backend = backend or str((wanted.get("identity") or {}).get("backendFramework") or "")
    if not backend:
        raise Refused(_STAGE, "checkpoint_backend", "a checkpoint needs spec.backendFramework", component.name)
    return backend


def _job_template(graph: Graph, component: Component, backend: str, target: str, notes: Notes) -> dict[str, Any]:
    """Return the pod that makes the checkpoint: one container of the component's pod, with the job's own overrides."""
    stripped = plain(component.spec)
    for key in ("experimental", "frontendSidecar", "multinode"):
        stripped.pop(key, None)
    single = replace(component, spec=stripped, backend_framework=backend)
    labels, annotations = pod_metadata(single, "labels"), pod_metadata(single, "annotations")
    labels.pop(keys.LABEL_WORKER_HASH, None)
    set_pod_metadata(single, "labels", labels)
    apply_graph_defaults(graph, single, with_domains=False)
    spec = build_pod(graph, single, "main", None, _STAGE, notes)
    spec["containers"] = [item for item in spec["containers"] if item.get("name") == target]
    if not spec["containers"]:
        raise Refused(
            _STAGE, "checkpoint_target", f"there is no container {target} to make a checkpoint of", component.name
        )
    spec["restartPolicy"] = "Never"
    own = ((_wanted(component) or {}).get("job") or {}).get("podTemplate") or {}
    own_metadata = own.get("metadata") or {}
    metadata_ = {"labels": labels | (own_metadata.get("labels") or {})}
    annotations |= own_metadata.get("annotations") or {}
    if annotations:
        metadata_["annotations"] = annotations
    _overlay(spec, plain(own.get("spec") or {}))
    return {"metadata": metadata_, "spec": spec}


def _overlay(spec: dict[str, Any], own: dict[str, Any]) -> None:
    """Lay a job's own pod over the component's: by name where there are names."""
    containers = own.pop("containers", [])
    named = {key: own.pop(key, []) for key in ("volumes", "initContainers")}
    merge(spec, own, "PodSpec")
    for key, items in named.items():
        for item in items:
            _put(spec, key, item)
    for item in containers:
        known = next((other for other in spec["containers"] if other.get("name") == item.get("name")), None)
        if known is None or not item.get("name"):
            spec["containers"].append(item)
            continue
        env = known.get("env", [])
        merge(known, {key: value for key, value in item.items() if key != "env"}, "Container")
        known["env"] = merge_env(env, item.get("env") or ())
        known.update({probe: item[probe] for probe in PROBES if item.get(probe) is not None})


def _put(spec: dict[str, Any], key: str, item: dict[str, Any]) -> None:
    items = list(spec.get(key) or ())
    at = next((index for index, other in enumerate(items) if other.get("name") == item.get("name")), len(items))
    items[at : at + 1] = [item]
    spec[key] = items


def pin(graph: Graph, component: Component) -> None:
    """Name the checkpoint in the component's own terms, as its DCD carries it."""
    wanted = _wanted(component)
    if wanted is None or graph.profile.switches.checkpoint_variables:
        return  # the document finds a checkpoint by its identity alone
    name = checkpoint_name(graph, component)
    mode = wanted.get("mode")
    component.spec["experimental"]["checkpoint"] = {
        key: value
        for key, value in {
            "enabled": True,
            # Auto is what 1.5 means by no mode at all.
            "mode": mode if mode != "Auto" else None,
            "checkpointRef": name,
            "startupPolicy": wanted.get("startupPolicy") or "Immediate",
            "deletionPolicy": wanted.get("deletionPolicy") or "Delete",
            "targetContainerName": wanted.get("targetContainerName") or keys.MAIN_CONTAINER,
        }.items()
        if value is not None
    }
    if waits_for_checkpoint(graph, component):
        component.spec["replicas"] = 0
    if graph.config.checkpoint.enabled and _policy(component) == "Immediate":
        set_pod_metadata(
            component, "annotations", {**pod_metadata(component, "annotations"), **_candidate(graph, component)}
        )


def _policy(component: Component) -> str:
    return str((_wanted(component) or {}).get("startupPolicy") or "Immediate")


def _targets(component: Component) -> list[str]:
    experimental = component.spec.get("experimental") or {}
    if experimental.get("failover") is not None:
        return [f"engine-{index}" for index in range(ENGINES)]
    return [str((_wanted(component) or {}).get("targetContainerName") or keys.MAIN_CONTAINER)]


def _candidate(graph: Graph, component: Component) -> dict[str, str]:
    return {
        keys.ANNOTATION_RESTORE_CANDIDATE: "true",
        keys.ANNOTATION_CHECKPOINT_NAME: checkpoint_name(graph, component),
        keys.ANNOTATION_CHECKPOINT_POLICY: _policy(component),
        keys.ANNOTATION_SNAPSHOT_CONTAINERS: ",".join(_targets(component)),
    }


def waits_for_checkpoint(graph: Graph, component: Component) -> bool:
    """Return whether the component keeps no pods until its checkpoint is ready."""
    wanted = _wanted(component)
    if wanted is None or wanted.get("startupPolicy") != "WaitForCheckpoint":
        return False
    state = state_of(graph, component)
    return state is None or not state.ready


def mark_pod(graph: Graph, component: Component, template: dict[str, Any]) -> dict[str, Any]:
    """Return a pod template with the marks of a pod that may be restored, and without a user's own.

    The pod is shaped at once where it waited for its checkpoint; else the operator looks when a pod is created.
    """
    labels, annotations = template["metadata"].get("labels", {}), template["metadata"].get("annotations", {})
    annotations = {key: value for key, value in annotations.items() if key not in restore.RESTORE_ANNOTATIONS_1_5}
    labels = restore.marked_labels(labels, None)
    state = state_of(graph, component)
    if _wanted(component) is not None and graph.config.checkpoint.enabled:
        ready = state is not None and state.ready
        if _policy(component) == "Immediate":
            annotations |= _candidate(graph, component)
        elif state is not None and ready:
            annotations |= restore.shape_1_5(graph, template["spec"], _targets(component), state, component.is_worker)
            labels = restore.marked_labels(labels, state)
        if ready and component.is_worker:
            restore.quicken(template["spec"])
    return {
        "metadata": {"labels": labels, **({"annotations": annotations} if annotations else {})},
        **{key: value for key, value in template.items() if key != "metadata"},
    }
