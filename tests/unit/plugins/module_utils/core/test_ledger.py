# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger's rules: steps, merging, appending, what is written once, and a new holding after a teardown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.ledger import (
    LEDGER_SCHEMA,
    STATUSES,
    STEPS,
    LedgerChange,
    change_ledger,
    check_ledger,
    dump_ledger,
    parse_ledger,
)
from hypothesis import given
from hypothesis import strategies as st

SHA = "a" * 64
NOW = "2026-01-31T12:00:00Z"
START = {"iteration": 0, "dgd_name": "agg", "namespace": "serving", "source_dgd_sha256": SHA}
MANIFEST = {"name": "deploy.yaml", "path": "applied_manifests/deploy.yaml", "sha256": SHA}


def started(**more: Any) -> dict[str, Any]:
    return change_ledger(None, LedgerChange(set={**START, "status": "prepared", **more}), "ledger.json")


def changed(ledger: dict[str, Any], **change: Any) -> dict[str, Any]:
    return change_ledger(ledger, LedgerChange(**change), "ledger.json")


def at_status(status: str) -> dict[str, Any]:
    return {**started(), "status": status, "smoke": {"success": 1}, "applied_manifests": [MANIFEST]}


def test_a_new_ledger_names_its_schema() -> None:
    assert started() == {
        "schema": "inference_ops.dynamo/deployment_ledger/v1",
        "status": "prepared",
        **START,
    }


def test_reading_nothing_gives_nothing() -> None:
    assert change_ledger(None, LedgerChange(), "ledger.json") == {}


def test_mappings_merge_and_lists_are_replaced() -> None:
    ledger = started(timings={"a": 1}, cleanup_commands=["one"])
    after = changed(ledger, set={"timings": {"b": 2}, "cleanup_commands": ["two"]})
    assert after["timings"] == {"a": 1, "b": 2}
    assert after["cleanup_commands"] == ["two"]
    assert ledger["timings"] == {"a": 1}


def test_what_is_set_once_stays_as_it_was_first_seen() -> None:
    ledger = changed(started(), set_once={"allocated_at": NOW, "timings": {"apply": NOW}})
    again = changed(ledger, set_once={"allocated_at": "2027-01-01T00:00:00Z", "timings": {"apply": "later", "x": 1}})
    assert again["allocated_at"] == NOW
    assert again["timings"] == {"apply": NOW, "x": 1}


def test_a_null_counts_as_not_there_for_set_once() -> None:
    ledger = changed(started(torn_down_at=None), set_once={"torn_down_at": NOW})
    assert ledger["torn_down_at"] == NOW


def test_a_torn_down_ledger_changes_in_nothing_else() -> None:
    ledger = at_status("succeeded")
    assert changed(ledger, set_once={"torn_down_at": NOW}) == {**ledger, "torn_down_at": NOW}


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("wanted", STATUSES)
def test_steps(status: str, wanted: str) -> None:
    ledger = at_status(status)
    if wanted == status or wanted in STEPS[status]:
        assert changed(ledger, set={"status": wanted})["status"] == wanted
    else:
        with pytest.raises(InputError, match=f"no step leads from {status} to {wanted}"):
            changed(ledger, set={"status": wanted})


def test_a_run_cannot_begin_in_the_middle() -> None:
    with pytest.raises(InputError, match="no step leads from nothing to ready"):
        started(status="ready")


@pytest.mark.parametrize(("status", "after"), [("blocked", "prepared"), ("ready", "ready"), ("succeeded", "succeeded")])
def test_a_rerun_prepares_only_what_is_not_under_way(status: str, after: str) -> None:
    assert changed(at_status(status), set_once={"status": "prepared"})["status"] == after


def test_a_new_holding_begins_after_a_teardown() -> None:
    ledger = {
        **at_status("succeeded"),
        "allocated_at": NOW,
        "torn_down_at": "2026-02-01T00:00:00Z",
        "gpus_requested": 8,
    }
    after = changed(ledger, set_once={"status": "prepared"})
    assert (after["status"], after["allocated_at"], after["torn_down_at"]) == ("prepared", None, None)
    assert "smoke" not in after
    assert after["earlier_holdings"] == [
        {
            "allocated_at": NOW,
            "torn_down_at": "2026-02-01T00:00:00Z",
            "status": "succeeded",
            "gpus_requested": 8,
            "smoke": {"success": 1},
        }
    ]


def test_success_needs_the_smoke_test_and_manifests() -> None:
    with pytest.raises(InputError, match=r"smoke\.success: a run succeeds only by its smoke test"):
        changed({**at_status("ready"), "smoke": {"success": 0}}, set={"status": "succeeded"})
    with pytest.raises(InputError, match="applied_manifests: a run that succeeded applied manifests"):
        changed({**at_status("ready"), "applied_manifests": []}, set={"status": "succeeded"})


def test_one_file_per_manifest_type() -> None:
    with pytest.raises(InputError, match=r"applied_manifests: one file per manifest type \(found deploy\.yaml\)"):
        changed(started(), set={"applied_manifests": [MANIFEST, MANIFEST]})


