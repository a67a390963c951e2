# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The smoke module: real HTTP to a server in this process, a double for the cluster, files of this run only."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import schema
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.smoke_reasons import ARTIFACT_SCHEMA
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube_errors import Absent, Asked
from ansible_collections.inference_ops.dynamo.plugins.modules import dgd_smoke

from .conftest import RunModule

MODEL = "acme/x"


class Frontend:
    """A server that answers as it is told; ``sent`` is what it was asked."""

    def __init__(self) -> None:
        self.models: tuple[int, bytes] = (200, json.dumps({"data": [{"id": MODEL}]}).encode())
        choice = {"message": {"content": "NVIDIA Dynamo"}}
        self.chat: tuple[int, bytes] = (200, json.dumps({"object": "chat.completion", "choices": [choice]}).encode())
        self.sent: list[Any] = []
        frontend = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self) -> None:
                self.answer(*frontend.models)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                frontend.sent.append((dict(self.headers), json.loads(body)))
                self.answer(*frontend.chat)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture
def frontend() -> Iterator[Frontend]:
    made = Frontend()
    yield made
    made.server.shutdown()
    made.server.server_close()


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_it_asks_and_leaves_the_artifact(tmp_path: Path, frontend: Frontend, run_module: RunModule) -> None:
    arguments = {"url": frontend.url, "model": MODEL, "deploy_root": str(tmp_path), "headers": {"X-A": 1}}
    outcome = run_module(dgd_smoke, arguments)
    assert not outcome.failed
    assert (outcome.result["success"], outcome.result["stage"], outcome.result["changed"]) == (True, "done", True)
    assert files(tmp_path) == ["smoke/api_body.json", "smoke/models_body.json", "smoke_test_artifact.json"]
    made = json.loads((tmp_path / "smoke_test_artifact.json").read_text())
    schema.check(made, ARTIFACT_SCHEMA, "artifact")
    assert (made["success"], made["models_code"], made["api_code"]) == (1, 200, 200)
    assert made["api_request"] == frontend.sent[0][1]
    assert made["api_response"] == json.loads(frontend.chat[1])
    assert frontend.sent[0][0]["X-A"] == "1"
    again = run_module(dgd_smoke, arguments)
    assert again.result["changed"] is False


def test_a_stale_answer_can_never_pass(tmp_path: Path, frontend: Frontend, run_module: RunModule) -> None:
    arguments = {"url": frontend.url, "model": MODEL, "deploy_root": str(tmp_path)}
    run_module(dgd_smoke, arguments)
    frontend.chat = (500, b'{"error": {"message": "engine died"}}')
    outcome = run_module(dgd_smoke, arguments)
    assert outcome.failed
    assert "engine died" in outcome.message
    assert outcome.result["findings"][0]["reason_code"] == "smoke_chat_http_error"
    assert outcome.result["changed"] is True
    assert (tmp_path / "smoke" / "api_body.json").read_bytes() == frontend.chat[1]
    made = json.loads((tmp_path / "smoke_test_artifact.json").read_text())
    assert (made["success"], made["api_code"], made["stage"]) == (0, 500, "chat")
    assert made["api_response"] == {"error": {"message": "engine died"}}
    frontend.models = (200, b'{"data": []}')
    run_module(dgd_smoke, {**arguments, "model_timeout": 0})
    assert files(tmp_path) == ["smoke/models_body.json", "smoke_test_artifact.json"]


def test_check_mode_sends_and_writes_nothing(tmp_path: Path, frontend: Frontend, run_module: RunModule) -> None:
    arguments = {"url": frontend.url, "model": MODEL, "deploy_root": str(tmp_path)}
    outcome = run_module(dgd_smoke, arguments, check=True)
    assert not outcome.failed
    assert (outcome.result["stage"], outcome.result["changed"]) == ("skipped", False)
    assert (files(tmp_path), frontend.sent) == ([], [])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "one of the following is required: dgd, service, pod, url"),
        ({"url": "http://h", "pod": "p", "namespace": "n"}, "mutually exclusive"),
        ({"dgd": "agg", "context": "c"}, "namespace"),
        ({"dgd": "agg", "namespace": "n"}, "no cluster was named"),
        ({"url": "h:1"}, "url: not an endpoint's URL"),
        ({"url": "http://h", "worker_instance_id": "0x1f"}, "worker_instance_id: must be auto, none or a decimal"),
        ({"url": "http://h", "worker_instance_id": "\u0662"}, "worker_instance_id: must be auto, none or a decimal"),
        ({"url": "http://h", "headers": {"A": "b\nC: d"}}, "headers.A: the value of a header must be one line"),
        ({"url": "http://h", "deploy_root": "/nowhere"}, "/nowhere: deploy_root: the folder does not exist"),
    ],
)
def test_bad_input_is_one_message(arguments: dict[str, Any], said: str, run_module: RunModule) -> None:
    outcome = run_module(dgd_smoke, arguments)
    assert outcome.failed
    assert said in outcome.message


