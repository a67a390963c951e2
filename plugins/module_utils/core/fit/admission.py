# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API server would make of a pod that is not created yet, and whether it would refuse it.

RuntimeClass (overhead, node selector, tolerations), Priority, LimitRanger, DefaultTolerationSeconds. All of it leaves a
pod that was admitted already as it is. Source: Kubernetes 1.36 ``plugin/pkg/admission``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..demand import K8sObject
from ..podresources import Amounts, amounts, container_requests, pod_requests, whole
from .cluster import objects, readable
from .model import metadata, namespace_of

_BUILT_IN_PRIORITIES: Mapping[str, int] = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
_DEFAULT_TOLERATIONS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


@dataclass(frozen=True)
class Admitted:
    """A pod as it would be created; ``refusals`` say why it would not, ``unknown`` what could not be read."""

    pod: K8sObject
    refusals: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class Admission:
    """The cluster's admission rules, read once from a snapshot."""

    def __init__(self, source: Mapping[str, Any]) -> None:
        self.runtime_classes = _by_name(objects(source, "runtimeclasses"))
        self.priority_classes = _by_name(objects(source, "priorityclasses"))
        self.limit_ranges: dict[str, list[K8sObject]] = {}
        for one in objects(source, "limitranges"):
            self.limit_ranges.setdefault(namespace_of(one), []).extend((one.get("spec") or {}).get("limits") or ())
        self.unread = {
            kind for kind in ("runtimeclasses", "priorityclasses", "limitranges") if not readable(source, kind)
        }

    def admit(self, pod: K8sObject, namespace: str) -> Admitted:
        """Return the pod with defaults filled in, in ``namespace`` where it names none."""
        meta = dict(metadata(pod))
        meta.setdefault("namespace", namespace)
        spec = dict(pod.get("spec") or {})
        refusals: list[str] = []
        unknown: list[str] = []
        self._runtime_class(spec, refusals, unknown)
        self._priority(spec, refusals, unknown)
        _tolerations(spec)
        limits = self.limit_ranges.get(str(meta["namespace"]), [])
        made: K8sObject = {**pod, "metadata": meta, "spec": spec}
        if limits:
            _limit_defaults(spec, limits)
            refusals.extend(_limit_violations(made, limits))
        return Admitted(made, tuple(refusals), tuple(unknown))

    def _runtime_class(self, spec: dict[str, Any], refusals: list[str], unknown: list[str]) -> None:
        name = spec.get("runtimeClassName")
        if not name:
            return
        found = self.runtime_classes.get(name)
        if found is None:
            if "overhead" in spec:
                return  # admitted already
            if "runtimeclasses" in self.unread:
                unknown.append(f"runtime class {name} could not be read")
            else:
                refusals.append(f"there is no runtime class {name}")
            return
        overhead = (found.get("overhead") or {}).get("podFixed")
        if overhead:
            spec.setdefault("overhead", overhead)
        scheduling = found.get("scheduling") or {}
        selector = scheduling.get("nodeSelector") or {}
        if selector:
            own = spec.get("nodeSelector") or {}
            if any(own.get(key, value) != value for key, value in selector.items()):
                refusals.append(f"the node selector of runtime class {name} conflicts with the pod's own")
            spec["nodeSelector"] = {**own, **selector}
        spec["tolerations"] = _joined(spec.get("tolerations") or (), scheduling.get("tolerations") or ())

    def _priority(self, spec: dict[str, Any], refusals: list[str], unknown: list[str]) -> None:
        if spec.get("priority") is not None:
            return
        name = spec.get("priorityClassName")
        if name in _BUILT_IN_PRIORITIES:
            spec["priority"] = _BUILT_IN_PRIORITIES[str(name)]
            return
        found = self.priority_classes.get(str(name)) if name else self._default_priority()
        if found is not None:
            spec["priority"] = int(found.get("value") or 0)
            spec.setdefault("preemptionPolicy", found.get("preemptionPolicy") or "PreemptLowerPriority")
        elif name and "priorityclasses" in self.unread:
            unknown.append(f"priority class {name} could not be read")
        elif name:
            refusals.append(f"there is no priority class {name}")

    def _default_priority(self) -> K8sObject | None:
        defaults = [one for one in self.priority_classes.values() if one.get("globalDefault")]
        return min(defaults, key=lambda one: int(one.get("value") or 0), default=None)


