# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters of the preflight: their answers, and the words of their errors."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("ansible", reason="filters run inside Ansible")

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.filter import (
    dgd_references,
    image_registry,
    preflight_findings,
)
from ansible_collections.inference_ops.dynamo.tests.doubles.snapshots import snapshot_data

DGD = {
    "apiVersion": "nvidia.com/v1alpha1",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "agg"},
    "spec": {"services": {"W": {"envFromSecret": "hf-token-secret"}}},
}
POD = {
    "name": "w-0",
    "component": "W",
    "role": "main",
    "replica": 0,
    "pod": {"spec": {"serviceAccountName": "made", "containers": []}},
}


def call(module: ModuleType, *args: Any, **options: Any) -> Any:
    (apply,) = module.FilterModule().filters().values()
    return apply(*args, **options)


class Tagged(str):
    """Stands for ansible-core's tagged text."""


def test_references_of_one_object_or_many() -> None:
    assert call(dgd_references, DGD)["names"] == {"Secret": ["hf-token-secret"]}
    tagged = {**DGD, "spec": {"services": {"W": {"envFromSecret": Tagged("hf-token-secret")}}}}
    found = call(dgd_references, [tagged], pods=[POD])
    assert found["names"] == {"Secret": ["hf-token-secret"], "ServiceAccount": ["made"]}
    assert found["items"][0]["name"].__class__ is str


def test_the_preflight_takes_a_snapshot_or_its_file(tmp_path: Path) -> None:
    data = snapshot_data(api_versions=["nvidia.com/v1alpha1"])
    path = tmp_path / "snapshot.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    rendered = {"pods": [POD], "objects": [{"kind": "ServiceAccount", "metadata": {"name": "made"}}]}
    report = call(preflight_findings, data, [DGD], rendered=rendered)
    assert call(preflight_findings, str(path), [DGD], rendered=rendered) == report
    assert report["blockers"] == ["Secret/hf-token-secret does not exist in namespace ml."]
    assert report["stop"] is True
    known = {"check": "gpu_fit", "outcome": "unknown", "reason_code": "x", "subject": "s", "message": "m"}
    report = call(preflight_findings, data, [], findings=[known], unknown="fail")
    assert "m" in report["blockers"]


def test_registries() -> None:
    assert call(image_registry, Tagged("nvcr.io/x:1")) == "nvcr.io"
    assert call(image_registry, "nginx") == "docker.io"
    assert call(image_registry, Tagged("nginx")).__class__ is str


@pytest.mark.parametrize(
    ("module", "args", "text"),
    [
        (image_registry, ("Bad/Image",), "image_registry: Bad/Image is not an image's name"),
        (image_registry, (7,), "image_registry: expected an image's name, found int"),
        (dgd_references, ("text",), "dgd_references: expected an object or a list"),
        (dgd_references, ([], "text"), "dgd_references: pods: expected a list"),
        (dgd_references, ([], [{}]), "pods: pod: a pod demand needs a pod"),
        (preflight_findings, (7, []), "preflight_findings: expected a snapshot"),
        (preflight_findings, ("/nonexistent", []), "/nonexistent: there is no such file"),
        (preflight_findings, ({}, []), "not a snapshot of this collection"),
        (preflight_findings, (snapshot_data(), "text"), "preflight_findings: definitions: expected a list"),
        (preflight_findings, (snapshot_data(), [], ["x"]), "preflight_findings: rendered: expected a mapping"),
        (preflight_findings, (snapshot_data(), [], {}, [{"outcome": "odd"}]), "findings: outcome: must be one of"),
        (preflight_findings, (snapshot_data(), [], {}, [], "odd"), "preflight_findings: unknown: must be warn or fail"),
    ],
)
def test_each_error_has_its_words(module: ModuleType, args: tuple[Any, ...], text: str) -> None:
    with pytest.raises(AnsibleFilterError) as caught:
        call(module, *args)
    assert text in str(caught.value)
