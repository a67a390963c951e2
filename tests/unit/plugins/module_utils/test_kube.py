# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API client against a test double of an API server."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kubernetes")
import urllib3
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.kinds import KINDS, resource_path
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import Kube, connect
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube_errors import (
    Absent,
    Conflict,
    Forbidden,
    Gone,
    KubeError,
    NotFound,
    Unauthorized,
    Unreachable,
    asked,
)
from ansible_collections.inference_ops.dynamo.tests.doubles.fake_api import Answer, FakeApi, forbidden, status

PODS = "/api/v1/namespaces/ml/pods"


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi() as fake:
        yield fake


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def kube(api: FakeApi, pauses: list[float]) -> Kube:
    return connect({"host": api.url, "api_key": "tok-123456"}, agent="test", sleep=pauses.append)


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ml"}, "spec": {"containers": []}}


def test_a_list_is_read_page_by_page_and_its_items_know_their_kind(api: FakeApi, kube: Kube) -> None:
    api.add_list(PODS, "Pod", [pod(f"p{index}") for index in range(7)])
    result = kube.list_all(
        "v1", "Pod", namespace="ml", page=3, label_selector="a=b", field_selector="metadata.namespace=ml"
    )
    assert [item["metadata"]["name"] for item in result.items] == [f"p{index}" for index in range(7)]
    assert {(item["kind"], item["apiVersion"]) for item in result.items} == {("Pod", "v1")}
    assert result.resource_version == "1000"
    assert kube.api_requests == len(api.requests) == 3
    assert api.requests[1].params == {
        "labelSelector": "a=b",
        "fieldSelector": "metadata.namespace=ml",
        "limit": "3",
        "continue": "3",
    }


def test_trimming_drops_what_it_answers_none_for(api: FakeApi, kube: Kube) -> None:
    api.add_list(PODS, "Pod", [pod("keep"), pod("drop")])
    result = kube.list_all(
        "v1", "Pod", namespace="ml", trim=lambda item: None if item["metadata"]["name"] == "drop" else {"kept": True}
    )
    assert result.items == [{"kept": True}]


def test_metadata_only_lists_carry_no_data(api: FakeApi, kube: Kube) -> None:
    api.add_list(
        "/api/v1/namespaces/ml/secrets", "Secret", [{"metadata": {"name": "s"}, "data": {"password": "cGxhbnRlZA=="}}]
    )
    result = kube.list_all("v1", "Secret", namespace="ml", metadata_only=True)
    assert result.items[0]["metadata"] == {"name": "s"}
    assert "data" not in result.items[0]


def test_a_list_whose_continuation_expired_is_begun_anew(api: FakeApi, kube: Kube) -> None:
    api.add_list(PODS, "Pod", [pod("a"), pod("b"), pod("c")])
    page = {"kind": "PodList", "apiVersion": "v1", "metadata": {"continue": "2"}, "items": [pod("old")]}
    api.script(PODS, Answer(body=page), status(410, "Expired", "the continue token is too old"))
    assert [item["metadata"]["name"] for item in kube.list_all("v1", "Pod", namespace="ml").items] == ["a", "b", "c"]


def test_a_list_that_always_expires_ends_with_the_error(api: FakeApi, kube: Kube) -> None:
    api.fixed[PODS] = status(410, "Expired", "too old")
    with pytest.raises(Gone):
        kube.list_all("v1", "Pod", namespace="ml")
    assert len(api.requests) == 4


def test_overload_is_waited_out_as_long_as_the_server_says(api: FakeApi, kube: Kube, pauses: list[float]) -> None:
    api.add_list(PODS, "Pod", [pod("a")])
    busy = Answer(429, {"kind": "Status", "reason": "TooManyRequests"}, {"Retry-After": "7"})
    api.script(PODS, busy, status(503, "ServiceUnavailable"), Answer(drop=True))
    assert len(kube.list_all("v1", "Pod", namespace="ml").items) == 1
    assert pauses == [7.0, 1.0, 2.0]
    assert kube.api_requests == 4


def test_retries_are_bounded(api: FakeApi, kube: Kube, pauses: list[float]) -> None:
    api.fixed[PODS] = Answer(429, {"kind": "Status", "reason": "TooManyRequests"}, {"Retry-After": "9999"})
    with pytest.raises(KubeError, match="HTTP 429") as caught:
        kube.list_all("v1", "Pod", namespace="ml")
    assert caught.value.retryable
    assert pauses == [30.0] * 4