def _by_name(found: Iterable[K8sObject]) -> dict[str, K8sObject]:
    return {str(metadata(one).get("name")): one for one in found}


def _joined(own: Iterable[K8sObject], more: Iterable[K8sObject]) -> list[K8sObject]:
    result = list(own)
    result.extend(one for one in more if one not in result)
    return result


def _tolerations(spec: dict[str, Any]) -> None:
    own = list(spec.get("tolerations") or ())
    for key in _DEFAULT_TOLERATIONS:
        covered = any(one.get("key") in (key, "", None) and one.get("effect") in ("NoExecute", "", None) for one in own)
        if not covered:
            own.append({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
    spec["tolerations"] = own


def _limit_defaults(spec: dict[str, Any], limits: Iterable[K8sObject]) -> None:
    default_limits: dict[str, Any] = {}
    default_requests: dict[str, Any] = {}
    for limit in limits:
        if limit.get("type") == "Container":
            default_limits.update(limit.get("default") or {})
            default_requests.update(limit.get("defaultRequest") or {})
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            spec[kind] = [_with_defaults(one, default_limits, default_requests) for one in spec[kind]]


def _with_defaults(container: K8sObject, limits: Mapping[str, Any], requests: Mapping[str, Any]) -> K8sObject:
    resources = container.get("resources") or {}
    own_limits = resources.get("limits") or {}
    # The API server has made limits requests before LimitRanger looks, so a default limit makes no request.
    own_requests = {**own_limits, **(resources.get("requests") or {})}
    made = {**resources, "limits": {**limits, **own_limits}, "requests": {**requests, **own_requests}}
    return {**container, "resources": made}


def _limit_violations(pod: K8sObject, limits: Iterable[K8sObject]) -> Iterator[str]:
    spec = pod.get("spec") or {}
    for limit in limits:
        if limit.get("type") == "Container":
            for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
                what = f"container {container.get('name')}"
                resources = container.get("resources") or {}
                yield from _violations(what, limit, container_requests(container), amounts(resources.get("limits")))
        elif limit.get("type") == "Pod":
            requests: Amounts = dict(pod_requests(pod))
            yield from _violations("pod", limit, requests, dict(pod_limits(pod)))


def _violations(what: str, limit: K8sObject, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, least in amounts(limit.get("min")).items():
        for kind, given in (("request", requests), ("limit", limits)):
            if (name in given and given[name] < least) or (kind == "request" and name not in given):
                yield f"{what}: the {kind} of {name} is below the limit range's minimum {limit['min'][name]}"
    for name, most in amounts(limit.get("max")).items():
        for kind, given in (("limit", limits), ("request", requests)):
            if (name in given and given[name] > most) or (kind == "limit" and name not in given):
                yield f"{what}: the {kind} of {name} is not within the limit range's maximum {limit['max'][name]}"
    for name, ratio in amounts(limit.get("maxLimitRequestRatio")).items():
        scale = 1000 if name == "cpu" else 1
        if not requests.get(name) or not limits.get(name) or limits[name] * scale > ratio * requests[name]:
            yield f"{what}: limit to request of {name} is above the ratio {limit['maxLimitRequestRatio'][name]}"


def pod_limits(pod: K8sObject) -> dict[str, int]:
    """Return the pod's limits summed by the rule of requests; overhead only adds to what is limited."""
    spec = pod.get("spec") or {}

    def limited(container: K8sObject) -> K8sObject:
        return {**container, "resources": {"requests": (container.get("resources") or {}).get("limits") or {}}}

    bare = {kind: [limited(one) for one in spec.get(kind) or ()] for kind in ("containers", "initContainers")}
    found = pod_requests({"spec": bare})
    for name, value in amounts((spec.get("resources") or {}).get("limits")).items():
        found[name] = whole(value)
    for name, value in amounts(spec.get("overhead")).items():
        if found.get(name):
            found[name] += whole(value)
    return found
