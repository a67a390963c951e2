# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods that the operator renders and the API server refuses, or that run otherwise than meant."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.demand import PodDemand
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.findings import Finding
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import RenderRequest, render
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.podcheck import REASONS, check_pods
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import Graph, alpha, service


def checked(release: str, pathway: str = "deployment", graph: Graph | None = None, **more: Any) -> list[Finding]:
    graph = alpha({"W": service(**more)}) if graph is None else graph
    result = render(RenderRequest(graph, release=release, pathway=pathway))  # type: ignore[arg-type]  # a literal by tests
    assert result.errors == ()
    return list(check_pods(result.pods))


def main(**fields: Any) -> dict[str, Any]:
    return {"extraPodSpec": {"mainContainer": {"image": "a:1.5.0", **fields}}}


def codes(findings: list[Finding]) -> list[str]:
    return [finding.reason_code for finding in findings]


@pytest.mark.parametrize("release", ["documented", "1.1", "1.5"])
def test_a_plain_graph_is_sound(release: str) -> None:
    assert checked(release, graph=alpha()) == []


def test_a_partial_probe_has_no_handler() -> None:
    (finding,) = checked("1.5", **main(livenessProbe={"failureThreshold": 5}))
    assert (finding.reason_code, finding.outcome, finding.subject) == ("render_probe_handler", "fail", "component/W")
    assert finding.message == "livenessProbe of container main has no handler."


def test_a_second_handler_is_merged_in_by_1_1() -> None:
    (finding,) = checked("1.1", **main(readinessProbe={"tcpSocket": {"port": 1}}))
    assert finding.message == "readinessProbe of container main has the handlers httpGet and tcpSocket."


def test_a_missing_image() -> None:
    (finding,) = checked("1.1", **main(image=""))
    assert (finding.reason_code, finding.message) == ("render_image_missing", "Container main has no image.")


def test_two_containers_of_one_name() -> None:
    more = main()
    more["extraPodSpec"]["containers"] = [{"name": "main", "image": "b:1"}]
    assert codes(checked("1.1", **more)) == ["render_container_twice"]


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ({"limits": {"gpu": 1}}, "gpu is no resource name"),
        ({"requests": {"nvidia.com/gpu": 1}}, "nvidia.com/gpu is requested without a limit"),
        ({"limits": {"nvidia.com/gpu": "1.5"}}, "nvidia.com/gpu must be a whole number, found 1500m"),
        (
            {"limits": {"nvidia.com/gpu": 2}, "requests": {"nvidia.com/gpu": 1}},
            "nvidia.com/gpu is requested as 1 and limited to 2; both must be equal",
        ),
        ({"limits": {"cpu": 1}, "requests": {"cpu": 2}}, "cpu is requested beyond its limit (2 > 1)"),
    ],
)
def test_resources_that_the_api_server_refuses(resources: dict[str, Any], words: str) -> None:
    (finding,) = checked("1.5", gpus=None, **main(resources=resources))
    assert (finding.reason_code, finding.outcome) == ("render_resource_invalid", "fail")
    assert words in finding.message


def test_hugepages_and_native_resources_need_no_limit() -> None:
    resources = {"requests": {"cpu": 1, "memory": "1Gi", "ephemeral-storage": "1Gi"}}
    assert checked("1.5", gpus=None, **main(resources=resources)) == []
    assert checked("1.5", gpus=None, **main(resources={"requests": {"hugepages-2Mi": "4Mi"}})) == []


def test_a_quantity_that_is_none() -> None:
    pod = PodDemand(
        "p",
        "W",
        "main",
        0,
        {"spec": {"containers": [{"name": "m", "image": "a", "resources": {"limits": {"x/y": "many"}}}]}},
    )
    assert [finding.message for finding in check_pods([pod])] == ["Container m: x/y is no quantity."]


def test_own_ports_take_the_probes_port_away() -> None:
    findings = checked("1.1", **main(ports=[{"containerPort": 7777, "name": "extra"}]))
    assert set(codes(findings)) == {"render_port_missing"}
    assert {finding.outcome for finding in findings} == {"warn"}
    assert "system" in findings[0].message


def test_a_system_port_that_the_probes_do_not_know() -> None:
    (finding,) = checked("1.5", envs=[{"name": "DYN_SYSTEM_PORT", "value": "9999"}])
    assert finding.reason_code == "render_system_port"
    assert finding.message == "Container main serves its health on 9999, and the probes go to 9090."


def test_a_users_shared_memory_that_is_mounted_nowhere() -> None:
    more = main(volumeMounts=[{"name": "dshm", "mountPath": "/dev/shm"}])
    more["extraPodSpec"]["volumes"] = [{"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}}]
    (finding,) = checked("1.5", **more)
    assert (finding.reason_code, finding.outcome) == ("render_shared_memory_unused", "warn")


def test_workers_that_wait_for_ever() -> None:
    graph = alpha({"W": service(gpus="8", args=("--data-parallel-size", "16"), multinode={"nodeCount": 2})})
    (finding,) = checked("1.1", "grove", graph)
    assert (finding.reason_code, finding.outcome) == ("render_waits_for_ever", "fail")
    assert checked("1.5", "grove", graph) == []
    tensor = alpha({"W": service(gpus="8", args=("--tensor-parallel-size", "16"), multinode={"nodeCount": 2})})
    assert checked("1.1", "grove", tensor) == []


def test_each_component_is_told_once_however_many_pods_it_has() -> None:
    assert len(checked("1.5", replicas=5, **main(livenessProbe={"periodSeconds": 5}))) == 1


def test_every_reason_has_a_meaning_and_a_remedy() -> None:
    assert all(reason.meaning and reason.remedy and reason.code.startswith("render_") for reason in REASONS)