def test_a_change_is_not_sent_twice_unless_the_server_did_nothing(api: FakeApi, kube: Kube) -> None:
    path = "/api/v1/namespaces/ml/configmaps/a"
    api.script(path, status(500, "InternalError", "who knows"))
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ml"}}
    with pytest.raises(KubeError, match="who knows"):
        kube.apply(manifest, KINDS["ConfigMap"], dry_run=True)
    api.script(path, status(429, "TooManyRequests"), Answer(body=manifest))
    assert kube.apply(manifest, KINDS["ConfigMap"], dry_run=True) == manifest
    sent = api.requests[-1]
    assert (sent.method, sent.params["dryRun"], sent.params["fieldManager"]) == ("PATCH", "All", "inference-ops-dynamo")
    assert sent.headers["content-type"] == "application/apply-patch+yaml"
    assert sent.body == manifest


@pytest.mark.parametrize(
    ("answer", "expected", "text"),
    [
        (
            forbidden("pods"),
            Forbidden,
            'Could not list pods in namespace ml: forbidden, needs verb "list" on pods in namespace ml',
        ),
        (status(401, "Unauthorized", "Unauthorized"), Unauthorized, "HTTP 401 Unauthorized"),
        (Answer(404, "404 page not found\n"), Absent, "404 page not found"),
        (status(409, "Conflict", "changed"), Conflict, "changed"),
        (Answer(200, "<html>hello</html>"), KubeError, "not JSON"),
    ],
)
def test_each_refusal_has_its_own_error(
    api: FakeApi, kube: Kube, answer: Answer, expected: type[KubeError], text: str
) -> None:
    api.fixed[PODS] = answer
    with pytest.raises(expected) as caught:
        kube.list_all("v1", "Pod", namespace="ml")
    assert caught.value.__class__ is expected
    assert text in str(caught.value)


def test_an_object_that_is_missing_is_none_and_a_missing_kind_is_an_error(api: FakeApi, kube: Kube) -> None:
    api.add_list(PODS, "Pod", [pod("a")])
    found = kube.get("v1", "Pod", "a", "ml")
    assert found is not None
    assert found["metadata"]["name"] == "a"
    assert kube.get("v1", "Pod", "b", "ml") is None
    with pytest.raises(Absent):
        kube.get("grove.io/v1alpha1", "PodCliqueSet", "a", "ml")


def test_forbidden_names_the_permission_by_group_and_scope() -> None:
    assert asked("GET", "/api/v1/nodes").permission == 'verb "list" on nodes in the whole cluster (ClusterRole)'
    assert (
        asked("GET", "/apis/grove.io/v1alpha1/namespaces/ml/podcliquesets/x").permission
        == 'verb "get" on podcliquesets.grove.io in namespace ml'
    )
    assert asked("POST", "/api/v1/namespaces/ml/pods/x/portforward").permission == (
        'verb "create" on pods/portforward in namespace ml'
    )
    assert (
        asked("GET", "/api/v1/namespaces/ml").permission
        == 'verb "get" on namespaces in the whole cluster (ClusterRole)'
    )
    assert asked("GET", PODS, watch=True).verb == "watch"
    assert str(asked("GET", "/version")) == "get /version"


def test_a_server_that_is_down_says_which_and_why(pauses: list[float]) -> None:
    with FakeApi() as api:
        url = api.url
    kube = connect({"host": url}, agent="test", sleep=pauses.append)
    with pytest.raises(Unreachable, match=r"the API server at http://127.0.0.1:\d+ gave no answer.*refused"):
        kube.server_version()
    assert pauses == [0.5, 1.0, 2.0, 4.0]


def test_a_watch_goes_on_over_chunks_and_ends_quietly(api: FakeApi, kube: Kube) -> None:
    bookmark = {"metadata": {"resourceVersion": "7"}}
    api.watches[PODS] = deque([[{"type": "ADDED", "object": pod("a")}, {"type": "BOOKMARK", "object": bookmark}], []])
    watch = kube.watch("v1", "Pod", namespace="ml", resource_version="5", timeout_seconds=3)
    assert list(watch) == [("ADDED", pod("a")), ("BOOKMARK", bookmark)]
    assert api.requests[0].params == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "5",
        "timeoutSeconds": "3",
    }
    assert list(kube.watch("v1", "Pod", namespace="ml", resource_version="7", timeout_seconds=3)) == []


