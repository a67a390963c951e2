# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict an image gets, and every reason code of the check."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.docker_secrets import Problem, SecretEntry
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.findings import Finding
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.pull_request import match_request
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.pull_secrets import (
    ImageUse,
    MatchReport,
    MatchRequest,
    match_pull_secrets,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot import Snapshot

DOCKER = "kubernetes.io/dockerconfigjson"
IMAGE = "nvcr.io/nvidia/x:1"


def entry(name: str, *registries: str, kind: str = DOCKER, problems: tuple[str, ...] = ()) -> SecretEntry:
    return SecretEntry(name, "ml", kind, registries, tuple(map(Problem, problems)))


def judge(
    use: ImageUse | tuple[ImageUse, ...], *secrets: SecretEntry, release: str = "1.5", **more: Any
) -> MatchReport:
    uses = use if isinstance(use, tuple) else (use,)
    return match_pull_secrets(MatchRequest(uses, secrets, "ml", release, **more))


def found(report: MatchReport, code: str) -> Finding:
    return next(finding for finding in report.findings if finding.reason_code == code)


def test_attached_and_used() -> None:
    report = judge(ImageUse(IMAGE, "Worker main"), entry("ngc", "nvcr.io"), entry("idle", "nvcr.io/other"))
    match = report.images[0].to_result()
    assert match["verdict"] == "attached_and_used"
    assert match["operator"] == ["idle", "ngc"]
    assert match["kubelet"] == [{"secret": "ngc", "registry": "nvcr.io"}]
    assert match["not_usable"][0]["secret"] == "idle"
    finding = found(report, "pull_attached_and_used")
    assert (finding.outcome, finding.evidence) == ("pass", ("used by Worker main",))


def test_attached_but_not_usable_says_why() -> None:
    report = judge(ImageUse(IMAGE), entry("ngc", "nvcr.io/other"))
    assert report.images[0].verdict == "attached_not_usable"
    assert found(report, "pull_attached_not_usable").outcome == "warn"
    assert "path of its key nvcr.io/other" in report.images[0].why


@pytest.mark.parametrize(
    ("use", "why", "remedy"),
    [
        (ImageUse("docker.io/org/x:1", "Worker main"), "Docker Hub's aliases", "to extraPodSpec of Worker main"),
        (ImageUse("docker.io/org/x:1", "Job/d", discovery=False), "does not look for secrets here", "the pod's spec"),
    ],
)
def test_usable_but_not_attached_says_how_to_attach(use: ImageUse, why: str, remedy: str) -> None:
    report = judge(use, entry("hub", "https://index.docker.io/v1/"))
    finding = found(report, "pull_usable_not_attached")
    assert report.images[0].verdict == "usable_not_attached"
    assert report.images[0].usable == ("hub",)
    assert why in finding.message
    assert "imagePullSecrets: [{name: hub}]" in finding.remedy
    assert remedy in finding.remedy


def test_no_match_is_unknown_and_never_none_needed() -> None:
    report = judge(ImageUse("busybox:1.36"), entry("ngc", "nvcr.io"))
    assert report.images[0].verdict == "unknown"
    assert found(report, "pull_no_credentials").outcome == "unknown"
    assert "may be public" in report.images[0].why


def test_a_broken_secret_spoils_every_pull_of_its_pod() -> None:
    good, bad = entry("good", "nvcr.io"), entry("bad", "other.example", problems=("auth_without_colon",))
    report = judge(ImageUse(IMAGE, declared=("bad",)), bad, good)
    assert report.images[0].attached == ("bad", "good")
    assert report.images[0].verdict == "attached_not_usable"
    assert found(report, "pull_keyring_broken").outcome == "fail"
    assert found(report, "pull_secret_malformed").subject == "Secret/bad"
    alone = judge(ImageUse("busybox", declared=("bad",)), bad)
    assert found(alone, "pull_keyring_broken").outcome == "fail"


def test_secrets_named_but_missing_or_of_another_type() -> None:
    report = judge(ImageUse(IMAGE, "Worker main", declared=("gone", "odd")), entry("odd", kind="Opaque"))
    assert found(report, "pull_secret_missing").evidence == ("named by Worker main",)
    assert found(report, "pull_secret_missing").outcome == "fail"
    assert "type Opaque" in found(report, "pull_secret_wrong_type").message
    assert {item["why"] for item in report.images[0].to_result()["not_usable"]} == {
        "it does not exist",
        "it has type Opaque, which the kubelet does not read",
    }


def test_the_first_release_is_blocked_by_a_malformed_secret() -> None:
    secrets = (entry("bad", problems=("not_json",)), entry("good", "nvcr.io"))
    report = judge(ImageUse(IMAGE), *secrets, release="1.1")
    assert report.images[0].operator == ()
    assert report.images[0].verdict == "usable_not_attached"
    assert "blocked by the malformed ml/bad" in report.images[0].why
    assert found(report, "pull_index_blocked").outcome == "warn"
    assert judge(ImageUse(IMAGE), *secrets).images[0].verdict == "attached_and_used"
    sound = found(judge(ImageUse(IMAGE), secrets[1], release="1.1"), "pull_attached_and_used")
    assert "only ml was looked at" in sound.evidence[-1]


def test_an_image_that_is_no_image() -> None:
    report = judge(ImageUse("nvcr.io/NVIDIA/x:1"), entry("ngc", "nvcr.io"))
    assert report.images[0].verdict == "attached_not_usable"
    assert found(report, "pull_image_invalid").outcome == "fail"
    assert judge(ImageUse("<image>")).images[0].verdict == "unknown"


def test_secrets_that_may_not_be_read_make_all_unknown() -> None:
    report = judge(ImageUse(IMAGE, declared=("x",)), unreadable='needs verb "list" on secrets in namespace ml')
    assert report.images[0].verdict == "unknown"
    assert [finding.reason_code for finding in report.findings] == ["pull_secrets_unreadable"]
    assert 'needs verb "list" on secrets in namespace ml' in found(report, "pull_secrets_unreadable").message


def test_an_accounts_secrets_count_only_for_a_pod_without_its_own() -> None:
    accounts = {"default": ("hub",)}
    hub, ngc = entry("hub", "docker.io/org"), entry("ngc", "nvcr.io")
    alone = judge(ImageUse("docker.io/org/x:1", discovery=False), hub, service_accounts=accounts)
    assert alone.images[0].verdict == "attached_and_used"
    pod = (
        ImageUse("docker.io/org/x:1", pod="w", declared=("ngc",), discovery=False),
        ImageUse(IMAGE, pod="w", declared=("ngc",), discovery=False),
    )
    report = judge(pod, hub, ngc, service_accounts=accounts)
    assert report.images[0].verdict == "usable_not_attached"
    assert "service account default names hub" in report.images[0].why
    assert judge(ImageUse(IMAGE), service_accounts={"default": ("gone",)}).findings[-1].reason_code == (
        "pull_secret_missing"
    )


def test_what_one_container_brings_serves_the_whole_pod() -> None:
    pod = (ImageUse("nvcr.io/a/x:1", pod="w"), ImageUse("nvcr.io:443/a/y:1", pod="w", discovery=False))
    report = judge(pod, entry("both", "nvcr.io", "nvcr.io:443"))
    assert [match.verdict for match in report.images] == ["attached_and_used", "attached_and_used"]
    assert report.images[1].operator == ()


def test_rendered_pods_are_final_and_replicas_told_once() -> None:
    pod = {
        "metadata": {"name": "w"},
        "spec": {"containers": [{"name": "main", "image": IMAGE}], "imagePullSecrets": [{"name": "mine"}]},
    }
    pods = [
        {"name": f"w-{index}", "component": "Worker", "role": "main", "replica": index, "pod": pod} for index in (0, 1)
    ]
    job = {
        "kind": "Job",
        "metadata": {"name": "d"},
        "spec": {"template": {"spec": {"containers": [{"name": "c", "image": IMAGE}]}}},
    }
    params = {
        "pods": pods,
        "manifests": [job, {"kind": "PersistentVolumeClaim", "metadata": {"name": "p"}}],
        "secrets": [{"name": "ngc", "registries": ["nvcr.io"]}, {"name": "mine", "registries": ["ghcr.io"]}],
        "namespace": "ml",
    }
    report = match_pull_secrets(match_request(params, None))
    rendered, download = report.images
    assert (rendered.used_by, rendered.attached, rendered.operator) == (("Worker main",), ("mine",), ())
    assert rendered.verdict == "usable_not_attached"
    assert (download.used_by, download.verdict) == (("Job/d c",), "usable_not_attached")


def test_images_may_be_written_short_or_long() -> None:
    params = {
        "images": [
            IMAGE,
            {"image": IMAGE, "used_by": "x", "image_pull_secrets": ["a", {"name": "b"}], "discovery": False},
        ],
        "secrets": [],
        "service_accounts": {"default": ["c"]},
        "operator_release": "1.1",
    }
    request = match_request(params, None)
    assert request.uses[1].declared == ("a", "b")
    assert not request.uses[1].discovery
    assert (request.release, request.service_accounts) == ("1.1", {"default": ("c",)})
    assert not match_request({**params, "disable_discovery": True}, None).uses[0].discovery


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({"images": [7]}, "images[0]: must be an image's name"),
        ({"images": [{"name": "x"}]}, "images[0]: must be an image's name"),
        ({"images": [{"image": "x", "auth": "planted"}]}, "images[0]: auth: unknown field"),
        ({"images": [{"image": "x", "image_pull_secrets": "a"}]}, "image_pull_secrets: must be a list"),
        ({"secrets": [{"registries": []}]}, "secrets[0]: a secret must be a mapping with a name"),
        ({"service_accounts": {"default": "a"}}, "service_accounts: default: must be a list"),
        ({"operator_release": "9"}, "unknown operator release"),
        ({"pods": [{"name": "x"}]}, "pods[0]: pod: a pod demand needs a pod"),
    ],
)
def test_input_that_cannot_be_used_is_named(params: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError) as caught:
        match_request({"secrets": [], **params}, None)
    assert text in str(caught.value)
    assert "planted" not in str(caught.value)


