# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of Dynamo's own types as Go prints them: the struct's field order, and no zero value that is no pointer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .crd import types_of
from .shapes import Kind

_ZERO: tuple[object, ...] = ("", 0, False)


def printed(value: Mapping[str, Any], struct: str, version: str = "v1alpha1") -> dict[str, Any]:
    """Return ``value`` of type ``struct`` in API ``version`` as ``json.Marshal`` would order and trim it."""
    fields = types_of(version, "1.5")[struct]
    result: dict[str, Any] = {}
    for key, known in fields.items():
        if key not in value:
            continue
        item = _item(value[key], known.kind, version)
        if item is not None and (item not in _ZERO or known.kind.pointer or known.kind.always):
            result[key] = item
    for key in value.keys() - fields.keys():
        result[key] = _sorted(value[key])
    return result


def _item(value: Any, kind: Kind, version: str) -> Any:
    if value is None:
        return None
    if kind.form == "list":
        return [_one(item, kind, version) for item in value] or None
    if kind.form == "map":
        return {key: _one(value[key], kind, version) for key in sorted(value)} or None
    return _one(value, kind, version)


def _one(value: Any, kind: Kind, version: str) -> Any:
    if kind.is_struct and isinstance(value, Mapping):
        return printed(value, kind.base, version)
    return _sorted(value)


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
