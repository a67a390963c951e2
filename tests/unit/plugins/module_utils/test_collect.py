# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking a snapshot from a double of an API server, and keeping it in a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kubernetes")

from ansible_collections.inference_ops.dynamo.plugins.module_utils.collect import collect_snapshot
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot import Snapshot
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import Kube, connect
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube_errors import (
    KubeError,
    Unauthorized,
    Unreachable,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.snapshots import load_snapshot, save_snapshot
from ansible_collections.inference_ops.dynamo.tests.doubles.cluster import planted, serve_cluster
from ansible_collections.inference_ops.dynamo.tests.doubles.fake_api import Answer, FakeApi, forbidden, status

SECRETS = "/api/v1/namespaces/ml/secrets"


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi() as fake:
        serve_cluster(fake)
        yield fake


@pytest.fixture
def kube(api: FakeApi) -> Kube:
    return connect({"host": api.url}, agent="test", sleep=lambda _seconds: None)


def take(kube: Kube, **options: Any) -> Snapshot:
    data = collect_snapshot(kube, "ml", taken_at="2026-01-01T00:00:00Z", **options)
    return Snapshot.from_plain(json.loads(json.dumps(data)))


def test_one_look_at_all_that_a_judge_needs(kube: Kube, api: FakeApi) -> None:
    snapshot = take(kube, secret_names=["hf-token-secret", "absent"])
    not_observed = {name for name, state in snapshot.kinds.items() if state.state != "observed"}
    assert not_observed == {"podcliquesets", "clustertopologies", "clustertopologybindings"}, "Grove's API is not there"
    assert snapshot.state("podcliquesets").state == "absent"
    assert snapshot.server_version == "v1.36.3"
    assert (snapshot.operator.release, snapshot.operator.gates["grove"]) == ("1.5.0", False)
    assert [(pod["metadata"]["name"]) for pod in snapshot.items("pods")] == ["own", "other"]
    found = {secret.name: secret for secret in snapshot.secrets}
    assert found["hf-token-secret"].keys == ("HF_TOKEN",)
    assert found["ngc"].registries == ("https://nvcr.io/v2/",)
    assert [problem.code for problem in found["bad"].problems] == ["not_json"]
    assert snapshot.exists("secrets", "absent") is False
    # One request a kind; two more for pods elsewhere and pull secrets, and one for each secret asked for that is there.
    assert snapshot.data["api_requests"] == len(api.requests) <= len(snapshot.kinds) + 6


def test_values_are_read_only_where_they_are_needed(kube: Kube, api: FakeApi) -> None:
    take(kube)
    accepts = [request.headers["accept"] for request in api.asked(SECRETS)]
    assert "as=Table" in accepts[0]
    assert [request.params["fieldSelector"] for request in api.asked(SECRETS)[1:]] == [
        "type=kubernetes.io/dockerconfigjson"
    ]
    assert api.asked(f"{SECRETS}/hf-token-secret") == []


def test_no_credential_comes_out(kube: Kube, tmp_path: Path) -> None:
    data = collect_snapshot(kube, "ml", secret_names=["hf-token-secret", "ngc"])
    path = tmp_path / "snapshot.json"
    assert save_snapshot(str(path), data)
    for text in planted():
        assert text not in path.read_text(encoding="utf-8")
        assert text not in json.dumps(data)


def test_what_may_not_be_read_is_recorded_with_the_permission(kube: Kube, api: FakeApi) -> None:
    api.fixed["/api/v1/nodes"] = forbidden("nodes")
    api.fixed["/api/v1/pods"] = forbidden("pods")
    api.fixed["/api/v1/namespaces"] = forbidden("namespaces")
    api.fixed["/api/v1/namespaces/ml"] = Answer(body={"metadata": {"name": "ml"}})
    api.fixed[SECRETS] = forbidden("secrets")
    api.fixed[f"{SECRETS}/locked"] = forbidden("secrets")
    api.fixed["/apis/apps/v1/deployments"] = forbidden("deployments")
    snapshot = take(kube, secret_names=["hf-token-secret", "locked", "gone"])
    state = snapshot.state("nodes")
    assert (state.state, state.detail) == ("forbidden", 'needs verb "list" on nodes in the whole cluster (ClusterRole)')
    assert snapshot.state("pods").partial == "namespace ml"
    assert [pod["metadata"]["name"] for pod in snapshot.items("pods")] == ["own"]
    assert snapshot.exists("namespaces", "ml") is True
    assert snapshot.exists("secrets", "hf-token-secret") is True
    assert snapshot.exists("secrets", "gone") is False
    assert snapshot.exists("secrets", "locked") is None
    assert snapshot.state("secrets").detail == 'needs verb "list" on secrets in namespace ml'
    assert snapshot.operator.ready is None
    assert "deployments.apps" in snapshot.operator.evidence


def test_a_namespace_that_is_not_there(kube: Kube, api: FakeApi) -> None:
    api.fixed["/api/v1/namespaces"] = forbidden("namespaces")
    api.fixed["/api/v1/namespaces/ml"] = status(404, "NotFound", "no", name="ml")
    assert take(kube, kinds=["namespaces"]).exists("namespaces", "ml") is False


def test_one_kind_that_fails_leaves_the_others(kube: Kube, api: FakeApi) -> None:
    api.fixed["/api/v1/nodes"] = status(500, "InternalError", "etcd is slow")
    snapshot = take(kube)
    assert snapshot.state("nodes").state == "error"
    assert "etcd is slow" in snapshot.state("nodes").detail
    assert snapshot.state("pods").state == "observed"


def test_a_server_that_cannot_be_asked_is_an_error(kube: Kube, api: FakeApi) -> None:
    api.fixed["/api/v1/nodes"] = Answer(401, {"kind": "Status", "reason": "Unauthorized"})
    with pytest.raises(Unauthorized):
        take(kube)
    api.fixed["/api/v1/nodes"] = Answer(drop=True)
    with pytest.raises(Unreachable):
        take(kube)
    api.fixed["/version"] = status(500, "InternalError", "down")
    with pytest.raises(KubeError, match="down"):
        take(kube)


def test_without_discovery_every_kind_is_asked_for(kube: Kube, api: FakeApi) -> None:
    api.fixed["/apis"] = forbidden("discovery")
    snapshot = take(kube)
    assert snapshot.api_groups is None
    assert snapshot.state("podcliquesets").state == "observed"
    assert set(snapshot.operator.gates.values()) == {None}


def test_an_old_server_names_no_resources(kube: Kube, api: FakeApi) -> None:
    groups = [
        {"name": "nvidia.com", "versions": [{"version": "v1alpha1"}], "preferredVersion": {"version": "v1alpha1"}}
    ]
    api.fixed["/apis"] = Answer(body={"kind": "APIGroupList", "groups": groups})
    snapshot = take(kube)
    assert snapshot.state("dynamographdeployments").state == "observed"
    assert snapshot.state("leaderworkersets").state == "absent"
    assert snapshot.data["api_resources"] == []


def test_the_servers_preferred_version_is_read(kube: Kube, api: FakeApi) -> None:
    resource = {"resource": "dynamographdeployments", "responseKind": {"kind": "DynamoGraphDeployment"}}
    versions = [{"version": name, "resources": [resource]} for name in ("v1beta1", "v1alpha1")]
    api.fixed["/apis"] = Answer(
        body={"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "nvidia.com"}, "versions": versions}]}
    )
    path = "/apis/nvidia.com/v1beta1/namespaces/ml/dynamographdeployments"
    api.add_list(path, "DynamoGraphDeployment", [], "nvidia.com/v1beta1")
    assert take(kube, kinds=["dynamographdeployments"]).state("dynamographdeployments").state == "observed"
    assert len(api.asked(path)) == 1


def test_definitions_are_listed_without_their_schemas(kube: Kube, api: FakeApi) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    item = {"metadata": {"name": "dynamographdeployments.nvidia.com"}, "spec": {"schema": "large"}}
    api.add_list(path, "CustomResourceDefinition", [item], "apiextensions.k8s.io/v1")
    assert take(kube, kinds=["customresourcedefinitions"]).items("customresourcedefinitions") == (
        {"metadata": {"name": "dynamographdeployments.nvidia.com"}, "versions": ["v1alpha1"]},
    )


def _storage(api: FakeApi, *, count: int | None, tells: bool) -> None:
    """Give the double a class of a driver, a node that limits it or not, and a driver that tells its space or not."""
    group = "/apis/storage.k8s.io/v1"
    storage_class = {
        "metadata": {"name": "fast"},
        "provisioner": "csi.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    driver = {"name": "csi.example.com", "nodeID": "i-1", **({"allocatable": {"count": count}} if count else {})}
    for plural, kind, item in (
        ("storageclasses", "StorageClass", storage_class),
        ("csinodes", "CSINode", {"metadata": {"name": "n"}, "spec": {"drivers": [driver]}}),
        ("csidrivers", "CSIDriver", {"metadata": {"name": "csi.example.com"}, "spec": {"storageCapacity": tells}}),
    ):
        api.add_list(f"{group}/{plural}", kind, [item], "storage.k8s.io/v1")


DRIVER_KINDS = ("csinodes", "csidrivers", "volumeattachments", "csistoragecapacities")


@pytest.mark.parametrize(
    ("count", "tells", "read"),
    [
        (None, False, DRIVER_KINDS[:2]),
        (5, False, DRIVER_KINDS[:3]),
        (None, True, ("csinodes", "csidrivers", "csistoragecapacities")),
        (5, True, DRIVER_KINDS),
    ],
)
def test_what_drivers_say_is_read_where_it_can_matter(
    kube: Kube, api: FakeApi, count: int | None, tells: bool, read: tuple[str, ...]
) -> None:
    assert not set(DRIVER_KINDS) & set(take(kube).kinds), "no volume here is a driver's"
    _storage(api, count=count, tells=tells)
    snapshot = take(kube)
    assert {kind for kind in DRIVER_KINDS if snapshot.state(kind).state == "observed"} == set(read)
    assert snapshot.items("csinodes")[0]["spec"] == {
        "drivers": [{"name": "csi.example.com", **({"allocatable": {"count": count}} if count else {})}]
    }


def test_what_drivers_say_is_not_asked_for_where_nothing_can_be_judged(kube: Kube, api: FakeApi) -> None:
    _storage(api, count=5, tells=True)
    api.fixed["/api/v1/nodes"] = forbidden("nodes")
    assert not set(DRIVER_KINDS) & set(take(kube).kinds)
    # Asked for by themselves they are read.
    assert take(kube, kinds=DRIVER_KINDS).state("csistoragecapacities").state == "observed"


def test_what_drivers_say_may_be_forbidden(kube: Kube, api: FakeApi) -> None:
    _storage(api, count=5, tells=True)
    for plural in ("csinodes", "csidrivers"):
        api.fixed[f"/apis/storage.k8s.io/v1/{plural}"] = forbidden(plural)
    snapshot = take(kube)
    states = {kind: snapshot.state(kind).state for kind in DRIVER_KINDS}
    assert states == dict(zip(DRIVER_KINDS, ("forbidden", "forbidden", "not_collected", "not_collected"), strict=True))


def test_a_server_without_tables_is_read_all_the_same(kube: Kube, api: FakeApi) -> None:
    full = {"kind": "SecretList", "apiVersion": "v1", "metadata": {}, "items": api.lists[SECRETS]}
    api.script(SECRETS, Answer(body=full))
    assert {secret.name for secret in take(kube, kinds=["secrets"]).secrets} == {"hf-token-secret", "ngc", "bad"}


def test_an_unknown_kind_is_told_before_anything_is_asked(kube: Kube, api: FakeApi) -> None:
    with pytest.raises(InputError, match="no snapshot holds ghosts"):
        take(kube, kinds=["ghosts"])
    assert api.requests == []


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Answer(body={"metadata": {"name": "a"}}), "accepted"),
        (status(422, "Invalid", "spec.x: bad"), "refused"),
        (status(403, "Forbidden", 'User "u" cannot patch resource "configmaps"'), "forbidden"),
        (status(403, "Forbidden", "exceeded quota: q"), "refused"),
        (status(409, "Conflict", "conflict with helm"), "conflict"),
        (status(500, "", "failed to create typed patch object: field not declared in schema"), "refused"),
        (status(500, "InternalError", "failed calling webhook"), "error"),
    ],
)
def test_what_the_server_says_to_a_dry_run(kube: Kube, api: FakeApi, answer: Answer, outcome: str) -> None:
    path = "/api/v1/namespaces/ml/configmaps/a"
    api.fixed[path] = answer
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    run = take(kube, kinds=[], dry_run=[item]).data["dry_runs"][0]
    assert (run["outcome"], run["namespace"]) == (outcome, "ml")
    assert api.asked(path)[0].params["dryRun"] == "All"


