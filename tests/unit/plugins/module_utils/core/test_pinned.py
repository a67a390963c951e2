# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pinned knobs across spellings and API versions: what changed is named, what cannot be told is not called kept."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.dgdview import config_maps_of, view_dgd
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.knobs import changes, knobs_of
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.pinned import REASONS, judge_pinned, split_path
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.precision import precision_in, precision_of

ALPHA: dict[str, Any] = {
    "apiVersion": "nvidia.com/v1alpha1",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "base"},
    "spec": {
        "backendFramework": "vllm",
        "envs": [{"name": "HF_HOME", "value": "/cache"}],
        "services": {
            "Frontend": {"componentType": "frontend", "replicas": 1},
            "Decode": {
                "componentType": "worker",
                "subComponentType": "decode",
                "replicas": 2,
                "multinode": {"nodeCount": 2},
                "sharedMemory": {"size": "1024Mi"},
                "resources": {"limits": {"gpu": "4", "cpu": "4000m"}},
                "envs": [{"name": "UCX_TLS", "value": "tcp"}],
                "extraPodSpec": {
                    "mainContainer": {
                        "image": "runtime:1",
                        "command": ["python3", "-m", "dynamo.vllm"],
                        "args": ["--model", "acme/x-FP8", "-tp", "4", "--max-model-len=16K", "--enforce-eager"],
                    }
                },
            },
            "Prefill": {
                "componentType": "worker",
                "subComponentType": "prefill",
                "replicas": 1,
                "extraPodSpec": {
                    "mainContainer": {
                        "image": "runtime:1",
                        "command": ["/bin/sh", "-c"],
                        "args": ["python3 -m dynamo.vllm --model acme/x-FP8 --tensor-parallel-size 4"],
                    }
                },
            },
        },
    },
}
#: The same deployment in the other version and other spellings.
BETA: dict[str, Any] = {
    "apiVersion": "nvidia.com/v1beta1",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "candidate"},
    "spec": {
        "backendFramework": "vllm",
        "env": [{"name": "HF_HOME", "value": "/cache"}],
        "components": [
            {
                "name": "Decode",
                "type": "decode",
                "replicas": 2,
                "multinode": {"nodeCount": 2},
                "sharedMemorySize": "1Gi",
                "podTemplate": {
                    "spec": {
                        "containers": [
                            {
                                "name": "main",
                                "image": "runtime:1",
                                "env": [{"name": "UCX_TLS", "value": "tcp"}, {"name": "TP", "value": "4"}],
                                "command": ["sh", "-c"],
                                "args": [
                                    "exec python3 -m dynamo.vllm --model=acme/x-FP8 --tp $TP --max_model_len 16384"
                                    " --enforce-eager"
                                ],
                                "resources": {"limits": {"nvidia.com/gpu": 4, "cpu": "4"}},
                            }
                        ]
                    }
                },
            },
            {"name": "Frontend", "type": "frontend"},
            {
                "name": "Prefill",
                "type": "prefill",
                "replicas": 1,
                "podTemplate": {
                    "spec": {
                        "containers": [
                            {
                                "name": "main",
                                "image": "runtime:1",
                                "command": ["python3", "-m", "dynamo.vllm"],
                                "args": ["--model", "acme/x-FP8", "--tensor_parallel_size=4"],
                            }
                        ]
                    }
                },
            },
        ],
    },
}
EVERYTHING = [
    "mode",
    "precision",
    "framework",
    "model",
    "replicas",
    "nodes",
    "gpus",
    "image",
    "role",
    "shared_memory",
    "tensor_parallel_size",
    "--tp",
    "max-model-len",
    "UCX_TLS",
    "Decode.replicas",
    "Decode.env.UCX_TLS",
    "Decode.args",
    "Decode.resources",
    "Decode.resources.limits.nvidia.com/gpu",
    "Decode.resources.limits.cpu",
    "*.replicas",
    "spec.backendFramework",
    "spec.services.Decode.replicas",
    "spec.services.Decode.extraPodSpec.mainContainer.args",
    "spec.services.Decode.extraPodSpec.mainContainer.args.--max-model-len",
    "spec.services.Decode.multinode.nodeCount",
    "spec.components[Decode].podTemplate.spec.containers[name=main].image",
    "spec.components[name=Decode].podTemplate.spec.containers[main].args[--tp]",
]


