# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What manifests and pods refer to by name: secrets with their keys, config maps, claims, accounts, classes, images.

One walk serves every kind, DGDs of both API versions included, since all of them use Kubernetes' own field names; the
few that Dynamo adds (``envFromSecret``, ``pvcs``, ``volumeMounts`` by claim) stand in the same table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .demand import K8sObject, PodDemand
from .podspecs import as_list, as_map, subject_of


@dataclass(frozen=True)
class Reference:
    """One name in one place.

    ``kind`` is the kind of what is named, or ``Image``; ``key`` the key of a Secret or ConfigMap that must be there;
    ``how`` the field that names it; ``used_by`` and ``path`` where it stands; ``optional`` that it may be missing.
    """

    kind: str
    name: str
    how: str
    key: str = ""
    optional: bool = False
    used_by: str = ""
    path: str = ""

    def to_result(self) -> dict[str, Any]:
        """Return the reference as plain data."""
        return {
            "kind": self.kind,
            "name": self.name,
            "how": self.how,
            "key": self.key,
            "optional": self.optional,
            "used_by": self.used_by,
            "path": self.path,
        }


@dataclass(frozen=True)
class References:
    """All references, in the order in which they stand."""

    items: tuple[Reference, ...]

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names of one kind, each once."""
        return tuple(dict.fromkeys(item.name for item in self.items if item.kind == kind))

    def to_result(self) -> dict[str, Any]:
        """Return the references as plain data, and the names by kind for a play that asks for one of them."""
        return {
            "items": [item.to_result() for item in self.items],
            "names": {kind: list(self.names(kind)) for kind in sorted({item.kind for item in self.items})},
        }


def references_of(objects: Iterable[K8sObject], pods: Iterable[PodDemand] = ()) -> References:
    """Return what these manifests, and pods rendered from them, refer to.

    The pods of one component refer to the same things, so each is told once, and only where no manifest has it already.
    """
    found: dict[Reference, None] = {}
    for item in objects:
        subject = subject_of(item)
        for reference in _walk(_body(item), "", _Context(str(item.get("kind") or ""))):
            found[replace(reference, used_by=_user(item, subject, reference.path))] = None
    known = {(item.kind, item.name, item.key) for item in found}
    for demand in pods:
        for reference in _walk({"spec": demand.pod.get("spec")}, "", _Context("Pod")):
            named = (reference.kind, reference.name, reference.key)
            if named not in known:
                known.add(named)
                found[replace(reference, used_by=demand.component or demand.name)] = None
    return References(tuple(found))


def pod_references(pods: Iterable[PodDemand]) -> References:
    """Return what rendered pods refer to."""
    return references_of((), pods)


def _body(item: K8sObject) -> Mapping[str, Any]:
    """The parts of an object that can refer to something; data is data, and a status is not a wish."""
    skipped = ("apiVersion", "kind", "metadata", "status", "data", "stringData", "binaryData")
    return {key: value for key, value in item.items() if key not in skipped}


def _user(item: K8sObject, subject: str, path: str) -> str:
    """Name the component of a DGD that refers, for that is how its author knows it."""
    parts = path.split(".")
    if parts[:2] == ["spec", "services"] and len(parts) > 2:
        return f"component {parts[2]}"
    found = _COMPONENT.match(path)
    if found is None:
        return subject
    components = dict(enumerate(as_list(as_map(item.get("spec")).get("components"))))
    component = as_map(components.get(int(found[1])))
    return f"component {component.get('name') or found[1]}"


_COMPONENT = re.compile(r"spec\.components\[(\d+)\]")


# -- the walk ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Context:
    """Where the walk is: in an object of which kind, and below which field."""

    kind: str
    parent: str = ""


def _walk(value: object, path: str, context: _Context) -> Iterator[Reference]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            where = f"{path}.{key}" if path else str(key)
            yield from (replace(found, path=where) for found in _at(str(key), inner, value, context))
            if key not in _LITERAL:
                yield from _walk(inner, where, replace(context, parent=str(key)))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _walk(inner, f"{path}[{index}]", context)


#: Fields that hold text of programs, not names of objects.
_LITERAL = frozenset({"command", "args", "labels", "annotations", "matchLabels", "nodeSelector"})


def _at(key: str, value: Any, owner: Mapping[str, Any], context: _Context) -> Iterator[Reference]:
    """Yield what one field refers to."""
    reader = _READERS.get(key)
    if reader is None or not value:
        return
    yield from (found for found in reader(value, owner, context) if found.name)


Reader = Callable[[Any, Mapping[str, Any], _Context], Iterable[Reference]]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _optional(entry: Mapping[str, Any]) -> bool:
    return entry.get("optional") is True


def _keyed(kind: str, how: str) -> Reader:
    def read(value: Any, _owner: Mapping[str, Any], _context: _Context) -> Iterator[Reference]:
        entry = as_map(value)
        yield Reference(kind, _text(entry.get("name")), how, _text(entry.get("key")), _optional(entry))

    return read


def _by_name(kind: str, how: str) -> Reader:
    """A field that holds the name itself, or a mapping with ``name``."""

    def read(value: Any, _owner: Mapping[str, Any], _context: _Context) -> Iterator[Reference]:
        entry = as_map(value)
        yield Reference(kind, _text(value) or _text(entry.get("name")), how, "", _optional(entry))

    return read


def _names(kind: str, how: str, field: str = "name") -> Reader:
    def read(value: Any, _owner: Mapping[str, Any], _context: _Context) -> Iterator[Reference]:
        for entry in as_list(value):
            yield Reference(kind, _text(as_map(entry).get(field)), how)

    return read


def _volume(kind: str, how: str, name_field: str) -> Reader:
    """A volume, or one source of a projected volume, made of a Secret or ConfigMap; each item needs its key."""

    def read(value: Any, _owner: Mapping[str, Any], context: _Context) -> Iterator[Reference]:
        entry = as_map(value)
        projected = context.parent == "sources"
        if not projected and context.parent != "volumes":
            return
        name = _text(entry.get("name" if projected else name_field))
        keys = [_text(as_map(item).get("key")) for item in as_list(entry.get("items"))] or [""]
        for key in keys:
            yield Reference(kind, name, "projected" if projected else how, key, _optional(entry))

    return read


def _mounts(value: Any, _owner: Mapping[str, Any], context: _Context) -> Iterator[Reference]:
    """A v1alpha1 component mounts a claim by name, with ``mountPoint`` where a container has ``mountPath``."""
    if context.kind not in _DYNAMO_KINDS:
        return
    for entry in map(as_map, as_list(value)):
        if "mountPath" not in entry:
            yield Reference("PersistentVolumeClaim", _text(entry.get("name")), "volumeMounts")


def _claims(value: Any, _owner: Mapping[str, Any], context: _Context) -> Iterator[Reference]:
    """``spec.pvcs`` of a DGD: those that it does not create itself must be there."""
    if context.kind in _DYNAMO_KINDS:
        for entry in map(as_map, as_list(value)):
            yield Reference("PersistentVolumeClaim", _text(entry.get("name")), "pvcs")


def _image(value: Any, owner: Mapping[str, Any], context: _Context) -> Iterator[Reference]:
    if isinstance(value, str):
        yield Reference("Image", value, "image")
    elif context.parent == "volumes":
        yield Reference("Image", _text(as_map(value).get("reference")), "image volume")


def _resource_claims(value: Any, _owner: Mapping[str, Any], _context: _Context) -> Iterator[Reference]:
    for entry in map(as_map, as_list(value)):
        yield Reference("ResourceClaim", _text(entry.get("resourceClaimName")), "resourceClaims")
        yield Reference("ResourceClaimTemplate", _text(entry.get("resourceClaimTemplateName")), "resourceClaims")


_DYNAMO_KINDS = frozenset({"DynamoGraphDeployment", "DynamoComponentDeployment"})
_READERS: Mapping[str, Reader] = {
    "secretKeyRef": _keyed("Secret", "secretKeyRef"),
    "configMapKeyRef": _keyed("ConfigMap", "configMapKeyRef"),
    "secretRef": _by_name("Secret", "envFrom"),
    "configMapRef": _keyed("ConfigMap", "configMapRef"),
    "envFromSecret": _by_name("Secret", "envFromSecret"),
    "imagePullSecrets": _names("Secret", "imagePullSecrets"),
    "tls": _names("Secret", "tls", "secretName"),
    "tlsSecretName": _by_name("Secret", "tlsSecretName"),
    "secret": _volume("Secret", "volume", "secretName"),
    "configMap": _volume("ConfigMap", "volume", "name"),
    "persistentVolumeClaim": lambda value, _owner, _context: [
        Reference("PersistentVolumeClaim", _text(as_map(value).get("claimName")), "volume")
    ],
    "pvcName": _by_name("PersistentVolumeClaim", "pvcName"),
    "pvcs": _claims,
    "volumeMounts": _mounts,
    "serviceAccountName": _by_name("ServiceAccount", "serviceAccountName"),
    "priorityClassName": _by_name("PriorityClass", "priorityClassName"),
    "runtimeClassName": _by_name("RuntimeClass", "runtimeClassName"),
    "storageClassName": _by_name("StorageClass", "storageClassName"),
    "storageClass": _by_name("StorageClass", "storageClass"),
    "resourceClaims": _resource_claims,
    "image": _image,
}


# -- what the manifests make themselves -------------------------------------------------------------------------------


def made_by(objects: Iterable[K8sObject]) -> frozenset[tuple[str, str]]:
    """Return kind and name of all that these objects are or make: so is a DGD's claim with ``create: true``.

    Given the objects that the operator will create as well, its service accounts and config maps are known too.
    """
    found = set()
    for item in objects:
        kind, metadata = str(item.get("kind") or ""), as_map(item.get("metadata"))
        found.add((kind, str(metadata.get("name") or "")))
        if kind in _DYNAMO_KINDS:
            for entry in map(as_map, as_list(as_map(item.get("spec")).get("pvcs"))):
                if entry.get("create") is True:
                    found.add(("PersistentVolumeClaim", _text(entry.get("name"))))
    return frozenset(found)
