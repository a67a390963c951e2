# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compatibility patches: Kubernetes fields only, each with its reason, judged by what they change."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.patches import (
    REASONS,
    apply_operations,
    is_placeholder,
    parse_tolerations,
    patch_manifest,
    unused,
)

CLAIM: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "cache"},
    "spec": {"storageClassName": "your-storage-class-name", "resources": {"requests": {"storage": "1Ti"}}},
}
JOB: dict[str, Any] = {"kind": "Job", "metadata": {"name": "load"}, "spec": {"template": {"spec": {"containers": []}}}}
ALPHA: dict[str, Any] = {
    "apiVersion": "nvidia.com/v1alpha1",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "agg"},
    "spec": {
        "pvcs": [{"name": "own", "create": True, "storageClass": "<storage class>"}, {"name": "there"}],
        "services": {"F": {"replicas": 1}, "W": {"replicas": 1, "extraPodSpec": {"tolerations": [{"key": "a"}]}}},
    },
}
BETA: dict[str, Any] = {
    "apiVersion": "nvidia.com/v1beta1",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "agg"},
    "spec": {"components": [{"name": "F"}, {"name": "W", "podTemplate": {"spec": {"containers": [{"name": "main"}]}}}]},
}
TAINT = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def with_class(name: object) -> dict[str, Any]:
    return {**CLAIM, "spec": {**CLAIM["spec"], "storageClassName": name}}


def without_class() -> dict[str, Any]:
    return {**CLAIM, "spec": {"resources": {}}}


@pytest.mark.parametrize(
    "name",
    [
        "your-storage-class-name",
        "<storage-class>",
        "${STORAGE_CLASS}",
        "$SC",
        "{{ storage_class }}",
        "YOUR_CLASS",
        "changeme",
        "storage-class",
        "storage-class-name",
        "the-storage-class",
        "put-it-here",
        "xxx",
        "TODO",
        " <x> ",
        "$(STORAGE_CLASS)",
        "%CLASS%",
        "__class__",
        "Replace_It",
        "replace-with-your-class",
        "fast # or yours",
    ],
)
def test_placeholders(name: str) -> None:
    assert is_placeholder(name)


@pytest.mark.parametrize("name", ["gp3", "standard", "shared-nfs", "my-nfs", "", None, "local-path", "azurefile-csi"])
def test_real_names(name: object) -> None:
    assert not is_placeholder(name)


def test_a_placeholder_is_resolved_and_said_to_be() -> None:
    before = copy.deepcopy(CLAIM)
    patched = patch_manifest("model-cache.yaml", [CLAIM], storage_class="nfs")
    assert patched.objects[0]["spec"]["storageClassName"] == "nfs"
    assert before == CLAIM
    (patch,) = patched.patches
    assert patch.to_result() == {
        "id": "model-cache.yaml:PersistentVolumeClaim/cache:storage_class",
        "manifest": "model-cache.yaml",
        "object": "PersistentVolumeClaim/cache",
        "operations": [{"op": "replace", "path": "/spec/storageClassName", "value": "nfs"}],
        "reason": "the placeholder 'your-storage-class-name' was resolved; the hand-off's storage class is nfs",
    }
    assert [finding.reason_code for finding in patched.findings] == ["patch_storage_class_set"]


@pytest.mark.parametrize(
    ("claim", "given", "code", "outcome", "after"),
    [
        (CLAIM, "", "patch_storage_class_missing", "fail", "your-storage-class-name"),
        (without_class(), "nfs", "patch_storage_class_set", "pass", "nfs"),
        (with_class("gp3"), "nfs", "patch_storage_class_other", "warn", "gp3"),
    ],
)
def test_storage_classes(claim: dict[str, Any], given: str, code: str, outcome: str, after: str) -> None:
    patched = patch_manifest("m.yaml", [claim], storage_class=given)
    assert [(finding.reason_code, finding.outcome) for finding in patched.findings] == [(code, outcome)]
    assert patched.objects[0]["spec"]["storageClassName"] == after


@pytest.mark.parametrize("claim", [with_class(""), with_class("gp3"), without_class()])
def test_nothing_to_do(claim: dict[str, Any]) -> None:
    patched = patch_manifest("m.yaml", [claim], storage_class="gp3" if claim["spec"].get("storageClassName") else "")
    assert (patched.patches, patched.findings, list(patched.objects)) == ((), (), [claim])


