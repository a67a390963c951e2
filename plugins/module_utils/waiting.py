# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wait itself: collects what ``core.waits`` judges, on each event, and says how it goes.

The clock, the sources and the progress line's destination come in, so a wait runs without a cluster and without time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from .core.attention import Interest, interest, proven_accounts
from .core.demand import K8sObject
from .core.discovery import ETCD, NEEDED, TELLING, Access, service_accounts
from .core.operator_facts import OPERATOR_SELECTOR
from .core.readiness import Decision, WaitMemory, decide, decide_blind, progress_line
from .core.triage import ClusterState
from .core.triage.state import name_of
from .core.waits import Clocked, Judgement, Sight, WaitRequest, conclude, judge, keep, wait_result
from .kube import Kube
from .kube_errors import KubeError, Unreachable
from .moments import moment
from .wait_kinds import (
    GENERATIONS,
    confirming_kinds,
    first_kinds,
    kinds_for,
    running_kinds,
    trim_bound,
    trim_node,
    trim_pod,
)
from .watching import SETTLING, WatchSet

#: Events come in bursts; what comes within this time is judged together.
BURST = 0.05
#: A judgement's own time may be at most this part of the whole.
BUSY = 0.5
#: How many progress lines are kept for the result.
KEPT_LINES = 200
#: How long the first read of all kinds may take.
START_BOUND = 60.0
#: How long a single look tries to reach a server that gives no answer; a wait has more time.
LOOK_PATIENCE = 10.0
#: How long the read of further kinds may hold up a judgement.
MORE_BOUND = 10.0
#: What does not run yet is given this long before the kinds that could say why are read. It is shorter than every
#: time after which silence is a finding.
PATIENCE = 5.0
#: A refusal is asked about again no sooner: a grant takes a moment to be known to the API server.
ASK_AGAIN_AFTER = 0.5
#: Log reads of a whole wait, and pods of one component whose log is read.
LOG_READS = 24
LOG_LINES = 20
#: After so many logs that a kubelet did not hand over no more are asked for: each may take long.
LOG_FAILURES = 3
#: How often a question about permissions that did not come through is put again.
REVIEW_FAILURES = 3
#: How often the pods of other people are read anew while a wait for resources goes on.
OTHERS_EVERY = 60.0
OTHERS_READS = 10
#: From when on a deletion asks whether an operator runs at all.
OPERATOR_ASKED_AFTER = 20.0


class Clock(Protocol):
    """Time, to be replaced in tests."""

    def monotonic(self) -> float:
        """Seconds that only grow."""

    def now(self) -> float:
        """Seconds since 1970."""


class SystemClock:
    """The machine's own time."""

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return time.monotonic()

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()


class Source(Protocol):
    """Where a wait's objects come from."""

    def look(self, elapsed: float, judged: Judgement | None) -> Sight:
        """Read the present state; ``judged`` is the judgement before, from which follows what else to read."""

    def deepen(self, sight: Sight, judged: Judgement) -> bool:
        """Read what this judgement lacks; return whether there is more to judge than before."""

    def wait(self, bound: float) -> bool:
        """Wait for a change."""


@dataclass
class Progress:
    """Progress lines: kept, and given to ``emit`` as they come."""

    emit: Callable[[str], None]
    lines: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        """Show a line."""
        self.lines.append(line)
        del self.lines[:-KEPT_LINES]
        self.emit(line)


def appender(path: str | None) -> Callable[[str], None]:
    """Return what appends lines to the file at ``path`` at once; nothing is written where there is none."""

    def append(line: str) -> None:
        if path:
            with open(path, "a", encoding="utf-8") as file:
                file.write(line + "\n")

    return append


def without_waiting(request: WaitRequest) -> WaitRequest:
    """Return the request as a single look: files do not change."""
    return replace(request, policy=replace(request.policy, timeout=0))


