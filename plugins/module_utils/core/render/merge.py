# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator's merge of user values over defaults (rules 2.3 and 2.4).

The operator merges Go structs with a library that takes a zero value for "not set": a user's zero, false or empty
list never overrides, lists replace each other whole, maps are united, structs are merged field by field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .shapes import SHAPES, Kind, plain

EnvVar = Mapping[str, Any]


def merge(base: dict[str, Any], user: Mapping[str, Any], struct: str) -> dict[str, Any]:
    """Merge ``user`` over ``base`` in place, both normalised values of ``struct``, and return ``base``."""
    shape = SHAPES[struct]
    for key, value in user.items():
        kind = shape.get(key)
        if kind is None:
            base[key] = plain(value)
        else:
            _field(base, key, value, kind)
    return base


def _field(base: dict[str, Any], key: str, value: Any, kind: Kind) -> None:
    if kind.form == "list":
        if value:
            base[key] = plain(value)
    elif kind.form == "map":
        if value:
            base[key] = {**base.get(key, {}), **value}
    elif key not in base:
        base[key] = plain(value)
    elif kind.is_struct:
        merge(base[key], value, kind.base)
    elif kind.base == "x":
        base[key] = _int_or_string(base[key], value)
    elif value not in ("", 0, False):
        base[key] = plain(value)


def _int_or_string(base: int | str, user: int | str) -> int | str:
    """Merge a number-or-string: its type "number" is the zero one, so a number never replaces a name."""
    if isinstance(user, str):
        return user or base
    return base if isinstance(base, str) else (user or base)


def merge_env(base: Iterable[EnvVar], user: Iterable[EnvVar]) -> list[dict[str, Any]]:
    """Unite two lists of variables by name, the user's whole entry winning, sorted by name in byte order."""
    named = {item.get("name", ""): item for item in base}
    named.update((item.get("name", ""), item) for item in user)
    return [dict(named[name]) for name in sorted(named, key=lambda text: str(text).encode())]


def env_var(name: str, value: str) -> dict[str, Any]:
    """Return a variable as Go prints it: an empty value is left out."""
    return {"name": name, "value": value} if value else {"name": name}


def env_field(name: str, path: str) -> dict[str, Any]:
    """Return a variable that takes its value from a field of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def with_missing(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """Return ``first`` and those keys of ``second`` that it lacks."""
    return {**second, **first}
