# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Service and which pod answer for a DGD: found from its components and from labels, never from a name's look."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from . import keys
from .configfiles import pod_and_main
from .demand import K8sObject
from .dgdview import ComponentView, ContainerView, DgdView, container_of
from .engineargs import EngineCall, engine_calls
from .findings import Finding, Reason

CHECK = "smoke_endpoint"

NO_ENDPOINT = Reason(
    "smoke_no_endpoint",
    CHECK,
    "The DGD has neither a frontend component nor a frontend sidecar in a worker pod.",
    "Add a frontend component, or give the endpoint's Service, pod or URL.",
)
SERVICE_MISSING = Reason(
    "smoke_service_missing",
    CHECK,
    "The DGD has a frontend component, and no Service selects that component's pods.",
    "Look at the DGD's status and the operator's log; the operator makes the Service with the component.",
)
NO_READY_POD = Reason(
    "smoke_no_ready_pod",
    CHECK,
    "No ready pod stands behind the endpoint.",
    "Wait until the frontend (or, for a gateway variant, a worker) is ready; then run the smoke test again.",
)
PORT_UNKNOWN = Reason(
    "smoke_port_unknown",
    CHECK,
    "The HTTP port cannot be told from the Service and the pod.",
    "Give the port by number or by name.",
)
ENDPOINT_UNKNOWN = Reason(
    "smoke_endpoint_unknown",
    CHECK,
    "The endpoint could not be looked up, because something could not be read.",
    "Grant get and list on Services, pods and DynamoGraphDeployments in the namespace, and create on pods/portforward.",
)
REASONS: tuple[Reason, ...] = (NO_ENDPOINT, SERVICE_MISSING, NO_READY_POD, PORT_UNKNOWN, ENDPOINT_UNKNOWN)

FRONTEND_PROGRAM = "dynamo.frontend"
#: Which component's pods are asked first; a prefill worker alone answers nothing.
_RANK: Mapping[str, int] = {keys.DECODE: 0, keys.WORKER: 1, keys.PREFILL: 3}
Kind = Literal["service", "pod", "url"]


@dataclass(frozen=True)
class Endpoint:
    """Where requests go. ``direct`` is whether a sidecar routes directly (``None``: cannot be told).

    ``worker`` is the pod whose worker a direct request names: ``None`` for ``pod`` itself, empty where none is known.
    """

    kind: Kind
    service: str = ""
    pod: str = ""
    port: int = 0
    url: str = ""
    why: str = ""
    direct: bool | None = False
    worker: str | None = None

    def to_result(self) -> dict[str, Any]:
        """Return the endpoint as plain data for a module's return value."""
        return {
            "kind": self.kind,
            "service": self.service,
            "pod": self.pod,
            "port": self.port,
            "url": self.url,
            "why": self.why,
        }


def find_endpoint(
    dgd: DgdView, namespace: str, services: Iterable[K8sObject], pods: Iterable[K8sObject], port: str = ""
) -> Endpoint | Finding:
    """Return the endpoint of a DGD, or the finding that says why there is none.

    ``services`` and ``pods`` are the namespace's, live or as ``dgd_render`` makes them.
    """
    every = tuple(services)
    running = tuple(pods)
    frontends = dgd.of_role(keys.FRONTEND) or tuple(item for item in dgd.components if _is_frontend_by_program(item))
    hindered: list[Finding] = []
    for component in frontends:
        for service in frontend_services(dgd, component, namespace, every, running):
            found = service_endpoint(service, running, port, f"it selects the pods of component {component.name}")
            if not isinstance(found, Finding):
                return replace(found, worker=_worker(dgd, namespace, running))
            hindered.append(found)
    if hindered:
        return hindered[0]
    subject = f"{keys.DGD_KIND}/{dgd.name}"
    if frontends:
        names = ", ".join(component.name for component in frontends)
        seen = ", ".join(sorted(_name(service) for service in every)) or "none"
        return SERVICE_MISSING.finding(
            "fail", subject, f"No Service selects the pods of {names}.", [f"Services: {seen}"]
        )
    sidecars = [component for component in dgd.components if sidecar_of(component) is not None]
    if not sidecars:
        names = ", ".join(component.name for component in dgd.components) or "none"
        return NO_ENDPOINT.finding("fail", subject, f"No component serves HTTP (components: {names}).")
    return _sidecar_endpoint(dgd, sidecars, namespace, running, port)


