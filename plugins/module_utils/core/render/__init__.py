# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the Dynamo operator makes of a DGD, without a cluster: :func:`render`.

The releases are data (``profiles/``), the rules that differ are named switches in them; one pipeline serves all.
"""

from __future__ import annotations

from .api import (
    CheckpointConfig,
    CheckpointState,
    ClusterFacts,
    IngressConfig,
    OperatorConfig,
    Origin,
    Rejection,
    RenderRequest,
    RenderResult,
)
from .config import helm_config
from .operator import render
from .profiles import NEWEST, RELEASES

__all__ = [
    "NEWEST",
    "RELEASES",
    "CheckpointConfig",
    "CheckpointState",
    "ClusterFacts",
    "IngressConfig",
    "OperatorConfig",
    "Origin",
    "Rejection",
    "RenderRequest",
    "RenderResult",
    "helm_config",
    "render",
]
