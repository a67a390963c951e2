# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML texts as the operator's YAML library writes them: keys sorted, lists not indented, block style."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_AMBIGUOUS = frozenset(
    {"", "~", "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE", "y", "Y", "yes", "Yes", "YES"}
    | {"on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off", "OFF", "<<", "=", ".nan", ".NaN", ".NAN"}
    | {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"}
)
_NUMBER = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?0[xX][0-9a-fA-F_]+|[-+]?0[bB][01_]+|[-+]?0[oO]?[0-7_]+"
    r"|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|[-+]?[0-9][0-9_]*"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")
_FIRST_FORBIDDEN = frozenset("#,[]{}&*!|>'\"%@`")


def to_yaml(value: Any) -> str:
    """Return ``value`` as YAML text that ends with a newline."""
    lines = _lines(value, 0)
    return "\n".join(lines) + "\n"


def _lines(value: Any, depth: int) -> list[str]:
    pad = " " * depth
    if isinstance(value, Mapping) and value:
        return [
            line for key in sorted(value) for line in _entry(pad + _scalar(str(key), depth) + ":", value[key], depth)
        ]
    if isinstance(value, list) and value:
        lines = []
        for item in value:
            first, *rest = _lines(item, depth + 2)
            lines += [f"{pad}- {first[depth + 2 :]}", *rest]
        return lines
    return [pad + _scalar(value, depth)]


def _entry(head: str, value: Any, depth: int) -> list[str]:
    if isinstance(value, Mapping) and value:
        return [head, *_lines(value, depth + 2)]
    if isinstance(value, list) and value:
        return [head, *_lines(value, depth)]
    return [f"{head} {_scalar(value, depth)}"]


def _scalar(value: Any, depth: int) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list):
        return "[]"
    return _string(str(value), depth)


def _string(text: str, depth: int) -> str:
    if text in _AMBIGUOUS or _NUMBER.fullmatch(text) or _DATE.fullmatch(text):
        return f'"{text}"'
    if "\n" in text:
        return _literal(text, depth)
    if any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in text):
        return _double_quoted(text)
    return text if _plain_allowed(text) else "'" + text.replace("'", "''") + "'"


def _plain_allowed(text: str) -> bool:
    if text != text.strip() or text[0] in _FIRST_FORBIDDEN or text.startswith(("---", "...")):
        return False
    if text[0] in "-?:" and (len(text) == 1 or text[1] == " "):
        return False
    return ": " not in text and " #" not in text and not text.endswith(":")


def _literal(text: str, depth: int) -> str:
    body = text.rstrip("\n")
    tail = len(text) - len(body)
    chomp = "-" if tail == 0 else "" if tail == 1 else "+"
    pad = " " * (depth + 2)
    lines = [pad + line if line else "" for line in body.split("\n")] + [""] * max(0, tail - 1)
    return "\n".join([f"|{chomp}", *lines])


def _double_quoted(text: str) -> str:
    named = {"\t": "\\t", "\r": "\\r", "\\": "\\\\", '"': '\\"', "\0": "\\0"}
    return (
        '"' + "".join(named.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 0x20 else char) for char in text) + '"'
    )
