# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a Deployment replaces its pods, and how many of them a rolling update leaves (rules 1.4, 1.6)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .. import keys

_DEFAULT = "25%"


def deployment_strategy(annotations: Mapping[str, str]) -> dict[str, Any]:
    """Return a Deployment's strategy; the annotations may choose Recreate or other bounds."""
    if annotations.get(keys.ANNOTATION_DEPLOYMENT_STRATEGY) == "Recreate":
        return {"type": "Recreate"}
    return {
        "type": "RollingUpdate",
        "rollingUpdate": {
            "maxSurge": _bound(annotations.get(keys.ANNOTATION_MAX_SURGE, "")),
            "maxUnavailable": _bound(annotations.get(keys.ANNOTATION_MAX_UNAVAILABLE, "")),
        },
    }


def _bound(text: str) -> int | str:
    if re.fullmatch(r"[+-]?[0-9]{1,9}", text, re.ASCII):
        return int(text)
    return text or _DEFAULT


def _scaled(bound: int | str, total: int, *, up: bool) -> int:
    if isinstance(bound, int):
        return bound
    match = re.fullmatch(r"([0-9]{1,6})%", bound, re.ASCII)
    percent = int(match[1]) if match else int(_DEFAULT[:-1])
    product = percent * total
    return -(-product // 100) if up else product // 100


def first_pass_replicas(desired: int, annotations: Mapping[str, str], ready: int = 0) -> int:
    """Return how many replicas of the new generation a rolling update starts with."""
    surge = _scaled(_bound(annotations.get(keys.ANNOTATION_MAX_SURGE, "")), desired, up=True)
    unavailable = _scaled(_bound(annotations.get(keys.ANNOTATION_MAX_UNAVAILABLE, "")), desired, up=False)
    if surge == 0 and unavailable == 0:
        surge = 1
    old = max(0, desired - ready - unavailable)
    return max(0, min(desired + surge - old, desired))
