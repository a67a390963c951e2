# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report module: writes both forms, once, and refuses in one message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.ledger import (
    LedgerChange,
    change_ledger,
    dump_ledger,
)
from ansible_collections.inference_ops.dynamo.plugins.modules import deployment_report

from .conftest import RunModule

FINDING = {
    "check": "c",
    "outcome": "warn",
    "reason_code": "x_y",
    "subject": "Pod/a",
    "message": "Written now by inference",
    "evidence": [],
    "remedy": "",
}

LEDGER = {
    "status": "prepared",
    "iteration": 0,
    "provenance": "user-interviewer",
    "dgd_name": "agg",
    "kube_context": "gpu",
    "namespace": "serving",
    "source_dgd_path": "deploy.yaml",
    "source_dgd_sha256": "0" * 64,
    "cleanup_commands": ["kubectl delete the-deployment"],
}


def arguments(folder: Path, **more: Any) -> dict[str, Any]:
    paths = {"html": str(folder / "report.html"), "markdown": str(folder / "report.md")}
    return {**paths, "title": "agg", "findings": [FINDING], **more}


def test_it_writes_both_forms_once(tmp_path: Path, run_module: RunModule) -> None:
    checked = run_module(deployment_report, arguments(tmp_path), check=True)
    assert checked.result["changed"] is True
    assert list(tmp_path.iterdir()) == []
    first = run_module(deployment_report, arguments(tmp_path, generated_at="2026-01-31 12:00 UTC"))
    assert (first.result["changed"], first.result["outcome"]) == (True, "warn")
    assert "<h1>agg</h1>" in (tmp_path / "report.html").read_text()
    assert "# agg" in (tmp_path / "report.md").read_text()
    later = run_module(deployment_report, arguments(tmp_path, generated_at="2026-01-31 13:00 UTC"))
    assert later.result["changed"] is False
    assert "12:00" in (tmp_path / "report.html").read_text()
    other = run_module(deployment_report, arguments(tmp_path, generated_at="2026-01-31 13:00 UTC", title="other"))
    assert other.result["changed"] is True
    assert "13:00" in (tmp_path / "report.html").read_text()


def test_one_form_and_its_own_time(tmp_path: Path, run_module: RunModule) -> None:
    outcome = run_module(
        deployment_report, {"html": str(tmp_path / "r.html"), "title": "agg", "verdict": "does_not_fit"}
    )
    assert (outcome.result["headline"], outcome.result["markdown"]) == ("Does not fit", "")
    assert "UTC" in (tmp_path / "r.html").read_text()


def test_the_plan_for_programs(tmp_path: Path, run_module: RunModule) -> None:
    path = tmp_path / "plan.json"
    fit = {"verdict": "fits", "placements": [{"pod": "agg-0", "node": "node-1"}]}
    given = {"plan_json": str(path), "title": "agg", "verdict": "succeeded", "facts": {"Context": "gpu"}, "fit": fit}
    outcome = run_module(deployment_report, {**given, "findings": [FINDING, {**FINDING, "outcome": "fail"}, FINDING]})
    assert (outcome.result["changed"], outcome.result["plan_json"]) == (True, str(path))
    plan = json.loads(path.read_text())
    assert plan["schema"] == "inference_ops.dynamo/plan/v1"
    assert (plan["dgd"], plan["facts"], plan["placements"]) == ("agg", {"Context": "gpu"}, fit["placements"])
    # The plan's word is the fit's; each finding stands there once, the worst first.
    assert (plan["verdict"], plan["outcome"]) == ("fits", "fail")
    assert [finding["outcome"] for finding in plan["findings"]] == ["fail", "warn"]
    refused = run_module(deployment_report, {**given, "fit": {}})
    assert (refused.result["changed"], json.loads(path.read_text())["verdict"]) == (True, "succeeded")


def test_the_ledger_is_read_from_its_file(tmp_path: Path, run_module: RunModule) -> None:
    path, page = tmp_path / "deployment_ledger.json", tmp_path / "r.html"
    given = {"html": str(page), "title": "agg", "ledger_path": str(path)}
    assert not run_module(deployment_report, given).failed
    assert "kubectl delete the-deployment" not in page.read_text()
    path.write_text(dump_ledger(change_ledger(None, LedgerChange(set=LEDGER), str(path))))
    assert run_module(deployment_report, given).result["changed"] is True
    assert "kubectl delete the-deployment" in page.read_text()
    path.write_text("{}")
    broken = run_module(deployment_report, given)
    assert broken.failed
    assert broken.message.startswith(str(path))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"html": None, "markdown": None}, "one of the following is required: html, markdown, plan_json"),
        ({"html": "/no/such/folder/r.html"}, "/no/such/folder/r.html: the folder does not exist"),
        (
            {"ledger": {"dgd_name": "agg"}, "ledger_path": "/l.json"},
            "ledger_path: give the ledger or its file, not both",
        ),
        ({"findings": [{"outcome": "bad"}]}, "findings[0]: must be a finding"),
    ],
)
def test_bad_input_writes_nothing(tmp_path: Path, run_module: RunModule, more: dict[str, Any], said: str) -> None:
    given = {key: value for key, value in arguments(tmp_path, **more).items() if value is not None}
    outcome = run_module(deployment_report, given)
    assert outcome.failed
    assert said in outcome.message
    assert list(tmp_path.iterdir()) == []
