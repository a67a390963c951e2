# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Service discovery: who is registered, and why not (cases G02 to G06)."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.discovery import (
    REASONS,
    Access,
    DiscoveryReport,
    effective_backend,
    judge_discovery,
    service_accounts,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.instance_id import worker_instance_id
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage.state import ClusterState

Object = dict[str, Any]
BASE = "team-a-demo"
ENV = [{"name": "DYN_DISCOVERY_BACKEND", "value": "kubernetes"}] + [
    {"name": name, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    for name in ("POD_NAME", "POD_NAMESPACE", "POD_UID")
]


def pod(
    name: str,
    *,
    uid: str = "",
    kind: str = "worker",
    env: Any = ENV,
    containers: list[Object] | None = None,
    more: Object | None = None,
) -> Object:
    marks = {
        "nvidia.com/dynamo-graph-deployment-name": "demo",
        "nvidia.com/dynamo-component": "Worker" if kind != "frontend" else "Frontend",
        "nvidia.com/dynamo-component-type": kind,
        "nvidia.com/dynamo-discovery-enabled": "true",
        "nvidia.com/dynamo-namespace": BASE,
        **(more or {}),
    }
    main = {"name": "main", "env": env} if env is not None else {"name": "main"}
    return {
        "metadata": {"name": name, "uid": uid or f"u-{name}", "labels": marks},
        "spec": {"containers": containers or [main], "serviceAccountName": "demo-k8s-service-discovery"},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def endpoints(**ready: bool | None) -> Object:
    return {
        "endpoints": [
            {
                "conditions": {} if value is None else {"ready": value},
                "targetRef": {"kind": "Pod", "name": name.replace("_", "-"), "uid": f"u-{name.replace('_', '-')}"},
            }
            for name, value in ready.items()
        ]
    }


def record(
    name: str,
    *,
    pod_name: str = "",
    uid: str = "",
    namespace: str = BASE,
    endpoint: str = "generate",
    instance: int | None = None,
) -> Object:
    owner = pod_name or name
    entry = {
        "type": "Endpoint",
        "namespace": namespace,
        "component": "backend",
        "endpoint": endpoint,
        "instance_id": worker_instance_id(name) if instance is None else instance,
    }
    return {
        "metadata": {"name": name, "ownerReferences": [{"kind": "Pod", "name": owner, "uid": uid or f"u-{owner}"}]},
        "spec": {"data": {"endpoints": {f"{namespace}/backend/{endpoint}": entry}, "model_cards": {}}},
    }


def judged(
    pods: list[Object], slices: list[Object], records: list[Object], *, annotations: Object | None = None, **more: Any
) -> DiscoveryReport:
    graph = {"metadata": {"name": "demo", "annotations": annotations or {}}, "spec": {"services": {}}}
    objects = {
        "dynamographdeployments": [graph],
        "pods": pods,
        "endpointslices": slices,
        "dynamoworkermetadatas": records,
    }
    return judge_discovery(ClusterState(0.0, "demo", objects), **more)


def codes(report: DiscoveryReport) -> list[str]:
    return [finding.reason_code for finding in report.findings]


def test_each_half_alone_is_not_enough() -> None:  # G02
    report = judged(
        [pod("demo-w-0"), pod("demo-w-1"), pod("demo-w-2")],
        [endpoints(demo_w_0=True, demo_w_1=True, demo_w_2=False)],
        [record("demo-w-0"), record("demo-w-2"), record("demo-w-9")],
    )
    assert report.visible == ("demo-w-0",)
    assert [(one.pod, one.state) for one in report.workers] == [
        ("demo-w-0", "visible"),
        ("demo-w-1", "not_registered"),
        ("demo-w-2", "not_ready"),
    ]
    assert sorted(codes(report)) == ["discovery_not_ready", "discovery_not_registered", "discovery_orphan_metadata"]


def test_all_visible_is_a_pass() -> None:
    report = judged(
        [pod("demo-w-0"), pod("demo-f-0", kind="frontend")], [endpoints(demo_w_0=None)], [record("demo-w-0")]
    )
    assert codes(report) == ["discovery_visible"]
    assert report.workers[0].instance_id == worker_instance_id("demo-w-0")
    assert report.to_result()["visible"] == ["demo-w-0"]


def test_a_worker_that_starts_is_no_finding() -> None:
    report = judged([pod("demo-w-0")], [endpoints(demo_w_0=False)], [])
    assert [one.state for one in report.workers] == ["starting"]
    assert codes(report) == []


@pytest.mark.parametrize(
    "labels",
    [
        {"role": "worker"},
        {"leaderworkerset.sigs.k8s.io/worker-index": "1"},
        {"grove.io/podclique": "demo-0-worker-0-worker-wkr"},
        {"nvidia.com/dynamo-discovery-enabled": "false"},
        {"nvidia.com/dynamo-component-type": "planner"},
    ],
)
def test_followers_and_weight_servers_never_register(labels: dict[str, str]) -> None:  # G04
    leader = pod("demo-l-0", more={"leaderworkerset.sigs.k8s.io/worker-index": "0"})
    report = judged(
        [leader, pod("demo-wk-0", more=labels)], [endpoints(demo_l_0=True, demo_wk_0=True)], [record("demo-l-0")]
    )
    assert report.visible == ("demo-l-0",)
    assert codes(report) == ["discovery_visible"]


def test_metadata_of_an_earlier_pod_of_the_name_is_stale() -> None:  # G06
    report = judged([pod("demo-w-0", uid="u2")], [endpoints(demo_w_0=True)], [record("demo-w-0", uid="u1")])
    assert (report.visible, codes(report)) == ((), ["discovery_stale_metadata"])


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (record("demo-w-0", endpoint="load_metrics"), "discovery_no_generate"),
        (record("demo-w-0", namespace="dynamo"), "discovery_wrong_namespace"),
        (record("demo-w-0", instance=7), "discovery_wrong_instance_id"),
    ],
)
def test_what_is_registered_must_be_right(broken: Object, code: str) -> None:
    report = judged([pod("demo-w-0")], [endpoints(demo_w_0=True)], [broken])
    assert (report.visible, codes(report)) == ((), [code])