def frontend_services(
    dgd: DgdView, component: ComponentView, namespace: str, services: Iterable[K8sObject], pods: tuple[K8sObject, ...]
) -> list[K8sObject]:
    """Return the Services of a frontend component, best first.

    Those whose selector names the component in the DGD's Dynamo namespace, then any other that selects its pods and no
    more; among them one with an HTTP port comes before a headless one for discovery.
    """
    names = dynamo_namespaces(dgd, component, namespace)
    own = [_name(pod) for pod in _own_pods(dgd, component, namespace, pods)]
    ranked = []
    for service in services:
        selector = _mapping(_mapping(service, "spec"), "selector")
        named = (
            selector.get(keys.LABEL_COMPONENT) == component.name
            and selector.get(keys.LABEL_NAMESPACE) in names
            and selector.get(keys.LABEL_COMPONENT_TYPE, keys.FRONTEND) == keys.FRONTEND
        )
        selected = [_name(pod) for pod in pods if selector and selector.items() <= _labels(pod).items()]
        if named or (selected and set(selected) <= set(own)):
            ranked.append(((not named, not _http_ports(service), _name(service)), service))
    return [service for _unused, service in sorted(ranked, key=lambda item: item[0])]


def dynamo_namespaces(dgd: DgdView, component: ComponentView, namespace: str) -> frozenset[str]:
    """Return the Dynamo namespaces in which the component may be labelled."""
    names = {keys.dynamo_namespace(dgd.namespace or namespace, dgd.name, is_global=component.global_namespace)}
    return frozenset(names | ({component.dynamo_namespace} if component.dynamo_namespace else set()))


def service_endpoint(
    service: K8sObject, pods: Iterable[K8sObject], port: str = "", why: str = ""
) -> Endpoint | Finding:
    """Return the endpoint behind a Service: a ready pod that it selects, and the port resolved in that pod."""
    name = _name(service)
    subject = f"Service/{name}"
    selector = _mapping(_mapping(service, "spec"), "selector")
    if not selector:
        return NO_READY_POD.finding("fail", subject, "The Service selects no pods.")
    selected = [pod for pod in pods if selector.items() <= _labels(pod).items()]
    chosen = choose_pod(selected)
    if chosen is None:
        return NO_READY_POD.finding("fail", subject, f"None of its {len(selected)} pods is ready.", _states(selected))
    number = _service_port(service, chosen, port)
    if number is None:
        ports = ", ".join(f"{item.get('name', '')}:{item.get('port')}" for item in _ports(service)) or "none"
        text = f"No port is {port}." if port else "No port is named http and it is not the only one."
        return PORT_UNKNOWN.finding("fail", subject, text, [f"ports: {ports}"])
    is_frontend = _labels(chosen).get(keys.LABEL_COMPONENT_TYPE) == keys.FRONTEND
    return Endpoint(
        "service",
        service=name,
        pod=_name(chosen),
        port=number,
        why=why or "it was asked for",
        worker="" if is_frontend else None,
    )


def pod_endpoint(pod: K8sObject, port: str = "") -> Endpoint | Finding:
    """Return the endpoint in a pod that was asked for by name."""
    subject = f"Pod/{_name(pod)}"
    if not is_ready(pod):
        return NO_READY_POD.finding("fail", subject, "The pod is not ready.", _states([pod]))
    number = _container_port(pod, port or keys.PORT_HTTP)
    if number is None and not port:
        number = keys.HTTP_PORT
    if number is None:
        return PORT_UNKNOWN.finding("fail", subject, f"The pod has no port named {port}.")
    return Endpoint("pod", pod=_name(pod), port=number, why="it was asked for", direct=None)


