# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The release ``documented``: every value of the document operator-defaults, and nothing that it does not say."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import CheckpointConfig
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import IMAGE, alpha, beta, service
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.seen import (
    accepted,
    container,
    env,
    find,
    names,
    pod,
)

DOCUMENTED = "documented"
CONFIGURED = {
    "nats_address": "nats://n:4222",
    "etcd_address": "e:2379",
    "model_express_url": "http://m",
    "prometheus_endpoint": "http://p",
}


def get(path: str, port: str, delay: int | None, period: int, timeout: int, failures: int) -> dict[str, Any]:
    made: dict[str, Any] = {"httpGet": {"path": path, "port": port}}
    if delay is not None:
        made["initialDelaySeconds"] = delay
    return made | {"periodSeconds": period, "timeoutSeconds": timeout, "failureThreshold": failures}


def other(kind: str) -> dict[str, Any]:
    made: dict[str, Any] = {"componentType": kind, "extraPodSpec": {"mainContainer": {"image": IMAGE}}}
    if kind == "epp":
        made["eppConfig"] = {"configMapRef": {"name": "cm", "key": "k"}}
    return made


def test_frontend_probes() -> None:
    main = container(accepted(alpha(), DOCUMENTED), "Frontend")
    assert main["livenessProbe"] == get("/health", "http", 60, 60, 30, 10)
    command = 'curl -s http://localhost:${DYNAMO_PORT}/health | jq -e ".status == \\"healthy\\""'
    assert main["readinessProbe"] == {
        "exec": {"command": ["/bin/sh", "-c", command]},
        "initialDelaySeconds": 60,
        "periodSeconds": 60,
        "timeoutSeconds": 30,
        "failureThreshold": 10,
    }
    assert "startupProbe" not in main


def test_worker_probes() -> None:
    main = container(accepted(alpha(), DOCUMENTED), "Worker")
    assert main["livenessProbe"] == get("/live", "system", None, 5, 30, 1)
    assert main["readinessProbe"] == get("/health", "system", None, 10, 30, 60)
    assert main["startupProbe"] == get("/live", "system", None, 10, 5, 720)


@pytest.mark.parametrize(
    ("kind", "ports"),
    [
        ("frontend", {"http": 8000}),
        ("worker", {"system": 9090, "nixl": 19090}),
        ("planner", {"metrics": 9085}),
        ("epp", {"grpc": 9002, "grpc-health": 9003, "metrics": 9090}),
    ],
)
def test_ports(kind: str, ports: dict[str, int]) -> None:
    made = service(gpus=None) if kind == "worker" else other(kind)
    main = container(accepted(alpha({"C": made}), DOCUMENTED), "C")
    assert {item["name"]: item["containerPort"] for item in main["ports"]} == ports
    assert all(item["protocol"] == "TCP" for item in main["ports"])


_ALL = {
    "DYN_NAMESPACE", "DYN_COMPONENT", "DYN_PARENT_DGD_K8S_NAME", "DYN_PARENT_DGD_K8S_NAMESPACE", "POD_NAME",
    "POD_NAMESPACE", "POD_UID", "DYN_DISCOVERY_BACKEND", "NATS_SERVER", "ETCD_ENDPOINTS", "MODEL_EXPRESS_URL",
    "PROMETHEUS_ENDPOINT",
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        ("frontend", {"DYNAMO_PORT": "8000", "DYN_HTTP_PORT": "8000", "DYN_NAMESPACE_PREFIX": "team-a-demo"}),
        (
            "worker",
            {
                "DYN_SYSTEM_ENABLED": "true",
                "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]',
                "DYN_SYSTEM_PORT": "9090",
                "DYN_HEALTH_CHECK_ENABLED": "false",
                "NIXL_TELEMETRY_ENABLE": "n",
                "NIXL_TELEMETRY_EXPORTER": "prometheus",
                "NIXL_TELEMETRY_PROMETHEUS_PORT": "19090",
            },
        ),
        ("planner", {"PLANNER_PROMETHEUS_PORT": "9085"}),
        ("epp", {"USE_STREAMING": "true", "RUST_LOG": "debug,dynamo_llm::kv_router=trace"}),
    ],
)
def test_variables(kind: str, own: dict[str, str]) -> None:
    made = service(gpus=None) if kind == "worker" else other(kind)
    seen = env(container(accepted(alpha({"C": made}), DOCUMENTED, settings=CONFIGURED), "C"))
    assert seen.keys() == _ALL | own.keys()
    assert {name: seen[name] for name in own} == own
    assert seen["DYN_COMPONENT"] == kind


def test_infrastructure_only_where_configured() -> None:
    seen = env(container(accepted(alpha(), DOCUMENTED, settings={"nats_address": ""}), "Worker"))
    assert not {"NATS_SERVER", "ETCD_ENDPOINTS", "MODEL_EXPRESS_URL", "PROMETHEUS_ENDPOINT"} & seen.keys()


def test_discovery_backend_is_spelt_out() -> None:
    seen = env(container(accepted(alpha(), DOCUMENTED, settings={"discovery_backend": "etcd"}), "Worker"))
    assert seen["DYN_DISCOVERY_BACKEND"] == "etcd"


