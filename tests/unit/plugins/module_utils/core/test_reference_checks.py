# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every reason code of the check of references."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.findings import Finding
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.reference_checks import (
    ReferenceRequest,
    judge_images,
    judge_references,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.references import made_by, references_of
from ansible_collections.inference_ops.dynamo.tests.doubles.snapshots import named, snapshot


def pod(**spec: Any) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def env(kind: str, name: str, key: str, **more: Any) -> dict[str, Any]:
    return pod(containers=[{"env": [{"name": "X", "valueFrom": {kind: {"name": name, "key": key, **more}}}]}])


def judge(item: dict[str, Any], *more: dict[str, Any], skip: bool = False, **parts: Any) -> list[Finding]:
    objects = (item, *more)
    request = ReferenceRequest(references_of(objects), made_by(objects), snapshot(**parts), objects, skip)
    return list(judge_references(request))


def only(findings: list[Finding]) -> tuple[str, str]:
    assert len(findings) == 1, findings
    return findings[0].reason_code, findings[0].outcome


@pytest.mark.parametrize(
    ("item", "code"),
    [
        (pod(imagePullSecrets=[{"name": "x"}]), "ref_secret_missing"),
        (env("configMapKeyRef", "x", "k"), "ref_config_map_missing"),
        (pod(volumes=[{"persistentVolumeClaim": {"claimName": "x"}}]), "ref_claim_missing"),
        (pod(serviceAccountName="x"), "ref_service_account_missing"),
        (pod(priorityClassName="x"), "ref_priority_class_missing"),
        (pod(runtimeClassName="x"), "ref_runtime_class_missing"),
        ({"kind": "PersistentVolumeClaim", "spec": {"storageClassName": "x"}}, "ref_storage_class_missing"),
    ],
)
def test_what_is_missing_fails_by_its_kind(item: dict[str, Any], code: str) -> None:
    assert only(judge(item)) == (code, "fail")


def test_resource_claims_are_looked_for_where_they_were_collected() -> None:
    item = pod(resourceClaims=[{"name": "g", "resourceClaimTemplateName": "x"}])
    assert only(judge(item)) == ("ref_resource_claim_missing", "fail")
    assert only(judge(item, states={"resourceclaimtemplates": "not_collected"})) == ("ref_unreadable", "unknown")


def test_what_may_not_be_read_is_unknown_with_the_reason() -> None:
    findings = judge(pod(imagePullSecrets=[{"name": "x"}]), states={"secrets": "forbidden"})
    assert only(findings) == ("ref_unreadable", "unknown")
    assert "needs secrets" in findings[0].message


def test_a_secret_asked_for_by_name_is_known_though_listing_is_forbidden() -> None:
    parts: dict[str, Any] = {
        "states": {"secrets": "forbidden"},
        "checked": {"secrets": {"gone": "absent", "no": "forbidden"}},
    }
    assert only(judge(pod(imagePullSecrets=[{"name": "gone"}]), **parts)) == ("ref_secret_missing", "fail")
    assert only(judge(pod(imagePullSecrets=[{"name": "no"}]), **parts)) == ("ref_unreadable", "unknown")


def test_what_is_there_or_made_or_optional_passes() -> None:
    assert only(judge(pod(serviceAccountName="a"), serviceaccounts=[named("a")])) == ("ref_present", "pass")
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": {"storageClassName": "std"}}
    mounted = pod(volumes=[{"persistentVolumeClaim": {"claimName": "c"}}])
    findings = judge(mounted, claim, storageclasses=[named("std")])
    assert [(finding.subject, finding.outcome) for finding in findings] == [
        ("PersistentVolumeClaim/c", "pass"),
        ("StorageClass/std", "pass"),
    ]
    assert only(judge(env("secretKeyRef", "x", "k", optional=True))) == ("ref_optional_absent", "pass")


def test_keys_are_judged_by_name() -> None:
    item = env("secretKeyRef", "s", "TOKEN")
    secret = {"name": "s", "type": "Opaque", "registries": [], "problems": []}
    assert only(judge(item, secrets=[{**secret, "keys": ["TOKEN"]}])) == ("ref_present", "pass")
    findings = judge(item, secrets=[{**secret, "keys": ["OTHER"]}])
    assert only(findings) == ("ref_key_missing", "fail")
    assert "keys: OTHER" in findings[0].evidence
    assert only(judge(item, secrets=[secret])) == ("ref_key_unknown", "unknown")
    config = env("configMapKeyRef", "c", "k")
    assert only(judge(config, configmaps=[{"name": "c", "keys": ["k"]}])) == ("ref_present", "pass")
    assert only(judge(config, configmaps=[{"name": "c", "keys": []}])) == ("ref_key_missing", "fail")


def test_the_hugging_face_secret_needs_its_key() -> None:
    item = pod(containers=[{"envFrom": [{"secretRef": {"name": "hf-token-secret"}}]}])
    secret = {"name": "hf-token-secret", "type": "Opaque"}
    assert only(judge(item, secrets=[{**secret, "keys": ["HF_TOKEN"]}])) == ("ref_present", "pass")
    assert only(judge(item, secrets=[{**secret, "keys": ["token"]}])) == ("ref_hf_token_missing", "warn")
    assert only(judge(item, secrets=[secret])) == ("ref_key_unknown", "unknown")
    other = pod(containers=[{"envFrom": [{"secretRef": {"name": "other"}}]}])
    assert only(judge(other, secrets=[{"name": "other"}])) == ("ref_present", "pass")


@pytest.mark.parametrize(
    "claim", [{"status": {"phase": "Lost"}}, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}]
)
def test_a_claim_that_is_lost_or_going_is_of_no_use(claim: dict[str, Any]) -> None:
    item = pod(volumes=[{"persistentVolumeClaim": {"claimName": "c"}}])
    assert only(judge(item, persistentvolumeclaims=[named("c", **claim)])) == ("ref_claim_unusable", "fail")
    waiting = named("c", status={"phase": "Pending"})
    assert only(judge(item, persistentvolumeclaims=[waiting])) == ("ref_present", "pass")


