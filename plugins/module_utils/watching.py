# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the objects of several kinds up to date by watches: one list and one long watch a kind, however long it takes.

A kind may be added later, and be listed once before it is followed: most waits end well and need few kinds.
A watch that ends is taken up at its last resource version; one that is too old (410) is begun anew with a list; a
connection that breaks, or an API server that restarts, is tried again with growing pauses. While the server gives no
answer one thread asks for all whether it is back, so an outage costs few requests however many kinds are watched.
What was read once stays known: that nothing new is heard is told by :meth:`WatchSet.outage`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .core.kinds import KINDS
from .core.readiness import Outage
from .kube import Kube
from .kube_errors import Absent, Asked, Forbidden, Gone, KubeError, Unreachable

#: How long one watch request may last; then it is taken up again. The number of requests grows by one an hour.
WATCH_SECONDS = 3600
#: Pauses between attempts, in seconds: they double up to the last.
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 10.0
#: The longest pause between two questions whether the server is back.
LONGEST_SILENCE = 3.0
#: A server may ask for a longer pause, but not for longer than this.
LONGEST_ASKED = 30.0
#: A server that answers without ever calling itself ready is tried all the same after this time.
UNREADY = 15.0
#: A watch that ends sooner than this and has told nothing is no reason to ask again at once.
QUIET = 2.0
#: What a watch missed comes right after it was taken up again; nothing is concluded before this time has passed.
SETTLING = 1.0
#: What was read and is then refused may be so only for a restarted server's first moments.
REFUSED_FOR = 60.0
#: After so many errors in a row a watch's resource version itself may be what the server cannot serve.
DOUBTED = 3

Trim = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Watched:
    """A kind to watch.

    ``required`` kinds must be readable; the others may be forbidden or not installed. ``may_be_absent`` lets a required
    kind be not installed: none of it exists then.
    """

    kind: str
    api_version: str = ""
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""
    required: bool = False
    may_be_absent: bool = False

    @property
    def plural(self) -> str:
        """The kind's plural, by which its objects are kept."""
        return KINDS[self.kind].plural


