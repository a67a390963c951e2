# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One judgement of what a wait waits for, and its result as plain data: the same live, and from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from . import keys
from .claims import claim_state
from .demand import K8sObject, PodDemand
from .discovery import KUBERNETES, Access, judge_discovery
from .findings import Finding
from .jobs import JobReport, job_state
from .readiness import (
    CRASHES,
    Decision,
    Outage,
    WaitPolicy,
    WaitState,
    duration,
    failed_attempt,
    next_check,
    top_reasons,
)
from .teardown import judge_deletion
from .topology import leftover_findings, leftovers
from .triage import Affected, Cause, ClusterState, ComponentView, TriageReport, seconds, triage, triage_pods
from .triage.pods import gpus
from .triage.refusals import refused
from .triage.state import condition, meta, name_of

WaitFor = Literal["jobs", "dgd", "pvc", "deletion"]
#: How long an object that was just applied may still be missing.
APPEARS = 10.0
#: What an outage is about: no component.
API_SERVER = "API server"


@dataclass(frozen=True)
class WaitRequest:
    """What is waited for. ``platform`` is the discovery backend of the platform."""

    wait_for: WaitFor
    namespace: str
    names: tuple[str, ...]
    policy: WaitPolicy
    kind: str = keys.DGD_KIND
    plural: str = keys.DGD_PLURAL
    api_version: str = keys.V1ALPHA1
    uids: Mapping[str, str] = field(default_factory=dict)
    demands: tuple[PodDemand, ...] = ()
    objects: tuple[K8sObject, ...] = ()
    check_discovery: bool = True
    platform: str = KUBERNETES

    @property
    def dgd(self) -> str:
        """The DGD's name, where one is concerned."""
        of_a_dgd = self.wait_for == "dgd" or (self.wait_for == "deletion" and self.kind == keys.DGD_KIND)
        return self.names[0] if of_a_dgd and self.names else ""