def run_wait(request: WaitRequest, source: Source, clock: Clock, progress: Progress) -> dict[str, Any]:
    """Wait until it is ready, has failed, or the bound is reached; return the result."""
    began = clock.monotonic()
    started_at = clock.now()
    memory = WaitMemory(started=0.0)
    judged: Judgement | None = None
    said, said_at = "", -request.policy.progress_interval
    while True:
        looked_at = clock.monotonic()
        sight, judged = _judged(request, source, looked_at - began, judged)
        elapsed = clock.monotonic() - began
        if judged.blind:
            decision = decide_blind(judged.report, memory, request.policy, elapsed)
        else:
            decision = conclude(judged, decide(judged.report, memory, request.policy, elapsed))
        memory = decision.memory
        line = progress_line(judged.report, elapsed, request.policy.timeout)
        if judged.blind:
            line += f"; as last seen: {judged.report.causes[0].where} {judged.report.causes[0].message}"
        summary = line.partition("] ")[2]
        due = elapsed - said_at >= request.policy.progress_interval
        if request.policy.timeout > 0 and (summary != said or due or decision.done):
            progress.say(line)
            said, said_at = summary, elapsed
        if decision.done or request.policy.timeout <= 0:
            return _finish(request, judged, decision, sight, started_at, elapsed, clock)
        spent = clock.monotonic() - looked_at
        pause = min(decision.look_again, request.policy.progress_interval - (elapsed - said_at))
        _pause(source, pause, max(BURST, spent * (1 - BUSY) / BUSY))


def _judged(request: WaitRequest, source: Source, elapsed: float, before: Judgement | None) -> tuple[Sight, Judgement]:
    """Judge what is there, and again while the source finds that more is needed for it."""
    judged = before
    while True:
        sight = source.look(elapsed, judged)
        if sight.outage is not None:
            return sight, keep(judged, sight.outage, request)
        judged = judge(request, sight)
        if not source.deepen(sight, judged):
            return sight, judged


def _pause(source: Source, bound: float, burst: float) -> None:
    """Wait for an event, then a moment more for those that come with it."""
    if source.wait(bound) and burst < bound:
        time.sleep(min(burst, 1.0))


def _finish(
    request: WaitRequest,
    judged: Judgement,
    decision: Decision,
    sight: Sight,
    started_at: float,
    elapsed: float,
    clock: Clock,
) -> dict[str, Any]:
    now = clock.now()
    clocked = Clocked(
        started_at=moment(started_at),
        finished_at=moment(now),
        elapsed=elapsed,
        next_at=moment(now + request.policy.progress_interval),
        ready_after=decision.memory.component_ready,
    )
    return wait_result(request, judged, decision, sight, clocked)


# --- files ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileSource:
    """A state that was read from files and does not change."""

    objects: Mapping[str, Sequence[K8sObject]]
    logs: Mapping[str, str]
    taken_at: float
    request: WaitRequest

    def look(self, elapsed: float, judged: Judgement | None) -> Sight:
        """Return the state of the files."""
        nodes = self.objects.get("nodes")
        namespace = self.request.namespace
        objects = {plural: tuple(one for one in found if _in(one, namespace)) for plural, found in self.objects.items()}
        others = tuple(pod for pod in self.objects.get("pods") or () if (pod.get("spec") or {}).get("nodeName"))
        state = ClusterState(
            self.taken_at, self.request.dgd, objects, nodes, others or None, self.logs, self.request.demands
        )
        kinds = ("endpointslices", "dynamoworkermetadatas")
        return Sight(state, elapsed, unread={kind: "not among the files" for kind in kinds if kind not in objects})

    def deepen(self, sight: Sight, judged: Judgement) -> bool:
        """Return False: there is nothing but the files."""
        return False

    def wait(self, bound: float) -> bool:
        """Return at once: nothing changes."""
        return False


def _in(obj: K8sObject, namespace: str) -> bool:
    return (obj.get("metadata") or {}).get("namespace") in (None, "", namespace)


# --- a cluster --------------------------------------------------------------------------------------------------------


