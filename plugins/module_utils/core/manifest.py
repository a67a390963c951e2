# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifests as documents: what stands in a file, and which of its documents is the DGD.

Reading and parsing a file is done outside of the core (``manifests.py``); here documents are checked and chosen.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .demand import K8sObject
from .errors import InputError, shown

DGD_KIND = "DynamoGraphDeployment"
DGD_GROUP = "nvidia.com"
DGD_VERSIONS = ("v1alpha1", "v1beta1")
DGD_API_VERSIONS = tuple(f"{DGD_GROUP}/{version}" for version in DGD_VERSIONS)

#: Deeper data is refused: no Kubernetes object comes near, and a reader must never run out of stack.
MAX_DEPTH = 100
#: More values than this in one file are refused; the API server takes objects up to 1.5 MiB.
MAX_VALUES = 200_000

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_MAX_LABEL = 63
_MAX_SUBDOMAIN = 253


@dataclass(frozen=True)
class Document:
    """One object of a manifest: plain data, the file (or ``definition``) it came from and its place there, from 1."""

    data: K8sObject
    where: str = "definition"
    index: int = 1
    of: int = 1

    @property
    def api_version(self) -> str:
        """``apiVersion``, or an empty string where it is missing or no text."""
        return _text(self.data.get("apiVersion"))

    @property
    def kind(self) -> str:
        """``kind``, or an empty string where it is missing or no text."""
        return _text(self.data.get("kind"))

    @property
    def name(self) -> str:
        """``metadata.name``, or an empty string."""
        return _text(_metadata(self.data).get("name"))

    @property
    def namespace(self) -> str:
        """``metadata.namespace``, or an empty string."""
        return _text(_metadata(self.data).get("namespace"))

    @property
    def place(self) -> str:
        """The file, and which of its documents this is where there are several."""
        return f"{self.where} (document {self.index})" if self.of > 1 else self.where

    def to_result(self) -> dict[str, Any]:
        """Return what identifies the document, for lists of what a file holds."""
        return {"apiVersion": self.api_version, "kind": self.kind, "name": self.name, "namespace": self.namespace}


def documents_of(value: object, where: str = "definition") -> tuple[Document, ...]:
    """Return the documents in plain data: one object, a list of objects, or a ``List`` object.

    Raises :class:`InputError` where the data is no manifest: not a mapping, keys that are no text, values that JSON
    cannot hold, too deep, too many values.
    """
    check_plain(value, where)
    return split_documents(value if isinstance(value, (list, tuple)) else [value], where)


def split_documents(values: Iterable[object], where: str) -> tuple[Document, ...]:
    """Make documents of values that are known to be plain; empty ones are left out, ``List`` objects opened."""
    objects: list[tuple[int, K8sObject]] = []
    for index, value in enumerate(values, 1):
        if value is None or value == {}:
            continue
        place = f"{where} (document {index})" if index > 1 else where
        if not isinstance(value, Mapping):
            raise InputError("not a Kubernetes object: a mapping is needed", where=place, found=shown(value))
        if _text(value.get("kind")).endswith("List") and "items" in value:
            objects.extend((index, item) for item in _items(value, place))
        else:
            objects.append((index, value))
    return tuple(Document(data, where, index, len(objects)) for index, (_unused, data) in enumerate(objects, 1))


def _items(value: K8sObject, place: str) -> Iterable[K8sObject]:
    items = value.get("items")
    if not isinstance(items, (list, tuple)):
        raise InputError("items of a List must be a list", where=place, field="items", found=shown(items))
    for number, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise InputError(
                "not a Kubernetes object: a mapping is needed", where=place, field=f"items[{number}]", found=shown(item)
            )
        # Items of a typed list may leave out what the list's own kind tells.
        of = _text(value.get("kind")).removesuffix("List")
        yield {"apiVersion": value.get("apiVersion"), "kind": of, **item} if of else item


def check_plain(value: object, where: str) -> None:
    """Raise :class:`InputError` unless ``value`` is plain JSON-like data of bounded depth and size."""
    count = 0
    stack: list[tuple[object, str, int]] = [(value, "", 0)]
    while stack:
        item, path, depth = stack.pop()
        count += 1
        if count > MAX_VALUES:
            raise InputError(f"more than {MAX_VALUES} values", where=where, remedy="Split the manifest")
        if depth > MAX_DEPTH:
            raise InputError(f"nested deeper than {MAX_DEPTH} levels", where=where, field=shown_path(path))
        if isinstance(item, Mapping):
            for key in item:
                if not isinstance(key, str):
                    raise InputError("a key must be text", where=where, field=path, found=shown(key))
                _check_text(key, where, path)
            stack.extend((child, f"{path}.{key}" if path else key, depth + 1) for key, child in item.items())
        elif isinstance(item, (list, tuple)):
            stack.extend((child, f"{path}[{number}]", depth + 1) for number, child in enumerate(item))
        elif isinstance(item, str):
            _check_text(item, where, path)
        elif item is not None and not isinstance(item, (bool, int, float)):
            raise InputError("a value that JSON cannot hold", where=where, field=path, found=shown(item))
        elif isinstance(item, float) and not math.isfinite(item):
            raise InputError("not a finite number", where=where, field=path, found=shown(item))


def _check_text(text: str, where: str, path: str) -> None:
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise InputError("text that is not valid Unicode", where=where, field=path, found=shown(text))