@dataclass(frozen=True)
class Sight:
    """What was read for one judgement. ``job_memory`` holds Jobs as last seen, ``unread`` kinds with the reason."""

    state: ClusterState
    elapsed: float
    job_memory: Mapping[str, K8sObject] = field(default_factory=dict)
    access: tuple[Access, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    operator_runs: bool | None = None
    outage: Outage | None = None


@dataclass(frozen=True)
class Judgement:
    """A judgement: the report that is decided on, findings beside it, and the parts of the result that belong to it.

    ``final`` ends the wait at once, whatever the graces.
    """

    report: TriageReport
    findings: tuple[Finding, ...] = ()
    parts: Mapping[str, Any] = field(default_factory=dict)
    final: WaitState | None = None

    @property
    def blind(self) -> bool:
        """Whether it is an older judgement, kept while nothing new can be seen."""
        return any(cause.about == API_SERVER for cause in self.report.causes)


def judge(request: WaitRequest, sight: Sight) -> Judgement:
    """Judge what was read."""
    if request.wait_for == "dgd":
        return _dgd(request, sight)
    if request.wait_for == "jobs":
        return _jobs(request, sight)
    if request.wait_for == "pvc":
        return _claims(request, sight)
    return _deletion(request, sight)


def keep(before: Judgement | None, outage: Outage, request: WaitRequest) -> Judgement:
    """Return the judgement of a time without sight: what was seen last, and before it that it is not new."""
    known = before.report if before is not None else _waiting(", ".join(request.names), "was not read yet")
    silent = duration(outage.silent)
    message = f"not heard of for {silent}: {outage.detail}"
    if not outage.detail:
        message = f"heard of again after {silent}; what was missed is still coming"
    cause = Cause(
        "unknown",
        "investigate",
        message,
        (outage.detail,) if outage.detail else (),
        "Look at the API server and the way to it. What is said of the workload is as last seen.",
        (),
        {"silent_seconds": round(outage.silent)},
        "outage",
        about=API_SERVER,
    )
    others = tuple(one for one in known.causes if one.about != API_SERVER)
    report = replace(known, causes=(cause, *others), ready=False)
    if before is None:
        return Judgement(report)
    return replace(before, report=report, final=None)


def conclude(judgement: Judgement, decision: Decision) -> Decision:
    """Let a judgement's own end outrank the table's graces."""
    if judgement.final is None or decision.state == "ready":
        return decision
    return replace(decision, state=judgement.final, cause=judgement.report.primary)


# --- a DGD ------------------------------------------------------------------------------------------------------------


def _dgd(request: WaitRequest, sight: Sight) -> Judgement:
    state = sight.state
    if state.graph is None:
        if sight.elapsed < APPEARS and request.policy.timeout > 0:
            return Judgement(_waiting(request.dgd, "is not there yet"))
        missing = _cause(
            "config_missing",
            "fix_dependency",
            f"There is no DynamoGraphDeployment {request.dgd}",
            (),
            "Apply it first.",
        )
        return Judgement(TriageReport((missing,), ()), final="failed")
    report = triage(state)
    left = leftovers(state, request.objects)
    findings = list(leftover_findings(state, left))
    parts: dict[str, Any] = {"leftovers": [one.to_result() for one in left]}
    # Registration lags readiness, so before readiness it says nothing.
    if request.check_discovery and report.ready:
        found = judge_discovery(state, platform=request.platform, access=sight.access, unread=sight.unread)
        findings += found.findings
        parts["discovery"] = found.to_result()
    return Judgement(report, tuple(findings), parts)


def _waiting(component: str, text: str) -> TriageReport:
    return TriageReport((), (ComponentView(component, 1, 0, "model_loading", text),))


def _cause(category: str, way: Any, message: str, evidence: Sequence[str], remedy: str, component: str = "") -> Cause:
    affected = (Affected(component, 1),) if component else ()
    return Cause(category, way, message, tuple(evidence), remedy, affected, {}, message)


# --- Jobs -------------------------------------------------------------------------------------------------------------


def _jobs(request: WaitRequest, sight: Sight) -> Judgement:
    state = sight.state
    live = {name_of(job): job for job in state.of("jobs")}
    reports = [
        job_state(
            live.get(name),
            name=name,
            uid=request.uids.get(name, ""),
            last_seen=sight.job_memory.get(name),
            pods=state.of("pods"),
            events=state.of("events"),
        )
        for name in request.names
    ]
    causes = [
        cause
        for report in reports
        if not report.finished
        for cause in _job_causes(report, live.get(report.name), state)
    ]
    failed = [report for report in reports if report.finished and not report.success]
    absent = [report for report in reports if report.state == "absent"]
    causes = [_job_failure(report, state) for report in failed] + causes
    final: WaitState | None = "failed" if failed else None
    if absent and (sight.elapsed >= APPEARS or request.policy.timeout <= 0):
        causes = [
            _cause("config_missing", "fix_dependency", one.message, one.proof, "Apply the Job first.", one.name)
            for one in absent
        ] + causes
        final = "failed"
    views = tuple(
        ComponentView(
            one.name,
            one.completions,
            one.succeeded if not one.success else one.completions,
            "ready" if one.success else "model_loading",
            one.message,
        )
        for one in reports
    )
    return Judgement(
        TriageReport(tuple(causes), views, ready=all(one.success for one in reports)),
        tuple(one.to_finding() for one in reports),
        {"jobs": [one.to_result() for one in reports]},
        final,
    )


def _pods_of(job: K8sObject, state: ClusterState) -> list[K8sObject]:
    uid = meta(job).get("uid")
    return [
        pod
        for pod in state.of("pods")
        if any(owner.get("uid") == uid for owner in meta(pod).get("ownerReferences") or ())
    ]


def _job_causes(report: JobReport, job: K8sObject | None, state: ClusterState) -> list[Cause]:
    """Why a Job is not done yet; crashes and pods that are lost are its own business until its back-off limit."""
    if job is None:
        return []
    pods = _pods_of(job, state)
    dead = [pod for pod in pods if (pod.get("status") or {}).get("phase") == "Failed"]
    alive = triage_pods(state, [pod for pod in pods if pod not in dead], report.name)
    causes = [replace(one, way="wait") if one.category in CRASHES else one for one in alive]
    causes += [replace(one, way="wait") for one in triage_pods(state, dead, report.name)]
    causes = [one for one in causes if one.category != "model_loading"]
    only = replace(state, dgd="", objects={"jobs": (job,), "events": state.of("events")})
    for _component, verdict in refused(only):
        causes.append(
            Cause(
                verdict.category,
                verdict.effective_way,
                verdict.message,
                verdict.evidence,
                verdict.remedy,
                (Affected(report.name, 1),),
                verdict.detail,
                verdict.key,
            )
        )
    return causes


def _job_failure(report: JobReport, state: ClusterState) -> Cause:
    """The cause of a Job's failure: what its pods died of, or the Job's own reason."""
    pods = [
        pod
        for pod in state.of("pods")
        if any(owner.get("uid") == report.uid for owner in meta(pod).get("ownerReferences") or ())
        or report.name in (meta(pod).get("labels") or {}).values()
    ]
    found = [
        cause for cause in triage_pods(state, pods, report.name) if cause.category not in ("model_loading", "unknown")
    ]
    if found:
        first = found[0]
        return replace(first, message=f"{report.message}; {first.message}", evidence=(*report.proof, *first.evidence))
    return _cause("unknown", "failed_deploy", report.message, report.proof, report.to_finding().remedy, report.name)


# --- claims -----------------------------------------------------------------------------------------------------------


def _claims(request: WaitRequest, sight: Sight) -> Judgement:
    state = sight.state
    live = {name_of(claim): claim for claim in state.of("persistentvolumeclaims")}
    classes = state.of("storageclasses") if "storageclasses" in state.objects else None
    reports = []
    for name in request.names:
        claim = live.get(name)
        events = state.events_of("PersistentVolumeClaim", claim) if claim is not None else ()
        reports.append(claim_state(claim, name, events, classes, state.of("pods")))
    missing = [one for one in reports if one.state == "absent"]
    final: WaitState | None = (
        "failed" if missing and (sight.elapsed >= APPEARS or request.policy.timeout <= 0) else None
    )
    causes = [
        _cause("pvc", "fix_dependency", one.message, one.evidence, one.to_finding().remedy, one.name)
        for one in reports
        if one.state == "failed" or (final and one.state == "absent")
    ]
    views = tuple(
        ComponentView(one.name, 1, int(one.usable), "ready" if one.usable else "pvc", "" if one.usable else one.message)
        for one in reports
    )
    return Judgement(
        TriageReport(tuple(causes), views, ready=all(one.usable for one in reports)),
        tuple(one.to_finding() for one in reports),
        {"claims": [one.to_result() for one in reports]},
        final,
    )


# --- a deletion -------------------------------------------------------------------------------------------------------


def _deletion(request: WaitRequest, sight: Sight) -> Judgement:
    state = sight.state
    targets = [obj for obj in state.of(request.plural) if name_of(obj) in request.names]
    report = judge_deletion(state, targets, kind=request.kind, uids=request.uids, operator_runs=sight.operator_runs)
    causes = tuple(
        _cause(
            "operator_error",
            "fix_dependency",
            f"{finding.subject}: {finding.message}",
            finding.evidence,
            finding.remedy,
        )
        for finding in report.findings
        if finding.outcome == "fail"
    )
    left = len(report.remaining)
    what = ", ".join(f"{one.kind} {one.name} ({one.holder})" for one in report.remaining[:3])
    view = ComponentView(
        ", ".join(request.names),
        1,
        int(report.gone),
        "ready" if report.gone else "model_loading",
        f"{left} objects left: {what}" if left else "",
    )
    final: WaitState | None = "failed" if report.recreated else None
    return Judgement(
        TriageReport(causes, (view,), ready=report.gone and not report.recreated),
        report.findings,
        {"deletion": report.to_result()},
        final,
    )


# --- the result -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Clocked:
    """When things happened, as RFC 3339 texts, and how long it took."""

    started_at: str
    finished_at: str
    elapsed: float
    next_at: str
    ready_after: Mapping[str, float] = field(default_factory=dict)


def wait_result(
    request: WaitRequest, judgement: Judgement, decision: Decision, sight: Sight, clocked: Clocked
) -> dict[str, Any]:
    """Return a wait's result: everything but what only the collector knows (progress, requests, kinds)."""
    report = judgement.report
    cause = decision.cause or report.primary
    state = decision.state
    ready = state == "ready"
    return {
        "state": state,
        "way": "none" if ready else cause.way if cause else report.way,
        "category": "ready" if ready else cause.category if cause else report.category,
        "msg": _sentence(request, state, cause, clocked.elapsed),
        "causes": [] if ready else [one.to_result() for one in report.causes],
        "findings": [finding.to_result() for finding in (*report.findings, *judgement.findings)],
        "components": [one.to_result() for one in report.components],
        "top_reasons": [] if ready else top_reasons(report),
        "evidence": [] if ready or cause is None else list(cause.evidence),
        "failed_attempt": {} if ready else failed_attempt(cause, clocked.finished_at),
        "next_check": next_check(cause, state, request.policy.progress_interval, clocked.next_at),
        "timings": {
            "started_at": clocked.started_at,
            "finished_at": clocked.finished_at,
            "elapsed_seconds": round(clocked.elapsed, 3),
            "allocated_at": allocated_at(sight.state),
            "ready_at": clocked.finished_at if ready else "",
            "components": {name: round(after, 3) for name, after in sorted(clocked.ready_after.items())},
        },
        **judgement.parts,
    }


def _sentence(request: WaitRequest, state: WaitState, cause: Cause | None, elapsed: float) -> str:
    what = f"{request.wait_for} {', '.join(request.names)}"
    why = f": {cause.where}: {cause.category}: {cause.message}" if cause else ""
    if state == "ready":
        return f"{what}: ready after {round(elapsed)} s"
    if state == "failed":
        return f"{what}: failed after {round(elapsed)} s{why}"
    if state == "timeout":
        return f"{what}: not ready within {round(request.policy.timeout)} s{why}"
    return f"{what}: progressing{why}"


def allocated_at(state: ClusterState) -> str:
    """Return when the first living GPU pod was scheduled; "" where none was. GPU hours count from then."""
    times = []
    for pod in state.pods:
        said = condition(pod, "PodScheduled")
        if gpus(pod) and said.get("status") == "True":
            at = str(said.get("lastTransitionTime") or meta(pod).get("creationTimestamp") or "")
            times.append((seconds(at), at))
    return min(times)[1] if times else ""
