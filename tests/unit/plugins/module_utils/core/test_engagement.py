# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evidence that changed knobs are live: pod fields and log words, and no proof where there is none."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import schema
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.dgdview import view_dgd
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.engagement import Proof, prove
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.ledger import LEDGER_SCHEMA

ARGS = ["--model", "acme/x", "--tp", "4"]
BASE: dict[str, Any] = {
    "apiVersion": "nvidia.com/v1alpha1",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "agg"},
    "spec": {
        "services": {
            "Frontend": {"componentType": "frontend"},
            "Worker": {
                "componentType": "worker",
                "replicas": 1,
                "resources": {"limits": {"gpu": "4", "memory": "64Gi"}},
                "envs": [{"name": "UCX_TLS", "value": "tcp"}, {"name": "HF_TOKEN", "value": "hf_one"}],
                "sharedMemory": {"size": "8Gi"},
                "extraPodSpec": {
                    "mainContainer": {"image": "runtime:1", "command": ["python3", "-m", "dynamo.vllm"], "args": ARGS}
                },
            },
        }
    },
}


def candidate(**changes: Any) -> dict[str, Any]:
    made = copy.deepcopy(BASE)
    worker = made["spec"]["services"]["Worker"]
    main = worker["extraPodSpec"]["mainContainer"]
    for name, value in changes.items():
        (main if name in ("image", "args", "command") else worker)[name] = value
    return made


def pod(name: str = "w-0", component: str = "Worker", ready: bool = True, **changes: Any) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "runtime:1",
        "command": ["python3", "-m", "dynamo.vllm"],
        "args": ARGS,
        "env": [{"name": "UCX_TLS", "value": "tcp"}, {"name": "HF_TOKEN", "value": "hf_one"}],
        "resources": {"limits": {"nvidia.com/gpu": "4", "memory": "64Gi"}},
    }
    labels = {
        "nvidia.com/dynamo-graph-deployment-name": "agg",
        "nvidia.com/dynamo-component": component,
        "nvidia.com/dynamo-component-type": "worker",
    }
    shared = {"name": "shared-memory", "emptyDir": {"sizeLimit": changes.pop("shm", "8Gi")}}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{**container, **changes}], "volumes": [shared]},
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def proofs(after: dict[str, Any], pods: list[dict[str, Any]], logs: dict[str, str] | None = None) -> list[Proof]:
    return list(prove(view_dgd(BASE), view_dgd(after), pods, logs))


def test_no_change_needs_no_proof() -> None:
    assert proofs(BASE, []) == []


TP8 = ["--model", "acme/x", "--tensor-parallel-size=8"]


@pytest.mark.parametrize(
    ("after", "live", "knob", "evidence"),
    [
        (
            candidate(args=TP8),
            {"args": [*TP8, "--headless"]},
            "--tensor-parallel-size",
            "spec.containers[main] --tensor-parallel-size 8",
        ),
        (
            candidate(args=ARGS[:2]),
            {"args": ARGS[:2]},
            "--tensor-parallel-size",
            "spec.containers[main] has no --tensor-parallel-size",
        ),
        (candidate(image="runtime:2"), {"image": "runtime:2"}, "image", "spec.containers[main].image runtime:2"),
        (
            candidate(resources={"limits": {"gpu": "8", "memory": "64Gi"}}),
            {"resources": {"limits": {"nvidia.com/gpu": 8}}},
            "gpus",
            "spec.containers[main].resources nvidia.com/gpu=8",
        ),
        (
            candidate(resources={"limits": {"gpu": "4", "memory": "128Gi"}}),
            {"resources": {"requests": {"memory": "131072Mi"}}},
            "resources.memory",
            "memory=128Gi",
        ),
        (candidate(resources={"limits": {"gpu": "4"}}), {"resources": {}}, "resources.memory", "memory=unset"),
        (
            candidate(envs=[{"name": "UCX_TLS", "value": "rc"}, {"name": "HF_TOKEN", "value": "hf_one"}]),
            {"env": [{"name": "UCX_TLS", "value": "rc"}]},
            "env.UCX_TLS",
            "spec.containers[main].env UCX_TLS=rc",
        ),
        (candidate(envs=[{"name": "HF_TOKEN", "value": "hf_one"}]), {"env": []}, "env.UCX_TLS", "env has no UCX_TLS"),
        (
            candidate(sharedMemory={"size": "16Gi"}),
            {"shm": "16384Mi"},
            "shared_memory",
            "volumes[shared-memory] 16Gi",
        ),
        (
            candidate(command=["python3", "-m", "dynamo.sglang"]),
            {"command": ["python3", "-m", "dynamo.sglang"]},
            "framework",
            "runs sglang",
        ),
    ],
)
def test_fields_prove_a_knob(after: dict[str, Any], live: dict[str, Any], knob: str, evidence: str) -> None:
    (proof,) = proofs(after, [pod(**live)])
    assert (proof.component, proof.knob, proof.proven) == ("Worker", knob, True)
    assert evidence in proof.evidence[0]
    (old,) = proofs(after, [pod()])
    assert old.proven is False
    assert old.finding().reason_code == "engagement_not_live"
    assert old.finding().outcome == "fail"
    (mixed,) = proofs(after, [pod(**live), pod("w-1")])
    assert (mixed.proven, mixed.evidence[0][:8]) == (False, "Pod/w-1:")


