# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pod requests by the official rule, on inputs whose answer the Kubernetes helpers gave."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.podresources import (
    pod_requests,
    scoring_requests,
    sum_requests,
    whole_amounts,
    written,
)

GPU = "nvidia.com/gpu"
GI = 2**30


def container(name: str = "main", *, restart: str = "", limits: Any = None, **requests: Any) -> dict[str, Any]:
    asked = {key.replace("gpu", GPU): value for key, value in requests.items()}
    made: dict[str, Any] = {"name": name, "resources": {"requests": asked}}
    if limits:
        made["resources"]["limits"] = limits
    if restart:
        made["restartPolicy"] = restart
    return made


def pod(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = (), **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": list(containers), "initContainers": list(init), **spec}}


def test_native_sidecars_add_up() -> None:
    assert pod_requests(pod(container(gpu=8), init=(container("side", restart="Always", gpu=1),)))[GPU] == 9


def test_engine_in_a_sidecar_is_counted_where_main_has_no_gpu() -> None:
    engine = container("engine", restart="Always", gpu=1, **{"rdma/ib": 1})
    found = pod_requests(pod(container(cpu="1"), init=(engine,)))
    assert (found[GPU], found["rdma/ib"]) == (1, 1)


@pytest.mark.parametrize(
    ("init", "expected"),
    [
        ((container("a", restart="Always", gpu=1), container("b", gpu=4)), 5),  # a sidecar before adds to the peak
        ((container("b", gpu=4), container("a", restart="Always", gpu=1)), 4),  # one after does not
        ((container("a", gpu=3), container("b", gpu=2)), 3),  # ordinary ones do not add up
        ((container("a", gpu=1),), 2),  # the containers' sum is larger
    ],
)
def test_init_containers_set_a_minimum(init: tuple[dict[str, Any], ...], expected: int) -> None:
    assert pod_requests(pod(container(gpu=1), container("two", gpu=1), init=init))[GPU] == expected


def test_overhead_is_added() -> None:
    found = pod_requests(pod(container(cpu="8", memory="62Gi"), overhead={"cpu": "250m", "memory": "2Gi"}))
    assert found == {"cpu": 8250, "memory": 64 * GI}


def test_pod_level_replaces_cpu_and_memory_but_not_gpus() -> None:
    found = pod_requests(
        pod(container(cpu="1", gpu=1), resources={"requests": {"cpu": "4", "memory": "8Gi"}}, overhead={"cpu": "500m"})
    )
    assert found == {"cpu": 4500, "memory": 8 * GI, GPU: 1}


def test_pod_level_limits_alone_take_the_containers_requests_first() -> None:
    both = pod_requests(pod(container(cpu="1"), resources={"limits": {"cpu": "4", "memory": "2Gi"}}))
    none = pod_requests(pod(container(), resources={"limits": {"cpu": "4"}}))
    assert both == {"cpu": 1000, "memory": 2 * GI}
    assert none == {"cpu": 4000}


def test_container_huge_page_limits_become_the_pod_level_ones() -> None:
    found = pod_requests(
        pod(container(limits={"hugepages-2Mi": "4Mi"}), resources={"requests": {"cpu": "1"}, "limits": {"cpu": "1"}})
    )
    assert found == {"cpu": 1000, "hugepages-2Mi": 4 * 2**20}


def test_limits_without_requests_are_requests() -> None:
    assert pod_requests(pod(container(limits={GPU: "2", "cpu": "2"}, cpu="500m"))) == {"cpu": 500, GPU: 2}


def test_amounts_are_summed_exactly_and_rounded_once() -> None:
    assert pod_requests(pod(container(memory="300m"), container("b", memory="300m"))) == {"memory": 1}
    assert pod_requests(pod(container(cpu="0.0001"))) == {"cpu": 1}


def test_a_resize_under_way_holds_the_larger_request() -> None:
    small = pod(container(cpu="1"))
    small["status"] = {
        "containerStatuses": [
            {"name": "main", "allocatedResources": {"cpu": "3"}, "resources": {"requests": {"cpu": "2"}}}
        ]
    }
    assert pod_requests(small, bound=True) == {"cpu": 3000}
    assert pod_requests(small) == {"cpu": 1000}
    large = pod(container(cpu="6"))
    large["status"] = {**small["status"], "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]}
    assert pod_requests(large, bound=True) == {"cpu": 3000}


def test_pod_level_resize_counts_the_status() -> None:
    resized = pod(container(), resources={"requests": {"cpu": "1"}})
    resized["status"] = {"resources": {"requests": {"cpu": "2"}}}
    assert pod_requests(resized, bound=True) == {"cpu": 2000}


def test_scoring_takes_a_small_request_where_there_is_none() -> None:
    assert scoring_requests(pod(container(gpu=1), container("b", cpu="1"))) == (1100, 2 * 200 * 2**20)
    level = pod(container(), container("b"), resources={"requests": {"cpu": "1"}})
    assert scoring_requests(level) == (1000, 2 * 200 * 2**20)


def test_bad_quantities_name_the_resource() -> None:
    with pytest.raises(InputError, match=r"nvidia\.com/gpu"):
        pod_requests(pod(container(gpu="two")))
    with pytest.raises(InputError, match="cpu"):
        pod_requests(pod(container(cpu=True)))


def test_sums_and_allocatable() -> None:
    assert sum_requests([pod(container(gpu=1)), pod(container(gpu=2, cpu="1"))]) == {GPU: 3, "cpu": 1000}
    assert whole_amounts({"cpu": "1500m", "memory": "1Ki", "pods": 110}) == {"cpu": 1500, "memory": 1024, "pods": 110}
    assert whole_amounts(None) == {}


@pytest.mark.parametrize(
    ("resource", "value", "expected"),
    [("cpu", 1500, "1500m"), ("cpu", 4000, "4"), ("memory", 16 * GI, "16Gi"), ("memory", 1000, "1k"), (GPU, 8, "8")],
)
def test_amounts_are_written_as_quantities(resource: str, value: int, expected: str) -> None:
    assert written(resource, value) == expected