def test_time_runs_forward() -> None:
    with pytest.raises(InputError, match="torn_down_at: earlier than allocated_at"):
        changed(started(), set={"allocated_at": NOW, "torn_down_at": "2026-01-31T13:30:00+02:00"})
    with pytest.raises(InputError, match="allocated_at: no such time"):
        changed(started(), set={"allocated_at": "2026-02-30T00:00:00Z"})


def test_an_entry_is_appended_once() -> None:
    entry = {"category": "taint", "evidence": "0/3 nodes", "at": NOW}
    ledger = changed(started(), append={"failed_attempts": [entry]})
    again = changed(ledger, append={"failed_attempts": [{**entry, "at": "2027-01-01T00:00:00Z"}]})
    assert again["failed_attempts"] == [entry]
    other = changed(ledger, append={"failed_attempts": [{**entry, "category": "image"}]})
    assert len(other["failed_attempts"]) == 2


def test_a_mended_manifest_that_fails_alike_is_another_attempt() -> None:
    entry = {"category": "taint", "evidence": "0/3 nodes", "at": NOW}
    ledger = changed(started(), set={"applied_manifests": [MANIFEST]}, append={"failed_attempts": [entry]})
    (first,) = ledger["failed_attempts"]
    assert first["manifest_sha256"] == MANIFEST["sha256"]
    again = changed(ledger, append={"failed_attempts": [{**entry, "at": "2027-01-01T00:00:00Z"}]})
    assert again["failed_attempts"] == [first]
    mended = {"applied_manifests": [{**MANIFEST, "sha256": "f" * 64}]}
    other = changed(ledger, set=mended, append={"failed_attempts": [entry]})
    assert [item["manifest_sha256"] for item in other["failed_attempts"]] == [MANIFEST["sha256"], "f" * 64]


def test_half_a_character_in_a_quoted_log_breaks_no_file() -> None:
    ledger = changed(started(), append={"diagnostics": [{"message": "log: \ud83d"}]})
    assert json.loads(dump_ledger(ledger).encode())["diagnostics"] == [{"message": "log: ?"}]


def test_an_id_names_an_entry() -> None:
    ledger = changed(started(), append={"blockers": [{"id": "a", "message": "one", "at": NOW}]})
    after = changed(ledger, append={"blockers": [{"id": "a", "message": "two", "at": "2027-01-01T00:00:00Z"}]})
    assert after["blockers"] == [{"id": "a", "message": "two", "at": NOW}]
    assert changed(after, append={"cleanup_commands": ["x", "x"]})["cleanup_commands"] == ["x"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"set": {"status": "done"}}, "status: must be one of prepared"),
        ({"set": {"colour": 1}}, "colour: unknown field"),
        ({"set": {"source_dgd_sha256": "abc"}}, "source_dgd_sha256: must be a SHA-256"),
        ({"set": {"iteration": -1}}, "iteration: must be at least 0"),
        ({"set": {"allocated_at": "yesterday"}}, "allocated_at: must be a time"),
        ({"set": {"smoke": {"success": True}}}, r"smoke\.success: must be one of 0, 1"),
        ({"set": {"failed_attempts": [{}]}}, r"failed_attempts\[0\]\.category: is missing"),
        ({"append": {"iteration": [1]}}, "iteration: not a list of the ledger"),
        ({"append": {"blockers": {"message": "x"}}}, "blockers: entries to append must be a list"),
        ({"append": {"blockers": [{"message": ""}]}}, r"blockers\[0\]\.message: must not be empty"),
        ({"set": []}, "set: must be a mapping"),
    ],
)
def test_what_breaks_a_rule_is_named(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        changed(started(), **change)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a ledger: no JSON"),
        ("{", "not a ledger: no JSON"),
        ("[]", "must be a mapping"),
        ("{}", "schema: is missing"),
        (json.dumps({**started(), "schema": "v0"}), "schema: must be inference_ops"),
    ],
)
def test_a_file_that_is_no_ledger_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=f"ledger.json: .*{said}|ledger.json: {said}"):
        parse_ledger(text, "ledger.json")


def test_text_keeps_the_schemas_order() -> None:
    ledger = changed(started(), set={"notes": {"ü": 1}, "torn_down_at": None})
    text = dump_ledger(ledger)
    assert parse_ledger(text, "x") == ledger
    assert text.index('"status"') < text.index('"iteration"') < text.index('"torn_down_at"') < text.index('"notes"')
    assert "ü" in text


@given(
    st.dictionaries(
        st.sampled_from(sorted(LEDGER_SCHEMA["properties"])),
        st.none()
        | st.integers()
        | st.text(max_size=5)
        | st.lists(st.dictionaries(st.just("id"), st.text(), max_size=1)),
    )
)
def test_any_change_gives_a_valid_ledger_or_an_error(fields: dict[str, Any]) -> None:
    try:
        after = changed(started(), set=fields)
    except InputError:
        return
    check_ledger(after, "ledger.json")
    assert changed(after, set={name: value for name, value in fields.items() if name != "status"}) == after


def test_the_published_schema_is_the_cores() -> None:
    published = Path(__file__).resolve().parents[5] / "docs" / "schemas" / "deployment_ledger.schema.json"
    if published.parent.is_dir():  # ansible-test runs a copy without the documentation
        assert json.loads(published.read_text(encoding="utf-8")) == LEDGER_SCHEMA
