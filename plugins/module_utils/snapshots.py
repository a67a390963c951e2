# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots as files: written whole or not at all, checked when read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .core.errors import InputError
from .core.snapshot import Snapshot
from .store import read_if_there, write_atomically


def save_snapshot(path: str, data: Mapping[str, Any]) -> bool:
    """Write a snapshot and return whether the file changed."""
    return write_atomically(path, json.dumps(data, sort_keys=True, separators=(",", ":")).encode() + b"\n")


def load_snapshot(path: str) -> Snapshot:
    """Read and check a saved snapshot; raise :class:`InputError` naming the file and what is wrong with it."""
    raw = read_if_there(path)
    if raw is None:
        raise InputError("there is no such file", where=path)
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        position = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"a snapshot must be JSON, and this is not{position}", where=path) from None
    return Snapshot.from_plain(data, path)
