# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The snapshot module against a double of an API server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("kubernetes")

from ansible_collections.inference_ops.dynamo.plugins.module_utils import kube_http
from ansible_collections.inference_ops.dynamo.plugins.modules import cluster_info
from ansible_collections.inference_ops.dynamo.tests.doubles.cluster import serve_cluster
from ansible_collections.inference_ops.dynamo.tests.doubles.fake_api import FakeApi, forbidden

from .conftest import RunModule


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    monkeypatch.setattr(kube_http, "FIRST_PAUSE", 0.0)
    with FakeApi() as fake:
        serve_cluster(fake)
        yield fake


def test_the_snapshot_is_returned_and_saved(api: FakeApi, run_module: RunModule, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    outcome = run_module(cluster_info, {"host": api.url, "namespace": "ml", "path": str(path)})
    assert outcome.result["changed"] is True
    assert outcome.result["path"] == str(path)
    assert outcome.result["snapshot"]["namespace"] == "ml"
    assert json.loads(path.read_text(encoding="utf-8")) == outcome.result["snapshot"]
    assert outcome.result["counts"]["pods"] == 2
    assert set(outcome.result["not_observed"]) == {"podcliquesets", "clustertopologies", "clustertopologybindings"}
    assert outcome.result["api_requests"] == len(api.requests)
    assert {request.headers["user-agent"] for request in api.requests} == {"inference_ops.dynamo/cluster_info"}


def test_check_mode_writes_nothing(api: FakeApi, run_module: RunModule, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    outcome = run_module(cluster_info, {"host": api.url, "namespace": "ml", "path": str(path)}, check=True)
    assert outcome.result["changed"] is True
    assert not path.exists()
    assert {request.method for request in api.requests} == {"GET"}


def test_kinds_can_be_chosen_and_the_snapshot_left_out(api: FakeApi, run_module: RunModule) -> None:
    args = {"host": api.url, "namespace": "ml", "kinds": ["nodes"], "more_kinds": ["events"], "include_snapshot": False}
    outcome = run_module(cluster_info, args)
    assert outcome.result["changed"] is False
    assert set(outcome.result["counts"]) == {"nodes", "events"}
    assert "snapshot" not in outcome.result


def test_what_was_read_in_part_is_told(api: FakeApi, run_module: RunModule) -> None:
    api.fixed["/api/v1/pods"] = forbidden("pods")
    outcome = run_module(cluster_info, {"host": api.url, "namespace": "ml"})
    assert outcome.result["not_observed"]["pods"]["partial"] == "namespace ml"
    assert not outcome.failed


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"namespace": "ml"}, "no cluster was named"),
        ({"namespace": "ml", "host": "http://127.0.0.1:9"}, "the API server at http://127.0.0.1:9 gave no answer"),
        ({"namespace": "ml", "host": "http://127.0.0.1:9", "kinds": ["ghosts"]}, "no snapshot holds ghosts"),
        ({"namespace": "ml", "context": "x", "kubeconfig": "/nonexistent"}, "there is no such kubeconfig file"),
        ({"host": "http://127.0.0.1:9"}, "missing required arguments: namespace"),
    ],
)
@pytest.mark.usefixtures("api")
def test_one_clear_message(run_module: RunModule, args: dict[str, object], text: str, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    outcome = run_module(cluster_info, {**args, "path": str(path)})
    assert outcome.failed
    assert text in outcome.message
    assert "Traceback" not in outcome.message
    assert not path.exists()


def test_a_file_that_cannot_be_written(api: FakeApi, run_module: RunModule, tmp_path: Path) -> None:
    outcome = run_module(cluster_info, {"host": api.url, "namespace": "ml", "path": str(tmp_path / "none" / "s.json")})
    assert outcome.failed
    assert "s.json: cannot be written" in outcome.message
