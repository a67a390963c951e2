# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a claim is usable: bound, rightly waiting for its first consumer, or in trouble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .demand import K8sObject
from .findings import Finding, Reason
from .triage.kubelet import quote
from .triage.state import Event, meta, name_of

ClaimState = Literal["bound", "waits_for_consumer", "pending", "failed", "absent"]
CHECK = "claims"
CLAIM_BOUND = Reason("claim_bound", CHECK, "The claim is bound")
CLAIM_WAITS = Reason(
    "claim_waits_for_consumer",
    CHECK,
    "The claim is bound when its first pod is scheduled, which is right for its storage class",
)
CLAIM_PENDING = Reason("claim_pending", CHECK, "The claim is not bound yet", "Wait, or look at the provisioner.")
CLAIM_FAILED = Reason(
    "claim_failed", CHECK, "The claim cannot be bound", "Fix the storage class or the volume named in the evidence."
)
CLAIM_ABSENT = Reason("claim_absent", CHECK, "There is no such claim", "Apply the claim first.")
REASONS: tuple[Reason, ...] = (CLAIM_BOUND, CLAIM_WAITS, CLAIM_PENDING, CLAIM_FAILED, CLAIM_ABSENT)
_BINDING_MODE = "WaitForFirstConsumer"
_NO_CLASS = "no storage class is set"


@dataclass(frozen=True)
class ClaimReport:
    """A claim's state with the line that shows it."""

    name: str
    state: ClaimState
    message: str
    evidence: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether a pod may be created that uses it."""
        return self.state in ("bound", "waits_for_consumer")

    def to_finding(self) -> Finding:
        """Return the report in the finding contract."""
        reason, outcome = _FINDINGS[self.state]
        return reason.finding(outcome, f"PersistentVolumeClaim/{self.name}", self.message, self.evidence)

    def to_result(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {"name": self.name, "state": self.state, "message": self.message, "evidence": list(self.evidence)}


_FINDINGS: dict[ClaimState, tuple[Reason, Literal["pass", "warn", "fail"]]] = {
    "bound": (CLAIM_BOUND, "pass"),
    "waits_for_consumer": (CLAIM_WAITS, "pass"),
    "pending": (CLAIM_PENDING, "warn"),
    "failed": (CLAIM_FAILED, "fail"),
    "absent": (CLAIM_ABSENT, "fail"),
}


def claim_state(
    claim: K8sObject | None,
    name: str,
    events: Sequence[Event] = (),
    storage_classes: Sequence[K8sObject] | None = None,
    pods: Sequence[K8sObject] = (),
) -> ClaimReport:
    """Judge a claim by its phase, its live events, its storage class and the pods that use it."""
    if claim is None:
        return ClaimReport(name, "absent", f"There is no claim {name}")
    phase = str((claim.get("status") or {}).get("phase") or "Pending")
    if meta(claim).get("deletionTimestamp"):
        # It stays until its last pod is gone, and no new pod may use it.
        since = f"claim {name}: {phase}, deletionTimestamp {meta(claim)['deletionTimestamp']}"
        return ClaimReport(name, "failed", "It is being deleted", (since,))
    if phase == "Bound":
        return ClaimReport(name, "bound", f"It is bound to {(claim.get('spec') or {}).get('volumeName') or 'a volume'}")
    if phase == "Lost":
        return ClaimReport(name, "failed", "Its volume is lost", (f"claim {name}: Lost",))
    told = [event for event in events if event.reason != "FailedBinding" or event.warning]
    last = told[-1] if told else None
    class_name = (claim.get("spec") or {}).get("storageClassName")
    unbound = next((event for event in reversed(events) if _NO_CLASS in event.message), None)
    if last is None and unbound is not None and not class_name:
        line = (quote(f"claim {name}: {unbound.reason}: {unbound.message}"),)
        return ClaimReport(name, "failed", "No volume fits it, and it names no storage class", line)
    line = (quote(f"claim {name}: {last.reason}: {last.message}"),) if last else (f"claim {name}: {phase}, no event",)
    if last is not None and last.warning:
        return ClaimReport(name, "failed", f"It cannot be bound ({last.reason})", line)
    consumers = [name_of(pod) for pod in pods if _uses(pod, name) and not meta(pod).get("deletionTimestamp")]
    if _waits_for_consumer(claim, last, storage_classes) and not consumers:
        return ClaimReport(name, "waits_for_consumer", "It waits for its first consumer by design", line)
    if class_name and storage_classes is not None and all(name_of(one) != class_name for one in storage_classes):
        text = f"Storage class {class_name} does not exist, and no volume of that class fits"
        return ClaimReport(name, "failed" if last is not None else "pending", text, line)
    return ClaimReport(name, "pending", "It is not bound yet", line)


def _waits_for_consumer(claim: K8sObject, last: Event | None, storage_classes: Sequence[K8sObject] | None) -> bool:
    if last is not None and last.reason == _BINDING_MODE:
        return True
    wanted = (claim.get("spec") or {}).get("storageClassName")
    return any(
        name_of(one) == wanted and one.get("volumeBindingMode") == _BINDING_MODE for one in storage_classes or ()
    )


def _uses(pod: K8sObject, claim: str) -> bool:
    volumes = (pod.get("spec") or {}).get("volumes") or ()
    return any((volume.get("persistentVolumeClaim") or {}).get("claimName") == claim for volume in volumes)
