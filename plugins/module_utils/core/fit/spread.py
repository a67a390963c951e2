# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The counter behind one topology spread constraint."""

from __future__ import annotations

from .model import Spread
from .selectors import Labels


class SpreadCount:
    """Matching pods in each domain of one constraint, and the least of them."""

    __slots__ = ("_levels", "counts", "domains", "least", "rule")

    def __init__(self, rule: Spread, domains: list[str | None]) -> None:
        self.rule = rule
        #: Per node the domain it counts for, or None where the constraint leaves the node out.
        self.domains = domains
        self.counts: dict[str, int] = dict.fromkeys((one for one in domains if one is not None), 0)
        self._levels: dict[int, int] = {0: len(self.counts)}
        self.least = 0

    def add(self, node: int, change: int) -> None:
        """Count a matching pod on ``node`` in (1) or out (-1)."""
        domain = self.domains[node]
        if domain is None:
            return
        before = self.counts[domain]
        after = before + change
        self.counts[domain] = after
        levels = self._levels
        levels[before] -= 1
        levels[after] = levels.get(after, 0) + 1
        if after < self.least:
            self.least = after
        elif not levels.get(self.least):
            self.least = min(level for level, domains in levels.items() if domains)

    def floor(self) -> int:
        """The scheduler's global minimum: 0 where there are fewer domains than asked for."""
        return self.least if len(self.counts) >= self.rule.min_domains and self.counts else 0

    def allows(self, node_labels: Labels, itself: int) -> bool:
        """Return whether one more pod in the node's domain keeps the skew; ``itself`` is 1 where it counts."""
        count = self.counts.get(node_labels[self.rule.key], 0)
        return count + itself - self.floor() <= self.rule.max_skew
