# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The face of core/plan.py for plays: options are checked by name before anything is judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ansible.errors")

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.filter.deployment_plan import FilterModule

deployment_plan = FilterModule().filters()["deployment_plan"]
SNAPSHOT = {
    "schema": "inference_ops.dynamo/snapshot/v1",
    "taken_at": "2026-01-31T12:00:00Z",
    "context": "test",
    "server_version": "v1.36.3",
    "namespace": "serving",
    "kinds": {},
    "api_requests": 0,
}
GRAPH = {
    "apiVersion": "nvidia.com/v1alpha1",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "demo"},
    "spec": {"services": {}},
}


def test_a_snapshot_that_holds_nothing_leaves_the_fit_unknown() -> None:
    report = deployment_plan([GRAPH], SNAPSHOT, operator_release="1.1")
    assert report["verdict"] == "unknown"
    assert report["namespace"] == "serving"


@pytest.mark.parametrize(
    ("definitions", "snapshot", "options", "message"),
    [
        ("text", SNAPSHOT, {}, "definitions"),
        ([GRAPH], 5, {}, "expected a snapshot or the path of one"),
        ([GRAPH], SNAPSHOT, {"unknown": "maybe"}, "unknown: must be warn or fail"),
        ([GRAPH], SNAPSHOT, {"operator_config": []}, None),
        ([GRAPH], SNAPSHOT, {"operator_config": ["x"]}, "operator_config: expected a mapping"),
        ([GRAPH], SNAPSHOT, {"retiring": [1]}, "retiring: expected a list of texts"),
        ([GRAPH], SNAPSHOT, {"gpu_ceiling": "many"}, "many"),
        ([], SNAPSHOT, {}, "DynamoGraphDeployment"),
    ],
)
def test_bad_options_are_named(definitions: Any, snapshot: Any, options: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert deployment_plan(definitions, snapshot, operator_release="1.1", **options)["findings"]
        return
    with pytest.raises(AnsibleFilterError, match=message):
        deployment_plan(definitions, snapshot, **options)


def test_a_snapshot_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AnsibleFilterError, match=r"none\.json"):
        deployment_plan([GRAPH], str(tmp_path / "none.json"))
