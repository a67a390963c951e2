# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about what the operator does without a word, and what later changes of it are known to do."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.quirks import REASONS
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import (
    IMAGE,
    alpha,
    beta,
    service,
    worker_component,
)
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.seen import (
    HASH,
    accepted,
    container,
    find,
    names,
    pod,
)


def codes(graph: dict[str, Any], release: str = "1.5", pathway: str = "deployment") -> set[tuple[str, str]]:
    return {(item.reason_code, item.outcome) for item in accepted(graph, release, pathway).findings}


def test_a_plain_graph_has_no_findings() -> None:
    for release in ("1.1", "1.5", "documented", "main"):
        assert codes(alpha(), release) == set()


def test_a_dropped_amount_fails() -> None:
    graph = alpha({"Worker": service(gpus="two")})
    assert codes(graph) == {("render_quantity_dropped", "fail")}


@pytest.mark.parametrize("args", [("--tensor-parallel-size=16",), ("-tp", "16")])
def test_unread_flags(args: tuple[str, ...]) -> None:
    graph = alpha({"Worker": service(gpus="8", args=args, multinode={"nodeCount": 2})})
    for release in ("1.1", "1.5"):
        assert ("render_parallel_flag_unseen", "warn") in codes(graph, release, "grove")
    assert codes(alpha({"Worker": service(gpus="8", args=args)})) == set()


def test_single_quotes_for_mpirun() -> None:
    made = service(gpus="8", backend="trtllm", args=("--override", "{'a': 1}"), multinode={"nodeCount": 2})
    assert codes(alpha({"Worker": made}), "1.5", "grove") == {("render_quote_breaks", "warn")}


def test_a_variable_twice() -> None:
    made = service(
        gpus="8",
        args=("--tensor-parallel-size", "16"),
        multinode={"nodeCount": 2},
        envs=[{"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "value": "mine"}],
    )
    assert codes(alpha({"Worker": made}), "1.1", "grove") == {("render_variable_twice", "warn")}


@pytest.mark.parametrize("release", ["1.1", "1.5"])
def test_names_that_differ_in_case_only(release: str) -> None:
    """One object comes out: the first one's labels, the last one's spec; Grove keeps both cliques."""
    graph = alpha({"Worker": service(args=("--one",)), "worker": service(args=("--two",))})
    result = accepted(graph, release)
    assert ("render_names_collide", "fail") in {(item.reason_code, item.outcome) for item in result.findings}
    assert names(result, "Deployment") == names(result, "Service") == [f"demo-worker-{HASH}"]
    made = find(result, "Deployment", f"demo-worker-{HASH}")
    assert made["metadata"]["labels"]["nvidia.com/dynamo-component"] == "Worker"
    assert container(result, "Worker")["args"][-1] == "--two"
    grove = accepted(graph, release, "grove")
    cliques = find(grove, "PodCliqueSet", "demo")["spec"]["template"]["cliques"]
    assert [item["name"] for item in cliques] == ["worker", "worker"]
    assert names(grove, "Service") == ["demo-worker"]


def test_a_component_without_type() -> None:
    graph = alpha({"Router": {"extraPodSpec": {"mainContainer": {"image": IMAGE}}}})
    for release in ("1.1", "1.5"):
        assert codes(graph, release) == {("render_service_without_pods", "warn")}


def test_a_sidecar_before_main() -> None:
    made = service(gpus="8", args=("--tensor-parallel-size", "16"), multinode={"nodeCount": 2})
    made["extraPodSpec"]["containers"] = [{"name": "side", "image": "x"}]
    graph = alpha({"Worker": made})
    assert codes(graph, "1.1", "grove") == {("render_sidecar_first", "warn")}
    assert codes(graph, "1.5", "grove") == set()
    waiting = pod(accepted(graph, "1.1", "grove"), "Worker", "worker")["initContainers"][0]
    assert waiting["image"] == "x"


def test_every_reason_is_told_apart() -> None:
    assert len({reason.code for reason in REASONS}) == len(REASONS)


@pytest.mark.parametrize(
    ("image", "override", "threshold"),
    [
        ("registry.example/vllm-runtime:1.4.2", "", 1),
        ("registry.example/vllm-runtime:1.5.0", "", 3),
        ("registry.example/vllm-runtime:1.10.0", "", 3),
        ("registry.example/vllm:custom", "1.4.2", 1),
        ("registry.example/vllm:custom", "1.5.0", 3),
    ],
)
def test_a01_liveness_depends_on_the_runtime_on_the_main_branch(image: str, override: str, threshold: int) -> None:
    component = worker_component()
    if override:
        component["runtimeVersionOverride"] = override
    component["podTemplate"]["spec"]["containers"][0]["image"] = image
    later = container(accepted(beta([component]), "main"), "Worker")["livenessProbe"]
    assert later == {
        "httpGet": {"path": "/live", "port": "system"},
        "periodSeconds": 5,
        "timeoutSeconds": 4,
        "failureThreshold": threshold,
    }
    assert container(accepted(beta([component]), "1.5"), "Worker")["livenessProbe"]["failureThreshold"] == 1


def test_a01_a_users_probe_wins() -> None:
    component = worker_component()
    probe = {"httpGet": {"path": "/live", "port": "system"}, "failureThreshold": 10}
    component["podTemplate"]["spec"]["containers"][0]["livenessProbe"] = probe
    assert container(accepted(beta([component]), "main"), "Worker")["livenessProbe"] == probe


def test_a11_init_images_count_on_the_main_branch() -> None:
    component = worker_component()
    component["podTemplate"]["spec"]["initContainers"] = [{"name": "init", "image": "init.example/x"}]
    secrets = {"registry.example": ["reg"], "init.example": ["ini"]}

    def lookup(image: str) -> list[str]:
        return secrets[image.split("/")[0]]

    seen = {
        release: [
            item["name"]
            for item in pod(accepted(beta([component]), release, pull_secrets=lookup), "Worker")["imagePullSecrets"]
        ]
        for release in ("1.5", "main")
    }
    assert seen == {"1.5": ["reg"], "main": ["reg", "ini"]}
