# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Service and which pod: from components and labels, never from how a name looks."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.dgdview import view_dgd
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.endpoint import (
    Endpoint,
    choose_pod,
    find_endpoint,
    pod_endpoint,
    service_endpoint,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.findings import Finding

FRONTEND = {
    "nvidia.com/dynamo-component": "Front",
    "nvidia.com/dynamo-component-type": "frontend",
    "nvidia.com/dynamo-namespace": "serving-agg",
}


def dgd(**services: Any) -> Any:
    return view_dgd({"apiVersion": "nvidia.com/v1alpha1", "metadata": {"name": "agg"}, "spec": {"services": services}})


def service(name: str, selector: dict[str, str], *ports: dict[str, Any]) -> dict[str, Any]:
    every = ports or ({"name": "http", "port": 80, "targetPort": "http"},)
    return {"metadata": {"name": name}, "spec": {"selector": selector, "ports": list(every)}}


def pod(name: str, labels: dict[str, str], ready: bool = True, age: str = "1", **more: Any) -> dict[str, Any]:
    ports = more.pop("ports", [{"name": "http", "containerPort": 8000}])
    return {
        "metadata": {"name": name, "labels": labels, "creationTimestamp": f"2026-01-0{age}T00:00:00Z", **more},
        "spec": {"containers": [{"name": "main", "ports": ports}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def found(result: Endpoint | Finding) -> Endpoint:
    assert isinstance(result, Endpoint), result
    return result


def refused(result: Endpoint | Finding) -> tuple[str, str]:
    assert isinstance(result, Finding), result
    return result.reason_code, result.message


AGG = dgd(Front={"componentType": "frontend"}, W={"componentType": "worker"})


def test_the_service_is_found_by_what_it_selects() -> None:
    services = [
        service("agg-frontend", {**FRONTEND, "nvidia.com/dynamo-namespace": "serving-other"}),
        service("agg-w", {"nvidia.com/dynamo-component": "W", "nvidia.com/dynamo-namespace": "serving-agg"}),
        service("named-oddly", FRONTEND),
    ]
    endpoint = found(find_endpoint(AGG, "serving", services, [pod("p", FRONTEND)]))
    assert (endpoint.kind, endpoint.service, endpoint.pod, endpoint.port) == ("service", "named-oddly", "p", 8000)
    assert endpoint.why == "it selects the pods of component Front"
    assert endpoint.to_result()["service"] == "named-oddly"


def test_a_service_with_an_http_port_comes_first() -> None:
    services = [service("a-headless", FRONTEND, {"name": "grpc", "port": 1}), service("b", FRONTEND)]
    assert found(find_endpoint(AGG, "serving", services, [pod("p", FRONTEND)])).service == "b"


def test_a_service_without_ready_pods_does_not_hide_one_that_has_them() -> None:
    own = pod("p", FRONTEND)
    services = [service("a-canary", {**FRONTEND, "track": "canary"}), service("b", FRONTEND)]
    assert found(find_endpoint(AGG, "serving", services, [own])).service == "b"
    assert refused(find_endpoint(AGG, "serving", services[:1], [own])) == (
        "smoke_no_ready_pod",
        "None of its 0 pods is ready.",
    )


def test_a_service_with_other_labels_counts_if_it_selects_the_frontends_pods_alone() -> None:
    own = pod("p", {**FRONTEND, "app": "front", "team": "x"})
    worker = pod("w", {"nvidia.com/dynamo-component": "W", "nvidia.com/dynamo-namespace": "serving-agg", "team": "x"})
    services = [service("everything", {"team": "x"}), service("by-app", {"app": "front"}), service("no-selector", {})]
    assert found(find_endpoint(AGG, "serving", services, [own, worker])).service == "by-app"
    assert refused(find_endpoint(AGG, "serving", [services[0], services[2]], [own, worker]))[0] == (
        "smoke_service_missing"
    )
    assert found(find_endpoint(AGG, "serving", [*services, service("z", FRONTEND)], [own, worker])).service == "z"


@pytest.mark.parametrize(
    ("component", "namespace"),
    [
        ({"globalDynamoNamespace": True}, "dynamo"),
        ({"dynamoNamespace": "mine"}, "mine"),
        ({}, "serving-agg"),
    ],
)
def test_dynamo_namespaces(component: dict[str, Any], namespace: str) -> None:
    view = dgd(Front={"componentType": "frontend", **component})
    labels = {**FRONTEND, "nvidia.com/dynamo-namespace": namespace}
    assert found(find_endpoint(view, "serving", [service("s", labels)], [pod("p", labels)])).service == "s"


def test_readiness_counts_and_not_age_or_phase() -> None:
    pods = [
        pod("a", FRONTEND, ready=False, age="1"),
        pod("b", FRONTEND, age="3"),
        pod("c", FRONTEND, age="2", deletionTimestamp="2026-01-04T00:00:00Z"),
    ]
    assert found(service_endpoint(service("s", FRONTEND), pods)).pod == "b"
    assert choose_pod([]) is None


@pytest.mark.parametrize(
    ("ports", "asked", "number"),
    [
        ([{"name": "http", "port": 80, "targetPort": "http"}], "", 8000),
        ([{"port": 80, "targetPort": 9000}], "", 9000),
        ([{"port": 80}], "", 80),
        ([{"name": "a", "port": 1}, {"name": "http", "port": 80, "targetPort": 8000}], "", 8000),
        ([{"name": "a", "port": 1}, {"name": "b", "port": 2, "targetPort": "http"}], "b", 8000),
        ([{"name": "a", "port": 1}, {"name": "b", "port": 2, "targetPort": "http"}], "2", 8000),
        ([{"name": "http", "port": 80, "targetPort": "http"}], "8080", 8080),
        ([{"name": "api", "port": 80, "targetPort": "http"}, {"name": "metrics", "port": 9090}], "", 8000),
        ([{"name": "metrics", "port": 9090}, {"name": "api", "port": 8000}], "", 8000),
        ([{"name": "http", "port": 8000, "targetPort": 0}], "", 8000),
        ([{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "web", "port": 80, "targetPort": 8000}], "", 8000),
    ],
)
def test_the_port_is_resolved_in_the_pod(ports: list[dict[str, Any]], asked: str, number: int) -> None:
    assert found(service_endpoint(service("s", FRONTEND, *ports), [pod("p", FRONTEND)], asked)).port == number


def test_what_hinders() -> None:
    ready, unready = pod("p", FRONTEND), pod("p", FRONTEND, ready=False)
    two = service("s", FRONTEND, {"name": "a", "port": 1}, {"name": "b", "port": 2})
    cases = {
        "smoke_service_missing": find_endpoint(AGG, "serving", [service("other", {"a": "b"})], [ready]),
        "smoke_no_endpoint": find_endpoint(dgd(W={"componentType": "worker"}), "serving", [], [ready]),
        "smoke_no_ready_pod": service_endpoint(service("s", FRONTEND), [unready]),
        "smoke_port_unknown": service_endpoint(two, [ready]),
    }
    for code, result in cases.items():
        assert refused(result)[0] == code
        assert isinstance(result, Finding)
        assert result.remedy
    assert refused(service_endpoint(service("s", {}), [ready])) == (
        "smoke_no_ready_pod",
        "The Service selects no pods.",
    )
    assert refused(service_endpoint(two, [ready], "grpc")) == ("smoke_port_unknown", "No port is grpc.")


def test_a_pod_that_was_asked_for() -> None:
    assert found(pod_endpoint(pod("p", {}))).port == 8000
    assert found(pod_endpoint(pod("p", {}, ports=[]))).port == 8000
    assert found(pod_endpoint(pod("p", {}), "9090")).port == 9090
    assert found(pod_endpoint(pod("p", {}))).direct is None
    assert refused(pod_endpoint(pod("p", {}), "grpc"))[0] == "smoke_port_unknown"
    assert refused(pod_endpoint(pod("p", {}), "99999"))[0] == "smoke_port_unknown"
    assert refused(pod_endpoint(pod("p", {}, ready=False)))[0] == "smoke_no_ready_pod"


# -- gateway variants -------------------------------------------------------------------------------------------------


def gateway(mode: list[str], env: dict[str, str] | None = None) -> Any:
    sidecar = {
        "args": ["-m", "dynamo.frontend", *mode],
        "envs": [{"name": name, "value": value} for name, value in (env or {}).items()],
    }
    return dgd(
        Epp={"componentType": "epp"},
        Prefill={"componentType": "worker", "subComponentType": "prefill", "frontendSidecar": sidecar},
        Decode={"componentType": "worker", "subComponentType": "decode", "frontendSidecar": sidecar},
    )


def worker(name: str, component: str, **more: Any) -> dict[str, Any]:
    labels = {"nvidia.com/dynamo-component": component, "nvidia.com/dynamo-graph-deployment-name": "agg"}
    return pod(name, labels, ports=[{"name": "system", "containerPort": 9090}], **more)


@pytest.mark.parametrize(
    ("mode", "env", "direct"),
    [
        (["--router-mode", "direct"], {}, True),
        (["--router-mode=direct"], {}, True),
        ([], {"DYN_ROUTER_MODE": "direct"}, True),
        (["--router-mode", "kv"], {"DYN_ROUTER_MODE": "direct"}, False),
        ([], {}, False),
        (["--router-mode", "$(MODE)"], {}, None),
    ],
)
def test_a_gateway_variant_is_asked_at_a_decode_pods_sidecar(
    mode: list[str], env: dict[str, str], direct: bool | None
) -> None:
    pods = [worker("p0", "Prefill"), worker("d0", "Decode")]
    endpoint = found(find_endpoint(gateway(mode, env), "serving", [], pods))
    assert (endpoint.kind, endpoint.pod, endpoint.port, endpoint.direct) == ("pod", "d0", 8000, direct)


def test_a_prefill_pod_is_the_last_choice() -> None:
    pods = [worker("p0", "Prefill"), worker("d0", "Decode", ready=False)]
    assert found(find_endpoint(gateway([]), "serving", [], pods)).pod == "p0"
    assert refused(find_endpoint(gateway([]), "serving", [], pods[1:]))[0] == "smoke_no_ready_pod"
    assert refused(find_endpoint(gateway([]), "serving", [], pods, "web"))[0] == "smoke_port_unknown"


FRONT = {"name": "front", "command": ["python3", "-m", "dynamo.frontend"]}


@pytest.mark.parametrize(
    ("declared", "container", "place", "port", "direct"),
    [
        ("front", {**FRONT, "args": ["--router-mode", "direct", "--http-port=8123"]}, "containers", 8123, True),
        ("front", {**FRONT, "env": [{"name": "DYN_HTTP_PORT", "value": "8200"}]}, "containers", 8200, False),
        ("front", {**FRONT, "ports": [{"name": "api", "containerPort": 8124}]}, "containers", 8124, False),
        ("front", {**FRONT, "ports": [{"name": "http", "containerPort": 8125}]}, "containers", 8125, False),
        ("", {**FRONT, "args": ["--router-mode", "direct"]}, "containers", 8000, True),
        ("", {**FRONT, "restartPolicy": "Always"}, "initContainers", 8000, False),
    ],
)
@pytest.mark.parametrize("beta", [False, True])
def test_where_a_sidecar_listens(
    declared: str, container: dict[str, Any], place: str, port: int, direct: bool, beta: bool
) -> None:
    spec: dict[str, Any] = {"containers": [], place: [container]}
    if beta:
        spec["containers"] = [{"name": "main"}, *spec["containers"]]
        entry = {"name": "D", "type": "decode", "frontendSidecar": declared, "podTemplate": {"spec": spec}}
        body: dict[str, Any] = {"components": [entry]}
        view = view_dgd({"apiVersion": "nvidia.com/v1beta1", "metadata": {"name": "agg"}, "spec": body})
    else:
        view = dgd(D={"componentType": "worker", "subComponentType": "decode", "extraPodSpec": spec})
    live = worker("d0", "D")
    live["spec"][place] = [*live["spec"].get(place, []), container]
    endpoint = found(find_endpoint(view, "serving", [], [live]))
    assert (endpoint.kind, endpoint.pod, endpoint.port, endpoint.direct) == ("pod", "d0", port, direct)


def test_a_frontend_is_known_by_its_program_too() -> None:
    def running(script: str) -> dict[str, Any]:
        return {"mainContainer": {"command": ["sh", "-c"], "args": [script]}}

    both = dgd(
        W={"componentType": "worker", "extraPodSpec": running("python3 -m dynamo.frontend & python3 -m dynamo.vllm")}
    )
    assert found(find_endpoint(both, "serving", [], [worker("w0", "W")])).kind == "pod"
    alone = dgd(Front={"componentType": "main", "extraPodSpec": running("exec python3 -m dynamo.frontend")})
    services = [service("s", {"nvidia.com/dynamo-component": "Front", "nvidia.com/dynamo-namespace": "serving-agg"})]
    assert found(find_endpoint(alone, "serving", services, [pod("p", FRONTEND)])).service == "s"


def test_a_beta_sidecar() -> None:
    view = view_dgd(
        {
            "apiVersion": "nvidia.com/v1beta1",
            "metadata": {"name": "agg"},
            "spec": {
                "components": [
                    {
                        "name": "Decode",
                        "type": "decode",
                        "frontendSidecar": "front",
                        "podTemplate": {
                            "spec": {
                                "containers": [
                                    {"name": "main"},
                                    {"name": "front", "args": ["-m", "dynamo.frontend", "--router-mode", "direct"]},
                                ]
                            }
                        },
                    }
                ]
            },
        }
    )
    assert found(find_endpoint(view, "serving", [], [worker("d0", "Decode")])).direct is True


def test_a_frontends_own_pod_is_no_worker() -> None:
    labels = {"nvidia.com/dynamo-component": "W", "nvidia.com/dynamo-namespace": "serving-agg"}
    front = [service("s", FRONTEND), pod("front-1", FRONTEND)]
    workers = [pod("w-0", labels, ready=False), pod("w-1", labels)]
    with_workers = found(find_endpoint(AGG, "serving", front[:1], [front[1], *workers]))
    assert (with_workers.pod, with_workers.worker) == ("front-1", "w-1")
    assert found(find_endpoint(AGG, "serving", front[:1], front[1:])).worker == ""
    assert found(service_endpoint(front[0], front[1:])).worker == ""
    assert found(service_endpoint(service("s", labels), workers)).worker is None
