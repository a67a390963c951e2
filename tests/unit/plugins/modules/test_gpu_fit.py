# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module gpu_fit: where the cluster comes from, and that a verdict never fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ansible.module_utils.basic")

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.judge import KINDS
from ansible_collections.inference_ops.dynamo.plugins.modules import gpu_fit

GPU = "nvidia.com/gpu"


def demand(name: str = "w-0", gpus: str = "1", **pod: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "resources": {"limits": {GPU: gpus}}}]}
    return {
        "name": name,
        "component": "w",
        "role": "main",
        "replica": 0,
        "pod": {"metadata": {"name": name}, "spec": spec, **pod},
    }


def snapshot(**more: Any) -> dict[str, Any]:
    node = {"metadata": {"name": "a"}, "spec": {}, "status": {"allocatable": {GPU: "4", "pods": "9", "cpu": "8"}}}
    return {
        "schema": "inference_ops.dynamo/snapshot/v1",
        "taken_at": "2026-01-01T00:00:00Z",
        "context": "c",
        "server_version": "v1.36.3",
        "namespace": "team",
        "kinds": {kind: {"state": "observed", "detail": ""} for kind in KINDS},
        **{kind: [] for kind in KINDS},
        "nodes": [node],
        "api_requests": 3,
        **more,
    }


def test_a_snapshot_in_hand(run_module: Any) -> None:
    outcome = run_module(gpu_fit, {"pods": [demand()], "snapshot": snapshot(), "namespace": "team"}, check=True)
    assert not outcome.failed
    assert outcome.result["verdict"] == "fits"
    assert outcome.result["placements"] == [{"pod": "w-0", "component": "w", "node": "a"}]
    assert (outcome.result["changed"], outcome.result["api_requests"]) == (False, 0)


def test_a_snapshot_in_a_file_and_the_connection_of_a_group_left_aside(run_module: Any, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(snapshot()), encoding="utf-8")
    args = {
        "pods": [demand(gpus="5")],
        "snapshot_path": str(path),
        "namespace": "team",
        "context": "west",
        "predict": False,
    }
    outcome = run_module(gpu_fit, args)
    assert not outcome.failed
    assert outcome.result["verdict"] == "does_not_fit"
    assert "fits on none of the 1 nodes" in outcome.result["proof"]
    assert outcome.result["prediction"]["state"] == "not_judged"


def test_a_live_cluster_is_read_in_the_pods_namespace(run_module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class Connection:
        """Test double of a connection: it only counts."""

        api_requests = 11

    def collect(kube: Any, namespace: str, *, kinds: Any) -> dict[str, Any]:
        asked.append((namespace, tuple(kinds)))
        return snapshot(namespace=namespace)

    monkeypatch.setattr(gpu_fit, "connect", lambda params, agent: Connection())
    monkeypatch.setattr(gpu_fit, "collect_snapshot", collect)
    placed = demand(metadata={"name": "w-0", "namespace": "own"})
    outcome = run_module(gpu_fit, {"pods": [placed], "context": "west"})
    namespace, kinds = asked.pop()
    # No pod mounts a claim, so nothing is read about storage.
    assert (namespace, set(KINDS) - set(kinds)) == (
        "own",
        {
            *("persistentvolumeclaims", "persistentvolumes", "storageclasses"),
            *("csinodes", "csidrivers", "volumeattachments", "csistoragecapacities"),
        },
    )
    placed["pod"]["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
    run_module(gpu_fit, {"pods": [placed], "context": "west"})
    assert asked == [("own", KINDS)]
    assert (outcome.result["verdict"], outcome.result["api_requests"]) == ("fits", 11)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"pods": [{"name": "x"}], "snapshot": snapshot()}, "pods[0]"),
        ({"pods": [demand(gpus="two")], "snapshot": snapshot()}, "not a resource quantity"),
        ({"pods": [demand()], "snapshot": {"schema": "other"}}, "not a snapshot of this collection"),
        ({"pods": [demand()], "snapshot_path": "/nowhere.json"}, "there is no such file"),
        ({"pods": [demand()], "snapshot": snapshot(), "snapshot_path": "/x"}, "mutually exclusive"),
        ({"pods": [demand()]}, "context"),
    ],
)
def test_bad_input_is_one_clear_message(run_module: Any, args: dict[str, Any], message: str) -> None:
    outcome = run_module(gpu_fit, args)
    assert outcome.failed
    assert message in outcome.message
    assert "Traceback" not in outcome.message