def test_a_worker_of_a_hashed_generation_registers_under_its_suffix() -> None:
    report = judged([pod("demo-w-0")], [endpoints(demo_w_0=True)], [record("demo-w-0", namespace=f"{BASE}-aaaa1111")])
    assert report.visible == ("demo-w-0",)


def test_in_container_mode_each_engine_has_a_name_of_its_own() -> None:
    def engine(name: str) -> Object:
        return {
            "name": name,
            "env": [
                *ENV,
                {"name": "DYN_KUBE_DISCOVERY_MODE", "value": "container"},
                {"name": "CONTAINER_NAME", "value": name},
            ],
        }

    both = pod("demo-w-0", containers=[engine("main"), engine("engine-1")])
    slices = [endpoints(demo_w_0=True)]
    report = judged([both], slices, [record("demo-w-0"), record("demo-w-0-engine-1", pod_name="demo-w-0")])
    assert codes(report) == ["discovery_visible"]
    assert [one.instance_id for one in report.workers] == [
        worker_instance_id("demo-w-0"),
        worker_instance_id("demo-w-0-engine-1"),
    ]
    assert codes(judged([both], slices, [record("demo-w-0")])) == ["discovery_not_registered"]


def test_missing_variables_are_named_once_a_component() -> None:
    bare = [{"name": "POD_NAME", "value": "x"}]
    report = judged(
        [pod("demo-w-0", env=bare), pod("demo-w-1", env=bare)],
        [endpoints(demo_w_0=True, demo_w_1=True)],
        [record("demo-w-0"), record("demo-w-1")],
    )
    found = [one for one in report.findings if one.reason_code == "discovery_missing_environment"]
    assert len(found) == 1
    assert "POD_NAMESPACE, POD_UID, DYN_DISCOVERY_BACKEND" in found[0].message
    unknown = judged([pod("demo-w-0", env=None)], [endpoints(demo_w_0=True)], [record("demo-w-0")])
    assert codes(unknown) == ["discovery_visible"], "a snapshot without environments is not judged by them"


def test_permissions_are_those_of_the_pods_account() -> None:
    def access(allowed: bool | None) -> Access:
        return Access(
            "demo-k8s-service-discovery",
            "list",
            "nvidia.com",
            "dynamoworkermetadatas",
            allowed,
            "no RBAC policy matched",
        )

    pods, slices, records = [pod("demo-w-0")], [endpoints(demo_w_0=True)], [record("demo-w-0")]
    assert codes(judged(pods, slices, records, access=[access(True)])) == ["discovery_visible"]
    denied = judged(pods, slices, records, access=[access(False)])
    assert codes(denied) == ["discovery_missing_rbac"]
    assert "list dynamoworkermetadatas.nvidia.com" in denied.findings[0].message
    unasked = judged(pods, slices, records, access=[access(None)])
    assert [(one.reason_code, one.outcome) for one in unasked.findings] == [("discovery_rbac_unknown", "unknown")]
    assert service_accounts(ClusterState(0.0, "demo", {"pods": pods})) == ("demo-k8s-service-discovery",)


def test_what_was_not_read_is_unknown() -> None:
    report = judged([pod("demo-w-0")], [], [], unread={"dynamoworkermetadatas": "forbidden", "events": "forbidden"})
    assert [(one.reason_code, one.outcome) for one in report.findings] == [("discovery_not_read", "unknown")]


@pytest.mark.parametrize(
    ("annotations", "platform", "backend"),
    [
        ({}, "", "kubernetes"),
        ({}, "etcd", "etcd"),
        ({"nvidia.com/dynamo-discovery-backend": "etcd"}, "kubernetes", "etcd"),
    ],
)
def test_the_annotation_outranks_the_platform(annotations: Object, platform: str, backend: str) -> None:
    assert effective_backend({"metadata": {"annotations": annotations}}, platform) == backend


def test_with_etcd_it_says_what_cannot_be_checked() -> None:
    annotations = {"nvidia.com/dynamo-discovery-backend": "etcd"}
    report = judged([pod("demo-w-0", env=[])], [], [], annotations=annotations)
    assert sorted(codes(report)) == ["discovery_etcd_endpoints_missing", "discovery_etcd_limits"]
    configured = judged([pod("demo-w-0", env=[{"name": "ETCD_ENDPOINTS", "value": "e:2379"}])], [], [], platform="etcd")
    assert codes(configured) == ["discovery_etcd_limits"]
    assert configured.findings[0].outcome == "unknown"


def test_a_mistyped_backend_is_named() -> None:
    annotations = {"nvidia.com/dynamo-discovery-backend": "kubernets"}
    report = judged([pod("demo-w-0")], [endpoints(demo_w_0=True)], [record("demo-w-0")], annotations=annotations)
    assert codes(report) == ["discovery_backend_unknown"]


def test_another_dgds_metadata_is_none_of_ours() -> None:
    report = judged([pod("demo-w-0")], [endpoints(demo_w_0=True)], [record("demo-w-0"), record("other-w-0")])
    assert codes(report) == ["discovery_visible"]


def test_the_codes() -> None:
    assert len({reason.code for reason in REASONS}) == len(REASONS) == 15
