# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Multinode pods: what each backend makes of command, variables, probes and volumes (rules 7)."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import (
    IMAGE,
    alpha,
    beta,
    service,
    worker_component,
)
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.seen import (
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

GROVE_HOST = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-decode-ldr-0.$(GROVE_HEADLESS_SERVICE)"
TP16 = ("--tensor-parallel-size", "16")
EXECUTOR = "nvidia.com/vllm-distributed-executor-backend"
ORIGIN = "nvidia.com/dynamo-operator-origin-version"


def decode(args: tuple[str, ...] = TP16, *, backend: str = "vllm", gpus: str | None = "8", **more: Any) -> Any:
    return {"Decode": service(gpus=gpus, backend=backend, args=args, multinode={"nodeCount": 2}, **more)}


def shell(line: str, gpus: str | None = "8", **more: Any) -> Any:
    main = {"image": IMAGE, "command": ["/bin/sh", "-c"], "args": [line]}
    made = service(gpus=gpus, multinode={"nodeCount": 2}, **more)
    made["extraPodSpec"] = {"mainContainer": main}
    return {"Decode": made}


@pytest.mark.parametrize("release", ["1.1", "1.5"])
class TestVllm:
    def test_mp_on_grove_in_a_shell_line(self, release: str) -> None:
        graph = alpha(shell("python3 -m dynamo.vllm --model m --tensor-parallel-size 16"))
        flags = f"--distributed-executor-backend mp --nnodes 2 --master-addr {GROVE_HOST} --master-port 29500"
        main = container(accepted(graph, release, "grove"), "Decode", "leader")
        assert main["command"] == ["/bin/sh", "-c"]
        assert main["args"] == [f"python3 -m dynamo.vllm {flags} --node-rank 0 --model m --tensor-parallel-size 16"]

    def test_mp_on_grove_worker_needs_a_shell(self, release: str) -> None:
        args = (*TP16, "--kv-transfer-config", '{"a":"b c"}')
        main = container(accepted(alpha(decode(args)), release, "grove"), "Decode", "worker")
        assert main["command"] == ["sh", "-c"]
        assert main["args"] == [
            "exec python3 -m dynamo.vllm --model m --tensor-parallel-size 16 --kv-transfer-config"
            ' "{\\"a\\":\\"b c\\"}" --distributed-executor-backend mp --nnodes 2 --master-addr '
            f"{GROVE_HOST} --master-port 29500 --node-rank $((GROVE_PCLQ_POD_INDEX + 1)) --headless"
        ]

    def test_mp_on_lws_worker_needs_none(self, release: str) -> None:
        main = container(accepted(alpha(decode()), release, "lws"), "Decode", "worker")
        assert main["command"] == ["python3", "-m", "dynamo.vllm"]
        assert main["args"][4:] == [
            "--distributed-executor-backend", "mp", "--nnodes", "2", "--master-addr", "$(LWS_LEADER_ADDRESS)",
            "--master-port", "29500", "--node-rank", "$(LWS_WORKER_INDEX)", "--headless",
        ]  # fmt: skip

    def test_workers_lose_every_probe_and_leaders_none(self, release: str) -> None:
        graph = alpha(decode(livenessProbe={"httpGet": {"path": "/mine", "port": 1}}))
        result = accepted(graph, release, "grove")
        assert not {"livenessProbe", "readinessProbe", "startupProbe"} & container(result, "Decode", "worker").keys()
        leader = container(result, "Decode", "leader")
        assert leader["livenessProbe"]["httpGet"]["path"] == "/mine"
        assert leader["startupProbe"]["failureThreshold"] == 720

    def test_side_channel_follows_the_sorted_block(self, release: str) -> None:
        for role in ("leader", "worker"):
            main = container(accepted(alpha(decode()), release, "grove"), "Decode", role)
            assert main["env"][-1] == {
                "name": "VLLM_NIXL_SIDE_CHANNEL_HOST",
                "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}},
            }

    def test_data_parallel_on_lws(self, release: str) -> None:
        result = accepted(alpha(decode(("--data-parallel-size", "16"))), release, "lws")
        leader, worker = container(result, "Decode", "leader"), container(result, "Decode", "worker")
        assert leader["args"][4:] == [
            "--data-parallel-hybrid-lb", "--data-parallel-size-local", "8", "--data-parallel-start-rank", "0",
            "--data-parallel-address", "$(LWS_LEADER_ADDRESS)", "--data-parallel-rpc-port", "13445",
        ]  # fmt: skip
        assert worker["command"] == ["sh", "-c"]
        assert worker["args"] == [
            "exec python3 -m dynamo.vllm --model m --data-parallel-size 16 --data-parallel-hybrid-lb"
            " --data-parallel-size-local 8 --data-parallel-start-rank $(( 8 * $(LWS_WORKER_INDEX) ))"
            " --data-parallel-address $(LWS_LEADER_ADDRESS) --data-parallel-rpc-port 13445"
        ]

    @pytest.mark.parametrize("args", [("--tensor-parallel-size=16",), ("-tp", "16"), ("--tensor-parallel-size", "8")])
    def test_what_fits_or_is_not_seen_stays(self, release: str, args: tuple[str, ...]) -> None:
        main = container(accepted(alpha(decode(args)), release, "grove"), "Decode", "leader")
        assert main["args"] == ["--model", "m", *args]

    def test_ray_with_python(self, release: str) -> None:
        result = accepted(alpha(decode(), annotations={EXECUTOR: "RAY"}), release, "grove")
        leader, worker = container(result, "Decode", "leader"), container(result, "Decode", "worker")
        assert leader["command"] == worker["command"] == ["/bin/sh", "-c"]
        assert leader["args"] == [
            "ray start --head --port=6379 && python3 -m dynamo.vllm --model m --tensor-parallel-size 16"
            " --distributed-executor-backend ray"
        ]
        assert worker["args"] == [f"ray start --address={GROVE_HOST}:6379 --block"]
        assert "VLLM_NIXL_SIDE_CHANNEL_HOST" not in env(leader)
        assert "initContainers" not in pod(result, "Decode", "worker")

    def test_ray_flag_lands_outside_of_a_shell_line(self, release: str) -> None:
        graph = alpha(
            shell("python3 -m dynamo.vllm --model m --tensor-parallel-size 16"), annotations={EXECUTOR: "ray"}
        )
        main = container(accepted(graph, release, "grove"), "Decode", "leader")
        assert main["args"] == [
            'ray start --head --port=6379 && /bin/sh -c "python3 -m dynamo.vllm --model m --tensor-parallel-size 16"'
            " --distributed-executor-backend ray"
        ]

    @pytest.mark.parametrize(
        ("annotations", "mp"),
        [
            ({}, True),
            ({ORIGIN: "1.4.2"}, True),
            ({ORIGIN: "0.9.0"}, False),
            ({ORIGIN: "1.0.0-rc1"}, False),
            ({ORIGIN: "0.9.0", EXECUTOR: "mp"}, True),
            ({ORIGIN: "1.4.2", EXECUTOR: "ray"}, False),
        ],
    )
    def test_a07_a_new_graph_is_stamped_so_mp_is_chosen(
        self, release: str, annotations: dict[str, str], mp: bool
    ) -> None:
        main = container(accepted(alpha(decode(), annotations=annotations), release, "grove"), "Decode", "leader")
        assert ("mp" in main["args"]) is mp
        assert main["command"][0] == ("python3" if mp else "/bin/sh")

    def test_wait_for_leader(self, release: str) -> None:
        spec = pod(accepted(alpha(decode()), release, "grove"), "Decode", "worker")
        host = GROVE_HOST.replace("$(", "${").replace(")", "}")
        assert spec["initContainers"] == [
            {
                "name": "wait-for-leader-mp",
                "image": IMAGE,
                "command": [
                    "sh",
                    "-c",
                    f'export LEADER_HOST="{host}" LEADER_PORT="29500" && exec python3 /scripts/wait-for-leader.py',
                ],
                "volumeMounts": [{"name": "wait-leader-script", "mountPath": "/scripts", "readOnly": True}],
            }
        ]
        assert spec["volumes"][-1] == {"name": "wait-leader-script", "configMap": {"name": "demo-wait-leader-script"}}

    def test_data_parallel_workers_wait_in_1_1_only(self, release: str) -> None:
        spec = pod(accepted(alpha(decode(("--data-parallel-size", "16"))), release, "grove"), "Decode", "worker")
        assert ("initContainers" in spec) is (release == "1.1")

    def test_every_multinode_graph_gets_script_and_keys(self, release: str) -> None:
        result = accepted(alpha(decode(backend="sglang")), release, "grove")
        assert find(result, "ConfigMap", "demo-wait-leader-script")["data"] == {
            "wait-for-leader.py": "«script wait-for-leader.py»"
        }
        assert find(result, "Secret", "mpi-run-ssh-secret")["data"]["private.key"] == "<generated>"


def test_gpus_of_the_main_container_count_from_1_5_on() -> None:
    services = decode(gpus=None)
    services["Decode"]["extraPodSpec"]["mainContainer"]["resources"] = {"requests": {"nvidia.com/gpu": "8"}}
    seen = {
        release: "mp" in container(accepted(alpha(services), release, "grove"), "Decode", "leader")["args"]
        for release in ("1.1", "1.5")
    }
    assert seen == {"1.1": False, "1.5": True}


def test_the_executor_annotation_of_a_service_counts_in_1_1_only() -> None:
    graph = alpha(decode(annotations={EXECUTOR: "ray"}))
    seen = {
        release: container(accepted(graph, release, "grove"), "Decode", "leader")["command"][0]
        for release in ("1.1", "1.5")
    }
    assert seen == {"1.1": "/bin/sh", "1.5": "python3"}


class TestElasticExpertParallelism:
    ARGS = ("--data-parallel-size", "16", "--enable-elastic-ep", "--data-parallel-backend", "ray")
    LINE = "python3 -m dynamo.vllm --model m --data-parallel-size 16 --enable-elastic-ep --data-parallel-backend ray"

    def test_on_several_nodes(self) -> None:
        result = accepted(alpha(decode(self.ARGS), backendFramework="vllm"), "1.5", "grove")
        assert container(result, "Decode", "leader")["args"] == [
            f"ray start --head --port=6379 --block & «wait for the Ray head» {self.LINE}"
        ]
        assert container(result, "Decode", "worker")["args"] == [
            f"«wait for the Ray head» ray start --address={GROVE_HOST}:6379 --block"
        ]

    def test_in_one_pod(self) -> None:
        graph = beta([worker_component("Decode", gpus="16", args=self.ARGS)], backendFramework="vllm")
        result = accepted(graph, "1.5", "grove")
        main = container(result, "Decode")
        assert main["args"] == [
            'ray start --head --port=6379 --node-ip-address="$POD_IP" --block & «wait for the Ray head» exec '
            + self.LINE
        ]
        assert [item["name"] for item in main["env"][-2:]] == ["POD_IP", "VLLM_DP_MASTER_IP"]
        assert find(result, "Service", "demo-decode-ray")["spec"]["clusterIP"] == "None"

    def test_is_unknown_to_1_1(self) -> None:
        main = container(accepted(alpha(decode(self.ARGS)), "1.1", "grove"), "Decode", "leader")
        assert "--data-parallel-hybrid-lb" in main["args"]


@pytest.mark.parametrize("release", ["1.1", "1.5"])
class TestSglang:
    def test_flags(self, release: str) -> None:
        result = accepted(alpha(decode((), backend="sglang")), release, "grove")
        assert container(result, "Decode", "leader")["args"][2:] == [
            "--dist-init-addr", f"{GROVE_HOST}:29500", "--nnodes", "2", "--node-rank", "0",
        ]  # fmt: skip
        worker = container(result, "Decode", "worker")
        assert worker["args"] == [
            f"exec python3 -m dynamo.sglang --model m --dist-init-addr {GROVE_HOST}:29500 --nnodes 2"
            " --node-rank $((GROVE_PCLQ_POD_INDEX + 1))"
        ]
        assert "livenessProbe" not in worker
        assert "initContainers" not in pod(result, "Decode", "worker")


@pytest.mark.parametrize("release", ["1.1", "1.5"])
class TestTrtllm:
    def test_leader_runs_mpirun(self, release: str) -> None:
        main = container(accepted(alpha(decode((), backend="trtllm")), release, "grove"), "Decode", "leader")
        line = main["args"][0]
        assert line.startswith("«ssh set-up» && mpirun $(")
        workers = GROVE_HOST.replace("ldr-0", "wkr-0")
        assert f"--oversubscribe -n 16 -H {GROVE_HOST},{workers} --mca pml ob1" in line
        assert line.endswith("bash -c 'trtllm-llmapi-launch python3 -m dynamo.trtllm --model m'")
        assert " -x OMPI_MCA_orte_keep_fqdn_hostnames " in line
        assert (" -x CPATH " in line) is (release != "1.1")
        assert main["livenessProbe"]["httpGet"]["path"] == "/live"

    def test_leader_waits_for_names_on_lws(self, release: str) -> None:
        main = container(accepted(alpha(decode((), backend="trtllm")), release, "lws"), "Decode", "leader")
        assert main["args"][0].startswith(
            "«ssh set-up» && «wait for DNS of $(echo \"$LWS_LEADER_ADDRESS\" | sed 's/\\./-1\\./')» && mpirun"
        )

    def test_worker_runs_an_ssh_daemon(self, release: str) -> None:
        graph = alpha(decode((), backend="trtllm", readinessProbe={"httpGet": {"path": "/mine", "port": 1}}))
        main = container(accepted(graph, release, "grove"), "Decode", "worker")
        assert main["args"] == ["«ssh daemon on port 2222»"]
        assert main["readinessProbe"] == {
            "tcpSocket": {"port": 2222},
            "initialDelaySeconds": 20,
            "periodSeconds": 20,
            "timeoutSeconds": 5,
            "failureThreshold": 10,
        }
        assert not {"livenessProbe", "startupProbe"} & main.keys()
        assert main["volumeMounts"] == [
            {"name": "mpi-run-ssh-secret", "mountPath": "/ssh-pk", "readOnly": True},
            {"name": "shared-memory", "mountPath": "/dev/shm"},
        ]

    def test_leader_starts_after_its_workers(self, release: str) -> None:
        result = accepted(alpha(decode((), backend="trtllm")), release, "grove")
        assert clique(result, "Decode", "leader")["spec"]["startsAfter"] == ["decode-wkr"]
        clique_set = find(result, "PodCliqueSet", "demo")["spec"]["template"]
        assert clique_set["cliqueStartupType"] == "CliqueStartupTypeExplicit"


def test_requests_come_first_for_mpirun_in_1_1() -> None:
    services = decode((), backend="trtllm")
    services["Decode"]["resources"] = {"requests": {"gpu": "4"}, "limits": {"gpu": "8"}}
    line = container(accepted(alpha(services), "1.1", "grove"), "Decode", "leader")["args"][0]
    assert " -n 8 " in line


class TestLeaderWorkerSets:
    def test_1_1_makes_one_a_replica_and_starts_low(self) -> None:
        result = accepted(alpha(decode(replicas=4)), "1.1", "lws")
        assert names(result, "LeaderWorkerSet") == ["demo-decode-a1b2c3d4-0", "demo-decode-a1b2c3d4-1"]
        assert find(result, "PodGroup", "demo-decode-a1b2c3d4-1")["spec"] == {"minMember": 2}
        pods = template(result, "Decode", "leader")
        assert pods["spec"]["schedulerName"] == "volcano"
        assert pods["metadata"]["labels"]["role"] == "leader"
        assert pods["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "demo-decode-a1b2c3d4-0"

    def test_1_5_makes_one(self) -> None:
        result = accepted(alpha(decode(replicas=4)), "1.5", "lws")
        assert find(result, "LeaderWorkerSet", "demo-decode-a1b2c3d4-0")["spec"]["replicas"] == 4
        assert names(result, "PodGroup") == []
        assert "schedulerName" not in pod(result, "Decode", "worker")
        assert "nvidia.com/selector" not in template(result, "Decode", "worker")["metadata"]["labels"]

    def test_1_1_needs_the_gpu_limit(self) -> None:
        refused = rendered(alpha(decode(gpus=None)), "1.1", "lws")
        assert [error.rule for error in refused.errors] == ["lws_gpu_limit"]
        assert not rendered(alpha(decode(gpus=None)), "1.5", "lws").errors

    @pytest.mark.parametrize("release", ["1.1", "1.5"])
    def test_without_any_orchestrator(self, release: str) -> None:
        refused = rendered(alpha(decode()), release, "deployment")
        assert [(error.stage, error.rule) for error in refused.errors] == [
            ("dgd-controller", "no_multinode_orchestrator")
        ]

    def test_the_service_leads_to_leaders(self) -> None:
        service_ = find(accepted(alpha(decode()), "1.5", "lws"), "Service", "demo-decode-a1b2c3d4")
        assert service_["spec"]["selector"]["role"] == "leader"


@pytest.mark.parametrize("release", ["1.1", "1.5"])
def test_a17_workers_of_a_group_come_all_or_none(release: str) -> None:
    services = {"Worker": service(gpus="8", args=TP16, multinode={"nodeCount": 3})}
    result = accepted(alpha(services), release, "grove")
    leader, worker = clique(result, "Worker", "leader")["spec"], clique(result, "Worker", "worker")["spec"]
    assert (leader["replicas"], leader["minAvailable"]) == (1, 1)
    assert (worker["replicas"], worker["minAvailable"]) == (2, 2)
    group = find(result, "PodCliqueSet", "demo")["spec"]["template"]["podCliqueScalingGroups"][0]
    assert group == {"name": "worker", "cliqueNames": ["worker-ldr", "worker-wkr"], "replicas": 1, "minAvailable": 1}


@pytest.mark.parametrize("release", ["1.1", "1.5"])
def test_without_a_backend_every_node_runs_the_same(release: str) -> None:
    made = service(gpus="8", multinode={"nodeCount": 2})
    made["extraPodSpec"]["mainContainer"] |= {"command": ["serve"], "args": ["--x"]}
    result = accepted(alpha({"Decode": made}), release, "grove")
    leader, worker = container(result, "Decode", "leader"), container(result, "Decode", "worker")
    assert leader["args"] == worker["args"] == ["--x"]
    assert worker["livenessProbe"] == leader["livenessProbe"]
