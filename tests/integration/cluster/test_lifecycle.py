# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters start side by side, say what they are, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.inference_ops.dynamo.tests.cluster import lifecycle
from ansible_collections.inference_ops.dynamo.tests.cluster.api import wait_until
from ansible_collections.inference_ops.dynamo.tests.cluster.faults import forget_history, without_apiserver
from ansible_collections.inference_ops.dynamo.tests.cluster.paths import ClusterError, ClusterFolder
from ansible_collections.inference_ops.dynamo.tests.cluster.processes import processes_of
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import Options, running_cluster

pytestmark = pytest.mark.cluster

POOLS = """
nodes:
  - {name: big, count: 2, gpus: 8, product: NVIDIA-H200, zones: [a, b], extended: {rdma/ib: 4}}
  - {name: kept, count: 1, gpus: 4, taints: [{key: kept, value: "yes", effect: NoSchedule}], labels: {team: x}}
storage_classes:
  - {name: shared, default: true}
volumes:
  - {name: disk, count: 1, storage_class: shared, size: 1Ti}
"""


@pytest.fixture
def clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A clusters folder of the test's own; whatever it still holds afterwards is stopped."""
    folder = tmp_path / "clusters"
    monkeypatch.setenv("INFERENCE_OPS_CLUSTERS", str(folder))
    yield folder
    for name in lifecycle.cluster_names():
        lifecycle.stop(name)


def test_two_run_side_by_side_and_leave_nothing_behind(clusters: Path, tmp_path: Path) -> None:
    pools = tmp_path / "pools.yaml"
    pools.write_text(POOLS)
    options = Options(pools=pools, operator=False)
    with running_cluster(options, "one") as one, running_cluster(Options(operator=False), "two") as two:
        assert set(one.record.ports.values()).isdisjoint(two.record.ports.values())
        assert one.context != two.context
        nodes = {node["metadata"]["name"]: node for node in one.api.list("v1", "Node")}
        assert sorted(nodes) == ["big-0", "big-1", "kept-0"]
        big = nodes["big-1"]
        assert big["status"]["allocatable"]["nvidia.com/gpu"] == "8"
        assert big["status"]["capacity"]["rdma/ib"] == "4"
        assert big["metadata"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-H200"
        assert big["metadata"]["labels"]["topology.kubernetes.io/zone"] == "b"
        assert nodes["kept-0"]["spec"]["taints"][0]["key"] == "kept"
        assert nodes["kept-0"]["metadata"]["labels"]["team"] == "x"
        assert len(two.api.list("v1", "Node")) == 9
        facts = lifecycle.describe("one")
        assert facts["state"] == "running"
        assert facts["processes"] == 5
        folders = [one.folder.path, two.folder.path]
    for folder in folders:
        assert processes_of(folder) == ()
        assert not folder.exists()
    assert lifecycle.stop("one") == 0
    assert lifecycle.describe("one") == {"name": "one", "state": "absent"}


def test_starting_a_running_one_leaves_it_alone(clusters: Path) -> None:
    with running_cluster(Options(operator=False), "again") as first:
        assert lifecycle.start("again", Options(operator=False)) == first.record


def test_a_killed_start_is_cleaned_up(clusters: Path) -> None:
    env = {**os.environ, **lifecycle.child_environment()}
    command = [sys.executable, "-m", lifecycle.PACKAGE, "start", "killed", "--no-operator"]
    starter = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    folder = ClusterFolder.of("killed")
    wait_until("the first programs", lambda: len(processes_of(folder.path)) >= 3, seconds=60, interval=0.02)
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    assert lifecycle.describe("killed")["state"] == "broken"
    assert lifecycle.stop("killed") >= 3
    assert processes_of(folder.path) == ()
    assert not folder.path.exists()


def test_a_program_that_died_shows(clusters: Path) -> None:
    with running_cluster(Options(operator=False), "hurt") as hurt:
        os.kill(processes_of(hurt.folder.path)[-1], signal.SIGKILL)
        wait_until("the end", lambda: lifecycle.describe("hurt")["state"] == "broken")


def test_an_api_server_that_was_killed_comes_back_and_is_stopped_with_the_rest(clusters: Path) -> None:
    with running_cluster(Options(operator=False), "away") as away:
        before = away.folder.pid_file("kube-apiserver").read_text()
        with without_apiserver("away"):
            assert lifecycle.describe("away")["state"] == "broken"
            with pytest.raises(ClusterError, match="no running API server"), without_apiserver("away"):
                pass
        assert lifecycle.describe("away")["state"] == "running"
        assert away.folder.pid_file("kube-apiserver").read_text() != before
        assert len(away.api.list("v1", "Node")) == 9
        forget_history("away")
    assert processes_of(away.folder.path) == ()
    with pytest.raises(ClusterError, match="does not run"):
        forget_history("away")


@pytest.mark.parametrize("name", ["", "Dev", "a/b", "-a", "a" * 41, ".."])
def test_bad_names_are_refused(name: str) -> None:
    with pytest.raises(ClusterError, match="cluster name"):
        ClusterFolder.of(name)
