# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the objects of several kinds up to date by watches: one list and one long watch a kind, however long it takes.

A kind may be added later, and be listed once before it is followed: most waits end well and need few kinds.
A watch that ends is taken up at its last resource version; one that is too old (410) is begun anew with a list; a
connection that breaks, or an API server that restarts, is tried again with growing pauses.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .core.kinds import KINDS
from .kube import Kube
from .kube_errors import Absent, Forbidden, Gone, KubeError

#: How long one watch request may last; then it is taken up again. The number of requests grows by one an hour.
WATCH_SECONDS = 3600
#: Pauses between attempts, in seconds: they double up to the last.
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 10.0

Trim = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Watched:
    """A kind to watch. ``required`` kinds must be readable; the others may be forbidden or not installed."""

    kind: str
    api_version: str = ""
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""
    required: bool = False

    @property
    def plural(self) -> str:
        """The kind's plural, by which its objects are kept."""
        return KINDS[self.kind].plural


@dataclass
class _Store:
    watched: Watched
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    state: str = "pending"
    detail: str = ""
    error: KubeError | None = None
    version: str = ""
    followed: bool = False
    running: bool = True


class WatchSet:
    """Several kinds, each read by a thread of its own."""

    def __init__(self, kube: Kube, kinds: Iterable[Watched], trim: Mapping[str, Trim] | None = None) -> None:
        self._kube = kube
        self._first = tuple(kinds)
        self._stores: list[_Store] = []
        self._trim = trim or {}
        self._changed = threading.Condition()
        self._changes = 0
        self._seen = 0
        self._stopped = threading.Event()
        self.restarts = 0

    def start(self, bound: float, *, follow: bool = True) -> None:
        """List every kind of the beginning and watch it, unless it is to be followed only later; see :meth:`add`."""
        self.add(self._first, bound, follow=follow)

    def add(self, kinds: Iterable[Watched], bound: float, *, follow: bool = False) -> bool:
        """List the kinds that are new, each by its plural, and return whether there was one.

        It returns when all are read, or raises what a required kind met. What is not read within ``bound`` goes on
        being tried.
        """
        with self._changed:
            known = {store.watched.plural for store in self._stores}
            new = [_Store(watched, followed=follow) for watched in kinds if watched.plural not in known]
            self._stores += new
        for store in new:
            self._begin(store)
        with self._changed:
            self._changed.wait_for(lambda: all(store.state != "pending" for store in new), timeout=bound)
        for store in new:
            if store.watched.required and store.state != "observed" and store.error is not None:
                raise store.error
        return bool(new)

    def follow(self, but: Collection[str] = ()) -> None:
        """Watch from now on what was only listed, except the plurals in ``but``."""
        with self._changed:
            new = [store for store in self._stores if not store.followed and store.watched.plural not in but]
            ended = [store for store in new if not store.running and store.state not in ("absent", "forbidden")]
            for store in new:
                store.followed = True
            for store in ended:
                store.running = True
        for store in ended:
            self._begin(store)

    def _begin(self, store: _Store) -> None:
        threading.Thread(target=self._run, args=(store,), daemon=True, name=f"watch-{store.watched.plural}").start()

    def stop(self) -> None:
        """Let the threads end at their next event; they are daemons and hold nothing up."""
        self._stopped.set()

    def wait(self, bound: float) -> bool:
        """Wait for a change, at most ``bound`` seconds; return whether there was one."""
        with self._changed:
            changed = self._changed.wait_for(lambda: self._changes != self._seen, timeout=max(0.0, bound))
            self._seen = self._changes
            return changed

    def objects(self) -> dict[str, tuple[dict[str, Any], ...]]:
        """Return the objects by plural, of the kinds that could be read."""
        with self._changed:
            self._seen = self._changes
            found: dict[str, list[dict[str, Any]]] = {}
            for store in self._stores:
                if store.state in ("observed", "absent", "error"):
                    found.setdefault(store.watched.plural, []).extend(store.objects.values())
            return {plural: tuple(objects) for plural, objects in found.items()}

    def kinds(self) -> dict[str, dict[str, str]]:
        """Return for each kind whether it was read."""
        with self._changed:
            return {store.watched.plural: {"state": store.state, "detail": store.detail} for store in self._stores}

    # -- one kind ----------------------------------------------------------------------------------------------------

    def _run(self, store: _Store) -> None:
        pause = FIRST_PAUSE
        while not self._stopped.is_set():
            try:
                if not store.version:
                    self._list(store)
                with self._changed:
                    if not store.followed:
                        store.running = False
                        return
                self._watch(store)
                pause = FIRST_PAUSE
            except Gone:
                with self._changed:
                    store.version = ""
                    self.restarts += 1
            except (Absent, Forbidden) as error:
                self._report(store, "absent" if isinstance(error, Absent) else "forbidden", str(error), error)
                return
            except KubeError as error:
                # A kind that was read stays read; before, what may pass is waited for until the start's bound.
                state = "observed" if store.version else "pending" if error.retryable else "error"
                self._report(store, state, str(error), error)
                with self._changed:
                    self.restarts += 1
                if not error.retryable:
                    store.version = ""
                self._stopped.wait(pause)
                pause = min(pause * 2, LONGEST_PAUSE)

    def _list(self, store: _Store) -> None:
        watched = store.watched
        trim = self._trim.get(watched.plural)
        listed = self._kube.list_all(
            watched.api_version,
            watched.kind,
            namespace=watched.namespace,
            label_selector=watched.label_selector,
            field_selector=watched.field_selector,
            trim=trim,
        )
        with self._changed:
            store.objects = {_key(obj): obj for obj in listed.items}
            store.version = listed.resource_version
            store.state, store.detail, store.error = "observed", "", None
            self._note()

    def _watch(self, store: _Store) -> None:
        watched = store.watched
        trim = self._trim.get(watched.plural)
        for kind, obj in self._kube.watch(
            watched.api_version,
            watched.kind,
            namespace=watched.namespace,
            label_selector=watched.label_selector,
            field_selector=watched.field_selector,
            resource_version=store.version,
            timeout_seconds=WATCH_SECONDS,
        ):
            if self._stopped.is_set():
                return
            with self._changed:
                store.version = str((obj.get("metadata") or {}).get("resourceVersion") or store.version)
                store.detail = ""
                if kind == "BOOKMARK":
                    continue
                if kind == "DELETED":
                    store.objects.pop(_key(obj), None)
                else:
                    store.objects[_key(obj)] = trim(obj) if trim else obj
                self._note()

    def _report(self, store: _Store, state: str, detail: str, error: KubeError) -> None:
        with self._changed:
            store.state, store.detail, store.error = state, detail, error
            self._note()

    def _note(self) -> None:
        self._changes += 1
        self._changed.notify_all()


def _key(obj: Mapping[str, Any]) -> str:
    metadata = obj.get("metadata") or {}
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
