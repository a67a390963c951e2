# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What manifests of every kind refer to."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.demand import PodDemand
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.podspecs import pod_spec_of
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.references import (
    References,
    made_by,
    pod_references,
    references_of,
)

ALPHA: dict[str, Any] = {
    "apiVersion": "nvidia.com/v1alpha1",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "agg", "annotations": {"image": "not/an:image"}},
    "spec": {
        "envs": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "shared", "key": "a", "optional": True}}}],
        "pvcs": [{"name": "model-cache", "create": False}, {"name": "scratch", "create": True, "storageClass": "fast"}],
        "services": {
            "Worker": {
                "envFromSecret": "hf-token-secret",
                "volumeMounts": [{"name": "model-cache", "mountPoint": "/models"}],
                "eppConfig": {"configMapRef": {"name": "epp", "key": "epp.yaml"}},
                "ingress": {"tls": [{"secretName": "tls"}]},
                "extraPodSpec": {
                    "serviceAccountName": "runner",
                    "priorityClassName": "high",
                    "runtimeClassName": "nvidia",
                    "nodeSelector": {"image": "not-a-reference"},
                    "imagePullSecrets": [{"name": "ngc"}],
                    "resourceClaims": [{"name": "g", "resourceClaimName": "one", "resourceClaimTemplateName": "many"}],
                    "volumes": [
                        {"name": "s", "secret": {"secretName": "files", "items": [{"key": "k1"}, {"key": "k2"}]}},
                        {"name": "c", "configMap": {"name": "conf", "optional": True}},
                        {"name": "i", "image": {"reference": "nvcr.io/models/x:1"}},
                        {
                            "name": "p",
                            "projected": {"sources": [{"secret": {"name": "proj"}}, {"configMap": {"name": "pc"}}]},
                        },
                        {"name": "v", "persistentVolumeClaim": {"claimName": "data"}},
                    ],
                    "mainContainer": {
                        "image": "nvcr.io/x:1",
                        "args": ["--image", {"image": "odd"}],
                        "env": [{"name": "B", "valueFrom": {"configMapKeyRef": {"name": "conf", "key": "b"}}}],
                        "envFrom": [{"secretRef": {"name": "env"}}, {"configMapRef": {"name": "envmap"}}],
                        "volumeMounts": [{"name": "v", "mountPath": "/data"}],
                    },
                },
            }
        },
    },
}


def told(references: References) -> set[tuple[str, str, str]]:
    return {(item.kind, item.name, item.key) for item in references.items}


def test_every_way_to_name_something() -> None:
    assert told(references_of([ALPHA])) == {
        ("Secret", "shared", "a"),
        ("Secret", "hf-token-secret", ""),
        ("Secret", "tls", ""),
        ("Secret", "ngc", ""),
        ("Secret", "files", "k1"),
        ("Secret", "files", "k2"),
        ("Secret", "proj", ""),
        ("Secret", "env", ""),
        ("ConfigMap", "epp", "epp.yaml"),
        ("ConfigMap", "conf", ""),
        ("ConfigMap", "conf", "b"),
        ("ConfigMap", "pc", ""),
        ("ConfigMap", "envmap", ""),
        ("PersistentVolumeClaim", "model-cache", ""),
        ("PersistentVolumeClaim", "scratch", ""),
        ("PersistentVolumeClaim", "data", ""),
        ("StorageClass", "fast", ""),
        ("ServiceAccount", "runner", ""),
        ("PriorityClass", "high", ""),
        ("RuntimeClass", "nvidia", ""),
        ("ResourceClaim", "one", ""),
        ("ResourceClaimTemplate", "many", ""),
        ("Image", "nvcr.io/x:1", ""),
        ("Image", "nvcr.io/models/x:1", ""),
    }


def test_each_says_where_it_stands() -> None:
    found = {(item.kind, item.name): item for item in references_of([ALPHA]).items}
    hf = found["Secret", "hf-token-secret"]
    assert (hf.how, hf.used_by, hf.path) == ("envFromSecret", "component Worker", "spec.services.Worker.envFromSecret")
    assert found["Secret", "shared"].used_by == "DynamoGraphDeployment/agg"
    assert found["Secret", "shared"].optional
    assert found["ConfigMap", "conf"].optional is False
    assert found["Secret", "proj"].how == "projected"


def test_the_newer_version_and_ordinary_kinds_are_walked_too() -> None:
    spec = {"containers": [{"name": "main", "image": "a/b:1", "envFrom": [{"secretRef": {"name": "s"}}]}]}
    beta = {
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "b"},
        "spec": {"components": [{"name": "W", "podTemplate": {"spec": spec}, "compilationCache": {"pvcName": "cc"}}]},
    }
    job = {"kind": "Job", "metadata": {"name": "d"}, "spec": {"template": {"spec": spec}}}
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "p"}, "spec": {"storageClassName": "std"}}
    config = {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"image": "text", "secretRef": {"name": "x"}}}
    references = references_of([beta, job, claim, config])
    assert references.names("Secret") == ("s",)
    assert references.names("PersistentVolumeClaim") == ("cc",)
    assert references.names("StorageClass") == ("std",)
    assert {item.used_by for item in references.items} == {"component W", "Job/d", "PersistentVolumeClaim/p"}
    assert references.to_result()["names"]["Image"] == ["a/b:1"]


def test_pods_add_what_the_operator_adds() -> None:
    spec = {"serviceAccountName": "agg-k8s-service-discovery", "containers": [{"name": "main", "image": "nvcr.io/x:1"}]}
    pods = [PodDemand(f"w-{index}", "Worker", "main", index, {"spec": spec}) for index in range(3)]
    added = [item for item in references_of([ALPHA], pods).items if item.used_by == "Worker"]
    assert [(item.kind, item.name) for item in added] == [("ServiceAccount", "agg-k8s-service-discovery")]
    assert pod_references(pods).names("Image") == ("nvcr.io/x:1",)


def test_what_the_manifests_make_themselves() -> None:
    made = made_by([ALPHA, {"kind": "ServiceAccount", "metadata": {"name": "runner"}}])
    assert ("PersistentVolumeClaim", "scratch") in made
    assert ("PersistentVolumeClaim", "model-cache") not in made
    assert ("ServiceAccount", "runner") in made


def test_odd_shapes_are_passed_over() -> None:
    odd = {
        "kind": "DynamoGraphDeployment",
        "spec": {
            "pvcs": "x",
            "services": {
                "W": {"envFromSecret": 7, "volumeMounts": [1, {"name": None}], "extraPodSpec": {"volumes": [3]}}
            },
            "imagePullSecrets": {"name": "x"},
            "components": ["x"],
        },
    }
    assert references_of([odd, {}]).items == ()
    assert pod_spec_of({"kind": "Job", "spec": {"template": None}}) is None
    assert pod_spec_of({"kind": "Service"}) is None
    pod = pod_spec_of({"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [1, {"name": "c"}]}})
    assert pod is not None
    assert [path for path, _container in pod.containers()] == ["spec.containers[1]"]
