# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The decision table of a wait, with a clock that a test moves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.readiness import (
    DEFAULT_GRACES,
    FLAPPING,
    Decision,
    WaitMemory,
    WaitPolicy,
    decide,
    decide_blind,
    duration,
    failed_attempt,
    is_terminal,
    next_check,
    progress_line,
    top_reasons,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import (
    CATEGORIES,
    Affected,
    Cause,
    ComponentView,
    TriageReport,
)

POLICY = WaitPolicy(timeout=1000, stable_for=5)


def cause(category: str = "taint", **more: Any) -> Cause:
    base = Cause(category, CATEGORIES[category].way, "why", ("line",), "remedy", (Affected("Worker", 2),), {}, "key")
    return replace(base, **more)


def report(*causes: Cause, ready: bool = False) -> TriageReport:
    views = (ComponentView("Worker", 2, 2 if ready else 1, "ready" if ready else "taint", "" if ready else "slow"),)
    return TriageReport(causes, views, ready=ready)


def play(steps: list[tuple[float, TriageReport]], policy: WaitPolicy = POLICY) -> list[Decision]:
    """Return the decision at each step."""
    memory, found = WaitMemory(started=0.0), []
    for now, judged in steps:
        found.append(decide(judged, memory, policy, now))
        memory = found[-1].memory
    return found


def test_ready_counts_only_when_it_stays() -> None:
    states = [one.state for one in play([(0, report(ready=True)), (4.9, report(ready=True)), (5, report(ready=True))])]
    assert states == ["progressing", "progressing", "ready"]


def test_flapping_readiness_is_no_readiness() -> None:
    steps = [(float(second), report(ready=second % 4 != 3)) for second in range(40)]
    assert {one.state for one in play(steps)} == {"progressing"}


def test_the_next_look_is_when_the_answer_may_change() -> None:
    assert play([(0, report(ready=True))])[0].look_again == 5
    assert play([(0, report(cause()))])[0].look_again == DEFAULT_GRACES["unschedulable"]
    assert play([(990, report())])[0].look_again == pytest.approx(10)


@pytest.mark.parametrize(
    "category", [name for name, one in CATEGORIES.items() if one.way in ("failed_deploy", "fix_dependency")]
)
def test_what_waiting_cannot_mend_ends_the_wait_after_its_grace(category: str) -> None:
    stuck = cause(category, detail={"restarts": 5})
    grace = POLICY.grace(stuck)
    early, late = (
        play([(0, report(stuck)), (grace - 0.1, report(stuck))]),
        play([(0, report(stuck)), (grace, report(stuck))]),
    )
    assert early[-1].state == "progressing"
    assert (late[-1].state, late[-1].cause) == ("failed", stuck)


@pytest.mark.parametrize(
    "patient",
    [
        cause("insufficient_resource"),
        cause("gang"),
        cause("model_loading"),
        cause("unknown"),
        cause("image_pull", way="contention"),
        cause("quota", way="contention"),
    ],
)
def test_what_may_mend_itself_is_waited_for(patient: Cause) -> None:
    assert [one.state for one in play([(0, report(patient)), (999, report(patient)), (1000, report(patient))])] == [
        "progressing",
        "progressing",
        "timeout",
    ]


def test_what_can_never_fit_ends_the_wait() -> None:
    never = cause("insufficient_resource", way="failed_deploy")
    assert play([(0, report(never)), (30, report(never))])[-1].state == "failed"


def test_a_cause_that_comes_and_goes_keeps_its_time() -> None:
    steps = [(float(now), report(cause()) if now % 10 < 5 else report()) for now in range(0, 31, 5)]
    assert play(steps)[-1].state == "failed"


def test_a_cause_that_stayed_away_begins_anew() -> None:
    found = play([(0, report(cause())), (1, report()), (2 + FLAPPING, report(cause()))])
    assert found[-1].state == "progressing"


def test_a_time_without_sight_counts_for_nothing() -> None:
    seen = decide(report(cause()), WaitMemory(0.0), POLICY, 10)
    blind = decide_blind(report(cause()), seen.memory, POLICY, 20)
    blind = decide_blind(report(cause()), blind.memory, POLICY, 500)
    assert (blind.state, blind.look_again, blind.memory.blind_since) == ("progressing", 500, 20)
    again = decide(report(cause()), blind.memory, POLICY, 520)
    assert (again.state, again.look_again) == ("progressing", 20), "10 s of its 30 were seen"
    assert decide(report(cause()), again.memory, POLICY, 540).state == "failed"
    assert decide_blind(report(cause()), blind.memory, POLICY, 1000).state == "timeout"
    assert decide_blind(report(), WaitMemory(0.0), WaitPolicy(timeout=0), 1).state == "progressing"