def shown_path(path: str, limit: int = 120) -> str:
    """Return ``path``, its end cut off where it is too long for a message."""
    return path if len(path) <= limit else path[: limit - 1] + "…"


def dgd_documents(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Return the documents that are DGDs, of whichever apiVersion."""
    return tuple(
        document
        for document in documents
        if document.kind == DGD_KIND and document.api_version.partition("/")[0] in (DGD_GROUP, "")
    )


def choose_dgd(documents: Iterable[Document], name: str = "") -> Document:
    """Return the one DGD of a manifest, chosen by ``name`` where there are several.

    Raises :class:`InputError` where there is none, several without a name, no such name, or an unknown apiVersion.
    """
    every = tuple(documents)
    where = every[0].where if every else "manifest"
    found = dgd_documents(every)
    if not found:
        kinds = ", ".join(dict.fromkeys(document.kind or "an object without kind" for document in every)) or "nothing"
        raise InputError(
            f"no {DGD_KIND} in the manifest",
            where=where,
            field="kind",
            found=kinds if len(kinds) < 200 else kinds[:199] + "…",
        )
    chosen = [document for document in found if document.name == name] if name else list(found)
    names = ", ".join(document.name or "(no name)" for document in found)
    if not chosen:
        raise InputError(f"no {DGD_KIND} named {name}", where=where, field="metadata.name", found=names)
    if len(chosen) > 1:
        raise InputError(
            f"{len(chosen)} objects of kind {DGD_KIND}" + (f" named {name}" if name else ""),
            where=where,
            field="metadata.name",
            found=names,
            remedy="Give each another name" if name else "Say which one by its name",
        )
    check_dgd(chosen[0])
    return chosen[0]


def check_dgd(document: Document) -> None:
    """Raise :class:`InputError` unless the document's frame is a DGD's: apiVersion, kind, metadata, spec."""
    data, where = document.data, document.place
    if document.api_version not in DGD_API_VERSIONS:
        raise InputError(
            f"unknown apiVersion of a {DGD_KIND}",
            where=where,
            field="apiVersion",
            found=shown(data.get("apiVersion")),
            remedy=f"Known are {' and '.join(DGD_API_VERSIONS)}",
        )
    metadata = data.get("metadata")
    if not isinstance(metadata, Mapping):
        raise InputError("must be a mapping", where=where, field="metadata", found=shown(metadata))
    name = metadata.get("name")
    if not isinstance(name, str) or not name:
        raise InputError("a name is needed", where=where, field="metadata.name", found=shown(name))
    namespace = metadata.get("namespace")
    if namespace is not None and not isinstance(namespace, str):
        raise InputError("must be text", where=where, field="metadata.namespace", found=shown(namespace))
    for key in ("labels", "annotations"):
        _check_string_map(metadata.get(key), where, f"metadata.{key}")
    spec = data.get("spec")
    if spec is not None and not isinstance(spec, Mapping):
        raise InputError("must be a mapping", where=where, field="spec", found=shown(spec))


def _check_string_map(value: object, where: str, field: str) -> None:
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise InputError("must be a mapping of text to text", where=where, field=field, found=shown(value))
    for key, text in value.items():
        if text is not None and not isinstance(text, str):
            raise InputError(
                "must be text", where=where, field=f"{field}[{key}]", found=shown(text), remedy="Put it in quotes"
            )


def check_names(document: Document, namespace: str = "") -> str:
    """Check the names that the API server would check, and return the namespace that counts.

    ``namespace`` is the one asked for; it must agree with ``metadata.namespace`` where both are given, as for kubectl.
    """
    where = document.place
    if not is_subdomain(document.name):
        raise InputError(
            "not a Kubernetes object name: lower-case letters, digits, - and . are allowed",
            where=where,
            field="metadata.name",
            found=shown(document.name),
        )
    own = document.namespace
    if own and namespace and own != namespace:
        raise InputError(
            f"the manifest's namespace is not {namespace}, the one asked for",
            where=where,
            field="metadata.namespace",
            found=shown(own),
            remedy="Leave the namespace out of the manifest, or ask for the same one",
        )
    chosen = own or namespace or "default"
    if not is_label(chosen):
        raise InputError(
            "not a namespace name: lower-case letters, digits and - are allowed",
            where=where if own else "",
            field="metadata.namespace" if own else "namespace",
            found=shown(chosen),
        )
    return chosen


def is_label(text: str) -> bool:
    """Whether ``text`` is a DNS label (RFC 1123), as names of namespaces and Services must be."""
    return len(text) <= _MAX_LABEL and _LABEL.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """Whether ``text`` is a DNS subdomain (RFC 1123), as most object names must be."""
    return len(text) <= _MAX_SUBDOMAIN and all(_LABEL.fullmatch(part) for part in text.split("."))


def support_documents(documents: Iterable[Document], kinds: Iterable[str] = ()) -> tuple[Document, ...]:
    """Return the documents that are no DGDs, only of ``kinds`` where these are given."""
    wanted = frozenset(kinds)
    every = tuple(documents)
    dgds = {document.index for document in dgd_documents(every)}
    return tuple(
        document for document in every if document.index not in dgds and (not wanted or document.kind in wanted)
    )


def _metadata(data: K8sObject) -> Mapping[str, Any]:
    metadata = data.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
