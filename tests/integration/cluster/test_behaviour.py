# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods, Jobs and volumes behave as tests ask them to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.tests.cluster.api import wait_until
from ansible_collections.inference_ops.dynamo.tests.cluster.stages import DELAY, OUTCOME, OUTCOMES
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import RunningCluster

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def namespace(bare_cluster: RunningCluster) -> str:
    return bare_cluster.namespace("behaviour")


def pod(name: str, namespace: str, annotations: dict[str, str]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "annotations": annotations}
    spec = {"initContainers": [{"name": "first", "image": "i"}], "containers": [{"name": "main", "image": "m"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def job(name: str, namespace: str, annotations: dict[str, str]) -> dict[str, Any]:
    template = {
        "metadata": {"annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "m"}]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"backoffLimit": 0, "template": template},
    }


def container(cluster: RunningCluster, namespace: str, name: str) -> dict[str, Any]:
    live = cluster.api.get("v1", "Pod", namespace, name)
    assert live is not None
    status: dict[str, Any] = live["status"]["containerStatuses"][0]
    return status


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ("image-pull-backoff", "ImagePullBackOff"),
        ("config-error", "CreateContainerConfigError"),
        ("container-creating", "ContainerCreating"),
        ("crash-loop", "CrashLoopBackOff"),
        ("oom-killed", "CrashLoopBackOff"),
        ("ready-then-crash", "CrashLoopBackOff"),
    ],
)
def test_a_pod_fails_as_asked(bare_cluster: RunningCluster, namespace: str, outcome: str, reason: str) -> None:
    bare_cluster.api.create(pod(outcome, namespace, {OUTCOME: outcome}))

    def waiting() -> bool:
        state = container(bare_cluster, namespace, outcome)["state"]
        return bool(state["waiting"]["reason"] == reason)

    wait_until(outcome, waiting)
    expected = OUTCOMES[outcome]
    wait_until(
        "its event",
        lambda: [
            event
            for event in bare_cluster.api.list("v1", "Event", namespace)
            if event["involvedObject"]["name"] == outcome and event["reason"] == expected.event_reason
        ],
    )
    status = container(bare_cluster, namespace, outcome)
    assert not status["ready"]
    if outcome == "oom-killed":
        assert status["lastState"]["terminated"]["reason"] == "OOMKilled"


def test_a_pod_that_never_gets_ready_runs(bare_cluster: RunningCluster, namespace: str) -> None:
    bare_cluster.api.create(pod("unready", namespace, {OUTCOME: "never-ready"}))
    wait_until("running", lambda: "running" in container(bare_cluster, namespace, "unready")["state"])
    assert not container(bare_cluster, namespace, "unready")["ready"]


def test_a_slow_pod_is_creating_first(bare_cluster: RunningCluster, namespace: str) -> None:
    bare_cluster.api.create(pod("slow", namespace, {DELAY: "3s"}))
    state = wait_until("a status", lambda: container(bare_cluster, namespace, "slow")["state"])
    assert state["waiting"]["reason"] == "ContainerCreating"
    wait_until("ready", lambda: container(bare_cluster, namespace, "slow")["ready"])


@pytest.mark.parametrize(
    ("name", "annotations", "condition"),
    [
        ("done", {}, "Complete"),
        ("late", {DELAY: "2s"}, "Complete"),
        ("broken", {OUTCOME: "failed"}, "Failed"),
    ],
)
def test_jobs_end(
    bare_cluster: RunningCluster, namespace: str, name: str, annotations: dict[str, str], condition: str
) -> None:
    bare_cluster.api.create(job(name, namespace, annotations))

    def ended() -> list[str]:
        live = bare_cluster.api.get("batch/v1", "Job", namespace, name) or {}
        conditions = live.get("status", {}).get("conditions") or []
        return [
            item["type"] for item in conditions if item["status"] == "True" and item["type"] in ("Complete", "Failed")
        ]

    assert wait_until(name, ended) == [condition]


def test_a_claim_binds_and_its_volume_is_free_again(bare_cluster: RunningCluster, namespace: str) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "cache", "namespace": namespace},
        "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "100Gi"}}},
    }
    made = bare_cluster.api.create(claim)

    def bound() -> str:
        live = bare_cluster.api.get("v1", "PersistentVolumeClaim", namespace, "cache") or {}
        return str(live["spec"]["volumeName"]) if live["status"]["phase"] == "Bound" else ""

    volume = wait_until("bound", bound)
    bare_cluster.api.delete({**claim, **made})

    def free() -> bool:
        live = bare_cluster.api.get("v1", "PersistentVolume", "", volume) or {}
        return bool(live["status"]["phase"] == "Available")

    wait_until("free again", free)


def test_logs_are_served(bare_cluster: RunningCluster, namespace: str) -> None:
    bare_cluster.api.create(pod("talks", namespace, {}))
    wait_until("ready", lambda: container(bare_cluster, namespace, "talks")["ready"])
    path = bare_cluster.api.path("v1", "Pod", namespace, "talks") + "/log?container=main"
    assert "played by KWOK" in bare_cluster.api.text(path)


def test_requests_are_told_apart_by_user_agent(bare_cluster: RunningCluster) -> None:
    bare_cluster.api.list("v1", "Node")
    agents = {json.loads(line).get("userAgent") for line in bare_cluster.audit_lines()}
    assert "inference-ops-test" in agents
