# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judgement before anything is changed: namespace, resource types, operator, dry runs, references, images.

It gathers every finding before it says stop, its own and those of the other judges (fit, pull secrets, render,
topology), so that all blockers are seen at once. What could not be read never passes; whether it stops the run is the
user's choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .demand import K8sObject, PodDemand
from .findings import Finding, Outcome, Reason, by_severity, worst
from .kinds import KINDS
from .podspecs import as_map, subject_of
from .reference_checks import ReferenceRequest, judge_images, judge_references
from .references import made_by, references_of
from .snapshot import Snapshot

NAMESPACE_PRESENT = Reason("preflight_namespace_present", "preflight", "The namespace exists.")
NAMESPACE_MISSING = Reason(
    "preflight_namespace_missing",
    "preflight",
    "The namespace does not exist.",
    "Create the namespace, or correct its name; it is never created by a deployment.",
)
NAMESPACE_TERMINATING = Reason(
    "preflight_namespace_terminating",
    "preflight",
    "The namespace is being deleted; nothing can be created in it.",
    "Wait until it is gone and create it anew, or use another.",
)
NAMESPACE_UNREADABLE = Reason(
    "preflight_namespace_unreadable",
    "preflight",
    "Whether the namespace exists could not be read.",
    "Grant the verb get on the namespace.",
)
NAMESPACE_DIFFERS = Reason(
    "preflight_namespace_differs",
    "preflight",
    "A manifest names another namespace than the one that is deployed to.",
    "Take the namespace out of the manifest, or deploy to the one it names.",
)
KIND_PRESENT = Reason("preflight_kind_present", "preflight", "The server has the manifest's kind in its API version.")
KIND_ABSENT = Reason(
    "preflight_kind_absent",
    "preflight",
    "The server does not have the manifest's kind or API version.",
    "Install the Dynamo operator with its CustomResourceDefinitions, or use an apiVersion that the server has.",
)
KIND_UNREADABLE = Reason(
    "preflight_kind_unreadable",
    "preflight",
    "Which kinds the server has could not be read; only the server-side dry run tells.",
    "Let the run's identity read the API's discovery.",
)
OPERATOR_PRESENT = Reason("preflight_operator_present", "preflight", "The Dynamo operator runs.")
OPERATOR_UNSEEN = Reason(
    "preflight_operator_unseen",
    "preflight",
    "The Dynamo operator's Deployment was not seen, so its release is not known and nobody may act on the DGD.",
    "Install the operator, or let the run's identity list Deployments in its namespace.",
)
OPERATOR_NOT_READY = Reason(
    "preflight_operator_not_ready",
    "preflight",
    "The Dynamo operator's Deployment has no ready pod.",
    "See why the operator's pod does not run.",
)
LIMITATION = Reason(
    "preflight_limitation",
    "preflight",
    "The run's identity may not read something that only advises; judgements that need it are unknown.",
    "Grant the permission to have it judged.",
)
DRY_RUN_ACCEPTED = Reason(
    "preflight_dry_run_accepted", "preflight", "The server would accept the object; it was sent as a dry run."
)
DRY_RUN_REFUSED = Reason(
    "preflight_dry_run_refused",
    "preflight",
    "The server refuses the object, by its schema or by an admission rule.",
    "Change what the server's message names.",
)
DRY_RUN_IMMUTABLE = Reason(
    "preflight_dry_run_immutable",
    "preflight",
    "The object exists and differs in fields that cannot be changed.",
    "Delete the object by name if nothing needs it, or give the manifest the values that it has.",
)
DRY_RUN_CONFLICT = Reason(
    "preflight_dry_run_conflict",
    "preflight",
    "Another field manager owns fields that the manifest sets to another value.",
    "Let the other manager give the fields up, take them out of the manifest, or take them over on purpose.",
)
DRY_RUN_FORBIDDEN = Reason(
    "preflight_dry_run_forbidden",
    "preflight",
    "The run's identity may not apply the object.",
    "Grant the verbs get, create and patch on the kind in the namespace.",
)
DRY_RUN_FAILED = Reason(
    "preflight_dry_run_failed",
    "preflight",
    "The server could not judge the object, for instance because a webhook does not answer.",
    "Run again; see whether the operator's webhook is up.",
)
REASONS: tuple[Reason, ...] = (
    NAMESPACE_PRESENT,
    NAMESPACE_MISSING,
    NAMESPACE_TERMINATING,
    NAMESPACE_UNREADABLE,
    NAMESPACE_DIFFERS,
    KIND_PRESENT,
    KIND_ABSENT,
    KIND_UNREADABLE,
    OPERATOR_PRESENT,
    OPERATOR_UNSEEN,
    OPERATOR_NOT_READY,
    LIMITATION,
    DRY_RUN_ACCEPTED,
    DRY_RUN_REFUSED,
    DRY_RUN_IMMUTABLE,
    DRY_RUN_CONFLICT,
    DRY_RUN_FORBIDDEN,
    DRY_RUN_FAILED,
)

