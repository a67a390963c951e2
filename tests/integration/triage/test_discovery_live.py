# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Service discovery with Dynamo's own mocker, which registers itself on a real API server in Kubernetes mode."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.instance_id import worker_instance_id
from ansible_collections.inference_ops.dynamo.tests.cluster.api import Api, wait_until
from ansible_collections.inference_ops.dynamo.tests.cluster.served_model import (
    MODEL,
    ensure_environment,
    write_hub_cache,
)
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import RunningCluster
from ansible_collections.inference_ops.dynamo.tests.integration.triage.graph import (
    NAME,
    Object,
    deploy,
    labels,
    request,
    set_ready,
    wait_for,
    worker_pods,
)

pytestmark = pytest.mark.cluster

ACCOUNT = f"{NAME}-k8s-service-discovery"
REGISTERS_WITHIN = 90.0


def environment() -> list[Object]:
    """The variables that the operator gives a worker."""
    fields = {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace", "POD_UID": "metadata.uid"}
    references = [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()]
    return [{"name": "DYN_DISCOVERY_BACKEND", "value": "kubernetes"}, *references]


def grant(api: Api, namespace: str) -> None:
    """What the operator's discovery Role allows."""
    rules = [
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["get", "list", "watch"]},
        {
            "apiGroups": ["nvidia.com"],
            "resources": ["dynamoworkermetadatas"],
            "verbs": ["create", "get", "list", "watch", "update", "patch", "delete"],
        },
    ]
    meta = {"name": ACCOUNT, "namespace": namespace}
    group = "rbac.authorization.k8s.io"
    api.create({"apiVersion": f"{group}/v1", "kind": "Role", "metadata": meta, "rules": rules})
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}
    role = {"apiGroup": group, "kind": "Role", "name": ACCOUNT}
    api.create(
        {"apiVersion": f"{group}/v1", "kind": "RoleBinding", "metadata": meta, "subjects": [subject], "roleRef": role}
    )


def make_discoverable(api: Api, namespace: str) -> Object:
    """A ready DGD whose worker has the labels, variables and Service of Kubernetes discovery; return its pod."""
    marks = {"nvidia.com/dynamo-discovery-enabled": "true", "nvidia.com/dynamo-namespace": f"{namespace}-{NAME}"}
    api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT, "namespace": namespace}})
    main = {"name": "main", "image": "reg.example/vllm:1", "env": environment()}
    deploy(api, namespace, pod={"containers": [main], "serviceAccountName": ACCOUNT}, marks=marks)
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"{NAME}-worker", "namespace": namespace, "labels": {**labels("Worker"), **marks}},
        "spec": {"selector": {"nvidia.com/selector": f"{NAME}-worker"}, "ports": [{"name": "system", "port": 9090}]},
    }
    api.create(service)
    graph = api.get("nvidia.com/v1alpha1", "DynamoGraphDeployment", namespace, NAME)
    assert graph is not None
    set_ready(api, graph, True)

    def ready() -> Object | None:
        for piece in api.list("discovery.k8s.io/v1", "EndpointSlice", namespace):
            for endpoint in piece.get("endpoints") or ():
                if endpoint["conditions"].get("ready"):
                    return worker_pods(api, namespace)[0]
        return None

    found: Object = wait_until("a ready endpoint", ready)
    return found


@contextmanager
def mocker(cluster: RunningCluster, pod: Object, folder: Path) -> Iterator[None]:
    """Dynamo's mocker, playing the container of ``pod``; ended at the end."""
    python = ensure_environment()
    write_hub_cache(python, folder)
    config = yaml.safe_load(cluster.kubeconfig.read_text(encoding="utf-8"))
    config["current-context"] = cluster.context
    own = folder / "kubeconfig"
    own.write_text(yaml.safe_dump(config), encoding="utf-8")
    meta = pod["metadata"]
    env = {
        "PATH": os.environ["PATH"],
        "HF_HOME": str(folder),
        "HF_HUB_OFFLINE": "1",
        "TMPDIR": str(folder),
        "DYN_TCP_RPC_HOST": "127.0.0.1",
        "DYN_NAMESPACE": f"{meta['namespace']}-{NAME}",
        "KUBECONFIG": str(own),
        "POD_NAME": meta["name"],
        "POD_NAMESPACE": meta["namespace"],
        "POD_UID": meta["uid"],
    }
    planes = ["--discovery-backend", "kubernetes", "--request-plane", "tcp", "--event-plane", "zmq"]
    endpoint = ["--endpoint", f"dyn://{meta['namespace']}-{NAME}.backend.generate"]
    command = [str(python), "-m", "dynamo.mocker", "--model-path", MODEL, "--speedup-ratio", "10", *endpoint, *planes]
    with (folder / "mocker.log").open("wb") as log:
        process = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def codes(result: Object) -> list[str]:
    return sorted({one["reason_code"] for one in result["findings"] if one["check"] == "discovery"})


def test_a_worker_counts_only_once_it_has_registered(bare_cluster: RunningCluster, tmp_path: Path) -> None:
    api, namespace = bare_cluster.api, bare_cluster.namespace("discovery-live")
    pod = make_discoverable(api, namespace)
    name = pod["metadata"]["name"]

    before = wait_for(bare_cluster, request(namespace))
    assert before["state"] == "ready", before["msg"]
    assert codes(before) == ["discovery_missing_rbac", "discovery_not_registered"]
    grant(api, namespace)
    granted = wait_for(bare_cluster, request(namespace))
    assert codes(granted) == ["discovery_not_registered"], granted["findings"]

    with mocker(bare_cluster, pod, tmp_path):

        def registered() -> Any:
            found = api.get("nvidia.com/v1alpha1", "DynamoWorkerMetadata", namespace, name)
            return found if found and "generate" in str(found["spec"]) else None

        try:
            record = wait_until("the mocker's registration", registered, seconds=REGISTERS_WITHIN)
        except Exception:
            print((tmp_path / "mocker.log").read_text(errors="replace")[-4000:])
            raise
        after = wait_for(bare_cluster, request(namespace))
    assert record["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]
    assert codes(after) == ["discovery_visible"], after["findings"]
    assert after["discovery"]["visible"] == [name]
    ours = next(one for one in after["discovery"]["workers"] if one["pod"] == name)
    assert (ours["state"], ours["instance_id"]) == ("visible", worker_instance_id(name))