@pytest.mark.parametrize("kind", ["frontend", "worker", "planner", "epp", "default"])
def test_every_pod(kind: str) -> None:
    made = service(gpus=None) if kind == "worker" else other(kind)
    spec = pod(accepted(alpha({"C": made}), DOCUMENTED), "C")
    assert (spec["terminationGracePeriodSeconds"], spec["restartPolicy"]) == (60, "Always")
    assert spec["securityContext"] == {"fsGroup": 1000}
    shared = [item for item in spec["volumes"] if item["name"] == "shared-memory"]
    assert shared == [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}]
    accounts = {"planner": "planner-serviceaccount", "epp": "epp-serviceaccount"}
    assert spec["serviceAccountName"] == accounts.get(kind, "demo-k8s-service-discovery")


class TestMultinode:
    def graph(self, backend: str, *args: str) -> dict[str, Any]:
        made = service(gpus="8", backend=backend, args=args, multinode={"nodeCount": 2})
        return alpha({"Worker": made})

    def test_vllm_over_tensors_runs_on_ray(self) -> None:
        result = accepted(self.graph("vllm", "--tensor-parallel-size", "16"), DOCUMENTED, "grove")
        leader, worker = container(result, "Worker", "leader"), container(result, "Worker", "worker")
        assert leader["args"][0].startswith("ray start --head --port=6379 && ")
        assert leader["args"][0].endswith("--distributed-executor-backend ray")
        assert {"livenessProbe", "readinessProbe", "startupProbe"} <= leader.keys()
        assert not {"livenessProbe", "readinessProbe", "startupProbe"} & worker.keys()
        assert "VLLM_NIXL_SIDE_CHANNEL_HOST" not in env(leader)

    def test_vllm_over_data(self) -> None:
        result = accepted(self.graph("vllm", "--data-parallel-size", "16"), DOCUMENTED, "grove")
        assert "13445" in container(result, "Worker", "leader")["args"]
        assert "livenessProbe" not in container(result, "Worker", "worker")

    def test_sglang(self) -> None:
        result = accepted(self.graph("sglang"), DOCUMENTED, "grove")
        assert any(word.endswith(":29500") for word in container(result, "Worker", "leader")["args"])
        assert "readinessProbe" not in container(result, "Worker", "worker")

    def test_trtllm(self) -> None:
        result = accepted(self.graph("trtllm"), DOCUMENTED, "grove")
        worker = container(result, "Worker", "worker")
        assert worker["readinessProbe"] == {
            "tcpSocket": {"port": 2222},
            "initialDelaySeconds": 20,
            "periodSeconds": 20,
            "timeoutSeconds": 5,
            "failureThreshold": 10,
        }
        assert env(worker)["OMPI_MCA_orte_keep_fqdn_hostnames"] == "1"


class TestAutoscaling:
    def test_cpu_at_80_where_no_metrics_are_given(self) -> None:
        made = service(autoscaling={"enabled": True, "minReplicas": 1, "maxReplicas": 5})
        result = accepted(alpha({"Worker": made}), DOCUMENTED)
        (name,) = names(result, "HorizontalPodAutoscaler")
        spec = find(result, "HorizontalPodAutoscaler", name)["spec"]
        assert spec["metrics"] == [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
            }
        ]
        assert (spec["minReplicas"], spec["maxReplicas"]) == (1, 5)

    def test_own_metrics_stand(self) -> None:
        metrics = [
            {"type": "Pods", "pods": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "1"}}}
        ]
        made = service(autoscaling={"enabled": True, "maxReplicas": 2, "metrics": metrics})
        result = accepted(alpha({"Worker": made}), DOCUMENTED)
        (name,) = names(result, "HorizontalPodAutoscaler")
        assert find(result, "HorizontalPodAutoscaler", name)["spec"]["metrics"] == metrics

    @pytest.mark.parametrize("release", ["1.1", "1.5", "main"])
    def test_no_release_makes_one(self, release: str) -> None:
        made = service(autoscaling={"enabled": True, "maxReplicas": 2})
        assert names(accepted(alpha({"Worker": made}), release), "HorizontalPodAutoscaler") == []


def test_checkpoint_variables() -> None:
    checkpoint = {"enabled": True, "identity": {"model": "m", "backendFramework": "vllm"}}
    graph = alpha({"Worker": service(checkpoint=checkpoint)})
    settings = {"checkpoint": CheckpointConfig(enabled=True, pvc="p", path="/checkpoints")}
    seen = env(container(accepted(graph, DOCUMENTED, settings=settings), "Worker"))
    assert seen["DYN_CHECKPOINT_PATH"] == "/checkpoints"
    assert seen["DYN_CHECKPOINT_HASH"] == "cfb060f4d0539cab"
    assert "SKIP_WAIT_FOR_CHECKPOINT" in seen
    for release in ("1.1", "1.5"):
        real = env(container(accepted(graph, release, settings=settings), "Worker"))
        assert not {"DYN_CHECKPOINT_PATH", "DYN_CHECKPOINT_HASH", "SKIP_WAIT_FOR_CHECKPOINT"} & real.keys()


def test_both_api_versions_are_taken() -> None:
    assert container(accepted(beta(), DOCUMENTED), "Worker")["livenessProbe"]["timeoutSeconds"] == 30