def test_the_dgds_own_claims() -> None:
    patched = patch_manifest("deploy.yaml", [ALPHA], storage_class="nfs")
    assert patched.objects[0]["spec"]["pvcs"] == [
        {"name": "own", "create": True, "storageClass": "nfs"},
        {"name": "there"},
    ]
    assert patched.findings[0].subject == "PersistentVolumeClaim/own"


@pytest.mark.parametrize("dgd", [ALPHA, BETA], ids=["alpha", "beta"])
def test_tolerations_reach_every_component(dgd: dict[str, Any]) -> None:
    wanted = parse_tolerations([{**TAINT, "reason": "the GPU nodes carry it"}])
    patched = patch_manifest("deploy.yaml", [dgd], storage_class="nfs", tolerations=wanted)
    spec = patched.objects[0]["spec"]
    pods = (
        [item["extraPodSpec"] for item in spec["services"].values()]
        if "services" in spec
        else [item["podTemplate"]["spec"] for item in spec["components"]]
    )
    assert all(TAINT in pod["tolerations"] for pod in pods)
    assert [patch.reason for patch in patched.patches if "toleration" in patch.id] == ["the GPU nodes carry it"]
    again = patch_manifest("deploy.yaml", patched.objects, storage_class="nfs", tolerations=wanted)
    assert again.objects == patched.objects


def test_tolerations_for_some() -> None:
    (wanted,) = parse_tolerations([{**TAINT, "reason": "x", "components": ["W"]}])
    patched = patch_manifest("deploy.yaml", [BETA, JOB], tolerations=[wanted])
    assert "podTemplate" not in patched.objects[0]["spec"]["components"][0]
    assert patched.objects[0]["spec"]["components"][1]["podTemplate"]["spec"]["tolerations"] == [TAINT]
    assert patched.objects[1] == JOB
    (wanted,) = parse_tolerations([{**TAINT, "reason": "x", "jobs": True}])
    patched = patch_manifest("model-download.yaml", [JOB], tolerations=[wanted])
    assert patched.objects[0]["spec"]["template"]["spec"]["tolerations"] == [TAINT]
    assert [finding.reason_code for finding in patched.findings] == ["patch_toleration_added"]
    (wanted,) = parse_tolerations([{**TAINT, "reason": "x", "components": ["Nobody"]}])
    with pytest.raises(InputError, match="no such component"):
        patch_manifest("deploy.yaml", [BETA], tolerations=[wanted])


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ("a", r"tolerations\[0\]: must be a mapping"),
        (TAINT, r"tolerations\[0\]: reason: a reason is needed"),
        ({**TAINT, "reason": " "}, "a reason is needed"),
        ({**TAINT, "reason": "x", "colour": 1}, "colour: unknown field"),
        ({"operator": "Exists", "reason": "x"}, "key: a key is needed"),
        ({**TAINT, "reason": "x", "operator": "Has"}, "operator: must be Equal or Exists"),
        ({**TAINT, "reason": "x", "effect": "Never"}, "effect: no such effect"),
        ({**TAINT, "reason": "x", "value": "y"}, "value: Exists takes no value"),
        ({"key": 7, "reason": "x"}, "key: must be text"),
        ({"key": "a", "value": ["b"], "reason": "x"}, "value: must be text"),
        ({**TAINT, "reason": "x", "components": 7}, "components: must be a list of names"),
        ({**TAINT, "reason": "x", "jobs": "yes"}, "jobs: must be true or false"),
        ({**TAINT, "reason": "x", "tolerationSeconds": "9"}, "tolerationSeconds: must be a whole number"),
        ({**TAINT, "reason": "x", "tolerationSeconds": 9}, "tolerationSeconds: needs the effect NoExecute"),
    ],
)
def test_tolerations_that_are_refused(item: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_tolerations([item])


@pytest.mark.parametrize("there", ["all", 7, ["a"], [None], {"key": "a"}])
def test_a_toleration_is_not_added_to_what_is_no_list(there: Any) -> None:
    (wanted,) = parse_tolerations([{**TAINT, "reason": "x"}])
    broken = copy.deepcopy(ALPHA)
    broken["spec"]["services"]["W"]["extraPodSpec"]["tolerations"] = there
    with pytest.raises(InputError, match=r"agg: \.spec\.services\.W.*tolerations: must be a list of mappings"):
        patch_manifest("deploy.yaml", [broken], tolerations=[wanted])


def test_a_tolerations_forms() -> None:
    (one,) = parse_tolerations([{"key": "a", "effect": "NoExecute", "tolerationSeconds": 9, "reason": "x"}])
    assert one.components == ()
    (other,) = parse_tolerations([{"key": "a", "effect": "", "reason": "x", "components": "W"}])
    assert other.components == ("W",)


def given(*operations: Any, manifest: str = "deploy.yaml", **more: Any) -> list[dict[str, Any]]:
    return [{"manifest": manifest, "operations": list(operations), "reason": "mends it", **more}]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/spec/services/W/extraPodSpec/nodeSelector", {"nvidia.com/gpu.product": "H100"}),
        ("/spec/services/W/extraPodSpec", {"tolerations": [TAINT], "priorityClassName": "high"}),
        ("/spec/services/F/extraPodSpec", {"imagePullSecrets": [{"name": "regcred"}]}),
        ("/metadata/namespace", "serving"),
    ],
)
def test_kubernetes_fields_may_change(path: str, value: Any) -> None:
    patched = patch_manifest("deploy.yaml", [ALPHA], given=given({"op": "add", "path": path, "value": value}))
    assert [patch.reason for patch in patched.patches] == ["mends it"]