# -- on a cluster ----------------------------------------------------------------------------------------------------

LABELS = {
    "nvidia.com/dynamo-graph-deployment-name": "agg",
    "nvidia.com/dynamo-component": "Frontend",
    "nvidia.com/dynamo-component-type": "frontend",
    "nvidia.com/dynamo-namespace": "serving-agg",
}
SELECTOR = {key: value for key, value in LABELS.items() if not key.endswith("graph-deployment-name")}
POD = {
    "metadata": {"name": "agg-frontend-1", "labels": LABELS},
    "spec": {"containers": [{"name": "main", "ports": [{"name": "http", "containerPort": 8000}]}]},
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}
SERVICE = {
    "metadata": {"name": "agg-frontend"},
    "spec": {"selector": SELECTOR, "ports": [{"name": "http", "port": 8000, "targetPort": "http"}]},
}
DGD = {
    "apiVersion": "nvidia.com/v1alpha1",
    "metadata": {"name": "agg", "namespace": "serving"},
    "spec": {
        "services": {
            "Frontend": {"componentType": "frontend"},
            "Worker": {
                "componentType": "worker",
                "extraPodSpec": {
                    "mainContainer": {"command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", MODEL]}
                },
            },
        }
    },
}


class Listed:
    def __init__(self, items: list[Any]) -> None:
        self.items = items


class Cluster:
    """A double of ``Kube``: objects by kind, and a way to the local server in place of a pod."""

    def __init__(self, port: int, **objects: Any) -> None:
        self.objects = {"DynamoGraphDeployment": [DGD], "Service": [SERVICE], "Pod": [POD], **objects}
        self.port = port
        self.forwarded: list[tuple[str, str, int]] = []
        self.selectors: list[str] = []

    def get(self, api_version: str, kind: str, name: str, namespace: str = "") -> Any:
        if api_version == "nvidia.com/v1beta1":
            raise Absent("no such kind", asked=Asked("get", kind), status=404)
        return next((item for item in self.objects[kind] if item["metadata"]["name"] == name), None)

    def list_all(self, api_version: str, kind: str, *, namespace: str = "", label_selector: str = "") -> Listed:
        self.selectors.append(label_selector)
        return Listed(self.objects[kind])

    @contextlib.contextmanager
    def forward(self, namespace: str, pod: str, port: int) -> Iterator[Any]:
        self.forwarded.append((namespace, pod, port))

        class Forward:
            local_port = self.port

        yield Forward()


def on_cluster(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dgd_smoke, "connect", lambda _params, agent: cluster)


@pytest.mark.parametrize("way", [{"dgd": "agg"}, {"service": "agg-frontend"}, {"pod": "agg-frontend-1"}])
def test_each_way_leads_to_the_pod(
    way: dict[str, str], frontend: Frontend, run_module: RunModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(frontend.port)
    on_cluster(cluster, monkeypatch)
    outcome = run_module(dgd_smoke, {**way, "context": "c", "namespace": "serving"})
    assert not outcome.failed, outcome.message
    assert outcome.result["model"] == MODEL
    assert cluster.forwarded == [("serving", "agg-frontend-1", 8000)]
    assert outcome.result["endpoint"]["pod"] == "agg-frontend-1"


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ({"dgd": "no"}, "DynamoGraphDeployment/no: dgd: there is no such DGD"),
        ({"service": "no"}, "Service/no: There is no such Service."),
        ({"pod": "no"}, "Pod/no: There is no such pod."),
    ],
)
def test_what_is_not_there(
    way: dict[str, str], said: str, frontend: Frontend, run_module: RunModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_cluster(Cluster(frontend.port), monkeypatch)
    outcome = run_module(dgd_smoke, {**way, "context": "c", "namespace": "serving", "reach_timeout": 0})
    assert outcome.failed
    assert said in outcome.message
    assert outcome.result["success"] is False
    assert frontend.sent == []


def test_a_service_that_selects_nothing(
    frontend: Frontend, run_module: RunModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(frontend.port, Service=[{"metadata": {"name": "s"}, "spec": {}}])
    on_cluster(cluster, monkeypatch)
    outcome = run_module(dgd_smoke, {"service": "s", "context": "c", "namespace": "serving", "reach_timeout": 0})
    assert "The Service selects no pods" in outcome.message
    assert cluster.selectors == []
