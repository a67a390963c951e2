# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pods that an ordinary Kubernetes object makes: their specs, and where each stands in the manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .demand import K8sObject

#: Kind to the path of its pod template's spec.
_PATHS: Mapping[str, tuple[str, ...]] = {
    "Pod": ("spec",),
    "PodTemplate": ("template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    **dict.fromkeys(
        ("Job", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"),
        ("spec", "template", "spec"),
    ),
}
CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")


@dataclass(frozen=True)
class PodSpec:
    """One pod spec: whose it is (``Job/download``), the field path to it, and the spec itself."""

    subject: str
    path: str
    spec: Mapping[str, Any]

    def containers(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield each container with its path; what is no mapping is passed over."""
        for name in CONTAINER_LISTS:
            for index, container in enumerate(as_list(self.spec.get(name))):
                if isinstance(container, Mapping):
                    yield f"{self.path}.{name}[{index}]", container


def pod_spec_of(item: K8sObject) -> PodSpec | None:
    """Return the pod spec of an object, or None where its kind makes no pods of its own."""
    path = _PATHS.get(str(item.get("kind") or ""))
    if path is None:
        return None
    spec: Any = item
    for name in path:
        spec = spec.get(name) if isinstance(spec, Mapping) else None
    return PodSpec(subject_of(item), ".".join(path), spec) if isinstance(spec, Mapping) else None


def subject_of(item: K8sObject) -> str:
    """Return ``Kind/name`` for a message."""
    metadata = item.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return f"{item.get('kind') or 'object'}/{name or '(no name)'}"


def as_list(value: object) -> list[Any]:
    """Return ``value`` where it is a list, and an empty one otherwise: a wrong type is the API server's to refuse."""
    return value if isinstance(value, list) else []


def as_map(value: object) -> Mapping[str, Any]:
    """Return ``value`` where it is a mapping, and an empty one otherwise."""
    return value if isinstance(value, Mapping) else {}


def names_in(value: object, key: str = "name") -> tuple[str, ...]:
    """Return the names in a list of references such as ``imagePullSecrets``."""
    entries = (as_map(entry).get(key) for entry in as_list(value))
    return tuple(str(name) for name in entries if name)
