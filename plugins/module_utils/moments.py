# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clock, in the form in which Kubernetes and the ledger write moments."""

from __future__ import annotations

import time


def moment(seconds: float | None = None) -> str:
    """Return a moment (now, or ``seconds`` since the epoch) as RFC 3339 in UTC, such as ``2026-01-31T12:00:00Z``."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