@pytest.mark.parametrize(
    ("operation", "field"),
    [
        ({"op": "replace", "path": "/spec/services/W/replicas", "value": 2}, r"\.spec\.services\.W\.replicas"),
        (
            {"op": "add", "path": "/spec/services/W/extraPodSpec/mainContainer", "value": {"args": ["--tp", "8"]}},
            r"mainContainer\.args",
        ),
        ({"op": "replace", "path": "/spec/services/W", "value": {"replicas": 4}}, r"\.spec\.services\.W"),
        ({"op": "remove", "path": "/spec/services/F"}, r"\.spec\.services\.F"),
        ({"op": "add", "path": "/spec/services/W/resources", "value": {"limits": {"gpu": "8"}}}, "resources"),
        ({"op": "add", "path": "/spec/envs", "value": [{"name": "A", "value": "b"}]}, r"\.spec\.envs"),
        ({"op": "add", "path": "/metadata/annotations", "value": {"nvidia.com/enable-grove": "false"}}, "annotations"),
        ({"op": "replace", "path": "/metadata/name", "value": "other"}, r"\.metadata\.name"),
        ({"op": "replace", "path": "/kind", "value": "Job"}, r"\.kind"),
        ({"op": "replace", "path": "/spec/services/W/replicas", "value": True}, "replicas"),
        ({"op": "replace", "path": "/spec", "value": {"services": {"W": {"replicas": 1}}}}, r"\.spec"),
        ({"op": "add", "path": "/spec/services/a~1extraPodSpec~1tolerations", "value": {"replicas": 3}}, "replicas"),
        ({"op": "add", "path": "/spec/services/X", "value": {"extraPodSpec/tolerations": {"replicas": 3}}}, "replicas"),
    ],
)
def test_anything_else_is_refused(operation: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError, match=f"{field}.*: a compatibility patch may not change this"):
        patch_manifest("deploy.yaml", [ALPHA], given=given(operation))


@pytest.mark.parametrize(
    ("tolerations", "said"),
    [
        ([{"key": "a"}, {"operator": "Exists"}], "key: a key is needed"),
        ([{"key": "", "operator": "Exists"}], "key: a key is needed"),
        ([{"key": "a", "operator": "Exists", "value": "b"}], "Exists takes no value"),
        ("all", "must be a list of mappings"),
        ([None], "must be a list of mappings"),
    ],
)
def test_a_given_patch_tolerates_no_more_than_the_user_may_name(tolerations: Any, said: str) -> None:
    for path, value in (
        ("/spec/services/W/extraPodSpec/tolerations", tolerations),
        ("/spec/services/F/extraPodSpec", {"tolerations": tolerations}),
    ):
        with pytest.raises(InputError, match=said):
            patch_manifest("deploy.yaml", [ALPHA], given=given({"op": "add", "path": path, "value": value}))


def test_names_are_texts_and_true_is_not_one() -> None:
    with pytest.raises(InputError, match="storageClassName: must be text"):
        patch_manifest(
            "deploy.yaml", [CLAIM], given=given({"op": "replace", "path": "/spec/storageClassName", "value": ["a"]})
        )
    with pytest.raises(InputError, match="does not fit"):
        apply_operations(ALPHA, [{"op": "test", "path": "/spec/services/W/replicas", "value": True}], "x")


@pytest.mark.parametrize(
    "value",
    [
        {"nodeSelector": {"kubernetes.io/hostname": "gpu-7"}},
        {"nodeSelector": {"beta.kubernetes.io/hostname": "gpu-7"}},
        {"affinity": {"nodeAffinity": {"x": [{"key": "kubernetes.io/hostname", "values": ["a"]}]}}},
    ],
)
def test_one_node_by_its_name_is_observed_state(value: dict[str, Any]) -> None:
    operation = {"op": "add", "path": "/spec/services/F/extraPodSpec", "value": value}
    changed = patch_or_error(operation)
    assert "one node by its name" in changed or "may not change" in changed


