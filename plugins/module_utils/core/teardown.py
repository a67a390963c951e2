# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking a DGD down: what has to happen in which order, what a plain delete would take along, and what holds it.

Sources: the operator's finalizer (``nvidia.com/finalizer``), its PVC reconciler (``spec.pvcs[].create`` makes the DGD
the claim's controller), and Kubernetes' garbage collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import keys
from .demand import K8sObject
from .findings import Finding, Reason
from .triage.nodes import is_lost
from .triage.state import ClusterState, labels_of, meta, name_of, seconds

CHECK = "teardown"
FINALIZER = "nvidia.com/finalizer"
REQUEST_KIND = "DynamoGraphDeploymentRequest"
#: Past its grace period a pod should be gone within this time.
LATE = 30.0

OWNED_PVC = Reason(
    "teardown_owned_pvc",
    CHECK,
    "The DGD owns a claim: a plain delete of the DGD drops it with everything in it",
    "Take the DGD's owner reference off the claim before deleting the DGD, or agree that the claim goes.",
)
PV_DELETED = Reason(
    "teardown_pv_reclaim_delete",
    CHECK,
    "The claim's volume has reclaim policy Delete: when the claim goes, the data goes",
    "Set the volume's reclaim policy to Retain first.",
)
REQUEST_OWNER = Reason(
    "teardown_request_recreates",
    CHECK,
    "A DynamoGraphDeploymentRequest made this DGD and would make it again",
    "Delete or hand off the request first, then the DGD.",
)
RECREATED = Reason(
    "teardown_recreated",
    CHECK,
    "An object of the same name with another UID has taken its place",
    "Find out what creates it; stop that first.",
)
FINALIZER_OWNER_ABSENT = Reason(
    "teardown_finalizer_owner_absent",
    CHECK,
    "A finalizer waits for an operator that does not run",
    "Bring the operator back, which is the clean way. Else, and only if you decide so, take off this one finalizer.",
)
FINALIZER_HELD = Reason(
    "teardown_finalizer_held",
    CHECK,
    "A finalizer holds the object",
    "Let its owner finish; look at the owner's log where it does not.",
)
POD_TERMINATING = Reason("teardown_pod_terminating", CHECK, "A pod is ending within its grace period", "Wait.")
POD_STUCK = Reason(
    "teardown_pod_stuck",
    CHECK,
    "A pod is past its grace period and still there",
    "Look at its node: a lost node keeps its pods until it is repaired or removed.",
)
DEPENDENTS = Reason(
    "teardown_dependents", CHECK, "Objects that it owns are still being deleted", "Wait; see what holds them."
)
NOT_DELETED = Reason("teardown_not_deleted", CHECK, "Nobody has deleted it", "Delete it.")
GONE = Reason("teardown_gone", CHECK, "It is gone with everything that it owned")
ORDER = Reason(
    "teardown_order",
    CHECK,
    "Platform parts are being deleted before the objects that need them",
    "Delete requests first, then DGDs and wait, then the platform.",
)
NOT_READ = Reason(
    "teardown_not_read",
    CHECK,
    "Something that could bring the DGD back or drop data was not read",
    "Grant read access to it, or check by hand.",
)
REASONS: tuple[Reason, ...] = (
    OWNED_PVC,
    PV_DELETED,
    REQUEST_OWNER,
    RECREATED,
    FINALIZER_OWNER_ABSENT,
    FINALIZER_HELD,
    POD_TERMINATING,
    POD_STUCK,
    DEPENDENTS,
    NOT_DELETED,
    GONE,
    ORDER,
    NOT_READ,
)


# --- before a deletion ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OwnedClaim:
    """A claim that the DGD owns. ``owner_index`` is the place of the DGD among its owner references."""

    name: str
    uid: str
    owner_index: int
    volume: str = ""
    reclaim_policy: str = ""

    def to_result(self) -> dict[str, Any]:
        """Return the claim as plain data."""
        return {
            "name": self.name,
            "uid": self.uid,
            "owner_index": self.owner_index,
            "volume": self.volume,
            "reclaim_policy": self.reclaim_policy,
        }


