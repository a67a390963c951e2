# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a pod asks of a node, by the official rule, in the whole numbers the scheduler counts in.

Source: Kubernetes 1.36 ``component-helpers/resource`` (``PodRequests``), ``apis/core/v1/defaults.go`` (limits become
requests) and KEP-753 (sidecars). Amounts: CPU in thousandths of a core, everything else in its own unit (bytes,
devices), rounded up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

from .demand import K8sObject
from .errors import InputError
from .quantity import Quantity, parse_quantity

CPU = "cpu"
MEMORY = "memory"
HUGEPAGES = "hugepages-"
#: The scheduler's scoring takes a container without these requests for one that has them (``DefaultMilliCPURequest``,
#: ``DefaultMemoryRequest``).
SCORING_DEFAULTS: Mapping[str, int] = {CPU: 100, MEMORY: 200 * 1024 * 1024}

Amount: TypeAlias = "int | Fraction"
Amounts = dict[str, Amount]


@lru_cache(maxsize=65536)
def _parsed(cpu: bool, text: str) -> Amount:
    value = parse_quantity(text).value * (1000 if cpu else 1)
    return value.numerator if value.denominator == 1 else value


def amount(resource: str, text: object) -> Amount:
    """Return the exact amount of ``resource`` that ``text`` stands for; raise :class:`InputError` where it is none."""
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        parse_quantity(text, field=resource)
    try:
        return _parsed(resource == CPU, str(text))
    except InputError as error:
        raise InputError(error.problem, field=resource, found=error.found, remedy=error.remedy) from None