def judged(pin: str, candidate: dict[str, Any], baseline: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    findings = judge_pinned(view_dgd(baseline or ALPHA), view_dgd(candidate), [pin])
    return [(finding.reason_code, finding.message) for finding in findings]


def with_change(path: str, value: Any, base: dict[str, Any] | None = None) -> dict[str, Any]:
    made = copy.deepcopy(base or ALPHA)
    here: Any = made
    *parts, last = path.split("/")
    for part in parts:
        here = here[int(part)] if isinstance(here, list) else here[part]
    here[last] = value
    return made


DECODE = "spec/services/Decode"
ARGS = f"{DECODE}/extraPodSpec/mainContainer/args"


@pytest.mark.parametrize("pin", EVERYTHING)
@pytest.mark.parametrize("candidate", [ALPHA, BETA], ids=["alpha", "beta"])
def test_the_same_deployment_keeps_every_pin(pin: str, candidate: dict[str, Any]) -> None:
    results = judged(pin, candidate)
    if pin in ("Decode.args", "spec.services.Decode.extraPodSpec.mainContainer.args") and candidate is BETA:
        assert {code for code, _unused in results} == {"pinned_kept"}
    assert [code for code, _unused in results] == ["pinned_kept"], results


@pytest.mark.parametrize(
    ("pins", "path", "value", "told"),
    [
        (["replicas", "Decode.replicas", "spec.services.Decode.replicas"], f"{DECODE}/replicas", 3, "replicas 2 → 3"),
        (["nodes", "Decode.multinode"], f"{DECODE}/multinode", {"nodeCount": 4}, "nodes 2 → 4"),
        (["gpus", "Decode.resources"], f"{DECODE}/resources", {"limits": {"gpu": "8", "cpu": 4}}, "gpus 4 → 8"),
        (["image", "Decode.image"], f"{DECODE}/extraPodSpec/mainContainer/image", "runtime:2", "runtime:1 → runtime:2"),
        (["shared_memory"], f"{DECODE}/sharedMemory", {"disabled": True}, "1Gi → 0"),
        (["tp", "tensor_parallel_size"], ARGS, ["--model", "acme/x-FP8", "--tp", "8"], "4 → 8"),
        (["max_model_len"], ARGS, ["--model", "acme/x-FP8", "-tp", "4", "--enforce-eager"], "16384 → unset"),
        (["enforce_eager", "Decode.args"], ARGS, ["--model", "acme/x-FP8", "-tp", "4"], "true → unset"),
        (["precision"], ARGS, ["--model", "acme/x-NVFP4"], "precision"),
        (["precision"], ARGS, ["--model", "acme/x-FP8", "--kv-cache-dtype", "fp8"], "kv-cache-dtype unset → fp8"),
        (["model"], ARGS, ["--model", "acme/y-FP8"], "acme/x-FP8 → acme/x-FP8, acme/y-FP8"),
        (["UCX_TLS", "Decode.env", "Decode.envs.UCX_TLS"], f"{DECODE}/envs", [], "tcp → unset"),
        (["framework", "spec.backendFramework"], "spec/backendFramework", "sglang", "vllm → sglang"),
        (["role"], f"{DECODE}/subComponentType", "prefill", "decode → prefill"),
    ],
)
def test_what_changed_is_named(pins: list[str], path: str, value: Any, told: str) -> None:
    for pin in pins:
        results = judged(pin, with_change(path, value))
        assert "pinned_changed" in [code for code, _unused in results], (pin, results)
        assert any(told in message for _unused, message in results), (pin, results)


def test_other_pins_do_not_mind() -> None:
    candidate = with_change(f"{DECODE}/replicas", 3)
    for pin in ("mode", "tp", "image", "Prefill.replicas", "Decode.args"):
        assert [code for code, _unused in judged(pin, candidate)] == ["pinned_kept"]


def test_the_mode_changes_when_prefill_goes() -> None:
    candidate = copy.deepcopy(ALPHA)
    del candidate["spec"]["services"]["Prefill"]
    results = judged("mode", candidate)
    assert [code for code, _unused in results] == ["pinned_changed"]
    assert "mode disagg → agg" in results[0][1]
    assert "component Prefill is not in the candidate" in judged("replicas", candidate)[0][1]


def test_plain_workers_tell_their_role_by_flags() -> None:
    def dgd(*modes: str) -> dict[str, Any]:
        worker = {"componentType": "worker"}
        services = {
            f"W{number}": {
                **worker,
                "extraPodSpec": {
                    "mainContainer": {
                        "command": ["python3", "-m", "dynamo.vllm"],
                        "args": ["--disaggregation-mode", mode] if mode else [],
                    }
                },
            }
            for number, mode in enumerate(modes)
        }
        return {"apiVersion": "nvidia.com/v1alpha1", "spec": {"services": services}}

    assert knobs_of(view_dgd(dgd("prefill", "decode"))).whole["mode"].value == "disagg"
    assert knobs_of(view_dgd(dgd("", ""))).whole["mode"].value == "agg"


def test_a_renamed_component_is_compared_by_its_role() -> None:
    candidate = copy.deepcopy(ALPHA)
    services = candidate["spec"]["services"]
    services["Decoder"] = services.pop("Decode")
    assert [code for code, _unused in judged("tp", candidate)] == ["pinned_kept"]
    services["Decoder"]["replicas"] = 5
    assert "Decoder: replicas 2 → 5" in judged("replicas", candidate)[0][1]


@pytest.mark.parametrize(
    "args",
    [
        ["--model", "acme/x-FP8", "--tp", "$(nproc)"],
        ["--model", "acme/x-FP8", "--tp", "$TP"],
    ],
)
def test_what_cannot_be_read_is_not_called_unchanged(args: list[str]) -> None:
    candidate = with_change(f"{DECODE}/extraPodSpec/mainContainer/command", ["sh", "-c"])
    candidate = with_change(ARGS, ["python3 -m dynamo.vllm " + " ".join(args)], candidate)
    assert [code for code, _unused in judged("Decode.tp", candidate)] == ["pinned_unknown"]
    assert [code for code, _unused in judged("Decode.tp", candidate, candidate)] == ["pinned_kept"]


def test_a_file_of_settings_is_the_same_only_with_the_same_image() -> None:
    args = ["--model", "x", "--extra-engine-args", "/cfg/decode.yaml"]
    baseline = with_change(ARGS, args)
    assert [code for code, _unused in judged("Decode.max_batch_size", baseline, baseline)] == ["pinned_kept"]
    other = with_change(f"{DECODE}/extraPodSpec/mainContainer/image", "runtime:2", baseline)
    results = judged("Decode.max_batch_size", other, baseline)
    assert [code for code, _unused in results] == ["pinned_unknown"]
    assert "--extra-engine-args /cfg/decode.yaml may set more" in results[0][1]


def test_an_unknown_program_is_compared_as_text() -> None:
    path = f"{DECODE}/extraPodSpec/mainContainer/command"
    one, other = with_change(path, ["python", "worker.py"]), with_change(path, ["python", "other.py"])
    assert [code for code, _unused in judged("Decode.args", one, one)] == ["pinned_kept"]
    assert "pinned_changed" in [code for code, _unused in judged("Decode.args", other, one)]
    assert [code for code, _unused in judged("Decode.tp", other, one)] == ["pinned_kept"]


@pytest.mark.parametrize("pin", ["colour", "..", "spec.services.Nobody.replicas"])
def test_an_entry_that_means_nothing_is_unknown(pin: str) -> None:
    assert [code for code, _unused in judged(pin, ALPHA)] == ["pinned_unknown"]


@pytest.mark.parametrize("pin", ["", " ", 7])
def test_an_entry_that_is_no_text_is_refused(pin: Any) -> None:
    with pytest.raises(InputError, match=r"pinned\[0\]: a pinned knob is a text"):
        judged(pin, ALPHA)


def test_a_credential_is_never_told() -> None:
    path = f"{DECODE}/envs"
    one = with_change(path, [{"name": "HF_TOKEN", "value": "hf_one"}])
    other = with_change(path, [{"name": "HF_TOKEN", "value": "hf_two"}])
    results = judged("Decode.env", other, one)
    assert [code for code, _unused in results] == ["pinned_changed"]
    assert "hf_" not in results[0][1]
    assert "fingerprint" in results[0][1]


def test_values_from_a_config_map_of_the_manifest_are_read() -> None:
    reference = {"configMapKeyRef": {"name": "cfg", "key": "tp"}}
    candidate = with_change(f"{DECODE}/envs", [{"name": "TP", "valueFrom": reference}])
    candidate = with_change(ARGS, ["--model", "acme/x-FP8", "--tp", "$(TP)"], candidate)
    maps = config_maps_of([{"kind": "ConfigMap", "metadata": {"name": "cfg"}, "data": {"tp": 4}}, {"kind": "Job"}])
    findings = judge_pinned(view_dgd(ALPHA), view_dgd(candidate, config_maps=maps), ["Decode.tp"])
    assert [finding.reason_code for finding in findings] == ["pinned_kept"]


def test_all_differences_are_listed_for_the_evidence() -> None:
    assert [
        (change.label, change.before, change.after)
        for change in changes(knobs_of(view_dgd(ALPHA)), knobs_of(view_dgd(BETA)))
    ] == [("Decode env.TP", "", "4")]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a.b", ["a", "b"]),
        ("a[b.c].d", ["a", "b.c", "d"]),
        ("a[name='b'].c", ["a", "b", "c"]),
        ("a[0]", ["a", "0"]),
        (" ", []),
    ],
)
def test_paths(text: str, parts: list[str]) -> None:
    assert split_path(text) == parts


