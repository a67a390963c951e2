# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wait itself: collects what ``core.waits`` judges, on each event, and says how it goes.

The clock, the sources and the progress line's destination come in, so a wait runs without a cluster and without time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from .core.demand import K8sObject
from .core.discovery import NEEDED, Access, service_accounts
from .core.operator_facts import OPERATOR_SELECTOR
from .core.readiness import Decision, WaitMemory, decide, progress_line
from .core.triage import ClusterState
from .core.triage.state import name_of
from .core.waits import Clocked, Judgement, Sight, WaitRequest, conclude, judge, wait_result
from .kube import Kube
from .kube_errors import KubeError
from .watching import Watched, WatchSet

#: Events come in bursts; what comes within this time is judged together.
BURST = 0.05
#: A judgement's own time may be at most this part of the whole.
BUSY = 0.5
#: How many progress lines are kept for the result.
KEPT_LINES = 200
#: How long the first read of all kinds may take.
START_BOUND = 60.0
#: Log reads of a whole wait, and pods of one component whose log is read.
LOG_READS = 24
LOG_LINES = 20
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
        sight = source.look(looked_at - began, judged)
        judged = judge(request, sight)
        elapsed = clock.monotonic() - began
        decision = conclude(judged, decide(judged.report, memory, request.policy, elapsed))
        memory = decision.memory
        line = progress_line(judged.report, elapsed, request.policy.timeout)
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
        started_at=rfc3339(started_at),
        finished_at=rfc3339(now),
        elapsed=elapsed,
        next_at=rfc3339(now + request.policy.progress_interval),
        ready_after=decision.memory.component_ready,
    )
    return wait_result(request, judged, decision, sight, clocked)


def rfc3339(seconds: float) -> str:
    """Return seconds since 1970 as RFC 3339 in UTC."""
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


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

    def wait(self, bound: float) -> bool:
        """Return at once: nothing changes."""
        return False


def _in(obj: K8sObject, namespace: str) -> bool:
    return (obj.get("metadata") or {}).get("namespace") in (None, "", namespace)


# --- a cluster --------------------------------------------------------------------------------------------------------

_WORKLOADS = (
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "LeaderWorkerSet",
    "PodCliqueSet",
    "PodCliqueScalingGroup",
    "PodClique",
)


def kinds_for(request: WaitRequest, check_fit: bool) -> tuple[Watched, ...]:
    """Return what has to be watched for a request."""
    namespace = request.namespace
    needed = [Watched("Event", "v1", namespace)]
    if request.wait_for == "pvc":
        claims = [Watched("PersistentVolumeClaim", "v1", namespace, required=True)]
        return (*claims, *needed, Watched("Pod", "v1", namespace), Watched("StorageClass", "storage.k8s.io/v1"))
    if request.wait_for == "jobs":
        needed += [Watched("Job", "batch/v1", namespace, required=True), Watched("Pod", "v1", namespace, required=True)]
        needed += [Watched("PersistentVolumeClaim", "v1", namespace)]
    elif request.dgd:
        label = f"nvidia.com/dynamo-graph-deployment-name={request.dgd}"
        only = f"metadata.name={request.dgd}"
        graph = Watched(
            "DynamoGraphDeployment",
            request.api_version,
            namespace,
            field_selector=only,
            required=request.wait_for == "dgd",
        )
        needed += [graph, Watched("Pod", "v1", namespace, label, required=True)]
        needed += [Watched(kind, "", namespace) for kind in ("DynamoComponentDeployment", *_WORKLOADS)]
    else:
        needed = [Watched(request.kind, request.api_version, namespace)]
    if request.wait_for == "dgd":
        needed.append(Watched("PersistentVolumeClaim", "v1", namespace))
        if request.check_discovery:
            needed += [Watched("EndpointSlice", "", namespace, label), Watched("DynamoWorkerMetadata", "", namespace)]
    if check_fit and (request.wait_for in ("dgd", "jobs") or request.dgd):
        needed.append(Watched("Node", "v1"))
    return tuple(needed)


