# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole judgement before anything is changed: manifests and one snapshot in, all findings and a placement out.

It asks the judges one after another: what pods come of the DGD, do they fit, do their images get a credential, is
everything there that they name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from .demand import K8sObject
from .findings import Finding, Outcome, Reason, by_severity, worst
from .fit.judge import judge_fit
from .fit.report import FitReport, FitRequest
from .manifest import choose_dgd, documents_of
from .pinned import PINNED_UNKNOWN
from .preflight import LIMITATION, PreflightRequest, judge_preflight
from .pull_request import manifest_uses, pod_uses, snapshot_request
from .pull_secrets import MatchReport, match_pull_secrets
from .rendering import RenderOptions, RenderReport, render_document
from .snapshot import Snapshot

NOT_EXPANDED = Reason(
    "plan_not_expanded",
    "gpu_fit",
    "The pods are not known, so whether they fit is not known either.",
    "Mend what the DGD is refused for; then its pods can be placed.",
)
REASONS: tuple[Reason, ...] = (NOT_EXPANDED,)
#: What must be verified before anything is changed: not known stops as well, unless a person accepts it.
_MUST_BE_KNOWN = frozenset({PINNED_UNKNOWN.code})


@dataclass(frozen=True)
class PlanRequest:
    """What is to be deployed and where. ``definitions`` are the objects of all manifests, one DGD among them.

    ``namespace`` is the snapshot's where it is empty; ``config`` are the operator's settings by option name;
    ``retiring`` and ``run_dgds`` as in :class:`FitRequest`. ``findings`` are known already. Findings whose code is
    in ``accepted`` warn instead of stopping; ``unknown`` says whether an unknown stops (that of a pinned knob does).
    """

    definitions: tuple[K8sObject, ...]
    snapshot: Snapshot
    namespace: str = ""
    release: str = "auto"
    pathway: str = "auto"
    config: Mapping[str, Any] = field(default_factory=dict)
    retiring: tuple[str, ...] = ()
    run_dgds: tuple[str, ...] = ()
    gpu_ceiling: int | None = None
    findings: tuple[Finding, ...] = ()
    accepted: frozenset[str] = frozenset()
    unknown: Literal["warn", "fail"] = "warn"
    #: Another release of the operator, to say what an upgrade would change; empty for none.
    compare_to: str = ""


@dataclass(frozen=True)
class PlanReport:
    """The answer. ``fit`` is ``None`` where the DGD is refused; ``ok`` says whether the run may go on."""

    namespace: str
    outcome: Outcome
    ok: bool
    findings: tuple[Finding, ...]
    render: RenderReport
    fit: FitReport | None
    pull_secrets: MatchReport

    @property
    def verdict(self) -> str:
        """``fits``, ``does_not_fit`` or ``unknown``."""
        return self.fit.verdict if self.fit is not None else "unknown"

    @property
    def gpus_requested(self) -> int:
        """The GPUs that the pods ask for, over all GPU resources; 0 where it is not known."""
        return sum(self.fit.holdings.demanded.values()) if self.fit is not None else 0

    def to_result(self) -> dict[str, Any]:
        """Return the report as plain data for a role's result."""
        return {
            "verdict": self.verdict,
            "outcome": self.outcome,
            "ok": self.ok,
            "namespace": self.namespace,
            "findings": [finding.to_result() for finding in self.findings],
            "fit": self.fit.to_result() if self.fit is not None else {},
            "render": self.render.to_result(),
            "pull_secrets": self.pull_secrets.to_result(),
            "gpus_requested": self.gpus_requested,
            "limitations": [finding.to_result() for finding in self.findings if finding.reason_code == LIMITATION.code],
        }


def make_plan(request: PlanRequest, *, clock: Callable[[], float], time_limit: float) -> PlanReport:
    """Judge everything. ``clock`` gives seconds and ``time_limit`` bounds the search for a placement.

    Raises :class:`InputError` where the manifests hold no single DGD or the question makes no sense.
    """
    snapshot = request.snapshot
    namespace = request.namespace or snapshot.namespace
    rendered = render_document(
        choose_dgd(documents_of(list(request.definitions), "the manifests")),
        RenderOptions(
            namespace, request.release, request.pathway, request.config, None, snapshot, compare_to=request.compare_to
        ),
    )
    findings = [*request.findings, *rendered.findings]
    fit = None
    if rendered.rejections:
        findings.append(NOT_EXPANDED.finding("unknown", "pods", NOT_EXPANDED.meaning))
    else:
        fit = judge_fit(_fit_request(request, rendered, namespace), clock=clock, time_limit=time_limit)
        findings += fit.findings
    pods = rendered.result.pods
    uses = (*pod_uses(pods), *manifest_uses(request.definitions))
    pulls = match_pull_secrets(snapshot_request(uses, snapshot, request.release))
    findings += pulls.findings
    judged = judge_preflight(
        PreflightRequest(snapshot, request.definitions, rendered.result.objects, pods, tuple(findings))
    )
    told = by_severity(_accepted(finding, request.accepted) for finding in judged.findings)
    outcome = worst(told)
    ok = not any(_stops(finding, request.unknown) for finding in told)
    return PlanReport(namespace, outcome, ok, told, rendered, fit, pulls)


def _stops(finding: Finding, unknown: str) -> bool:
    if finding.outcome == "unknown":
        return unknown == "fail" or finding.reason_code in _MUST_BE_KNOWN
    return finding.outcome == "fail"


def _fit_request(request: PlanRequest, rendered: RenderReport, namespace: str) -> FitRequest:
    claims = [item for item in request.definitions if item.get("kind") == "PersistentVolumeClaim"]
    return FitRequest(
        demands=rendered.result.pods,
        cluster=request.snapshot.data,
        namespace=namespace,
        dgd_name=rendered.document.name,
        retiring=request.retiring,
        run_dgds=request.run_dgds,
        gpu_ceiling=request.gpu_ceiling,
        claims=tuple(_placed(claim, namespace) for claim in claims),
    )


def _placed(item: K8sObject, namespace: str) -> K8sObject:
    """Return the object in its namespace, as the API server would put it."""
    return {**item, "metadata": {"namespace": namespace, **(item.get("metadata") or {})}}


def _accepted(finding: Finding, codes: frozenset[str]) -> Finding:
    if finding.reason_code in codes and finding.outcome in ("fail", "unknown"):
        return replace(finding, outcome="warn")
    return finding
