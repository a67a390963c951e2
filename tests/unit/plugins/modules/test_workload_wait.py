# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module workload_wait: options in, a request out, and one message for what cannot be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ansible.module_utils.basic")

from ansible.module_utils.testing import patch_module_args
from ansible_collections.inference_ops.dynamo.plugins.module_utils._argspec import KUBE_ARGS
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.readiness import DEFAULT_GRACES
from ansible_collections.inference_ops.dynamo.plugins.modules import workload_wait
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.builders import (
    dgd,
    pending,
    ready_pod,
)

GIVEN: dict[str, Any] = {"wait_for": "dgd", "namespace": "team-a", "names": ["demo"]}


def run(capsys: pytest.CaptureFixture[str], **options: Any) -> dict[str, Any]:
    with patch_module_args({**GIVEN, **options}), pytest.raises(SystemExit):
        workload_wait.main()
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def dump(folder: Path, *pods: Any) -> str:
    (folder / "all.json").write_text(json.dumps({"kind": "List", "items": [dgd(), *pods]}), encoding="utf-8")
    return str(folder)


def defaults(**options: Any) -> dict[str, Any]:
    return {name: spec.get("default") for name, spec in workload_wait.ARGUMENTS.items()} | GIVEN | options


def test_files_are_judged_without_a_context(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tainted = pending("0/1 nodes are available: 1 node(s) had untolerated taint(s).")
    result = run(capsys, dumps=dump(tmp_path, ready_pod("demo-frontend-0", "Frontend"), tainted))
    assert (result["state"], result["category"], result["way"]) == ("failed", "taint", "failed_deploy")
    assert (result["changed"], result["api_requests"], result["kinds"]) == (False, 0, {})
    assert "failed" not in result, "the play decides"


@pytest.mark.parametrize("broken", [{"spec": "text"}, {"status": {"conditions": "text"}}, {"metadata": {"labels": 3}}])
def test_files_that_are_no_objects_give_one_message(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, broken: dict[str, Any]
) -> None:
    folder = dump(tmp_path, {**ready_pod("demo-worker-0"), **broken})
    result = run(capsys, dumps=folder)
    if result.get("failed"):
        assert "not shaped as the API serves it" in result["msg"]
    else:
        assert result["state"] == "progressing"


def test_the_task_fails_only_when_asked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    result = run(capsys, dumps=dump(tmp_path), fail=True)
    assert result["failed"] is True
    assert result["state"] == "progressing"
    assert result["msg"].startswith("dgd demo")


def test_a_cluster_needs_a_context(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys)
    assert result["failed"] is True
    assert "context" in result["msg"]
    assert "Traceback" not in result["msg"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": []}, "names"),
        ({"names": ["a", "b"]}, "one name for a DGD"),
        ({"kind": "Widget"}, "unknown kind"),
        ({"timeout": -1}, "timeout: too small"),
        ({"progress_interval": 0}, "progress_interval: too small"),
        ({"pods": [{"name": "x"}]}, "a pod demand needs a pod"),
        ({"dumps": "/no/such/folder"}, "no such folder"),
    ],
)
def test_what_cannot_be_used_gives_one_message(
    capsys: pytest.CaptureFixture[str], options: dict[str, Any], message: str
) -> None:
    result = run(capsys, **options)
    assert result["failed"] is True
    assert message in result["msg"]


def test_options_make_the_request() -> None:
    request = workload_wait.parse(
        defaults(
            timeout=60,
            graces={"crash": 5, "image": 9},
            wait_for="deletion",
            kind="Job",
            api_version="batch/v1",
            uids={"demo": "u"},
        )
    )
    assert (request.plural, request.api_version, request.dgd) == ("jobs", "batch/v1", "")
    assert request.policy.graces == {"crash": 5, "image": 9}
    assert (request.policy.timeout, request.policy.stable_for) == (60, 0)
    assert workload_wait.parse(defaults(stable_for=7)).policy.stable_for == 7
    assert request.uids == {"demo": "u"}


def test_many_names_are_for_jobs() -> None:
    assert workload_wait.parse(defaults(wait_for="jobs", names=["a", "b"])).names == ("a", "b")
    with pytest.raises(InputError):
        workload_wait.parse(defaults(wait_for="jobs", names=[]))


def test_every_option_is_documented_and_every_grace_has_its_default() -> None:
    yaml = pytest.importorskip("yaml")
    documented = yaml.safe_load(workload_wait.DOCUMENTATION)["options"]
    assert set(documented) == set(workload_wait.ARGUMENTS) - set(KUBE_ARGS)
    for name, spec in documented.items():
        argument = workload_wait.ARGUMENTS[name]
        assert spec["type"] == argument["type"], name
        assert spec.get("default") == argument.get("default"), name
    graces = documented["graces"]["suboptions"]
    assert set(graces) == set(DEFAULT_GRACES)
    for name, seconds in DEFAULT_GRACES.items():
        assert graces[name]["default"] == seconds
