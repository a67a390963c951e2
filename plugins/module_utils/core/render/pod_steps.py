# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps that both pipelines take on the way from a base pod to the finished one (rules 5, 6, 8)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .. import keys
from . import backend_sglang, backend_trtllm, backend_vllm
from .api import Stage
from .explain import Notes
from .graph import Component, Graph, Refused, uses_kubernetes
from .node import Node

_LAUNCH = {
    name: re.compile(rf"python[0-9.]*[\t\n\f\r ]+[^|&;]*-m[\t\n\f\r ]+[^|&;]*dynamo\.{name}") for name in keys.BACKENDS
}


def detect_backend(command: Iterable[str], args: Iterable[str]) -> list[str]:
    """Return the backends whose module a command line starts."""
    line = " ".join([*command, *args])
    return [name for name, pattern in _LAUNCH.items() if pattern.search(line)]


def choose_backend(component: Component, main: Mapping[str, Any], explicit: str, stage: Stage) -> str:
    """Return the backend of a component, empty where it has none (``determineBackendFramework``)."""
    if not component.is_worker:
        return ""
    found = detect_backend(main.get("command") or (), main.get("args") or ())
    if len(found) > 1 and not explicit:
        raise Refused(
            stage,
            "several_backends",
            f"the command line starts more than one backend ({', '.join(found)})",
            component.name,
        )
    detected = found[0] if len(found) == 1 else ""
    if detected and explicit and detected != explicit:
        raise Refused(
            stage,
            "backend_mismatch",
            f"the command line starts {detected} but backendFramework says {explicit}",
            component.name,
            "spec.backendFramework",
        )
    return detected or explicit


def update_container(backend: str, container: dict[str, Any], node: Node) -> None:
    """Let the backend rewrite the main container."""
    if backend == keys.VLLM:
        backend_vllm.update_container(container, node)
    elif backend == keys.SGLANG:
        backend_sglang.update_container(container, node)
    elif backend == keys.TRTLLM:
        backend_trtllm.update_container(container, node)


def update_pod(backend: str, spec: dict[str, Any], node: Node) -> None:
    """Let the backend add volumes and init containers."""
    if backend == keys.VLLM:
        backend_vllm.update_pod(spec, node)
    elif backend == keys.TRTLLM:
        backend_trtllm.update_pod(spec, node)


def default_security(graph: Graph, spec: dict[str, Any], notes: Notes) -> None:
    """Give the pod a file system group, unless the user gave any security context at all, even an empty one."""
    if "securityContext" not in spec:
        spec["securityContext"] = {"fsGroup": graph.profile.fs_group}
        notes.note(("securityContext",), spec["securityContext"], "5-fs-group")


def discovery_account(graph: Graph, spec: dict[str, Any], annotations: Mapping[str, str], notes: Notes) -> None:
    """Name the discovery ServiceAccount where nobody named one and discovery goes through Kubernetes."""
    if not spec.get("serviceAccountName") and uses_kubernetes(annotations, graph.config):
        spec["serviceAccountName"] = keys.discovery_service_account(graph.name)
        notes.note(("serviceAccountName",), spec["serviceAccountName"], "8-discovery-account")


def fallback_account(graph: Graph, spec: dict[str, Any], notes: Notes) -> None:
    """Name the namespace's component ServiceAccount, or ``default``, where none is named (Deployments and LWS)."""
    if not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = graph.facts.component_service_account or "default"
        notes.note(("serviceAccountName",), spec["serviceAccountName"], "8-fallback-account")


def shared_memory(spec: dict[str, Any], container: dict[str, Any], size: str | None, notes: Notes) -> None:
    """Mount shared memory last, displacing a volume of that name and a mount at that path; ``None`` switches it off."""
    if size is None:
        return
    name, path = keys.SHARED_MEMORY_VOLUME, keys.SHARED_MEMORY_PATH
    volume = {"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": size}}
    mount = {"name": name, "mountPath": path}
    spec["volumes"] = [item for item in spec.get("volumes", ()) if item.get("name") != name] + [volume]
    container["volumeMounts"] = [
        item for item in container.get("volumeMounts", ()) if item.get("name") != name and item.get("mountPath") != path
    ] + [mount]
    notes.note(("volumes", name), volume, "5-shared-memory")
    notes.note(("containers", container.get("name", ""), "volumeMounts", name), mount, "5-shared-memory")


def add_pull_secrets(
    graph: Graph, spec: dict[str, Any], images: Iterable[str], annotations: Mapping[str, str], notes: Notes
) -> None:
    """Append the secrets that the operator's index holds for ``images`` and the pod does not name yet."""
    if graph.pull_secrets is None or annotations.get(keys.ANNOTATION_DISABLE_PULL_SECRETS) == "true":
        return
    present = list(spec.get("imagePullSecrets", ()))
    known = {item.get("name") for item in present}
    for image in images:
        for name in graph.pull_secrets(image) if image else ():
            if name not in known:
                known.add(name)
                present.append({"name": name})
                notes.note(("imagePullSecrets", name), {"name": name}, "6-pull-secrets")
    if present:
        spec["imagePullSecrets"] = present


def check_lws_container(component: Component, spec: Mapping[str, Any]) -> None:
    """Refuse a LeaderWorkerSet's pod without a main container that says what to run."""
    main = next((item for item in spec["containers"] if item.get("name") == keys.MAIN_CONTAINER), None)
    if main is None:
        raise Refused(
            "dcd-controller", "lws_main_container", "a LeaderWorkerSet's pod needs a container main", component.name
        )
    for key in ("command", "args"):
        if not main.get(key):
            raise Refused(
                "dcd-controller",
                f"lws_{key}_empty",
                f"the main container of a LeaderWorkerSet's pod needs {key}",
                component.name,
            )
