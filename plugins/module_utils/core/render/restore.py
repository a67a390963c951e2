# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod made to restore from a checkpoint instead of starting its engine (rules 10; ``internal/checkpoint``)."""

from __future__ import annotations

from typing import Any

from .. import keys
from .api import CheckpointState
from .explain import Notes
from .graph import Graph, Refused
from .merge import env_var
from .node import PROBES
from .shapes import plain

CONTROL = "snapshot-control"
CONTROL_PATH = "/snapshot-control"
STORAGE = "checkpoint-storage"
_NEVER = 2147483647
_POD_INFO = (
    ("pod_name", "metadata.name"),
    ("pod_uid", "metadata.uid"),
    ("pod_namespace", "metadata.namespace"),
    ("dyn_namespace", f"metadata.labels['{keys.LABEL_NAMESPACE}']"),
    ("dyn_namespace_worker_suffix", f"metadata.labels['{keys.LABEL_WORKER_HASH}']"),
    ("dyn_component", f"metadata.labels['{keys.LABEL_COMPONENT_TYPE}']"),
    ("dyn_parent_dgd_k8s_name", f"metadata.labels['{keys.LABEL_DGD}']"),
    ("dyn_parent_dgd_k8s_namespace", "metadata.namespace"),
)
#: What marks a restored pod; taken off where a user set it and nothing is restored.
RESTORE_LABELS = (keys.LABEL_RESTORE_TARGET, keys.LABEL_CHECKPOINT_ID, keys.LABEL_CHECKPOINT_SOURCE)
RESTORE_ANNOTATIONS = (keys.ANNOTATION_SNAPSHOT_VERSION,)
#: What 1.5 takes off as well.
RESTORE_ANNOTATIONS_1_5 = (
    *RESTORE_ANNOTATIONS,
    keys.ANNOTATION_SNAPSHOT_CONTAINERS,
    keys.ANNOTATION_RESTORE_CANDIDATE,
    keys.ANNOTATION_CHECKPOINT_NAME,
    keys.ANNOTATION_CHECKPOINT_POLICY,
    keys.ANNOTATION_SNAPSHOT_STATUS,
    keys.ANNOTATION_SNAPSHOT_STORAGE,
    keys.ANNOTATION_SNAPSHOT_STORAGE_PATH,
)


def marked_labels(labels: dict[str, str], state: CheckpointState | None) -> dict[str, str]:
    """Return a pod's labels with a restored pod's marks, or without them where nothing is restored."""
    result = {key: value for key, value in labels.items() if key not in RESTORE_LABELS}
    if state is not None:
        result |= {keys.LABEL_RESTORE_TARGET: "true", keys.LABEL_CHECKPOINT_ID: state.checkpoint_id}
    return result


def marked_annotations(annotations: dict[str, str], state: CheckpointState | None) -> dict[str, str]:
    """Return a pod's annotations likewise."""
    result = {key: value for key, value in annotations.items() if key not in RESTORE_ANNOTATIONS}
    if state is not None:
        result |= {keys.ANNOTATION_SNAPSHOT_VERSION: state.artifact_version}
    return result


def _storage(graph: Graph) -> tuple[str, str]:
    config = graph.config.checkpoint
    claim, path = config.pvc or graph.facts.snapshot_claim, config.path or graph.facts.snapshot_path
    if not claim or not path:
        raise Refused(
            "dcd-controller",
            "checkpoint_storage",
            "no storage for checkpoints: neither configured nor found at a snapshot agent's DaemonSet",
        )
    return claim, path


def _seccomp(graph: Graph, spec: dict[str, Any]) -> None:
    profile = graph.config.checkpoint.seccomp_profile
    if profile:
        context = dict(spec.get("securityContext") or {})
        context["seccompProfile"] = {"type": "Localhost", "localhostProfile": profile}
        spec["securityContext"] = context


def _add_volume(spec: dict[str, Any], volume: dict[str, Any]) -> None:
    spec["volumes"] = [*(item for item in spec.get("volumes", ()) if item["name"] != volume["name"]), volume]


def _add_mount(container: dict[str, Any], mount: dict[str, Any]) -> None:
    container["volumeMounts"] = [
        *(item for item in container.get("volumeMounts", ()) if item["name"] != mount["name"]),
        mount,
    ]


