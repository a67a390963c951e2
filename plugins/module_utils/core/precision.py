# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which numeric precision a DGD serves in, read from its engine arguments and the names it uses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from . import keys
from .dgdview import ComponentView, DgdView
from .engineargs import EngineCall, engine_calls

#: Words in names and flags, and the precision that they stand for.
WORDS: Mapping[str, str] = {
    "nvfp4": "nvfp4",
    "mxfp4": "mxfp4",
    "fp4": "fp4",
    "w4a4": "fp4",
    "fp8": "fp8",
    "mxfp8": "mxfp8",
    "e4m3": "fp8",
    "e5m2": "fp8",
    "int8": "int8",
    "w8a8": "int8",
    "int4": "int4",
    "w4a16": "int4",
    "awq": "int4",
    "gptq": "int4",
    "4bit": "int4",
    "8bit": "int8",
    "bf16": "bf16",
    "bfloat16": "bf16",
    "fp16": "fp16",
    "float16": "fp16",
    "half": "fp16",
    "fp32": "fp32",
    "float32": "fp32",
}
#: Methods that mean a width only where no other word tells it (``GPTQ-Int8``).
_METHODS = frozenset(("awq", "gptq"))
#: Narrower precisions that a broader word may mean.
FAMILY: Mapping[str, tuple[str, ...]] = {"fp4": ("nvfp4", "mxfp4"), "fp8": ("mxfp8",)}
#: Values of a quantization flag that mean a precision only together.
_PHRASES: Mapping[str, str] = {"modelopt_fp4": "nvfp4", "modelopt-fp4": "nvfp4", "w8a8_fp8": "fp8", "w8a8-fp8": "fp8"}


@dataclass(frozen=True)
class Precision:
    """``name`` is empty where the precision cannot be told; ``why`` says where it was found, or why it was not."""

    name: str
    why: str


def precision_in(text: str) -> str:
    """Return the precision that a name mentions (``Qwen3-32B-FP8`` → ``fp8``), or empty for none or several."""
    lower = text.lower()
    for phrase, name in _PHRASES.items():
        if phrase in lower:
            return name
    words = precision_words(lower)
    found = {WORDS[word] for word in (words - _METHODS) or words}
    return found.pop() if len(found) == 1 else ""


def precision_words(text: str) -> frozenset[str]:
    """Return the words for a precision in a text, as they stand there (``awq``, ``w4a16``)."""
    return frozenset(word for word in re.split(r"[^a-z0-9]+", text.lower()) if word in WORDS)


def same_precision(one: str, other: str) -> bool:
    """Whether two precisions may be the same; ``fp4`` may be ``nvfp4``."""
    return one == other or other in FAMILY.get(one, ()) or one in FAMILY.get(other, ())


def precision_of(dgd: DgdView) -> Precision:
    """Return the precision of the DGD's workers.

    In this order: the quantization flag, the model's name, the data type flag, at last the DGD's own name.
    """
    workers = dgd.of_role(keys.DECODE, keys.WORKER, keys.PREFILL) or dgd.components
    found: dict[str, str] = {}
    for component in workers:
        told = precision_of_component(component)
        if told.name:
            found.setdefault(told.name, told.why)
    if len(found) == 1:
        return Precision(*next(iter(found.items())))
    if found:
        return Precision("", "the components disagree: " + "; ".join(f"{name} ({why})" for name, why in found.items()))
    named = precision_in(dgd.name)
    if named:
        return Precision(named, f"the DGD's name {dgd.name}")
    return Precision("", "neither a quantization or data type flag nor a name tells it")


def precision_of_component(component: ComponentView) -> Precision:
    """Return what one component says of its precision."""
    calls = engine_calls(component.main.command, component.main.args, component.main.env)
    for call in calls:
        told = _of_call(call, component.name)
        if told.name:
            return told
    return Precision("", "")


def _of_call(call: EngineCall, component: str) -> Precision:
    quantization = call.flags.get("quantization", "")
    named = precision_in(quantization)
    if named:
        return Precision(named, f"--quantization {quantization} of component {component}")
    for flag in ("model", "served-model-name"):
        named = precision_in(call.flags.get(flag, ""))
        if named:
            return Precision(named, f"the model {call.flags[flag]} of component {component}")
    dtype = call.flags.get("dtype", "")
    named = precision_in(dtype)
    return Precision(named, f"--dtype {dtype} of component {component}" if named else "")
