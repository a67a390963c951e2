# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pinned knobs: what a candidate may not change against the baseline, compared in one form for both manifests.

A pinned entry is a knob's name (``mode``, ``precision``, ``replicas``, ``tensor_parallel_size``, ``--max-model-len``),
a component's knob (``Decode.replicas``, ``Decode.env.UCX_TLS``), or a path as it stands in a manifest of either version
(``spec.services.Decode.replicas``, ``spec.components[Decode].podTemplate.spec.containers[main].args``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import keys
from .configfiles import pod_and_main
from .dgdview import DgdView
from .engineargs import canonical_flag
from .errors import InputError, shown
from .findings import Finding, Reason
from .knobs import (
    COMMAND,
    ENV,
    FILE,
    FLAG,
    FRAMEWORK,
    GPUS,
    IMAGE,
    IN_SCRIPT,
    MODE,
    MODEL,
    NODES,
    PRECISION,
    REPLICAS,
    RESOURCE,
    ROLE,
    SHARED_MEMORY,
    SIDECAR,
    ComponentKnobs,
    DgdKnobs,
    Knob,
    flag_knob,
    knobs_of,
    pairs,
    same_value,
)

CHECK = "pinned_knobs"

PINNED_KEPT = Reason("pinned_kept", CHECK, "A pinned knob is as in the baseline.")
PINNED_CHANGED = Reason(
    "pinned_changed",
    CHECK,
    "The assigned manifest changes a knob that the workload contract pins.",
    "Set the knob back in the candidate, or have the pin lifted in the contract.",
)
PINNED_UNKNOWN = Reason(
    "pinned_unknown",
    CHECK,
    "Whether a pinned knob was changed cannot be told from the manifests.",
    "Write the pin as a knob's name or a manifest path, and the knob as a plain flag or field in both manifests; or"
    " look at both and accept this reason code (dynamo_accepted, preflight_accepted).",
)
REASONS: tuple[Reason, ...] = (PINNED_KEPT, PINNED_CHANGED, PINNED_UNKNOWN)

#: Names of knobs of the whole DGD.
_WHOLE: Mapping[str, str] = {
    "mode": MODE,
    "serving_mode": MODE,
    "disaggregation": MODE,
    "precision": PRECISION,
    "framework": FRAMEWORK,
    "backend": FRAMEWORK,
    "backend_framework": FRAMEWORK,
    "backendframework": FRAMEWORK,
    "engine": FRAMEWORK,
    "model": MODEL,
    "model_id": MODEL,
    "model_name": MODEL,
}
#: Names of knobs that every component has.
_EACH: Mapping[str, str] = {
    "replicas": REPLICAS,
    "replica_count": REPLICAS,
    "nodes": NODES,
    "node_count": NODES,
    "nodecount": NODES,
    "num_nodes": NODES,
    "multinode": NODES,
    "gpus": GPUS,
    "gpu": GPUS,
    "gpu_count": GPUS,
    "gpus_per_replica": GPUS,
    "image": IMAGE,
    "images": IMAGE,
    "role": ROLE,
    "type": ROLE,
    "componenttype": ROLE,
    "subcomponenttype": ROLE,
    "shared_memory": SHARED_MEMORY,
    "sharedmemory": SHARED_MEMORY,
    "sharedmemorysize": SHARED_MEMORY,
    "router": FLAG + "router-mode",
    "routing": FLAG + "router-mode",
    "router_mode": FLAG + "router-mode",
}
#: Flags that are known without standing in a manifest: pinned and set in neither, they are as they were.
_KNOWN_FLAGS = frozenset(
    re.findall(
        r"\S+",
        """
    attention-backend block-size chunked-prefill-size compilation-config cpu-offload-gb cuda-graph-max-bs
    data-parallel-size decode-context-parallel-size disable-cuda-graph disable-radix-cache disaggregation-mode dtype
    enable-chunked-prefill enable-dp-attention enable-expert-parallel enable-prefix-caching enforce-eager
    expert-parallel-size free-gpu-memory-fraction gpu-memory-utilization kv-cache-block-size kv-cache-dtype
    kv-transfer-config load-format max-batch-size max-beam-width max-model-len max-num-batched-tokens max-num-seqs
    max-num-tokens max-prefill-tokens max-running-requests max-total-tokens mem-fraction-static moe-a2a-backend
    moe-backend page-size pipeline-parallel-size quantization schedule-policy seed served-model-name
    speculative-algorithm speculative-config swap-space tensor-parallel-size tokenizer
    """,
    )
)
#: Flags that say the same to other engines: a pin on one holds for the others.
_SAME: Mapping[str, tuple[str, ...]] = {
    FLAG + "expert-parallel-size": (FLAG + "enable-expert-parallel",),
    FLAG + "kv-cache-config": (FLAG + "free-gpu-memory-fraction", FLAG + "kv-cache-dtype"),
}
#: Names of many knobs at once.
_GROUPS = frozenset(("args", "command", "env", "envs", "resources", "frontendsidecar"))
#: A path's parts that lead to a container or a pod and say nothing themselves.
_TRANSPARENT = frozenset(("extrapodspec", "maincontainer", "podtemplate", "spec", "containers", "main"))


@dataclass(frozen=True)
class Pin:
    """What a pinned entry stands for: a component (empty: the whole, ``*``: each), and knob names or prefixes.

    ``path`` is what a path holds below the component that leads to no knob that is known by its place: an engine's flag
    or any other field of the pod.
    """

    component: str
    knob: str
    prefix: bool = False
    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Compared:
    """One comparison: ``same`` is ``None`` where it cannot be told, ``told`` says what was compared."""

    same: bool | None
    told: str


def judge_pinned(baseline: DgdView, candidate: DgdView, pinned: Sequence[str]) -> tuple[Finding, ...]:
    """Return one finding or more for each pinned entry; raise :class:`InputError` for an entry that is no text."""
    before, after = knobs_of(baseline), knobs_of(candidate)
    subject = f"{keys.DGD_KIND}/{candidate.name}"
    findings: list[Finding] = []
    for number, entry in enumerate(pinned):
        if not isinstance(entry, str) or not entry.strip():
            raise InputError("a pinned knob is a text", field=f"pinned[{number}]", found=shown(entry))
        findings.extend(_judge_one(entry.strip(), before, after, subject))
    return tuple(findings)


def _judge_one(entry: str, before: DgdKnobs, after: DgdKnobs, subject: str) -> Iterator[Finding]:
    pin = read_pin(entry, before, after)
    compared = list(_compare(pin, before, after)) if pin is not None else []
    if not compared:
        text = f"{entry} is no knob of either manifest that is known."
        yield PINNED_UNKNOWN.finding("unknown", subject, text)
        return
    for item in compared:
        if item.same is False:
            yield PINNED_CHANGED.finding("fail", subject, f"{entry} is pinned and changes: {item.told}.", [item.told])
        elif item.same is None:
            yield PINNED_UNKNOWN.finding("unknown", subject, f"{entry} is pinned: {item.told}.", [item.told])
    if all(item.same for item in compared):
        yield PINNED_KEPT.finding("pass", subject, f"{entry} is as in the baseline.", [item.told for item in compared])


# -- what an entry means -----------------------------------------------------------------------------------------------


def read_pin(entry: str, before: DgdKnobs, after: DgdKnobs) -> Pin | None:
    """Return what a pinned entry stands for, or nothing where that cannot be told."""
    if entry.startswith("-"):
        return Pin("*", pinned_flag(entry))
    parts = split_path(entry)
    if not parts:
        return None
    if parts[0].lower() == "spec" and len(parts) > 1:
        parts = parts[1:]
    names = (*before.components, *after.components)
    if parts[0].lower() in ("services", "components") and len(parts) > 1:
        # An index counts the baseline's components, which the pin was written for.
        place = parts[1] if parts[0].lower() == "components" and parts[1].isdecimal() else ""
        if place and int(place) < len(before.components):
            return _component_pin(list(before.components)[int(place)], parts[2:])
        name = _component_name(parts[1], names)
        return _component_pin(name, parts[2:]) if name else None
    if len(parts) == 1:
        return _plain_pin(parts[0], names, before, after)
    if parts[0] == "*":
        return _component_pin("*", parts[1:])
    name = _component_name(parts[0], names)
    return _component_pin(name, parts[1:]) if name else _component_pin("*", parts)


def split_path(text: str) -> list[str]:
    """Split a path at dots and brackets: ``a.b[c.d].e`` → a, b, c.d, e; ``[name=x]`` means ``x``.

    So does JSONPath's ``[?(@.name=="x")]``; a JSON Pointer (``/a/b``) is split at slashes.
    """
    if text.startswith("/"):
        return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/") if part]
    text = re.sub(r"\[\?\(?\s*@\.name\s*={1,2}\s*([^()\[\]]+?)\s*\)?\]", r"[\1]", text.removeprefix("$"))
    found = re.findall(r"\[([^\[\]]*)\]|([^.\[\]]+)", text)
    parts = [(inside or outside).strip().strip("'\"") for inside, outside in found]
    return [re.sub(r"^name\s*=\s*", "", part).strip("'\"") for part in parts if part]


def _component_name(text: str, names: Sequence[str]) -> str:
    if text == "*":
        return "*"
    exact = [name for name in names if name == text]
    return next(iter(exact or [name for name in names if name.lower() == text.lower()]), "")


def _plain_pin(text: str, names: Sequence[str], before: DgdKnobs, after: DgdKnobs) -> Pin | None:
    lower = text.lower().replace("-", "_")
    if lower in _WHOLE:
        return Pin("", _WHOLE[lower])
    if lower in _EACH:
        return Pin("*", _EACH[lower])
    if _component_name(text, names):
        return Pin(_component_name(text, names), "", prefix=True)
    if lower in _GROUPS:
        return _component_pin("*", [text])
    every = [item for dgd in (before, after) for item in dgd.components.values()]
    for knob in (pinned_flag(text), ENV + text):
        if any(_matching(Pin("*", knob), item.knobs) for item in every):
            return Pin("*", knob)
    if any(field_at(item.data, [text]) is not None for item in every):
        return Pin("*", pinned_flag(text), path=(text,))
    return Pin("*", pinned_flag(text)) if canonical_flag(text) in _KNOWN_FLAGS else None


def pinned_flag(text: str) -> str:
    """Return the knob of a flag in any of its spellings, that of switching it off included."""
    knob = flag_knob(text)
    return FLAG + knob.removeprefix(f"{FLAG}no-") if knob.startswith(f"{FLAG}no-") else knob


def _component_pin(component: str, parts: Sequence[str]) -> Pin:
    """Return the knob that a component's path leads to; a path that leads nowhere else is taken for a flag.

    What stands below a flag (``speculative_config.method``) is a part of its settings.
    """
    rest = [part for part in parts if part.lower() not in _TRANSPARENT]
    if not rest:
        return Pin(component, "", prefix=True)
    head, more = rest[0].lower(), rest[1:]
    if head in ("args", "command"):
        return Pin(component, pinned_flag(".".join(more))) if more else Pin(component, FLAG, prefix=True)
    if head in ("env", "envs"):
        return Pin(component, ENV + more[0]) if more else Pin(component, ENV, prefix=True)
    if head == "frontendsidecar":
        return Pin(component, SIDECAR, prefix=True)
    if head == "resources":
        resource = [part for part in more if part.lower() not in ("limits", "requests", "custom")]
        if not resource:
            return Pin(component, RESOURCE, prefix=True)
        name = ".".join(resource)
        return Pin(component, GPUS if name in ("gpu", keys.GPU_RESOURCE) else RESOURCE + name)
    if head.replace("-", "_") in _EACH:
        return Pin(component, _EACH[head.replace("-", "_")])
    return Pin(component, pinned_flag(".".join(rest)), path=tuple(rest))


# -- comparison --------------------------------------------------------------------------------------------------------


def _compare(pin: Pin, before: DgdKnobs, after: DgdKnobs) -> Iterator[_Compared]:
    if not pin.component:
        yield from _whole(pin.knob, before, after)
        return
    for one, other in pairs(before, after):
        names = {item.name for item in (one, other) if item is not None}
        if pin.component != "*" and pin.component not in names:
            continue
        present = other or one
        if one is None or other is None:
            where = "the baseline" if one is None else "the candidate"
            if present is not None and (pin.component != "*" or _matching(pin, present.knobs)):
                yield _Compared(False, f"component {present.name} is not in {where}")
            continue
        yield from _component(pin, one, other)


def _whole(knob: str, before: DgdKnobs, after: DgdKnobs) -> Iterator[_Compared]:
    one, other = before.whole.get(knob, Knob("", "")), after.whole.get(knob, Knob("", ""))
    if knob == PRECISION:
        # The parts that a precision is made of are compared as well: a name may hide what a flag changes.
        for name in (PRECISION, FLAG + "quantization", FLAG + "dtype", FLAG + "kv-cache-dtype"):
            yield from (item for item in _compare(Pin("*", name), before, after) if item.same is False)
    if one.value == other.value and one.value:
        yield _Compared(True, f"{knob} {one.value}")
    elif one.unknown or other.unknown or not (one.value and other.value):
        why = one.unknown or other.unknown or "it is not set"
        same = _same_everywhere(before, after)
        yield _Compared(True if same else None, f"{knob} cannot be told ({why})")
    else:
        yield _Compared(False, f"{knob} {one.value} → {other.value} ({other.where})")


def _same_everywhere(before: DgdKnobs, after: DgdKnobs) -> bool:
    """Whether no component differs in anything that a knob of the whole could follow from."""
    names = (ROLE, IMAGE, FRAMEWORK, COMMAND)
    starts = (FLAG, ENV, FILE)
    for one, other in pairs(before, after):
        if one is None or other is None:
            return False
        ours = {name: knob.value for name, knob in one.knobs.items() if name in names or name.startswith(starts)}
        theirs = {name: knob.value for name, knob in other.knobs.items() if name in names or name.startswith(starts)}
        if ours != theirs or ((one.unread or other.unread) and launch_text(one) != launch_text(other)):
            return False
    return True


def _matching(pin: Pin, knobs: Mapping[str, Knob]) -> list[str]:
    if not pin.prefix:
        return [name for name in knobs if _is_meant(pin.knob, name)]
    more = {RESOURCE: (GPUS,), FLAG: (COMMAND, FILE)}.get(pin.knob, ())
    # A variable that a script sets stands among the arguments.
    return [
        name
        for name, knob in knobs.items()
        if name.startswith((pin.knob, *more)) or (pin.knob == FLAG and knob.where.endswith(IN_SCRIPT))
    ]


def _is_meant(wanted: str, name: str) -> bool:
    """Whether a knob is the wanted one: in any program of the container, with its parts, or as a part of another."""
    plain = name.partition(" (")[0]
    if not wanted.startswith(FLAG) or not plain.startswith(FLAG):
        return name == wanted
    if plain == wanted or plain.startswith(f"{wanted}.") or plain in _SAME.get(wanted, ()):
        return True
    # A flag of its own is not the setting of that name within another one (--model, speculative_config.model).
    flag = wanted[len(FLAG) :]
    return flag not in _KNOWN_FLAGS and flag != MODEL and plain.endswith(f".{flag}")


def _component(pin: Pin, one: ComponentKnobs, other: ComponentKnobs) -> Iterator[_Compared]:
    names = list(dict.fromkeys((*_matching(pin, one.knobs), *_matching(pin, other.knobs))))
    is_flag = pin.knob.startswith(FLAG) or pin.prefix
    for name in names:
        if any(item.unread and name not in item.knobs and name.startswith(FLAG) for item in (one, other)):
            continue  # what could not be read may set it; that is told below
        yield _compared(other.name, name, one.knobs.get(name), other.knobs.get(name))
    fields = (field_at(one.data, pin.path), field_at(other.data, pin.path)) if pin.path and not names else (None, None)
    if fields != (None, None):
        yield _field(f"{other.name}: {'.'.join(pin.path)}", *fields)
    elif is_flag and (one.unread or other.unread):
        if _same_text(one, other):
            yield _Compared(True, f"{other.name}: command, arguments and image are the same")
        else:
            yield _Compared(None, f"{other.name}: {other.unread or one.unread}")
    elif not names and not _may_be_unset(pin):
        return
    elif not names and (pin.component != "*" or pin.knob in (GPUS, SHARED_MEMORY) or pin.knob.startswith(FLAG)):
        yield _Compared(True, f"{other.name}: {_shown(pin.knob)} is set in neither")


def _may_be_unset(pin: Pin) -> bool:
    """Whether a knob that neither manifest sets is one: of a path that leads nowhere only a known flag is."""
    return not pin.path or pin.path[-1].startswith("-") or canonical_flag(pin.knob).partition(".")[0] in _KNOWN_FLAGS


def field_at(data: Mapping[str, Any], path: Sequence[str]) -> object:
    """Return what stands at a path in a component's main container, its pod or itself, or nothing."""
    pod, main = pod_and_main(data)
    for start in (main, pod, data):
        here: object = start
        for part in path:
            here = _below(here, part)
        if here is not None:
            return here
    return None


def _below(value: object, part: str) -> object:
    if isinstance(value, Mapping):
        return value.get(part)
    if isinstance(value, (list, tuple)):
        named = [item for item in value if isinstance(item, Mapping) and item.get("name") == part]
        return named[0] if named else value[int(part)] if part.isdecimal() and int(part) < len(value) else None
    return None


def _field(label: str, one: object, other: object) -> _Compared:
    before, after = (
        "unset" if value is None else json.dumps(value, sort_keys=True, default=str) for value in (one, other)
    )
    return _Compared(one == other, f"{label} {before}" if one == other else f"{label} {before} → {after}")


def _same_text(one: ComponentKnobs, other: ComponentKnobs) -> bool:
    def relevant(item: ComponentKnobs) -> dict[str, str]:
        return {
            name: knob.value
            for name, knob in item.knobs.items()
            if name in (IMAGE, COMMAND) or name.startswith((FLAG, ENV, FILE))
        }

    return relevant(one) == relevant(other) and launch_text(one) == launch_text(other)


def launch_text(item: ComponentKnobs) -> tuple[object, object]:
    """Return the main container's command and arguments as they stand, for what cannot be read further."""
    _unused, main = pod_and_main(item.data)
    return main.get("command"), main.get("args")


def _compared(component: str, name: str, one: Knob | None, other: Knob | None) -> _Compared:
    before, after = one.value if one else "", other.value if other else ""
    label = f"{component}: {_shown(name)}"
    unknown = (one.unknown if one else "") or (other.unknown if other else "")
    if same_value(name, before, after):
        # Equal texts with the same open variable are the same as long as the variable is; that is compared apart.
        return _Compared(True, f"{label} {before}")
    if unknown:
        return _Compared(None, f"{label} {before or 'unset'} → {after or 'unset'}, where {unknown} is not known")
    return _Compared(False, f"{label} {before or 'unset'} → {after or 'unset'}")


def _shown(knob: str) -> str:
    return {FLAG: "arguments", ENV: "environment", SIDECAR: "sidecar", RESOURCE: "resources", "": "component"}.get(
        knob, knob
    )
