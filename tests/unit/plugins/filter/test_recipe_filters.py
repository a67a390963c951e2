# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recipe's filters: tagged values in, plain answers out, errors in one message."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("ansible", reason="filters run inside Ansible")

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.filter import (
    config_engagement,
    dgd_pinned_changes,
    worker_instance_id,
)


def call(module: ModuleType, *args: Any, **options: Any) -> Any:
    (apply,) = module.FilterModule().filters().values()
    return apply(*args, **options)


class Tagged(str):
    """Stands for ansible-core's tagged text."""


def dgd(replicas: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": Tagged("nvidia.com/v1alpha1"),
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "agg"},
        "spec": {"services": {"Worker": {"componentType": "worker", "replicas": replicas}}},
    }


def test_worker_instance_id() -> None:
    name = Tagged("agg-vllmdecodeworker-52db9486-545d6c44d9-rfxps")
    assert call(worker_instance_id, name) == 582010010309664
    with pytest.raises(AnsibleFilterError, match="a pod's name is needed"):
        call(worker_instance_id, "")


def test_pinned_changes() -> None:
    report = call(dgd_pinned_changes, dgd(2), [dgd()], [Tagged("replicas"), "mode"])
    assert report["verdict"] == "fail"
    assert [finding["reason_code"] for finding in report["findings"]] == ["pinned_changed", "pinned_kept"]
    with pytest.raises(AnsibleFilterError, match="pinned: must be a list"):
        call(dgd_pinned_changes, dgd(), dgd(), "replicas")
    with pytest.raises(AnsibleFilterError, match="no DynamoGraphDeployment"):
        call(dgd_pinned_changes, dgd(), [], ["replicas"])


def test_config_engagement() -> None:
    labels = {"nvidia.com/dynamo-graph-deployment-name": "agg", "nvidia.com/dynamo-component": "Worker"}
    pods = [
        {
            "metadata": {"name": Tagged(f"w-{number}"), "labels": labels},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }
        for number in range(2)
    ]
    report = call(config_engagement, dgd(2), dgd(), pods)
    assert report["verdict"] == "pass"
    assert [(entry["knob"], entry["proven"]) for entry in report["entries"]] == [("replicas", True)]
    assert call(config_engagement, dgd(2), dgd(), [])["verdict"] == "unknown"
    with pytest.raises(AnsibleFilterError, match="pods: must be a list of pods"):
        call(config_engagement, dgd(), dgd(), ["x"])
    with pytest.raises(AnsibleFilterError, match="logs: must be a mapping"):
        call(config_engagement, dgd(), dgd(), [], ["x"])
