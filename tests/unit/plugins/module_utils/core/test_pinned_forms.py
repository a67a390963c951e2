# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One deployment written in many forms: equal meaning is kept, whatever form hides a changed knob it is found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.configfiles import config_files
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.dgdview import DgdView, view_dgd
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.engagement import prove
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.pinned import judge_pinned, split_path

VLLM = ("python3", "-m", "dynamo.vllm")
TRTLLM = ("python3", "-m", "dynamo.trtllm")


def dgd(
    main: Mapping[str, Any],
    pod: Mapping[str, Any] | None = None,
    beta: bool = False,
    maps: Mapping[str, Mapping[str, str]] | None = None,
) -> DgdView:
    """Return a DGD of one component D with that main container and pod spec."""
    if beta:
        spec = {**(pod or {}), "containers": [{"name": "main", **main}]}
        body: dict[str, Any] = {"components": [{"name": "D", "type": "worker", "podTemplate": {"spec": spec}}]}
    else:
        extra = {**(pod or {}), "mainContainer": main}
        body = {"services": {"D": {"componentType": "worker", "extraPodSpec": extra}}}
    version = "nvidia.com/v1beta1" if beta else "nvidia.com/v1alpha1"
    return view_dgd({"apiVersion": version, "metadata": {"name": "a"}, "spec": body}, config_maps=maps)


def run(*words: str, command: tuple[str, ...] = VLLM, beta: bool = False) -> DgdView:
    return dgd({"command": list(command), "args": list(words)}, beta=beta)


def trt(*words: str) -> DgdView:
    return run(*words, command=TRTLLM)


def shell(script: str, *command: str) -> DgdView:
    return dgd({"command": list(command or ("sh", "-c")), "args": [script]})


def outcome(pin: str, before: DgdView, after: DgdView) -> str:
    found = {finding.outcome for finding in judge_pinned(before, after, [pin])}
    return "fail" if "fail" in found else "unknown" if "unknown" in found else "pass"


TP4, TP8 = run("--tensor-parallel-size", "4"), run("--tensor-parallel-size", "8")
TWO = "python3 -m dynamo.frontend --router-mode {} & python3 -m dynamo.vllm --tp {}"
BRANCHES = "if [ $X ]; then python3 -m dynamo.vllm --tp 4; else python3 -m dynamo.vllm --tp {}; fi"
SPEC = "--speculative-config"


@pytest.mark.parametrize(
    "other",
    [
        shell("exec python3 -m dynamo.vllm --tp 4"),
        shell("python3 -m dynamo.vllm --tp 4", "/bin/bash", "-o", "pipefail", "-c"),
        shell("python3 -m dynamo.vllm --tp 4", "bash", "-euo", "pipefail", "-c"),
        shell("python3 -m dynamo.vllm --tp 4", "bash", "--norc", "-c", "--"),
        shell(TWO.format("kv", 4)),
        run("--tp", "4", command=("numactl", "-N", "0", "python3", "-u", "-m", "dynamo.vllm")),
        run("4", command=(*VLLM, "-tp")),
        run("--tp=2", "-tp=4", beta=True),
    ],
)
def test_forms_of_one_size(other: DgdView) -> None:
    for pin in ("tensor_parallel_size", "tp", "--tp-size", "D.tp"):
        assert outcome(pin, TP4, other) == "pass"
        assert outcome(pin, TP8, other) == "fail"


