# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is cut off an object before it is kept."""

from __future__ import annotations

import json
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import trim

PLANTED = "planted-value"


def pod(namespace: str, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "p",
            "namespace": namespace,
            "labels": {"app": "x"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": PLANTED, "keep": "it"},
            "managedFields": [{"manager": PLANTED}],
            "ownerReferences": [{"kind": "Job", "name": "j", "uid": "u", "blockOwnerDeletion": True}],
            "deletionTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "nodeName": "n",
            "tolerations": [{"operator": "Exists"}],
            "containers": [
                {
                    "name": "main",
                    "image": "x:1",
                    "command": [PLANTED],
                    "env": [{"name": "A", "value": PLANTED}],
                    "resources": {"limits": {"nvidia.com/gpu": "1"}},
                    "ports": [{"containerPort": 8000}, {"containerPort": 1, "hostPort": 1}],
                }
            ],
            "volumes": [
                {"name": "data", "persistentVolumeClaim": {"claimName": "c"}},
                {"name": "cfg", "secret": {"secretName": PLANTED}},
                {"name": "eph", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "s"}}}},
                {"name": "csi", "csi": {"driver": "d", "volumeAttributes": {"k": PLANTED}}},
            ],
            **spec,
        },
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "1"}, "image": PLANTED}],
        },
    }


def test_other_peoples_pods_keep_what_a_scheduler_counts() -> None:
    kept = trim.PodTrimmer("ml")(pod("other"))
    assert PLANTED not in json.dumps(kept)
    assert kept["metadata"] == {
        "name": "p",
        "namespace": "other",
        "labels": {"app": "x"},
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "ownerReferences": [{"kind": "Job", "name": "j", "uid": "u"}],
    }
    assert kept["spec"]["containers"] == [
        {
            "name": "main",
            "resources": {"limits": {"nvidia.com/gpu": "1"}},
            "ports": [{"hostPort": 1, "containerPort": 1}],
        }
    ]
    assert [volume["name"] for volume in kept["spec"]["volumes"]] == ["data", "eph", "csi"]
    assert kept["status"] == {
        "phase": "Running",
        "containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "1"}}],
    }


def test_the_namespaces_own_pods_keep_what_a_diagnosis_needs() -> None:
    kept = trim.PodTrimmer("ml")(pod("ml", imagePullSecrets=[{"name": "s"}]))
    assert kept["metadata"]["annotations"] == {"keep": "it"}
    assert kept["spec"]["containers"][0]["image"] == "x:1"
    assert len(kept["spec"]["containers"][0]["ports"]) == 2
    assert kept["spec"]["imagePullSecrets"] == [{"name": "s"}]
    assert kept["status"]["conditions"] == [{"type": "Ready", "status": "True"}]
    del kept["status"]["containerStatuses"]
    assert PLANTED not in json.dumps(kept)


def test_pods_share_what_they_repeat() -> None:
    trimmer = trim.PodTrimmer("ml")
    first, second = trimmer(pod("a")), trimmer(pod("b"))
    for name in ("containers", "tolerations"):
        assert first["spec"][name] is second["spec"][name]
    assert first["metadata"]["labels"] is second["metadata"]["labels"]


def test_nodes_lose_their_images() -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"a": "b"}, "annotations": {"x": PLANTED}},
        "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}], "podCIDR": PLANTED},
        "status": {
            "allocatable": {"cpu": "1"},
            "images": [{"names": [PLANTED]}],
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": PLANTED}],
            "nodeInfo": {"architecture": "arm64", "machineID": PLANTED},
        },
    }
    kept = trim.trim_node(node)
    assert PLANTED not in json.dumps(kept)
    assert kept["status"]["nodeInfo"] == {"architecture": "arm64"}
    assert kept["spec"]["taints"]


def test_workloads_lose_the_values_of_their_environment() -> None:
    env = [{"name": "A", "value": PLANTED}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]
    spec = {"envs": env, "services": {"W": {"extraPodSpec": {"mainContainer": {"env": env, "args": ["--x"]}}}}}
    kept = trim.trim_workload({"kind": "DynamoGraphDeployment", "metadata": {"name": "d"}, "spec": spec})
    assert PLANTED not in json.dumps(kept)
    assert kept["spec"]["envs"] == [{"name": "A"}, env[1]]
    assert kept["spec"]["services"]["W"]["extraPodSpec"]["mainContainer"]["args"] == ["--x"]


