# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with rendered pods: what the API server will refuse, and what will run otherwise than meant.

The operator renders such pods without a word; the refusal then stands only in the events of a ReplicaSet or a clique.
Source of the refusals: Kubernetes ``pkg/apis/core/validation`` (1.34), and what its API server answered to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .. import keys
from ..demand import PodDemand
from ..errors import InputError
from ..findings import Finding, Reason
from ..quantity import parse_quantity

_CHECK = "render"
_INVALID = "Mend the component; the pods are never created as it stands."

PROBE_HANDLER = Reason(
    "render_probe_handler", _CHECK, "A probe has no handler or two, so the API server refuses the pods.",
    "Write the whole probe: a partial one replaces or doubles the default instead of changing it.",
)  # fmt: skip
IMAGE_MISSING = Reason(
    "render_image_missing", _CHECK, "A container has no image, so the API server refuses the pods.", _INVALID
)
CONTAINER_TWICE = Reason(
    "render_container_twice", _CHECK, "Two containers have one name, so the API server refuses the pods.", _INVALID
)
RESOURCE_INVALID = Reason(
    "render_resource_invalid", _CHECK, "A resource is asked for in a way that the API server refuses.", _INVALID
)
PORT_MISSING = Reason(
    "render_port_missing", _CHECK, "A probe goes to a named port that its container does not declare.",
    "Declare the port beside your own: a ports list replaces the default one.",
)  # fmt: skip
SYSTEM_PORT = Reason(
    "render_system_port", _CHECK, "DYN_SYSTEM_PORT is not the port that the probes and the Service go to.",
    "Leave DYN_SYSTEM_PORT alone, or change the container's system port and probes with it.",
)  # fmt: skip
SHARED_MEMORY_UNUSED = Reason(
    "render_shared_memory_unused", _CHECK,
    "A memory volume of the user's is mounted nowhere: the operator put its own at /dev/shm.",
    "Set the size with sharedMemory (v1beta1: sharedMemorySize), or disable the operator's.",
)  # fmt: skip
LEADER_NOT_AWAITED = Reason(
    "render_waits_for_ever", _CHECK,
    "The workers wait for a port of the leader on which it will not listen, so the replica never starts.",
    "Set the annotation nvidia.com/vllm-distributed-executor-backend: ray on the DGD, or use a newer operator.",
)  # fmt: skip

REASONS: tuple[Reason, ...] = (
    PROBE_HANDLER,
    IMAGE_MISSING,
    CONTAINER_TWICE,
    RESOURCE_INVALID,
    PORT_MISSING,
    SYSTEM_PORT,
    SHARED_MEMORY_UNUSED,
    LEADER_NOT_AWAITED,
)

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("httpGet", "exec", "tcpSocket", "grpc")
_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage"})
_WAIT_CONTAINER = "wait-for-leader-mp"


def check_pods(pods: Iterable[PodDemand]) -> tuple[Finding, ...]:
    """Return what is wrong with the pods, once per component and role."""
    first: dict[tuple[str, str], PodDemand] = {}
    for pod in pods:
        first.setdefault((pod.component, pod.role), pod)
    found: list[Finding] = []
    for demand in first.values():
        spec = demand.pod.get("spec") or {}
        subject = f"component/{demand.component}"
        found.extend(_containers(spec, subject))
        found.extend(_shared_memory(spec, subject))
        found.extend(_waiting(demand, first, subject))
    return tuple(dict.fromkeys(found))


def _containers(spec: Mapping[str, Any], subject: str) -> Iterator[Finding]:
    every = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    names = [str(container.get("name")) for container in every]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield CONTAINER_TWICE.finding("fail", subject, f"Two containers are named {name}.")
    for container in every:
        name = str(container.get("name"))
        if not container.get("image"):
            yield IMAGE_MISSING.finding("fail", subject, f"Container {name} has no image.")
        yield from _probes(container, name, subject)
        for problem in _resource_problems(container.get("resources") or {}):
            yield RESOURCE_INVALID.finding("fail", subject, f"Container {name}: {problem}.")