def test_readiness_that_was_seen_only_before_an_outage_does_not_stay() -> None:
    seen = decide(report(ready=True), WaitMemory(0.0), POLICY, 10)
    blind = decide_blind(report(), seen.memory, POLICY, 12)
    again = decide(report(ready=True), blind.memory, POLICY, 30)
    assert (again.state, again.look_again) == ("progressing", 5)


def test_two_causes_have_two_clocks() -> None:
    other = cause(key="other")
    found = play([(0, report(cause())), (20, report(other)), (40, report(other))])
    assert found[-1].state == "progressing"


@pytest.mark.parametrize("category", ["crash_loop", "oom", "probe_failure"])
def test_one_crash_at_the_start_is_no_loop(category: str) -> None:
    assert not is_terminal(cause(category, detail={"restarts": 1}))
    assert is_terminal(cause(category, detail={"restarts": 3}))


def test_a_failing_readiness_probe_has_a_longer_grace_than_a_kill() -> None:
    failing = cause("probe_failure", detail={"probe": "readiness", "restarts": 0})
    killed = cause("probe_failure", detail={"probe": "liveness", "restarts": 4})
    assert (POLICY.grace(failing), POLICY.grace(killed)) == (600, 120)
    assert is_terminal(failing)


def test_graces_are_the_users() -> None:
    policy = replace(POLICY, graces={"unschedulable": 300})
    assert play([(0, report(cause())), (299, report(cause()))], policy)[-1].state == "progressing"
    assert play([(0, report(cause())), (300, report(cause()))], policy)[-1].state == "failed"


def test_without_a_bound_one_look_decides() -> None:
    look = replace(POLICY, timeout=0)
    assert play([(0, report(ready=True))], look)[0].state == "ready"
    assert play([(0, report(cause()))], look)[0].state == "failed"
    assert play([(0, report(cause("insufficient_resource")))], look)[0].state == "progressing"
    assert play([(0, report())], look)[0].state == "progressing"


def test_when_each_component_became_ready_is_remembered() -> None:
    found = play([(0, report()), (7, report(ready=True)), (9, report(ready=True)), (13, report(ready=True))])
    assert found[-1].memory.component_ready == {"Worker": 7}
    assert play([(7, report(ready=True)), (8, report())])[-1].memory.component_ready == {}


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59.6, "1m00s"), (61, "1m01s"), (3661, "1h01m01s"), (-3, "0s")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_progress_line_says_how_many_and_what_is_slow() -> None:
    assert progress_line(report(cause()), 65, 3600) == "[1m05s of 1h00m00s] Worker 1/2 ready; Worker: taint: slow"
    assert progress_line(report(ready=True), 5, 10) == "[5s of 10s] Worker 2/2 ready"
    assert progress_line(TriageReport((), ()), 0, 10) == "[0s of 10s] no component yet"


def test_a_timeout_gives_the_three_most_telling_reasons() -> None:
    many = [cause(name, key=name) for name in ("taint", "quota", "pvc", "gang")]
    assert top_reasons(report(*many)) == [f"Worker (2): {name}: why" for name in ("taint", "quota", "pvc")]


def test_only_a_failed_deploy_makes_a_failed_attempt() -> None:
    entry = failed_attempt(cause(), "2026-01-01T00:00:00Z")
    assert (entry["category"], entry["component"], entry["reason_code"]) == ("taint", "Worker", "triage_taint")
    assert entry["evidence"] == ["line"]
    for other in (None, cause("quota"), cause("insufficient_resource"), cause("unknown")):
        assert failed_attempt(other, "x") == {}


def test_only_a_legitimate_wait_has_a_next_check() -> None:
    full = cause("insufficient_resource", detail={"can_ever_fit": True})
    assert next_check(full, "timeout", 30, "t") == {
        "after_seconds": 30,
        "at": "t",
        "evidence": ["line"],
        "category": "insufficient_resource",
        "can_ever_fit": True,
    }
    assert next_check(cause("model_loading"), "progressing", 30, "t")["can_ever_fit"] is None
    assert next_check(cause(), "timeout", 30, "t") == {}
    assert next_check(full, "failed", 30, "t") == {}
    assert next_check(None, "timeout", 30, "t") == {}
