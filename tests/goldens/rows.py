# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every part of the golden tests yields: one row a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["equal", "different", "not supported"]
STATUSES: tuple[Status, ...] = ("equal", "different", "not supported")


@dataclass(frozen=True)
class Row:
    """One comparison: ``group`` is its line in the table, ``detail`` the first difference."""

    group: str
    name: str
    status: Status
    detail: str = ""
