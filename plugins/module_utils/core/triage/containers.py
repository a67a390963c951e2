# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges containers: how each waits, runs or ended, and what its probes allow it yet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..demand import K8sObject
from .kubelet import IMAGE_REASONS, config_error, create_error, image_verdict, is_exec_format, log_reading, quote
from .state import Event, seconds
from .verdict import Verdict

#: The kubelet forgets a container's back-off after it ran this long (``MaxContainerBackOff`` reset).
BACKOFF_RESET = 600.0
#: So many restarts are a loop.
MANY_RESTARTS = 3
#: So many, not long ago, make a container that is ready just now no proof of health.
UNSTEADY_RESTARTS = 2
#: A run has outlived the one before when it lasted this much longer, and twice as long.
OUTLIVED = 60.0
#: A container that its probe killed once and that is ready again is watched for no longer than this.
ONE_KILL = 120.0
#: The difference that two clocks, or a second's rounding, may make.
SLACK = 5.0
#: An answer in this class says that the server is up and has no such path: waiting does not bring it.
_REFUSED = re.compile(r"statuscode: 4(?!08|25|29)\d\d")
_PROBE_EVENT = re.compile(r"^(?P<probe>Liveness|Readiness|Startup) probe (?:failed|errored)")
_KILLED_BY = re.compile(r"failed (?P<probe>liveness|startup) probe, will be restarted")
#: Startup answers of that class before it is called a failure.
REFUSED_OFTEN = 3


@dataclass(frozen=True)
class Probe:
    """A probe's thresholds, in seconds and counts, with Kubernetes' defaults."""

    delay: float
    period: float
    failures: int

    @classmethod
    def of(cls, container: K8sObject, kind: str) -> Probe | None:
        """Return the container's probe of ``kind`` (``startup``…), or None."""
        found = container.get(f"{kind}Probe")
        if not isinstance(found, Mapping):
            return None
        return cls(
            float(found.get("initialDelaySeconds") or 0),
            float(found.get("periodSeconds") or 10),
            int(found.get("failureThreshold") or 3),
        )

    @property
    def budget(self) -> float:
        """How long it may fail from the container's start until it counts as failed."""
        return self.delay + self.period * self.failures


@dataclass(frozen=True)
class Container:
    """A container with its status and the live events about it."""

    name: str
    init: bool
    sidecar: bool
    spec: K8sObject
    status: K8sObject
    events: Sequence[Event]
    logs: Mapping[str, str]
    pod: str
    now: float
    restart_policy: str = "Always"

    @property
    def restarts(self) -> int:
        """How often it was restarted."""
        return int(self.status.get("restartCount") or 0)

    def state(self, which: str, kind: str) -> K8sObject:
        """Return ``state.waiting``, ``lastState.terminated`` and so on; empty where it is not in that state."""
        return (self.status.get(which) or {}).get(kind) or {}

    def log(self) -> str:
        """Return the last log lines of the run that ended, else of the present one."""
        return self._log(" (previous)") or self._log("")

    def _log(self, suffix: str) -> str:
        named = self.logs.get(f"{self.pod}/{self.name}{suffix}")
        # A log kept by the pod's name alone is its main container's.
        return named or ("" if self.init else self.logs.get(f"{self.pod}{suffix}", ""))


def judge_container(one: Container) -> Verdict:
    """Return the verdict on one container."""
    waiting = one.state("state", "waiting")
    if waiting:
        return _waiting(one, str(waiting.get("reason") or ""), str(waiting.get("message") or ""))
    ended = one.state("state", "terminated")
    if ended:
        return _ended(one, ended)
    if one.state("state", "running"):
        return _running(one)
    return Verdict("model_loading", "The container is not created yet", key="creating", detail={"stage": "creating"})


