# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator's stand-in: a DGD gets its children and a status, and takes them along when it goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.inference_ops.dynamo.tests.cluster.api import wait_until
from ansible_collections.inference_ops.dynamo.tests.cluster.stages import OUTCOME
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import Options, RunningCluster, running_cluster

pytestmark = pytest.mark.cluster

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
KIND = "DynamoGraphDeployment"


def recipe(path: str, namespace: str, name: str = "") -> dict[str, Any]:
    dgd: dict[str, Any] = yaml.safe_load((EXAMPLES / path).read_text())
    dgd["metadata"] |= {"namespace": namespace, "name": name or dgd["metadata"]["name"]}
    return dgd


def make_namespace(cluster: RunningCluster, name: str) -> str:
    """A namespace with the claim that every recipe mounts."""
    cluster.namespace(name)
    claim = yaml.safe_load((EXAMPLES / "vllm-agg" / "model-cache.yaml").read_text())
    claim["metadata"]["namespace"] = name
    cluster.api.apply(claim)
    return name


def status(cluster: RunningCluster, dgd: dict[str, Any]) -> dict[str, Any]:
    live = cluster.api.get(dgd["apiVersion"], KIND, dgd["metadata"]["namespace"], dgd["metadata"]["name"])
    assert live is not None
    answer: dict[str, Any] = live.get("status") or {}
    return answer


def wait_for_state(cluster: RunningCluster, dgd: dict[str, Any], state: str) -> dict[str, Any]:
    def reached() -> dict[str, Any] | None:
        now = status(cluster, dgd)
        return now if now.get("state") == state else None

    answer: dict[str, Any] = wait_until(state, reached)
    return answer


def names(cluster: RunningCluster, api_version: str, kind: str, namespace: str) -> list[str]:
    return [item["metadata"]["name"] for item in cluster.api.list(api_version, kind, namespace)]


def test_an_aggregated_graph_gets_ready_and_goes(cluster: RunningCluster) -> None:
    namespace = make_namespace(cluster, "op-agg")
    dgd = recipe("vllm-agg/deploy.yaml", namespace)
    cluster.api.create(dgd)
    answer = wait_for_state(cluster, dgd, "successful")
    assert answer["observedGeneration"] == 1
    assert [item["status"] for item in answer["conditions"] if item["type"] == "Ready"] == ["True"]
    assert answer["services"]["VllmWorker"]["readyReplicas"] == 2
    assert len(names(cluster, "v1", "Pod", namespace)) == 3
    registered = names(cluster, dgd["apiVersion"], "DynamoWorkerMetadata", namespace)
    assert sorted(registered) == sorted(name for name in names(cluster, "v1", "Pod", namespace) if "worker" in name)
    frontend = cluster.api.get("v1", "Service", namespace, "tiny-chat-agg-frontend")
    assert frontend is not None
    assert frontend["spec"]["ports"][0]["port"] == 8000
    cluster.api.delete(dgd)
    wait_until("all gone", lambda: not names(cluster, "v1", "Pod", namespace))
    wait_until("no deployment", lambda: not names(cluster, "apps/v1", "Deployment", namespace))
    wait_until("no graph", lambda: not names(cluster, dgd["apiVersion"], KIND, namespace))


def test_scaling_and_a_deleted_child_are_put_right(cluster: RunningCluster) -> None:
    namespace = make_namespace(cluster, "op-scale")
    dgd = recipe("vllm-agg/deploy.yaml", namespace)
    cluster.api.create(dgd)
    wait_for_state(cluster, dgd, "successful")
    cluster.api.patch(dgd, {"spec": {"services": {"VllmWorker": {"replicas": 1}}}})
    wait_until("one worker", lambda: status(cluster, dgd)["services"]["VllmWorker"]["replicas"] == 1)
    worker = next(n for n in names(cluster, "apps/v1", "Deployment", namespace) if "vllmworker" in n)
    cluster.api.delete(
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": worker, "namespace": namespace}}
    )
    wait_until("made again", lambda: worker in names(cluster, "apps/v1", "Deployment", namespace))
    cluster.api.delete(dgd)


def test_a_component_that_fails_keeps_the_graph_pending(cluster: RunningCluster) -> None:
    namespace = make_namespace(cluster, "op-fail")
    dgd = recipe("vllm-agg/deploy.yaml", namespace)
    dgd["spec"]["services"]["VllmWorker"]["extraPodMetadata"] = {"annotations": {OUTCOME: "image-pull-backoff"}}
    cluster.api.create(dgd)
    answer = wait_for_state(cluster, dgd, "pending")
    assert "VllmWorker" in answer["conditions"][0]["message"]
    cluster.api.delete(dgd)


def test_a_multinode_component_becomes_a_leader_and_a_worker(cluster: RunningCluster) -> None:
    namespace = make_namespace(cluster, "op-lws")
    dgd = recipe("sglang-multinode/deploy.yaml", namespace)
    cluster.api.create(dgd)
    answer = wait_for_state(cluster, dgd, "successful")
    assert answer["services"]["Worker"]["componentKind"] == "LeaderWorkerSet"
    pods = {pod["metadata"]["name"]: pod for pod in cluster.api.list("v1", "Pod", namespace)}
    workers = [pod for name, pod in pods.items() if "worker" in name]
    assert len(workers) == 2
    assert len({pod["spec"]["nodeName"] for pod in workers}) == 2
    cluster.api.delete(dgd)
    wait_until("all gone", lambda: not names(cluster, "v1", "Pod", namespace))


def test_a_graph_that_the_operator_refuses_fails(cluster: RunningCluster) -> None:
    namespace = make_namespace(cluster, "op-bad")
    dgd = recipe("sglang-multinode/deploy.yaml", namespace)
    dgd["spec"]["backendFramework"] = "vllm"  # the command says sglang
    cluster.api.create(dgd)
    answer = wait_for_state(cluster, dgd, "failed")
    assert "sglang" in answer["conditions"][0]["message"]
    cluster.api.delete(dgd)


@pytest.mark.parametrize(
    ("path", "field"), [("vllm-agg/deploy-v1beta1.yaml", "components"), ("sglang-multinode/deploy.yaml", "services")]
)
def test_grove_and_the_newer_release(grove_cluster: RunningCluster, path: str, field: str) -> None:
    namespace = make_namespace(grove_cluster, f"grove-{field}")
    dgd = recipe(path, namespace)
    grove_cluster.api.create(dgd)
    answer = wait_for_state(grove_cluster, dgd, "successful")
    kinds = {item["componentKind"] for item in answer[field].values()}
    assert kinds <= {"PodClique", "PodCliqueScalingGroup"}
    assert len(names(grove_cluster, "v1", "Pod", namespace)) == 3
    grove_cluster.api.delete(dgd)
    wait_until("all gone", lambda: not names(grove_cluster, "v1", "Pod", namespace))


@pytest.fixture(scope="module")
def grove_cluster() -> Any:
    with running_cluster(Options(apis=("dynamo", "lws", "grove"), release="1.5")) as running:
        yield running
