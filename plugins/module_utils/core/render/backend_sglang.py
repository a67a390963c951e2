# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SGLang on several nodes (rules 7.2; ``internal/dynamo/backend_sglang.go``)."""

from __future__ import annotations

from typing import Any

from .. import keys
from . import launch
from .node import Node, drop_probes


def update_container(container: dict[str, Any], node: Node) -> None:
    """Tell every node where the leader is and which rank it has; a worker serves nothing, so it has no probes."""
    if not node.multinode or node.deployer is None:
        return
    leader = node.role == "leader"
    rank = "0" if leader else node.deployer.rank
    host = node.deployer.leader(node.component)
    flags = f"--dist-init-addr {host}:{keys.SGLANG_INIT_PORT} --nnodes {node.nodes} --node-rank {rank}"
    launch.inject_flags(container, flags, keys.SGLANG, not leader and node.deployer.rank_needs_shell)
    node.note_launch(container, "7.2-sglang")
    if not leader:
        drop_probes(container, node)
