# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pods of a DGD: how many, which part each plays, and which must be placed together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.demand import Gang, PodDemand
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.podresources import pod_requests
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import (
    ClusterFacts,
    RenderRequest,
    helm_config,
    render,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.demands import pod_demands
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import (
    Graph,
    alpha,
    beta,
    service,
    worker_component,
)

TOPOLOGIES = {"cluster": (("zone", "node/zone"), ("rack", "node/rack"), ("host", "node/host"))}
TP16 = ("--tensor-parallel-size", "16")


def pods_of(graph: Graph, release: str, pathway: str, topologies: Any = None) -> tuple[PodDemand, ...]:
    config = replace(helm_config(release), grove=pathway == "grove", lws=pathway == "lws")
    request = RenderRequest(graph, release=release, config=config, facts=ClusterFacts(topologies=topologies))
    result = render(request)
    assert result.errors == ()
    return result.pods


def many() -> Graph:
    return alpha(
        {
            "Frontend": service("frontend", gpus=None),
            "Decode": service("decode", gpus="8", args=TP16, replicas=2, multinode={"nodeCount": 2}),
            "Prefill": service("prefill", replicas=3),
        }
    )


def counted(pods: tuple[PodDemand, ...]) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for pod in pods:
        counts[pod.component, pod.role] = counts.get((pod.component, pod.role), 0) + 1
    return counts


@pytest.mark.parametrize("release", ["1.1", "1.5"])
@pytest.mark.parametrize("pathway", ["lws", "grove"])
def test_every_replica_leader_and_worker_is_counted(release: str, pathway: str) -> None:
    pods = pods_of(many(), release, pathway)
    assert counted(pods) == {
        ("Decode", "leader"): 2,
        ("Decode", "worker"): 2,
        ("Frontend", "main"): 1,
        ("Prefill", "main"): 3,
    }
    assert len({pod.name for pod in pods}) == len(pods)
    assert sum(pod_requests(pod.pod).get("nvidia.com/gpu", 0) for pod in pods) == 4 * 8 + 3
    assert {pod.pod["metadata"]["namespace"] for pod in pods} == {"team-a"}
    assert {pod.pod["kind"] for pod in pods} == {"Pod"}
    assert [pod.replica for pod in pods if pod.component == "Prefill"] == [0, 1, 2]
    assert all(pod.unknown == () for pod in pods)


def test_a_graph_on_one_node_needs_no_gangs_on_deployments() -> None:
    pods = pods_of(alpha(), "1.1", "deployment")
    assert [(pod.component, pod.role, pod.gangs) for pod in pods] == [
        ("Frontend", "main", ()),
        ("Worker", "main", ()),
        ("Worker", "main", ()),
    ]


def test_no_replicas_no_pods() -> None:
    assert counted(pods_of(alpha({"W": service(replicas=0)}), "1.5", "deployment")) == {}
    assert counted(pods_of(alpha({"W": service(replicas=0)}), "1.5", "grove")) == {}


@pytest.mark.parametrize(("release", "second"), [("1.1", "-1-0"), ("1.5", "-0-1")])
def test_a_leader_worker_group_is_a_gang(release: str, second: str) -> None:
    decode = [pod for pod in pods_of(many(), release, "lws") if pod.component == "Decode"]
    names = [pod.name for pod in decode]
    assert [pod.role for pod in decode] == ["leader", "worker", "leader", "worker"]
    assert names[2].endswith(second)
    assert names[1] == names[0] + "-1"
    assert [pod.gangs for pod in decode] == [(Gang(names[0], 2),)] * 2 + [(Gang(names[2], 2),)] * 2
    labels = decode[1].pod["metadata"]["labels"]
    assert labels["leaderworkerset.sigs.k8s.io/worker-index"] == "1"
    assert names[0].startswith(labels["leaderworkerset.sigs.k8s.io/name"])


@pytest.mark.parametrize("release", ["1.1", "1.5"])
def test_grove_starts_the_least_of_everything_together(release: str) -> None:
    pods = {pod.name: pod for pod in pods_of(many(), release, "grove")}
    base = Gang("demo-0", 4)
    assert pods["demo-0-frontend-0"].gangs == (base,)
    assert pods["demo-0-prefill-0"].gangs == (base,)
    assert pods["demo-0-prefill-1"].gangs == (), "replicas above the least number come one by one"
    assert pods["demo-0-decode-0-decode-ldr-0"].gangs == (base,)
    assert pods["demo-0-decode-0-decode-wkr-0"].gangs == (base,)
    assert pods["demo-0-decode-1-decode-ldr-0"].gangs == (Gang("demo-0-decode-1", 2),)


def test_grove_minimum_of_a_single_node_component() -> None:
    pods = pods_of(beta([worker_component(replicas=3, minAvailable=2)]), "1.5", "grove")
    assert [pod.gangs for pod in pods] == [(Gang("demo-0", 2),), (Gang("demo-0", 2),), ()]


def packed() -> Graph:
    graph = many()
    graph["spec"]["topologyConstraint"] = {"topologyProfile": "cluster", "packDomain": "zone"}
    graph["spec"]["services"]["Decode"]["topologyConstraint"] = {"packDomain": "rack"}
    graph["spec"]["services"]["Prefill"]["topologyConstraint"] = {"packDomain": "host"}
    return graph


@pytest.mark.parametrize("release", ["1.1", "1.5"])
def test_pods_are_packed_into_domains(release: str) -> None:
    pods = {pod.name: pod for pod in pods_of(packed(), release, "grove", TOPOLOGIES)}
    zone = Gang("demo-0", 4, "node/zone")
    assert pods["demo-0-frontend-0"].gangs == (zone,)
    assert pods["demo-0-decode-0-decode-ldr-0"].gangs == (zone, Gang("demo-0-decode-0", 2, "node/rack"))
    assert Gang("demo-0-prefill", 1, "node/host") in pods["demo-0-prefill-0"].gangs


def test_a_domain_without_a_known_label_makes_a_pod_unknown() -> None:
    pods = pods_of(packed(), "1.1", "grove")
    (reason,) = {reason for pod in pods if pod.component == "Frontend" for reason in pod.unknown}
    assert reason.startswith("packed into one zone")


def test_what_the_api_server_fills_in_for_scheduling() -> None:
    graph = alpha({"W": service(extraPodSpec={"hostNetwork": True, "mainContainer": {"image": "a:1.5.0"}})})
    graph["spec"]["services"]["W"]["extraPodSpec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "matchLabelKeys": ["pod-template-hash"],
        }
    ]
    (pod,) = pods_of(graph, "1.1", "deployment")
    ports = pod.pod["spec"]["containers"][0]["ports"]
    assert [port["hostPort"] for port in ports] == [9090, 19090]
    assert "pod-template-hash" in pod.pod["metadata"]["labels"]
    assert pod.pod["spec"]["schedulerName"] == "default-scheduler"


def test_a_workload_of_no_known_component_keeps_its_own_name() -> None:
    foreign = {
        "kind": "Deployment",
        "metadata": {"name": "other"},
        "spec": {"replicas": 2, "template": {"spec": {"containers": []}}},
    }
    pods = pod_demands([foreign], alpha())
    assert [(pod.name, pod.component) for pod in pods] == [("other-0", "other"), ("other-1", "other")]


def test_components_whose_names_begin_alike_are_told_apart() -> None:
    graph = alpha({"w": service(), "w-big": service(replicas=2), "f": service("frontend", gpus=None)})
    pods = pods_of(graph, "1.5", "deployment")
    assert counted(pods) == {("f", "main"): 1, ("w", "main"): 1, ("w-big", "main"): 2}
