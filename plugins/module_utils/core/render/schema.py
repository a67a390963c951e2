# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API server's part of admission: types, unknown fields, defaults, and the limits of the CRD.

:func:`decode` finds values of a wrong type, :func:`clean` gives the object as the API server keeps it (unknown fields
pruned and listed, defaults filled in, nulls and Go's zero values gone, as after the mutating webhook's answer),
:func:`validate` finds what the CRD refuses. The fields and limits are data (:mod:`.crd`), the CRD's own rules over
several fields are in :mod:`.crd_rules`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ..errors import InputError, shown
from ..quantity import canonical, parse_quantity
from .api import Rejection, Stage
from .crd import PATTERNS, Field, structs_of
from .crd_rules import crd_rules
from .shapes import Kind, plain

_TOP_LEVEL = ("apiVersion", "kind", "metadata", "spec", "status")
_METADATA = (
    *("name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences", "uid"),
    *("resourceVersion", "generation", "selfLink", "creationTimestamp", "deletionTimestamp"),
    *("deletionGracePeriodSeconds", "managedFields"),
)
_STATUS = (
    *("observedGeneration", "state", "conditions", "services", "components", "restart", "checkpoints"),
    *("rollingUpdate", "placement"),
)
_INT32 = (-(2**31), 2**31 - 1)
_INT64 = (-(2**63), 2**63 - 1)
#: Fields of ``core/v1`` that hold 64 bits.
_LONG = frozenset(
    {"terminationGracePeriodSeconds", "activeDeadlineSeconds", "tolerationSeconds", "runAsUser", "runAsGroup"}
    | {"fsGroup", "supplementalGroups", "expirationSeconds", "seconds"}
)
_NAMES = {"s": "text", "i": "a whole number", "n": "a number", "b": "true or false", "x": "a number or text"}
_COMPONENT = re.compile(r"spec\.(?:services\[([^\]]*)\]|components\[(\d+)\])")


def version_of(definition: Mapping[str, Any]) -> str:
    """Return ``v1alpha1`` or ``v1beta1``."""
    return str(definition.get("apiVersion", "")).partition("/")[2]


def rejection(stage: Stage, rule: str, field: str, message: str, definition: Mapping[str, Any]) -> Rejection:
    """Make a refusal; the component's name is found from the field's path."""
    return Rejection(stage, rule, message, field, component_at(field, definition))


def component_at(field: str, definition: Mapping[str, Any]) -> str:
    """Return the name of the component that a field's path lies in, or an empty string."""
    match = _COMPONENT.match(field)
    if match is None:
        return ""
    if match[1] is not None:
        return match[1]
    spec = definition.get("spec")
    components = spec.get("components") if isinstance(spec, Mapping) else None
    index = int(match[2])
    if isinstance(components, Sequence) and index < len(components) and isinstance(components[index], Mapping):
        return str(components[index].get("name") or "")
    return ""


def decode(definition: Mapping[str, Any], release: str) -> tuple[Rejection, ...]:
    """Return the values whose type is not the field's; the object cannot be read then."""
    walk = _Decode(release, definition)
    return tuple(rejection("decode", rule, path, message, definition) for rule, path, message in walk.errors())


