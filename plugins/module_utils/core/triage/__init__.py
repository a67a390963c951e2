# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why is it not running, and what to do: from what a cluster holds to one finding a root cause.

``triage(state)`` judges a DGD; nothing is read here, so the same judgement runs live, on each watch event, and from
files. ``messages.parse`` reads schedulers' texts by itself (filter ``scheduling_triage``).
"""

from __future__ import annotations

from .categories import CATEGORIES, REASONS, Category, Way
from .messages import Blocker, SchedulerMessage, parse
from .report import Affected, Cause, ComponentView, TriageReport, triage, triage_pods
from .state import ClusterState, from_dumps, seconds

__all__ = [
    "CATEGORIES",
    "REASONS",
    "Affected",
    "Blocker",
    "Category",
    "Cause",
    "ClusterState",
    "ComponentView",
    "SchedulerMessage",
    "TriageReport",
    "Way",
    "from_dumps",
    "parse",
    "seconds",
    "triage",
    "triage_pods",
]
