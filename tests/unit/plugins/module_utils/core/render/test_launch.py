# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flags, quotes and names of multinode pods (rules 1.3, 7, 7.0)."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import launch, names
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.semver import parse_version


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("plain-word_1=x", "plain-word_1=x"),
        ("a b", '"a b"'),
        ('{"a":"b c"}', '"{\\"a\\":\\"b c\\"}"'),
        ("$HOME", '"\\$HOME"'),
        ("`x`", '"\\`x\\`"'),
        ("it's", '"it\'"\'"\'s"'),
        ("", ""),
    ],
)
def test_words_are_quoted_only_where_they_must_be(word: str, quoted: str) -> None:
    assert launch.quote(word) == quoted


def test_an_empty_word_leaves_a_double_space() -> None:
    assert launch.quoted(["a", "", "b"]) == "a  b"


def test_posix_quotes() -> None:
    assert launch.posix_quoted(["a", "b c", "it's"]) == "a 'b c' 'it'\\''s'"


@pytest.mark.parametrize(
    ("container", "needs_shell", "result"),
    [
        pytest.param(
            {"command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m"]},
            False,
            {"command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m", "--a", "1"]},
            id="a Python command gets the flags as arguments",
        ),
        pytest.param(
            {"command": ["/opt/venv/bin/python3.11", "-m", "dynamo.vllm"], "args": ["--x", "b c"]},
            True,
            {"command": ["sh", "-c"], "args": ['exec /opt/venv/bin/python3.11 -m dynamo.vllm --x "b c" --a 1']},
            id="a rank that only a shell knows turns it into a shell line",
        ),
        pytest.param(
            {"command": ["python3", "-m", "dynamo.vllm"]},
            True,
            {"command": ["sh", "-c"], "args": ["exec python3 -m dynamo.vllm --a 1"]},
            id="without arguments",
        ),
        pytest.param(
            {"command": ["/bin/sh", "-c"], "args": ["python3 -m dynamo.vllm --model m | tee log"]},
            True,
            {"command": ["/bin/sh", "-c"], "args": ["python3 -m dynamo.vllm --a 1 --model m | tee log"]},
            id="a shell line gets them behind the backend",
        ),
        pytest.param(
            {"command": ["/bin/sh", "-c"], "args": ["python3 -m dynamo.vllm --model my-vllm-model --tp 2"]},
            False,
            {"command": ["/bin/sh", "-c"], "args": ["python3 -m dynamo.vllm --model my-vllm-model --a 1 --tp 2"]},
            id="behind the last word with the backend's name",
        ),
        pytest.param(
            {"command": ["/bin/sh", "-c"], "args": ["echo", "python -m dynamo.vllm", "python -m dynamo.vllm"]},
            False,
            {"command": ["/bin/sh", "-c"], "args": ["echo", "python -m dynamo.vllm --a 1", "python -m dynamo.vllm"]},
            id="in the first argument that starts it",
        ),
        pytest.param(
            {"command": ["serve"], "args": ["--model", "m"]},
            True,
            {"command": ["serve"], "args": ["--model", "m"]},
            id="another program stays as it is",
        ),
    ],
)
def test_flags(container: dict[str, Any], needs_shell: bool, result: dict[str, Any]) -> None:
    launch.inject_flags(container, "--a 1", "vllm", needs_shell)
    assert container == result


@pytest.mark.parametrize(
    ("args", "value"),
    [
        (["--tensor-parallel-size", "16"], 16),
        (["python3 -m dynamo.vllm --tensor-parallel-size 8 --x"], 8),
        (["--tensor-parallel-size=16"], 1),
        (["-tp", "16"], 1),
        (["--tensor-parallel-size", "many"], 1),
        (["--tensor-parallel-size"], 1),
    ],
)
def test_only_the_long_flag_with_a_space_is_seen(args: list[str], value: int) -> None:
    assert launch.flag_value({"args": args}, "--tensor-parallel-size") == value


def test_hosts() -> None:
    grove = "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-decode-{}.$(GROVE_HEADLESS_SERVICE)"
    assert launch.GROVE.hosts("Decode", 3) == [grove.format("ldr-0"), grove.format("wkr-0"), grove.format("wkr-1")]
    assert launch.LWS.hosts("Decode", 3) == [
        "$(LWS_LEADER_ADDRESS)",
        "$(echo \"$LWS_LEADER_ADDRESS\" | sed 's/\\./-1\\./')",
        "$(echo \"$LWS_LEADER_ADDRESS\" | sed 's/\\./-2\\./')",
    ]
    ranked = launch.grove_gms(2)
    assert (
        ranked.leader("D")
        == "$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-d-ldr-$(GROVE_PCLQ_POD_INDEX).$(GROVE_HEADLESS_SERVICE)"
    )
    assert ranked.rank == "2"


def test_shell_variables() -> None:
    assert launch.shell_variables("$(A_1)-x.$(B)") == "${A_1}-x.${B}"


def test_long_clique_set_names_are_cut() -> None:
    assert names.clique_set_name("ultra-disagg-b200-1p1d-agentic-nomtp", [17]) == "ultra-disagg-b200-1p1d--b994"
    assert names.clique_set_name("short", [17]) == "short"
    assert len(names.clique_set_name("x" * 60, [60])) == 8


def test_other_names() -> None:
    assert names.resource_name("dgd", "VllmDecodeWorker", "12345678") == "dgd-vllmdecodeworker-12345678"
    assert names.kube_name("a.b-C", lower=False) == "a-b-C"
    assert names.kube_name("a.b-C", lower=True) == "a-b-c"
    assert names.model_service_name("Qwen/Qwen3-0.6B") == "dynamo-model-fb68f5a6"
    assert len(names.elastic_service_name("d" * 60, "worker")) == 63
    assert names.label_value("x" * 63) == "x" * 63
    assert len(names.label_value("x" * 64)) == 63


@pytest.mark.parametrize(
    ("text", "modern"),
    [("1.0.0", True), ("v1", True), ("1.10.0", True), ("1.0.0-rc1", False), ("1.0.1-rc1", True), ("0.9", False)],
)
def test_origin_versions(text: str, modern: bool) -> None:
    version = parse_version(text)
    assert version is not None
    assert version.at_least(1, 0, 0) is modern


@pytest.mark.parametrize("text", ["", "latest", "1.2.3.4", "x" * 300])
def test_no_versions(text: str) -> None:
    assert parse_version(text) is None