class ClusterSource:
    """A live cluster: watches, and beside them the few reads that no watch gives."""

    def __init__(self, kube: Kube, request: WaitRequest, clock: Clock, *, check_fit: bool, logs: bool) -> None:
        self._kube = kube
        self._request = request
        self._clock = clock
        self._logs_wanted = logs
        self._fit = check_fit
        self._logs: dict[str, str] = {}
        self._asked: set[tuple[str, str, int]] = set()
        self._jobs: dict[str, K8sObject] = {}
        self._others: tuple[K8sObject, ...] | None = None
        self._others_at = -OTHERS_EVERY
        self._others_reads = 0
        self._access: tuple[Access, ...] | None = None
        self._asked_again = False
        self._operator: bool | None = None
        self._operator_asked = False
        self.watches = WatchSet(kube, kinds_for(request, check_fit), {"nodes": trim_node, "pods": trim_pod})
        self.watches.start(START_BOUND)

    def wait(self, bound: float) -> bool:
        """Wait for an event."""
        return self.watches.wait(bound)

    def look(self, elapsed: float, judged: Judgement | None) -> Sight:
        """Read the present state from the watches, and what the last judgement made necessary."""
        objects = self.watches.objects()
        kinds = self.watches.kinds()
        unread = {
            plural: f"{one['state']}: {one['detail']}"
            for plural, one in kinds.items()
            if one["state"] in ("forbidden", "absent")
        }
        nodes = objects.pop("nodes", None) if kinds.get("nodes", {}).get("state") == "observed" else None
        if nodes is not None:
            self._read_others(elapsed, judged)
        for job in objects.get("jobs", ()):
            self._remember_job(job)
        state = ClusterState(
            self._clock.now(), self._request.dgd, objects, nodes, self._others, self._logs, self._request.demands
        )
        if self._logs_wanted and self._read_logs(state):
            state = replace(state, logs=dict(self._logs))
        return Sight(
            state,
            elapsed,
            job_memory=dict(self._jobs),
            access=self._reviews(state, judged),
            unread=unread,
            operator_runs=self._operator_runs(elapsed),
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
                self._asked.add(asked)
                previous = bool((status.get("lastState") or {}).get("terminated"))
                try:
                    text = self._kube.logs(
                        asked[0], self._request.namespace, asked[1], previous=previous, tail_lines=LOG_LINES
                    )
                except KubeError:
                    continue  # a log that is gone or forbidden is no reason to end the wait
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
        except KubeError:
            self._others_reads = OTHERS_READS  # not permitted: then it is not asked again
            return
        self._others = tuple(listed.items)

    def _reviews(self, state: ClusterState, judged: Judgement | None) -> tuple[Access, ...]:
        ready = judged is not None and judged.report.ready
        single = self._request.policy.timeout <= 0
        if not self._request.check_discovery or self._request.wait_for != "dgd" or not (ready or single):
            return ()
        denied = any(one.allowed is False for one in self._access or ())
        # A grant takes a moment to be known to the API server, so a refusal is asked about once more.
        if self._access is None or (denied and not self._asked_again):
            self._asked_again = self._access is not None
            self._access = tuple(self._ask_access(state))
        return self._access

    def _ask_access(self, state: ClusterState) -> list[Access]:
        found = []
        namespace = self._request.namespace
        for account in service_accounts(state):
            user = f"system:serviceaccount:{namespace}:{account}"
            groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
            for group, resource, verbs in NEEDED:
                for verb in verbs:
                    try:
                        allowed, reason = self._kube.access_review(
                            user=user, groups=groups, verb=verb, group=group, resource=resource, namespace=namespace
                        )
                    except KubeError as error:
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
            except KubeError:
                self._operator = None
        return self._operator


def _statuses(pod: K8sObject) -> list[K8sObject]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def trim_node(node: dict[str, Any]) -> dict[str, Any]:
    """Drop what no judge reads of a node: images and managed fields are most of it."""
    (node.get("metadata") or {}).pop("managedFields", None)
    (node.get("status") or {}).pop("images", None)
    return node


def trim_pod(pod: dict[str, Any]) -> dict[str, Any]:
    """Drop managed fields."""
    (pod.get("metadata") or {}).pop("managedFields", None)
    return pod


def trim_bound(pod: dict[str, Any]) -> dict[str, Any] | None:
    """Keep of other people's pods what they hold of their nodes; drop the ones that ended."""
    metadata, spec, status = pod.get("metadata") or {}, pod.get("spec") or {}, pod.get("status") or {}
    if status.get("phase") in ("Succeeded", "Failed"):
        return None
    kept = ("nodeName", "overhead", "affinity", "topologySpreadConstraints", "priority", "resources", "hostNetwork")
    return {
        "metadata": {
            key: metadata.get(key)
            for key in ("name", "namespace", "uid", "labels", "deletionTimestamp")
            if key in metadata
        },
        "spec": {
            **{key: spec[key] for key in kept if key in spec},
            "containers": [_slim(one) for one in spec.get("containers") or ()],
            "initContainers": [_slim(one) for one in spec.get("initContainers") or ()],
        },
        "status": {"phase": status.get("phase")},
    }


def _slim(container: Mapping[str, Any]) -> dict[str, Any]:
    return {key: container[key] for key in ("name", "resources", "ports", "restartPolicy") if key in container}
