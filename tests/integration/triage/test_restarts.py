# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API server itself is killed and started again under a wait: a fact of life that is no failure of the workload."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.readiness import WaitPolicy
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.waits import WaitRequest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import connect
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube_errors import Unreachable
from ansible_collections.inference_ops.dynamo.tests.cluster import lifecycle
from ansible_collections.inference_ops.dynamo.tests.cluster.api import wait_until
from ansible_collections.inference_ops.dynamo.tests.cluster.faults import forget_history, without_apiserver
from ansible_collections.inference_ops.dynamo.tests.cluster.stages import DELAY, OUTCOME
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import Options, RunningCluster, running_cluster
from ansible_collections.inference_ops.dynamo.tests.integration.triage.background import Background
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

DOWN = 4.0
#: All kinds are read, taken up again, and some are listed anew; the rest are questions whether the server is back.
FEW = 75


@pytest.fixture
def mortal() -> Iterator[RunningCluster]:
    """A cluster of each test's own: controllers are slow to recover, and no other test has to live through this."""
    with running_cluster(Options(operator=False)) as running:
        yield running


def graph_of(cluster: RunningCluster, namespace: str) -> Object:
    found = cluster.api.get("nvidia.com/v1alpha1", "DynamoGraphDeployment", namespace, NAME)
    assert found is not None
    return found


def lists(cluster: RunningCluster, namespace: str, plural: str) -> int:
    """How often a wait has listed a kind, by the API server's own account."""
    found = [json.loads(line) for line in cluster.audit_lines()]
    return sum(
        1
        for one in found
        if one["verb"] == "list"
        and "workload_wait" in one.get("userAgent", "")
        and (one["objectRef"].get("resource"), one["objectRef"].get("namespace")) == (plural, namespace)
        and one["stage"] == "ResponseComplete"
    )


def test_a_dgd_becomes_ready_after_a_restart(mortal: RunningCluster) -> None:
    api, namespace = mortal.api, mortal.namespace("restart-ready")
    deploy(api, namespace)
    first_worker(api, namespace)
    running = Background(mortal, request(namespace, timeout=90, check_discovery=False))
    wait_until("the first look", lambda: running.lines)
    with without_apiserver(mortal.folder.name):
        time.sleep(DOWN)
    wait_until("sight again", lambda: running.source.watches.outage() is None)
    assert running.result == {}, "what was ready before is no readiness, and what is not seen is no failure"
    set_ready(api, graph_of(mortal, namespace), True)
    result = running.join(60)
    assert result["state"] == "ready", result["msg"]
    assert [one["ready"] for one in result["components"]] == [1, 1]
    assert [one["reason_code"] for one in result["findings"] if one["outcome"] == "pass"] == ["triage_ready"]
    assert any("API server not heard of for" in line for line in running.lines)
    assert running.source.watches.restarts > 0
    print(f"\nAPI requests with a restart of {DOWN:.0f} s: {running.requests}")
    assert running.requests <= FEW
    assert lifecycle.describe(mortal.folder.name)["state"] == "running"


def test_a_failure_is_counted_only_while_it_is_seen(mortal: RunningCluster) -> None:
    """The crash was there before, and its grace runs out while nobody can see whether it is over."""
    api, namespace = mortal.api, mortal.namespace("restart-grace")
    deploy(api, namespace, annotations={OUTCOME: "image-pull-backoff", DELAY: "1s"})
    policy = WaitPolicy(timeout=90, graces={"image": 6}, stable_for=1, progress_interval=2)
    running = Background(mortal, WaitRequest("dgd", namespace, (NAME,), policy))
    wait_until("the cause", lambda: any("image_pull" in line for line in running.lines))
    with without_apiserver(mortal.folder.name):
        time.sleep(DOWN)
        before = running.result
    result = running.join(60)
    assert before == {}
    assert (result["state"], result["category"]) == ("failed", "image_pull")
    assert result["timings"]["elapsed_seconds"] >= 6 + DOWN


def test_a_job_completes_while_nobody_can_see_it(mortal: RunningCluster) -> None:
    api, namespace = mortal.api, mortal.namespace("restart-job")
    template = {
        "metadata": {"annotations": {DELAY: "600s"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]},
    }
    meta = {"name": "download", "namespace": namespace}
    api.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template}})
    running = Background(mortal, WaitRequest("jobs", namespace, ("download",), WaitPolicy(90, stable_for=0)))
    wait_until("the first look", lambda: running.lines)
    pod = wait_until("its pod", lambda: api.list("v1", "Pod", namespace))[0]
    with without_apiserver(mortal.folder.name):
        time.sleep(1)
    api.patch(pod, {"status": {"phase": "Succeeded"}}, "status")
    result = running.join(60)
    assert result["state"] == "ready", result["msg"]
    assert running.requests <= FEW


def test_versions_that_the_restarted_server_has_forgotten_are_listed_anew(mortal: RunningCluster) -> None:
    """While the wait is cut off much happens, and etcd forgets it: the version is too old when it comes back."""
    api, namespace = mortal.api, mortal.namespace("restart-old")
    deploy(api, namespace)
    first_worker(api, namespace)
    running = Background(mortal, request(namespace, timeout=90, check_discovery=False))
    wait_until("the first look", lambda: running.lines)
    for number in range(50):
        meta = {"name": f"filler-{number}", "namespace": "default"}
        api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    with without_apiserver(mortal.folder.name):
        forget_history(mortal.folder.name)
        time.sleep(1)
    set_ready(api, graph_of(mortal, namespace), True)
    result = running.join(60)
    assert result["state"] == "ready", result["msg"]
    assert lists(mortal, namespace, "pods") == 2, "at the beginning, and after 410"
    assert running.requests <= FEW


def test_a_server_that_stays_away_is_named(mortal: RunningCluster) -> None:
    namespace = mortal.namespace("restart-never")
    deploy(mortal.api, namespace, annotations={DELAY: "600s"})
    running = Background(mortal, request(namespace, timeout=8))
    wait_until("the first look", lambda: running.lines)
    with without_apiserver(mortal.folder.name):
        result = running.join(20)
        with pytest.raises(Unreachable, match="gave no answer"):
            wait_for(mortal, request(namespace, timeout=2))
        with pytest.raises(Unreachable, match="refused"):
            connect({"kubeconfig": str(mortal.kubeconfig), "context": mortal.context}, agent="test").serves()
    assert (result["state"], result["category"], result["way"]) == ("timeout", "unknown", "investigate")
    assert "not ready within 8 s: API server: unknown: not heard of for" in result["msg"]
    assert "refused" in result["msg"]
    assert "Worker (1)" in result["top_reasons"][1], "what was seen last is told after it"
    told = next(one for one in result["findings"] if one["subject"] == "Cluster/API server")
    assert told["outcome"] == "unknown"
    assert result["timings"]["elapsed_seconds"] < 10
    assert running.requests <= FEW