@pytest.mark.parametrize(
    ("pin", "before", "after", "wanted"),
    [
        ("tp", shell(TWO.format("kv", 4)), shell(TWO.format("kv", 8)), "fail"),
        ("router_mode", shell(TWO.format("kv", 4)), shell(TWO.format("direct", 4)), "fail"),
        ("tp", shell(BRANCHES.format(2)), shell(BRANCHES.format(8)), "fail"),
        ("model", run("a/b", command=("vllm", "serve")), run("a/c", command=("vllm", "serve")), "fail"),
        ("model", run("a/b", command=("vllm", "serve")), run("--model=a/b", command=("vllm", "serve")), "pass"),
        ("--no-enable-prefix-caching", run("--enable-prefix-caching"), run("--no-enable-prefix-caching"), "fail"),
        ("--no-enable-prefix-caching", run("--enable-prefix-caching"), run("--enable-prefix-caching"), "pass"),
        ("speculative_config", run(SPEC, '{"method":"a","k":3}'), run(SPEC, '{"k": 3.0, "method": "a"}'), "pass"),
        ("speculative_config", run(SPEC, '{"k":3}'), run(f"{SPEC}.k", "3"), "pass"),
        ("speculative_config", run(SPEC, '{"k":3}'), run("-sc.k=4"), "fail"),
        ("speculative_config.k", run(SPEC, '{"k":3}'), run(SPEC, '{"k":4}'), "fail"),
        ("--speculative-config.k", run(SPEC, '{"k":3,"m":1}'), run(SPEC, '{"k":3,"m":2}'), "pass"),
        ("--model", run("--model", "a", SPEC, '{"model":"b"}'), run("--model", "a", SPEC, '{"model":"c"}'), "pass"),
        ("compilation_config", run("-O.level=3"), run("--compilation-config.level=3"), "pass"),
        ("compilation_config", run("-O.level=3"), run("-O.level=2"), "fail"),
        ("--ep", run("-ep"), run(), "fail"),
        ("expert_parallel_size", run("--enable-expert-parallel"), run(), "fail"),
        ("max_batch_size", trt("--max-batch-size=8"), trt("--override-engine-args", '{"max_batch_size":8}'), "pass"),
        (
            "max_batch_size",
            trt("--max-batch-size=8"),
            trt("--max-batch-size=8", "--override-engine-args", '{"max_batch_size":16}'),
            "fail",
        ),
        (
            "free_gpu_memory_fraction",
            trt("--free-gpu-memory-fraction=0.8"),
            trt("--override-engine-args", '{"kv_cache_config":{"free_gpu_memory_fraction":0.9}}'),
            "fail",
        ),
        ("max_batch_size", trt("--max-batch-size=8"), trt("--override-engine-args", "{oops"), "unknown"),
        ("max_num_seqs", run(), run(), "pass"),
        ("max_num_seqs", run("--config", "/x"), run("--config", "/x"), "pass"),
        ("max_num_seqs", run("--config", "/x"), run("--config", "/y"), "unknown"),
        ("max_num_seqs", run("--max-num-seqs", "8"), run("--config", "/y"), "unknown"),
        ("args", run("--seed", "1"), run("--seed", "2"), "fail"),
        ("args", run("--seed", "1"), run("--seed=01", beta=True), "pass"),
        ("D.colour", run(), run(), "unknown"),
        ("metadata.annotations.x", run(), run(), "unknown"),
    ],
)
def test_what_a_form_hides(pin: str, before: DgdView, after: DgdView, wanted: str) -> None:
    assert outcome(pin, before, after) == wanted


@pytest.mark.parametrize(
    ("script", "pin", "wanted"),
    [
        ('A=(--tp {}); python3 -m dynamo.vllm "${{A[@]}}"', "tp", "unknown"),
        ("python3 -m dynamo.vllm ${{A%{}}}", "D.tp", "unknown"),
        ("cat <<EOF >/tmp/x\nmax_num_seqs: {}\nEOF\npython3 -m dynamo.vllm --config /tmp/x", "max_num_seqs", "unknown"),
        ("A='--x 1'; A+=' --tp {}'; python3 -m dynamo.vllm $A", "tp", "fail"),
        ("eval 'python3 -m dynamo.vllm --tp {}'", "D.tp", "unknown"),
        ("VLLM_X={} python3 -m dynamo.vllm", "VLLM_X", "fail"),
        ("VLLM_X={} exec python3 -m dynamo.vllm", "D.args", "fail"),
        ("export VLLM_X={}\npython3 -m dynamo.vllm", "D.env.VLLM_X", "fail"),
        ("export VLLM_X; VLLM_X={}; python3 -m dynamo.vllm", "D.args", "fail"),
        ("VLLM_X={}; export VLLM_X; python3 -m dynamo.vllm", "D.args", "fail"),
        ("if true; then export VLLM_X={}; fi; python3 -m dynamo.vllm", "D.env", "fail"),
        ("env VLLM_X={} python3 -m dynamo.vllm", "D.env", "fail"),
        ("python3 -m dynamo.vllm --tp {} >/log 2>&1", "tp", "fail"),
    ],
)
def test_what_a_script_does(script: str, pin: str, wanted: str) -> None:
    one, other = shell(script.format(4)), shell(script.format(8))
    assert outcome(pin, one, other) == wanted
    assert outcome(pin, one, one) == "pass"


@pytest.mark.parametrize(
    "script",
    [
        "python3 -m dynamo.vllm --tp 4 2>&1 | tee log",
        "python3 -m dynamo.vllm --tp 4 > /log 2>&1",
        "exec >>/log 2>&1; python3 -m dynamo.vllm &>/dev/null --tp 4 </dev/null",
        "cat <<-EOF\n\tpython3 -m dynamo.vllm --tp 8\n\tEOF\npython3 -m dynamo.vllm --tp 4",
    ],
)
def test_redirections_are_no_arguments(script: str) -> None:
    assert outcome("D.args", TP4, shell(script)) == "pass"


