# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What changes in the pods from one release of the operator to another."""

from __future__ import annotations

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import (
    RenderRequest,
    RenderResult,
    render,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.compare import (
    Change,
    compare,
    differences,
)
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import Graph, alpha, beta, service


def rendered(graph: Graph, release: str, pathway: str = "deployment") -> RenderResult:
    return render(RenderRequest(graph, release=release, pathway=pathway))  # type: ignore[arg-type]  # a literal by tests


def test_a_release_compared_with_itself_changes_nothing() -> None:
    comparison = compare(rendered(alpha(), "1.5"), rendered(alpha(), "1.5"))
    assert comparison.summary == ()
    assert comparison.to_result() == {
        "from": "1.5",
        "to": "1.5",
        "pods": [],
        "objects": [],
        "refused": [],
        "summary": [],
    }


def test_from_1_1_to_1_5() -> None:
    comparison = compare(rendered(alpha(), "1.1"), rendered(alpha(), "1.5"))
    lines = comparison.summary
    assert any(
        line.startswith("Worker: spec.containers[main].env[DYN_FORWARDPASS_METRIC_PORT]: added") for line in lines
    )
    assert any(line.startswith("Frontend: spec.containers[main].env[NATS_SERVER]: removed") for line in lines)
    worker = next(pod for pod in comparison.pods if pod.component == "Worker")
    assert (worker.before, worker.after) == (2, 2)
    assert all("worker-hash" not in line and "origin-version" not in line for line in lines)


def test_what_the_other_release_refuses_is_the_answer() -> None:
    graph = alpha({"W": service()})
    graph["spec"]["services"]["W"]["extraPodSpec"]["mainContainer"]["image"] = "a:latest"
    comparison = compare(rendered(graph, "1.1"), rendered(graph, "1.5"))
    assert comparison.pods == ()
    (line,) = comparison.summary
    assert line.startswith("1.5 refuses the DGD: spec.services[W].runtimeVersionOverride: ")
    assert comparison.to_result()["refused"][0]["rule"] == "runtime_version"


def test_nothing_is_compared_with_what_was_refused() -> None:
    comparison = compare(rendered(beta(), "1.1"), rendered(beta(), "1.5"))
    assert (comparison.pods, comparison.objects, comparison.summary) == ((), (), ())


def test_documented_values_against_a_release() -> None:
    comparison = compare(rendered(alpha(), "documented"), rendered(alpha(), "1.1"))
    lines = comparison.summary
    assert any("Frontend: spec.containers[main].livenessProbe.httpGet.path: /health -> /live" in line for line in lines)


def test_objects_that_only_one_release_makes() -> None:
    graph = alpha({"W": service(gpus="8", args=("--tensor-parallel-size", "16"), multinode={"nodeCount": 2})})
    comparison = compare(rendered(graph, "1.1", "lws"), rendered(graph, "1.5", "lws"))
    assert ("PodGroup", "demo-w-00000000-0", "missing") in comparison.objects


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, ["a: 1 -> 2"]),
        ({"a": 1}, {"a": True}, ["a: 1 -> true"]),
        ({"a.b/c": "x"}, {"a.b/c": "y"}, ["a.b/c: x -> y"]),
        ({"m": {"a.b": "x"}}, {"m": {}}, ["m[a.b]: removed x"]),
        ({"l": [1, 2]}, {"l": [1, 3]}, ["l: [1, 2] -> [1, 3]"]),
        ({"l": [{"name": "a", "v": 1}]}, {"l": [{"name": "b", "v": 1}, {"name": "a", "v": 2}]},
         ["l[a].v: 1 -> 2", 'l[b]: added {"name": "b", "v": 1}']),
        ({"l": [{"name": "a"}, {"name": "b"}]}, {"l": [{"name": "b"}, {"name": "a"}]},
         ['l (order): ["a", "b"] -> ["b", "a"]']),
        ({"l": [{"name": "a"}, {"name": "a"}]}, {"l": [{"name": "a"}]},
         ['l: [{"name": "a"}, {"name": "a"}] -> [{"name": "a"}]']),
        ({"l": [{"mountPath": "/a", "name": "v"}, {"mountPath": "/b", "name": "v"}]},
         {"l": [{"mountPath": "/a", "name": "v"}]},
         ['l[/b]: removed {"mountPath": "/b", "name": "v"}']),
    ],
)  # fmt: skip
def test_differences_are_found_where_they_are(before: object, after: object, lines: list[str]) -> None:
    assert [str(change) for change in differences(before, after)] == lines


def test_long_values_are_cut_around_their_difference() -> None:
    start = "word " * 60
    line = str(Change("args", "changed", start + "old tail", start + "new tail"))
    assert "old tail" in line
    assert "new tail" in line
    assert len(line) < 120
    whole = str(Change("args", "added", None, "x" * 500))
    assert whole.endswith("…")
    assert len(whole) < 150
