# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users of the operator stumbled over, as small graphs with the right answer."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import keys
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.docker_secrets import SecretEntry
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.manifest import choose_dgd, documents_of
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import RELEASES
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.rendering import (
    RenderOptions,
    RenderReport,
    render_document,
)
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import (
    Graph,
    alpha,
    beta,
    service,
    worker_component,
)

ACTUAL = [release for release in RELEASES if release != "documented"]


def reported(graph: Graph, release: str, pathway: str = "deployment", **more: Any) -> RenderReport:
    return render_document(choose_dgd(documents_of(graph)), RenderOptions(release=release, pathway=pathway, **more))


def pod(report: RenderReport, component: str, role: str = "main") -> dict[str, Any]:
    return next(
        dict(item.pod["spec"]) for item in report.result.pods if (item.component, item.role) == (component, role)
    )


def main(spec: dict[str, Any]) -> dict[str, Any]:
    return next(container for container in spec["containers"] if container["name"] == "main")


def values(container: dict[str, Any]) -> dict[str, str]:
    return {item["name"]: item.get("value", "") for item in container["env"]}


@pytest.mark.parametrize("release", ACTUAL)
def test_frontend_planner_and_untyped_components_differ_from_workers(release: str) -> None:
    planner = service("planner", gpus=None)
    router = service("", gpus=None)
    for item in (planner, router):
        del item["extraPodSpec"]["mainContainer"]["command"], item["extraPodSpec"]["mainContainer"]["args"]
    report = reported(alpha({"F": service("frontend", gpus=None), "P": planner, "R": router}), release)
    frontend = main(pod(report, "F"))
    assert (frontend["command"], frontend["args"]) == (["python3"], ["-m", "dynamo.frontend"])
    assert "startupProbe" not in frontend
    assert frontend["livenessProbe"]["httpGet"] == {"path": "/live", "port": "http"}
    assert {"DYNAMO_PORT", "DYN_HTTP_PORT", "DYN_NAMESPACE_PREFIX"} <= set(values(frontend))
    assert pod(report, "P")["serviceAccountName"] == "planner-serviceaccount"
    assert values(main(pod(report, "P")))["PLANNER_PROMETHEUS_PORT"] == "9085"
    untyped = main(pod(report, "R"))
    assert untyped["command"] == ["/bin/sh", "-c"]
    assert not {"ports", "livenessProbe", "readinessProbe", "startupProbe"} & set(untyped)
    assert pod(report, "R")["securityContext"] == {"fsGroup": 1000}