def test_a_watch_that_is_too_old_says_so_by_status_and_by_event(api: FakeApi, kube: Kube) -> None:
    api.watches[PODS] = deque([[{"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}]])
    with pytest.raises(Gone):
        list(kube.watch("v1", "Pod", namespace="ml", resource_version="5", timeout_seconds=3))
    del api.watches[PODS]
    api.fixed[PODS] = status(410, "Gone", "too old")
    with pytest.raises(Gone) as caught:
        list(kube.watch("v1", "Pod", namespace="ml", resource_version="5", timeout_seconds=3))
    assert caught.value.asked.verb == "watch"


def test_a_watch_says_that_it_has_begun(api: FakeApi, kube: Kube) -> None:
    told: list[str] = []
    api.fixed[PODS] = Answer(body="")
    list(
        kube.watch("v1", "Pod", resource_version="5", namespace="ml", timeout_seconds=3, opened=lambda: told.append(""))
    )
    assert told == [""]
    api.fixed[PODS] = status(503, "ServiceUnavailable")
    with pytest.raises(KubeError):
        list(
            kube.watch(
                "v1", "Pod", resource_version="5", namespace="ml", timeout_seconds=3, opened=lambda: told.append("")
            )
        )
    assert told == [""]


@pytest.mark.parametrize(
    ("answer", "ready"),
    [(Answer(body="ok"), True), (status(500, "InternalError", "starting"), False), (status(403, "Forbidden"), True)],
)
def test_a_server_that_just_came_up_says_so(api: FakeApi, kube: Kube, answer: Answer, ready: bool) -> None:
    api.fixed["/readyz"] = answer
    assert kube.serves() is ready
    assert len(api.requests) == 1


def test_a_server_that_is_away_is_asked_once_by_who_tries_again_himself(kube: Kube, api: FakeApi) -> None:
    api.script(PODS, Answer(drop=True), Answer(drop=True))
    with pytest.raises(Unreachable):
        kube.list_all("v1", "Pod", namespace="ml", attempts=1)
    api.script("/readyz", Answer(drop=True))
    with pytest.raises(Unreachable):
        kube.serves()
    api.script(f"{PODS}/a/log", Answer(drop=True))
    with pytest.raises(Unreachable):
        kube.logs("a", "ml")
    assert len(api.requests) == 3


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ssl.SSLCertVerificationError("certificate verify failed: self-signed certificate"), False),
        (urllib3.exceptions.SSLError(ssl.SSLCertVerificationError("certificate verify failed")), False),
        (urllib3.exceptions.SSLError("[SSL: WRONG_VERSION_NUMBER] wrong version number"), False),
        (urllib3.exceptions.SSLError(ssl.SSLEOFError(8, "EOF occurred in violation of protocol")), True),
        (urllib3.exceptions.SSLError(ssl.SSLZeroReturnError(6, "TLS/SSL connection has been closed")), True),
        (ConnectionResetError(104, "Connection reset by peer"), True),
    ],
)
def test_a_handshake_that_breaks_off_is_no_distrust(kube: Kube, error: Exception, passes: bool) -> None:
    found = kube.unreachable(error, asked("GET", "/version"))
    assert found.retryable is passes
    assert ("is not trusted" in str(found)) is not passes


def test_a_connection_whose_peer_died_is_noticed(api: FakeApi, kube: Kube) -> None:
    api.fixed["/version"] = Answer(body={"gitVersion": "v1.36.3"})
    kube.server_version()
    pool = kube._pool.connection_from_url(kube.host)
    connection = pool._get_conn()
    connection.connect()
    try:
        assert connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert connection.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) <= 60
    finally:
        connection.close()


def test_logs_are_text(api: FakeApi, kube: Kube) -> None:
    api.fixed[f"{PODS}/a/log"] = Answer(body="first\nlast\n")
    assert kube.logs("a", "ml", "main", previous=True, tail_lines=5) == "first\nlast\n"
    assert api.requests[0].params == {
        "tailLines": "5",
        "limitBytes": "65536",
        "container": "main",
        "previous": "true",
    }


def test_access_reviews_ask_for_ourselves_or_for_another(api: FakeApi, kube: Kube) -> None:
    own = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    other = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    api.fixed[own] = Answer(body={"status": {"allowed": True}})
    api.fixed[other] = Answer(body={"status": {"allowed": False, "reason": "no rule"}})
    assert kube.access_review(verb="list", resource="secrets", namespace="ml") == (True, "")
    assert api.requests[-1].body["spec"] == {
        "resourceAttributes": {"verb": "list", "resource": "secrets", "namespace": "ml"}
    }
    assert kube.access_review(verb="get", resource="pods", user="u", groups=("g",)) == (False, "no rule")
    assert api.requests[-1].body["spec"]["groups"] == ["g"]
    api.fixed[other] = forbidden("subjectaccessreviews")
    allowed, reason = kube.access_review(verb="get", resource="pods", user="u")
    assert allowed is None
    assert "subjectaccessreviews.authorization.k8s.io" in reason