def test_a_variable_of_a_script_is_one_of_the_container() -> None:
    plain = dgd({"command": list(VLLM), "env": [{"name": "VLLM_X", "value": "1"}]})
    script = shell("export VLLM_X=1; python3 -m dynamo.vllm")
    assert outcome("VLLM_X", plain, script) == outcome("D.args", plain, script) == "pass"
    pod = {
        "metadata": {"name": "p", "labels": {"nvidia.com/dynamo-component": "D"}},
        "spec": {"containers": [{"name": "main", "command": ["sh", "-c", "export VLLM_X=1; python3 -m dynamo.vllm"]}]},
    }
    (proof,) = prove(run(), script, [pod])
    assert (proof.knob, proof.proven) == ("env.VLLM_X", True)


def test_an_open_override_may_set_anything() -> None:
    script = 'python3 -m dynamo.trtllm --max-batch-size 8 --override-engine-args "{\\"max_batch_size\\": $M}"'
    assert outcome("max_batch_size", trt("--max-batch-size=8"), shell(script)) == "unknown"


@pytest.mark.parametrize(
    ("other", "wanted"),
    [
        ("docker.io/library/runtime:1", "pass"),
        ("docker.io/runtime:1", "pass"),
        ("runtime:2", "fail"),
        ("quay.io/runtime:1", "fail"),
        ("runtime:1@sha256:" + "0" * 64, "fail"),
        ("", "fail"),
        ("not an image", "fail"),
    ],
)
def test_one_image_has_several_names(other: str, wanted: str) -> None:
    assert outcome("image", dgd({"image": "runtime:1"}), dgd({"image": other})) == wanted
    assert outcome("D.image", dgd({"image": other}), dgd({"image": other}, beta=True)) == "pass"
    assert outcome("D.image", dgd({"image": "runtime"}), dgd({"image": "runtime:latest"})) == "pass"


# -- amounts and other fields ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pin", ["D.resources", "resources", "resources.requests.cpu", "D.resources.limits.cpu"])
def test_requests_and_limits_both_count(pin: str) -> None:
    def cpu(**resources: Any) -> DgdView:
        return dgd({"resources": {family: {"cpu": amount} for family, amount in resources.items()}})

    assert outcome(pin, cpu(requests="4", limits="16"), cpu(requests="8", limits="16")) == "fail"
    assert outcome(pin, cpu(requests="4", limits="16"), cpu(requests="4000m", limits=16)) == "pass"
    assert outcome(pin, cpu(limits="16"), cpu(requests="16", limits="16")) == "pass"
    assert outcome(pin, cpu(requests="16"), cpu(requests="16", limits="16")) == "fail"


@pytest.mark.parametrize(
    "pin",
    [
        "nodeSelector",
        "D.nodeSelector",
        "spec.services.D.extraPodSpec.nodeSelector",
        "/spec/services/D/extraPodSpec/nodeSelector",
        "spec.components[0].podTemplate.spec.nodeSelector.gpu",
        '$.spec.components[?(@.name=="D")].podTemplate.spec.nodeSelector',
    ],
)
def test_a_path_to_any_field_is_compared(pin: str) -> None:
    one, other = {"nodeSelector": {"gpu": "b200"}}, {"nodeSelector": {"gpu": "h100"}}
    assert outcome(pin, dgd({}, one), dgd({}, one, beta=True)) == "pass"
    assert outcome(pin, dgd({}, one), dgd({}, other, beta=True)) == "fail"
    assert outcome(pin, dgd({}, one), dgd({})) == "fail"


def test_paths_of_other_kinds() -> None:
    assert split_path('$.spec.components[?(@.name=="D")].replicas') == ["spec", "components", "D", "replicas"]
    assert split_path("/spec/limits/nvidia.com~1gpu") == ["spec", "limits", "nvidia.com/gpu"]


def test_a_credential_among_the_flags_is_never_told() -> None:
    (finding,) = judge_pinned(run("--api-key", "sk-one"), run("--api-key", "sk-two"), ["D.args"])
    assert finding.outcome == "fail"
    assert "sk-" not in repr(finding)


# -- settings in ConfigMaps of the manifest ----------------------------------------------------------------------------

