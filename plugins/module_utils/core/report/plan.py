# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan as data, for programs: what was decided, what was found, and where each pod goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..summary import outcome_of, sorted_findings
from .data import mapping_of

PLAN_SCHEMA = "inference_ops.dynamo/plan/v1"


def plan_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan of the report module's parameters; the fit's verdict is the plan's, where pods were placed."""
    fit = mapping_of(data, "fit")
    findings = data.get("findings") or ()
    return {
        "schema": PLAN_SCHEMA,
        "dgd": str(data.get("title") or ""),
        "facts": dict(mapping_of(data, "facts")),
        "verdict": str(fit.get("verdict") or data.get("verdict") or ""),
        "outcome": outcome_of(findings),
        "findings": sorted_findings(findings),
        "placements": fit.get("placements") or [],
        "unplaced": fit.get("unplaced") or [],
        "holdings": fit.get("holdings") or {},
        "headroom": fit.get("headroom") or [],
        "suggestions": fit.get("suggestions") or [],
    }
