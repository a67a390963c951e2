# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""dgd_render end to end: what it returns, and one clear message for each kind of bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import RELEASES
from ansible_collections.inference_ops.dynamo.plugins.modules import dgd_render
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import Graph, alpha, beta, service


@pytest.fixture
def file_of(tmp_path: Path) -> Any:
    def write(*documents: Any, name: str = "deploy.yaml") -> str:
        path = tmp_path / name
        path.write_text("---\n".join(yaml.safe_dump(document, sort_keys=False) for document in documents))
        return str(path)

    return write


JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "download"}}


def test_a_file_is_rendered(run_module: Any, file_of: Any) -> None:
    outcome = run_module(dgd_render, {"src": file_of(JOB, alpha()), "operator_release": "1.1"})
    assert not outcome.failed
    result = outcome.result
    assert result["changed"] is False
    assert [pod["component"] for pod in result["pods"]] == ["Frontend", "Worker", "Worker"]
    assert {"Deployment", "Service", "Role"} <= {item["kind"] for item in result["objects"]}
    assert result["verdict"] == "pass"
    assert "diff" not in result


def test_data_is_rendered_and_the_dgd_chosen_by_name(run_module: Any) -> None:
    other = alpha()
    other["metadata"]["name"] = "other"
    args = {"definition": [JOB, alpha(), other], "name": "other", "operator_release": "1.1", "explain": True}
    outcome = run_module(dgd_render, {**args, "compare_to": "1.5"}, check=True, diff=True)
    assert outcome.result["name"] == "other"
    assert outcome.result["explanation"]
    assert outcome.result["changes"]["to"] == "1.5"
    assert set(outcome.result["diff"]["before"]) == {"Frontend", "Worker"}
    assert set(outcome.result["diff"]["after"]) == {"Frontend", "Worker"}


def test_snapshot_file_pull_secrets_and_operator_settings(run_module: Any, tmp_path: Path) -> None:
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_text(
        json.dumps(
            {
                "schema": "inference_ops.dynamo/snapshot/v1",
                "taken_at": "2026-01-01T00:00:00Z",
                "context": "c",
                "server_version": "v1",
                "namespace": "team-a",
                "kinds": {},
                "operator": {"release": "1.1.0", "grove": True},
            }
        )
    )
    args: dict[str, Any] = {
        "definition": alpha(),
        "snapshot": str(snapshot),
        "pull_secrets": [{"name": "mine", "registries": ["registry.example"]}],
        "operator_config": {"nats_address": "nats://x", "kai_scheduler": False},
        "kubeconfig": "/nowhere",
        "context": "unused",
    }
    outcome = run_module(dgd_render, args)
    assert (outcome.result["release"], outcome.result["pathway"]) == ("1.1", "grove")
    spec = outcome.result["pods"][0]["pod"]["spec"]
    assert spec["imagePullSecrets"] == [{"name": "mine"}]
    outcome = run_module(dgd_render, {**args, "snapshot": json.loads(snapshot.read_text())})
    assert outcome.result["release"] == "1.1"


def test_a_refused_graph_fails_or_is_reported(run_module: Any) -> None:
    args = {"definition": alpha({}), "operator_release": "1.5"}
    outcome = run_module(dgd_render, args)
    assert outcome.failed
    assert outcome.message == (
        "definition: release 1.5 refuses the DGD at validating-webhook: spec.components: "
        "at least one component is needed."
    )
    assert [item["rule"] for item in outcome.result["rejections"]] == ["no_components"]
    assert "objects" not in outcome.result
    outcome = run_module(dgd_render, {**args, "refused": "report"})
    assert not outcome.failed
    assert outcome.result["verdict"] == "fail"
    assert outcome.result["pods"] == []


def test_the_documentation_offers_every_release() -> None:
    options = yaml.safe_load(dgd_render.DOCUMENTATION)["options"]
    assert options["operator_release"]["choices"] == ["auto", *RELEASES]
    assert options["compare_to"]["choices"] == list(RELEASES)
    assert dgd_render.ARGS["operator_release"]["choices"] == ["auto", *RELEASES]


