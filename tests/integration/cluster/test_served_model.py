# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real frontend answers through the API server's port-forward, under the recipe's model name."""

from __future__ import annotations

import json

import pytest
from ansible_collections.inference_ops.dynamo.tests.cluster.api import wait_until
from ansible_collections.inference_ops.dynamo.tests.cluster.served_model import MODEL
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import (
    SERVED_PORT,
    Options,
    RunningCluster,
    running_cluster,
)
from kubernetes import client, config
from kubernetes.stream import portforward

pytestmark = pytest.mark.cluster


def ask(cluster: RunningCluster, namespace: str, pod: str, request: str) -> tuple[int, dict[str, object]]:
    """One HTTP/1.0 request through a port-forward: the connection's end is the answer's end."""
    api = client.CoreV1Api(config.new_client_from_config(str(cluster.kubeconfig), cluster.context))
    forward = portforward(api.connect_get_namespaced_pod_portforward, pod, namespace, ports=str(SERVED_PORT))
    stream = forward.socket(SERVED_PORT)
    stream.setblocking(True)
    stream.sendall(request.encode())
    received = b""
    while chunk := stream.recv(65536):
        received += chunk
    stream.close()
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def test_a_chat_completion_through_port_forward() -> None:
    with running_cluster(Options(operator=False, serve=True)) as cluster:
        namespace = cluster.namespace("served")
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "frontend", "namespace": namespace}}
        cluster.api.create({**pod, "spec": {"containers": [{"name": "main", "image": "m"}]}})
        wait_until("running", lambda: (cluster.api.get("v1", "Pod", namespace, "frontend") or {})["status"]["podIP"])
        code, models = ask(cluster, namespace, "frontend", "GET /v1/models HTTP/1.0\r\n\r\n")
        assert code == 200
        assert MODEL in str(models["data"])
        question = {"model": MODEL, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 8}
        body = json.dumps(question)
        head = f"POST /v1/chat/completions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        code, answer = ask(cluster, namespace, "frontend", f"{head}\r\n\r\n{body}")
        assert code == 200
        assert answer["object"] == "chat.completion"
        assert answer["choices"]
