# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns what Ansible hands to a filter into plain data, once, at the boundary.

Since ansible-core 2.19 texts and numbers arrive as tagged subclasses and dictionaries as lazy ones; ``isinstance``
works on them, but YAML dumpers and exact type checks do not.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence, Set
from typing import Any

from .core.errors import InputError, shown
from .core.manifest import MAX_DEPTH


def to_plain(value: object, where: str = "input", _depth: int = 0) -> Any:
    """Return ``value`` as dict, list, str, int, float, bool or None; raise :class:`InputError` for anything else."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, (datetime.datetime, datetime.date)):
        # from_yaml makes dates of texts; Kubernetes knows only the text.
        return value.isoformat()
    if _depth > MAX_DEPTH:
        raise InputError(f"nested deeper than {MAX_DEPTH} levels", where=where)
    if isinstance(value, Mapping):
        return {_key(key, where): to_plain(item, where, _depth + 1) for key, item in value.items()}
    if isinstance(value, Set):
        return sorted((to_plain(item, where, _depth + 1) for item in value), key=str)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [to_plain(item, where, _depth + 1) for item in value]
    if hasattr(value, "encode") and hasattr(value, "splitlines"):
        return str(value)  # a vaulted text acts as str without being one
    raise InputError("a value of a kind that has no plain form", where=where, found=shown(type(value).__name__))


def _key(key: object, where: str) -> str:
    plain = to_plain(key, where)
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, (str, int, float)):
        return str(plain)
    raise InputError("a key must be text", where=where, found=shown(key))
