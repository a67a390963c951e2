# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checkpoint variables of the document ``operator-defaults``, which no release knows (rules 13, row 24)."""

from __future__ import annotations

from typing import Any

from .graph import Component, Graph
from .identity import identity_hash
from .merge import env_var


def documented_env(graph: Graph, component: Component) -> list[dict[str, Any]]:
    """Return the variables of a component with a checkpoint: where it lies and by which hash it is found.

    The document gives no value for the variable that skips the wait; ``1`` stands for "set".
    """
    checkpoint = (component.spec.get("experimental") or {}).get("checkpoint") or {}
    if not checkpoint.get("enabled"):
        return []
    digest = str(checkpoint.get("checkpointRef") or identity_hash(checkpoint.get("identity") or {}))
    variables = [env_var("DYN_CHECKPOINT_HASH", digest), env_var("SKIP_WAIT_FOR_CHECKPOINT", "1")]
    if graph.config.checkpoint.path:
        variables.append(env_var("DYN_CHECKPOINT_PATH", graph.config.checkpoint.path))
    return variables
