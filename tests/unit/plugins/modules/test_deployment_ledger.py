# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger module: creates, changes, reads, refuses; check mode and diff tell the truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.modules import deployment_ledger

from .conftest import RunModule

START = {
    "iteration": 0,
    "dgd_name": "agg",
    "namespace": "serving",
    "source_dgd_sha256": "a" * 64,
}


def test_it_creates_once(tmp_path: Path, run_module: RunModule) -> None:
    path = tmp_path / "deployment_ledger.json"
    arguments = {"path": str(path), "set": START, "set_once": {"status": "prepared"}}
    first = run_module(deployment_ledger, arguments)
    assert (first.result["changed"], first.result["exists"]) == (True, True)
    assert first.result["diff"]["before"] == ""
    assert json.loads(path.read_text()) == first.result["ledger"]
    again = run_module(deployment_ledger, arguments)
    assert again.result["changed"] is False
    assert again.result["sha256"] == first.result["sha256"]


def test_check_mode_writes_nothing(tmp_path: Path, run_module: RunModule) -> None:
    path = tmp_path / "deployment_ledger.json"
    outcome = run_module(deployment_ledger, {"path": str(path), "set": {**START, "status": "prepared"}}, check=True)
    assert (outcome.result["changed"], outcome.result["exists"]) == (True, False)
    assert outcome.result["ledger"]["dgd_name"] == "agg"
    assert list(tmp_path.iterdir()) == []


def test_reading_what_is_not_there(tmp_path: Path, run_module: RunModule) -> None:
    outcome = run_module(deployment_ledger, {"path": str(tmp_path / "l.json")})
    assert (outcome.result["ledger"], outcome.result["exists"], outcome.result["changed"]) == ({}, False, False)


def test_reading_keeps_every_byte(tmp_path: Path, run_module: RunModule) -> None:
    path = tmp_path / "l.json"
    text = json.dumps({"schema": "inference_ops.dynamo/deployment_ledger/v1", "status": "prepared", **START})
    path.write_text(text)
    outcome = run_module(deployment_ledger, {"path": str(path), "set": {"dgd_name": "agg"}})
    assert outcome.result["changed"] is False
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("before", "arguments", "said"),
    [
        (None, {"must_exist": True, "set_once": {"torn_down_at": "2026-01-31T12:00:00Z"}}, "l.json: no such ledger"),
        ("{", {}, "l.json: not a ledger: no JSON"),
        ("{", {"set": START}, "l.json: not a ledger: no JSON"),
        ("\udcff", {}, "l.json: not a ledger: no UTF-8 text"),
        (None, {"set": {**START, "status": "ready"}}, "l.json: status: no step leads from nothing to ready"),
        (None, {"set": START}, "l.json: status: is missing"),
        (None, {"append": {"colours": []}}, "l.json: colours: not a list of the ledger"),
    ],
)
def test_what_is_refused_is_left_as_it_was(
    tmp_path: Path, run_module: RunModule, before: str | None, arguments: dict[str, Any], said: str
) -> None:
    path = tmp_path / "l.json"
    if before is not None:
        path.write_text(before, errors="surrogateescape")
    outcome = run_module(deployment_ledger, {"path": str(path), **arguments})
    assert outcome.failed
    assert said in outcome.message
    assert (path.read_text(errors="surrogateescape") if path.exists() else None) == before


def test_a_missing_folder_is_named(tmp_path: Path, run_module: RunModule) -> None:
    outcome = run_module(deployment_ledger, {"path": str(tmp_path / "no" / "l.json"), "set": START})
    assert outcome.failed
    assert "the folder does not exist" in outcome.message
