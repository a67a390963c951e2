# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which document is the DGD, and one clear message for each way in which a manifest is none."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.manifest import (
    MAX_VALUES,
    check_names,
    choose_dgd,
    documents_of,
    is_label,
    is_subdomain,
    support_documents,
)


def dgd(name: object = "agg", **over: Any) -> dict[str, Any]:
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": name},
        "spec": {},
    } | over


JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "download"}}
PVC = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "cache"}}


def test_the_only_dgd_is_chosen_and_one_of_several_by_name() -> None:
    assert choose_dgd(documents_of([JOB, dgd()])).name == "agg"
    assert choose_dgd(documents_of({"kind": "List", "items": [dgd("a"), dgd("b"), JOB]}), "b").name == "b"


def test_a_typed_list_is_opened_and_names_its_items() -> None:
    kinds = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeploymentList"}
    assert choose_dgd(documents_of({**kinds, "items": [dgd()]})).name == "agg"
    (bare,) = documents_of({**kinds, "items": [{"metadata": {"name": "b"}, "spec": {}}]})
    assert (bare.api_version, bare.kind, bare.name) == ("nvidia.com/v1alpha1", "DynamoGraphDeployment", "b")


def test_support_manifests_are_all_others() -> None:
    documents = documents_of([JOB, dgd(), PVC])
    assert [document.kind for document in support_documents(documents)] == ["Job", "PersistentVolumeClaim"]
    assert [document.name for document in support_documents(documents, ("Job",))] == ["download"]


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        ([JOB, PVC], "", "m: kind: no DynamoGraphDeployment in the manifest (found Job, PersistentVolumeClaim)."),
        ([], "", "manifest: kind: no DynamoGraphDeployment in the manifest (found nothing)."),
        ([{"a": 1}], "", "m: kind: no DynamoGraphDeployment in the manifest (found an object without kind)."),
        (
            [dgd("a"), dgd("b")],
            "",
            "m: metadata.name: 2 objects of kind DynamoGraphDeployment (found a, b). Say which one by its name.",
        ),
        (
            [dgd("a"), dgd("a")],
            "a",
            "m: metadata.name: 2 objects of kind DynamoGraphDeployment named a (found a, a). Give each another name.",
        ),
        ([dgd("a")], "c", "m: metadata.name: no DynamoGraphDeployment named c (found a)."),
        (
            [dgd(apiVersion="nvidia.com/v2")],
            "",
            "m: apiVersion: unknown apiVersion of a DynamoGraphDeployment (found 'nvidia.com/v2')."
            " Known are nvidia.com/v1alpha1 and nvidia.com/v1beta1.",
        ),
        ([dgd(apiVersion=None)], "", "m: apiVersion: unknown apiVersion of a DynamoGraphDeployment (found None)."),
        ([JOB, dgd(metadata=None)], "", "m (document 2): metadata: must be a mapping (found None)."),
        ([dgd(7)], "", "m: metadata.name: a name is needed (found 7)."),
        ([dgd(metadata={"name": "a", "namespace": 1})], "", "m: metadata.namespace: must be text (found 1)."),
        (
            [dgd(metadata={"name": "a", "annotations": {"x": True}})],
            "",
            "m: metadata.annotations[x]: must be text (found True). Put it in quotes.",
        ),
        ([dgd(metadata={"name": "a", "labels": []})], "", "m: metadata.labels: must be a mapping of text to text"),
        ([dgd(spec=[])], "", "m: spec: must be a mapping (found [])."),
        (["text"], "", "m: not a Kubernetes object: a mapping is needed (found 'text')."),
        ([JOB, 5], "", "m (document 2): not a Kubernetes object"),
        ({"kind": "List", "items": 5}, "", "m: items: items of a List must be a list (found 5)."),
        ({"kind": "List", "items": [5]}, "", "m: items[0]: not a Kubernetes object: a mapping is needed (found 5)."),
        ({"a": {1: 2}}, "", "m: a: a key must be text (found 1)."),
        ({"a": [b"x"]}, "", "m: a[0]: a value that JSON cannot hold (found b'x')."),
        ({"a": float("nan")}, "", "m: a: not a finite number (found nan)."),
        ({"a": "\ud800"}, "", "m: a: text that is not valid Unicode"),
        ([0] * (MAX_VALUES + 1), "", "m: more than 200000 values. Split the manifest."),
    ],
)
def test_what_is_no_usable_manifest(data: Any, name: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        choose_dgd(documents_of(data, "m"), name)
    assert str(raised.value).startswith(message)


def test_data_that_holds_itself_is_too_deep() -> None:
    data: dict[str, Any] = dgd()
    data["spec"]["self"] = data
    with pytest.raises(InputError, match=r"m: self.spec.self|nested deeper than 100 levels"):
        documents_of(data, "m")


def test_names_and_namespaces() -> None:
    (document,) = documents_of(dgd(metadata={"name": "agg.v1", "namespace": "team-a"}), "m")
    assert check_names(document) == "team-a"
    assert check_names(document, "team-a") == "team-a"
    assert check_names(documents_of(dgd())[0], "x") == "x"
    assert check_names(documents_of(dgd())[0]) == "default"
    with pytest.raises(InputError, match=r"m: metadata.namespace: the manifest's namespace is not b.*found 'team-a'"):
        check_names(document, "b")
    with pytest.raises(InputError, match=r"definition: metadata.name: not a Kubernetes object name.*found 'Agg'"):
        check_names(documents_of(dgd("Agg"))[0])
    with pytest.raises(InputError, match=r"definition: metadata.namespace: not a namespace name.*<your-namespace>"):
        check_names(documents_of(dgd(metadata={"name": "a", "namespace": "<your-namespace>"}))[0])
    with pytest.raises(InputError, match=r"^namespace: not a namespace name"):
        check_names(documents_of(dgd())[0], "A_b")
    assert is_subdomain("a.b-c.d1")
    assert not is_subdomain("a..b")
    assert not is_label("-a")
    assert not is_label("a" * 64)
