# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The context entry: found where it stands, changed in its line, everything else kept byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.modules import experiment_context

from .conftest import RunModule

FULL = """\
# who, when
experiment: llama   # the name

cluster:
  context: "old one"  # where it ran
  nodes: [a, b]
notes: |
  context: not this one
"""


@pytest.mark.parametrize(
    ("before", "after", "entry", "previous"),
    [
        (FULL, FULL.replace('"old one"', "gpu-east"), "cluster.context", "old one"),
        ("kube_context: a\r\nx: 1\r\n", "kube_context: gpu-east\r\nx: 1\r\n", "kube_context", "a"),
        ("cluster_context: 'it''s'\n", "cluster_context: gpu-east\n", "cluster_context", "it's"),
        ("kubernetes:\n    x: 1\n    kube_context: a", None, "kubernetes.kube_context", "a"),
        ("x: {context: no}\ncontext: a\n", "x: {context: no}\ncontext: gpu-east\n", "context", "a"),
        ("cluster: a\n", "cluster: gpu-east\n", "cluster", "a"),
        ("x: 1", "x: 1\ncluster_context: gpu-east\n", "cluster_context", ""),
        ("", "cluster_context: gpu-east\n", "cluster_context", ""),
        ("context: gpu-east\n", "context: gpu-east\n", "context", "gpu-east"),
    ],
)
def test_one_entry_changes(
    tmp_path: Path, run_module: RunModule, before: str, after: str | None, entry: str, previous: str
) -> None:
    path = tmp_path / "manifest.yaml"
    path.write_bytes(before.encode())
    wanted = before.replace("kube_context: a", "kube_context: gpu-east") if after is None else after
    arguments = {"path": str(tmp_path), "context": "gpu-east"}
    checked = run_module(experiment_context, arguments, check=True)
    assert path.read_bytes() == before.encode()
    outcome = run_module(experiment_context, arguments)
    assert not outcome.failed, outcome.message
    assert path.read_bytes() == wanted.encode()
    assert outcome.result["changed"] is checked.result["changed"] is (wanted != before)
    assert (outcome.result["entry"], outcome.result["previous"]) == (entry, previous)
    assert outcome.result["diff"]["after"] == wanted
    assert run_module(experiment_context, arguments).result["changed"] is False


@pytest.mark.parametrize("context", ["arn:aws:eks:eu-1:1:cluster/a", "yes", "a b", "ü", "1", 'q"q'])
def test_any_name_reads_back_as_itself(tmp_path: Path, run_module: RunModule, context: str) -> None:
    path = tmp_path / "manifest.yaml"
    path.write_text("context: a # x\n")
    run_module(experiment_context, {"path": str(path), "context": context})
    again = run_module(experiment_context, {"path": str(path), "context": context})
    assert (again.result["changed"], again.result["previous"]) == (False, context)
    assert path.read_text().endswith(" # x\n")


def test_a_root_without_the_file_is_left_alone(tmp_path: Path, run_module: RunModule) -> None:
    outcome = run_module(experiment_context, {"path": str(tmp_path), "context": "a"})
    assert (outcome.result["exists"], outcome.result["changed"]) == (False, False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n", "must be a mapping"),
        ("a: 1\na: 2\n", "key given twice"),
        ("a: [\n", "not YAML"),
        ("context: 7\n", "context: must be text"),
        ("{context: a}\n", "context: the entry is not written on a line of its own"),
        ("context: >-\n  a\n", "context: the entry is not written on a line of its own"),
        ("a: 1\n---\nb: 1\n", "must be one document"),
    ],
)
def test_what_is_refused_stays_as_it_is(tmp_path: Path, run_module: RunModule, text: str, said: str) -> None:
    path = tmp_path / "manifest.yaml"
    path.write_text(text)
    outcome = run_module(experiment_context, {"path": str(path), "context": "b"})
    assert outcome.failed
    assert said in outcome.message
    assert path.read_text() == text


def test_an_empty_context_is_refused(tmp_path: Path, run_module: RunModule) -> None:
    arguments: dict[str, Any] = {"path": str(tmp_path), "context": ""}
    assert "context: must not be empty" in run_module(experiment_context, arguments).message