def test_discovery_reads_the_aggregated_answer_and_the_old_one(api: FakeApi, kube: Kube) -> None:
    resource = {"resource": "podcliquesets", "responseKind": {"kind": "PodCliqueSet"}, "scope": "Namespaced"}
    version = {"version": "v1alpha1", "resources": [resource]}
    group = {"metadata": {"name": "grove.io"}, "versions": [version]}
    api.script("/apis", Answer(body={"kind": "APIGroupDiscoveryList", "items": [group]}))
    assert kube.discovery() == {"grove.io": {"v1alpha1": {"podcliquesets": KINDS["PodCliqueSet"]}}}
    old = {"name": "x.io", "versions": [{"version": "v1"}, {"version": "v2"}], "preferredVersion": {"version": "v2"}}
    api.script("/apis", Answer(body={"kind": "APIGroupList", "groups": [old]}))
    assert list(kube.discovery()["x.io"]) == ["v2", "v1"]


def test_requests_say_who_asks(api: FakeApi) -> None:
    api.fixed["/version"] = Answer(body={"gitVersion": "v1.36.3"})
    params = {"host": api.url, "api_key": "tok", "impersonate_user": "ann", "impersonate_groups": ["a", "b"]}
    assert connect(params, agent="cluster_info").server_version() == "v1.36.3"
    headers = api.requests[0].header_items
    assert ("Authorization", "Bearer tok") in headers
    assert ("User-Agent", "inference_ops.dynamo/cluster_info") in headers
    assert [value for name, value in headers if name == "Impersonate-Group"] == ["a", "b"]
    assert ("Impersonate-User", "ann") in headers
    connect({"host": api.url, "username": "ann", "password": "pw"}, agent="x").server_version()
    assert api.requests[1].headers["authorization"] == "Basic YW5uOnB3"


# -- connection -------------------------------------------------------------------------------------------------------


def kubeconfig(server: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "ambient",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "planted-token"}}],
        "contexts": [
            {"name": "ambient", "context": {"cluster": "c", "user": "u"}},
            {"name": "named", "context": {"cluster": "c", "user": "u"}},
        ],
    }


def test_the_ambient_context_is_refused() -> None:
    for params in ({}, {"context": ""}, {"kubeconfig": kubeconfig("http://x")}):
        with pytest.raises(InputError, match="no cluster was named"):
            connect(params, agent="test")
    with pytest.raises(InputError, match="a kubeconfig was given without a context"):
        connect({"host": "http://x", "kubeconfig": kubeconfig("http://x")}, agent="test")


def test_a_host_with_its_own_token_needs_no_kubeconfig_even_where_one_is_set(api: FakeApi) -> None:
    api.fixed["/version"] = Answer(body={"gitVersion": "v1"})
    params = {"host": api.url, "api_key": "mine", "kubeconfig": "/nonexistent"}
    assert connect(params, agent="test").server_version() == "v1"


def test_a_kubeconfig_serves_as_mapping_and_as_file(api: FakeApi, tmp_path: Path) -> None:
    api.fixed["/version"] = Answer(body={"gitVersion": "v1"})
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(kubeconfig(api.url)))
    for given in (kubeconfig(api.url), str(file)):
        kube = connect({"kubeconfig": given, "context": "named"}, agent="test")
        assert kube.server_version() == "v1"
        assert kube.context == "named"
        assert api.requests[-1].headers["authorization"] == "Bearer planted-token"


def test_an_exec_plugins_token_is_used(api: FakeApi, tmp_path: Path) -> None:
    api.fixed["/version"] = Answer(body={"gitVersion": "v1"})
    plugin = tmp_path / "plugin.py"
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "made"},
    }
    plugin.write_text(f"import json\nprint(json.dumps({credential!r}))\n", encoding="utf-8")
    config = kubeconfig(api.url)
    command = {"apiVersion": credential["apiVersion"], "command": sys.executable, "args": [str(plugin)]}
    config["users"] = [{"name": "u", "user": {"exec": {**command, "interactiveMode": "Never"}}}]
    connect({"kubeconfig": config, "context": "named"}, agent="test").server_version()
    assert api.requests[-1].headers["authorization"] == "Bearer made"


