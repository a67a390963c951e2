# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real failures on real kubelets, each brought about and triaged; prints the table of expected and given categories."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.readiness import WaitPolicy
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.waits import WaitRequest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import connect
from ansible_collections.inference_ops.dynamo.plugins.module_utils.waiting import (
    ClusterSource,
    Progress,
    SystemClock,
    run_wait,
)
from ansible_collections.inference_ops.dynamo.tests.cluster.api import Api, wait_until
from ansible_collections.inference_ops.dynamo.tests.kind.clusters import KindCluster

RECIPE = Path(__file__).resolve().parent / "recipe"
WORKER = "VllmWorker"
NAME = "tiny"
GPU = "nvidia.com/gpu"
# A wait ends when one cause has lasted as long as these; a failing container needs some time to show what it is.
GRACES = {"unschedulable": 3, "never_fits": 3, "dependency": 3, "image": 3, "crash": 5, "readiness": 30, "other": 5}

Object = dict[str, Any]
Change = Callable[[Object], None]
Step = Callable[[Api, str], None]


def nothing(api: Api, namespace: str) -> None:
    """No preparation."""


def main(component: Object) -> Object:
    container: Object = component["extraPodSpec"]["mainContainer"]
    return container


@dataclass(frozen=True)
class Case:
    """What goes wrong: a change of the worker, or of the cluster before the DGD is applied; undone afterwards."""

    category: str
    change: Change = field(default=lambda component: None)
    before: Step = nothing
    after: Step = nothing
    state: str = "failed"
    timeout: float = 120


def image(component: Object) -> None:
    main(component)["image"] = "localhost/inference-ops/nowhere:1"


def wrong_command(component: Object) -> None:
    main(component)["args"] = ["--no-such-option"]


def little_memory(component: Object) -> None:
    component["resources"]["requests"]["memory"] = component["resources"]["limits"]["memory"] = "24Mi"


def wrong_probe(component: Object) -> None:
    component["readinessProbe"] = {
        "httpGet": {"path": "/nowhere", "port": 9090},
        "periodSeconds": 2,
        "failureThreshold": 2,
    }


def secret_key(component: Object) -> None:
    wanted = {"secretKeyRef": {"name": "token", "key": "HF_TOKEN"}}
    component.setdefault("envs", []).append({"name": "HF_TOKEN", "valueFrom": wanted})


def claim(component: Object) -> None:
    component["volumeMounts"] = [{"name": "cache", "mountPoint": "/cache"}]


def selector(component: Object) -> None:
    component["extraPodSpec"]["nodeSelector"] = {"nvidia.com/gpu.product": "NVIDIA-B200"}


def many_gpus(component: Object) -> None:
    for part in ("requests", "limits"):
        component["resources"][part]["gpu"] = "64"


def make(api: Api, namespace: str, api_version: str, kind: str, name: str, **rest: Any) -> None:
    api.create({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **rest})


def secret_without_key(api: Api, namespace: str) -> None:
    make(api, namespace, "v1", "Secret", "token", stringData={"OTHER": "x"})


def unbound_claim(api: Api, namespace: str) -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "fast-nvme",
    }
    make(api, namespace, "v1", "PersistentVolumeClaim", "cache", spec=spec)


def quota(api: Api, namespace: str) -> None:
    make(api, namespace, "v1", "ResourceQuota", "gpus", spec={"hard": {f"requests.{GPU}": "0"}})


def node(api: Api) -> Object:
    return api.list("v1", "Node")[0]


def taint(api: Api, namespace: str) -> None:
    api.patch(node(api), {"spec": {"taints": [{"key": "reserved", "value": "other", "effect": "NoSchedule"}]}})


def cordon(api: Api, namespace: str) -> None:
    api.patch(node(api), {"spec": {"unschedulable": True}})


def worker_pod(api: Api, namespace: str) -> Object | None:
    pods = api.list("v1", "Pod", namespace, f"nvidia.com/dynamo-component={WORKER}")
    return pods[0] if pods else None


def restarts(pod: Object | None) -> int:
    statuses = (pod or {}).get("status", {}).get("containerStatuses") or [{}]
    return int(statuses[0].get("restartCount", 0))


def ready(pod: Object | None) -> bool:
    statuses = (pod or {}).get("status", {}).get("containerStatuses") or [{}]
    return bool(statuses[0].get("ready"))


CASES = {
    "image that cannot be pulled": Case("image_pull", image),
    "wrong command": Case("crash_loop", wrong_command),
    "memory limit too small": Case("oom", little_memory),
    "readiness probe failing": Case("probe_failure", wrong_probe, timeout=180),
    "missing secret key": Case("config_missing", secret_key, before=secret_without_key),
    "claim unbound": Case("pvc", claim, before=unbound_claim),
    "quota exceeded": Case("quota", before=quota),
    "taint": Case("taint", before=taint),
    "node selector": Case("node_affinity", selector),
    "too many GPUs": Case("insufficient_resource", many_gpus),
    "node cordoned": Case("node_unschedulable", before=cordon),
}


@pytest.fixture(scope="module")
def api(kind: KindCluster) -> Iterator[Api]:
    client = Api(Path(kind.kubeconfig), kind.context, "inference-ops-test")
    yield client
    client.close()