def test_a_claim_without_a_class_needs_a_default_one() -> None:
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": {}}
    findings = judge(claim, storageclasses=[named("std")])
    assert only(findings) == ("ref_no_default_storage_class", "warn")
    assert "std" in findings[0].remedy
    default = named("std", metadata={"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}})
    assert judge(claim, storageclasses=[default]) == []
    bound = named("c", status={"phase": "Bound"})
    assert judge(claim, persistentvolumeclaims=[bound]) == []
    assert judge({**claim, "spec": {"storageClassName": ""}}) == []
    assert judge(claim, states={"storageclasses": "forbidden"}) == []


def test_a_missing_class_names_those_there_are() -> None:
    claim = {"kind": "PersistentVolumeClaim", "spec": {"storageClassName": "your-storage-class"}}
    default = named("std", metadata={"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}})
    assert "std (default std)" in judge(claim, storageclasses=[default])[0].remedy
    assert "no storage class" in judge(claim)[0].remedy


def test_pull_secrets_can_be_left_to_their_own_judge() -> None:
    assert judge(pod(imagePullSecrets=[{"name": "x"}]), skip=True) == []


@pytest.mark.parametrize(
    ("image", "code", "outcome"),
    [
        ("Acme/App", "ref_image_invalid", "fail"),
        ("<your-image>", "ref_image_invalid", "fail"),
        ("${IMAGE}", "ref_image_invalid", "fail"),
        ("my-tag", "ref_image_placeholder", "warn"),
        ("nvcr.io/nvidia/x:my-tag", "ref_image_placeholder", "warn"),
        ("my-registry/x:1", "ref_image_placeholder", "warn"),
        ("nvcr.io/x", "ref_image_not_pinned", "warn"),
        ("nvcr.io/x:latest", "ref_image_not_pinned", "warn"),
    ],
)
def test_image_names_are_judged_without_a_cluster(image: str, code: str, outcome: str) -> None:
    findings = judge_images(references_of([pod(containers=[{"name": "c", "image": image}])]))
    assert [(finding.reason_code, finding.outcome) for finding in findings] == [(code, outcome)]
    assert findings[0].evidence == ("Pod/p: spec.containers[0].image",)


@pytest.mark.parametrize("image", ["nvcr.io/x:1.1.0", "mysql:8", "x@sha256:" + "a" * 64, "nvcr.io/todos:1"])
def test_good_image_names_say_nothing(image: str) -> None:
    assert judge_images(references_of([pod(containers=[{"image": image}])])) == ()


def test_many_users_are_counted() -> None:
    containers = [{"envFrom": [{"secretRef": {"name": "x"}}]} for _unused in range(9)]
    assert judge(pod(containers=containers))[0].evidence[-1] == "and 4 more"
