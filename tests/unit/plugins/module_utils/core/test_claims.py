# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a claim is usable."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.claims import REASONS, claim_state
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage.state import Event

Object = dict[str, Any]


def claim(phase: str = "Pending", storage_class: str = "fast", **metadata: Any) -> Object:
    spec = {"storageClassName": storage_class}
    return {"metadata": {"name": "cache", **metadata}, "spec": spec, "status": {"phase": phase}}


def event(reason: str, message: str = "m", *, warning: bool = False) -> Event:
    return Event(reason, message, warning, "PersistentVolumeClaim", "cache", "", 1, 0.0, 0.0)


def storage_class(mode: str = "Immediate") -> Object:
    return {"metadata": {"name": "fast"}, "volumeBindingMode": mode}


CONSUMER: Object = {"metadata": {"name": "p"}, "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "cache"}}]}}
UNCLASSED = "no persistent volumes available for this claim and no storage class is set"
BROKEN = 'storageclass.storage.k8s.io "fast" not found'


@pytest.mark.parametrize(
    ("live", "more", "state", "code"),
    [
        (None, {}, "absent", "claim_absent"),
        (claim("Bound"), {}, "bound", "claim_bound"),
        (claim("Lost"), {}, "failed", "claim_failed"),
        (claim("Bound", deletionTimestamp="2026-01-01T00:00:00Z"), {}, "failed", "claim_failed"),
        (claim(storage_class=""), {"events": [event("FailedBinding", UNCLASSED)]}, "failed", "claim_failed"),
        (claim(), {"events": [event("FailedBinding", UNCLASSED)]}, "pending", "claim_pending"),
        (claim(), {}, "pending", "claim_pending"),
        (claim(), {"events": [event("WaitForFirstConsumer")]}, "waits_for_consumer", "claim_waits_for_consumer"),
        (
            claim(),
            {"storage_classes": [storage_class("WaitForFirstConsumer")]},
            "waits_for_consumer",
            "claim_waits_for_consumer",
        ),
        (
            claim(),
            {"storage_classes": [storage_class("WaitForFirstConsumer")], "pods": [CONSUMER]},
            "pending",
            "claim_pending",
        ),
        (claim(), {"storage_classes": [storage_class()]}, "pending", "claim_pending"),
        (claim(), {"events": [event("ProvisioningFailed", BROKEN, warning=True)]}, "failed", "claim_failed"),
        (
            claim(),
            {
                "events": [event("WaitForFirstConsumer"), event("ProvisioningFailed", BROKEN, warning=True)],
                "pods": [CONSUMER],
            },
            "failed",
            "claim_failed",
        ),
        (claim(), {"storage_classes": []}, "pending", "claim_pending"),
        (claim(), {"storage_classes": [], "events": [event("ExternalProvisioning")]}, "failed", "claim_failed"),
        (claim(), {"events": [event("FailedBinding", "no persistent volumes available")]}, "pending", "claim_pending"),
    ],
)
def test_a_claim(live: Object | None, more: Object, state: str, code: str) -> None:  # D12
    report = claim_state(live, "cache", **more)
    assert report.state == state
    assert report.usable == (state in ("bound", "waits_for_consumer"))
    assert report.to_finding().reason_code == code
    assert code in {reason.code for reason in REASONS}
    if state == "failed":
        assert report.to_result()["evidence"]
