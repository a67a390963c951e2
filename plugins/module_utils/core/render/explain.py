# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who put a value there: notes taken while a pod is built, settled against what came out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .api import Origin
from .rules import Rule, rule
from .shapes import plain

Path = tuple[str, ...]


@dataclass
class Notes:
    """Notes about one pod spec. A path names list items: ``("containers", "main", "env", "POD_NAME")``.

    Switched off, a note costs one test. ``renamed`` tells under which names a container stands in the end.
    """

    on: bool = False
    entries: list[tuple[Path, Any, str]] = field(default_factory=list)
    renamed: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def note(self, path: Path, value: Any, rule_id: str) -> None:
        """Say that the rule ``rule_id`` puts ``value`` at ``path``; a later note at the same path replaces it."""
        if self.on:  # a copy: what is noted may be merged into later
            self.entries.append((path, plain(value), rule_id))

    def env(self, container: str, variables: list[dict[str, Any]], rule_id: str) -> None:
        """Note injected variables of a container."""
        if self.on:
            self.entries.extend(
                (("containers", container, "env", item["name"]), plain(item), rule_id) for item in variables
            )


@dataclass
class Explanation:
    """All origins of one rendering."""

    release: str
    on: bool = False
    origins: list[Origin] = field(default_factory=list)

    def whole(self, name: str, path: str, value: Any, rule_id: str) -> None:
        """Say that ``rule_id`` made this part of the object ``name`` (``Kind/name``)."""
        if self.on:
            self._add(name, path, value, rule(rule_id))

    def pod(self, name: str, prefix: str, spec: Mapping[str, Any], notes: Notes) -> None:
        """Settle ``notes`` against the finished pod spec: only what still stands as noted was injected."""
        if not self.on:
            return
        latest = {path: (value, rule_id) for path, value, rule_id in notes.entries}
        for path, (value, rule_id) in latest.items():
            for real in _aliases(path, notes.renamed):
                for tail, leaf in _standing(_find(spec, real), value):
                    self._add(name, prefix + _text(real) + tail, leaf, rule(rule_id))

    def pod_metadata(self, name: str, prefix: str, metadata: Mapping[str, Any], user: Mapping[str, Any]) -> None:
        """Say which labels and annotations of a pod template its user did not write."""
        if not self.on:
            return
        for kind in ("labels", "annotations"):
            own = user.get(kind) or {}
            for key, value in (metadata.get(kind) or {}).items():
                if own.get(key) != value:
                    self._add(name, f"{prefix}.{kind}[{key}]", value, rule(f"1.5-{kind}"))

    def _add(self, name: str, path: str, value: Any, made_by: Rule) -> None:
        self.origins.append(
            Origin(name, path, self.release, made_by.id, made_by.source(self.release), made_by.why, value)
        )


def _aliases(path: Path, renamed: Mapping[str, tuple[str, ...]]) -> Iterator[Path]:
    if len(path) > 1 and path[0] == "containers" and path[1] in renamed:
        for name in renamed[path[1]]:
            yield (path[0], name, *path[2:])
    else:
        yield path


def _find(value: Any, path: Path) -> Any:
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list):
            value = next((item for item in value if _label(item) == step), None)
        else:
            return None
    return value


def _label(item: Any) -> str:
    if not isinstance(item, Mapping):
        return str(item)
    return str(item.get("name") or item.get("key") or "")


def _text(path: Path) -> str:
    named = {
        "containers",
        "initContainers",
        "env",
        "volumes",
        "volumeMounts",
        "ports",
        "imagePullSecrets",
        "tolerations",
    }
    text, in_list = "", False
    for step in path:
        text += f"[{step}]" if in_list else f".{step}"
        in_list = step in named and not in_list
    return text


def _standing(found: Any, noted: Any) -> Iterator[tuple[str, Any]]:
    """Yield what of ``noted`` is still there: the whole, or its leaves where a user changed some of them."""
    if found is None:
        return
    if found == noted:
        yield "", noted
    elif isinstance(found, Mapping) and isinstance(noted, Mapping):
        for key, value in noted.items():
            for tail, leaf in _standing(found.get(key), value):
                yield f".{key}{tail}", leaf
