# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between two renderings of one DGD: pod by pod, path by path, as data and as lines to be read.

List items are matched by their name (or the key that tells them apart in Kubernetes), so that a new container or
variable does not make all that follow it look changed. What every release must write anew (its own worker hash and
origin version) is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import keys
from ..demand import PodDemand
from .api import Rejection, RenderResult

#: Values that differ between any two releases and say nothing.
_IGNORED_KEYS = frozenset({keys.LABEL_WORKER_HASH, keys.LABEL_SELECTOR, keys.ANNOTATION_ORIGIN_VERSION})
_ITEM_KEYS = ("name", "mountPath", "containerPort", "key", "topologyKey", "ip")
_MISSING = object()


@dataclass(frozen=True)
class Change:
    """One difference: ``before`` and ``after`` are ``None`` where the value is not there."""

    path: str
    kind: str
    before: Any = None
    after: Any = None

    def to_result(self) -> dict[str, Any]:
        """Return the change as plain data."""
        return {"path": self.path, "kind": self.kind, "before": self.before, "after": self.after}

    def __str__(self) -> str:
        if self.kind == "added":
            return f"{self.path}: added {_short(self.after)}"
        if self.kind == "removed":
            return f"{self.path}: removed {_short(self.before)}"
        before, after = _around(_text(self.before), _text(self.after))
        return f"{self.path}: {before} -> {after}"


@dataclass(frozen=True)
class PodChange:
    """What changes in the pods of one component and role. ``before`` and ``after`` count its pods."""

    component: str
    role: str
    before: int
    after: int
    changes: tuple[Change, ...]

    def to_result(self) -> dict[str, Any]:
        """Return the changes as plain data."""
        return {
            "component": self.component,
            "role": self.role,
            "pods_before": self.before,
            "pods_after": self.after,
            "changes": [change.to_result() for change in self.changes],
        }


