# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rendering filters: their answers, and the words of their errors."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("ansible", reason="filters run inside Ansible")

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.filter import (
    dgd_components,
    dgd_pods,
    dgd_release_diff,
)
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import alpha, service


def call(module: ModuleType, *args: Any, **options: Any) -> Any:
    (apply,) = module.FilterModule().filters().values()
    return apply(*args, **options)


class Tagged(str):
    """Stands for ansible-core's tagged text."""


def test_components() -> None:
    (frontend, worker) = call(dgd_components, alpha())
    assert (frontend["name"], worker["name"]) == ("Frontend", "Worker")
    assert worker["gpus_total"] == 2


def test_pods_take_tagged_values() -> None:
    graph = alpha()
    graph["metadata"]["name"] = Tagged("demo")
    pods = call(dgd_pods, graph, operator_release=Tagged("1.1"), pathway="deployment")
    assert [pod["component"] for pod in pods] == ["Frontend", "Worker", "Worker"]
    assert all(pod["name"].__class__ is str for pod in pods)


def test_pods_by_options() -> None:
    secret = {"name": "s", "registries": ["registry.example"]}
    (pod, *_unused) = call(
        dgd_pods, [alpha()], "demo", namespace="team-a", pull_secrets=[secret], operator_config={"nats_address": "n"}
    )
    assert pod["pod"]["spec"]["imagePullSecrets"] == [{"name": "s"}]


def test_release_diff() -> None:
    changes = call(dgd_release_diff, alpha(), "1.1", "1.5", pathway="grove")
    assert changes["from"] == "1.1"
    assert any("DYN_FORWARDPASS_METRIC_PORT" in line for line in changes["summary"])


@pytest.mark.parametrize(
    ("module", "args", "options", "message"),
    [
        (dgd_components, (5,), {}, "dgd_components: not a Kubernetes object: a mapping is needed (found 5)."),
        (dgd_components, ([alpha(), alpha()],), {}, "dgd_components: metadata.name: 2 objects of kind"),
        (
            dgd_components,
            (alpha({"W": service(gpus="x")}),),
            {},
            "dgd_components: spec.services[W].resources.limits.gpu",
        ),
        (dgd_components, ({"a": object()},), {}, "dgd_components: a value of a kind that has no plain form"),
        (dgd_pods, (alpha({}),), {}, "dgd_pods: release 1.5 refuses the DGD at validating-webhook: spec.components:"),
        (dgd_pods, (alpha(),), {"operator_release": 1.5}, "dgd_pods: operator_release: must be text (found 1.5)."),
        (dgd_pods, (alpha(),), {"operator_release": "2"}, "operator_release: unknown operator release (found 2)."),
        (dgd_pods, (alpha(),), {"pathway": "lsw"}, "dgd_pods: pathway: must be auto, deployment, lws or grove"),
        (dgd_pods, (alpha(),), {"operator_config": [1]}, "dgd_pods: operator_config: must be a mapping"),
        (dgd_pods, (alpha(),), {"pull_secrets": {}}, "dgd_pods: pull_secrets: must be a list"),
        (dgd_pods, (alpha(),), {"pull_secrets": [1]}, "dgd_pods: pull_secrets: a secret must be a mapping with a name"),
        (dgd_pods, (alpha(),), {"snapshot": {}}, "dgd_pods: snapshot: schema: not a snapshot of this collection"),
        (dgd_release_diff, (alpha(), "1.1", "9"), {}, "operator_release: unknown operator release (found 9)."),
        (dgd_release_diff, (alpha({}), "1.1", "1.5"), {}, "dgd_release_diff: release 1.1 refuses the DGD"),
    ],
)
def test_errors_say_what_is_wrong(module: ModuleType, args: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(AnsibleFilterError) as raised:
        call(module, *args, **options)
    assert message in str(raised.value)