def choose_pod(pods: Iterable[K8sObject]) -> K8sObject | None:
    """Return the ready pod that has been there longest: a ready condition counts, not a running phase."""
    ready = [pod for pod in pods if is_ready(pod)]
    return min(
        ready, key=lambda pod: (str(_mapping(pod, "metadata").get("creationTimestamp", "")), _name(pod)), default=None
    )


def is_ready(pod: K8sObject) -> bool:
    """Whether the pod is ready and not on its way out."""
    if _mapping(pod, "metadata").get("deletionTimestamp"):
        return False
    conditions = _mapping(pod, "status").get("conditions") or ()
    return any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions)


def routes_directly(component: ComponentView) -> bool | None:
    """Whether the component's frontend sidecar takes the worker from a header; ``None`` where it cannot be told."""
    sidecar = sidecar_of(component)
    if sidecar is None:
        return False
    calls = _frontend_calls(sidecar) or engine_calls(sidecar.command, sidecar.args, sidecar.env)
    modes = {call.flags.get("router-mode", "") for call in calls}
    if any(call.unknown for call in calls) or len(modes) > 1:
        return None
    mode = next(iter(modes), sidecar.env.get("DYN_ROUTER_MODE", ""))
    return None if mode.startswith("<") else mode == "direct"


def _sidecar_endpoint(
    dgd: DgdView, components: list[ComponentView], namespace: str, pods: tuple[K8sObject, ...], port: str
) -> Endpoint | Finding:
    """Choose a worker pod of a gateway variant; a decode or combined worker answers, a prefill worker does not."""
    behind: list[K8sObject] = []
    for component in sorted(components, key=lambda item: _RANK.get(item.role, 2)):
        own = _own_pods(dgd, component, namespace, pods)
        behind.extend(own)
        chosen = choose_pod(own)
        if chosen is not None:
            sidecar = sidecar_of(component)
            name = sidecar.name if sidecar is not None else ""
            number = _container_port(chosen, port, name) if port else _sidecar_port(chosen, sidecar)
            if number is None:
                return PORT_UNKNOWN.finding("fail", f"Pod/{_name(chosen)}", f"The pod has no port named {port}.")
            return Endpoint(
                "pod",
                pod=_name(chosen),
                port=number,
                why=f"the DGD has no frontend component; component {component.name} has a frontend sidecar",
                direct=routes_directly(component),
            )
    listed = ", ".join(component.name for component in components)
    return NO_READY_POD.finding(
        "fail", f"{keys.DGD_KIND}/{dgd.name}", f"No ready pod of {listed}, whose sidecars serve HTTP.", _states(behind)
    )


def sidecar_of(component: ComponentView) -> ContainerView | None:
    """Return the container of a worker's pod that serves HTTP: the declared sidecar, or one that runs a frontend."""
    if component.sidecar is not None:
        return component.sidecar
    spec, main = pod_and_main(component.data)
    others = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    views = [container_of(item) for item in others if isinstance(item, Mapping) and item is not main]
    return next((view for view in (*views, component.main) if _frontend_calls(view)), None)


def _frontend_calls(container: ContainerView) -> list[EngineCall]:
    calls = engine_calls(container.command, container.args, container.env)
    return [call for call in calls if call.program == FRONTEND_PROGRAM]


def _is_frontend_by_program(component: ComponentView) -> bool:
    """Whether a component runs a frontend and no engine, whatever type its author gave it."""
    calls = engine_calls(component.main.command, component.main.args, component.main.env)
    return bool(calls) and all(call.program == FRONTEND_PROGRAM for call in calls)


def _sidecar_port(pod: K8sObject, sidecar: ContainerView | None) -> int:
    """Return where a frontend sidecar listens: its port named http, its flag, its only port, or the usual one."""
    name = sidecar.name if sidecar is not None else keys.SIDECAR_FRONTEND
    spec = _mapping(pod, "spec")
    every = [item for key in ("containers", "initContainers") for item in spec.get(key) or ()]
    ports = [port for item in every if item.get("name") == name for port in item.get("ports") or ()]
    named = [port for port in ports if port.get("name") == keys.PORT_HTTP]
    flags = [call.flags.get("http-port", "") for call in (_frontend_calls(sidecar) if sidecar is not None else ())]
    if not named and flags and flags[0].isascii() and flags[0].isdigit():
        return int(flags[0])
    own = named or (ports if len(ports) == 1 and name != keys.MAIN_CONTAINER else [])
    numbers = [port["containerPort"] for port in own if isinstance(port.get("containerPort"), int)]
    return numbers[0] if numbers else _container_port(pod, keys.PORT_HTTP) or keys.HTTP_PORT


