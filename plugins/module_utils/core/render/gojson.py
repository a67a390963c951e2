# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON texts as Go's ``json.Marshal`` writes them."""

from __future__ import annotations

import json
from typing import Any

_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def go_json(value: Any, *, sort_keys: bool = False) -> str:
    """Return ``value`` compact, with the characters escaped that HTML minds. A Go map has its keys sorted."""
    text = json.dumps(value, sort_keys=sort_keys, separators=(",", ":"), ensure_ascii=False)
    for char, escape in _ESCAPED.items():
        text = text.replace(char, escape)
    return text
