# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Job has come to: complete, failed with its reason, still at work, or gone while nobody looked.

Sources: ``batch/v1`` conditions (Kubernetes 1.28 to 1.37). From 1.31 on a finished Job carries ``SuccessCriteriaMet``
(or ``FailureTarget``) beside ``Complete`` (or ``Failed``); alone they only announce the end while pods still run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from .demand import K8sObject
from .findings import Finding, Reason

JobState = Literal["complete", "failed", "active", "suspended", "deleting", "absent", "unknown_finished", "replaced"]
#: In these states the Job will not change any more.
FINISHED: frozenset[str] = frozenset({"complete", "failed", "unknown_finished", "replaced"})

CHECK = "jobs"
JOB_COMPLETE = Reason("job_complete", CHECK, "The Job has completed")
JOB_FAILED = Reason(
    "job_failed", CHECK, "The Job has failed", "Read its pods' last log lines, mend the cause, and run the Job anew."
)
JOB_ACTIVE = Reason("job_active", CHECK, "The Job is at work")
JOB_SUSPENDED = Reason(
    "job_suspended",
    CHECK,
    "The Job is suspended",
    "Resume it (spec.suspend: false), or look at the queue that holds it.",
)
JOB_VANISHED = Reason(
    "job_vanished",
    CHECK,
    "The Job is gone and nothing proves how it ended",
    "A Job with ttlSecondsAfterFinished is deleted after its end. Check what it was to produce, or run it anew.",
)
JOB_REPLACED = Reason(
    "job_replaced",
    CHECK,
    "Another Job of the same name took the place of the one waited for",
    "Find out who created it; its outcome is not ours.",
)
JOB_ABSENT = Reason("job_absent", CHECK, "There is no such Job", "Apply the Job first.")
REASONS: tuple[Reason, ...] = (
    JOB_COMPLETE,
    JOB_FAILED,
    JOB_ACTIVE,
    JOB_SUSPENDED,
    JOB_VANISHED,
    JOB_REPLACED,
    JOB_ABSENT,
)

_FAILURES = {
    "BackoffLimitExceeded": "its pods failed more often than backoffLimit allows",
    "DeadlineExceeded": "it ran longer than activeDeadlineSeconds",
    "PodFailurePolicy": "a pod failed in a way that podFailurePolicy makes final",
    "MaxFailedIndexesExceeded": "more indexes failed than maxFailedIndexes allows",
    "FailedIndexes": "some of its indexes failed",
}


@dataclass(frozen=True)
class JobReport:
    """A Job's state. ``proof`` are the lines that show it."""

    name: str
    state: JobState
    reason: str = ""
    message: str = ""
    succeeded: int = 0
    failed: int = 0
    active: int = 0
    completions: int = 1
    uid: str = ""
    proof: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        """Whether it will not change any more."""
        return self.state in FINISHED

    @property
    def success(self) -> bool:
        """Whether it is proven to have completed."""
        return self.state == "complete"

    def to_result(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "name": self.name,
            "state": self.state,
            "reason": self.reason,
            "message": self.message,
            "succeeded": self.succeeded,
            "failed": self.failed,
            "active": self.active,
            "completions": self.completions,
            "uid": self.uid,
            "finished": self.finished,
            "success": self.success,
            "proof": list(self.proof),
        }

    def to_finding(self) -> Finding:
        """Return the report in the finding contract."""
        subject = f"Job/{self.name}"
        if self.state == "complete":
            return JOB_COMPLETE.finding("pass", subject, self.message, self.proof)
        if self.state == "failed":
            return JOB_FAILED.finding("fail", subject, self.message, self.proof)
        if self.state == "suspended":
            return JOB_SUSPENDED.finding("warn", subject, self.message, self.proof)
        if self.state == "unknown_finished":
            return JOB_VANISHED.finding("fail", subject, self.message, self.proof)
        if self.state == "replaced":
            return JOB_REPLACED.finding("fail", subject, self.message, self.proof)
        if self.state == "absent":
            return JOB_ABSENT.finding("fail", subject, self.message, self.proof)
        return JOB_ACTIVE.finding("pass", subject, self.message, self.proof)


def job_state(
    job: K8sObject | None,
    *,
    name: str = "",
    uid: str = "",
    last_seen: K8sObject | None = None,
    pods: Sequence[K8sObject] = (),
    events: Sequence[K8sObject] = (),
) -> JobReport:
    """Judge a Job, or with ``job=None`` how one ended that is not there any more.

    ``uid`` is that of the Job waited for, where known: a Job of another UID is not ours. ``last_seen`` is the Job as it
    was last read. A missing Job is never a success by itself: it takes its own last status, its pods, or its
    controller's event.
    """
    wanted = uid or _uid(last_seen)
    if job is not None and wanted and _uid(job) and _uid(job) != wanted:
        gone = _gone(name or _name(job), wanted, last_seen, pods, events)
        if gone.state in ("complete", "failed"):
            return gone
        line = f"Job {_name(job)} has UID {_uid(job)}, the one waited for had {wanted}"
        return JobReport(_name(job), "replaced", message=JOB_REPLACED.meaning, uid=wanted, proof=(line,))
    if job is None:
        if not wanted:
            return JobReport(name, "absent", message=f"There is no Job {name}")
        return _gone(name or _name(last_seen or {}), wanted, last_seen, pods, events)
    return _live(job)


