# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator's merge: what a user's zero, list, map and struct do to a default (rules 2.3, 2.4, 2.5)."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.merge import merge, merge_env
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.shapes import normalise, plain

LIVE = {"httpGet": {"path": "/live", "port": "system"}, "periodSeconds": 5, "timeoutSeconds": 4, "failureThreshold": 1}


@pytest.mark.parametrize(
    ("struct", "base", "user", "merged"),
    [
        pytest.param(
            "PodSpec", {"hostNetwork": True}, {"hostNetwork": False}, {"hostNetwork": True}, id="false never overrides"
        ),
        pytest.param(
            "PodSpec",
            {"terminationGracePeriodSeconds": 60},
            {"terminationGracePeriodSeconds": 0},
            {"terminationGracePeriodSeconds": 60},
            id="a pointed zero does not override a value",
        ),
        pytest.param(
            "PodSpec",
            {},
            {"terminationGracePeriodSeconds": 0},
            {"terminationGracePeriodSeconds": 0},
            id="a pointed zero stands where there was nothing",
        ),
        pytest.param("PodSpec", {}, {"securityContext": {}}, {"securityContext": {}}, id="an empty struct stays"),
        pytest.param(
            "PodSpec",
            {"nodeSelector": {"a": "1", "b": "1"}},
            {"nodeSelector": {"b": "2"}},
            {"nodeSelector": {"a": "1", "b": "2"}},
            id="maps are united",
        ),
        pytest.param(
            "Container",
            {"ports": [{"name": "system", "containerPort": 9090}]},
            {"ports": [{"name": "x", "containerPort": 1}]},
            {"ports": [{"name": "x", "containerPort": 1}]},
            id="a list replaces a list",
        ),
        pytest.param("Container", {"args": ["a"]}, {"args": []}, {"args": ["a"]}, id="an empty list is ignored"),
        pytest.param(
            "Container",
            {"livenessProbe": LIVE},
            {"livenessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 7}},
            {"livenessProbe": {**LIVE, "exec": {"command": ["true"]}, "periodSeconds": 7}},
            id="a probe of another kind ends with two handlers",
        ),
        pytest.param(
            "Container",
            {"livenessProbe": LIVE},
            {"livenessProbe": {"httpGet": {"path": "/x", "port": 8000}}},
            {"livenessProbe": {**LIVE, "httpGet": {"path": "/x", "port": "system"}}},
            id="a port number never replaces a port name",
        ),
        pytest.param(
            "Container",
            {"livenessProbe": {"httpGet": {"path": "/x", "port": 1}}},
            {"livenessProbe": {"httpGet": {"port": "named"}}},
            {"livenessProbe": {"httpGet": {"path": "/x", "port": "named"}}},
            id="a port name replaces a number",
        ),
    ],
)
def test_merge(struct: str, base: dict[str, Any], user: dict[str, Any], merged: dict[str, Any]) -> None:
    before = plain(user)
    assert merge(plain(base), user, struct) == merged
    assert user == before


def test_merged_values_are_copies() -> None:
    user = {"nodeSelector": {"a": "1"}, "tolerations": [{"key": "k"}]}
    merged = merge({}, user, "PodSpec")
    merged["tolerations"][0]["key"] = "other"
    merged["nodeSelector"]["a"] = "2"
    assert user == {"nodeSelector": {"a": "1"}, "tolerations": [{"key": "k"}]}


def test_variables_are_sorted_by_bytes_and_the_later_entry_stands_whole() -> None:
    base = [{"name": "DYN_B", "value": "1"}, {"name": "DYNAMO_PORT", "value": "8000"}]
    user: list[dict[str, Any]] = [
        {"name": "DYN_B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "a", "value": "1"},
        {"name": "A", "value": "1"},
        {"name": "A", "value": "2"},
    ]
    merged = merge_env(base, user)
    assert [item["name"] for item in merged] == ["A", "DYNAMO_PORT", "DYN_B", "a"]
    assert merged[0]["value"] == "2"
    assert "value" not in merged[2]


@pytest.mark.parametrize(
    ("struct", "value", "printed"),
    [
        ("Container", {"name": "", "args": [], "tty": False, "resources": {}}, {"name": ""}),
        (
            "Resources",
            {"limits": {"cpu": "1000m", "memory": "1024Mi", "x/y": 2}},
            {"limits": {"cpu": "1", "memory": "1Gi", "x/y": "2"}},
        ),
        ("PodSpec", {"securityContext": None, "hostPID": False}, {}),
        ("PodSpec", {"automountServiceAccountToken": False}, {"automountServiceAccountToken": False}),
        ("EnvVar", {"name": "A", "value": ""}, {"name": "A"}),
        ("EmptyDir", {"sizeLimit": "0.5"}, {"sizeLimit": "500m"}),
    ],
)
def test_values_are_printed_as_go_prints_them(struct: str, value: dict[str, Any], printed: dict[str, Any]) -> None:
    assert normalise(value, struct) == printed