def _waiting(one: Container, reason: str, text: str) -> Verdict:
    if reason in IMAGE_REASONS:
        return image_verdict(reason, _pull_text(one, text), str(one.spec.get("image") or ""))
    if reason == "CreateContainerConfigError":
        return config_error(text or _event_text(one, "Failed"))
    if reason in (
        "CreateContainerError",
        "RunContainerError",
        "StartError",
        "ContainerCannotRun",
        "PreCreateHookError",
        "PostStartHookError",
    ):
        return create_error(reason, text or _event_text(one, "Failed"))
    if reason == "CrashLoopBackOff":
        last = one.state("lastState", "terminated")
        return _crashed(one, last) if last else _lost_history(one, text)
    if reason in ("CreatePodSandboxError", "NetworkNotReady", "KillPodSandboxError", "ConfigPodSandboxError"):
        return Verdict("sandbox", "The pod's sandbox cannot be set up", (quote(f"{reason}: {text}"),), "sandbox")
    if reason in ("", "ContainerCreating", "PodInitializing", "ContainersNotInitialized"):
        last = one.state("lastState", "terminated")
        if last and one.restarts:
            return _crashed(one, last)
        return Verdict("model_loading", "The container is being created", key="creating", detail={"stage": "creating"})
    return Verdict("unknown", f"The container waits: {reason}", (quote(f"{reason}: {text}"),), reason)


def _lost_history(one: Container, text: str) -> Verdict:
    return Verdict(
        "crash_loop",
        f"Container {one.name} is restarted again and again",
        (quote(f"CrashLoopBackOff: {text}"),),
        f"{one.name}/",
        {"container": one.name, "restarts": one.restarts, "sub": "unknown"},
        per_component=True,
    )


def _pull_text(one: Container, text: str) -> str:
    """Back-off hides why: take the waiting message where it tells, else the newest event that does."""
    if ": " in text.replace("Back-off pulling image", "", 1) or "rpc error" in text:
        return text
    told = [
        event.message
        for event in one.events
        if event.reason == "Failed" and "pull" in event.message.lower() and '"' in event.message
    ]
    return told[-1] if told else text


def _event_text(one: Container, reason: str) -> str:
    found = [event.message for event in one.events if event.reason == reason]
    return found[-1] if found else ""


# --- containers that ended ------------------------------------------------------------------------------------------


def _ended(one: Container, ended: K8sObject) -> Verdict:
    code = int(ended.get("exitCode") or 0)
    if code == 0 and ((one.init and not one.sidecar) or one.restart_policy != "Always"):
        return Verdict("ready", "The container is done")
    return _crashed(one, ended)


def _crashed(one: Container, ended: K8sObject) -> Verdict:
    """Judge the run that ended: out of memory, killed by a probe, another platform, lost with its node, or a crash."""
    code = int(ended.get("exitCode") or 0)
    reason = str(ended.get("reason") or "")
    text = str(ended.get("message") or "")
    detail: dict[str, Any] = {"container": one.name, "exit_code": code, "reason": reason, "restarts": one.restarts}
    since = seconds(ended.get("finishedAt"))
    # 143 with OOMKilled: the process was asked to stop; a child of it was killed earlier.
    if reason == "OOMKilled" and code != 143:
        limit = ((one.spec.get("resources") or {}).get("limits") or {}).get("memory")
        return Verdict(
            "oom",
            f"Container {one.name} was killed for using more memory than its limit" + (f" of {limit}" if limit else ""),
            (_ended_line(one, ended),),
            one.name,
            {**detail, "limit": limit or ""},
            per_component=True,
            since=since,
        )
    if reason == "ContainerStatusUnknown":
        return Verdict(
            "evicted",
            f"The node lost container {one.name}",
            (_ended_line(one, ended),),
            "status_unknown",
            detail,
            since=since,
        )
    killed = _killed_by_probe(one, ended)
    if killed is not None:
        return replace(killed, detail={**detail, **killed.detail}, since=since)
    log = one.log()
    if is_exec_format(text) or is_exec_format(log):
        return Verdict(
            "image_platform",
            "The image's program is built for another platform",
            (quote(text or log),),
            str(one.spec.get("image") or "exec"),
            {**detail, "sub": "exec_format", "image": str(one.spec.get("image") or "")},
            since=since,
        )
    if text and reason in ("StartError", "ContainerCannotRun", "CreateContainerError"):
        made = create_error(reason, text)
        return replace(made, detail={**detail, **made.detail}, key=f"{one.name}/{made.key}", since=since)
    return _crash(one, ended, log, detail, since)


