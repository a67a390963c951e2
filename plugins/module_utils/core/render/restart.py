# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restarts: which components' pods carry the restart mark at first sight (rules 9)."""

from __future__ import annotations

from .graph import Graph


def restart_marks(graph: Graph) -> dict[str, str]:
    """Return per component the restart id that its pods carry before any of them got ready.

    A parallel restart marks all; a sequential one, the default, starts with the first in its order.
    """
    restart = graph.spec.get("restart") or {}
    identity = str(restart.get("id") or "")
    if not identity:
        return {}
    strategy = restart.get("strategy") or {}
    everyone = [component.name for component in graph.components]
    if strategy.get("type") == "Parallel":
        return dict.fromkeys(everyone, identity)
    order = strategy.get("order") or sorted(everyone)
    return {order[0]: identity} if order else {}
