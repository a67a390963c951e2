# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pull secret module: live, from a snapshot, and with secrets given by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("kubernetes")

from ansible_collections.inference_ops.dynamo.plugins.module_utils import kube_http
from ansible_collections.inference_ops.dynamo.plugins.modules import cluster_info, pull_secret_match
from ansible_collections.inference_ops.dynamo.tests.doubles.cluster import planted, serve_cluster
from ansible_collections.inference_ops.dynamo.tests.doubles.fake_api import FakeApi, forbidden

from .conftest import RunModule

IMAGE = "nvcr.io/nvidia/x:1"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    monkeypatch.setattr(kube_http, "FIRST_PAUSE", 0.0)
    with FakeApi() as fake:
        serve_cluster(fake)
        yield fake


def test_live_and_saved_give_the_same_answer(api: FakeApi, run_module: RunModule, tmp_path: Path) -> None:
    path = str(tmp_path / "snapshot.json")
    snapshot = run_module(cluster_info, {"host": api.url, "namespace": "ml", "path": path}).result["snapshot"]
    live = run_module(pull_secret_match, {"host": api.url, "namespace": "ml", "images": [IMAGE]}).result
    for offline in ({"snapshot_path": path}, {"snapshot": snapshot, "namespace": "ml"}):
        assert run_module(pull_secret_match, {"images": [IMAGE], **offline}).result["images"] == live["images"]
    assert live["images"][0]["verdict"] == "attached_and_used"
    assert live["operator_release"] == "1.5"
    assert "pull_secret_malformed" in {finding["reason_code"] for finding in live["findings"]}
    assert live["changed"] is False


def test_few_requests(api: FakeApi, run_module: RunModule) -> None:
    run_module(pull_secret_match, {"host": api.url, "namespace": "ml", "images": [IMAGE]})
    assert len(api.requests) == 6


def test_the_exact_permission_that_is_missing(api: FakeApi, run_module: RunModule) -> None:
    api.fixed["/api/v1/namespaces/ml/secrets"] = forbidden("secrets")
    outcome = run_module(pull_secret_match, {"host": api.url, "namespace": "ml", "images": [IMAGE]})
    assert outcome.result["images"][0]["verdict"] == "unknown"
    finding = outcome.result["findings"][0]
    assert finding["reason_code"] == "pull_secrets_unreadable"
    assert 'needs verb "list" on secrets in namespace ml' in finding["message"]


def test_nothing_planted_comes_out(api: FakeApi, run_module: RunModule) -> None:
    images = [IMAGE, "other.example/x:1", {"image": "Bad/Image", "image_pull_secrets": ["bad", "hf-token-secret"]}]
    told = [
        run_module(pull_secret_match, {"host": api.url, "namespace": "ml", "images": images}, diff=True).result,
        run_module(
            cluster_info, {"host": api.url, "namespace": "ml", "secret_names": ["ngc", "hf-token-secret"]}
        ).result,
    ]
    for text in planted():
        assert text not in json.dumps(told)


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"images": [IMAGE], "secrets": [{"name": "s", "auth": "planted"}]}, "s.auth: only name"),
        ({"images": [{"x": 1}], "secrets": []}, "images[0]"),
        ({"images": [IMAGE], "snapshot_path": "/nonexistent"}, "/nonexistent: there is no such file"),
        ({"images": [IMAGE], "snapshot": {}}, "snapshot: schema: not a snapshot"),
        ({"images": [IMAGE], "snapshot": {}, "secrets": []}, "mutually exclusive"),
        ({"images": [IMAGE]}, "namespace: must be given"),
        ({"images": [IMAGE], "namespace": "ml"}, "no cluster was named"),
        ({"images": [IMAGE], "secrets": [], "operator_release": "0.1"}, "unknown operator release"),
        ({}, "one of the following is required"),
    ],
)
def test_one_clear_message(run_module: RunModule, args: dict[str, object], text: str) -> None:
    outcome = run_module(pull_secret_match, args)
    assert outcome.failed
    assert text in outcome.message
    assert "planted" not in outcome.message