UnknownPolicy = Literal["warn", "fail"]
#: Kinds that advise but decide nothing by themselves; that they are forbidden is a limitation of the run.
_ADVISORY = ("nodes", "pods", "storageclasses", "persistentvolumes", "priorityclasses", "customresourcedefinitions")
_IMMUTABLE = re.compile(r"field is immutable|is immutable after creation|topology is immutable", re.IGNORECASE)
_DGD = KINDS["DynamoGraphDeployment"]


@dataclass(frozen=True)
class PreflightRequest:
    """What is to be deployed, and the cluster it is to go to.

    ``definitions`` are the manifests' objects, the DGD among them; ``rendered`` what the operator will create;
    ``pods`` the pods it makes; ``findings`` those of the other judges; ``unknown`` what an unknown does to the run.
    """

    snapshot: Snapshot
    definitions: tuple[K8sObject, ...]
    rendered: tuple[K8sObject, ...] = ()
    pods: tuple[PodDemand, ...] = ()
    findings: tuple[Finding, ...] = ()
    unknown: UnknownPolicy = "warn"


@dataclass(frozen=True)
class PreflightReport:
    """All findings, the worst first; ``verdict`` is the worst outcome, ``blockers`` what stops the run."""

    findings: tuple[Finding, ...]
    verdict: Outcome
    blockers: tuple[Finding, ...] = ()

    def to_result(self) -> dict[str, Any]:
        """Return the report as plain data; ``stop`` says whether the run must not go on."""
        return {
            "verdict": self.verdict,
            "stop": bool(self.blockers),
            "blockers": [finding.message for finding in self.blockers],
            "findings": [finding.to_result() for finding in self.findings],
        }


def judge_preflight(request: PreflightRequest) -> PreflightReport:
    """Judge everything, then say whether to stop."""
    asked_pull_secrets = any(finding.check == "pull_secrets" for finding in request.findings)
    references = references_of(request.definitions, request.pods)
    own = [
        *_namespace(request.snapshot),
        *_namespaces_named(request),
        *_kinds(request),
        *_operator(request.snapshot),
        *_limitations(request.snapshot),
        *_dry_runs(request.snapshot),
        *judge_references(
            ReferenceRequest(
                references,
                made_by((*request.definitions, *request.rendered)),
                request.snapshot,
                request.definitions,
                skip_pull_secrets=asked_pull_secrets,
            )
        ),
        *judge_images(references),
    ]
    findings = by_severity(_told_once([*request.findings, *own]))
    stopping = ("fail", "unknown") if request.unknown == "fail" else ("fail",)
    blockers = tuple(finding for finding in findings if finding.outcome in stopping)
    return PreflightReport(findings, worst(findings), blockers)


def _told_once(findings: Iterable[Finding]) -> list[Finding]:
    """Drop repetitions: an image name that is refused is told by two judges."""
    result: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        code = "image_invalid" if finding.reason_code.endswith("_image_invalid") else finding.reason_code
        result.setdefault((code, finding.subject, finding.message if code != "image_invalid" else ""), finding)
    return list(result.values())


# -- namespace --------------------------------------------------------------------------------------------------------


def _namespace(snapshot: Snapshot) -> Iterator[Finding]:
    name = snapshot.namespace
    subject = f"Namespace/{name}"
    exists = snapshot.exists("namespaces", name)
    if exists is None:
        state = snapshot.state("namespaces")
        message = f"Whether namespace {name} exists is not known: {state.detail or state.state}."
        yield NAMESPACE_UNREADABLE.finding("unknown", subject, message)
    elif not exists:
        yield NAMESPACE_MISSING.finding("fail", subject, f"Namespace {name} does not exist.")
    elif as_map((snapshot.find("namespaces", name) or {}).get("metadata")).get("deletionTimestamp"):
        yield NAMESPACE_TERMINATING.finding("fail", subject, f"Namespace {name} is being deleted.")
    else:
        yield NAMESPACE_PRESENT.finding("pass", subject, f"Namespace {name} exists.")


def _namespaces_named(request: PreflightRequest) -> Iterator[Finding]:
    for item in request.definitions:
        named = as_map(item.get("metadata")).get("namespace")
        if named and named != request.snapshot.namespace and _is_namespaced(item):
            message = f"{subject_of(item)} names namespace {named}, not {request.snapshot.namespace}."
            yield NAMESPACE_DIFFERS.finding("fail", subject_of(item), message)


def _is_namespaced(item: K8sObject) -> bool:
    kind = KINDS.get(str(item.get("kind") or ""))
    return kind is None or kind.namespaced


