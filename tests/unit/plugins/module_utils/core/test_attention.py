# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a wait may go on with few kinds, and when it has to read all."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.attention import (
    Interest,
    interest,
    proven_accounts,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.readiness import WaitPolicy
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import (
    Cause,
    ClusterState,
    ComponentView,
    TriageReport,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.waits import Judgement, WaitRequest
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.builders import (
    NOW,
    Object,
    pod,
    ready_pod,
)

LOADING = Cause("model_loading", "wait", "m", (), "", (), {})
TAINT = Cause("taint", "failed_deploy", "m", (), "", (), {})
EMPTY = ClusterState(NOW, "demo", {})


def request(wait_for: Any = "dgd") -> WaitRequest:
    return WaitRequest(wait_for, "team-a", ("demo",), WaitPolicy(timeout=100))


def view(category: str) -> ComponentView:
    return ComponentView("Worker", 1, 0, category, "")


@pytest.mark.parametrize(
    ("judged", "expected"),
    [
        (Judgement(TriageReport((), (view("ready"),), ready=True)), "ready"),
        (Judgement(TriageReport((LOADING,), (view("model_loading"),))), "open"),
        (Judgement(TriageReport((), ())), "open"),
        (Judgement(TriageReport((TAINT,), (view("ready"),), ready=True)), "trouble"),
        (Judgement(TriageReport((), (view("unknown"),))), "trouble"),
        (Judgement(TriageReport((), ()), final="failed"), "trouble"),
    ],
)
def test_only_plain_success_and_plain_progress_are_calm(judged: Judgement, expected: Interest) -> None:
    assert interest(request(), EMPTY, judged) == expected


def of(uid: str, made: Object) -> Object:
    made["metadata"]["ownerReferences"] = [{"kind": "Job", "uid": uid}]
    return made


RUNNING = of("u1", ready_pod("a", "Worker"))
CREATING = of("u1", pod("b", phase="Pending"))


@pytest.mark.parametrize(
    ("reports", "pods", "expected"),
    [
        ([("u1", "active")], [RUNNING], "settled"),
        ([("u1", "active")], [], "open"),
        ([("u1", "active")], [RUNNING, CREATING], "open"),
        ([("u1", "active"), ("u2", "active")], [RUNNING], "open"),
        ([("u1", "active"), ("u2", "complete")], [RUNNING], "settled"),
        ([("u1", "active")], [ready_pod("foreign", "Worker")], "open"),
        ([("u1", "suspended")], [RUNNING], "trouble"),
        ([("u1", "unknown_finished")], [], "trouble"),
    ],
)
def test_jobs_are_settled_while_their_pods_run(
    reports: list[tuple[str, str]], pods: list[Object], expected: Interest
) -> None:
    jobs = [{"uid": uid, "state": state} for uid, state in reports]
    judged = Judgement(TriageReport((), ()), parts={"jobs": jobs})
    assert interest(request("jobs"), ClusterState(NOW, "", {"pods": pods}), judged) == expected


def test_a_registered_worker_has_shown_what_its_account_may() -> None:
    own = ready_pod("demo-worker-0")
    own["spec"]["serviceAccountName"] = "discovery"
    state = ClusterState(NOW, "demo", {"pods": [own, ready_pod("demo-worker-1")]})
    assert proven_accounts(state, {"visible": ["demo-worker-0"]}) == {"discovery"}
    assert proven_accounts(state, {"visible": ["demo-worker-1"]}) == {"default"}
    assert proven_accounts(state, {}) == frozenset()
