# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The closing lines: worst first, each finding once, nothing that is unknown shown as passed."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.summary import (
    MOST_FINDINGS,
    finding_lines,
    outcome_of,
    sorted_findings,
    summary_lines,
)


def finding(outcome: str, code: str = "a", message: str = "text", remedy: str = "") -> dict[str, Any]:
    return {"outcome": outcome, "reason_code": code, "subject": "Pod/x", "message": message, "remedy": remedy}


def test_the_worst_stands_first_and_each_once() -> None:
    found = [finding("pass"), finding("warn"), finding("fail"), finding("unknown"), finding("fail")]
    assert [item["outcome"] for item in sorted_findings(found)] == ["fail", "unknown", "warn", "pass"]


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [([], "pass"), (["pass", "warn"], "warn"), (["unknown", "warn"], "unknown"), (["green"], "unknown")],
)
def test_an_outcome_that_nobody_knows_never_passes(outcomes: list[str], expected: str) -> None:
    assert outcome_of([finding(outcome) for outcome in outcomes]) == expected


def test_the_lines_say_verdict_place_remedy_and_files() -> None:
    lines = summary_lines(
        "does_not_fit",
        [
            finding("pass"),
            {
                **finding("fail", "fit_gpus", "2 GPUs\nare missing", "Free a node."),
                "evidence": ["2 GPUs", "b" * 300, "c"],
            },
        ],
        {"a-0": "node-1", "a-1": "node-1", "b-0": "node-2"},
        ["Lock: free"],
        {"Report": "/r/report.html", "Ledger": "", "Plan": "/r/plan.json"},
    )
    assert lines == [
        "Verdict: does_not_fit",
        "Placement:",
        "  node-1: 2 pods",
        "  node-2: 1 pod",
        "FAIL    Pod/x: 2 GPUs are missing [fit_gpus]",
        "        | " + "b" * 239 + "…",
        "        -> Free a node.",
        "Checks: 1 passed, 1 did not.",
        "Lock: free",
        "Report: /r/report.html",
        "Plan:   /r/plan.json",
    ]


def test_a_long_list_is_cut_and_says_so() -> None:
    found = [finding("warn", message=f"number {number}") for number in range(MOST_FINDINGS + 3)]
    lines = summary_lines("fits", found, {}, [], {})
    assert "        ... and 3 more in the report" in lines
    assert lines[-1] == f"Checks: 0 passed, {MOST_FINDINGS + 3} did not."


def test_a_component_that_is_not_ready_says_what_its_slowest_pod_does() -> None:
    components = [
        {"component": "Frontend", "ready": 1, "desired": 1, "slowest": "ready"},
        {"component": "Worker", "ready": 0, "desired": 2, "slowest": "pod w-0 pulls\nits image"},
    ]
    assert summary_lines("progressing", [], {}, [], {}, components)[1:4] == [
        "Components:",
        "  Frontend: 1 of 1 ready",
        "  Worker: 0 of 2 ready, pod w-0 pulls its image",
    ]


def test_a_subject_is_not_told_twice() -> None:
    lines = summary_lines("blocked", [finding("fail", "apply_refused", "Pod/x: refused")], {}, [], {})
    assert lines[1] == "FAIL    Pod/x: refused [apply_refused]"


def test_a_subjects_name_is_told_once() -> None:
    finding = {
        "outcome": "fail",
        "subject": "Image/r.example/a:1",
        "message": "r.example/a:1: no secret",
        "reason_code": "c",
    }
    assert finding_lines([finding])[0] == "FAIL    Image/r.example/a:1: no secret [c]"
