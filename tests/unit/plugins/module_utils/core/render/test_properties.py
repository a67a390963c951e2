# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for any DGD: the same answer twice, users' values win, both versions agree, and never a traceback."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("hypothesis", reason="properties are tried on inputs that hypothesis makes up")

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.manifest import choose_dgd, documents_of
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import (
    RELEASES,
    RenderRequest,
    RenderResult,
    render,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.crd import Field, types_of
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.shapes import Kind
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.rendering import RenderOptions, render_document
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import Graph, alpha, beta, service
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

PATHWAYS = ("deployment", "lws", "grove")
MANY = settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], database=None
)
FEW = settings(MANY, max_examples=15)

names = st.sampled_from(["Frontend", "Worker", "decode", "Prefill-1", "w"])
backends = st.sampled_from(["vllm", "sglang", "trtllm"])
flags = st.lists(
    st.sampled_from(
        [
            "--tensor-parallel-size 16",
            "--pipeline-parallel-size 2",
            "--data-parallel-size 16",
            "--enable-elastic-ep --data-parallel-backend ray",
            "--a 'b c'",
            '--kv {"a":"b c"}',
        ]
    ),
    max_size=2,
)
env_names = st.sampled_from(["ZED", "DYN_NAMESPACE", "POD_NAME", "NATS_SERVER", "DYN_SYSTEM_PORT", "HOME"])
env = st.dictionaries(env_names, st.text("abc$()", max_size=5), max_size=3).map(
    lambda items: [{"name": name, "value": value} if value else {"name": name} for name, value in items.items()]
)
probe = st.fixed_dictionaries(
    {"httpGet": st.fixed_dictionaries({"path": st.just("/x"), "port": st.integers(1, 99)})},
    optional={"periodSeconds": st.integers(1, 99), "failureThreshold": st.integers(1, 9)},
)
amounts = st.fixed_dictionaries({}, optional={"cpu": st.sampled_from(["1", "500m"]), "memory": st.just("1Gi")})


@st.composite
def parts(draw: st.DrawFn) -> dict[str, Any]:
    """A component that both API versions can say."""
    kind = draw(st.sampled_from(["worker", "prefill", "decode", "frontend", "planner"]))
    return {
        "kind": kind,
        "backend": draw(backends),
        "args": draw(flags),
        "gpus": draw(st.sampled_from([None, "1", "8"])),
        "nodes": draw(st.sampled_from([1, 1, 2, 3])) if kind in ("worker", "prefill", "decode") else 1,
        "replicas": draw(st.integers(0, 3)),
        "env": draw(env),
        "requests": draw(amounts),
        "liveness": draw(st.none() | probe),
        "shared": draw(st.sampled_from([None, "1Gi", "64Gi"])),
        "security": draw(st.sampled_from([None, {}, {"runAsUser": 5}])),
        "grace": draw(st.sampled_from([None, 5, 600])),
        "labels": draw(st.dictionaries(st.sampled_from(["team", "tier"]), st.just("x"), max_size=1)),
    }


graphs = st.dictionaries(names, parts(), min_size=1, max_size=3)


def main_of(part: Mapping[str, Any]) -> dict[str, Any]:
    main: dict[str, Any] = {"image": "registry.example/runtime:1.5.0", "env": copy.deepcopy(part["env"])}
    if part["kind"] in ("worker", "prefill", "decode"):
        words = [word for flag in part["args"] for word in flag.split()]
        main |= {"command": ["python3", "-m", f"dynamo.{part['backend']}"], "args": ["--model", "m", *words]}
    if part["liveness"]:
        main["livenessProbe"] = part["liveness"]
    resources = {key: value for key, value in (("requests", dict(part["requests"])),) if value}
    if part["gpus"]:
        resources["limits"] = {"nvidia.com/gpu": part["gpus"]}
    if resources:
        main["resources"] = resources
    return main


