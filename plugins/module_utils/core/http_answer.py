# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An HTTP answer as data, what its body is, and which request headers must never be repeated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .errors import InputError, shown

#: More of an answer is not read: a smoke test's answer is some kilobytes.
MAX_BODY = 4 * 1024 * 1024
#: Deeper than this no answer is nested; what is would only break whoever reads the artifact.
MAX_DEPTH = 100

_SECRET_HEADER = re.compile(r"auth|cookie|token|secret|passw|credential|api-?_?key|session|signature", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: The largest double.
_LARGEST = 1.7976931348623157e308
_HIDDEN = "(hidden)"
_EVENT = re.compile(rb"\A\s*(?::[^\n]*\n\s*)*(?:data|event|id|retry):")
_HTML = re.compile(rb"\A\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)


@dataclass(frozen=True)
class HttpAnswer:
    """One HTTP answer. ``status`` 0 means none came, and ``error`` says why; ``timed_out`` tells a bound from a break.

    ``headers`` have lower-case names. ``cut`` marks a body that is not whole, ``large`` one beyond :data:`MAX_BODY`.
    """

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    timed_out: bool = False
    cut: bool = False
    large: bool = False

    @property
    def ok(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    @property
    def is_html(self) -> bool:
        """Whether the body is an HTML page, by how it begins or by its type; JSON under a wrong type is JSON."""
        if _HTML.match(self.body):
            return True
        return "text/html" in self.headers.get("content-type", "").lower() and not self._begins_json

    @property
    def is_stream(self) -> bool:
        """Whether the body is a stream of server-sent events, by how it begins or by its type."""
        if _EVENT.match(self.body):
            return True
        return "text/event-stream" in self.headers.get("content-type", "").lower() and not self._begins_json

    @property
    def _begins_json(self) -> bool:
        return self.body.lstrip()[:1] in (b"{", b"[")

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """Return the body's JSON (RFC 8259: no ``NaN``); raise ``ValueError`` where it is none."""
        try:
            return _storable(json.loads(self.body, parse_constant=_no_constant, parse_float=_number))
        except RecursionError as error:
            raise ValueError("nested too deep") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _number(text: str) -> float:
    """Return a number; one that is too large becomes the largest, as no JSON can hold an infinity."""
    return max(-_LARGEST, min(_LARGEST, float(text)))


def _storable(value: Any, depth: int = 0) -> Any:
    """Return parsed JSON without halves of surrogate pairs, which no file in UTF-8 can hold."""
    if depth > MAX_DEPTH:
        raise ValueError("nested too deep")
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_storable(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_storable(key): _storable(item, depth + 1) for key, item in value.items()}
    return value


def is_secret(name: str) -> bool:
    """Whether a request header of that name carries a credential."""
    return _SECRET_HEADER.search(name) is not None


def secret_values(headers: Mapping[Any, Any]) -> tuple[str, ...]:
    """Return the credentials among request headers, longest first: whole values, and what follows a scheme's name."""
    values = {str(value).strip() for name, value in headers.items() if is_secret(str(name))}
    parts = {part for value in values for part in value.split()}
    # What is short is a scheme's name or a placeholder, and to blank it would spoil the answer.
    return tuple(sorted((text for text in values | parts if len(text) >= 8), key=lambda text: (-len(text), text)))


def without_secrets(answer: HttpAnswer, headers: Mapping[str, str]) -> HttpAnswer:
    """Return the answer without the request's credentials, which a server may repeat in an error or a redirection."""
    body, error, known = answer.body, answer.error, dict(answer.headers)
    for secret in secret_values(headers):
        for spelt in (secret, json.dumps(secret)[1:-1]):
            body = body.replace(spelt.encode("utf-8", "replace"), _HIDDEN.encode())
            error = error.replace(spelt, _HIDDEN)
            known = {name: value.replace(spelt, _HIDDEN) for name, value in known.items()}
    return replace(answer, body=body, error=error, headers=known)


def check_headers(headers: Mapping[Any, Any]) -> dict[str, str]:
    """Return request headers as text; raise :class:`InputError`, which never shows a value, for one that is none."""
    made: dict[str, str] = {}
    for name, value in headers.items():
        text = str(value).strip() if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None
        if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name):
            raise InputError("not a header's name", field="headers", found=shown(name))
        if text is None or not text.isascii() or not text.isprintable():
            raise InputError(
                "the value of a header must be one line of printable ASCII text",
                field=f"headers.{name}",
                remedy="Give it as text in quotes, without a line break",
            )
        made[name] = text
    return made


def stream_events(text: str) -> Iterator[tuple[str, Any]]:
    """Return a stream's events as (name, data); data is parsed where it is JSON. Source: WHATWG server-sent events."""
    name = ""
    lines: list[str] = []
    for line in [*re.split(r"\r\n|\n|\r", text), ""]:
        if not line:
            if lines:
                yield name, _parsed("\n".join(lines))
            name, lines = "", []
        elif not line.startswith(":"):
            key, _unused, value = line.partition(":")
            value = value.removeprefix(" ")
            if key == "data":
                lines.append(value)
            elif key == "event":
                name = value


def _parsed(text: str) -> Any:
    try:
        return _storable(json.loads(text, parse_constant=_no_constant, parse_float=_number))
    except (ValueError, RecursionError):
        return text
