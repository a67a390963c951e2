# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether pods fit on a cluster, as kube-scheduler 1.34 to 1.36 would see it, and why not."""

from __future__ import annotations

from .judge import KINDS, judge_fit
from .report import REASONS, FitReport, FitRequest

__all__ = ["KINDS", "REASONS", "FitReport", "FitRequest", "judge_fit"]