def _probes(container: Mapping[str, Any], name: str, subject: str) -> Iterator[Finding]:
    ports = {str(port.get("name")): port.get("containerPort") for port in container.get("ports") or ()}
    for kind in _PROBES:
        probe = container.get(kind)
        if probe is None:
            continue
        handlers = [handler for handler in _HANDLERS if probe.get(handler) is not None]
        if len(handlers) != 1:
            what = f"has the handlers {' and '.join(handlers)}" if handlers else "has no handler"
            yield PROBE_HANDLER.finding("fail", subject, f"{kind} of container {name} {what}.")
        for handler in ("httpGet", "tcpSocket"):
            port = (probe.get(handler) or {}).get("port")
            if isinstance(port, str) and not port.isdigit() and port not in ports:
                message = f"{kind} of container {name} goes to the port {port}, which the container does not declare."
                yield PORT_MISSING.finding("warn", subject, message)
    system = next(
        (item.get("value") for item in container.get("env") or () if item.get("name") == "DYN_SYSTEM_PORT"), None
    )
    if keys.PORT_SYSTEM in ports and system is not None and system != str(ports[keys.PORT_SYSTEM]):
        message = f"Container {name} serves its health on {system}, and the probes go to {ports[keys.PORT_SYSTEM]}."
        yield SYSTEM_PORT.finding("warn", subject, message)


def _resource_problems(resources: Mapping[str, Any]) -> Iterator[str]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name in {**limits, **requests}:
        try:
            limit = parse_quantity(limits[name]).value if name in limits else None
            request = parse_quantity(requests[name]).value if name in requests else None
        except InputError:
            yield f"{name} is no quantity"
            continue
        if request is not None and limit is not None and request > limit:
            yield f"{name} is requested beyond its limit ({requests[name]} > {limits[name]})"
        if name in _NATIVE or name.startswith("hugepages-"):
            continue
        if "/" not in name:
            yield f"{name} is no resource name; an extended one needs a domain, as nvidia.com/gpu"
            continue
        if limit is None:
            yield f"{name} is requested without a limit, which extended resources need"
        elif request is not None and request != limit:
            yield f"{name} is requested as {requests[name]} and limited to {limits[name]}; both must be equal"
        if any(value is not None and value.denominator != 1 for value in (limit, request)):
            yield f"{name} must be a whole number, found {limits.get(name, requests.get(name))}"


def _shared_memory(spec: Mapping[str, Any], subject: str) -> Iterator[Finding]:
    every: Sequence[Mapping[str, Any]] = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    mounted = {mount.get("name") for container in every for mount in container.get("volumeMounts") or ()}
    operators = keys.SHARED_MEMORY_VOLUME in mounted
    for volume in spec.get("volumes") or ():
        memory = (volume.get("emptyDir") or {}).get("medium") == "Memory"
        if operators and memory and volume.get("name") not in mounted:
            message = f"The volume {volume.get('name')} is mounted nowhere; /dev/shm is the operator's shared-memory."
            yield SHARED_MEMORY_UNUSED.finding("warn", subject, message)


def _waiting(demand: PodDemand, first: Mapping[tuple[str, str], PodDemand], subject: str) -> Iterator[Finding]:
    """A worker that waits for vLLM's port of a leader whose command line opens no such port."""
    spec = demand.pod.get("spec") or {}
    waits = any(container.get("name") == _WAIT_CONTAINER for container in spec.get("initContainers") or ())
    leader = first.get((demand.component, "leader"))
    if demand.role != "worker" or not waits or leader is None:
        return
    words = " ".join(
        str(word)
        for container in (leader.pod.get("spec") or {}).get("containers") or ()
        for word in (*(container.get("command") or ()), *(container.get("args") or ()))
    )
    if "--master-port" not in words:
        message = f"Workers wait for port {keys.VLLM_MP_PORT} of the leader, whose command line does not open it."
        yield LEADER_NOT_AWAITED.finding("fail", subject, message)