def test_proxies_and_certificates_reach_the_client(tmp_path: Path) -> None:
    certificate = tmp_path / "ca.pem"
    certificate.write_text("", encoding="utf-8")
    params = {
        "host": "http://x",
        "proxy": "http://proxy:3128",
        "no_proxy": "localhost",
        "proxy_headers": {"proxy_basic_auth": "a:b", "user_agent": None},
        "validate_certs": False,
        "ca_cert": str(certificate),
    }
    configuration = connect(params, agent="test").configuration
    assert (configuration.proxy, configuration.no_proxy) == ("http://proxy:3128", "localhost")
    assert configuration.proxy_headers == {"proxy-authorization": "Basic YTpi"}
    assert configuration.verify_ssl is False
    assert configuration.ssl_ca_cert == str(certificate)


def test_options_replace_what_the_kubeconfig_says(api: FakeApi) -> None:
    api.fixed["/version"] = Answer(body={"gitVersion": "v1"})
    params = {"kubeconfig": kubeconfig("http://elsewhere"), "context": "named", "host": api.url, "api_key": "other"}
    connect(params, agent="test").server_version()
    assert api.requests[-1].headers["authorization"] == "Bearer other"


def test_a_kubeconfig_that_cannot_be_used_is_told_without_its_content(tmp_path: Path) -> None:
    file = tmp_path / "broken"
    file.write_text("users: [{name: u, user: {token: planted-token\n  - :")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"kubeconfig": kubeconfig("http://x"), "context": "absent"}, "the kubeconfig has no context absent"),
        ({"kubeconfig": str(tmp_path / "none"), "context": "x"}, "there is no such kubeconfig file"),
        ({"kubeconfig": str(file), "context": "x"}, "the kubeconfig cannot be"),
        ({"kubeconfig": {"users": "planted-token"}, "context": "x"}, "the kubeconfig"),
        ({"kubeconfig": "token: planted-token\n", "context": "x"}, "must be a file's path or a mapping"),
        ({"kubeconfig": 7, "context": "x"}, "must be a file's path or a mapping"),
        ({"host": "http://x", "ca_cert": str(tmp_path / "none")}, "there is no such file"),
    ]
    for params, text in cases:
        with pytest.raises(InputError) as caught:
            connect(params, agent="test")
        assert text in str(caught.value)
        assert "planted" not in str(caught.value)


# -- port-forward -----------------------------------------------------------------------------------------------------


def http_answer(request: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" if request.endswith(b"\r\n\r\n") else b""


def test_a_port_forward_serves_many_connections(api: FakeApi, kube: Kube) -> None:
    api.ports[f"{PODS}/front/portforward"] = http_answer
    with kube.forward("ml", "front", 8000) as forward:
        for _unused in range(3):
            connection = http.client.HTTPConnection("127.0.0.1", forward.local_port, timeout=10)
            for _unused in range(2):
                connection.request("GET", "/v1/models")
                assert connection.getresponse().read() == b"hello"
            connection.close()
    assert api.requests[0].params == {"ports": "8000"}
    assert api.requests[0].headers["authorization"] == "Bearer tok-123456"
    assert kube.api_requests == len(api.requests) == 4
    with pytest.raises(OSError):  # noqa: PT011  # which error depends on the platform
        forward.connect(1)


def test_a_port_forward_that_cannot_be_says_so_at_once(api: FakeApi, kube: Kube) -> None:
    api.fixed[f"{PODS}/front/portforward"] = forbidden("pods/portforward")
    with pytest.raises(Forbidden, match="pods/portforward"), kube.forward("ml", "front", 8000):
        pass
    api.fixed[f"{PODS}/front/portforward"] = status(404, "NotFound", 'pods "front" not found', name="front")
    with pytest.raises(NotFound), kube.forward("ml", "front", 8000):
        pass


def test_kinds_make_paths() -> None:
    assert resource_path("", KINDS["Node"], "ml", "n") == "/api/v1/nodes/n"
    assert resource_path("", KINDS["Deployment"], "ml") == "/apis/apps/v1/namespaces/ml/deployments"
    assert resource_path("nvidia.com/v1beta1", KINDS["DynamoGraphDeployment"], "", "") == (
        "/apis/nvidia.com/v1beta1/dynamographdeployments"
    )