@pytest.fixture(scope="module")
def table() -> Iterator[list[tuple[str, str, str]]]:
    rows: list[tuple[str, str, str]] = []
    yield rows
    print(f"\n{'failure':34} {'expected':24} given")
    for name, expected, given in rows:
        print(f"{name:34} {expected:24} {given}")


def graph(namespace: str, change: Change) -> Object:
    """The recipe's worker alone, with the model from its image."""
    dgd: Object = yaml.safe_load((RECIPE / "deploy.yaml").read_text())
    dgd["metadata"] = {"name": NAME, "namespace": namespace}
    component = copy.deepcopy(dgd["spec"]["services"][WORKER])
    component |= {"replicas": 1, "volumeMounts": []}
    change(component)
    envs = [item for item in dgd["spec"]["envs"] if item["name"] != "HF_HOME"]
    dgd["spec"]["envs"] = [*envs, {"name": "HF_HOME", "value": "/opt/model-source"}]
    dgd["spec"]["pvcs"] = []
    dgd["spec"]["services"] = {WORKER: component}
    return dgd


def triaged(kind: KindCluster, wanted: WaitRequest) -> Object:
    """Wait as the module workload_wait does."""
    kube = connect({"kubeconfig": kind.kubeconfig, "context": kind.context}, agent="workload_wait")
    source = ClusterSource(kube, wanted, SystemClock(), check_fit=True, logs=True)
    result: Object = run_wait(wanted, source, SystemClock(), Progress(print))
    source.watches.stop()
    return result


def wait_request(namespace: str, timeout: float, graces: Mapping[str, float] | None = None, **more: Any) -> WaitRequest:
    policy = WaitPolicy(timeout=timeout, graces=graces or GRACES, stable_for=2, progress_interval=10)
    return WaitRequest("dgd", namespace, (NAME,), policy, **more)


def make_namespace(api: Api, name: str) -> str:
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    wait_until("service account", lambda: api.get("v1", "ServiceAccount", name, "default"))
    return name


@pytest.mark.parametrize("name", CASES)
def test_a_real_failure_is_named(kind: KindCluster, api: Api, table: list[tuple[str, str, str]], name: str) -> None:
    case = CASES[name]
    namespace = make_namespace(api, "fail-" + name.lower().replace(" ", "-"))
    case.before(api, namespace)
    try:
        api.create(graph(namespace, case.change))
        result = triaged(kind, wait_request(namespace, case.timeout))
        table.append((name, case.category, result["category"]))
        assert result["category"] == case.category, json.dumps(result["causes"], indent=1)
        assert result["state"] == case.state, result["msg"]
        assert any(one["evidence"] for one in result["causes"])
    finally:
        api.patch(node(api), {"spec": {"taints": None, "unschedulable": None}})
        api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})


def test_a_container_killed_while_it_serves(kind: KindCluster, api: Api, table: list[tuple[str, str, str]]) -> None:
    """One kill is mended by a restart; killed again and again, it is a crash loop."""
    namespace = make_namespace(api, "fail-killed")
    api.create(graph(namespace, lambda component: None))
    assert triaged(kind, wait_request(namespace, 180))["state"] == "ready"
    try:
        for round_number in range(1, 4):
            pod = wait_until(
                "ready", lambda: found if ready(found := worker_pod(api, namespace)) else None, seconds=120
            )
            kill_container(pod)
            wait_until(f"restart {round_number}", lambda n=round_number: restarts(worker_pod(api, namespace)) >= n, 60)
        result = triaged(kind, wait_request(namespace, 120))
        table.append(("container killed while it serves", "crash_loop", result["category"]))
        assert result["category"] == "crash_loop", json.dumps(result["causes"], indent=1)
    finally:
        api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})


def kill_container(pod: Object) -> None:
    """SIGKILL to the container's first process, from the node: inside, the first process is safe from its own."""
    identity = pod["status"]["containerStatuses"][0]["containerID"].rpartition("/")[2]
    node_name = pod["spec"]["nodeName"]
    inspect = ["docker", "exec", node_name, "crictl", "inspect", "--output", "go-template"]
    found = subprocess.run(
        [*inspect, "--template", "{{.info.pid}}", identity], capture_output=True, text=True, check=True
    )
    subprocess.run(["docker", "exec", node_name, "kill", "-9", found.stdout.strip()], check=True)


def test_a_namespace_that_hangs_on_a_finalizer(kind: KindCluster, api: Api, table: list[tuple[str, str, str]]) -> None:
    namespace = make_namespace(api, "fail-finalizer")
    held = graph(namespace, selector)
    held["metadata"]["finalizers"] = ["example.org/hold"]
    made = api.create(held)
    api.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    wanted = wait_request(namespace, 15)
    deletion = WaitRequest("deletion", namespace, (NAME,), wanted.policy, uids={NAME: made["metadata"]["uid"]})
    result = triaged(kind, deletion)
    codes = [item["reason_code"] for item in result["findings"]]
    table.append(("namespace stuck on a finalizer", "deletion names the finalizer", ", ".join(codes)))
    api.patch({**held, **made}, {"metadata": {"finalizers": None}})
    assert result["state"] in ("failed", "timeout")
    assert "example.org/hold" in json.dumps(result)