def _own_pods(dgd: DgdView, component: ComponentView, namespace: str, pods: Iterable[K8sObject]) -> list[K8sObject]:
    names = dynamo_namespaces(dgd, component, namespace)
    return [
        pod
        for pod in pods
        if _labels(pod).get(keys.LABEL_COMPONENT) == component.name
        and (_labels(pod).get(keys.LABEL_DGD) == dgd.name or _labels(pod).get(keys.LABEL_NAMESPACE) in names)
    ]


def _worker(dgd: DgdView, namespace: str, pods: tuple[K8sObject, ...]) -> str:
    """Return a ready pod that a frontend which routes directly may be sent to; a frontend's own pod is no worker."""
    for component in sorted(dgd.of_role(keys.DECODE, keys.WORKER), key=lambda item: _RANK[item.role]):
        chosen = choose_pod(_own_pods(dgd, component, namespace, pods))
        if chosen is not None:
            return _name(chosen)
    return ""


def _service_port(service: K8sObject, pod: K8sObject, wanted: str) -> int | None:
    ports = _ports(service)
    if wanted:
        chosen = [item for item in ports if wanted in (str(item.get("port")), str(item.get("name", "")))]
        if not chosen:
            return _container_port(pod, wanted)
    else:
        # Of several ports that are named otherwise, the one that leads to the pod's own HTTP port.
        own = _container_port(pod, keys.PORT_HTTP) or keys.HTTP_PORT
        chosen = _http_ports(service) or (ports if len(ports) == 1 else [])
        chosen = chosen or [item for item in ports if _target(item, pod) == own]
    return _target(chosen[0], pod) if chosen else None


def _target(port: Mapping[str, Any], pod: K8sObject) -> int | None:
    """Return the number in the pod that a Service's port leads to; without ``targetPort`` (or 0) it is the same."""
    return _container_port(pod, str(port.get("targetPort") or port.get("port")))


def _http_ports(service: K8sObject) -> list[Mapping[str, Any]]:
    return [item for item in _ports(service) if item.get("name") == keys.PORT_HTTP]


def _ports(service: K8sObject) -> list[Mapping[str, Any]]:
    ports = _mapping(service, "spec").get("ports") or ()
    return [item for item in ports if isinstance(item, Mapping) and item.get("protocol", "TCP") == "TCP"]


def _container_port(pod: K8sObject, wanted: str, container: str = "") -> int | None:
    """Return a port's number in the pod: a number is itself, a name is looked up, first in ``container``."""
    if wanted.isascii() and wanted.isdigit():
        return int(wanted) if 0 < int(wanted) < 65536 else None
    spec = _mapping(pod, "spec")
    every = [item for name in ("containers", "initContainers") for item in spec.get(name) or ()]
    for item in sorted(every, key=lambda item: item.get("name") != container):
        for port in item.get("ports") or ():
            if port.get("name") == wanted and isinstance(port.get("containerPort"), int):
                return int(port["containerPort"])
    return None


def _states(pods: Iterable[K8sObject]) -> list[str]:
    return [f"Pod/{_name(pod)}: {_state(pod)}" for pod in pods][:10]


def _state(pod: K8sObject) -> str:
    if _mapping(pod, "metadata").get("deletionTimestamp"):
        return "terminating"
    return f"{_mapping(pod, 'status').get('phase', 'unknown phase')}, not ready"


def _mapping(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}


def _name(item: K8sObject) -> str:
    return str(_mapping(item, "metadata").get("name", ""))


def _labels(pod: K8sObject) -> Mapping[str, Any]:
    return _mapping(_mapping(pod, "metadata"), "labels")
