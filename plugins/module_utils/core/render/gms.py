# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU memory service inside a pod: a server as init container, GPUs by claim (rules 10.3; ``internal/gms``)."""

from __future__ import annotations

from typing import Any

from .. import keys
from . import names
from .explain import Notes
from .gpus import is_gpu_resource
from .graph import Graph
from .merge import env_var

CONTROL = "gms-intrapod-control"
CONTROL_PATH = "/gms-intrapod-control"
CLAIM = "intrapod-shared-gpu"
SERVER = "gms-server"
SOCKET_DIR = "GMS_SOCKET_DIR"
GPU_TOLERATION = {"key": keys.GPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"}


def strip_gpus(container: dict[str, Any], every_kind: bool) -> None:
    """Take the GPUs out of a container's resources: the pod gets them through a claim."""
    resources = dict(container.get("resources", {}))
    for side in ("limits", "requests"):
        if side in resources:
            left = {
                name: amount
                for name, amount in resources[side].items()
                if not (is_gpu_resource(name) if every_kind else name == keys.GPU_RESOURCE)
            }
            resources[side] = left
            if not left:
                del resources[side]
    container["resources"] = resources


def add_claim(container: dict[str, Any], name: str) -> None:
    """Let a container use a claim of the pod."""
    resources = container.setdefault("resources", {})
    resources["claims"] = [*resources.get("claims", ()), {"name": name}]


def add_toleration(spec: dict[str, Any], unless_present: bool) -> None:
    """Tolerate GPU nodes: without a GPU in its resources nothing else adds the toleration."""
    tolerations = list(spec.get("tolerations", ()))
    same = any(item.get("key") == keys.GPU_RESOURCE and item.get("effect") == "NoSchedule" for item in tolerations)
    if not (unless_present and same):
        spec["tolerations"] = [*tolerations, dict(GPU_TOLERATION)]


def _wire(container: dict[str, Any]) -> None:
    """Give a container the directory with the server's sockets, unless it has it already."""
    if not any(item.get("name") == CONTROL for item in container.get("volumeMounts", ())):
        mount = {"name": CONTROL, "mountPath": CONTROL_PATH}
        container["volumeMounts"] = [*container.get("volumeMounts", ()), mount]
    if not any(item.get("name") == SOCKET_DIR for item in container.get("env", ())):
        container["env"] = [*container.get("env", ()), env_var(SOCKET_DIR, CONTROL_PATH)]


def add_service(
    graph: Graph, spec: dict[str, Any], component: str, extra_clients: tuple[str, ...], notes: Notes
) -> None:
    """Turn the pod's first container into a client of a GPU memory server that starts before it."""
    newer = not graph.profile.switches.gms_startup_probe
    main = spec["containers"][0]
    clients = [main, *(item for item in spec["containers"][1:] if item.get("name") in extra_clients)]
    for client in clients:
        strip_gpus(client, newer)
        add_claim(client, CLAIM)
        _wire(client)
    claim = {"name": CLAIM, "resourceClaimTemplateName": names.claim_template_name(graph.name, component)}
    spec["resourceClaims"] = [*spec.get("resourceClaims", ()), claim]
    add_toleration(spec, unless_present=newer)
    volume: dict[str, Any] = {"name": CONTROL, "emptyDir": {}}
    spec["volumes"] = [*spec.get("volumes", ()), volume]
    server = _server(main, with_probe=graph.profile.switches.gms_startup_probe)
    spec["initContainers"] = [*spec.get("initContainers", ()), server]
    notes.note(("initContainers", SERVER), server, "10.3-gms")
    notes.note(("volumes", CONTROL), volume, "10.3-gms")
    notes.note(("tolerations", keys.GPU_RESOURCE), dict(GPU_TOLERATION), "10.3-gms")
    notes.note(("resourceClaims",), spec["resourceClaims"], "10.3-gms")
    notes.note(("containers", main.get("name", ""), "resources"), main["resources"], "10.3-gms")
    notes.env(main.get("name", ""), [env_var(SOCKET_DIR, CONTROL_PATH)], "10.3-gms")


def _server(main: dict[str, Any], *, with_probe: bool) -> dict[str, Any]:
    server: dict[str, Any] = {
        "name": SERVER,
        "command": ["python3", "-m", "gpu_memory_service.cli.server"],
        "restartPolicy": "Always",
        "resources": {"claims": [dict(claim) for claim in main["resources"]["claims"]]},
    }
    if main.get("image"):
        server["image"] = main["image"]
    _wire(server)
    if with_probe:
        server["startupProbe"] = {
            "exec": {"command": ["test", "-f", f"{CONTROL_PATH}/gms-ready"]},
            "periodSeconds": 1,
            "failureThreshold": 300,
        }
    return server


def claim_template(graph: Graph, name: str, device_class: str, count: int) -> dict[str, Any]:
    """Return the ResourceClaimTemplate from which each pod gets its GPUs."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": graph.namespace},
        "spec": {"spec": claim_spec(device_class, count)},
    }


def claim_spec(device_class: str, count: int) -> dict[str, Any]:
    """Return the spec of a claim for ``count`` devices of a class."""
    exactly = {"allocationMode": "ExactCount", "count": count, "deviceClassName": device_class}
    return {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}