@dataclass(frozen=True)
class Comparison:
    """Two renderings side by side."""

    source: str
    target: str
    pods: tuple[PodChange, ...]
    objects: tuple[tuple[str, str, str], ...]
    refused: tuple[Rejection, ...]

    @property
    def summary(self) -> tuple[str, ...]:
        """The changes as lines to be read, nothing where there are none."""
        return tuple(self._lines())

    def _lines(self) -> Iterator[str]:
        for rejection in self.refused:
            place = rejection.field or rejection.component
            yield f"{self.target} refuses the DGD: {place}: {rejection.message}"
        for pod in self.pods:
            name = pod.component if pod.role == "main" else f"{pod.component} ({pod.role})"
            if pod.before != pod.after:
                yield f"{name}: pods: {pod.before} -> {pod.after}"
            for change in pod.changes:
                yield f"{name}: {change}"
        for kind, name, state in self.objects:
            yield f"{kind} {name}: {state} in {self.target}"

    def to_result(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        return {
            "from": self.source,
            "to": self.target,
            "pods": [pod.to_result() for pod in self.pods],
            "objects": [{"kind": kind, "name": name, "state": state} for kind, name, state in self.objects],
            "refused": [rejection.to_result() for rejection in self.refused],
            "summary": list(self.summary),
        }


def compare(before: RenderResult, after: RenderResult) -> Comparison:
    """Return what changes from ``before`` to ``after``, nothing where either is refused; both are of the same DGD."""
    old, new = _groups(before.pods), _groups(after.pods)
    names = {**dict.fromkeys(old), **dict.fromkeys(new)}
    pods = []
    comparable = not before.errors and not after.errors
    if comparable:
        for component, role in names:
            change = _pod_change(component, role, old.get((component, role), ()), new.get((component, role), ()))
            if change.changes or change.before != change.after:
                pods.append(change)
    objects = tuple(_objects(before.objects, after.objects)) if comparable else ()
    return Comparison(before.release, after.release, tuple(pods), objects, after.errors)


def _groups(pods: Iterable[PodDemand]) -> dict[tuple[str, str], list[PodDemand]]:
    groups: dict[tuple[str, str], list[PodDemand]] = {}
    for pod in pods:
        groups.setdefault((pod.component, pod.role), []).append(pod)
    return groups


def _pod_change(component: str, role: str, old: Sequence[PodDemand], new: Sequence[PodDemand]) -> PodChange:
    """Pods of one component and role are made from one template, so the first stands for all."""
    changes: tuple[Change, ...] = ()
    if old and new:
        changes = tuple(differences(_compared(old[0]), _compared(new[0])))
    return PodChange(component, role, len(old), len(new), changes)


def _compared(demand: PodDemand) -> dict[str, Any]:
    metadata = demand.pod.get("metadata") or {}
    return {
        "metadata": {
            kind: {key: value for key, value in (metadata.get(kind) or {}).items() if key not in _IGNORED_KEYS}
            for kind in ("labels", "annotations")
        },
        "spec": demand.pod.get("spec") or {},
    }


def _objects(old: Iterable[Mapping[str, Any]], new: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield the objects that only one rendering has; a worker's hash in a name does not tell two apart."""
    before, after = _names(old), _names(new)
    for kind, name in before:
        if (kind, name) not in after:
            yield kind, name, "missing"
    for kind, name in after:
        if (kind, name) not in before:
            yield kind, name, "new"


def _names(objects: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], None]:
    return dict.fromkeys((str(item["kind"]), str(item["metadata"]["name"])) for item in objects)


def differences(before: Any, after: Any, path: str = "") -> Iterator[Change]:
    """Yield what differs between two values of plain data."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in {**before, **after}:
            place = f"{path}.{key}" if path and "." not in key else f"{path}[{key}]" if path else str(key)
            yield from _pair(before.get(key, _MISSING), after.get(key, _MISSING), place)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _lists(before, after, path)
    elif type(before) is not type(after) or before != after:
        yield Change(path, "changed", before, after)


def _pair(before: Any, after: Any, path: str) -> Iterator[Change]:
    if before is _MISSING:
        yield Change(path, "added", None, after)
    elif after is _MISSING:
        yield Change(path, "removed", before, None)
    else:
        yield from differences(before, after, path)


def _lists(before: list[Any], after: list[Any], path: str) -> Iterator[Change]:
    key = _item_key(before, after)
    if not key:
        if before != after:
            yield Change(path, "changed", before, after)
        return
    old = {item[key]: item for item in before}
    new = {item[key]: item for item in after}
    for name in {**old, **new}:
        yield from _pair(old.get(name, _MISSING), new.get(name, _MISSING), f"{path}[{name}]")
    kept = [name for name in old if name in new]
    if kept != [name for name in new if name in old]:
        yield Change(f"{path} (order)", "changed", list(old), list(new))


def _item_key(before: list[Any], after: list[Any]) -> str:
    """Return the key that tells the items of both lists apart, or nothing."""
    items = [*before, *after]
    for key in _ITEM_KEYS:
        told = items and all(isinstance(item, Mapping) and isinstance(item.get(key), (str, int)) for item in items)
        if told and all(len({item[key] for item in part}) == len(part) for part in (before, after)):
            return key
    return ""


#: How much of a value a line shows, and how much of what stays the same before a difference.
_SHOWN, _CONTEXT = 120, 30


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    return " ".join(text.split())


def _short(value: Any) -> str:
    return _cut(_text(value))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _around(before: str, after: str) -> tuple[str, str]:
    """Cut away what two long texts begin with alike, so that their difference is seen."""
    if max(len(before), len(after)) <= _SHOWN:
        return before, after
    same = next((at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), 0)
    if same <= _CONTEXT:
        return _cut(before), _cut(after)
    start = same - _CONTEXT
    return _cut("…" + before[start:]), _cut("…" + after[start:])