SETTINGS: dict[str, Any] = {
    "tensor_parallel_size": 4,
    "max_batch_size": 8,
    "kv_cache_config": {"free_gpu_memory_fraction": 0.85, "dtype": "fp8"},
}
MOUNTS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("/cfg/d.yaml", {"mountPath": "/cfg/"}, {"configMap": {"name": "c"}}),
    ("/cfg/d.yaml", {"mountPath": "/cfg/d.yaml", "subPath": "d.yaml"}, {"configMap": {"name": "c"}}),
    ("/e.yaml", {"mountPath": "/e.yaml", "subPath": "d.yaml"}, {"configMap": {"name": "c"}}),
    (
        "/cfg/x/e.yaml",
        {"mountPath": "/cfg"},
        {"configMap": {"name": "c", "items": [{"key": "d.yaml", "path": "x/e.yaml"}]}},
    ),
    ("/cfg/d.yaml", {"mountPath": "/cfg"}, {"projected": {"sources": [{"configMap": {"name": "c"}}]}}),
]


def with_settings(
    settings: object, place: int = 0, beta: bool = False, command: tuple[str, ...] = TRTLLM, more: tuple[str, ...] = ()
) -> DgdView:
    path, mount, volume = MOUNTS[place]
    args = ["--extra-engine-args", path, *more] if command == TRTLLM else [path]
    main = {"command": list(command), "args": args, "volumeMounts": [{"name": "v", **mount}]}
    text = settings if isinstance(settings, str) else json.dumps(settings)
    return dgd(main, {"volumes": [{"name": "v", **volume}]}, beta, {"c": {"d.yaml": text}})


@pytest.mark.parametrize("place", range(len(MOUNTS)))
def test_a_mounted_file_is_found(place: int) -> None:
    for beta in (False, True):
        view = with_settings(SETTINGS, place, beta)
        (file,) = config_files(view.components[0], view.config_maps)
        assert (file.path, file.name) == (MOUNTS[place][0], "c/d.yaml")
        assert outcome("tensor_parallel_size", with_settings(SETTINGS), view) == "pass"
        assert outcome("tp", trt("--tp=8"), view) == "fail"


@pytest.mark.parametrize(
    ("pin", "changed"),
    [
        ("max_batch_size", {"max_batch_size": 16}),
        ("tensor_parallel_size", {"tensor_parallel_size": 8}),
        ("free_gpu_memory_fraction", {"kv_cache_config": {"free_gpu_memory_fraction": 0.9, "dtype": "fp8"}}),
        ("kv_cache_config", {"kv_cache_config": {"free_gpu_memory_fraction": 0.9, "dtype": "fp8"}}),
        ("kv_cache_config.free_gpu_memory_fraction", {"kv_cache_config": {"dtype": "fp8"}}),
        ("kv_cache_dtype", {"kv_cache_config": {"free_gpu_memory_fraction": 0.85, "dtype": "auto"}}),
        ("precision", {"kv_cache_config": {"free_gpu_memory_fraction": 0.85, "dtype": "auto"}}),
        ("D.args", {"anything": 1}),
        ("D", {"anything": 1}),
    ],
)
def test_a_knob_in_a_mounted_file_is_compared(pin: str, changed: dict[str, Any]) -> None:
    assert outcome(pin, with_settings(SETTINGS), with_settings({**SETTINGS, **changed})) == "fail"
    assert outcome(pin, with_settings(SETTINGS), with_settings(dict(reversed(SETTINGS.items())), beta=True)) == "pass"


def test_the_file_wins_over_the_flags() -> None:
    assert outcome("tp", trt("--tp=8"), with_settings(SETTINGS, more=("--tp=8",))) == "fail"
    assert outcome("tp", trt("--tp=4"), with_settings(SETTINGS, more=("--tp=8",))) == "pass"


def test_a_mounted_script_that_differs_is_not_called_unchanged() -> None:
    one, other = (with_settings(text, command=("bash",)) for text in ("x --tp 4", "x --tp 8"))
    assert outcome("D.tp", one, one) == "pass"
    assert outcome("D.tp", one, other) == "unknown"
    assert outcome("D", one, other) == "fail"


def test_a_setting_in_a_file_is_proven_by_the_log_alone() -> None:
    before, after = with_settings(SETTINGS), with_settings({**SETTINGS, "max_batch_size": 16})
    args = ["--extra-engine-args", "/cfg/d.yaml"]
    pod = {
        "metadata": {"name": "p", "labels": {"nvidia.com/dynamo-component": "D"}},
        "spec": {"containers": [{"name": "main", "command": list(TRTLLM), "args": args}]},
    }
    (unproven,) = prove(before, after, [pod])
    assert (unproven.knob, unproven.proven) == ("--max-batch-size", None)
    (proven,) = prove(before, after, [pod], {"p": "LLM args: max_batch_size=16, seed=1"})
    assert (proven.proven, proven.evidence) == (True, ("Pod/p log: max_batch_size=16",))