class ClusterSource:
    """A live cluster: watches, and beside them the few reads that no watch gives.

    It begins with the kinds that show success. Whatever is not plain success or plain progress has all other kinds
    read before it is judged, so a failure is judged with all that there is to know.
    """

    def __init__(self, kube: Kube, request: WaitRequest, clock: Clock, *, check_fit: bool, logs: bool) -> None:
        self._kube = kube
        self._request = request
        self._clock = clock
        self._logs_wanted = logs
        self._fit = check_fit
        self._all = kinds_for(request, check_fit)
        self._single = request.policy.timeout <= 0
        self._whole = self._single or request.wait_for == "deletion"
        self._confirmed = False
        self._patient_until: float | None = None
        self._logs: dict[str, str] = {}
        self._asked: set[tuple[str, str, int]] = set()
        self._jobs: dict[str, K8sObject] = {}
        self._others: tuple[K8sObject, ...] | None = None
        self._others_at = -OTHERS_EVERY
        self._others_reads = 0
        self._access: tuple[Access, ...] | None = None
        self._asked_at = 0.0
        self._log_failures = 0
        self._review_failures = 0
        self._asked_again = False
        self._operator: bool | None = None
        self._operator_asked = False
        first = self._all if self._whole else first_kinds(request)
        self.watches = WatchSet(kube, first, {"nodes": trim_node, "pods": trim_pod})
        if self._single:
            self.watches.start(START_BOUND, follow=False, patience=LOOK_PATIENCE)
        else:
            self.watches.start(min(START_BOUND, request.policy.timeout), follow=False)

    def wait(self, bound: float) -> bool:
        """Wait for an event, until patience ends, or until what an outage hid has come."""
        outage = self.watches.outage()
        if outage is not None and not outage.detail:
            bound = min(bound, SETTLING)
        if self._patient_until is not None and not self._whole:
            bound = min(bound, self._patient_until - self._clock.monotonic())
        return self.watches.wait(bound)

    def deepen(self, sight: Sight, judged: Judgement) -> bool:
        """Read the kinds that the judgement lacks, and follow those that the wait goes on with."""
        wants = interest(self._request, sight.state, judged)
        wanted = self._all if self._opens(wants, judged) else () if wants == "ready" else running_kinds(self._request)
        if self.watches.add(wanted, MORE_BOUND):
            return True
        if wants == "ready" and self._request.wait_for == "dgd" and self._confirm(sight, judged):
            return True
        if not self._single and not (wants == "ready" and self._request.policy.stable_for <= 0):
            self.watches.follow(but=self._listed_only(judged))
        return False

    def _opens(self, wants: Interest, judged: Judgement) -> bool:
        """Return whether all kinds are wanted: for trouble, for what is not up in time, for readiness that was lost."""
        now = self._clock.monotonic()
        if wants != "open":
            self._patient_until = None
        elif self._patient_until is None:
            self._patient_until = now + PATIENCE
        late = self._patient_until is not None and now >= self._patient_until
        lost = self._confirmed and wants != "ready"
        if wants == "trouble" or late or lost or judged.parts.get("leftovers"):
            self._whole = True
        return self._whole

    def _confirm(self, sight: Sight, judged: Judgement) -> bool:
        """Read what shows that a ready DGD is whole and its workers are registered."""
        self._confirmed = True
        added = self.watches.add(confirming_kinds(self._request), MORE_BOUND)
        return added or self._review(sight, judged)

    def _listed_only(self, judged: Judgement) -> tuple[str, ...]:
        """Return what need not be followed as long as nothing is said against readiness."""
        clean = all(finding.outcome == "pass" for finding in judged.findings)
        if self._whole or not clean:
            return ()
        return tuple(one.plural for one in confirming_kinds(self._request) if one.kind != GENERATIONS)

    def look(self, elapsed: float, judged: Judgement | None) -> Sight:
        """Read the present state from the watches, and what the last judgement made necessary."""
        objects = self.watches.objects()
        kinds = self.watches.kinds()
        unread = {
            plural: f"{one['state']}: {one['detail']}"
            for plural, one in kinds.items()
            if one["state"] in ("forbidden", "absent", "pending")
        }
        nodes = objects.pop("nodes", None) if kinds.get("nodes", {}).get("state") == "observed" else None
        outage = self.watches.outage()
        if nodes is not None and outage is None:
            self._read_others(elapsed, judged)
        for job in objects.get("jobs", ()):
            self._remember_job(job)
        state = ClusterState(
            self._clock.now(), self._request.dgd, objects, nodes, self._others, self._logs, self._request.demands
        )
        if self._logs_wanted and outage is None and self._read_logs(state):
            state = replace(state, logs=dict(self._logs))
        return Sight(
            state,
            elapsed,
            job_memory=dict(self._jobs),
            access=self._access or (),
            unread=unread,
            operator_runs=self._operator_runs(elapsed) if outage is None else self._operator,
            outage=outage,
        )

    def _remember_job(self, job: K8sObject) -> None:
        """Keep a Job as last seen, under the UID that was met first: a later one of that name is another Job."""
        name = name_of(job)
        known = (self._jobs.get(name, {}).get("metadata") or {}).get("uid")
        if known is None or known == (job.get("metadata") or {}).get("uid"):
            self._jobs[name] = job

    def _read_logs(self, state: ClusterState) -> bool:
        """Read the last lines of containers that ended, once a restart and for few pods."""
        read = False
        for pod in state.pods:
            for status in _statuses(pod):
                ended = (status.get("lastState") or {}).get("terminated") or (status.get("state") or {}).get(
                    "terminated"
                )
                asked = (name_of(pod), str(status.get("name")), int(status.get("restartCount") or 0))
                if not ended or not ended.get("exitCode") or asked in self._asked or len(self._asked) >= LOG_READS:
                    continue
                if self._log_failures >= LOG_FAILURES:
                    return read
                self._asked.add(asked)
                previous = bool((status.get("lastState") or {}).get("terminated"))
                try:
                    text = self._kube.logs(
                        asked[0], self._request.namespace, asked[1], previous=previous, tail_lines=LOG_LINES
                    )
                except KubeError as error:
                    # A log that is gone or forbidden is no reason to end the wait, nor is a kubelet that is away.
                    if error.retryable:
                        self._log_failures += 1
                    if isinstance(error, Unreachable):
                        self._asked.discard(asked)
                        return read
                    continue
                self._logs[f"{asked[0]}/{asked[1]}{' (previous)' if previous else ''}"] = text
                read = True
        return read

    def _read_others(self, elapsed: float, judged: Judgement | None) -> None:
        """Read everybody's pods once a pod lacks room; the nodes alone do not say what is free."""
        short = judged is not None and any(
            cause.category in ("insufficient_resource", "gang") for cause in judged.report.causes
        )
        if not self._fit or not short or self._others_reads >= OTHERS_READS or elapsed - self._others_at < OTHERS_EVERY:
            return
        self._others_at = elapsed
        self._others_reads += 1
        try:
            listed = self._kube.list_all("v1", "Pod", field_selector="spec.nodeName!=", trim=trim_bound)
        except KubeError as error:
            if not error.retryable:
                self._others_reads = OTHERS_READS  # not permitted: then it is not asked again
            return
        self._others = tuple(listed.items)

    def _review(self, sight: Sight, judged: Judgement) -> bool:
        """Ask what the pods' service accounts may do; return whether there is a new answer."""
        discovery = judged.parts.get("discovery")
        if discovery is None or discovery["backend"] == ETCD:
            return False
        denied = any(one.allowed is False for one in self._access or ())
        later = sight.elapsed - self._asked_at >= ASK_AGAIN_AFTER
        if self._access is not None and not (denied and later and not self._asked_again):
            return False
        self._asked_again = self._access is not None
        self._asked_at = sight.elapsed
        # Where a registered worker's account lacks one verb, all are asked about.
        proven = proven_accounts(sight.state, discovery) if not self._asked_again else ()
        answers = self._ask_access(sight.state, proven)
        self._access = self._access if answers is None else tuple(answers)
        return answers is None or bool(answers)

    def _ask_access(self, state: ClusterState, proven: Collection[str]) -> list[Access] | None:
        """Ask for each verb that discovery needs; of an account that registered a worker only for what tells most.

        None where the question did not come through and is to be put again.
        """
        found = []
        namespace = self._request.namespace
        for account in service_accounts(state):
            user = f"system:serviceaccount:{namespace}:{account}"
            groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
            for group, resource, verbs in NEEDED:
                for verb in verbs:
                    if account in proven and (resource, verb) != TELLING:
                        continue
                    try:
                        allowed, reason = self._kube.access_review(
                            user=user, groups=groups, verb=verb, group=group, resource=resource, namespace=namespace
                        )
                    except KubeError as error:
                        if error.retryable and self._review_failures < REVIEW_FAILURES:
                            self._review_failures += 1
                            return None
                        allowed, reason = None, str(error)
                    found.append(Access(account, verb, group, resource, allowed, reason))
                    if allowed is None:
                        return found
        return found

    def _operator_runs(self, elapsed: float) -> bool | None:
        if self._request.wait_for != "deletion" or not self._request.dgd:
            return None
        if not self._operator_asked and (elapsed >= OPERATOR_ASKED_AFTER or self._request.policy.timeout <= 0):
            self._operator_asked = True
            try:
                listed = self._kube.list_all("apps/v1", "Deployment", label_selector=OPERATOR_SELECTOR)
                self._operator = any(
                    int((one.get("status") or {}).get("readyReplicas") or 0) > 0 for one in listed.items
                )
            except KubeError as error:
                self._operator, self._operator_asked = None, not error.retryable or self._single
        return self._operator


def _statuses(pod: K8sObject) -> list[K8sObject]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