def test_spreading_over_nodes_names_none() -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    operation = {"op": "add", "path": "/spec/services/F/extraPodSpec", "value": {"affinity": affinity}}
    assert patch_manifest("deploy.yaml", [ALPHA], given=given(operation)).patches


def patch_or_error(operation: dict[str, Any]) -> str:
    with pytest.raises(InputError) as raised:
        patch_manifest("deploy.yaml", [ALPHA], given=given(operation))
    return str(raised.value)


def test_a_claims_size_is_no_compatibility() -> None:
    operation = {"op": "replace", "path": "/spec/resources/requests/storage", "value": "1Gi"}
    with pytest.raises(InputError, match="may not change this"):
        patch_manifest("m.yaml", [CLAIM], given=given(operation, manifest="m.yaml"))


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("no.yaml", r"patches\[0\]: must be a mapping"),
        ({"manifest": "no.yaml"}, r"patches\[0\]: manifest: no such manifest"),
        (
            {"manifest": "m.yaml", "object": "Job/no"},
            r"object: no such object .found PersistentVolumeClaim/cache, Job/load",
        ),
        ({"manifest": "m.yaml"}, "object: the object must be named"),
    ],
)
def test_a_patch_that_meets_nothing_is_refused(patch: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        unused([patch], {"m.yaml": [CLAIM, JOB]})


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"reason": ""}, "reason: a reason is needed"),
        ({"operations": []}, "operations: a list of operations is needed"),
    ],
)
def test_a_patch_says_what_and_why(more: dict[str, Any], said: str) -> None:
    operation = {"op": "remove", "path": "/spec"}
    with pytest.raises(InputError, match=said):
        patch_manifest("m.yaml", [CLAIM], given=[{**given(operation, manifest="m.yaml")[0], **more}])


def test_a_patch_without_effect_is_not_recorded() -> None:
    operation = {"op": "test", "path": "/kind", "value": "PersistentVolumeClaim"}
    patched = patch_manifest("m.yaml", [CLAIM], given=given(operation, manifest="m.yaml"))
    assert patched.patches == ()


@pytest.mark.parametrize(
    ("operation", "after"),
    [
        ({"op": "add", "path": "/l/1", "value": 9}, {"l": [1, 9, 2], "m/n": {"~": 1}}),
        ({"op": "add", "path": "/l/-", "value": 9}, {"l": [1, 2, 9], "m/n": {"~": 1}}),
        ({"op": "remove", "path": "/l/0"}, {"l": [2], "m/n": {"~": 1}}),
        ({"op": "replace", "path": "/l/0", "value": 9}, {"l": [9, 2], "m/n": {"~": 1}}),
        ({"op": "replace", "path": "/m~1n/~0", "value": 9}, {"l": [1, 2], "m/n": {"~": 9}}),
        ({"op": "remove", "path": "/m~1n"}, {"l": [1, 2]}),
        ({"op": "test", "path": "/l/1", "value": 2}, {"l": [1, 2], "m/n": {"~": 1}}),
    ],
)
def test_json_patch(operation: dict[str, Any], after: dict[str, Any]) -> None:
    assert apply_operations({"l": [1, 2], "m/n": {"~": 1}}, [operation], "p") == after


@pytest.mark.parametrize(
    "operation",
    [
        "remove",
        {"op": "move", "path": "/l", "from": "/m"},
        {"op": "remove", "path": "l"},
        {"op": "remove", "path": ""},
        {"op": "add", "path": "/x"},
        {"op": "remove", "path": "/no"},
        {"op": "replace", "path": "/no", "value": 1},
        {"op": "remove", "path": "/l/2"},
        {"op": "remove", "path": "/l/01"},
        {"op": "add", "path": "/l/9", "value": 1},
        {"op": "add", "path": "/l/0/x", "value": 1},
        {"op": "test", "path": "/l/0", "value": 7},
        {"op": "test", "path": "/m", "value": 7},
    ],
)
def test_operations_that_do_not_fit(operation: Any) -> None:
    with pytest.raises(InputError, match=r"p operations\[0\]"):
        apply_operations({"l": [1, 2], "m": {}}, [operation], "p")


def test_codes() -> None:
    assert len({reason.code for reason in REASONS}) == 4
