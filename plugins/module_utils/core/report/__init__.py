# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a plan or a deployment: one page that stands for itself, as HTML and as Markdown, and as data."""

from __future__ import annotations

from .data import Report, read_report
from .html import to_html
from .markdown import to_markdown
from .plan import plan_of

__all__ = ["Report", "plan_of", "read_report", "to_html", "to_markdown"]