def test_replicas_are_proven_by_ready_pods() -> None:
    after = candidate(replicas=2)
    (proof,) = proofs(after, [pod("w-0"), pod("w-1")])
    assert (proof.knob, proof.proven, proof.evidence) == ("replicas", True, ("2 of 2 pods are ready: w-0, w-1",))
    assert proofs(after, [pod("w-0"), pod("w-1", ready=False)])[0].proven is False
    leaving = pod("w-1")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z"
    assert proofs(after, [pod("w-0"), leaving])[0].proven is False
    nodes = proofs(candidate(multinode={"nodeCount": 2}), [pod("w-0"), pod("w-1")])
    assert [(item.knob, item.proven) for item in nodes] == [("nodes", True)]


def test_components_that_came_and_went() -> None:
    after = copy.deepcopy(BASE)
    after["spec"]["services"]["Planner"] = {"componentType": "planner"}
    (proof,) = proofs(after, [pod(), pod("p-0", "Planner")])
    assert (proof.component, proof.knob, proof.after, proof.proven) == ("Planner", "component", "present", True)
    assert proofs(after, [pod()])[0].proven is False
    gone = copy.deepcopy(BASE)
    del gone["spec"]["services"]["Worker"]
    assert proofs(gone, [])[0].proven is True
    assert proofs(gone, [pod()])[0].proven is False


def test_a_role_is_proven_by_labels() -> None:
    live = pod()
    live["metadata"]["labels"]["nvidia.com/dynamo-sub-component-type"] = "decode"
    (proof,) = proofs(candidate(subComponentType="decode"), [live])
    assert (proof.knob, proof.proven) == ("role", True)


def test_a_log_proves_what_fields_do_not_show() -> None:
    after = candidate(args=["--model", "acme/x", "--tp", "8"])
    computed = pod(command=["sh", "-c"], args=["python3 -m dynamo.vllm --model acme/x --tp $(nproc)"])
    assert proofs(after, [computed])[0].proven is None
    assert proofs(after, [computed])[0].finding().reason_code == "engagement_unproven"
    log = "noise\nINFO args: hf_token='hf_secret', tensor_parallel_size=8, seed=0\ntensor_parallel_size=80\n"
    (proof,) = proofs(after, [computed], {"w-0": log})
    assert proof.proven is True
    assert proof.evidence == ("Pod/w-0 log: tensor_parallel_size=8",)
    assert proofs(after, [computed], {"w-0": "tensor_parallel_size=80"})[0].proven is None
    assert proofs(after, [computed, pod("w-1", args=TP8)], {})[0].proven is None


