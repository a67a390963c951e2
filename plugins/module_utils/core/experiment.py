# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster-context entry of an experiment root's ``manifest.yaml``: found, and changed in its one line only."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from .errors import InputError, shown

FILE_NAME = "manifest.yaml"
#: Where the entry may stand, in the order in which it is looked for; the last is what we write where there is none.
ENTRIES = (
    ("cluster", "context"),
    ("cluster", "kube_context"),
    ("kubernetes", "kube_context"),
    ("kubernetes", "context"),
    ("cluster_context",),
    ("kube_context",),
    ("context",),
    ("cluster",),
    ("cluster_context",),
)
#: A value on one line: blank, the scalar (quoted in either way, or plain), a comment, the line's end.
_VALUE = re.compile(r"(\s*)('(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\"|[^#\n\r]*?)(\s+#[^\n\r]*)?(\s*)$")


@dataclass(frozen=True)
class ContextEntry:
    """The entry's dotted path, its present value (empty: none), and the file's new text."""

    path: str
    previous: str
    text: str


def update_context(text: str, data: object, context: str, where: str) -> ContextEntry:
    """Return the text with ``context`` as its entry; ``data`` is what the text means.

    Everything but that one value stays as it is. Raises :class:`InputError` where the file or the entry is of a wrong
    kind, or the entry is not written on a line of its own.
    """
    if data is None:
        data = {}
    if not isinstance(data, Mapping):
        raise InputError("must be a mapping", where=where, found=shown(data))
    path, previous = _find(data, where)
    name = ".".join(path)
    if previous == context:
        return ContextEntry(name, context, text)
    if previous is None:
        ending = "" if not text or text.endswith("\n") else "\n"
        return ContextEntry(name, "", f"{text}{ending}{path[-1]}: {_scalar(context)}\n")
    return ContextEntry(name, previous, _replaced(text, path, context, where))


def _find(data: Mapping[str, object], where: str) -> tuple[tuple[str, ...], str | None]:
    for path in ENTRIES:
        here: object = data
        for part in path:
            here = here.get(part) if isinstance(here, Mapping) else None
        if isinstance(here, str):
            return path, here
        if here is not None and not isinstance(here, Mapping):
            raise InputError("must be text", where=where, field=".".join(path), found=shown(here))
    return ENTRIES[-1], None


def _replaced(text: str, path: tuple[str, ...], context: str, where: str) -> str:
    """Replace the value in the entry's line; a value that is written in any other way than on one line is refused."""
    lines = text.splitlines(keepends=True)
    depth, parent = 0, -1
    for number, line in enumerate(lines):
        match = re.match(r"( *)(['\"]?)([\w.-]+)\2:(?=\s|$)", line)
        if not match or match[3] != path[depth]:
            continue
        indent = len(match[1])
        if (depth == 0) != (indent == 0) or (depth and indent <= parent):
            continue
        if depth < len(path) - 1:
            depth, parent = depth + 1, indent
            continue
        value = re.match(
            r"(\s*)('(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\"|[^#\n\r]*?)(\s+#[^\n\r]*)?(\s*)$", line[match.end() :]
        )
        if value and value[2][:1] not in ("|", ">", "&", "*", "!"):
            changed = f"{line[: match.end()]} {_scalar(context)}{value[3] or ''}{value[4]}"
            return "".join([*lines[:number], changed, *lines[number + 1 :]])
    raise InputError(
        "the entry is not written on a line of its own",
        where=where,
        field=".".join(path),
        remedy=f"Write it as {path[-1]}: {context}",
    )


def _scalar(text: str) -> str:
    """Return the text as a YAML scalar; JSON's quotes are YAML's too."""
    words = ("true", "false", "null", "yes", "no", "on", "off")
    plain = re.fullmatch(r"[A-Za-z][\w@./-]*[\w]", text) is not None and text.lower() not in words
    return text if plain else json.dumps(text)
