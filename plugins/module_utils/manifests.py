# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads manifests: strict YAML (or JSON) files in, plain documents out, or one :class:`InputError`.

Scalars mean what they mean to kubectl (go-yaml through JSON), not what PyYAML makes of them: ``2024-01-01`` and
``22:22`` are texts, ``on`` is a boolean, keys become texts. A key given twice, an unknown tag, an alias that multiplies
its anchor without end, a file too large or too deep is refused; nothing is ever evaluated.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import re
import stat
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .core.dgdview import config_maps_of
from .core.errors import InputError, shown
from .core.manifest import MAX_DEPTH, MAX_VALUES, Document, check_plain, split_documents

try:
    import yaml
except ImportError:
    YAML_IMPORT_ERROR: str | None = traceback.format_exc()
    HAS_YAML = False
else:
    YAML_IMPORT_ERROR = None
    HAS_YAML = True

#: Larger files are refused before they are read. etcd takes 1.5 MiB an object; a recipe has a handful.
MAX_BYTES = 8 * 1024 * 1024

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_TRUES = frozenset(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"))
_FALSES = frozenset(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"))
_INTEGER = re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|[0-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_TAG = "tag:yaml.org,2002:"
_MERGE = object()


def load_file(path: str) -> tuple[Document, ...]:
    """Return the documents of the file at ``path``; every error names the file."""
    return load_text(read_file(path), path)


def read_file(path: str, limit: int = MAX_BYTES) -> str:
    """Return the text of a regular UTF-8 file of at most ``limit`` bytes."""
    data = read_bytes(path, limit)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text at byte {error.start}", where=path) from error


def read_bytes(path: str, limit: int = MAX_BYTES) -> bytes:
    """Return the content of a regular file of at most ``limit`` bytes."""
    try:
        # Not blocking: a named pipe must give a message, not a wait without end.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise InputError("not a regular file", where=path)
            data = file.read(limit + 1)
    except FileNotFoundError as error:
        raise InputError("no such file", where=path) from error
    except IsADirectoryError as error:
        raise InputError("a folder, not a file", where=path) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read: {reason}", where=path) from error
    if len(data) > limit:
        raise InputError(f"larger than {limit} bytes", where=path)
    return data


def sha256_of_file(path: str) -> str:
    """Return the file's SHA-256 in lower-case hexadecimal."""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def load_text(text: str, where: str) -> tuple[Document, ...]:
    """Return the documents in ``text``, YAML or JSON."""
    if len(text) > MAX_BYTES:
        raise InputError(f"larger than {MAX_BYTES} characters", where=where)
    values = _load_json(text, where) if text.lstrip()[:1] in ("{", "[") else None
    if values is None:
        values = load_yaml(text, where)
    return split_documents(values, where)


def load_yaml(text: str, where: str) -> list[Any]:
    """Return every YAML document of ``text`` as plain data."""
    if not HAS_YAML:
        raise InputError("PyYAML is needed to read manifests and is not installed", where=where)
    try:
        return list(_Builder(where).documents(yaml.parse(text, Loader=_loader())))
    except yaml.YAMLError as error:
        raise InputError(f"not YAML: {_yaml_problem(error)}", where=where) from error


def config_maps(documents: Iterable[Document]) -> dict[str, dict[str, str]]:
    """Return the data of the ConfigMaps among a manifest's documents, by name.

    A text that is a mapping in YAML, such as an engine's settings, becomes JSON, so that only its meaning counts.
    """
    every = config_maps_of(document.data for document in documents)
    return {name: {key: _as_json(text) for key, text in data.items()} for name, data in every.items()}


def _as_json(text: str) -> str:
    if ":" not in text:
        return text
    try:
        values = load_yaml(text, "settings")
        return json.dumps(values[0]) if len(values) == 1 and isinstance(values[0], dict) else text
    except (InputError, TypeError, ValueError, RecursionError):
        return text


def _loader() -> Any:
    return getattr(yaml, "CSafeLoader", None) or yaml.SafeLoader


def _yaml_problem(error: Exception) -> str:
    problem = " ".join(str(getattr(error, "problem", None) or getattr(error, "reason", None) or error).split())
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    return f"{problem} in line {mark.line + 1}, column {mark.column + 1}" if mark else problem[:200]


def _load_json(text: str, where: str) -> list[Any] | None:
    """Return the one JSON value of ``text``, or nothing where it is no JSON; YAML's flow style begins the same."""
    try:
        value = json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, where), parse_constant=_no_constant)
    except InputError:
        raise
    except ValueError:
        return None
    except RecursionError as error:
        raise InputError(f"nested deeper than {MAX_DEPTH} levels", where=where) from error
    check_plain(value, where)
    return list(value) if isinstance(value, list) else [value]


def _object(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise InputError("key given twice", where=where, field=key)
        made[key] = value
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


@dataclass
class _Frame:
    """A collection that is being read."""

    value: Any
    anchor: str | None
    path: str
    line: int
    before: int
    lines: dict[str, int] = field(default_factory=dict)
    key: Any = None
    has_key: bool = False
    merges: list[Any] = field(default_factory=list)


class _Builder:
    """Builds plain data from parser events without recursion, counting depth and values as it goes."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.count = 0
        self.stack: list[_Frame] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.open_anchors: set[str] = set()

    def documents(self, events: Iterator[Any]) -> Iterator[Any]:
        """Yield the value of each document."""
        root: list[Any] = []
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                self.anchors, root = {}, []
            elif isinstance(event, yaml.DocumentEndEvent):
                yield root[0] if root else None
            elif isinstance(event, yaml.ScalarEvent):
                self._add(root, self._scalar(event), 1, event)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(root, event)
            elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                self._open(event)
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                self._close(root, event)

    def _open(self, event: Any) -> None:
        line = event.start_mark.line + 1
        mapping = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in (None, "!", _TAG + ("map" if mapping else "seq")):
            raise self._error(f"unknown tag {_short_tag(event.tag)}", line)
        if len(self.stack) >= MAX_DEPTH:
            raise self._error(f"nested deeper than {MAX_DEPTH} levels", line)
        frame = _Frame({} if mapping else [], event.anchor, self._path(), line, self.count)
        self.count += 1
        if event.anchor:
            self.open_anchors.add(event.anchor)
        self.stack.append(frame)

    def _close(self, root: list[Any], event: Any) -> None:
        frame = self.stack.pop()
        for merged in frame.merges:
            for key, value in merged.items():
                frame.value.setdefault(key, value)
        size = self.count - frame.before
        if frame.anchor:
            self.open_anchors.discard(frame.anchor)
            self.anchors[frame.anchor] = (frame.value, size)
        self._add(root, frame.value, 0, event)

    def _alias(self, root: list[Any], event: Any) -> None:
        line = event.start_mark.line + 1
        if event.anchor in self.open_anchors:
            raise self._error(f"alias *{shown(event.anchor)[1:-1]} stands inside its own anchor", line)
        if event.anchor not in self.anchors:
            raise self._error(f"alias *{shown(event.anchor)[1:-1]} has no anchor", line)
        value, size = self.anchors[event.anchor]
        self._count(size, line)
        self._add(root, copy.deepcopy(value), 0, event)

    def _add(self, root: list[Any], value: Any, size: int, event: Any) -> None:
        line = event.start_mark.line + 1
        self._count(size, line)
        if size and event.anchor:
            self.anchors[event.anchor] = (value, size)
        if not self.stack:
            root.append(value)
            return
        frame = self.stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif not frame.has_key:
            self._key(frame, value, event, line)
        elif frame.key is _MERGE:
            self._merge(frame, value, line)
        else:
            frame.value[frame.key] = value
            frame.key, frame.has_key = None, False

    def _key(self, frame: _Frame, value: Any, event: Any, line: int) -> None:
        frame.has_key = True
        if value == "<<" and isinstance(event, yaml.ScalarEvent) and event.implicit[0]:
            frame.key = _MERGE
            return
        if value is None or isinstance(value, (dict, list)):
            raise self._error("a key must be text", line, shown(value))
        frame.key = _key_text(value)
        if frame.key in frame.lines:
            raise InputError(
                "key given twice",
                where=self.where,
                field=self._path(),
                found=f"lines {frame.lines[frame.key]} and {line}",
            )
        frame.lines[frame.key] = line

    def _merge(self, frame: _Frame, value: Any, line: int) -> None:
        frame.key, frame.has_key = None, False
        merged = value if isinstance(value, list) else [value]
        if not all(isinstance(item, dict) for item in merged):
            raise self._error("<< merges only mappings", line)
        frame.merges.extend(merged)

    def _scalar(self, event: Any) -> Any:
        line = event.start_mark.line + 1
        text, tag = event.value, event.tag
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise self._error("text that is not valid Unicode", line, shown(text)) from error
        plain = event.implicit[0]
        if tag in (None, "!"):
            value = _resolve(text) if plain and tag is None else text
        elif tag == _TAG + "str":
            value = text
        elif tag in (_TAG + "int", _TAG + "float", _TAG + "bool", _TAG + "null"):
            value = _resolve(text)
            if not _has_tag(value, tag[len(_TAG) :]):
                raise self._error(f"the value does not fit its tag {_short_tag(tag)}", line, shown(text))
        else:
            raise self._error(f"unknown tag {_short_tag(tag)}", line)
        if value is _NO_JSON:
            raise self._error("not a finite number", line, shown(text))
        return value

    def _count(self, size: int, line: int) -> None:
        self.count += size
        if self.count > MAX_VALUES:
            raise self._error(f"more than {MAX_VALUES} values, aliases counted as what they stand for", line)

    def _path(self) -> str:
        if not self.stack:
            return ""
        frame = self.stack[-1]
        if isinstance(frame.value, list):
            return f"{frame.path}[{len(frame.value)}]"
        if not isinstance(frame.key, str):
            return frame.path
        return f"{frame.path}.{frame.key}" if frame.path else frame.key

    def _error(self, problem: str, line: int, found: str = "") -> InputError:
        path = self._path()
        # The end of a path says more than its beginning.
        path = path if len(path) <= 120 else "…" + path[-119:]
        return InputError(f"{problem} in line {line}", where=self.where, field=path, found=found)


_NO_JSON = object()


def is_plain_text(text: str) -> bool:
    """Whether these letters, written without quotes, mean this very text."""
    return bool(_resolve(text) == text)


def _resolve(text: str) -> Any:
    """Return what a plain scalar means to kubectl."""
    if text in _NULLS:
        return None
    if text in _TRUES:
        return True
    if text in _FALSES:
        return False
    if len(text) <= 400 and (text[0] in "+-." or text[0].isdigit()):
        return _number(text)
    return text


def _number(text: str) -> Any:
    if _INTEGER.fullmatch(text):
        whole = _integer(text.replace("_", ""))
        if whole is not None and -(2**63) <= whole < 2**64:
            return whole
    if _FLOAT.fullmatch(text):
        value = float(text)
        return value if abs(value) != float("inf") else text
    return _NO_JSON if _NOT_FINITE.fullmatch(text) else text


def _integer(text: str) -> int | None:
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    bases = {"0b": 2, "0x": 16, "0o": 8}
    base = bases.get(digits[:2], 8 if digits.startswith("0") and len(digits) > 1 else 10)
    try:
        return sign * int(digits[2:] if digits[:2] in bases else digits, base)
    except ValueError:
        return None


def _has_tag(value: Any, tag: str) -> bool:
    kinds: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "null": (type(None),)}
    return isinstance(value, bool) if tag == "bool" else isinstance(value, kinds[tag]) and not isinstance(value, bool)


def _key_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value)


def _short_tag(tag: str) -> str:
    return shown("!!" + tag[len(_TAG) :] if tag.startswith(_TAG) else tag)[1:-1]
