# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wait against a real API server: how soon it knows, what it asks for, and what it survives."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.readiness import WaitPolicy
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.waits import WaitRequest
from ansible_collections.inference_ops.dynamo.tests.cluster.api import wait_until
from ansible_collections.inference_ops.dynamo.tests.cluster.stages import DELAY, OUTCOME
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import RunningCluster
from ansible_collections.inference_ops.dynamo.tests.integration.triage.background import Background
from ansible_collections.inference_ops.dynamo.tests.integration.triage.cutter import Cutter
from ansible_collections.inference_ops.dynamo.tests.integration.triage.graph import (
    NAME,
    Object,
    deploy,
    first_worker,
    request,
    set_ready,
    wait_for,
)

pytestmark = pytest.mark.cluster

RUNS = 20
WATCHED_KINDS = 16
NO_GRACE = WaitPolicy(timeout=30, graces={"image": 0}, stable_for=1, progress_interval=5)


def pod_status(reason: str, message: str) -> Object:
    waiting = {"reason": reason, "message": message}
    container = {
        "name": "main",
        "image": "i",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"waiting": waiting},
    }
    return {"status": {"containerStatuses": [container]}}


def test_from_event_to_verdict_in_under_a_second(bare_cluster: RunningCluster) -> None:
    api, namespace = bare_cluster.api, bare_cluster.namespace("wait-latency")
    deploy(api, namespace, annotations={DELAY: "600s"})

    def bound() -> Object | None:
        found = first_worker(api, namespace)
        return found if found["spec"].get("nodeName") else None

    pod = wait_until("a bound worker", bound)
    took: list[float] = []
    wanted = WaitRequest("dgd", namespace, (NAME,), NO_GRACE)
    for _unused in range(RUNS):
        api.patch(pod, pod_status("ContainerCreating", ""), "status")
        running = Background(bare_cluster, wanted)
        wait_until("the first look", lambda running=running: running.lines)
        began = time.monotonic()
        api.patch(pod, pod_status("ImagePullBackOff", "ErrImagePull: no such host"), "status")
        result = running.join(20)
        took.append(running.ended_at - began)
        assert (result["state"], result["category"]) == ("failed", "image_pull")
    median, worst = statistics.median(took) * 1000, max(took) * 1000
    print(f"\nfrom event to verdict: median {median:.0f} ms, worst {worst:.0f} ms, {RUNS} runs")
    assert statistics.median(took) < 1.0


def test_requests_do_not_grow_with_time(bare_cluster: RunningCluster) -> None:
    namespace = bare_cluster.namespace("wait-requests")
    deploy(bare_cluster.api, namespace, annotations={DELAY: "600s"})
    short = wait_for(bare_cluster, request(namespace, timeout=8))
    long = wait_for(bare_cluster, request(namespace, timeout=16))
    print(f"\nAPI requests: {short['api_requests']} in 8 s, {long['api_requests']} in 16 s")
    assert long["api_requests"] == short["api_requests"]
    assert short["api_requests"] <= 2 * WATCHED_KINDS, "one list and one watch a kind"


def test_what_goes_well_takes_few_requests(bare_cluster: RunningCluster) -> None:
    api, namespace = bare_cluster.api, bare_cluster.namespace("wait-few")
    deploy(api, namespace)
    first_worker(api, namespace)
    graph = api.get("nvidia.com/v1alpha1", "DynamoGraphDeployment", namespace, NAME)
    assert graph is not None
    set_ready(api, graph, True)
    ready = wait_for(bare_cluster, request(namespace))
    assert ready["state"] == "ready", ready["msg"]
    meta = {"name": "download", "namespace": namespace}
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}
    api.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template}})
    complete = wait_for(bare_cluster, WaitRequest("jobs", namespace, ("download",), WaitPolicy(30, stable_for=0)))
    assert complete["state"] == "ready", complete["msg"]
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    api.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": claim})
    wanted = WaitRequest("pvc", namespace, ("download",), WaitPolicy(30, stable_for=0))
    bound = wait_for(bare_cluster, wanted)
    assert bound["state"] == "ready", bound["msg"]
    asked = {"DGD": ready["api_requests"], "Job": complete["api_requests"], "claim": bound["api_requests"]}
    print(f"\nAPI requests where all goes well: {asked}")
    assert asked["DGD"] <= 16
    assert asked["Job"] <= 4
    assert asked["claim"] <= 8, "four, and as many again where the volume is not there at once"


def test_a_line_comes_at_least_every_interval(bare_cluster: RunningCluster) -> None:
    namespace = bare_cluster.namespace("wait-lines")
    deploy(bare_cluster.api, namespace, annotations={DELAY: "600s"})
    lines: list[str] = []
    wait_for(bare_cluster, request(namespace, timeout=9), lines=lines)
    assert 4 <= len(lines) <= 8
    assert all("Worker 0/1 ready" in line for line in lines)


@pytest.fixture
def cutter(bare_cluster: RunningCluster, tmp_path: Path) -> Iterator[tuple[Cutter, Path]]:
    """A way to the API server that can be cut, and a kubeconfig that goes through it."""
    config = yaml.safe_load(bare_cluster.kubeconfig.read_text(encoding="utf-8"))
    server = config["clusters"][0]["cluster"]["server"]
    with Cutter(server) as way:
        config["clusters"][0]["cluster"]["server"] = way.url
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(config), encoding="utf-8")
        yield way, path


def test_dropped_connections_are_taken_up_again(bare_cluster: RunningCluster, cutter: tuple[Cutter, Path]) -> None:
    way, kubeconfig = cutter
    api, namespace = bare_cluster.api, bare_cluster.namespace("wait-dropped")
    deploy(api, namespace)
    wanted = request(namespace, timeout=60, check_discovery=False)
    running = Background(bare_cluster, wanted, kubeconfig)
    wait_until("the first look", lambda: running.lines)
    way.cut(3.0)
    graph = api.get("nvidia.com/v1alpha1", "DynamoGraphDeployment", namespace, NAME)
    assert graph is not None
    set_ready(api, graph, True)  # while nobody can hear it
    result = running.join(40)
    assert result["state"] == "ready", result["msg"]
    assert way.dropped > 0
    assert running.source.watches.restarts > 0


def test_crashes_end_a_wait_only_when_they_repeat(bare_cluster: RunningCluster) -> None:
    api, namespace = bare_cluster.api, bare_cluster.namespace("wait-once")
    deploy(api, namespace, annotations={OUTCOME: "ready-then-crash", DELAY: "1s"})
    result = wait_for(bare_cluster, request(namespace, timeout=6))
    worker: Any = next(one for one in result["components"] if one["component"] == "Worker")
    assert worker["category"] == "crash_loop"
    assert result["state"] == "timeout", "one restart is no loop"