def pod_of(part: Mapping[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = {}
    if part["security"] is not None:
        pod["securityContext"] = part["security"]
    if part["grace"] is not None:
        pod["terminationGracePeriodSeconds"] = part["grace"]
    return pod


def as_alpha(made: Mapping[str, Any]) -> Graph:
    services: dict[str, Any] = {}
    for name, part in made.items():
        services[name] = {
            "componentType": part["kind"],
            "replicas": part["replicas"],
            "extraPodSpec": {**pod_of(part), "mainContainer": main_of(part)},
            "extraPodMetadata": {"labels": part["labels"]},
        }
        if part["nodes"] > 1:
            services[name]["multinode"] = {"nodeCount": part["nodes"]}
        if part["shared"]:
            services[name]["sharedMemory"] = {"size": part["shared"]}
    return alpha(services)


def as_beta(made: Mapping[str, Any]) -> Graph:
    components = []
    for name in sorted(made):
        part = made[name]
        component: dict[str, Any] = {
            "name": name,
            "type": part["kind"],
            "replicas": part["replicas"],
            "podTemplate": {
                "metadata": {"labels": part["labels"]},
                "spec": {**pod_of(part), "containers": [{**main_of(part), "name": "main"}]},
            },
        }
        if part["nodes"] > 1:
            component["multinode"] = {"nodeCount": part["nodes"]}
        if part["shared"]:
            component["sharedMemorySize"] = part["shared"]
        components.append(component)
    return beta(components)


def rendered(graph: Graph, release: str, pathway: str) -> RenderResult:
    return render(RenderRequest(graph, release=release, pathway=pathway))  # type: ignore[arg-type]  # drawn literals


@MANY
@given(made=graphs, release=st.sampled_from(RELEASES), pathway=st.sampled_from(PATHWAYS))
def test_the_same_input_gives_the_same_answer_and_stays_as_it_was(
    made: dict[str, Any], release: str, pathway: str
) -> None:
    graph = as_alpha(made)
    before = json.dumps(graph, sort_keys=True)
    first, second = rendered(graph, release, pathway), rendered(copy.deepcopy(graph), release, pathway)
    assert first == second
    assert json.dumps(first.objects) == json.dumps(second.objects), "the order is the same as well"
    assert json.dumps(graph, sort_keys=True) == before


@MANY
@given(made=graphs, pathway=st.sampled_from(PATHWAYS))
def test_both_versions_of_one_graph_give_the_same_pods(made: dict[str, Any], pathway: str) -> None:
    old, new = rendered(as_alpha(made), "1.5", pathway), rendered(as_beta(made), "1.5", pathway)
    assert [error.rule for error in old.errors] == [error.rule for error in new.errors]
    told = [{**pod.to_result(), "pod": pod.pod["spec"], "labels": pod.pod["metadata"]["labels"]} for pod in old.pods]
    assert told == [
        {**pod.to_result(), "pod": pod.pod["spec"], "labels": pod.pod["metadata"]["labels"]} for pod in new.pods
    ]


@MANY
@given(made=graphs, release=st.sampled_from(RELEASES), pathway=st.sampled_from(PATHWAYS))
def test_what_the_user_says_stands(made: dict[str, Any], release: str, pathway: str) -> None:
    for pod in rendered(as_alpha(made), release, pathway).pods:
        part = made[pod.component]
        spec = pod.pod["spec"]
        main = next(container for container in spec["containers"] if container["name"] == "main")
        values = {item["name"]: item for item in main["env"]}
        assert all(values[item["name"]] == item for item in part["env"])
        assert main["image"] == "registry.example/runtime:1.5.0"
        assert spec["securityContext"] == ({"fsGroup": 1000} if part["security"] is None else part["security"])
        if part["grace"]:
            assert spec["terminationGracePeriodSeconds"] == part["grace"]
        if part["liveness"] and pod.role != "worker":
            # Before 1.5 a number does not replace the default's port name: the two halves of Go's type are merged.
            fields = ("path", "port") if release == "1.5" else ("path",)
            assert all(main["livenessProbe"]["httpGet"][name] == part["liveness"]["httpGet"][name] for name in fields)
        assert part["labels"].items() <= pod.pod["metadata"]["labels"].items()
        (shared,) = [volume for volume in spec["volumes"] if volume["name"] == "shared-memory"]
        assert shared["emptyDir"]["sizeLimit"] == (part["shared"] or "8Gi")


@MANY
@given(made=graphs, release=st.sampled_from(RELEASES), pathway=st.sampled_from(PATHWAYS))
def test_every_pod_is_counted(made: dict[str, Any], release: str, pathway: str) -> None:
    result = rendered(as_alpha(made), release, pathway)
    if not result.errors:
        for name, part in made.items():
            assert sum(pod.component == name for pod in result.pods) == part["replicas"] * part["nodes"]
        assert len({pod.name for pod in result.pods}) == len(result.pods)


# --- never a traceback ----------------------------------------------------------------------------------------------

junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from(["", "0", "-1", "1e99", "x" * 300, "\x00", "«»", "$(A)", "{}", "1Gi", "main", "nvidia.com/gpu"]),
    st.text(max_size=8),
    st.just([]),
    st.just({}),
    st.lists(st.none() | st.integers() | st.text(max_size=3), max_size=2),
    st.dictionaries(st.text(max_size=3), st.none() | st.integers() | st.text(max_size=3), max_size=2),
)


@st.composite
def of_kind(draw: st.DrawFn, kind: Kind, types: Mapping[str, Mapping[str, Field]], depth: int) -> Any:
    """A value of a field's kind, seldom of another one."""
    if draw(st.integers(0, 29)) == 0:
        return draw(junk)
    if kind.form == "list":
        return [draw(one_of_kind(kind, types, depth)) for _unused in range(draw(st.integers(0, 2)))]
    if kind.form == "map":
        keys = draw(st.lists(st.sampled_from(["A", "main", "nvidia.com/gpu", "cpu", "team"]), max_size=2, unique=True))
        return {key: draw(one_of_kind(kind, types, depth)) for key in keys}
    return draw(one_of_kind(kind, types, depth))


@st.composite
def one_of_kind(draw: st.DrawFn, kind: Kind, types: Mapping[str, Mapping[str, Field]], depth: int) -> Any:
    if kind.is_struct:
        return draw(struct(kind.base, types, depth + 1)) if depth < 7 else {}
    scalars: dict[str, st.SearchStrategy[Any]] = {
        "s": st.sampled_from(["main", "worker", "vllm", "a", "/dev/shm", "", "1", "python3", "epp", "IntraPod"]),
        "i": st.integers(-1, 3),
        "n": st.floats(0, 1),
        "b": st.booleans(),
        "q": st.sampled_from(["1", "500m", "1Gi", 4, "0", "-1"]),
        "x": st.sampled_from([1, "http", "system"]),
        "any": junk,
    }
    return draw(scalars[kind.base])


@st.composite
def struct(draw: st.DrawFn, name: str, types: Mapping[str, Mapping[str, Field]], depth: int) -> dict[str, Any]:
    fields = types[name]
    chosen = draw(st.lists(st.sampled_from(sorted(fields) or ["none"]), max_size=6 if depth < 3 else 3, unique=True))
    made: dict[str, Any] = {}
    for key in chosen:
        if key in fields:
            field = fields[key]
            options = [of_kind(field.kind, types, depth)]
            made[key] = draw(st.sampled_from(field.enum)) if field.enum else draw(options[0])
    return made


@st.composite
def by_schema(draw: st.DrawFn) -> Graph:
    """A DGD made from the CRD's own fields."""
    version = draw(st.sampled_from(["v1alpha1", "v1beta1"]))
    types = types_of(version, "1.5")
    graph = alpha() if version == "v1alpha1" else beta()
    graph["spec"] |= draw(struct("DGDSpec", types, 2))
    items = graph["spec"].get("services" if version == "v1alpha1" else "components")
    extra = draw(struct("Service" if version == "v1alpha1" else "Component", types, 1))
    if isinstance(items, dict):
        items["Worker"] = {**service(), **extra}
    elif isinstance(items, list) and items and isinstance(items[-1], dict):
        items[-1] |= extra
    return graph


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    """A good DGD with something in it replaced by junk."""
    made = draw(graphs)
    graph = as_alpha(made) if draw(st.booleans()) else as_beta(made)
    for _unused in range(draw(st.integers(1, 3))):
        target: Any = graph
        for _step in range(draw(st.integers(0, 8))):
            children = list(target.values()) if isinstance(target, dict) else list(target)
            children = [child for child in children if isinstance(child, (dict, list)) and child]
            if not children:
                break
            target = draw(st.sampled_from(children))
        if isinstance(target, dict):
            key = draw(st.sampled_from(sorted(target, key=str)) | st.text(max_size=3))
            target[key] = draw(junk)
        elif target:
            target[draw(st.integers(0, len(target) - 1))] = draw(junk)
    return graph


def answered(graph: Any, release: str, pathway: str) -> None:
    """Render as the module does: an answer or one clear message, never anything else."""
    options = RenderOptions(release=release, pathway=pathway, explain=True, compare_to="1.5")
    try:
        report = render_document(choose_dgd(documents_of(graph)), options)
    except InputError as error:
        told = str(error)
    else:
        json.dumps(report.to_result())
        json.dumps(report.diff())
        told = report.refusal() if report.rejections else ""
        assert not (report.rejections and report.result.pods)
    assert "\n" not in told
    assert len(told) < 1500


@MANY
@given(graph=by_schema(), release=st.sampled_from(RELEASES), pathway=st.sampled_from(PATHWAYS))
def test_no_graph_of_the_schema_gives_a_traceback(graph: Graph, release: str, pathway: str) -> None:
    answered(graph, release, pathway)


@MANY
@given(graph=mutated(), release=st.sampled_from(RELEASES), pathway=st.sampled_from(PATHWAYS))
def test_no_mutation_gives_a_traceback(graph: Any, release: str, pathway: str) -> None:
    answered(graph, release, pathway)


@FEW
@given(graph=junk | st.lists(junk, max_size=3))
def test_no_junk_gives_a_traceback(graph: Any) -> None:
    answered(graph, "1.5", "auto")
