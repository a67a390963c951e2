# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""v1alpha1 to v1beta1 as 1.5 converts it, and what it keeps beside (rules 12)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.convert import (
    alpha_only,
    component_alpha_only,
    component_text,
    component_to_v1beta1,
    convert,
    to_v1beta1,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.gojson import go_json
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import IMAGE, alpha, beta, service

MAIN = {"image": IMAGE}


def made(**more: Any) -> dict[str, Any]:
    return component_to_v1beta1("W", {"componentType": "worker", "extraPodSpec": {"mainContainer": dict(MAIN)}, **more})


def main_of(component: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = component["podTemplate"]["spec"]["containers"][0]
    return found


@pytest.mark.parametrize(
    ("service_", "field", "expected"),
    [
        ({"subComponentType": "decode"}, "type", "decode"),
        ({"subComponentType": "router"}, "type", "worker"),
        ({"sharedMemory": {"disabled": True, "size": "0"}}, "sharedMemorySize", "0"),
        ({"sharedMemory": {"size": "1024Mi"}}, "sharedMemorySize", "1Gi"),
        ({"sharedMemory": {"size": "0"}}, "sharedMemorySize", None),
        ({"scalingAdapter": {"enabled": True}}, "scalingAdapter", {}),
        ({"scalingAdapter": {}}, "scalingAdapter", None),
        ({"frontendSidecar": {"image": "x"}}, "frontendSidecar", "sidecar-frontend"),
        ({"topologyConstraint": {"packDomain": "rack"}}, "topologyConstraint", {"packDomain": "rack"}),
        (
            {"volumeMounts": [{"name": "c", "useAsCompilationCache": True}, {"name": "d", "mountPoint": "/d"}]},
            "compilationCache",
            {"pvcName": "c"},
        ),
        (
            {"gpuMemoryService": {"enabled": True, "mode": "interPod"}, "failover": {"enabled": False}},
            "experimental",
            {"gpuMemoryService": {"mode": "InterPod"}},
        ),
        (
            {"checkpoint": {"checkpointRef": "x"}},
            "experimental",
            {"checkpoint": {"enabled": False, "checkpointRef": "x"}},
        ),
        ({"extraPodMetadata": {"labels": {"a": "b"}}}, "podTemplate.metadata", {"labels": {"a": "b"}}),
    ],
)
def test_fields(service_: dict[str, Any], field: str, expected: Any) -> None:
    found: Any = made(**service_)
    for step in field.split("."):
        found = found.get(step) if found is not None else None
    assert found == expected


class TestMainContainer:
    def test_variables_are_joined_in_order_and_main_wins(self) -> None:
        main = {**MAIN, "env": [{"name": "B", "value": "main"}, {"name": "A", "value": "main"}]}
        component = component_to_v1beta1(
            "W",
            {
                "envs": [{"name": "Z", "value": "own"}, {"name": "B", "value": "own"}],
                "extraPodSpec": {"mainContainer": main},
            },
        )
        assert [(item["name"], item["value"]) for item in main_of(component)["env"]] == [
            ("Z", "own"),
            ("B", "main"),
            ("A", "main"),
        ]

    def test_probes_are_merged(self) -> None:
        main = {**MAIN, "livenessProbe": {"exec": {"command": ["x"]}}}
        own = {"httpGet": {"path": "/p", "port": 1}, "periodSeconds": 3}
        component = component_to_v1beta1("W", {"livenessProbe": own, "extraPodSpec": {"mainContainer": main}})
        assert main_of(component)["livenessProbe"] == {**own, "exec": {"command": ["x"]}}

    def test_mounts_are_added_and_the_name_goes(self) -> None:
        main = {**MAIN, "name": "custom", "volumeMounts": [{"name": "m", "mountPath": "/m"}]}
        component = component_to_v1beta1(
            "W", {"volumeMounts": [{"name": "d", "mountPoint": "/d"}], "extraPodSpec": {"mainContainer": main}}
        )
        assert main_of(component)["name"] == "main"
        assert [mount["name"] for mount in main_of(component)["volumeMounts"]] == ["m", "d"]

    def test_resources_of_main_win(self) -> None:
        main = {**MAIN, "resources": {"limits": {"cpu": "9"}}}
        component = component_to_v1beta1(
            "W", {"resources": {"limits": {"cpu": "4", "gpu": "1"}}, "extraPodSpec": {"mainContainer": main}}
        )
        assert main_of(component)["resources"] == {"limits": {"cpu": "9", "nvidia.com/gpu": "1"}}

    def test_a_sidecar_called_main_is_dropped(self) -> None:
        extra = {"mainContainer": dict(MAIN), "containers": [{"name": "main", "image": "x"}, {"name": "s"}]}
        names = [
            item["name"]
            for item in component_to_v1beta1("W", {"extraPodSpec": extra})["podTemplate"]["spec"]["containers"]
        ]
        assert names == ["main", "s"]

    def test_nothing_makes_no_template(self) -> None:
        assert component_to_v1beta1("W", {"componentType": "worker", "replicas": 1}) == {
            "name": "W",
            "type": "worker",
            "replicas": 1,
        }


class TestGraph:
    def test_components_come_in_name_order(self) -> None:
        graph = to_v1beta1(alpha({"b": service(), "A": service(), "a": service()}))
        assert graph["apiVersion"] == "nvidia.com/v1beta1"
        assert [component["name"] for component in graph["spec"]["components"]] == ["A", "a", "b"]

    def test_graph_fields(self) -> None:
        graph = to_v1beta1(
            alpha(
                {"W": service()},
                envs=[{"name": "A", "value": "1"}],
                topologyConstraint={"topologyProfile": "t", "packDomain": "zone"},
                backendFramework="vllm",
            )
        )
        assert graph["spec"]["env"] == [{"name": "A", "value": "1"}]
        assert graph["spec"]["topologyConstraint"] == {"clusterTopologyName": "t", "packDomain": "zone"}

    def test_v1beta1_stays(self) -> None:
        graph = beta()
        converted = convert(graph)
        assert converted.definition == graph
        assert not converted.alpha

    def test_claims_are_kept(self) -> None:
        converted = convert(alpha({"W": service()}, pvcs=[{"name": "c", "create": False}]))
        text = converted.definition["metadata"]["annotations"]["nvidia.com/dgd-spec"]
        assert json.loads(text)["spec"]["pvcs"] == [{"create": False, "name": "c", "size": "0"}]
        assert [claim["name"] for claim in converted.claims] == ["c"]


class TestKept:
    @pytest.mark.parametrize(
        ("service_", "kept"),
        [
            ({"extraPodSpec": {"mainContainer": dict(MAIN)}}, {}),
            (
                {"resources": {"limits": {"gpu": "1"}}, "extraPodSpec": {"mainContainer": dict(MAIN)}},
                {
                    "resources": {"limits": {"gpu": "1"}},
                    "extraPodSpec": {"mainContainer": {"name": "", "resources": {}}},
                },
            ),
            ({"resources": {"limits": {"gpu": "1"}}}, {}),
            ({"resources": {"limits": {"cpu": "1000m"}}}, {"resources": {"limits": {"cpu": "1000m"}}}),
            (
                {"extraPodSpec": {"mainContainer": {**MAIN, "name": "custom"}}},
                {"extraPodSpec": {"mainContainer": {"name": "custom", "resources": {}}}},
            ),
            ({"annotations": {"a": "b"}, "labels": {}}, {"annotations": {"a": "b"}}),
            ({"scalingAdapter": {}}, {"scalingAdapter": {}}),
            ({"scalingAdapter": {"enabled": True}}, {}),
            ({"componentType": "worker", "subComponentType": "decode"}, {}),
            ({"componentType": "frontend", "subComponentType": "decode"}, {"subComponentType": "decode"}),
            ({"sharedMemory": {"disabled": True, "size": "0"}}, {}),
            ({"ingress": {"enabled": True, "host": "h"}}, {"ingress": {"enabled": True, "host": "h"}}),
        ],
    )
    def test_what_v1beta1_cannot_say(self, service_: dict[str, Any], kept: dict[str, Any]) -> None:
        assert alpha_only(service_) == kept

    def test_text_has_the_operators_field_order(self) -> None:
        kept = alpha_only(
            {
                "envFromSecret": "s",
                "resources": {"limits": {"gpu": "1"}, "requests": {"custom": {"x": "1"}, "cpu": "1"}},
                "extraPodSpec": {"mainContainer": {**MAIN, "envFrom": [{"configMapRef": {"name": "cm"}}]}},
            }
        )
        assert component_text(kept) == (
            '{"version":1,"spec":{"resources":{"requests":{"cpu":"1","custom":{"x":"1"}},"limits":{"gpu":"1"}},'
            '"envFromSecret":"s","extraPodSpec":{"mainContainer":{"name":"","envFrom":[{"configMapRef":{"name":"cm"}}],'
            '"resources":{}}}},"rawJSON":[{"path":"serviceName","nil":true}]}'
        )

    def test_a_component_that_came_as_v1beta1_leaves_the_same_behind(self) -> None:
        component = to_v1beta1(alpha({"W": service()}))["spec"]["components"][0]
        assert component_alpha_only(component) == alpha_only(service())


def test_go_escapes_what_html_minds() -> None:
    assert go_json({"b": "<a & b>", "a": [1, None, True, "é"]}) == (
        '{"b":"\\u003ca \\u0026 b\\u003e","a":[1,null,true,"é"]}'
    )