# -- precision ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Qwen3-32B-FP8", "fp8"),
        ("acme/DeepSeek-R1-NVFP4", "nvfp4"),
        ("llama-FP8-dynamic", "fp8"),
        ("modelopt_fp4", "nvfp4"),
        ("w8a8_fp8", "fp8"),
        ("fp8_e4m3", "fp8"),
        ("bfloat16", "bf16"),
        ("llama-awq", "int4"),
        ("llama-GPTQ-Int8", "int8"),
        ("llama-AWQ-INT4", "int4"),
        ("llama-bnb-4bit", "int4"),
        ("fp8-and-bf16", ""),
        ("llama", ""),
        ("notfp8x", ""),
    ],
)
def test_precision_in_a_name(text: str, name: str) -> None:
    assert precision_in(text) == name


@pytest.mark.parametrize(
    ("args", "name", "why"),
    [
        (["--model", "x-FP8", "--quantization", "mxfp4"], "mxfp4", "--quantization mxfp4 of component Decode"),
        (["--model", "acme/x-NVFP4", "--dtype", "bfloat16"], "", "the components disagree"),
        (["--model", "acme/x-FP8"], "fp8", "the model acme/x-FP8 of component Decode"),
    ],
)
def test_precision_of_a_dgd(args: list[str], name: str, why: str) -> None:
    candidate = with_change(ARGS, args)
    if name and name != "fp8":
        del candidate["spec"]["services"]["Prefill"]
    told = precision_of(view_dgd(candidate))
    assert (told.name, why in told.why) == (name, True)


