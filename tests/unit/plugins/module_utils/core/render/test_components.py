# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A DGD's components at a glance."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.components import components_of
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import (
    IMAGE,
    alpha,
    beta,
    service,
    worker_component,
)


def test_both_versions_give_the_same_view() -> None:
    old = alpha({"Worker": service(gpus="4", replicas=3, multinode={"nodeCount": 2})})
    new = beta([worker_component(gpus="4", replicas=3, multinode={"nodeCount": 2})])
    (view,) = components_of(old)
    assert components_of(new) == (view,)
    assert view.to_result() == {
        "name": "Worker",
        "type": "worker",
        "sub_type": "",
        "replicas": 3,
        "nodes": 2,
        "gpus": 4,
        "gpu_resource": "nvidia.com/gpu",
        "gpus_total": 24,
        "image": IMAGE,
    }


def test_defaults_and_other_gpu_names() -> None:
    graph = alpha(
        {
            "Bare": {},
            "Mig": {
                "extraPodSpec": {"mainContainer": {"resources": {"requests": {"nvidia.com/mig-1g.5gb": 2}}}},
                "multinode": {},
            },
            "Intel": {"resources": {"limits": {"gpu": "2", "gpuType": "gpu.intel.com/xe"}}},
        }
    )
    bare, mig, intel = components_of(graph)
    assert (bare.replicas, bare.nodes, bare.gpus, bare.gpu_resource, bare.image) == (1, 1, 0, "", "")
    assert (mig.nodes, mig.gpus, mig.gpu_resource) == (2, 2, "nvidia.com/mig-1g.5gb")
    assert (intel.gpus, intel.gpu_resource) == (2, "gpu.intel.com/xe")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"services": []}, "spec.services: a mapping is needed (found [])."),
        ({"services": {"W": 5}}, "spec.services[W]: a mapping is needed (found 5)."),
        ({"components": {}}, "spec.components: a list is needed (found {})."),
        (
            {"components": [{"podTemplate": {"spec": {"containers": 5}}}]},
            "podTemplate.spec.containers: a list is needed",
        ),
        ({"components": ["W"]}, "spec.components[0]: a mapping is needed (found 'W')."),
        ({"services": {"W": {"replicas": "2"}}}, "spec.services[W].replicas: a whole number is needed (found '2')."),
        ({"services": {"W": {"multinode": {"nodeCount": 1.5}}}}, "multinode.nodeCount: a whole number is needed"),
        (
            {"services": {"W": {"resources": {"limits": {"gpu": "two"}}}}},
            "resources.limits.gpu: not a resource quantity",
        ),
        (
            {"services": {"W": {"extraPodSpec": {"mainContainer": 1}}}},
            "extraPodSpec.mainContainer: a mapping is needed",
        ),
    ],
)
def test_what_cannot_be_read_is_named(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        components_of({"spec": spec}, "deploy.yaml")
    assert str(raised.value).startswith("deploy.yaml: spec.")
    assert message in str(raised.value)