@dataclass(frozen=True)
class DeletionPlan:
    """What to delete in which order, and what to do before."""

    order: tuple[tuple[str, str], ...]
    owned_claims: tuple[OwnedClaim, ...]
    requests: tuple[str, ...]
    findings: tuple[Finding, ...]

    def to_result(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        return {
            "order": [{"kind": kind, "name": name} for kind, name in self.order],
            "owned_claims": [claim.to_result() for claim in self.owned_claims],
            "blockers": [f"{one.subject}: {one.message}" for one in self.findings if one.outcome == "fail"],
            "requests": list(self.requests),
            "findings": [finding.to_result() for finding in self.findings],
        }


def deletion_plan(live: ClusterState, *, retain_pvcs: bool = True, operator_runs: bool | None = None) -> DeletionPlan:
    """Plan the deletion of ``live.dgd``; what was not read is a finding ``unknown``, never an error."""
    findings: list[Finding] = []
    owned = tuple(_owned_claims(live))
    for claim in owned:
        subject = f"PersistentVolumeClaim/{claim.name}"
        text = f"claim {claim.name} is owned by DGD {live.dgd}"
        findings.append(OWNED_PVC.finding("fail" if retain_pvcs else "warn", subject, text))
        if claim.reclaim_policy == "Delete":
            findings.append(
                PV_DELETED.finding(
                    "warn", subject, f"volume {claim.volume} of claim {claim.name} has reclaim policy Delete"
                )
            )
    requests = tuple(name_of(obj) for obj in live.of("dynamographdeploymentrequests") if _makes(obj, live))
    for name in requests:
        findings.append(
            REQUEST_OWNER.finding("fail", f"{REQUEST_KIND}/{name}", f"request {name} would make DGD {live.dgd} again")
        )
    finalizers = meta(live.graph or {}).get("finalizers") or ()
    if operator_runs is False and FINALIZER in finalizers:
        line = f"DGD {live.dgd}: finalizers {', '.join(finalizers)}, no running operator was found"
        findings.append(
            FINALIZER_OWNER_ABSENT.finding("fail", f"{keys.DGD_KIND}/{live.dgd}", "The deletion would hang", (line,))
        )
    for kind in ("persistentvolumeclaims", "dynamographdeploymentrequests"):
        if kind not in live.objects:
            findings.append(NOT_READ.finding("unknown", f"{keys.DGD_KIND}/{live.dgd}", f"{kind} were not read"))
    order = [(REQUEST_KIND, name) for name in requests] + [(keys.DGD_KIND, live.dgd)]
    return DeletionPlan(tuple(order), owned, requests, tuple(findings))


def _owned_claims(live: ClusterState) -> Iterator[OwnedClaim]:
    volumes = {name_of(volume): volume for volume in live.of("persistentvolumes")}
    uid = str(meta(live.graph or {}).get("uid") or "")
    for claim in live.of("persistentvolumeclaims"):
        for index, owner in enumerate(meta(claim).get("ownerReferences") or ()):
            ours = owner.get("uid") == uid if uid and owner.get("uid") else owner.get("name") == live.dgd
            if owner.get("kind") == keys.DGD_KIND and ours:
                volume = str((claim.get("spec") or {}).get("volumeName") or "")
                policy = str((volumes.get(volume, {}).get("spec") or {}).get("persistentVolumeReclaimPolicy") or "")
                yield OwnedClaim(name_of(claim), str(meta(claim).get("uid") or ""), index, volume, policy)


def _makes(request: K8sObject, live: ClusterState) -> bool:
    graph = live.graph or {}
    owners = {(owner.get("kind"), owner.get("name")) for owner in meta(graph).get("ownerReferences") or ()}
    if (REQUEST_KIND, name_of(request)) in owners:
        return True
    if name_of(request) in (labels_of(graph).get("dgdr.nvidia.com/name"), labels_of(graph).get("nvidia.com/dgdr-name")):
        return True
    status = request.get("status") or {}
    made = status.get("dgdName") or (status.get("deployment") or {}).get("name")
    return bool(made == live.dgd)


# --- while it is being deleted ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Remaining:
    """An object that is still there."""

    kind: str
    name: str
    finalizers: tuple[str, ...]
    deleted_at: str
    holder: str

    def to_result(self) -> dict[str, Any]:
        """Return the object as plain data."""
        return {
            "kind": self.kind,
            "name": self.name,
            "finalizers": list(self.finalizers),
            "deleted_at": self.deleted_at,
            "holder": self.holder,
        }


@dataclass(frozen=True)
class DeletionReport:
    """How far a deletion is, and what holds it. ``remedy`` offers what a person may decide; nothing is done here."""

    gone: bool
    recreated: bool
    remaining: tuple[Remaining, ...]
    findings: tuple[Finding, ...]
    remedy: Mapping[str, Any] | None = None

    @property
    def stuck(self) -> bool:
        """Whether waiting alone will not end it."""
        return any(finding.outcome == "fail" for finding in self.findings)

    def to_result(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "gone": self.gone,
            "recreated": self.recreated,
            "stuck": self.stuck,
            "remaining": [one.to_result() for one in self.remaining],
            "holders": sorted({one.holder for one in self.remaining}),
            "remedy": dict(self.remedy or {}),
        }


#: plural → kind of what a DGD owns, the ones nearest to the DGD first.
OWNED = {
    "dynamocomponentdeployments": keys.DCD_KIND,
    "podcliquesets": "PodCliqueSet",
    "podcliquescalinggroups": "PodCliqueScalingGroup",
    "podcliques": "PodClique",
    "leaderworkersets": "LeaderWorkerSet",
    "deployments": "Deployment",
    "replicasets": "ReplicaSet",
    "statefulsets": "StatefulSet",
    "pods": "Pod",
}


def judge_deletion(
    live: ClusterState,
    targets: Sequence[K8sObject],
    *,
    kind: str,
    uids: Mapping[str, str] | None = None,
    operator_runs: bool | None = None,
    crd_deleting: bool = False,
) -> DeletionReport:
    """Judge how far the deletion of ``targets`` (those still there) is; a DGD's own objects are in ``live``."""
    known = uids or {}
    again = [obj for obj in targets if known.get(name_of(obj)) and known[name_of(obj)] != meta(obj).get("uid")]
    left = [obj for obj in targets if obj not in again]
    remaining: list[Remaining] = []
    findings: list[Finding] = []
    for obj in again:
        line = f"{kind} {name_of(obj)}: UID {meta(obj).get('uid')}, the one deleted had {known[name_of(obj)]}"
        findings.append(RECREATED.finding("fail", f"{kind}/{name_of(obj)}", RECREATED.meaning, (line,)))
    owned = (
        [(owned_kind, obj) for plural, owned_kind in OWNED.items() for obj in live.mine(plural)]
        if kind == keys.DGD_KIND and not again
        else []
    )
    for obj in left:
        one, finding = _held(kind, obj, bool(owned), operator_runs)
        remaining.append(one)
        findings.append(finding)
    for owned_kind, obj in owned:
        one, finding = _pod(obj, live) if owned_kind == "Pod" else _held(owned_kind, obj, True, operator_runs)
        remaining.append(one)
        if owned_kind == "Pod" or finding.reason_code == FINALIZER_OWNER_ABSENT.code:
            findings.append(finding)
    if crd_deleting and left:
        findings.append(
            ORDER.finding(
                "fail", f"{kind}/{name_of(left[0])}", f"the CRD of {kind} is being deleted while objects of it exist"
            )
        )
    gone = not remaining
    if gone and not again:
        findings.append(GONE.finding("pass", kind, GONE.meaning))
    return DeletionReport(gone, bool(again), tuple(remaining), tuple(findings), _remedy(kind, left, findings))


def _held(kind: str, obj: K8sObject, dependents: bool, operator_runs: bool | None) -> tuple[Remaining, Finding]:
    finalizers = tuple(str(one) for one in meta(obj).get("finalizers") or ())
    deleted_at = str(meta(obj).get("deletionTimestamp") or "")
    subject = f"{kind}/{name_of(obj)}"
    line = (
        f"{kind} {name_of(obj)}: deletionTimestamp {deleted_at or 'none'}, finalizers {', '.join(finalizers) or 'none'}"
    )
    if not deleted_at:
        holder, finding = "not deleted", NOT_DELETED.finding("warn", subject, NOT_DELETED.meaning, (line,))
    elif FINALIZER in finalizers and operator_runs is False:
        holder = "finalizer owner absent"
        finding = FINALIZER_OWNER_ABSENT.finding(
            "fail", subject, f"{FINALIZER} waits for the Dynamo operator, which does not run", (line,)
        )
    elif finalizers and set(finalizers) <= {"foregroundDeletion", "orphan"} and dependents:
        holder, finding = "dependents", DEPENDENTS.finding("pass", subject, DEPENDENTS.meaning, (line,))
    elif finalizers:
        holder = f"finalizer {', '.join(finalizers)}"
        finding = FINALIZER_HELD.finding("warn", subject, f"held by {', '.join(finalizers)}", (line,))
    else:
        holder, finding = "garbage collection", DEPENDENTS.finding("pass", subject, "It is being deleted", (line,))
    return Remaining(kind, name_of(obj), finalizers, deleted_at, holder), finding


def _pod(pod: K8sObject, live: ClusterState) -> tuple[Remaining, Finding]:
    deleted_at = str(meta(pod).get("deletionTimestamp") or "")
    finalizers = tuple(str(one) for one in meta(pod).get("finalizers") or ())
    subject = f"Pod/{name_of(pod)}"
    node = live.node_of.get(str((pod.get("spec") or {}).get("nodeName") or ""))
    if node is not None and is_lost(node):
        holder = "node lost"
        finding = POD_STUCK.finding(
            "fail", subject, f"its node {name_of(node)} does not report", (f"node {name_of(node)}: Ready is Unknown",)
        )
    elif not deleted_at:
        holder, finding = "not deleted", NOT_DELETED.finding("pass", subject, "The pod is not being deleted yet")
    elif finalizers:
        holder = f"finalizer {', '.join(finalizers)}"
        finding = FINALIZER_HELD.finding("warn", subject, f"held by {', '.join(finalizers)}")
    else:
        # The deletion timestamp of a pod is the end of its grace period.
        late = live.now - seconds(deleted_at)
        if late > LATE:
            holder = "past its grace period"
            finding = POD_STUCK.finding("fail", subject, f"it should have ended {round(late)} s ago")
        else:
            holder = "terminating"
            finding = POD_TERMINATING.finding(
                "pass", subject, f"it has {max(0, round(-late))} s of its grace period left"
            )
    return Remaining("Pod", name_of(pod), finalizers, deleted_at, holder), finding


def _remedy(kind: str, left: Sequence[K8sObject], findings: Sequence[Finding]) -> dict[str, Any] | None:
    if not any(finding.reason_code == FINALIZER_OWNER_ABSENT.code for finding in findings):
        return None
    held = [obj for obj in left if FINALIZER in (meta(obj).get("finalizers") or ())]
    return {
        "action": "remove_finalizer",
        "finalizer": FINALIZER,
        "objects": [
            {"kind": kind, "name": name_of(obj), "index": list(meta(obj)["finalizers"]).index(FINALIZER)}
            for obj in held
        ],
        "only_when_asked": True,
    }