@dataclass
class _Store:
    """``error`` is what the last attempt met, None while all is well; ``back_at`` is when that came to an end."""

    watched: Watched
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    state: str = "pending"
    detail: str = ""
    error: KubeError | None = None
    version: str = ""
    followed: bool = False
    running: bool = True
    listed: bool = False
    lost_at: float = 0.0
    back_at: float = -SETTLING
    failures: int = 0


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
        self._gate = threading.Lock()
        self._answered_at = 0.0
        self._unanswered: Unreachable | None = None
        self.restarts = 0

    def start(self, bound: float, *, follow: bool = True, patience: float | None = None) -> None:
        """List every kind of the beginning and watch it, unless it is to be followed only later; see :meth:`add`.

        Raises what a required kind met; nothing can be said without it. A server that gives no answer at all is given
        up after ``patience`` seconds: lists may take long, refused connections do not.
        """
        self.add(self._first, bound, follow=follow, patience=patience)
        with self._changed:
            stores = [store for store in self._stores if store.watched.required and not store.listed]
        for store in stores:
            if store.state != "absent":
                nothing = f"the API server gave no answer within {round(bound)} s"
                raise store.error or Unreachable(nothing, asked=_asked(store.watched))

    def add(
        self, kinds: Iterable[Watched], bound: float, *, follow: bool = False, patience: float | None = None
    ) -> bool:
        """List the kinds that are new, each by its plural, and return whether there was one.

        It returns when all are read, or raises the refusal that a required kind met. What is not read within ``bound``
        goes on being tried.
        """
        with self._changed:
            known = {store.watched.plural for store in self._stores}
            new = [_Store(watched, followed=follow) for watched in kinds if watched.plural not in known]
            self._stores += new
        for store in new:
            self._begin(store)
        patience = bound if patience is None else min(patience, bound)
        with self._changed:
            self._changed.wait_for(lambda: all(store.state != "pending" for store in new), timeout=patience)
            if not any(isinstance(store.error, Unreachable) for store in new):
                left = bound - patience
                self._changed.wait_for(lambda: all(store.state != "pending" for store in new), timeout=left)
        for store in new:
            absent = store.watched.may_be_absent and store.state == "absent"
            if store.watched.required and not absent and store.error is not None and not store.error.retryable:
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

    def outage(self) -> Outage | None:
        """Return what is not heard of any more; None while everything that a judgement rests on is up to date.

        That is each required kind, and every other one that the whole server does not answer for. Raises what a
        required kind meets where it stays refused: a permission that was taken away, or credentials that ended.
        """
        now = time.monotonic()
        with self._changed:
            lost = [store for store in self._stores if store.running and self._is_lost(store, now)]
            if not lost:
                return None
            for store in lost:
                error = store.error if store.watched.required and self._lasts(store, REFUSED_FOR) else None
                if error is not None and not error.retryable:
                    raise error
            silent = now - min(store.lost_at or now for store in lost)
            for store in lost:
                if store.error is not None:
                    # How a connection broke tells less than why there is none now.
                    newer = self._unanswered if isinstance(store.error, Unreachable) else None
                    return Outage(silent, str(newer or store.error))
                if not store.listed:
                    return Outage(silent, f"Could not {_asked(store.watched)}: no answer yet")
            return Outage(silent, "")

    def _is_lost(self, store: _Store, now: float) -> bool:
        """Return whether a judgement may lack what happened to a kind since it was last heard of."""
        if store.watched.required and not store.listed:
            return not (store.watched.may_be_absent and store.state == "absent")
        if store.error is None:
            return store.listed and now - store.back_at < SETTLING
        # Where the server answers others, it is this kind's own trouble.
        silent = self._answered_at <= store.lost_at or now - self._answered_at < SETTLING
        return store.watched.required or (isinstance(store.error, Unreachable) and silent)

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
            anew = not store.version
            try:
                if anew:
                    self._list(store)
                with self._changed:
                    if not store.followed:
                        store.running = False
                        return
                pause = FIRST_PAUSE if self._watch(store) else self._rest(pause)
            except Gone:
                with self._changed:
                    store.version = ""
                    self.restarts += 1
                if anew:  # the version of a list just made is too old: this may go on for a while
                    pause = self._rest(pause)
            except (Absent, Forbidden) as error:
                if self._refused(store, error):
                    return
                pause = self._rest(pause)
            except KubeError as error:
                self._failed(store, error)
                asked_for = min(error.retry_after, LONGEST_ASKED)
                pause = self._await_server(pause) if isinstance(error, Unreachable) else self._rest(pause, asked_for)

    def _rest(self, pause: float, at_least: float = 0.0) -> float:
        """Pause and return the next pause."""
        self._stopped.wait(max(pause, at_least))
        return min(pause * 2, LONGEST_PAUSE)

    def _await_server(self, pause: float) -> float:
        """Wait until the server answers: the first thread here asks, and the others take its answer."""
        failed_at = time.monotonic()
        with self._gate:
            while not self._stopped.is_set() and self._answered_at <= failed_at:
                pause = self._rest(min(pause, LONGEST_SILENCE))
                try:
                    answered = self._kube.serves() or time.monotonic() - failed_at > UNREADY
                    self._unanswered = None
                except Unreachable as error:
                    answered, self._unanswered = not error.retryable, error
                if answered:
                    self._answered_at = time.monotonic()
        return pause

    def _refused(self, store: _Store, error: KubeError) -> bool:
        """Note that a kind is refused or not there; return whether that is final."""
        if store.listed and (store.watched.required or not self._lasts(store, REFUSED_FOR)):
            self._failed(store, error)
            return False
        if isinstance(error, Absent):
            with self._changed:
                store.objects = {}
        self._report(store, "absent" if isinstance(error, Absent) else "forbidden", error)
        return True

    def _lasts(self, store: _Store, bound: float) -> bool:
        return store.error is not None and time.monotonic() - store.lost_at > bound

    def _failed(self, store: _Store, error: KubeError) -> None:
        """Note what an attempt met: what was read stays read; before, what may pass is waited for."""
        self._report(store, "observed" if store.listed else "pending" if error.retryable else "error", error)
        with self._changed:
            self.restarts += 1
            store.failures += 1
            refused = isinstance(error, (Absent, Forbidden))
            if error.status and not refused and store.failures >= DOUBTED:
                store.version, store.failures = "", 0

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
            attempts=1,
        )
        with self._changed:
            store.objects = {_key(obj): obj for obj in listed.items}
            store.version = listed.resource_version
            store.state, store.detail, store.listed = "observed", "", True
            store.error, store.lost_at = None, 0.0  # all of it is new: nothing is still to come
            self._note()

    def _watch(self, store: _Store) -> bool:
        """Follow a kind until the watch ends; return whether it told anything or lasted."""
        watched = store.watched
        trim = self._trim.get(watched.plural)
        began, told = time.monotonic(), False
        for kind, obj in self._kube.watch(
            watched.api_version,
            watched.kind,
            namespace=watched.namespace,
            label_selector=watched.label_selector,
            field_selector=watched.field_selector,
            resource_version=store.version,
            timeout_seconds=WATCH_SECONDS,
            opened=lambda: self._back(store),
        ):
            if self._stopped.is_set():
                return True
            told = True
            self._back(store)
            with self._changed:
                store.version = str((obj.get("metadata") or {}).get("resourceVersion") or store.version)
                if kind == "BOOKMARK":
                    continue
                if kind == "DELETED":
                    store.objects.pop(_key(obj), None)
                else:
                    store.objects[_key(obj)] = trim(obj) if trim else obj
                self._note()
        return told or time.monotonic() - began >= QUIET

    def _back(self, store: _Store) -> None:
        """Note that a kind is heard of again."""
        with self._changed:
            if store.error is None:
                return
            store.error, store.detail, store.failures = None, "", 0
            store.back_at = time.monotonic()
            self._note()

    def _report(self, store: _Store, state: str, error: KubeError) -> None:
        with self._changed:
            news = (store.state, store.detail) != (state, str(error))
            if store.error is None:
                store.lost_at = time.monotonic()
            store.state, store.detail, store.error = state, str(error), error
            if news:
                self._note()

    def _note(self) -> None:
        self._changes += 1
        self._changed.notify_all()


def _asked(watched: Watched) -> Asked:
    return Asked("list", watched.plural, watched.namespace)


def _key(obj: Mapping[str, Any]) -> str:
    metadata = obj.get("metadata") or {}
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
