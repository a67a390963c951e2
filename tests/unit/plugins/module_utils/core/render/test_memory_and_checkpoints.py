# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU memory service, failover and checkpoints (rules 10)."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import (
    CheckpointConfig,
    CheckpointState,
    ClusterFacts,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.identity import identity_hash
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import (
    IMAGE,
    alpha,
    beta,
    service,
    worker_component,
)
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.seen import (
    HASH,
    accepted,
    clique,
    container,
    env,
    find,
    names,
    pod,
    rendered,
    template,
)

BOTH = pytest.mark.parametrize("release", ["1.1", "1.5"])
MODE = {"nvidia.com/dynamo-kube-discovery-mode": "container"}


def memory(**more: Any) -> dict[str, Any]:
    return alpha({"Worker": service(gpus="2", gpuMemoryService={"enabled": True}, **more)}, annotations=MODE)


@BOTH
class TestMemoryService:
    def test_gpus_come_by_claim(self, release: str) -> None:
        result = accepted(memory(), release)
        spec, main = pod(result, "Worker"), container(result, "Worker")
        assert main["resources"] == {"claims": [{"name": "intrapod-shared-gpu"}]}
        assert spec["resourceClaims"] == [
            {"name": "intrapod-shared-gpu", "resourceClaimTemplateName": "demo-worker-gpu"}
        ]
        assert spec["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
        request = find(result, "ResourceClaimTemplate", "demo-worker-gpu")["spec"]["spec"]["devices"]["requests"][0]
        assert request["exactly"] == {
            "allocationMode": "ExactCount",
            "count": 2,
            "deviceClassName": "gpu.nvidia.com",
        }

    def test_server(self, release: str) -> None:
        server = pod(accepted(memory(), release), "Worker")["initContainers"][0]
        assert (server["name"], server["image"], server["restartPolicy"]) == ("gms-server", IMAGE, "Always")
        assert server["command"] == ["python3", "-m", "gpu_memory_service.cli.server"]
        assert ("startupProbe" in server) is (release == "1.1")

    def test_without_dra(self, release: str) -> None:
        for pathway in ("deployment", "grove"):
            refused = rendered(memory(), release, pathway, settings={"dra": False})
            assert {error.rule for error in refused.errors} == {"dra_missing"}

    def test_failover(self, release: str) -> None:
        result = accepted(memory(failover={"enabled": True}), release)
        assert [item["name"] for item in pod(result, "Worker")["containers"]] == ["engine-0", "engine-1"]
        first, second = (container(result, "Worker", name=f"engine-{index}") for index in (0, 1))
        assert second["args"][-2:] == ["--master-port", "29600"]
        assert "--master-port" not in first["args"]
        assert second["ports"] == [{"name": "system-1", "containerPort": 9091, "protocol": "TCP"}]
        assert second["livenessProbe"]["httpGet"]["port"] == "system-1"
        seen = env(second)
        assert (seen["ENGINE_ID"], seen["DYN_SYSTEM_PORT"], seen["CONTAINER_NAME"]) == ("1", "9091", "engine-1")
        assert seen["VLLM_NIXL_SIDE_CHANNEL_PORT"] == "5601"
        assert seen["DYN_VLLM_KV_EVENT_PORT"] == "20081"
        assert not {"DYN_HEALTH_CHECK_ENABLED", "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"} & seen.keys()
        assert seen.get("DYN_FORWARDPASS_METRIC_PORT") == (None if release == "1.1" else "20381")

    def test_failover_in_a_shell_line_appends_what_the_shell_ignores(self, release: str) -> None:
        graph = memory(failover={"enabled": True})
        main = graph["spec"]["services"]["Worker"]["extraPodSpec"]["mainContainer"]
        main |= {"command": ["sh", "-c"], "args": ["python3 -m dynamo.vllm"]}
        second = container(accepted(graph, release), "Worker", name="engine-1")
        assert second["args"] == ["python3 -m dynamo.vllm", "--master-port", "29600"]

    def test_failover_moves_a_port_that_is_given(self, release: str) -> None:
        graph = memory(failover={"enabled": True})
        graph["spec"]["services"]["Worker"]["extraPodSpec"]["mainContainer"]["args"] = ["--master-port", "1000"]
        second = container(accepted(graph, release), "Worker", name="engine-1")
        assert second["args"] == ["--master-port", "1100"]

    def test_failover_needs_vllm(self, release: str) -> None:
        made = service(backend="sglang", gpuMemoryService={"enabled": True}, failover={"enabled": True})
        refused = rendered(alpha({"Worker": made}, annotations=MODE), release)
        assert {error.rule for error in refused.errors} == {"failover_backend"}


def test_extra_clients_are_wired_from_1_5_on() -> None:
    component = worker_component(experimental={"gpuMemoryService": {"extraClientContainers": ["loader"]}})
    component["podTemplate"]["spec"]["containers"] += [{"name": "loader", "image": "x"}, {"name": "log", "image": "x"}]
    result = accepted(beta([component]), "1.5")
    loader = container(result, "Worker", name="loader")
    assert env(loader) == {"GMS_SOCKET_DIR": "/gms-intrapod-control"}
    assert loader["volumeMounts"] == [{"name": "gms-intrapod-control", "mountPath": "/gms-intrapod-control"}]
    assert container(result, "Worker", name="log") == {"name": "log", "image": "x"}


class TestInterPod:
    def graph(self, nodes: int = 1, shadows: int = 0) -> dict[str, Any]:
        experimental: dict[str, Any] = {"gpuMemoryService": {"mode": "InterPod"}}
        if shadows:
            experimental["failover"] = {"mode": "InterPod", "numShadows": shadows}
        more: dict[str, Any] = {"multinode": {"nodeCount": nodes}} if nodes > 1 else {}
        component = worker_component("Agg", gpus="2", experimental=experimental, **more)
        return beta([component], backendFramework="vllm")

    def test_one_node(self) -> None:
        result = accepted(self.graph(), "1.5", "grove")
        template_ = find(result, "PodCliqueSet", "demo")["spec"]["template"]
        assert [item["name"] for item in template_["cliques"]] == ["agg-gms-0", "agg"]
        engine = clique(result, "Agg")
        assert engine["spec"]["startsAfter"] == ["agg-gms-0"]
        assert (engine["spec"]["replicas"], engine["spec"]["podSpec"]["restartPolicy"]) == (1, "Always")
        main = container(result, "Agg")
        assert main["args"][-2:] == ["--load-format", "gms"]
        assert "DYN_VLLM_GMS_SHADOW_MODE" not in env(main)
        assert env(main)["FAILOVER_LOCK_PATH"] == "/run/gms/shared/failover.lock"
        assert template_["cliqueStartupType"] == "CliqueStartupTypeExplicit"

    def test_flag_that_is_there_already(self) -> None:
        graph = self.graph()
        args = graph["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]["args"]
        args.append("--load-format=gms")
        assert container(accepted(graph, "1.5", "grove"), "Agg")["args"] == ["--model", "m", "--load-format=gms"]

    def test_keeper(self) -> None:
        keeper = clique(accepted(self.graph(), "1.5", "grove"), "Agg", "gms-0")
        main = keeper["spec"]["podSpec"]["containers"][0]
        assert (main["command"], main["args"]) == (["bash", "-c"], ["«gms server script»"])
        assert main["startupProbe"]["exec"]["command"][-1].endswith("-ge 4")
        assert "resources" not in main
        assert "nvidia.com/dynamo-discovery-enabled" not in keeper["labels"]

    def test_shadows(self) -> None:
        result = accepted(self.graph(nodes=2, shadows=1), "1.5", "grove")
        leader, worker = clique(result, "Agg", "leader"), clique(result, "Agg", "wkr-1")
        assert leader["spec"]["replicas"] == worker["spec"]["replicas"] == 2
        assert worker["spec"]["podSpec"]["restartPolicy"] == "Never"
        assert leader["labels"]["nvidia.com/dynamo-failover-engine-group-member"] == "true"
        group = find(result, "PodCliqueSet", "demo")["spec"]["template"]["podCliqueScalingGroups"][0]
        assert group["resourceSharing"][1]["filter"] == {"childCliqueNames": ["agg-gms-1", "agg-wkr-1"]}


class TestCheckpoint:
    IDENTITY = {"model": "m", "backendFramework": "vllm"}
    ON = {"checkpoint": CheckpointConfig(enabled=True, pvc="snapshots", path="/checkpoints")}

    def graph(self, **checkpoint: Any) -> dict[str, Any]:
        return alpha({"Worker": service(checkpoint={"enabled": True, **checkpoint})})

    def test_identity(self) -> None:
        assert identity_hash(self.IDENTITY) == "cfb060f4d0539cab"
        assert identity_hash({**self.IDENTITY, "tensorParallelSize": 1}) == "cfb060f4d0539cab"
        assert identity_hash({**self.IDENTITY, "tensorParallelSize": 2}) != "cfb060f4d0539cab"

    def test_1_1_makes_one_by_identity(self) -> None:
        result = accepted(self.graph(identity=self.IDENTITY), "1.1")
        made = find(result, "DynamoCheckpoint", "checkpoint-cfb060f4d0539cab")
        assert made["spec"]["job"]["podTemplateSpec"]["spec"]["restartPolicy"] == "Never"
        manual = accepted(self.graph(identity=self.IDENTITY, mode="Manual"), "1.1")
        assert names(manual, "DynamoCheckpoint") == []

    @BOTH
    def test_one_that_is_only_named_must_exist(self, release: str) -> None:
        refused = rendered(self.graph(checkpointRef="ck"), release, settings=self.ON)
        assert [error.rule for error in refused.errors] == ["checkpoint_not_found"]

    def test_1_1_restores(self) -> None:
        facts = ClusterFacts(
            checkpoints={"ck": CheckpointState(ready=True, checkpoint_id="id")},
            snapshot_claim="pvc",
            snapshot_path="/snap",
        )
        settings = {"checkpoint": CheckpointConfig(enabled=True)}
        result = accepted(self.graph(checkpointRef="ck"), "1.1", settings=settings, facts=facts)
        main = container(result, "Worker")
        assert main["command"] == ["sleep", "infinity"]
        assert "args" not in main
        assert main["startupProbe"]["failureThreshold"] == 2147483647
        assert [item["name"] for item in pod(result, "Worker")["volumes"]] == [
            "shared-memory", "checkpoint-storage", "snapshot-control", "podinfo",
        ]  # fmt: skip
        labels = template(result, "Worker")["metadata"]["labels"]
        assert labels["nvidia.com/snapshot-checkpoint-id"] == "id"
        assert find(result, "Deployment", f"demo-worker-{HASH}")["spec"]["strategy"] == {"type": "Recreate"}

    def test_1_1_needs_storage_to_restore(self) -> None:
        facts = ClusterFacts(checkpoints={"ck": CheckpointState(ready=True)})
        settings = {"checkpoint": CheckpointConfig(enabled=True)}
        refused = rendered(self.graph(checkpointRef="ck"), "1.1", settings=settings, facts=facts)
        assert [error.rule for error in refused.errors] == ["checkpoint_storage"]

    def test_users_marks_go_where_nothing_is_restored(self) -> None:
        made = service(extraPodMetadata={"labels": {"nvidia.com/snapshot-is-restore-target": "true"}})
        labels = template(accepted(alpha({"Worker": made}), "1.1"), "Worker")["metadata"]["labels"]
        assert "nvidia.com/snapshot-is-restore-target" not in labels

    def test_1_5_marks_candidates(self) -> None:
        facts = ClusterFacts(checkpoints={"ck": CheckpointState()})
        for pathway in ("deployment", "grove"):
            result = accepted(self.graph(checkpointRef="ck"), "1.5", pathway, settings=self.ON, facts=facts)
            annotations = template(result, "Worker")["metadata"]["annotations"]
            assert annotations["nvidia.com/dynamo-checkpoint-name"] == "ck"
            assert annotations["nvidia.com/dynamo-checkpoint-startup-policy"] == "Immediate"
            assert annotations["nvidia.com/snapshot-target-containers"] == "main"

    def test_1_5_waits(self) -> None:
        graph = self.graph(checkpointRef="ck", startupPolicy="WaitForCheckpoint")
        waiting = ClusterFacts(checkpoints={"ck": CheckpointState()})
        result = accepted(graph, "1.5", "grove", settings=self.ON, facts=waiting)
        assert clique(result, "Worker")["spec"]["replicas"] == 0
        assert "nvidia.com/dynamo-checkpoint-name" not in template(result, "Worker")["metadata"]["annotations"]
        result = accepted(graph, "1.5", settings=self.ON, facts=waiting)
        assert find(result, "Deployment", f"demo-worker-{HASH}")["spec"]["replicas"] == 0
        assert "nvidia.com/snapshot-checkpoint-id" not in template(result, "Worker")["metadata"]["labels"]
        ready = ClusterFacts(checkpoints={"ck": CheckpointState(ready=True, checkpoint_id="id")})
        result = accepted(graph, "1.5", "grove", settings=self.ON, facts=ready)
        main = container(result, "Worker")
        assert clique(result, "Worker")["spec"]["replicas"] == 1
        assert main["args"] == ["--model", "m"]
        assert [item["name"] for item in main["env"][-2:]] == [
            "DYN_SNAPSHOT_CONTROL_DIR",
            "DYN_SNAPSHOT_RESTORE_STANDBY",
        ]
        assert main["startupProbe"]["periodSeconds"] == 1
        assert pod(result, "Worker")["securityContext"]["seccompProfile"]["type"] == "Localhost"
        marks = clique(result, "Worker")
        assert marks["labels"]["nvidia.com/snapshot-is-restore-target"] == "true"
        assert marks["labels"]["nvidia.com/snapshot-checkpoint-id"] == "id"
        assert marks["annotations"]["nvidia.com/snapshot-storage-type"] == "pvc"
        assert marks["annotations"]["nvidia.com/snapshot-target-containers"] == "main"

    def test_1_5_takes_off_users_marks(self) -> None:
        keys = ("nvidia.com/snapshot-target-containers", "nvidia.com/dynamo-checkpoint-name")
        made = service(extraPodMetadata={"annotations": dict.fromkeys(keys, "mine")})
        for pathway in ("deployment", "grove"):
            metadata = template(accepted(alpha({"Worker": made}), "1.5", pathway), "Worker")["metadata"]
            assert not set(keys) & set(metadata.get("annotations", {}))

    def test_1_5_waiting_group(self) -> None:
        """A component over several nodes waits as a whole: its scaling group has no replicas."""
        made = service(
            gpus="8",
            multinode={"nodeCount": 2},
            checkpoint={"enabled": True, "checkpointRef": "ck", "startupPolicy": "WaitForCheckpoint"},
        )
        facts = ClusterFacts(checkpoints={"ck": CheckpointState()})
        result = accepted(alpha({"Worker": made}), "1.5", "grove", settings=self.ON, facts=facts)
        template_ = find(result, "PodCliqueSet", "demo")["spec"]["template"]
        assert [item["replicas"] for item in template_["podCliqueScalingGroups"]] == [0]
        assert [item["spec"]["replicas"] for item in template_["cliques"]] == [0, 0]

    def job(self, **job: Any) -> Any:
        """Return the template of the job that makes the checkpoint of a worker with a sidecar."""
        made = worker_component(
            podTemplate={
                "metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}},
                "spec": {
                    "containers": [
                        {"name": "main", "image": IMAGE, "command": ["python3", "-m", "dynamo.vllm"], "args": ["-x"]},
                        {"name": "side", "image": "x/side:1"},
                    ]
                },
            },
            experimental={"checkpoint": {"enabled": True, **({"job": {"podTemplate": job}} if job else {})}},
        )
        result = accepted(beta([made]), "1.5", settings=self.ON)
        (item,) = [item for item in result.objects if item["kind"] == "DynamoCheckpoint"]
        assert item["spec"]["identity"]["backendFramework"] == "vllm"
        return item["spec"]["job"]["podTemplateSpec"]

    def test_1_5_job_keeps_the_target_alone(self) -> None:
        made = self.job()
        assert [item["name"] for item in made["spec"]["containers"]] == ["main"]
        assert made["spec"]["restartPolicy"] == "Never"
        assert made["metadata"]["labels"] == {
            "team": "a",
            "nvidia.com/dynamo-component": "Worker",
            "nvidia.com/dynamo-graph-deployment-name": "demo",
            "nvidia.com/dynamo-worker-hash": HASH,
        }
        assert made["metadata"]["annotations"] == {"note": "b"}

    def test_1_5_job_takes_its_own_pod(self) -> None:
        made = self.job(
            metadata={"labels": {"team": "c"}},
            spec={
                "nodeSelector": {"pool": "x"},
                "volumes": [{"name": "shared-memory", "emptyDir": {}}, {"name": "v", "emptyDir": {}}],
                "containers": [
                    {
                        "name": "main",
                        "env": [{"name": "DYN_SYSTEM_PORT", "value": "1"}],
                        "startupProbe": {"exec": {"command": ["true"]}},
                    },
                    {"name": "helper", "image": "x/helper:1"},
                ],
            },
        )
        spec = made["spec"]
        main, helper = spec["containers"]
        assert made["metadata"]["labels"]["team"] == "c"
        assert spec["nodeSelector"] == {"pool": "x"}
        assert spec["volumes"] == [{"name": "shared-memory", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]
        assert {"name": "DYN_SYSTEM_PORT", "value": "1"} in main["env"]
        assert main["image"] == IMAGE
        assert main["startupProbe"] == {"exec": {"command": ["true"]}}
        assert helper == {"name": "helper", "image": "x/helper:1"}

    @pytest.mark.parametrize(
        ("changes", "rule"),
        [
            ({"command": ["run"]}, "checkpoint_backend"),
            ({}, "checkpoint_target"),
        ],
    )
    def test_1_5_job_that_cannot_be_made(self, changes: dict[str, Any], rule: str) -> None:
        container_ = {"name": "main", "image": IMAGE, "command": ["python3", "-m", "dynamo.vllm"], **changes}
        wanted = {"enabled": True} if changes else {"enabled": True, "targetContainerName": "other"}
        made = worker_component(podTemplate={"spec": {"containers": [container_]}}, experimental={"checkpoint": wanted})
        refused = rendered(beta([made]), "1.5", settings=self.ON)
        assert [error.rule for error in refused.errors] == [rule]