# -- kinds and operator -----------------------------------------------------------------------------------------------


def _kinds(request: PreflightRequest) -> Iterator[Finding]:
    """Is every manifest's kind there? Discovery tells anybody who is logged in, also without rights on definitions."""
    versions = sorted(
        {(str(item.get("apiVersion") or ""), str(item.get("kind") or "")) for item in request.definitions}
    )
    for api_version, kind in versions:
        group = api_version.rpartition("/")[0]
        if not group:  # the core group is always there
            continue
        subject = f"{kind}/{api_version}"
        there = _is_served(request.snapshot, api_version, kind)
        if there is None:
            yield from _kind_unreadable(request.snapshot, subject, api_version, kind)
        elif there:
            yield KIND_PRESENT.finding("pass", subject, f"The server has {kind} in {api_version}.")
        else:
            served = [version for version in _list(request.snapshot, "api_versions") if version.startswith(f"{group}/")]
            message = f"The server does not have {kind} in {api_version}."
            evidence = [f"it has {', '.join(served)}" if served else f"it has no API group {group}"]
            yield KIND_ABSENT.finding("fail", subject, message, evidence)


def _list(snapshot: Snapshot, name: str) -> tuple[str, ...]:
    return tuple(map(str, snapshot.data.get(name) or ()))


def _is_served(snapshot: Snapshot, api_version: str, kind: str) -> bool | None:
    if snapshot.state("api_groups").state != "observed":
        return None
    if api_version not in _list(snapshot, "api_versions"):
        return False
    known = KINDS.get(kind)
    resources = _list(snapshot, "api_resources")
    return True if known is None or not resources else known.resource in resources


def _kind_unreadable(snapshot: Snapshot, subject: str, api_version: str, kind: str) -> Iterator[Finding]:
    """The server's dry run is the better witness where discovery fails."""
    accepted = any(
        (run.get("apiVersion"), run.get("kind"), run.get("outcome")) == (api_version, kind, "accepted")
        for run in snapshot.data.get("dry_runs") or ()
    )
    state = snapshot.state("api_groups")
    message = f"Whether the server has {kind} in {api_version} could not be read: {state.detail or state.state}."
    if accepted:
        message += " Its dry run was accepted."
    yield KIND_UNREADABLE.finding("warn" if accepted else "unknown", subject, message)


def _operator(snapshot: Snapshot) -> Iterator[Finding]:
    facts, subject = snapshot.operator, "Operator/dynamo"
    if facts.ready is None:
        evidence = facts.evidence or "the snapshot says nothing of it"
        yield OPERATOR_UNSEEN.finding("unknown", subject, f"The Dynamo operator was not seen: {evidence}.")
    elif not facts.ready:
        yield OPERATOR_NOT_READY.finding("warn", subject, "The Dynamo operator has no ready pod.", [facts.evidence])
    else:
        release = facts.release or "of unknown release"
        yield OPERATOR_PRESENT.finding("pass", subject, f"The Dynamo operator {release} runs.", [facts.evidence])


def _limitations(snapshot: Snapshot) -> Iterator[Finding]:
    for plural in _ADVISORY:
        state = snapshot.state(plural)
        if state.state in ("forbidden", "error"):
            message = f"{plural} could not be read: {state.detail or state.state}."
            yield LIMITATION.finding("warn", f"Kind/{plural}", message)


# -- dry runs ---------------------------------------------------------------------------------------------------------

_DRY_RUN: Mapping[str, tuple[Reason, Outcome]] = {
    "accepted": (DRY_RUN_ACCEPTED, "pass"),
    "refused": (DRY_RUN_REFUSED, "fail"),
    "conflict": (DRY_RUN_CONFLICT, "fail"),
    "forbidden": (DRY_RUN_FORBIDDEN, "fail"),
}


def _dry_runs(snapshot: Snapshot) -> Iterator[Finding]:
    for run in snapshot.data.get("dry_runs") or ():
        subject = f"{run.get('kind')}/{run.get('name')}"
        text = str(run.get("message") or "")
        reason, outcome = _DRY_RUN.get(str(run.get("outcome")), (DRY_RUN_FAILED, "unknown"))
        if reason is DRY_RUN_REFUSED and _IMMUTABLE.search(text):
            # A Job that has run is kept or replaced later, on purpose; anything else would be refused.
            reason, outcome = DRY_RUN_IMMUTABLE, "warn" if run.get("kind") == "Job" else "fail"
        if outcome == "pass":
            yield reason.finding(outcome, subject, f"The server would accept {subject}.")
        else:
            yield reason.finding(
                outcome, subject, f"{subject}: {reason.meaning[0].lower()}{reason.meaning[1:]}", [text]
            )
