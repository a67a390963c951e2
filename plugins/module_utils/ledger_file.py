# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger's file: read, and changed atomically by the rules of ``core.ledger``."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from .core.errors import InputError
from .core.ledger import LedgerChange, change_ledger, dump_ledger, parse_ledger
from .store import read_if_there, update_file


def read_ledger(path: str) -> dict[str, Any] | None:
    """Return the ledger of a file, ``None`` where there is none; raise :class:`InputError` where it is no ledger."""
    data = read_if_there(path)
    return None if data is None else _parsed(data, path)


def record(path: str, change: LedgerChange, *, must_exist: bool = False, check_mode: bool = False) -> dict[str, Any]:
    """Change the ledger, or only read it where the change is empty.

    Returns ``changed``, ``ledger``, ``exists``, ``sha256``, ``path`` and ``diff`` as the module deployment_ledger does.
    """
    if not check_mode and not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise InputError("the folder does not exist", where=path)
    if change.empty and not must_exist and read_if_there(path) is None:
        return {"changed": False, "ledger": {}, "exists": False, "sha256": "", "path": path}
    if check_mode or change.empty:
        before = read_if_there(path)
        after = _changed(path, before, change, must_exist)
    else:
        before, after = update_file(path, lambda data: _changed(path, data, change, must_exist))
    return {
        "changed": before != after,
        "ledger": _parsed(after, path),
        "exists": before is not None or not check_mode,
        "sha256": hashlib.sha256(after).hexdigest(),
        "path": path,
        "diff": {
            "before_header": path,
            "after_header": path,
            "before": (before or b"").decode(),
            "after": after.decode(),
        },
    }


def _changed(path: str, before: bytes | None, change: LedgerChange, must_exist: bool) -> bytes:
    """Return the ledger's new content; a change of nothing keeps every byte."""
    if before is None and must_exist:
        raise InputError("no such ledger", where=path)
    ledger = None if before is None else _parsed(before, path)
    after = change_ledger(ledger, change, path)
    return before if before is not None and after == ledger else dump_ledger(after).encode()


def _parsed(data: bytes, path: str) -> dict[str, Any]:
    try:
        return parse_ledger(data.decode(), path)
    except UnicodeDecodeError as error:
        raise InputError("not a ledger: no UTF-8 text", where=path) from error
