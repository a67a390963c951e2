# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wait as a decision table over watch events: ready, progressing, failed with the cause, or timeout.

Pure: each call takes the newest judgement, what was remembered, and the clock; it returns the decision and the new
memory. A cause ends the wait only when waiting cannot mend it and it has lasted its own grace; a cause that comes and
goes keeps its first time, and readiness counts only when it stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .triage import CATEGORIES, Cause, TriageReport
from .triage.containers import MANY_RESTARTS

WaitState = Literal["ready", "progressing", "failed", "timeout"]
#: Ways in which waiting goes on.
PATIENT = frozenset({"none", "wait", "contention", "investigate"})
#: A cause that was away for this long is over; seen again before, it goes on.
FLAPPING = 60.0
#: Crashes end a wait only after so many restarts: one crash at the start (a service not up yet) is no loop.
CRASHES = frozenset({"crash_loop", "oom", "probe_failure"})
DEFAULT_GRACES: Mapping[str, int] = {
    "unschedulable": 30,
    "never_fits": 30,
    "dependency": 60,
    "image": 90,
    "crash": 120,
    "readiness": 600,
    "operator": 120,
    "other": 120,
}
#: How many reasons a timeout gives.
TOP = 3


@dataclass(frozen=True)
class WaitPolicy:
    """The bounds of a wait, in seconds."""

    timeout: float
    graces: Mapping[str, float] = field(default_factory=dict)
    stable_for: float = 5.0
    progress_interval: float = 10.0

    def grace(self, cause: Cause) -> float:
        """Return how long ``cause`` must last before it ends the wait."""
        name = CATEGORIES[cause.category].grace
        if (
            cause.category == "probe_failure"
            and cause.detail.get("probe") in ("readiness", "startup")
            and not cause.detail.get("restarts")
        ):
            name = "readiness"
        return float(self.graces.get(name, DEFAULT_GRACES.get(name, DEFAULT_GRACES["other"])))


@dataclass(frozen=True)
class Seen:
    """When a cause was first seen, and since when it is gone (None while it is there)."""

    first: float
    gone: float | None = None


@dataclass(frozen=True)
class Outage:
    """A time in which the API server is not heard of: its seconds until now, and what was met.

    ``detail`` is empty where it is heard of again and what was missed is still coming.
    """

    silent: float
    detail: str


@dataclass(frozen=True)
class WaitMemory:
    """What is remembered between events. All times are of the same clock, in seconds.

    ``blind_since`` is when the present outage was first met, None while there is none.
    """

    started: float
    ready_since: float | None = None
    causes: Mapping[tuple[str, str, str], Seen] = field(default_factory=dict)
    component_ready: Mapping[str, float] = field(default_factory=dict)
    blind_since: float | None = None


@dataclass(frozen=True)
class Decision:
    """What is known now. ``look_again`` is in how many seconds the answer may change without an event."""

    state: WaitState
    memory: WaitMemory
    look_again: float
    cause: Cause | None = None

    @property
    def done(self) -> bool:
        """Whether the wait is over."""
        return self.state != "progressing"


def decide(report: TriageReport, memory: WaitMemory, policy: WaitPolicy, now: float) -> Decision:
    """Return the decision on the newest judgement at ``now``."""
    memory = _seeing_again(memory, now)
    causes = _remember(report.causes, memory.causes, now)
    component_ready = dict(memory.component_ready)
    for view in report.components:
        if view.category == "ready":
            component_ready.setdefault(view.component, now)
        else:
            component_ready.pop(view.component, None)
    ready_since = (memory.ready_since if memory.ready_since is not None else now) if report.ready else None
    memory = replace(memory, ready_since=ready_since, causes=causes, component_ready=component_ready)
    waits: list[float] = [max(0.0, memory.started + policy.timeout - now)]
    if ready_since is not None:
        remaining = policy.stable_for - (now - ready_since)
        if remaining <= 0 or policy.timeout <= 0:
            return Decision("ready", memory, 0.0)
        waits.append(remaining)
    for cause in report.causes:
        left = _remaining(cause, causes, policy, now)
        if left is not None and (left <= 0 or policy.timeout <= 0):
            return Decision("failed", memory, 0.0, cause)
        if left is not None:
            waits.append(left)
    if policy.timeout > 0 and now - memory.started >= policy.timeout:
        return Decision("timeout", memory, 0.0, report.primary)
    if policy.timeout <= 0:
        return Decision("progressing", memory, 0.0, report.primary)
    return Decision("progressing", memory, max(0.05, min(waits)), report.primary)