def clean(definition: Mapping[str, Any], release: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the object as it is kept, and the paths of the fields that are not."""
    walk = _Clean(release, version_of(definition))
    kept = walk.document(definition)
    return kept, tuple(sorted(walk.unknown))


def validate(definition: Mapping[str, Any], release: str) -> tuple[Rejection, ...]:
    """Return what the CRD refuses in a cleaned object: first field by field, and if all hold, its rules."""
    walk = _Validate(release, version_of(definition))
    found = list(walk.errors(definition.get("spec") or {}))
    if not found:
        found = list(crd_rules(definition, release))
    return tuple(rejection("crd-schema", rule, path, message, definition) for rule, path, message in found)


Problem = tuple[str, str, str]


class _Decode:
    """Finds wrong types the way Go's decoder does: null fits everywhere, unknown fields are not looked at."""

    def __init__(self, release: str, definition: Mapping[str, Any]) -> None:
        self.types = structs_of(version_of(definition), release)
        self.definition = definition

    def errors(self) -> Iterator[Problem]:
        metadata = self.definition.get("metadata")
        if isinstance(metadata, Mapping):
            for key in ("labels", "annotations"):
                yield from self._value(metadata.get(key), Kind("s", "map"), f"metadata.{key}", key)
        yield from self._value(self.definition.get("spec"), Kind("DGDSpec", pointer=True), "spec", "spec")

    def _value(self, value: Any, kind: Kind, path: str, name: str) -> Iterator[Problem]:
        if value is None:
            return
        if kind.form == "list":
            if not isinstance(value, Sequence) or isinstance(value, str):
                yield _mismatch(path, "a list", value)
                return
            for index, item in enumerate(value):
                yield from self._one(item, kind, f"{path}[{index}]", name)
        elif kind.form == "map":
            if not isinstance(value, Mapping):
                yield _mismatch(path, "a mapping", value)
                return
            for key, item in value.items():
                yield from self._one(item, kind, f"{path}[{key}]", name)
        else:
            yield from self._one(value, kind, path, name)

    def _one(self, value: Any, kind: Kind, path: str, name: str) -> Iterator[Problem]:
        if value is None or kind.base == "any":
            return
        if not kind.is_struct:
            yield from _scalar(value, kind.base, path, name)
            return
        if not isinstance(value, Mapping):
            yield _mismatch(path, "a mapping", value)
            return
        fields = self.types[kind.base].fields
        for key, item in value.items():
            if item is not None and key in fields:
                field = fields[key]
                wanted = Kind(field.decoded_as, pointer=True) if field.decoded_as else field.kind
                yield from self._value(item, wanted, f"{path}.{key}", key)


def _scalar(value: Any, base: str, path: str, name: str) -> Iterator[Problem]:
    if base == "q":
        number = isinstance(value, (str, int, float)) and not isinstance(value, bool)
        problem = _quantity_problem(str(value)) if number else "not a resource quantity"
        if problem:
            yield "bad_quantity", path, f"{problem}, found {shown(value)}"
        return
    if not _fits(value, base):
        yield _mismatch(path, _NAMES[base], value)
        return
    if base in ("i", "x") and not isinstance(value, str):
        low, high = _INT64 if name in _LONG else _INT32
        if not low <= value <= high:
            yield "number_out_of_range", path, f"a number between {low} and {high} is needed, found {shown(value)}"


def _fits(value: Any, base: str) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if base == "s":
        return isinstance(value, str)
    if base == "b":
        return isinstance(value, bool)
    if base == "n":
        return number
    whole = number and value == int(value)
    return whole if base == "i" else whole or isinstance(value, str)


@lru_cache(maxsize=4096)
def _canonical(text: str) -> str:
    return canonical(text)


@lru_cache(maxsize=4096)
def _quantity_problem(text: str) -> str:
    try:
        parse_quantity(text)
    except InputError as error:
        return error.problem
    return ""


def _mismatch(path: str, wanted: str, value: Any) -> Problem:
    hint = "; put it in quotes" if wanted == "text" and isinstance(value, (bool, int, float)) else ""
    return "type_mismatch", path, f"{wanted} is needed, found {shown(value)}{hint}"


class _Clean:
    """Prunes, defaults and normalises; expects what :class:`_Decode` let pass."""

    def __init__(self, release: str, version: str) -> None:
        self.types = structs_of(version, release)
        self.unknown: list[str] = []

    def document(self, definition: Mapping[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key, value in definition.items():
            if key not in _TOP_LEVEL:
                self.unknown.append(key)
            elif key == "spec":
                kept[key] = self._struct(value or {}, "DGDSpec", "spec")
            elif key in ("metadata", "status") and isinstance(value, Mapping):
                kept[key] = self._shallow(value, _METADATA if key == "metadata" else _STATUS, key)
            elif value is not None:
                kept[key] = plain(value)
        kept.setdefault("spec", {})
        return kept

    def _shallow(self, value: Mapping[str, Any], known: Sequence[str], path: str) -> dict[str, Any]:
        if path != "metadata":  # what metadata does not know the API server drops without a word
            self.unknown.extend(f"{path}.{key}" for key in value if key not in known)
        kept = {key: plain(item) for key, item in value.items() if key in known and item is not None}
        for key in ("labels", "annotations"):
            if key in kept:
                kept[key] = {name: text for name, text in kept[key].items() if text is not None}
        return kept

    def _struct(self, value: Mapping[str, Any], name: str, path: str) -> dict[str, Any]:
        known = self.types[name]
        kept: dict[str, Any] = {}
        for key, item in value.items():
            field = known.fields.get(key)
            if field is None:
                self.unknown.append(f"{path}.{key}")
            elif item is not None:
                made = self._value(item, field.kind, f"{path}.{key}")
                if made is not None:
                    kept[key] = made
        for key, filling in known.filled:
            kept.setdefault(key, filling)
        return kept

    def _value(self, item: Any, kind: Kind, path: str) -> Any:
        if kind.form == "list":
            made = [self._one(entry, kind, f"{path}[{index}]") for index, entry in enumerate(item)]
            return made if made or kind.always else None
        if kind.form == "map":
            # A null service is no service, and is refused; a null text is an empty one.
            blank: Any = None if kind.is_struct else ""
            return {
                str(key): blank if entry is None else self._one(entry, kind, f"{path}.{key}")
                for key, entry in item.items()
            } or None
        made = self._one(item, kind, path)
        if kind.is_struct:
            return made if made or kind.pointer or kind.always else None
        return made if kind.pointer or kind.always or made not in ("", 0, False) else None

    def _one(self, item: Any, kind: Kind, path: str) -> Any:
        if kind.is_struct:
            return self._struct(item or {}, kind.base, path)
        if kind.base == "q":
            return _canonical(item if isinstance(item, str) else str(item))
        if kind.base == "any":
            return plain(item)
        if item is None:
            return {"s": "", "b": False}.get(kind.base, 0)
        return int(item) if kind.base in ("i", "x") and not isinstance(item, str) else item


class _Validate:
    """Holds a cleaned spec against the limits of its fields."""

    def __init__(self, release: str, version: str) -> None:
        self.types = structs_of(version, release)

    def errors(self, spec: Mapping[str, Any]) -> Iterator[Problem]:
        yield from self._struct(spec, "DGDSpec", "spec")

    def _struct(self, value: Mapping[str, Any], name: str, path: str) -> Iterator[Problem]:
        known = self.types[name]
        for key, field in known.demanded:
            if key in value:
                continue
            if field.required:
                yield "required", f"{path}.{key}", "must be given"
            elif field.kind.is_struct and field.kind.form == "one":
                yield from self._struct({}, field.kind.base, f"{path}.{key}")
            else:
                # Go prints null for it, which is no list.
                yield "list_missing", f"{path}.{key}", "a list is needed, even an empty one"
        for key, item in value.items():
            yield from self._field(item, known.fields[key], f"{path}.{key}")

    def _field(self, item: Any, field: Field, path: str) -> Iterator[Problem]:
        kind = field.kind
        if kind.form == "one":
            yield from self._limits(item, field, path)
            if kind.is_struct:
                yield from self._struct(item, kind.base, path)
            return
        if field.items is not None and len(item) > field.items:
            yield "too_many", path, f"at most {field.items} entries are allowed, found {len(item)}"
        if kind.form == "list":
            yield from _duplicates(item, field, path)
        for place, entry in _entries(item, path):
            if entry is None:
                yield "null_entry", place, "a mapping is needed, found nothing"
            elif kind.is_struct:
                yield from self._struct(entry, kind.base, place)

    @staticmethod
    def _limits(item: Any, field: Field, path: str) -> Iterator[Problem]:
        if field.minimum is not None and item < field.minimum:
            yield "below_minimum", path, f"at least {field.minimum:g} is needed, found {item}"
        if field.maximum is not None and item > field.maximum:
            yield "above_maximum", path, f"at most {field.maximum:g} is allowed, found {item}"
        if field.enum and item not in field.enum:
            yield "not_allowed", path, f"must be one of {', '.join(field.enum)}, found {shown(item)}"
        if isinstance(item, str):
            if len(item) < field.least or (field.most is not None and len(item) > field.most):
                limits = f"{field.least} to {field.most}" if field.most is not None else f"at least {field.least}"
                yield "bad_length", path, f"{limits} characters are needed, found {shown(item)}"
            elif field.pattern and not PATTERNS[field.pattern].fullmatch(item):
                yield "bad_pattern", path, f"not a valid {_PATTERN_NAMES[field.pattern]}, found {shown(item)}"


_PATTERN_NAMES = {
    "name": "name (letters, digits and - inside)",
    "label": "name (lower-case letters, digits and - inside)",
    "domain": "topology domain (lower-case letters, digits and - inside)",
    "version": "version (MAJOR.MINOR.PATCH)",
    "labelkey": "label key",
}


def _entries(item: Any, path: str) -> Iterator[tuple[str, Any]]:
    pairs = item.items() if isinstance(item, Mapping) else enumerate(item)
    return ((f"{path}[{key}]", entry) for key, entry in pairs)


def _duplicates(items: Sequence[Any], field: Field, path: str) -> Iterator[Problem]:
    if not field.keys and not field.unique:
        return
    seen: set[Any] = set()
    for index, entry in enumerate(items):
        if field.unique:
            key: Any = entry
        else:
            key = tuple(entry.get(name) for name in field.keys) if isinstance(entry, Mapping) else None
        if key in seen:
            told = ", ".join(f"{name} {shown(entry.get(name))}" for name in field.keys) or shown(key)
            yield "duplicate", f"{path}[{index}]", f"{told} stands here a second time"
        seen.add(key)