def test_nothing_runs_nothing_is_proven() -> None:
    (proof,) = proofs(candidate(image="runtime:2"), [])
    assert (proof.proven, proof.evidence) == (None, ("no pod of the component runs",))
    other = pod()
    other["metadata"]["labels"]["nvidia.com/dynamo-graph-deployment-name"] = "another"
    assert proofs(candidate(image="runtime:2"), [other])[0].proven is None


def test_a_credential_is_compared_and_never_told() -> None:
    secret = [{"name": "UCX_TLS", "value": "tcp"}, {"name": "HF_TOKEN", "value": "hf_two"}]
    (proof,) = proofs(candidate(envs=secret), [pod(env=secret)])
    assert proof.proven is True
    assert "hf_" not in str(proof)
    assert proofs(candidate(envs=secret), [pod()])[0].proven is False


def test_a_sidecars_flags() -> None:
    def with_sidecar(mode: str) -> dict[str, Any]:
        return candidate(frontendSidecar={"image": "f", "args": ["-m", "dynamo.frontend", "--router-mode", mode]})

    live = pod()
    live["spec"]["containers"].append(
        {"name": "sidecar-frontend", "args": ["-m", "dynamo.frontend", "--router-mode", "kv"]}
    )
    (proof,) = prove(view_dgd(with_sidecar("direct")), view_dgd(with_sidecar("kv")), [live])
    assert (proof.knob, proof.proven) == ("sidecar.--router-mode", True)


def test_entries_fit_the_ledger() -> None:
    (proof,) = proofs(candidate(image="runtime:2"), [pod(image="runtime:2")])
    schema.check([proof.to_result()], LEDGER_SCHEMA["properties"]["config_engagement"], "ledger")
    assert proof.finding().reason_code == "engagement_proven"
    assert proof.finding().message == "Worker: image runtime:1 → runtime:2 is live."


def test_a_pod_that_is_over_shows_nothing() -> None:
    after = candidate(image="runtime:2")
    evicted = pod("w-old")
    evicted["status"]["phase"] = "Failed"
    assert proofs(after, [pod(image="runtime:2"), evicted])[0].proven is True
    assert proofs(after, [evicted])[0].proven is None


def test_a_variable_from_a_config_map_is_not_called_another() -> None:
    reference = {"valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}
    after = candidate(envs=[{"name": "UCX_TLS", **reference}, {"name": "HF_TOKEN", "value": "hf_one"}])
    live = pod(env=[{"name": "UCX_TLS", **reference}])
    (proof,) = prove(view_dgd(BASE), view_dgd(after, config_maps={"c": {"k": "rc"}}), [live])
    assert (proof.knob, proof.after, proof.proven) == ("env.UCX_TLS", "rc", None)
    (unread,) = prove(view_dgd(BASE), view_dgd(after), [live])
    assert (unread.after, unread.proven) == ("<configMapKeyRef c/k>", True)


@pytest.mark.parametrize(
    ("live", "proven"),
    [
        ({"requests": {"cpu": "4"}, "limits": {"cpu": "16"}}, True),
        ({"requests": {"cpu": "4000m"}, "limits": {"cpu": 16}}, True),
        ({"requests": {"cpu": "4"}, "limits": {"cpu": "8"}}, False),
        ({"requests": {"cpu": "8"}, "limits": {"cpu": "16"}}, False),
        ({"limits": {"cpu": "16"}}, False),
        ({}, False),
    ],
)
def test_requests_and_limits_are_both_proven(live: dict[str, Any], proven: bool) -> None:
    limits = {"gpu": "4", "memory": "64Gi", "cpu": "16"}
    after = candidate(resources={"requests": {"cpu": "4"}, "limits": limits})
    (proof,) = proofs(after, [pod(resources=live)])
    assert (proof.knob, proof.after, proof.proven) == ("resources.cpu", "4 to 16", proven)


def test_a_limit_that_the_cluster_adds_does_not_count() -> None:
    after = candidate(resources={"requests": {"cpu": "4"}, "limits": {"gpu": "4", "memory": "64Gi"}})
    (proof,) = proofs(after, [pod(resources={"requests": {"cpu": "4"}, "limits": {"cpu": "8"}})])
    assert (proof.after, proof.proven) == ("4 without a limit", True)
