# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real frontend answers through the API server's port-forward, under the recipe's model name."""

from __future__ import annotations

import json
import re

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


def ask(
    cluster: RunningCluster, namespace: str, pod: str, method: str, path: str, sent: str = ""
) -> tuple[int, dict[str, object]]:
    """One HTTP request through a port-forward; (status, JSON)."""
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: model",
        "Content-Type: application/json",
        f"Content-Length: {len(sent)}",
    ]
    api = client.CoreV1Api(config.new_client_from_config(str(cluster.kubeconfig), cluster.context))
    forward = portforward(api.connect_get_namespaced_pod_portforward, pod, namespace, ports=str(SERVED_PORT))
    stream = forward.socket(SERVED_PORT)
    stream.settimeout(30)
    stream.sendall("\r\n".join([*lines, "", sent]).encode())
    received = b""
    head, body, length = b"", b"", 1
    while not head or len(body) < length:
        chunk = stream.recv(65536)
        assert chunk, received
        received += chunk
        head, _unused, body = received.partition(b"\r\n\r\n") if b"\r\n\r\n" in received else (b"", b"", b"")
        if found := re.search(rb"content-length: (\d+)", head, re.IGNORECASE):
            length = int(found.group(1))
    stream.close()
    return int(head.split()[1]), json.loads(body)


def test_a_chat_completion_through_port_forward() -> None:
    with running_cluster(Options(operator=False, serve=True)) as cluster:
        namespace = cluster.namespace("served")
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "frontend", "namespace": namespace}}
        cluster.api.create({**pod, "spec": {"containers": [{"name": "main", "image": "m"}]}})
        wait_until("running", lambda: (cluster.api.get("v1", "Pod", namespace, "frontend") or {})["status"]["podIP"])
        code, models = ask(cluster, namespace, "frontend", "GET", "/v1/models")
        assert code == 200
        assert MODEL in str(models["data"])
        question = {"model": MODEL, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 8}
        code, answer = ask(cluster, namespace, "frontend", "POST", "/v1/chat/completions", json.dumps(question))
        assert code == 200
        assert answer["object"] == "chat.completion"
        assert answer["choices"]