def test_a_partial_probe_replaces_the_whole_one() -> None:
    graph = beta([worker_component()])
    graph["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]["livenessProbe"] = {"failureThreshold": 5}
    report = reported(graph, "1.5")
    assert main(pod(report, "Worker"))["livenessProbe"] == {"failureThreshold": 5}
    assert [finding.reason_code for finding in report.findings] == ["render_probe_handler"]


@pytest.mark.parametrize(
    ("annotations", "executor"),
    [
        ({}, "mp"),
        ({keys.ANNOTATION_ORIGIN_VERSION: "0.9.9"}, "ray"),
        ({keys.ANNOTATION_ORIGIN_VERSION: "1.4.2"}, "mp"),
        ({keys.ANNOTATION_ORIGIN_VERSION: "1.4.2", keys.ANNOTATION_VLLM_EXECUTOR: "RAY"}, "ray"),
        ({keys.ANNOTATION_ORIGIN_VERSION: "1.0.0-rc1"}, "ray"),
    ],
)
def test_the_executor_depends_on_a_stamp_that_new_graphs_get(annotations: dict[str, str], executor: str) -> None:
    worker = service(gpus="8", args=("--tensor-parallel-size", "16"), multinode={"nodeCount": 2})
    report = reported(alpha({"Worker": worker}, annotations=annotations), "1.5", "grove")
    leader = main(pod(report, "Worker", "leader"))
    words = " ".join([*leader["command"], *leader["args"]])
    assert f"--distributed-executor-backend {executor}" in words
    assert ("ray start --head --port=6379" in words) == (executor == "ray")
    if executor == "mp":
        assert "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-worker-ldr-0.$(GROVE_HEADLESS_SERVICE)" in words


def test_a_users_own_shared_memory_is_displaced_unless_the_operators_is_off() -> None:
    graph = beta([worker_component()])
    template = graph["spec"]["components"][0]["podTemplate"]["spec"]
    template["volumes"] = [{"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}}]
    template["containers"][0]["volumeMounts"] = [{"name": "dshm", "mountPath": "/dev/shm"}]
    report = reported(graph, "1.5")
    spec = pod(report, "Worker")
    assert [mount["name"] for mount in main(spec)["volumeMounts"]] == ["shared-memory"]
    assert {volume["name"] for volume in spec["volumes"]} == {"dshm", "shared-memory"}
    assert [finding.reason_code for finding in report.findings] == ["render_shared_memory_unused"]
    graph["spec"]["components"][0]["sharedMemorySize"] = "0"
    spec = pod(reported(graph, "1.5"), "Worker")
    assert [volume["name"] for volume in spec["volumes"]] == ["dshm"]
    assert [mount["name"] for mount in main(spec)["volumeMounts"]] == ["dshm"]


@pytest.mark.parametrize(("value", "found"), [("true", []), ("True", ["reg"]), ("1", ["reg"])])
def test_pull_secrets_of_the_main_image_and_the_exact_word_that_turns_them_off(value: str, found: list[str]) -> None:
    graph = beta([worker_component()])
    template = graph["spec"]["components"][0]["podTemplate"]
    template["spec"]["initContainers"] = [{"name": "init", "image": "init.example/a:1"}]
    template["metadata"] = {"annotations": {keys.ANNOTATION_DISABLE_PULL_SECRETS: value}}
    docker = "kubernetes.io/dockerconfigjson"
    secrets = (
        SecretEntry("reg", "", docker, ("registry.example",)),
        SecretEntry("ini", "", docker, ("init.example",)),
    )
    spec = pod(reported(graph, "1.5", secrets=secrets), "Worker")
    assert [item["name"] for item in spec.get("imagePullSecrets", ())] == found


@pytest.mark.parametrize(("release", "log"), [("1.1", "component"), ("1.5", "container")])
def test_one_variable_a_name_and_who_wins(release: str, log: str) -> None:
    worker = service(envs=[{"name": "LOG", "value": "component"}])
    worker["extraPodSpec"]["mainContainer"]["env"] = [
        {"name": "LOG", "value": "container"},
        {"name": "NATS_SERVER", "value": "mine"},
        {"name": "DYN_SYSTEM_PORT", "value": "9999"},
    ]
    graph = alpha({"Worker": worker}, envs=[{"name": "LOG", "value": "graph"}])
    report = reported(graph, release, config={"nats_address": "nats://operator"})
    container = main(pod(report, "Worker"))
    names = [item["name"] for item in container["env"]]
    assert names == sorted(set(names))
    assert values(container)["LOG"] == log
    assert values(container)["NATS_SERVER"] == "mine"
    assert {port["name"]: port["containerPort"] for port in container["ports"]}["system"] == 9090
    assert [finding.reason_code for finding in report.findings] == ["render_system_port"]


def test_gpu_amounts_in_both_versions() -> None:
    report = reported(alpha({"W": service(resources={"limits": {"nvidia.com/gpu": "1"}})}), "1.5")
    assert report.result.unknown_fields == ("spec.services.W.resources.limits.nvidia.com/gpu",)
    assert [(finding.reason_code, finding.outcome) for finding in report.findings] == [("render_unknown_field", "fail")]
    intel = {"limits": {"gpu": "2", "gpuType": "gpu.intel.com/xe"}}
    fabric = {"limits": {"gpu": "1", "custom": {"vpc.amazonaws.com/efa": "8"}}}
    for release in ACTUAL:
        report = reported(alpha({"W": service(resources=intel), "X": service(resources=fabric)}), release)
        assert main(pod(report, "W"))["resources"]["limits"] == {"gpu.intel.com/xe": "2"}
        assert main(pod(report, "X"))["resources"]["limits"] == {"nvidia.com/gpu": "1", "vpc.amazonaws.com/efa": "8"}
    graph = beta([worker_component(gpus=None)])
    graph["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0]["resources"] = {"limits": {"gpu": 1}}
    assert [finding.reason_code for finding in reported(graph, "1.5").findings] == ["render_resource_invalid"]


@pytest.mark.parametrize("release", ACTUAL)
def test_the_least_number_of_a_multinode_clique_is_all_of_it(release: str) -> None:
    graph = alpha({"Worker": service(gpus="8", multinode={"nodeCount": 3})})
    (cliques,) = [item for item in reported(graph, release, "grove").result.objects if item["kind"] == "PodCliqueSet"]
    told = {
        clique["name"]: (clique["spec"]["replicas"], clique["spec"]["minAvailable"])
        for clique in cliques["spec"]["template"]["cliques"]
    }
    assert told == {"worker-ldr": (1, 1), "worker-wkr": (2, 2)}
