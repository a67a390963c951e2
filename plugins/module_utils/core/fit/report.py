# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes into a judgement of fit and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ..demand import K8sObject, PodDemand
from ..findings import Finding, Reason

Verdict = Literal["fits", "does_not_fit", "unknown"]
CHECK = "gpu_fit"

FITS = Reason("fit_fits", CHECK, "All pods can be placed at the same time.")
DOES_NOT_FIT = Reason(
    "fit_does_not_fit",
    CHECK,
    "No placement of all pods exists.",
    "Ask for fewer replicas, free capacity, or wait for it; the suggestions were tried.",
)
UNKNOWN = Reason(
    "fit_unknown",
    CHECK,
    "Whether all pods can be placed could not be judged.",
    "Give the reader the missing rights, or a longer time_limit, and judge again.",
)
PREEMPTING = Reason(
    "fit_only_by_preempting",
    CHECK,
    "The pods fit only if pods of lower priority are evicted.",
    "Ask the owners of those pods first; eviction is never taken for granted here.",
)
PREDICTION = Reason(
    "fit_prediction_pending",
    CHECK,
    "A placement exists, but the default scheduler's own order and scoring would miss it.",
    "Apply the largest pods first, or scale up component by component in the order of the placement.",
)
CEILING = Reason(
    "fit_gpu_ceiling",
    CHECK,
    "The run would hold more GPUs than its ceiling.",
    "Ask for fewer replicas or retire another deployment of the run first.",
)
QUOTA = Reason(
    "fit_quota",
    CHECK,
    "A resource quota of the namespace keeps some pods from being created.",
    "Ask for less, or have the quota raised.",
)
QUOTA_UNKNOWN = Reason(
    "fit_quota_unknown",
    CHECK,
    "The namespace's quotas or limit ranges could not be read.",
    "Give the reader the right to list resource quotas and limit ranges.",
)
REFUSED = Reason(
    "fit_refused", CHECK, "The API server would refuse the pods.", "Mend what the message names in the manifest."
)
GATED = Reason(
    "fit_scheduling_gate",
    CHECK,
    "Pods wait for scheduling gates before they are scheduled.",
    "Whoever set the gates has to remove them.",
)
GANG = Reason(
    "fit_gang_incomplete",
    CHECK,
    "The default scheduler would place only some members of a gang, which then hold GPUs and wait.",
    "Use a scheduler that places gangs whole, or apply when there is room for all members.",
)
SHARED = Reason(
    "fit_shared_gpu",
    CHECK,
    "A pod asks for more than one share of a shared GPU, which need not be different GPUs.",
    "Send the pod to nodes whose GPUs are not shared.",
)
VOLUME = Reason(
    "fit_volume_assumed",
    CHECK,
    "A volume that is not there yet is taken to be reachable from every node.",
    "Bind the claim first and judge again.",
)
REASONS: tuple[Reason, ...] = (
    FITS,
    DOES_NOT_FIT,
    UNKNOWN,
    PREEMPTING,
    PREDICTION,
    CEILING,
    QUOTA,
    QUOTA_UNKNOWN,
    REFUSED,
    GATED,
    GANG,
    SHARED,
    VOLUME,
)


@dataclass(frozen=True)
class FitRequest:
    """The pods, the cluster (a snapshot's kinds of objects), and whose GPUs count how.

    ``dgd_name`` is the pods' own DGD, whose live pods they replace; ``retiring`` are DGDs that will be gone before;
    ``run_dgds`` are other DGDs of the run, whose GPUs count towards ``gpu_ceiling``. All three are looked up in the
    pods' namespaces. ``claims`` will exist when the pods are made. ``predict`` and ``explain`` (headroom, suggestions,
    preemption) can be left out where only the verdict is wanted.
    """

    demands: tuple[PodDemand, ...]
    cluster: Mapping[str, Any]
    namespace: str = "default"
    dgd_name: str = ""
    retiring: tuple[str, ...] = ()
    run_dgds: tuple[str, ...] = ()
    gpu_ceiling: int | None = None
    claims: tuple[K8sObject, ...] = ()
    predict: bool = True
    explain: bool = True


@dataclass(frozen=True)
class Placement:
    """One pod of the placement that works."""

    pod: str
    component: str
    node: str


@dataclass(frozen=True)
class Unplaced:
    """Equal pods that found no node at their turn, and how many nodes each reason ruled out."""

    component: str
    pods: tuple[str, ...]
    requests: Mapping[str, str]
    reasons: Mapping[str, int]
    message: str


@dataclass(frozen=True)
class PredictionReport:
    """What the default scheduler would do now."""

    state: Literal["complete", "incomplete", "not_judged"]
    reason: str = ""
    runs: int = 0
    all_placed: int = 0
    pending: tuple[str, ...] = ()
    gated: tuple[str, ...] = ()
    may_preempt: tuple[str, ...] = ()
    incomplete_gangs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Holdings:
    """GPUs by resource name."""

    by_namespace: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    run: Mapping[str, int] = field(default_factory=dict)
    replaced: Mapping[str, int] = field(default_factory=dict)
    retiring: Mapping[str, int] = field(default_factory=dict)
    demanded: Mapping[str, int] = field(default_factory=dict)
    allocatable: Mapping[str, int] = field(default_factory=dict)
    free: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Headroom:
    """The largest number of replicas of a component that fits while the others stay as asked."""

    component: str
    asked: int
    fits: int
    exact: bool


@dataclass(frozen=True)
class Suggestion:
    """A change with which all pods fit; it was tried."""

    kind: Literal["fewer_replicas", "missing_toleration", "retire"]
    message: str


@dataclass(frozen=True)
class NodeRow:
    """One node's GPUs of one kind, for the picture. ``placed`` names the component of each GPU newly taken."""

    node: str
    resource: str
    total: int
    others: int
    run: int
    placed: tuple[tuple[str, int], ...]
    free: int
    out: str = ""


@dataclass(frozen=True)
class FitReport:
    """The judgement."""

    verdict: Verdict
    proof: str = ""
    fits_only_by_preempting: bool = False
    unknown: tuple[str, ...] = ()
    placements: tuple[Placement, ...] = ()
    unplaced: tuple[Unplaced, ...] = ()
    prediction: PredictionReport = field(default_factory=lambda: PredictionReport("not_judged"))
    holdings: Holdings = field(default_factory=Holdings)
    headroom: tuple[Headroom, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    nodes: tuple[NodeRow, ...] = ()
    findings: tuple[Finding, ...] = ()
    states: int = 0

    def to_result(self) -> dict[str, Any]:
        """Return the report as plain data for a module's return value."""
        found = {key: _plain(value) for key, value in asdict(self).items()}
        found["findings"] = [finding.to_result() for finding in self.findings]
        found["nodes"] = [
            {**_plain(asdict(row)), "placed": [{"component": name, "gpus": count} for name, count in row.placed]}
            for row in self.nodes
        ]
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value