def _crash(one: Container, ended: K8sObject, log: str, detail: dict[str, Any], since: float) -> Verdict:
    code = detail["exit_code"]
    sub, remedy, lines = log_reading("\n".join(filter(None, (str(ended.get("message") or ""), log))))
    if not sub:
        sub = {
            0: "exited",
            126: "command_not_found",
            127: "command_not_found",
            137: "killed",
            139: "segfault",
            143: "stopped",
        }.get(code, "error")
    what = {
        "cuda_oom": "ran out of GPU memory",
        "nccl": "failed in GPU communication (NCCL)",
        "gpu_driver": "cannot use the GPU",
        "host_oom": "ran out of host memory",
        "exited": "ends without an error although it should keep running",
        "command_not_found": "names a command that does not exist",
        "killed": "was killed from outside",
    }.get(sub, "ends with an error")
    kind = "Init container" if one.init and not one.sidecar else "Container"
    return Verdict(
        "crash_loop",
        f"{kind} {one.name} {what} (exit code {code}, {one.restarts} restarts)",
        (_ended_line(one, ended), *lines),
        f"{one.name}/{code}/{sub}",
        {**detail, "sub": sub, "log": list(lines)},
        remedy=remedy,
        per_component=True,
        since=since,
    )


def _ended_line(one: Container, ended: K8sObject) -> str:
    reason = ended.get("reason") or "Error"
    at = ended.get("finishedAt") or ""
    return (
        f"container {one.name}: {reason}, exit code {ended.get('exitCode', 0)}"
        + (f" at {at}" if at else "")
        + f", {one.restarts} restarts"
    )


def _killed_by_probe(one: Container, ended: K8sObject) -> Verdict | None:
    """The kubelet's Killing event names the probe; exit codes do not. An event of an earlier run does not count."""
    began, finished = seconds(ended.get("startedAt")), seconds(ended.get("finishedAt"))
    for event in reversed(one.events):
        if began and event.last and event.last + SLACK < began:
            break
        match = _KILLED_BY.search(event.message) if event.reason == "Killing" else None
        if match and (not finished or event.first <= finished + SLACK):
            return replace(
                _probe_verdict(
                    one, match["probe"], event, f"Container {one.name} was killed by its {match['probe']} probe"
                ),
                since=min(event.last, finished) if finished else event.last,
            )
    if int(ended.get("exitCode") or 0) not in (137, 143):
        return None
    for event in reversed(one.events):
        match = _PROBE_EVENT.match(event.message) if event.reason == "Unhealthy" else None
        fits = not finished or not event.last or began - SLACK <= event.last <= finished + SLACK
        probe = Probe.of(one.spec, "liveness")
        # One failed answer below the threshold killed nothing.
        often = probe is None or event.count >= probe.failures
        if match and match["probe"] == "Liveness" and fits and often:
            return _probe_verdict(one, "liveness", event, f"Container {one.name} was killed by its liveness probe")
    return None


def _probe_verdict(one: Container, kind: str, event: Event | None, message: str) -> Verdict:
    probe = Probe.of(one.spec, kind)
    lines = [quote(f"{event.reason}: {event.message} (x{event.count})")] if event else []
    unhealthy = next(
        (e for e in reversed(one.events) if e.reason == "Unhealthy" and e.message.lower().startswith(kind)),
        None,
    )
    if unhealthy is not None and unhealthy is not event:
        lines.append(quote(f"Unhealthy: {unhealthy.message} (x{unhealthy.count})"))
    detail: dict[str, Any] = {"probe": kind, "container": one.name, "restarts": one.restarts}
    if probe:
        detail.update(failure_threshold=probe.failures, period_seconds=probe.period, initial_delay_seconds=probe.delay)
    return Verdict("probe_failure", message, tuple(lines), f"{one.name}/{kind}", detail, per_component=True)


# --- containers that run --------------------------------------------------------------------------------------------


def _running(one: Container) -> Verdict:
    began = seconds(one.state("state", "running").get("startedAt"))
    last = one.state("lastState", "terminated")
    being_killed = _being_killed(one, began)
    if being_killed is not None:
        return being_killed
    ready = bool(one.status.get("ready"))
    ran = one.now - began if began else 0.0
    if last and one.restarts and not _outlived(last, ran):
        if not ready:
            return _crashed(one, last).noting(f"container {one.name}: running again since {round(ran)} s, not ready")
        if _unsteady(one, last, ran):
            return _crashed(one, last).noting(f"container {one.name}: ready just now, after {one.restarts} restarts")
    if ready:
        return Verdict("ready", f"Container {one.name} is ready", detail={"restarts": one.restarts})
    if one.init and not one.sidecar:
        return Verdict(
            "model_loading",
            f"Init container {one.name} runs",
            key="init",
            detail={"stage": "init", "container": one.name, "running_seconds": round(ran)},
        )
    if one.status.get("started") is False and Probe.of(one.spec, "startup") is not None:
        return _starting(one, ran)
    return _not_ready(one, began, ran)


