# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why is this value here: every injected value names its rule, a user's value names none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import Origin, RenderResult
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.rules import RULES
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import alpha, service
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.seen import HASH, accepted, pod

WORKER = f"Deployment/demo-worker-{HASH}"
SPEC = ".spec.template.spec"


def explained(graph: Mapping[str, Any], release: str = "1.5", pathway: str = "deployment") -> RenderResult:
    return accepted(graph, release, pathway, explain=True)


def why(result: RenderResult, path: str, name: str = WORKER) -> Origin | None:
    found = [origin for origin in result.explanation if origin.object == name and origin.path == path]
    assert len(found) < 2
    return found[0] if found else None


def test_nothing_is_noted_unless_asked() -> None:
    assert accepted(alpha()).explanation == ()


@pytest.mark.parametrize("release", ["documented", "1.1", "1.5", "main"])
def test_noting_changes_no_object(release: str) -> None:
    for pathway in ("deployment", "grove"):
        graph = alpha(annotations={"nvidia.com/dynamo-kube-discovery-mode": "container"})
        assert explained(graph, release, pathway).objects == accepted(graph, release, pathway).objects


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        (".containers[main].livenessProbe", "3-worker-probes"),
        (".containers[main].ports", "3-worker-ports"),
        (".containers[main].env[DYN_NAMESPACE]", "4.1-common"),
        (".containers[main].env[DYN_SYSTEM_PORT]", "4.1-worker"),
        (".containers[main].env[DYN_NAMESPACE_WORKER_SUFFIX]", "4.1-worker-suffix"),
        (".containers[main].volumeMounts[shared-memory]", "5-shared-memory"),
        (".volumes[shared-memory]", "5-shared-memory"),
        (".securityContext", "5-fs-group"),
        (".serviceAccountName", "8-discovery-account"),
        (".terminationGracePeriodSeconds", "3-pod"),
    ],
)
def test_injected_values_name_their_rule(path: str, rule: str) -> None:
    origin = why(explained(alpha()), SPEC + path)
    assert origin is not None
    assert (origin.rule, origin.release) == (rule, "1.5")
    assert origin.source
    assert origin.why


def test_the_source_is_the_document_for_the_documented_release() -> None:
    origin = why(explained(alpha(), "documented"), f"{SPEC}.containers[main].livenessProbe")
    assert origin is not None
    assert origin.source == "operator-defaults, section Health Probes by Component Type"


def test_a_users_values_name_none() -> None:
    made = service(envs=[{"name": "DYN_NAMESPACE", "value": "mine"}])
    made["extraPodSpec"] |= {"securityContext": {}, "serviceAccountName": "mine"}
    made["extraPodSpec"]["mainContainer"]["startupProbe"] = {"failureThreshold": 1}
    result = explained(alpha({"Worker": made}), "1.1")
    for path in (
        ".containers[main].env[DYN_NAMESPACE]",
        ".containers[main].startupProbe",
        ".containers[main].image",
        ".containers[main].args",
        ".securityContext",
        ".serviceAccountName",
    ):
        assert why(result, SPEC + path) is None


def test_of_a_merged_probe_only_the_default_parts_are_named() -> None:
    made = service()
    made["extraPodSpec"]["mainContainer"]["livenessProbe"] = {"periodSeconds": 99}
    result = explained(alpha({"Worker": made}), "1.1")
    probe = f"{SPEC}.containers[main].livenessProbe"
    assert why(result, probe) is None
    assert why(result, f"{probe}.periodSeconds") is None
    timeout = why(result, f"{probe}.timeoutSeconds")
    assert timeout is not None
    assert timeout.value == 4


def test_a_renamed_main_container_is_followed() -> None:
    made = service()
    made["extraPodSpec"]["mainContainer"]["name"] = "custom"
    assert why(explained(alpha({"Worker": made}), "1.1"), f"{SPEC}.containers[custom].livenessProbe") is not None


def test_engines_are_followed() -> None:
    made = service(gpuMemoryService={"enabled": True}, failover={"enabled": True})
    graph = alpha({"Worker": made}, annotations={"nvidia.com/dynamo-kube-discovery-mode": "container"})
    origin = why(explained(graph), f"{SPEC}.containers[engine-1].env[ENGINE_ID]")
    assert origin is not None
    assert origin.rule == "10.4-failover"
    assert why(explained(graph), f"{SPEC}.containers[engine-0].env[POD_NAME]") is not None


@pytest.mark.parametrize("release", ["1.1", "1.5"])
def test_a_rewritten_command_line_names_the_backends_rule(release: str) -> None:
    made = service(gpus="8", args=("--tensor-parallel-size", "16"), multinode={"nodeCount": 2})
    result = explained(alpha({"Worker": made}), release, "grove")
    clique = ".spec.template.cliques[worker-wkr].spec.podSpec"
    for path, rule in (
        (".containers[main].args", "7.1-mp"),
        (".containers[main].env[VLLM_NIXL_SIDE_CHANNEL_HOST]", "7.1-side-channel"),
        (".initContainers[wait-for-leader-mp]", "7.1-wait-for-leader"),
    ):
        origin = why(result, clique + path, "PodCliqueSet/demo")
        assert origin is not None
        assert origin.rule == rule


def test_labels_and_whole_objects_are_named() -> None:
    result = explained(alpha({"Worker": service(extraPodMetadata={"labels": {"mine": "x"}})}))
    assert why(result, ".spec.template.metadata.labels[nvidia.com/selector]") is not None
    assert why(result, ".spec.template.metadata.labels[mine]") is None
    role = why(result, "", "Role/demo-k8s-service-discovery-role")
    assert role is not None
    assert role.rule == "8-discovery-rbac"


def test_every_environment_variable_that_nobody_wrote_is_named() -> None:
    for release in ("documented", "1.1", "1.5"):
        result = explained(alpha(), release)
        for item in pod(result, "Worker")["containers"][0]["env"]:
            assert why(result, f"{SPEC}.containers[main].env[{item['name']}]") is not None


def test_rules_have_one_id_each_and_a_source() -> None:
    assert all(rule.id == key and rule.why and rule.operator for key, rule in RULES.items())
    assert why(explained(alpha()), "") is not None
    result = explained(alpha()).explanation[0].to_result()
    assert set(result) == {"object", "path", "release", "rule", "source", "why", "value"}
