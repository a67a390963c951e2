# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks plain data against the part of JSON Schema (2020-12) that our own schemas use, without any library.

Our files' rules are written once, as such a schema in the core; ``docs/schemas`` holds the same as files, and a module
can check what it writes on any machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from .errors import InputError, shown

Schema = Mapping[str, Any]
#: The keywords that :func:`check` knows; a schema with another one is a mistake of ours and is refused.
KEYWORDS = frozenset(
    (
        "$schema",
        "$id",
        "title",
        "description",
        "type",
        "const",
        "enum",
        "pattern",
        "minimum",
        "minLength",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "uniqueItems",
    )
)
_TYPES: Mapping[str, Callable[[object], bool]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, (list, tuple)),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
_NAMES = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def check(value: object, schema: Schema, where: str, field: str = "") -> None:
    """Raise :class:`InputError` naming the first field that does not hold the schema."""
    unknown = set(schema) - KEYWORDS
    if unknown:
        raise InputError(f"our schema uses unknown keywords {sorted(unknown)}", where=where, field=field)
    _check_type(value, schema, where, field)
    _check_scalar(value, schema, where, field)
    if isinstance(value, Mapping):
        _check_mapping(value, schema, where, field)
    elif isinstance(value, (list, tuple)):
        _check_list(value, schema, where, field)


def _check_type(value: object, schema: Schema, where: str, field: str) -> None:
    kinds = schema.get("type")
    if kinds is None:
        return
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    if not any(_TYPES[kind](value) for kind in kinds):
        wanted = " or ".join(_NAMES[kind] for kind in kinds)
        raise InputError(f"must be {wanted}", where=where, field=field, found=shown(value))


def _check_scalar(value: object, schema: Schema, where: str, field: str) -> None:
    if "const" in schema and not _equal(value, schema["const"]):
        raise InputError(f"must be {schema['const']}", where=where, field=field, found=shown(value))
    if "enum" in schema and not any(_equal(value, choice) for choice in schema["enum"]):
        choices = ", ".join(str(choice) for choice in schema["enum"])
        raise InputError(f"must be one of {choices}", where=where, field=field, found=shown(value))
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            raise InputError("must not be empty", where=where, field=field)
        if "pattern" in schema and not re.search(schema["pattern"], value):
            wanted = schema.get("description", f"text that matches {schema['pattern']}")
            raise InputError(f"must be {wanted}", where=where, field=field, found=shown(value))
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and value < schema.get("minimum", value):
        raise InputError(f"must be at least {schema['minimum']}", where=where, field=field, found=shown(value))


def _equal(value: object, wanted: object) -> bool:
    """Whether both are the same JSON value; Python takes true for 1."""
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def _check_mapping(value: Mapping[str, Any], schema: Schema, where: str, field: str) -> None:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            raise InputError("is missing", where=where, field=_join(field, name))
    more = schema.get("additionalProperties", True)
    for name, item in value.items():
        if name in properties:
            check(item, properties[name], where, _join(field, name))
        elif more is False:
            raise InputError(
                "unknown field", where=where, field=_join(field, name), remedy=f"Known are {', '.join(properties)}"
            )
        elif isinstance(more, Mapping):
            check(item, more, where, _join(field, name))


def _check_list(value: list[Any] | tuple[Any, ...], schema: Schema, where: str, field: str) -> None:
    for number, item in enumerate(value):
        if "items" in schema:
            check(item, schema["items"], where, f"{field}[{number}]")
        if schema.get("uniqueItems") and item in value[:number]:
            raise InputError("stands in the list twice", where=where, field=f"{field}[{number}]", found=shown(item))


def _join(field: str, name: str) -> str:
    return f"{field}.{name}" if field else name
