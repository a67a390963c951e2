# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is found about one pod or one controller, before equal findings are put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .categories import CATEGORIES, Way


@dataclass(frozen=True)
class Verdict:
    """One judgement. Verdicts of the same ``category`` and ``key`` have one root cause.

    ``per_component`` keeps the components apart (each has its own process that crashes); ``since`` is when it began,
    in seconds, 0 where unknown; ``detail`` is what belongs to the category.
    """

    category: str
    message: str
    evidence: tuple[str, ...] = ()
    key: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    way: Way | None = None
    remedy: str = ""
    per_component: bool = False
    since: float = 0.0

    @property
    def effective_way(self) -> Way:
        """What to do: the category's usual way unless more is known."""
        return self.way or CATEGORIES[self.category].way

    def noting(self, *lines: str, **detail: Any) -> Verdict:
        """Return the verdict with more evidence and details."""
        return replace(self, evidence=(*self.evidence, *lines), detail={**self.detail, **detail})


#: From the least to the most telling, where several containers or pods of one component differ: what is certain and
#: specific outranks what is general.
_ORDER = (
    "ready",
    "model_loading",
    "unknown",
    "gang",
    "insufficient_resource",
    "scheduling_gated",
    "rollout_stuck",
    "operator_error",
    "node_lost",
    "evicted",
    "node_admission",
    "probe_failure",
    "crash_loop",
    "oom",
)
_SEVERITY = {name: position for position, name in enumerate(_ORDER)}


def severity(category: str) -> int:
    """Return how telling a category is; categories that are not ordered are the most telling."""
    return _SEVERITY.get(category, len(_ORDER))