def _first_probe(container: dict[str, Any]) -> dict[str, Any] | None:
    for name in ("startupProbe", "livenessProbe", "readinessProbe"):
        if container.get(name):
            probe: dict[str, Any] = plain(container[name])
            return probe
    return None


def shape_1_1(graph: Graph, spec: dict[str, Any], notes: Notes) -> None:
    """Make the container ``main`` of a 1.1 pod a restore target."""
    container = next((item for item in spec["containers"] if item.get("name") == keys.MAIN_CONTAINER), None)
    if container is None:
        raise Refused("dcd-controller", "restore_without_main", "a restored pod needs a container main")
    claim, path = _storage(graph)
    _seccomp(graph, spec)
    _add_volume(spec, {"name": STORAGE, "persistentVolumeClaim": {"claimName": claim}})
    _add_mount(container, {"name": STORAGE, "mountPath": path})
    _add_volume(spec, {"name": CONTROL, "emptyDir": {}})
    _add_mount(container, {"name": CONTROL, "mountPath": CONTROL_PATH})
    container["env"] = [*container.get("env", ()), env_var("DYN_SNAPSHOT_CONTROL_DIR", CONTROL_PATH)]
    container["command"] = ["sleep", "infinity"]
    container.pop("args", None)
    probe = _first_probe(container)
    if probe is not None:
        container["startupProbe"] = {**probe, "failureThreshold": _NEVER, "successThreshold": 1}
    items = [{"path": name, "fieldRef": {"fieldPath": path}} for name, path in _POD_INFO]
    _add_volume(spec, {"name": "podinfo", "downwardAPI": {"items": items}})
    _add_mount(container, {"name": "podinfo", "mountPath": "/etc/podinfo", "readOnly": True})
    for key in ("command", "startupProbe"):
        notes.note(("containers", keys.MAIN_CONTAINER, key), container.get(key), "10.1-checkpoint")


def shape_1_5(
    graph: Graph, spec: dict[str, Any], targets: list[str], state: CheckpointState, is_worker: bool
) -> dict[str, str]:
    """Make containers of a 1.5 pod restore targets and return the annotations that say so."""
    claim, path = _storage(graph)
    _seccomp(graph, spec)
    _add_volume(spec, {"name": STORAGE, "persistentVolumeClaim": {"claimName": claim}})
    _add_volume(spec, {"name": CONTROL, "emptyDir": {}})
    for container in spec["containers"]:
        if container.get("name") in targets:
            _shape_target(container, path, is_worker)
    annotations = {**marked_annotations({}, state), keys.ANNOTATION_SNAPSHOT_CONTAINERS: ",".join(targets)}
    if graph.config.checkpoint.pvc:
        annotations[keys.ANNOTATION_SNAPSHOT_STORAGE] = "pvc"
        annotations[keys.ANNOTATION_SNAPSHOT_STORAGE_PATH] = path
    return annotations


def _shape_target(container: dict[str, Any], path: str, is_worker: bool) -> None:
    name = container["name"]
    _add_mount(container, {"name": STORAGE, "mountPath": path})
    _add_mount(container, {"name": CONTROL, "mountPath": CONTROL_PATH, "subPath": name})
    container["env"] = [
        *container.get("env", ()),
        env_var("DYN_SNAPSHOT_CONTROL_DIR", CONTROL_PATH),
        env_var("DYN_SNAPSHOT_RESTORE_STANDBY", "1"),
    ]
    probe = _first_probe(container) or {"exec": {"command": ["cat", f"{CONTROL_PATH}/restore-complete"]}}
    probe.pop("initialDelaySeconds", None)
    container["startupProbe"] = {**probe, "periodSeconds": 1, "failureThreshold": _NEVER}
    if is_worker:
        _quicken_container(container)


def quicken(spec: dict[str, Any]) -> None:
    """Let a restored worker's probes ask every second."""
    for container in spec["containers"]:
        if container.get("name") == keys.MAIN_CONTAINER:
            _quicken_container(container)


def _quicken_container(container: dict[str, Any]) -> None:
    for name in PROBES:
        if name != "livenessProbe" and container.get(name):
            container[name] = {**container[name], "periodSeconds": 1}