def test_data_of_config_maps_and_secrets_stays_behind() -> None:
    config = {"metadata": {"name": "c", "namespace": "ml"}, "data": {"b": PLANTED}, "binaryData": {"a": PLANTED}}
    assert trim.trim_config_map(config) == {"name": "c", "namespace": "ml", "keys": ["a", "b"]}
    secret = {"metadata": {"name": "s"}, "type": "Opaque", "data": {"k": PLANTED}, "stringData": {"k": PLANTED}}
    assert PLANTED not in json.dumps(trim.trim_secret(secret))


def test_volumes_and_classes_lose_the_drivers_parameters() -> None:
    volume = {
        "metadata": {"name": "v"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "csi": {"driver": "d", "volumeHandle": "h", "nodeStageSecretRef": {"name": PLANTED}},
            "azureDisk": {"diskURI": "u", "diskName": PLANTED},
            "claimRef": {"namespace": "ml", "name": "c", "uid": "u", "resourceVersion": PLANTED},
        },
        "status": {"phase": "Bound"},
    }
    assert trim.trim_persistent_volume(volume)["spec"] == {
        "capacity": {"storage": "1Gi"},
        "claimRef": {"namespace": "ml", "name": "c", "uid": "u"},
        "csi": {"driver": "d", "volumeHandle": "h"},
        "azureDisk": {"diskURI": "u"},
    }
    item = {"metadata": {"name": "s"}, "provisioner": "p", "parameters": {"secret": PLANTED}}
    assert trim.trim_storage_class(item) == {"metadata": {"name": "s"}, "provisioner": "p"}


def test_what_drivers_say_keeps_what_the_scheduler_counts() -> None:
    drivers = [{"name": "d", "nodeID": PLANTED, "allocatable": {"count": 0}}, {"name": "e", "topologyKeys": [PLANTED]}]
    node = {"metadata": {"name": "n"}, "spec": {"drivers": drivers}}
    assert trim.trim_csi_node(node)["spec"] == {"drivers": [{"name": "d", "allocatable": {"count": 0}}, {"name": "e"}]}
    driver = {"metadata": {"name": "d"}, "spec": {"storageCapacity": True, "tokenRequests": [PLANTED]}}
    assert trim.trim_csi_driver(driver)["spec"] == {"storageCapacity": True}
    spec = {"attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v", "inlineVolumeSpec": PLANTED}}
    attached = {"metadata": {"name": "a"}, "spec": spec, "status": {"attachmentMetadata": PLANTED}}
    assert trim.trim_volume_attachment(attached)["spec"] == {
        "attacher": "d",
        "nodeName": "n",
        "source": {"persistentVolumeName": "v"},
    }
    capacity = {"metadata": {"name": "c"}, "storageClassName": "s", "capacity": "1Gi"}
    assert trim.trim_storage_capacity(capacity) == capacity
    # An empty topology is every node, none at all is no node.
    assert trim.trim_storage_capacity({**capacity, "nodeTopology": {}})["nodeTopology"] == {}


def test_a_claim_of_no_class_stays_one() -> None:
    claim = {"metadata": {"name": "c"}, "spec": {"storageClassName": "", "selector": {}, "dataSource": PLANTED}}
    assert trim.trim_claim(claim)["spec"] == {"storageClassName": ""}
    assert "storageClassName" not in trim.trim_claim({"metadata": {"name": "c"}, "spec": {}}).get("spec", {})


def test_small_kinds_keep_their_own_fields() -> None:
    item = {
        "metadata": {"name": "x"},
        "value": 5,
        "spec": {"hard": {"a": 1}, "odd": PLANTED},
        "status": {"used": {"a": 1}},
    }
    assert trim.trim_priority_class(item) == {"metadata": {"name": "x"}, "value": 5}
    assert trim.trim_quota(item) == {
        "metadata": {"name": "x"},
        "spec": {"hard": {"a": 1}},
        "status": {"used": {"a": 1}},
    }
    levels = [{"domain": "rack", "key": "example.com/rack"}]
    topology = {"metadata": {"name": "t"}, "spec": {"levels": levels, "odd": PLANTED}}
    assert trim.trim_topology(topology) == {"metadata": {"name": "t"}, "spec": {"levels": levels}}
    event = {
        "metadata": {"name": "e"},
        "reason": "Failed",
        "message": "m",
        "involvedObject": {"name": "p"},
        "action": "x",
    }
    assert set(trim.trim_event(event)) == {"metadata", "reason", "message", "involvedObject"}