def whole(value: Amount) -> int:
    """Round ``value`` up to a whole number, as ``Quantity.Value()`` does."""
    return value if isinstance(value, int) else -((-value) // 1)


def amounts(resources: object) -> Amounts:
    """Return a resource list (``{"cpu": "500m"}``) as amounts; nothing where it is absent."""
    if not isinstance(resources, Mapping):
        return {}
    return {name: amount(name, text) for name, text in resources.items()}


def whole_amounts(resources: object) -> dict[str, int]:
    """Return a resource list as whole amounts: what a node's ``allocatable`` holds."""
    return {name: whole(value) for name, value in amounts(resources).items()}


def container_requests(container: K8sObject) -> Amounts:
    """Return what one container asks for; a limit without a request is a request, as the API server makes it."""
    resources = container.get("resources")
    if not isinstance(resources, Mapping):
        return {}
    return {**amounts(resources.get("limits")), **amounts(resources.get("requests"))}


def is_sidecar(container: K8sObject) -> bool:
    """Return whether an init container keeps running beside the others (``restartPolicy: Always``)."""
    return container.get("restartPolicy") == "Always"


def pod_requests(pod: K8sObject, *, bound: bool = False) -> dict[str, int]:
    """Return what ``pod`` asks of a node: the larger of its start and its running phase, pod level, overhead.

    With ``bound`` the pod's status counts too: while a resize is under way the larger of the old and the new
    request is held.
    """
    quick = _plain_requests(pod, bound)
    return quick if quick is not None else _rounded(_requests(pod, bound, {}))


def _plain_requests(pod: K8sObject, bound: bool) -> dict[str, int] | None:
    """Answer for the one container that most pods are, as tens of thousands of pods are counted; None for others."""
    spec = pod.get("spec") or {}
    containers = list(spec.get("containers") or [])
    if len(containers) != 1 or any(spec.get(name) for name in ("initContainers", "overhead", "resources")):
        return None
    if bound and (pod.get("status") or {}).get("containerStatuses"):
        return None
    resources = containers[0].get("resources") or {}
    given = resources.get("requests") or {}
    limits = resources.get("limits")
    return whole_amounts({**limits, **given} if limits else given)


def scoring_requests(pod: K8sObject, *, bound: bool = False) -> tuple[int, int]:
    """Return CPU and memory as the scheduler's scoring sees them: containers without a request get a small one."""
    missing: dict[str, int] = dict(SCORING_DEFAULTS)
    if _pod_level_requests(pod):
        known = _requests(pod, bound, {})
        missing = {name: value for name, value in missing.items() if name not in known}
    found = _requests(pod, bound, missing)
    return whole(found.get(CPU, 0)), whole(found.get(MEMORY, 0))


def _rounded(values: Amounts) -> dict[str, int]:
    return {name: whole(value) for name, value in values.items()}


def _requests(pod: K8sObject, bound: bool, missing: Mapping[str, int]) -> Amounts:
    spec = pod.get("spec") or {}
    total = _containers(pod, spec, bound, missing)
    level = _pod_level_requests(pod)
    if level:
        status = pod.get("status") or {}
        if bound and status.get("resources") is not None:
            level = _effective(pod, level, status.get("resources"), status.get("allocatedResources"))
        total.update(level)
    if spec.get("overhead"):
        _add(total, amounts(spec["overhead"]))
    return total


def _containers(pod: K8sObject, spec: K8sObject, bound: bool, missing: Mapping[str, int]) -> Amounts:
    statuses = _statuses(pod) if bound else {}
    total: Amounts = {}
    for container in spec.get("containers") or ():
        _add(total, _one(pod, container, statuses, missing))
    init = spec.get("initContainers")
    if not init:
        return total
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in init:
        sidecar = is_sidecar(container)
        asked = _one(pod, container, statuses if sidecar else {}, missing)
        if sidecar:
            _add(total, asked)
            _add(sidecars, asked)
            asked = sidecars
        else:
            _add(asked, sidecars)
        _max(peak, asked)
    _max(total, peak)
    return total


def _one(
    pod: K8sObject, container: K8sObject, statuses: Mapping[str, K8sObject], missing: Mapping[str, int]
) -> Amounts:
    asked = container_requests(container)
    status = statuses.get(str(container.get("name"))) if statuses else None
    if status is not None:
        asked = _effective(pod, asked, status.get("resources"), status.get("allocatedResources"))
    for name, value in missing.items():
        asked.setdefault(name, value)
    return asked


def _statuses(pod: K8sObject) -> dict[str, K8sObject]:
    status = pod.get("status") or {}
    return {
        str(entry.get("name")): entry
        for kind in ("containerStatuses", "initContainerStatuses")
        for entry in status.get(kind) or ()
        if entry.get("resources") is not None or entry.get("allocatedResources")
    }


def _effective(pod: K8sObject, spec: Amounts, actuated: Any, allocated: Any) -> Amounts:
    running = amounts((actuated or {}).get("requests"))
    _max(running, amounts(allocated))
    if not _resize_infeasible(pod):
        _max(running, spec)
    return running


def _resize_infeasible(pod: K8sObject) -> bool:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "PodResizePending":
            return bool(condition.get("reason") == "Infeasible")
    return False


def _pod_level_requests(pod: K8sObject) -> Amounts:
    """Return the pod level requests that replace the containers' sum; the API server's defaulting included."""
    spec = pod.get("spec") or {}
    resources = spec.get("resources")
    if not isinstance(resources, Mapping):
        return {}
    requests = amounts(resources.get("requests"))
    limits = amounts(resources.get("limits"))
    for name, value in _container_limits(spec, requests).items() if requests or limits else ():
        limits.setdefault(name, value)
    if limits:
        for name, value in _containers(pod, spec, False, {}).items():
            if name in (CPU, MEMORY):
                requests.setdefault(name, value)
        for name, value in limits.items():
            requests.setdefault(name, value)
    return {name: value for name, value in requests.items() if name in (CPU, MEMORY) or name.startswith(HUGEPAGES)}


def _container_limits(spec: K8sObject, requests: Amounts) -> Amounts:
    """Return the containers' huge page limits where the pod level does not name them."""
    bare: dict[str, Any] = {
        kind: [
            {**container, "resources": {"requests": (container.get("resources") or {}).get("limits") or {}}}
            for container in spec.get(kind) or ()
        ]
        for kind in ("containers", "initContainers")
    }
    found = _containers({}, bare, False, {})
    return {name: value for name, value in found.items() if name.startswith(HUGEPAGES) and name not in requests}


def _add(total: Amounts, more: Mapping[str, Amount]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _max(total: Amounts, other: Mapping[str, Amount]) -> None:
    for name, value in other.items():
        if value > total.get(name, 0) or name not in total:
            total[name] = value


def written(resource: str, value: int) -> str:
    """Write a whole amount as a quantity for people: ``1500m``, ``16Gi``, ``8``."""
    if resource == CPU:
        return str(Quantity(Fraction(value, 1000)))
    if resource in (MEMORY, "ephemeral-storage") or resource.startswith(HUGEPAGES):
        return str(Quantity(Fraction(value), "binary"))
    return str(value)


def sum_requests(pods: Iterable[K8sObject], *, bound: bool = False) -> dict[str, int]:
    """Return what ``pods`` ask for together."""
    total: dict[str, int] = {}
    for pod in pods:
        for name, value in pod_requests(pod, bound=bound).items():
            total[name] = total.get(name, 0) + value
    return total