def decide_blind(report: TriageReport, memory: WaitMemory, policy: WaitPolicy, now: float) -> Decision:
    """Return the decision while nothing new can be seen: only the bound ends it, whatever was seen before."""
    since = now if memory.blind_since is None else memory.blind_since
    memory = replace(memory, ready_since=None, blind_since=since)
    left = memory.started + policy.timeout - now
    if policy.timeout > 0 and left <= 0:
        return Decision("timeout", memory, 0.0, report.primary)
    return Decision("progressing", memory, max(0.05, left), report.primary)


def _seeing_again(memory: WaitMemory, now: float) -> WaitMemory:
    """Leave a time in which nothing was seen out of every cause's time: a grace is for what is seen to last."""
    if memory.blind_since is None:
        return memory
    away = now - memory.blind_since
    causes = {
        key: Seen(seen.first + away, None if seen.gone is None else seen.gone + away)
        for key, seen in memory.causes.items()
    }
    return replace(memory, causes=causes, blind_since=None)


def _key(cause: Cause) -> tuple[str, str, str]:
    where = cause.affected[0].component if len(cause.affected) == 1 else ""
    return cause.category, cause.key, where


def _remember(
    causes: tuple[Cause, ...], known: Mapping[tuple[str, str, str], Seen], now: float
) -> dict[tuple[str, str, str], Seen]:
    there = {_key(cause) for cause in causes}
    kept = {key: replace(seen, gone=now if seen.gone is None else seen.gone) for key, seen in known.items()}
    kept = {
        key: seen
        for key, seen in kept.items()
        if key in there or now - (now if seen.gone is None else seen.gone) <= FLAPPING
    }
    for key in there:
        # One that was away for longer than it may begins anew.
        seen = known.get(key)
        over = seen is None or (seen.gone is not None and now - seen.gone > FLAPPING)
        kept[key] = Seen(now) if seen is None or over else Seen(seen.first)
    return kept


def is_terminal(cause: Cause) -> bool:
    """Return whether waiting cannot mend ``cause``."""
    if cause.way in PATIENT:
        return False
    if cause.category in CRASHES and cause.detail.get("probe") not in ("readiness", "startup"):
        return int(cause.detail.get("restarts") or 0) >= MANY_RESTARTS
    return True


def _remaining(
    cause: Cause, causes: Mapping[tuple[str, str, str], Seen], policy: WaitPolicy, now: float
) -> float | None:
    if not is_terminal(cause):
        return None
    return policy.grace(cause) - (now - causes[_key(cause)].first)


# --- words ------------------------------------------------------------------------------------------------------------


def duration(seconds: float) -> str:
    """Return seconds as ``1h02m03s``, without leading zero parts."""
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, secs = divmod(rest, 60)
    if hours:
        return f"{hours}h{minutes:02d}m{secs:02d}s"
    return f"{minutes}m{secs:02d}s" if minutes else f"{secs}s"


def progress_line(report: TriageReport, elapsed: float, timeout: float) -> str:
    """Return one line: replicas ready per component, and what the slowest pod does."""
    counts = (
        ", ".join(f"{one.component} {one.ready}/{one.desired} ready" for one in report.components) or "no component yet"
    )
    slow = [
        f"{one.component}: {one.category}: {one.slowest}"
        for one in report.components
        if one.category != "ready" and one.slowest
    ]
    text = f"[{duration(elapsed)} of {duration(timeout)}] {counts}"
    return f"{text}; {'; '.join(slow[:2])}" if slow else text


def top_reasons(report: TriageReport) -> list[str]:
    """Return the up to three most telling reasons."""
    return [f"{cause.where}: {cause.category}: {cause.message}" for cause in report.causes[:TOP]]


def failed_attempt(cause: Cause | None, at: str) -> dict[str, Any]:
    """Return the ledger's ``failed_attempts`` entry of a cause that makes a failed deploy; empty for any other."""
    if cause is None or cause.way != "failed_deploy":
        return {}
    return {
        "at": at,
        "category": cause.category,
        "reason_code": cause.reason_code,
        "component": ", ".join(one.component for one in cause.affected),
        "diagnosis": cause.message,
        "evidence": list(cause.evidence),
        "remedy": cause.remedy,
    }


def next_check(cause: Cause | None, state: WaitState, interval: float, at: str) -> dict[str, Any]:
    """Return when to look again at a legitimate wait, on what evidence, and whether it can ever end well."""
    if state not in ("progressing", "timeout") or cause is None or cause.way not in ("contention", "wait"):
        return {}
    return {
        "after_seconds": interval,
        "at": at,
        "evidence": list(cause.evidence),
        "category": cause.category,
        "can_ever_fit": cause.detail.get("can_ever_fit"),
    }