def test_a_snapshot_gives_secrets_accounts_and_release() -> None:
    data = {
        "schema": "inference_ops.dynamo/snapshot/v1",
        "taken_at": "2026-01-01T00:00:00Z",
        "context": "c",
        "server_version": "v1.36.3",
        "namespace": "ml",
        "kinds": {
            "secrets": {"state": "observed", "detail": ""},
            "serviceaccounts": {"state": "observed", "detail": ""},
        },
        "secrets": [entry("ngc", "nvcr.io").to_snapshot()],
        "serviceaccounts": [{"metadata": {"name": "default"}, "imagePullSecrets": [{"name": "ngc"}]}],
        "operator": {"release": "1.1.0"},
    }
    request = match_request({"images": [IMAGE]}, Snapshot.from_plain(data))
    assert (request.release, request.service_accounts, request.unreadable) == ("1.1", {"default": ("ngc",)}, "")
    data["kinds"] = {"secrets": {"state": "forbidden", "detail": "needs list"}}
    request = match_request({"images": [IMAGE], "namespace": "ml"}, Snapshot.from_plain(data))
    assert (request.service_accounts, request.unreadable) == (None, "needs list")
    with pytest.raises(InputError, match="the snapshot looks at namespace ml"):
        match_request({"images": [IMAGE], "namespace": "other"}, Snapshot.from_plain(data))
