# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Job has come to, by its conditions, and what a vanished one leaves to know."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.jobs import REASONS, JobReport, job_state

Object = dict[str, Any]


def job(*conditions: str, uid: str = "u1", spec: Object | None = None, **status: Any) -> Object:
    told = []
    for one in conditions:
        kind, _unused, reason = one.partition("/")
        told.append(
            {
                "type": kind.lstrip("!"),
                "status": "False" if kind.startswith("!") else "True",
                "reason": reason,
                "message": "m",
            }
        )
    return {"metadata": {"name": "download", "uid": uid}, "spec": spec or {}, "status": {"conditions": told, **status}}


def pod(phase: str, uid: str = "u1") -> Object:
    return {
        "metadata": {"name": "download-x", "ownerReferences": [{"kind": "Job", "uid": uid}]},
        "status": {"phase": phase},
    }


def event(reason: str, uid: str = "u1") -> Object:
    return {"involvedObject": {"kind": "Job", "name": "download", "uid": uid}, "reason": reason, "message": "m"}


@pytest.mark.parametrize(
    ("live", "state"),
    [
        (job("Complete/CompletionsReached"), "complete"),
        (job("SuccessCriteriaMet/CompletionsReached", "Complete/CompletionsReached"), "complete"),
        (job("SuccessCriteriaMet/SuccessPolicy", active=1), "active"),
        (job("FailureTarget/BackoffLimitExceeded", active=1), "active"),
        (job("FailureTarget/BackoffLimitExceeded", "Failed/BackoffLimitExceeded"), "failed"),
        (job("Failed/DeadlineExceeded"), "failed"),
        (job("!Failed", "!Complete", active=1), "active"),
        (job("Suspended"), "suspended"),
        (job(spec={"suspend": True}), "suspended"),
        (job(), "active"),
        (job(succeeded=1), "active"),
        ({**job(), "metadata": {"name": "download", "uid": "u1", "deletionTimestamp": "t"}}, "deleting"),
    ],
)
def test_a_live_job(live: Object, state: str) -> None:
    report = job_state(live)
    assert report.state == state
    assert report.success == (state == "complete")
    assert report.to_result()["finished"] == (state in ("complete", "failed"))


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("BackoffLimitExceeded", "backoffLimit"),
        ("DeadlineExceeded", "activeDeadlineSeconds"),
        ("PodFailurePolicy", "podFailurePolicy"),
        ("MaxFailedIndexesExceeded", "maxFailedIndexes"),
        ("FailedIndexes", "indexes"),
    ],
)
def test_why_it_failed(reason: str, words: str) -> None:
    report = job_state(job(f"Failed/{reason}"))
    assert words in report.message
    assert report.to_finding().reason_code == "job_failed"


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({}, "unknown_finished"),
        ({"last_seen": job(active=1)}, "unknown_finished"),
        ({"last_seen": job("Complete/CompletionsReached")}, "complete"),
        ({"last_seen": job("Failed/BackoffLimitExceeded")}, "failed"),
        ({"events": [event("Completed")]}, "complete"),
        ({"events": [event("BackoffLimitExceeded")]}, "failed"),
        ({"events": [event("Completed", uid="another")]}, "unknown_finished"),
        ({"events": [event("SuccessfulCreate")]}, "unknown_finished"),
        ({"pods": [pod("Succeeded")]}, "complete"),
        ({"pods": [pod("Succeeded", uid="another")]}, "unknown_finished"),
        ({"pods": [pod("Failed")]}, "unknown_finished"),
        ({"pods": [pod("Succeeded")], "last_seen": job(spec={"completions": 2})}, "unknown_finished"),
    ],
)
def test_a_job_that_is_gone_is_no_success_without_proof(more: Object, state: str) -> None:  # D10
    report = job_state(None, name="download", uid="u1", **more)
    assert report.state == state
    assert report.to_finding().outcome == ("pass" if state == "complete" else "fail")


def test_a_job_of_another_uid_is_not_ours() -> None:  # D10
    report = job_state(job("Complete", uid="u2"), uid="u1")
    assert (report.state, report.success) == ("replaced", False)
    assert "u2" in report.proof[0]
    assert job_state(job(uid="u2"), uid="u1", events=[event("Completed")]).state == "complete"


def test_a_job_that_never_was_is_absent() -> None:
    assert job_state(None, name="download").state == "absent"


def test_each_state_has_its_code() -> None:
    codes = {
        "complete": "job_complete",
        "failed": "job_failed",
        "active": "job_active",
        "deleting": "job_active",
        "suspended": "job_suspended",
        "unknown_finished": "job_vanished",
        "replaced": "job_replaced",
        "absent": "job_absent",
    }
    for state, code in codes.items():
        assert JobReport("j", state).to_finding().reason_code == code  # type: ignore[arg-type]  # one of JobState
    assert {reason.code for reason in REASONS} == set(codes.values())
