# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what the topology filters take: rendered objects and a snapshot, as Ansible hands them over."""

from __future__ import annotations

from typing import Any

from .core.errors import InputError
from .core.triage.state import ClusterState, from_snapshot
from .plain import to_plain


def rendered_and_live(objects: object, snapshot: object, name: object, where: str) -> tuple[list[Any], ClusterState]:
    """Return the rendered objects and the state of the DGD ``name``; raise :class:`InputError` for anything else."""
    rendered, state = to_plain(objects, f"{where}: objects"), to_plain(snapshot, f"{where}: snapshot")
    if not isinstance(rendered, list) or not isinstance(state, dict):
        raise InputError("expected rendered objects and a snapshot", where=where)
    return rendered, from_snapshot(state, str(name), where)
