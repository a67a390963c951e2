# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots, dry runs, limited identities, watches and port-forward against a real API server."""

from __future__ import annotations

import http.client
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.collect import collect_snapshot
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot import Snapshot
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import Kube, connect
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube_errors import Forbidden, NotFound
from ansible_collections.inference_ops.dynamo.tests.cluster.api import wait_until
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import RunningCluster
from ansible_collections.inference_ops.dynamo.tests.doubles.cluster import docker_config, encoded, planted

pytestmark = pytest.mark.cluster

NAMESPACE = "snapshot"


@pytest.fixture(scope="module")
def namespace(bare_cluster: RunningCluster) -> str:
    name = bare_cluster.namespace(NAMESPACE)
    api = bare_cluster.api
    api.create(secret("ngc", "kubernetes.io/dockerconfigjson", {".dockerconfigjson": docker_config("nvcr.io")}))
    api.create(secret("hf-token-secret", "Opaque", {"HF_TOKEN": "planted-token"}))
    api.create(pod("runs", {}))
    api.create(pod("waits", {"kubernetes.io/hostname": "nowhere"}))
    wait_until("bound", lambda: (api.get("v1", "Pod", name, "runs") or {})["spec"].get("nodeName"))
    return name


def secret(name: str, kind: str, data: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "type": kind,
        "data": {key: encoded(value) for key, value in data.items()},
    }


def pod(name: str, selector: dict[str, str]) -> dict[str, Any]:
    spec = {"nodeSelector": selector, "containers": [{"name": "main", "image": "m"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def client(cluster: RunningCluster, agent: str = "test", **more: Any) -> Kube:
    return connect({"kubeconfig": str(cluster.kubeconfig), "context": cluster.context, **more}, agent=agent)


def take(kube: Kube, namespace: str, **options: Any) -> Snapshot:
    return Snapshot.from_plain(json.loads(json.dumps(collect_snapshot(kube, namespace, **options))))


def test_one_look_at_a_real_cluster(bare_cluster: RunningCluster, namespace: str) -> None:
    kube = client(bare_cluster, "test_one_look")
    snapshot = take(kube, namespace, secret_names=["hf-token-secret"])
    not_observed = {name: state.state for name, state in snapshot.kinds.items() if state.state != "observed"}
    assert set(not_observed.values()) <= {"absent"}
    assert {item["metadata"]["name"] for item in snapshot.items("pods")} >= {"runs", "waits"}
    assert snapshot.find("nodes", "cpu-0") is not None
    assert snapshot.exists("namespaces", namespace) is True
    found = {entry.name: entry for entry in snapshot.secrets}
    assert found["ngc"].registries == ("nvcr.io",)
    assert found["hf-token-secret"].keys == ("HF_TOKEN",)
    assert "dynamographdeployments.nvidia.com" in snapshot.data["api_resources"]
    for text in planted():
        assert text not in json.dumps(snapshot.data)
    assert len(snapshot.kinds) + 6 >= kube.api_requests


def test_the_server_counts_the_same_requests(bare_cluster: RunningCluster, namespace: str) -> None:
    kube = client(bare_cluster, "test_counting")
    take(kube, namespace, kinds=["nodes", "pods", "secrets"])

    def seen() -> int:
        entries = map(json.loads, bare_cluster.audit_lines())
        return len(
            {entry["auditID"] for entry in entries if entry.get("userAgent") == "inference_ops.dynamo/test_counting"}
        )

    # The policy leaves out requests that are no resource, such as the version.
    assert wait_until("audit", lambda: kube.api_requests - 2 <= seen() <= kube.api_requests)


def test_a_limited_identity_is_told_what_it_lacks(bare_cluster: RunningCluster, namespace: str) -> None:
    rules = [
        {"apiGroups": ["*"], "resources": ["pods", "persistentvolumeclaims", "configmaps"], "verbs": ["get", "list"]}
    ]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": rules}
    bare_cluster.api.create({**role, "metadata": {"name": "limited", "namespace": namespace}})
    bare_cluster.api.create(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "limited", "namespace": namespace},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "limited"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
        }
    )
    kube = client(bare_cluster, impersonate_user="ann", impersonate_groups=["system:authenticated"])
    wait_until("permission", lambda: kube.access_review(verb="list", resource="pods", namespace=namespace)[0])
    snapshot = take(kube, namespace, secret_names=["ngc"], dry_run=[config_map("dry")])
    assert snapshot.state("configmaps").state == "observed"
    assert snapshot.state("nodes").detail == 'needs verb "list" on nodes in the whole cluster (ClusterRole)'
    assert snapshot.state("secrets").detail == f'needs verb "list" on secrets in namespace {namespace}'
    assert snapshot.state("pods").partial == f"namespace {namespace}"
    assert {item["metadata"]["name"] for item in snapshot.items("pods")} == {"runs", "waits"}
    assert snapshot.exists("secrets", "ngc") is None
    assert snapshot.data["dry_runs"][0]["outcome"] == "forbidden"
    assert snapshot.api_groups is not None, "anybody who is logged in may see which APIs there are"
    assert kube.access_review(verb="list", resource="secrets", namespace=namespace)[0] is False


def config_map(name: str, value: object = "text") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": {"key": value},
    }