def _live(job: K8sObject) -> JobReport:
    spec, status = job.get("spec") or {}, job.get("status") or {}
    true = {str(one.get("type")): one for one in status.get("conditions") or () if one.get("status") == "True"}
    wanted = spec.get("completions")
    completions = wanted if isinstance(wanted, int) else 1
    base = JobReport(
        name=_name(job),
        state="active",
        succeeded=int(status.get("succeeded") or 0),
        failed=int(status.get("failed") or 0),
        active=int(status.get("active") or 0),
        completions=completions,
        uid=_uid(job),
    )
    if "Failed" in true:
        return _ended(base, "failed", true["Failed"])
    if "Complete" in true:
        return _ended(base, "complete", true["Complete"])
    counts = f"{base.succeeded} of {completions} completed, {base.active} active, {base.failed} failed"
    if (job.get("metadata") or {}).get("deletionTimestamp"):
        return replace(base, state="deleting", message=f"It is being deleted ({counts})")
    if "Suspended" in true or spec.get("suspend") is True:
        return replace(base, state="suspended", reason="Suspended", message=f"It is suspended ({counts})")
    if "FailureTarget" in true:
        told = true["FailureTarget"]
        return replace(
            base,
            state="active",
            reason=str(told.get("reason") or ""),
            message=f"It is failing, its pods are being ended ({counts})",
        )
    if "SuccessCriteriaMet" in true:
        return replace(
            base,
            state="active",
            reason="SuccessCriteriaMet",
            message=f"It has succeeded, its pods are ending ({counts})",
        )
    return replace(base, state="active", message=counts)


def _ended(base: JobReport, state: Literal["complete", "failed"], told: K8sObject) -> JobReport:
    reason, text = str(told.get("reason") or ""), str(told.get("message") or "")
    why = _FAILURES.get(reason, "") if state == "failed" else ""
    message = f"It has {'failed' if state == 'failed' else 'completed'}" + (f": {why or text}" if why or text else "")
    line = f"Job {base.name}: {told.get('type')} {reason}: {text}".rstrip(": ")
    return replace(base, state=state, reason=reason, message=message, proof=(line,))


def _gone(
    name: str, uid: str, last_seen: K8sObject | None, pods: Sequence[K8sObject], events: Sequence[K8sObject]
) -> JobReport:
    if last_seen is not None:
        last = _live(last_seen)
        if last.state in ("complete", "failed"):
            return replace(last, proof=(*last.proof, "the Job has been deleted since"))
    wanted = _live(last_seen).completions if last_seen is not None else 1
    proof: list[str] = []
    for event in events:
        about = event.get("involvedObject") or event.get("regarding") or {}
        if about.get("kind") != "Job" or about.get("uid") != uid:
            continue
        reason = str(event.get("reason") or "")
        line = f"event {reason}: {event.get('message') or event.get('note') or ''}"
        if reason == "Completed":
            return JobReport(
                name, "complete", "CompletionsReached", "It has completed and was deleted", uid=uid, proof=(line,)
            )
        if reason in _FAILURES:
            return JobReport(name, "failed", reason, f"It has failed: {_FAILURES[reason]}", uid=uid, proof=(line,))
        proof.append(line)
    own = [
        pod
        for pod in pods
        if any(owner.get("uid") == uid for owner in (pod.get("metadata") or {}).get("ownerReferences") or ())
    ]
    phases = [str((pod.get("status") or {}).get("phase") or "") for pod in own]
    proof += [f"pod {_name(pod)}: {phase}" for pod, phase in zip(own, phases, strict=True)]
    if phases.count("Succeeded") >= wanted:
        return JobReport(
            name,
            "complete",
            "",
            "Its pods have succeeded and it was deleted",
            phases.count("Succeeded"),
            uid=uid,
            completions=wanted,
            proof=tuple(proof),
        )
    return JobReport(
        name, "unknown_finished", "", JOB_VANISHED.meaning, uid=uid, completions=wanted, proof=tuple(proof)
    )


def _name(obj: K8sObject) -> str:
    return str((obj.get("metadata") or {}).get("name") or "")


def _uid(obj: K8sObject | None) -> str:
    return str(((obj or {}).get("metadata") or {}).get("uid") or "")