def _outlived(last: K8sObject, ran: float) -> bool:
    """Return whether the present run got well past the point at which the one before ended: then that is over."""
    began, finished = seconds(last.get("startedAt")), seconds(last.get("finishedAt"))
    lived = max(0.0, finished - began) if began and finished else 0.0
    return ran >= min(BACKOFF_RESET, max(lived + OUTLIVED, 2 * lived))


def _unsteady(one: Container, last: K8sObject, ran: float) -> bool:
    """Return whether a container that is ready just now will hardly stay so."""
    killed = _killed_by_probe(one, last)
    if one.restarts >= UNSTEADY_RESTARTS:
        return killed is not None or int(last.get("exitCode") or 0) != 0
    if killed is None or not killed.since or not any(_REFUSED.search(line) for line in killed.evidence):
        return False
    # A path that the server does not have was refused, and will be at the same point of this run. A late answer may
    # have been the node's fault.
    return ran < min(killed.since - seconds(last.get("startedAt")) + SLACK, ONE_KILL)


def _being_killed(one: Container, began: float) -> Verdict | None:
    for event in reversed(one.events):
        match = _KILLED_BY.search(event.message) if event.reason == "Killing" else None
        if match and (not began or not event.last or event.last > began):
            return replace(
                _probe_verdict(
                    one, match["probe"], event, f"Container {one.name} is being killed by its {match['probe']} probe"
                ),
                since=event.first,
            )
    return None


def _starting(one: Container, ran: float) -> Verdict:
    probe = Probe.of(one.spec, "startup")
    budget = probe.budget if probe else 0.0
    remaining = max(0, round(budget - ran))
    detail = {
        "stage": "startup_probe",
        "probe": "startup",
        "container": one.name,
        "running_seconds": round(ran),
        "remaining_seconds": remaining,
    }
    failed = [event for event in one.events if event.reason == "Unhealthy" and event.message.startswith("Startup")]
    refused = failed[-1] if failed and _REFUSED.search(failed[-1].message) else None
    if refused is not None and refused.count >= REFUSED_OFTEN:
        # The port answers and has no such path: that is no slow start.
        return _probe_verdict(
            one, "startup", refused, f"Container {one.name} answers its startup probe with a refusal"
        ).noting(remaining_seconds=remaining)
    if budget and ran > budget + SLACK + (probe.period if probe else 0):
        return _probe_verdict(
            one, "startup", failed[-1] if failed else None, f"Container {one.name} has used up its startup probe's time"
        ).noting(remaining_seconds=0)
    return Verdict(
        "model_loading",
        f"Container {one.name} has been starting for {round(ran)} s; its startup probe allows {remaining} s more",
        tuple(quote(f"{event.reason}: {event.message} (x{event.count})") for event in failed[-1:]),
        "startup",
        detail,
    )


def _not_ready(one: Container, began: float, ran: float) -> Verdict:
    probe = Probe.of(one.spec, "readiness")
    failed = [
        event
        for event in one.events
        if event.reason == "Unhealthy"
        and event.message.startswith("Readiness")
        and (not began or event.last >= began - SLACK)
    ]
    count = max((event.count for event in failed), default=0)
    budget = probe.budget if probe else 0.0
    # Events are gone after an hour. Without a startup probe the time alone tells that the probe has failed too often.
    told = failed or Probe.of(one.spec, "startup") is None
    if probe and began and (count >= probe.failures or (told and ran > budget + SLACK + probe.period)):
        message = f"Container {one.name} runs and its readiness probe fails"
        verdict = _probe_verdict(one, "readiness", failed[-1] if failed else None, message)
        line = f"container {one.name}: running since {round(ran)} s, not ready; its probe allows {round(budget)} s"
        return replace(
            verdict.noting(line, running_seconds=round(ran)), since=failed[-1].first if failed else began + budget
        )
    return Verdict(
        "model_loading",
        f"Container {one.name} runs since {round(ran)} s and is not ready yet",
        tuple(quote(f"{event.reason}: {event.message} (x{event.count})") for event in failed[-1:]),
        "readiness",
        {
            "stage": "readiness_probe",
            "container": one.name,
            "running_seconds": round(ran),
            "remaining_seconds": max(0, round(budget - ran)),
        },
    )
