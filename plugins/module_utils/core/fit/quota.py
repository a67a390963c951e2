# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the namespace's quotas let all the pods be created.

Source: Kubernetes 1.36 ``pkg/quota/v1/evaluator/core/pods.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..demand import K8sObject
from ..podresources import CPU, MEMORY, amount, container_requests, pod_requests, whole
from .admission import pod_limits
from .cluster import objects
from .model import PODS, TERMINAL, metadata, namespace_of

_PLAIN = (CPU, MEMORY, "ephemeral-storage")
#: Where a quota counts one of these, every container must ask for it.
_REQUIRED: Mapping[str, tuple[str, str]] = {
    "cpu": ("requests", CPU),
    "memory": ("requests", MEMORY),
    "requests.cpu": ("requests", CPU),
    "requests.memory": ("requests", MEMORY),
    "limits.cpu": ("limits", CPU),
    "limits.memory": ("limits", MEMORY),
}


def pod_usage(pod: K8sObject) -> dict[str, int]:
    """Return what a pod counts for, by the names that a quota's ``hard`` uses."""
    usage = {PODS: 1, "count/pods": 1}
    for name, value in pod_requests(pod).items():
        if name in _PLAIN or name.startswith("hugepages-"):
            usage[name] = value
        usage[f"requests.{name}"] = value
    for name, value in pod_limits(pod).items():
        if name in _PLAIN:
            usage[f"limits.{name}"] = value
    return usage


def _best_effort(pod: K8sObject) -> bool:
    requests, limits = pod_requests(pod), pod_limits(pod)
    return not any(requests.get(name) or limits.get(name) for name in (CPU, MEMORY))


def _in_scope(scope: str, operator: str, values: Sequence[str], pod: K8sObject) -> bool:
    spec = pod.get("spec") or {}
    name = str(spec.get("priorityClassName") or "")
    tests: Mapping[str, Callable[[], bool]] = {
        "Terminating": lambda: spec.get("activeDeadlineSeconds") is not None,
        "NotTerminating": lambda: spec.get("activeDeadlineSeconds") is None,
        "BestEffort": lambda: _best_effort(pod),
        "NotBestEffort": lambda: not _best_effort(pod),
        "PriorityClass": lambda: _selected(operator, values, name),
        "CrossNamespacePodAffinity": lambda: _crosses(spec),
    }
    return scope in tests and tests[scope]()


def _selected(operator: str, values: Sequence[str], name: str) -> bool:
    if operator == "Exists":
        return bool(name)
    if operator == "DoesNotExist":
        return not name
    return (name in values) == (operator != "NotIn")


def _crosses(spec: K8sObject) -> bool:
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        terms = [
            *(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()),
            *(
                one.get("podAffinityTerm") or {}
                for one in rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
            ),
        ]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms):
            return True
    return False


def _counts(quota: K8sObject, pod: K8sObject) -> bool:
    spec = quota.get("spec") or {}
    scopes = [(scope, "Exists", ()) for scope in spec.get("scopes") or ()]
    scopes += [
        (one.get("scopeName"), one.get("operator") or "Exists", one.get("values") or ())
        for one in (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    ]
    return all(_in_scope(scope, operator, values, pod) for scope, operator, values in scopes)


def quota_refusals(
    source: Mapping[str, Any], pods: Sequence[K8sObject], gone: Iterable[K8sObject] = ()
) -> Iterator[tuple[str, str]]:
    """Yield (quota's name, why not all pods can be created). What the pods in ``gone`` use counts as free."""
    gone = [pod for pod in gone if (pod.get("status") or {}).get("phase") not in TERMINAL]
    for quota in objects(source, "resourcequotas"):
        namespace, name = namespace_of(quota), str(metadata(quota).get("name"))
        counted = [pod for pod in pods if namespace_of(pod) == namespace and _counts(quota, pod)]
        if not counted:
            continue
        status = quota.get("status") or {}
        hard = _quota_amounts(status.get("hard") or (quota.get("spec") or {}).get("hard"))
        used = Counter(_quota_amounts(status.get("used")))
        for pod in gone:
            if namespace_of(pod) == namespace and _counts(quota, pod):
                used.subtract(pod_usage(pod))
        yield from ((name, text) for text in _over(hard, used, counted))
        yield from ((name, text) for text in _missing(hard, counted))


def _over(hard: Mapping[str, int], used: Mapping[str, int], pods: Sequence[K8sObject]) -> Iterator[str]:
    needed: Counter[str] = Counter()
    for pod in pods:
        needed.update(pod_usage(pod))
    for name, limit in sorted(hard.items()):
        have = max(used.get(name, 0), 0)
        if needed[name] and have + needed[name] > limit:
            unit = " (thousandths of a core)" if name.endswith("cpu") else ""
            yield f"{name}: {needed[name]} asked for, {have} used, {limit} allowed{unit}"


def _quota_amounts(resources: object) -> dict[str, int]:
    """Return a quota's amounts; its names carry a prefix before the resource."""
    if not isinstance(resources, Mapping):
        return {}
    return {name: whole(amount(CPU if name.endswith("cpu") else name, text)) for name, text in resources.items()}


def _missing(hard: Mapping[str, int], pods: Sequence[K8sObject]) -> Iterator[str]:
    found: set[str] = set()
    for pod in pods:
        spec = pod.get("spec") or {}
        if (spec.get("resources") or {}).get("requests") or (spec.get("resources") or {}).get("limits"):
            continue
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            given = {
                "requests": container_requests(container),
                "limits": (container.get("resources") or {}).get("limits") or {},
            }
            for name, (kind, resource) in _REQUIRED.items():
                if name in hard and resource not in given[kind]:
                    found.add(f"{name} must be set for container {container.get('name')}")
    yield from sorted(found)
