# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a state from a folder of ``kubectl get -o json`` files, so that it can be judged without its cluster."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .core.errors import InputError, shown
from .core.kinds import KINDS
from .core.triage import seconds
from .core.waits import WaitRequest
from .waiting import Clock, FileSource, Progress, appender, run_wait, without_waiting

#: No single dump is larger than this; more is no dump of one namespace.
MAX_BYTES = 256 * 1024 * 1024
#: A file's own time counts as the time of the look only when what it holds is about as new.
FRESH = 600.0
_TIMES = (
    "creationTimestamp",
    "lastTransitionTime",
    "lastUpdateTime",
    "lastTimestamp",
    "eventTime",
    "startedAt",
    "finishedAt",
    "lastHeartbeatTime",
    "lastObservedTime",
)


@dataclass(frozen=True)
class Dump:
    """What a folder holds. ``taken_at`` is when it was read from the cluster, as well as the files tell."""

    objects: dict[str, tuple[dict[str, Any], ...]]
    logs: dict[str, str]
    taken_at: float


def read_dumps(folder: str) -> Dump:
    """Read every ``*.json`` (a List or one object) and ``*.log`` below ``folder``; raise :class:`InputError`."""
    root = Path(folder)
    if not root.is_dir():
        raise InputError("no such folder", where=folder, field="dumps", remedy="Give the folder with the kubectl files")
    objects: dict[str, dict[tuple[str, str, str], dict[str, Any]]] = defaultdict(dict)
    newest, written = 0.0, 0.0
    files = sorted(root.rglob("*.json"))
    if not files:
        raise InputError("no .json file in the folder", where=folder, field="dumps")
    for path in files:
        written = max(written, path.stat().st_mtime)
        for obj in _objects(path):
            kind, metadata = str(obj.get("kind") or ""), obj.get("metadata") or {}
            plural = KINDS[kind].plural if kind in KINDS else kind.lower() + "s"
            key = (
                str(metadata.get("namespace") or ""),
                str(metadata.get("name") or ""),
                str(metadata.get("uid") or ""),
            )
            objects[plural][key] = obj
            newest = max(newest, _newest(obj))
    logs = {path.stem: path.read_text(encoding="utf-8", errors="replace") for path in sorted(root.rglob("*.log"))}
    taken = written if newest <= written <= newest + FRESH else newest or written
    return Dump({plural: tuple(found.values()) for plural, found in objects.items()}, logs, taken)


def judge_files(folder: str, request: WaitRequest, clock: Clock) -> dict[str, Any]:
    """Judge what was written to files, which a person may have edited."""
    dump = read_dumps(folder)
    request = without_waiting(request)
    source = FileSource(dump.objects, dump.logs, dump.taken_at, request)
    try:
        return run_wait(request, source, clock, Progress(appender(None)))
    except (AttributeError, KeyError, TypeError) as error:
        raise InputError("an object is not shaped as the API serves it", where=folder, found=str(error)) from error


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    if path.stat().st_size > MAX_BYTES:
        raise InputError("too large for a dump", where=str(path), field="dumps")
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"not JSON: {error}", where=str(path), remedy="Write it with kubectl get KIND -o json"
        ) from None
    if not isinstance(data, dict):
        raise InputError("must be a Kubernetes object or a List", where=str(path), found=shown(data))
    if not str(data.get("kind") or "").endswith("List"):
        yield data
        return
    kind = str(data["kind"]).removesuffix("List")
    for item in data.get("items") or ():
        if not isinstance(item, dict):
            raise InputError("an item of the list is no object", where=str(path), found=shown(item))
        if kind:
            item.setdefault("kind", kind)
        yield item


def _newest(value: Any, depth: int = 0) -> float:
    if depth > 8:
        return 0.0
    if isinstance(value, list):
        return max((_newest(item, depth + 1) for item in value), default=0.0)
    if not isinstance(value, dict):
        return 0.0
    found = [seconds(value[key]) for key in _TIMES if isinstance(value.get(key), str)]
    found += [_newest(item, depth + 1) for item in value.values() if isinstance(item, (dict, list))]
    return max(found, default=0.0)