def test_dry_runs_change_nothing(bare_cluster: RunningCluster, namespace: str) -> None:
    bare_cluster.api.create(config_map("kept"))
    before = bare_cluster.api.list("v1", "ConfigMap", namespace)
    dgd = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "agg"}}
    runs = take(
        client(bare_cluster),
        namespace,
        kinds=[],
        dry_run=[
            config_map("new"),
            config_map("kept"),
            config_map("odd", 7),
            {**dgd, "spec": {"services": {"W": {"noSuchField": 1}}}},
            {**dgd, "apiVersion": "nvidia.com/v9"},
        ],
    ).data["dry_runs"]
    assert [run["outcome"] for run in runs] == ["accepted", "accepted", "refused", "refused", "refused"]
    assert "noSuchField" in runs[3]["message"]
    assert bare_cluster.api.list("v1", "ConfigMap", namespace) == before


def test_a_conflict_with_another_manager(bare_cluster: RunningCluster, namespace: str) -> None:
    bare_cluster.api.apply(config_map("shared", "theirs"), manager="helm")
    run = take(client(bare_cluster), namespace, kinds=[], dry_run=[config_map("shared", "ours")]).data["dry_runs"][0]
    assert run["outcome"] == "conflict"
    assert 'conflict with "helm"' in run["message"]


def test_pages_and_watches_agree(bare_cluster: RunningCluster, namespace: str) -> None:
    kube = client(bare_cluster)
    for index in range(5):
        bare_cluster.api.create(config_map(f"page-{index}"))
    listed = kube.list_all("v1", "ConfigMap", namespace=namespace, page=2)
    assert {item["metadata"]["name"] for item in listed.items} >= {f"page-{index}" for index in range(5)}
    assert {item["kind"] for item in listed.items} == {"ConfigMap"}
    bare_cluster.api.create(config_map("later"))
    version = listed.resource_version
    watch = kube.watch("v1", "ConfigMap", namespace=namespace, resource_version=version, timeout_seconds=5)
    kind, item = next(watch)
    watch.close()  # type: ignore[attr-defined]  # a generator has it
    assert (kind, item["metadata"]["name"]) == ("ADDED", "later")


@contextmanager
def answering(port: int) -> Iterator[None]:
    """A server where the cluster sends what is forwarded to a pod's port 8000."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def test_port_forward_carries_large_bodies_and_many_connections(bare_cluster: RunningCluster, namespace: str) -> None:
    kube = client(bare_cluster)
    body = bytes(range(256)) * 4096
    with answering(bare_cluster.record.ports["model"]), kube.forward(namespace, "runs", 8000) as forward:
        for _unused in range(5):
            connection = http.client.HTTPConnection("127.0.0.1", forward.local_port, timeout=30)
            for _unused in range(2):
                connection.request("POST", "/", body)
                assert connection.getresponse().read() == body
            connection.close()


def test_port_forward_says_why_not(bare_cluster: RunningCluster, namespace: str) -> None:
    with pytest.raises(NotFound, match="absent"), client(bare_cluster).forward(namespace, "absent", 8000):
        pass
    limited = client(bare_cluster, impersonate_user="nobody")
    with pytest.raises(Forbidden, match="pods/portforward"), limited.forward(namespace, "runs", 8000):
        pass
