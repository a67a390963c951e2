# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine arguments: one knob and one value for every spelling; what would need running is marked, never guessed."""

from __future__ import annotations

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.engineargs import (
    canonical_value,
    engine_calls,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.shellwords import shell_words
from hypothesis import given
from hypothesis import strategies as st

VLLM = ["python3", "-m", "dynamo.vllm"]


def flags(args: list[str], env: dict[str, str] | None = None) -> dict[str, str]:
    (call,) = engine_calls(VLLM, args, env or {})
    return dict(call.flags)


@pytest.mark.parametrize(
    "args",
    [
        ["--tensor-parallel-size", "4"],
        ["--tensor-parallel-size=4"],
        ["--tensor_parallel_size", "4"],
        ["--tp", "4"],
        ["--tp-size=4"],
        ["-tp", "4"],
        ["-tp=4"],
        ["--tp", "4.0"],
        ["--tp", "2", "--tp=4"],
    ],
)
def test_spellings_of_one_flag(args: list[str]) -> None:
    assert flags(args) == {"tensor-parallel-size": "4"}


@pytest.mark.parametrize(
    ("flag", "one", "other"),
    [
        ("x", "0.90", "0.9"),
        ("x", "1e3", "1000"),
        ("x", "-.5", "-0.5"),
        ("x", "1.5e-3", "0.0015"),
        ("x", "True", "true"),
        ("max-model-len", "16k", "16000"),
        ("max-model-len", "16K", "16384"),
        ("max-num-seqs", "1.5k", "1500"),
        ("x", '{"b": 1, "a": [1,  2]}', '{"a":[1,2],"b":1}'),
    ],
)
def test_spellings_of_one_value(flag: str, one: str, other: str) -> None:
    assert canonical_value(flag, one) == canonical_value(flag, other)


@pytest.mark.parametrize(
    ("flag", "text"), [("model", "16k"), ("x", "{broken"), ("x", "1e999"), ("x", "fp8"), ("x", "")]
)
def test_other_values_stay(flag: str, text: str) -> None:
    assert canonical_value(flag, text) == text


def test_switches_and_lists() -> None:
    args = ["--enforce-eager", "--no-enable-prefix-caching", "--cuda-graph-bs", "1", "2", "4", "-ep", "--offset", "-1"]
    assert flags(args) == {
        "enforce-eager": "true",
        "enable-prefix-caching": "false",
        "cuda-graph-bs": "1 2 4",
        "enable-expert-parallel": "true",
        "offset": "-1",
    }


def test_optimization_levels() -> None:
    assert flags(["-O3"]) == flags(["-O", "3"]) == flags(["--compilation-config=3"]) == {"compilation-config": "3"}


def test_the_kubelets_variables() -> None:
    assert flags(["--model", "$(M)", "--x=$$(M)"], {"M": "acme/x"}) == {"model": "acme/x", "x": "$(M)"}
    (call,) = engine_calls(VLLM, ["--model", "$(M)"], {"M": "<secretKeyRef s/k>"})
    assert call.flags == {"model": "$(M)"}
    assert call.unknown == ("--model: M",)


def test_variables_that_stand_for_flags() -> None:
    (call,) = engine_calls(["python3", "-m", "dynamo.frontend"], [], {"DYN_ROUTER_MODE": "kv"})
    assert call.flags == {"router-mode": "kv"}
    assert flags(["--router-mode", "direct"], {"DYN_ROUTER_MODE": "kv"})["router-mode"] == "direct"


SCRIPT = """
# comment with 'quote
export TP=4 X=1
set -e; cd /workspace && \\
exec python3 -m dynamo.vllm --model "$MODEL" \\
  --tensor-parallel-size $TP --served-model-name ${NAME:-acme/x} --extra '{"a": 1}' $MORE \\
  2>&1 | tee log
"""


def test_a_shell_script() -> None:
    env = {"MODEL": "acme/y z", "MORE": "--enforce-eager --seed 1"}
    (call,) = engine_calls(["/bin/sh", "-c"], [SCRIPT], env)
    assert (call.program, call.framework, call.unknown) == ("dynamo.vllm", "vllm", ())
    assert call.flags["model"] == "acme/y z"
    assert call.flags["tensor-parallel-size"] == "4"
    assert call.flags["served-model-name"] == "acme/x"
    assert call.flags["extra.a"] == "1"
    assert call.flags["enforce-eager"] == "true"
    assert call.flags["seed"].startswith("1")


@pytest.mark.parametrize(
    ("command", "args"),
    [
        (["/bin/bash", "-c", "python3 -m dynamo.sglang --tp 8"], []),
        (["bash", "-lc"], ["python3 -m dynamo.sglang --tp=8"]),
        ([], ["python3 -m dynamo.sglang --tp 8"]),
        (["sh"], ["-ec", "FOO=1 python3.12 -m dynamo.sglang --tp 8 &\nwait"]),
        (["python3", "-m", "dynamo.sglang"], ["--tp", "8"]),
        (["/usr/bin/python3", "-m"], ["dynamo.sglang", "--tp", "8"]),
        (["mpirun", "-n", "2", "trtllm-llmapi-launch", "python3", "-m", "dynamo.sglang", "--tp", "8"], []),
    ],
)
def test_forms_of_a_command(command: list[str], args: list[str]) -> None:
    (call,) = engine_calls(command, args, {})
    assert (call.framework, call.flags) == ("sglang", {"tensor-parallel-size": "8"})


def test_what_the_shell_would_run_is_unknown() -> None:
    (call,) = engine_calls(["sh", "-c"], ["python3 -m dynamo.vllm --tp $(nproc --all) --seed `date` --x $Y"], {})
    assert call.flags["tensor-parallel-size"] == "$(nproc --all)"
    assert call.unknown == (
        "--tensor-parallel-size: a command's output",
        "--seed: a command's output",
        "--x: Y",
    )


@pytest.mark.parametrize(
    ("command", "args", "programs"),
    [
        (["sh", "-c"], ["python3 -m dynamo.vllm --a & python3 -m dynamo.sglang --b"], ["dynamo.vllm", "dynamo.sglang"]),
        ([], ["--model", "x"], [""]),
        (["vllm", "serve"], ["--tp", "2"], ["vllm.entrypoints.serve"]),
        (["trtllm-serve"], ["--tp", "2"], ["tensorrt_llm.serve"]),
        (["python", "worker.py"], [], []),
        (["sh", "run.sh"], [], []),
        (["sh", "-c"], [], []),
        ([], [], []),
    ],
)
def test_programs(command: list[str], args: list[str], programs: list[str]) -> None:
    assert [call.program for call in engine_calls(command, args, {})] == programs


def test_quotes_as_the_shell_reads_them() -> None:
    words = [word.text for word in shell_words(r"""a"b c"'d $X'e\ f "\"\$X\a" '' "${X}y" #no""", {"X": "1"})]
    assert words == ["ab cd $Xe f", '"$X\\a', "", "1y"]


@given(st.text(alphabet="ab2'\"\\ $(){}`|&;\n#=-+<>@*", max_size=40))
def test_no_script_breaks_the_reader(script: str) -> None:
    engine_calls(["sh", "-c"], [f"python3 -m dynamo.vllm {script}"], {"a": "b c"})
    engine_calls([], [script, "--a"], {})


@given(st.text(alphabet="0123456789.eE-+kKmM", max_size=12), st.sampled_from(["x", "max-model-len"]))
def test_a_values_form_is_final(text: str, flag: str) -> None:
    once = canonical_value(flag, text)
    assert canonical_value("x", once) == once
