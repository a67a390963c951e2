# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node pools file is checked before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.inference_ops.dynamo.tests.cluster.paths import ClusterError
from ansible_collections.inference_ops.dynamo.tests.cluster.pools import (
    DEFAULT_POOLS,
    node_objects,
    read_pools,
    storage_objects,
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nodes: [", "while parsing"),
        ("[]", "a mapping is wanted"),
        ("nodes: {}", "nodes must be a list"),
        ("nodes: [{count: 2}]", r"nodes\[0\]: name is missing"),
        ("nodes: [{name: a, gpu: 8}]", r"nodes\[0\]: unknown gpu"),
        ("disks: []", "unknown disks"),
        ("volumes: [a]", r"volumes\[0\]: a mapping is wanted"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "pools.yaml"
    file.write_text(text)
    with pytest.raises(ClusterError, match=problem):
        read_pools(file)


def test_the_default_file() -> None:
    pools = read_pools(DEFAULT_POOLS)
    gpus = [int(node["status"]["allocatable"].get("nvidia.com/gpu", 0)) for node in node_objects(pools)]
    assert sum(gpus) == 4 * 8 + 2 * 4 + 8
    kinds = [item["kind"] for item in storage_objects(pools)]
    assert kinds == ["StorageClass"] + ["PersistentVolume"] * 8