def test_a_dry_run_of_a_kind_that_is_not_there(kube: Kube, api: FakeApi) -> None:
    items = [
        {"apiVersion": "example.io/v1", "kind": "Odd", "metadata": {"name": "a"}},
        {"apiVersion": "nvidia.com/v9", "kind": "DynamoGraphDeployment", "metadata": {"name": "a"}},
    ]
    runs = take(kube, kinds=[], dry_run=items).data["dry_runs"]
    assert [(run["outcome"], run["code"]) for run in runs] == [("refused", 404), ("refused", 404)]
    api.fixed["/apis"] = forbidden("discovery")
    path = "/apis/nvidia.com/v1alpha1/namespaces/ml/dynamographdeployments/a"
    api.fixed[path] = Answer(body={})
    item = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "a"}}
    assert take(kube, kinds=[], dry_run=[item]).data["dry_runs"][0]["outcome"] == "accepted"
    api.fixed[path] = Answer(drop=True)
    with pytest.raises(Unreachable):
        take(kube, kinds=[], dry_run=[item])


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_snapshot_survives_its_file(kube: Kube, tmp_path: Path) -> None:
    data = collect_snapshot(kube, "ml")
    path = str(tmp_path / "snapshot.json")
    assert save_snapshot(path, data) is True
    assert save_snapshot(path, data) is False
    assert load_snapshot(path).data == json.loads(json.dumps(data))


@pytest.mark.parametrize(
    ("content", "text"),
    [(None, "no such file"), ("{", "is not at line 1"), ("[" * 100_000, "this is not"), ("{}", "not a snapshot")],
)
def test_a_file_that_is_no_snapshot(tmp_path: Path, content: str | None, text: str) -> None:
    path = tmp_path / "odd.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_snapshot(str(path))
    assert text in str(caught.value)
    assert str(path) in str(caught.value)