def test_precision_at_last_from_the_dgds_name() -> None:
    base = {"apiVersion": "nvidia.com/v1alpha1", "metadata": {"name": "agg-fp8"}, "spec": {"services": {}}}
    assert precision_of(view_dgd(base)).name == "fp8"
    assert precision_of(view_dgd({**base, "metadata": {"name": "agg"}})).name == ""


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "a DGD must be a mapping"),
        ({"apiVersion": "v1"}, "apiVersion: unknown apiVersion"),
        (with_change(f"{DECODE}/replicas", -1), r"spec\.services\.Decode\.replicas: must be a whole number from 0"),
        (with_change(f"{DECODE}/replicas", True), "must be a whole number from 0"),
        (with_change(ARGS, [1]), r"mainContainer\.args\[0\]: must be text"),
        (with_change(ARGS, "x"), r"mainContainer\.args: must be a list"),
        (with_change(f"{DECODE}/envs", [{}]), r"envs\[0\]: must be a mapping with a name"),
        (with_change(f"{DECODE}/componentType", 1), "componentType: must be text"),
        (with_change("spec/services/Decode", []), r"spec\.services\.Decode: must be a mapping"),
        (with_change("spec/components", [{}], BETA), r"components\[0\]: must be a mapping with a name"),
    ],
)
def test_a_field_of_a_wrong_shape_is_named(data: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        view_dgd(data)


def test_codes() -> None:
    assert [reason.code for reason in REASONS] == ["pinned_kept", "pinned_changed", "pinned_unknown"]