def broken(path: Path, text: bytes) -> str:
    path.write_bytes(text)
    return str(path)


BOMB = b"a: &a [x,x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 10)) for n in range(8)
)
FILES = [
    (b"a: [", "not YAML"),
    (b"a: 1\na: 2\n", "a: key given twice (found lines 1 and 2)"),
    (b"kind: Job\n", "kind: no DynamoGraphDeployment in the manifest (found Job)"),
    (b"", "no DynamoGraphDeployment in the manifest (found nothing)"),
    (b"- 1\n", "not a Kubernetes object"),
    (b"\xff\xfe", "not UTF-8 text at byte 0"),
    (b"[" * 400, "nested deeper than 100 levels"),
    (BOMB, "more than 200000 values"),
    (b"a: !vault x\n", "unknown tag !vault"),
]


@pytest.mark.parametrize(("content", "message"), FILES, ids=[message[:24] for _unused, message in FILES])
def test_files_that_are_no_manifest(run_module: Any, tmp_path: Path, content: bytes, message: str) -> None:
    path = broken(tmp_path / "deploy.yaml", content)
    outcome = run_module(dgd_render, {"src": path})
    assert outcome.failed
    assert outcome.message.startswith(path if content else "manifest")
    assert message in outcome.message
    assert "\n" not in outcome.message


def with_change(**over: Any) -> Graph:
    return alpha() | over


GRAPHS = [
    ([alpha(), alpha()], {}, "metadata.name: 2 objects of kind DynamoGraphDeployment (found demo, demo)"),
    ([alpha()], {"name": "x"}, "metadata.name: no DynamoGraphDeployment named x (found demo)"),
    (with_change(apiVersion="nvidia.com/v2"), {}, "apiVersion: unknown apiVersion"),
    (with_change(metadata={}), {}, "metadata.name: a name is needed"),
    (with_change(spec=[]), {}, "spec: must be a mapping"),
    (alpha({"W": service(replicas="two")}), {}, "spec.services[W].replicas: a whole number is needed, found 'two'"),
    (alpha({"W": service(replicas=10**30)}), {}, "spec.services[W].replicas: a number between"),
    (alpha({"W": service(resources={"limits": {"gpu": 4}})}), {}, "text is needed, found 4; put it in quotes"),
    (alpha({"W": service(sharedMemory={"size": "9" * 80})}), {}, "sharedMemory.size: not a resource quantity"),
    (alpha({"W": service(resources={"limits": {"cpu": "lots"}})}), {}, "not a resource quantity"),
    (alpha(), {"namespace": "Not_One"}, "the manifest's namespace is not Not_One"),
    (beta(), {"operator_release": "1.1"}, "apiVersion: release 1.1 serves only nvidia.com/v1alpha1"),
    (alpha(), {"snapshot": {"schema": "x"}}, "snapshot: schema: not a snapshot"),
    (alpha(), {"snapshot": "/nowhere.json"}, "/nowhere.json: there is no such file"),
    ("text", {}, "not a Kubernetes object"),
    (5, {}, "not a Kubernetes object"),
]


@pytest.mark.parametrize(("definition", "args", "message"), GRAPHS, ids=[message[:40] for *_unused, message in GRAPHS])
def test_graphs_that_cannot_be_rendered(run_module: Any, definition: Any, args: dict[str, Any], message: str) -> None:
    outcome = run_module(dgd_render, {"operator_release": "1.5", "definition": definition, **args})
    assert outcome.failed
    assert message in outcome.message
    assert "\n" not in outcome.message
    assert "Traceback" not in json.dumps(outcome.result)


def test_a_missing_file_and_missing_arguments(run_module: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "none.yaml")
    assert run_module(dgd_render, {"src": path}).message == f"{path}: no such file."
    assert "one of the following is required: src, definition" in run_module(dgd_render, {}).message
    both = run_module(dgd_render, {"src": path, "definition": alpha()})
    assert "mutually exclusive" in both.message
    wrong = run_module(dgd_render, {"definition": alpha(), "operator_release": "9"})
    assert "value of operator_release must be one of" in wrong.message
