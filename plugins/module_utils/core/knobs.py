# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A DGD's knobs: what its author may turn, under one name whatever API version or spelling it was written in.

A knob is a component's replica count, an engine flag, an environment variable, an image, or something that follows from
all of them, such as the mode (aggregated or disaggregated) and the precision.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import keys
from .configfiles import ConfigFile, config_files
from .dgdview import ComponentView, DgdView
from .engineargs import (
    FILE_FLAGS,
    OVERRIDE_FLAG,
    EngineCall,
    canonical_flag,
    engine_calls,
    parsed_settings,
    settings_flags,
)
from .errors import InputError
from .image_reference import ImageNameError, parse_image
from .precision import precision_of, precision_of_component
from .quantity import canonical

#: Names of knobs besides flags (``--…``) and variables (``env.…``).
REPLICAS, NODES, GPUS, IMAGE, ROLE, FRAMEWORK = "replicas", "nodes", "gpus", "image", "role", "framework"
SHARED_MEMORY, COMMAND = "shared_memory", "command"
MODE, PRECISION, MODEL = "mode", "precision", "model"
FLAG, ENV, SIDECAR, RESOURCE = "--", "env.", "sidecar.", "resources."
#: How the place of a variable ends that the main container's script sets itself.
IN_SCRIPT = " of its script"
WITHOUT_LIMIT = " without a limit"
#: A file from a ConfigMap of the manifest that is not read as an engine's settings; its value is a fingerprint.
FILE = "file."
#: How the place of a knob begins that stands in a ConfigMap; a pod's own fields do not show it.
IN_CONFIG_MAP = "ConfigMap/"
#: Variables whose value might be a credential: only whether it changed is told.
_SECRET = re.compile(r"token|secret|passw|credential|api_?key|private", re.IGNORECASE)
_SECRET_FLAG = re.compile(r"(^|[-.])(token|secret|password|credential|api-?key|private-key)$", re.IGNORECASE)
_OVERRIDDEN = f"--{OVERRIDE_FLAG}:"
#: Flags that tell a prefill worker.
_PREFILL_FLAGS = {"disaggregation-mode": "prefill", "is-prefill-worker": "true"}
_DECODE_FLAGS = {"disaggregation-mode": "decode", "is-decode-worker": "true"}


@dataclass(frozen=True)
class Knob:
    """A knob's value, and where it stands; ``unknown`` says what of it could not be read."""

    value: str
    where: str
    unknown: str = ""


@dataclass(frozen=True)
class ComponentKnobs:
    """All knobs of one component. ``unread`` says why its engine flags are not all known (empty: they are).

    ``data`` is the component as it stands in the manifest.
    """

    name: str
    role: str
    knobs: Mapping[str, Knob]
    unread: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DgdKnobs:
    """All knobs of a DGD: those of the whole (``mode``, ``precision``, …) and each component's."""

    whole: Mapping[str, Knob]
    components: Mapping[str, ComponentKnobs] = field(default_factory=dict)


@dataclass(frozen=True)
class KnobChange:
    """A knob that differs; an empty value means that it is not set."""

    component: str
    name: str
    before: str
    after: str
    where: str

    @property
    def label(self) -> str:
        """The knob as a person names it."""
        return f"{self.component} {self.name}" if self.component else self.name


def knobs_of(dgd: DgdView) -> DgdKnobs:
    """Return every knob of a DGD."""
    components = {component.name: _of_component(dgd, component) for component in dgd.components}
    frameworks = {item.knobs[FRAMEWORK].value for item in components.values() if FRAMEWORK in item.knobs}
    framework = dgd.framework or (frameworks.pop() if len(frameworks) == 1 else ", ".join(sorted(frameworks)))
    models = sorted({item.knobs[FLAG + "model"].value for item in components.values() if FLAG + "model" in item.knobs})
    told = precision_of(dgd)
    roles = {_work(item) for item in components.values()}
    mode = "disagg" if {keys.PREFILL, keys.DECODE} & roles and keys.PREFILL in roles else "agg"
    whole = {
        MODE: Knob(mode, "the components' roles"),
        PRECISION: Knob(told.name, told.why, "" if told.name else told.why),
        FRAMEWORK: Knob(framework, "spec.backendFramework" if dgd.framework else "the workers' programs"),
        MODEL: Knob(", ".join(models), "the workers' arguments"),
    }
    return DgdKnobs({name: knob for name, knob in whole.items() if knob.value or knob.unknown}, components)


def _work(component: ComponentKnobs) -> str:
    """Return what a component does, by its type and, for a plain worker, by its flags."""
    flags = {name: component.knobs[FLAG + name].value for name in _PREFILL_FLAGS if FLAG + name in component.knobs}
    if component.role in (keys.PREFILL, keys.DECODE):
        return component.role
    if any(flags.get(name) == value for name, value in _PREFILL_FLAGS.items()):
        return keys.PREFILL
    if any(flags.get(name) == value for name, value in _DECODE_FLAGS.items()):
        return keys.DECODE
    return component.role


def _of_component(dgd: DgdView, component: ComponentView) -> ComponentKnobs:
    path = component.path
    found: dict[str, Knob] = {
        REPLICAS: Knob(str(1 if component.replicas is None else component.replicas), f"{path}.replicas"),
        NODES: Knob(str(component.nodes), f"{path}.multinode.nodeCount"),
    }
    for name, value, where in (
        (ROLE, component.role, "type"),
        (IMAGE, component.main.image, "image"),
        (GPUS, component.gpus, "resources"),
        (SHARED_MEMORY, _shared_memory(component.data), "sharedMemory"),
    ):
        if value:
            found[name] = Knob(value, f"{path}.{where}")
    for name in component.resources:
        if name not in ("gpu", keys.GPU_RESOURCE):
            found[RESOURCE + name] = Knob(
                amount(component.requests.get(name), component.limits.get(name)), f"{path}.resources"
            )
    told = precision_of_component(component)
    if told.name:
        found[PRECISION] = Knob(told.name, told.why)
    found.update(_env_knobs(ENV, component.main.env, path))
    files = {file.path: file for file in config_files(component, dgd.config_maps)}
    unread = _engine_knobs(component, found, files)
    for file in files.values():
        found[FILE + file.path] = Knob(fingerprint(file.text), f"{IN_CONFIG_MAP}{file.name}")
    if component.sidecar is not None:
        found[SIDECAR + IMAGE] = Knob(component.sidecar.image, f"{path}.frontendSidecar")
        for call in engine_calls(component.sidecar.command, component.sidecar.args, component.sidecar.env):
            for name, value in call.flags.items():
                found[SIDECAR + FLAG + name] = Knob(value, f"{path}.frontendSidecar")
    if FRAMEWORK not in found and dgd.framework and component.role in keys.WORKER_TYPES:
        found[FRAMEWORK] = Knob(dgd.framework, "spec.backendFramework")
    return ComponentKnobs(component.name, component.role, found, unread, component.data)


def _engine_knobs(component: ComponentView, found: dict[str, Knob], files: dict[str, ConfigFile]) -> str:
    """Add the engine's flags to ``found``, and return why they are not all known."""
    main = component.main
    calls = engine_calls(main.command, main.args, main.env)
    if not calls:
        if not main.command and not main.args:
            return ""
        found[COMMAND] = Knob(" ".join((*main.command, *main.args)), f"{component.path}: command and args")
        return "its command is no known engine's"
    unread: list[str] = []
    for call, suffix in _numbered(calls):
        if call.program and not call.framework and not call.program.startswith("dynamo."):
            found[COMMAND] = Knob(call.program, f"{component.path}: command and args")
        if call.framework:
            found.setdefault(FRAMEWORK, Knob(call.framework, f"{call.program} of component {component.name}"))
        for name, value in call.env.items():
            found[ENV + name] = Knob(hidden(name, value), f"{component.path}: env {name}{IN_SCRIPT}")
        for name, knob in _call_knobs(call, component.name, files, unread).items():
            found[FLAG + name + suffix] = knob
        unread.extend(text for text in call.unknown if not text.startswith("--") or text.startswith(_OVERRIDDEN))
    return "; ".join(unread)


def _numbered(calls: Sequence[EngineCall]) -> list[tuple[EngineCall, str]]:
    """Return each call with what tells its knobs apart: nothing for the first engine, a number for others.

    Helpers beside an engine, such as a frontend in the same container, have their program's name.
    """
    engines = [call for call in calls if call.framework] or [calls[0]]
    found = [(call, f" (program {number})" if number > 1 else "") for number, call in enumerate(engines, 1)]
    times: dict[str, int] = {}
    for call in calls:
        if not any(call is engine for engine in engines):
            times[call.program] = number = times.get(call.program, 0) + 1
            found.append((call, f" ({call.program or 'program'}{f' {number}' if number > 1 else ''})"))
    return found


def _call_knobs(call: EngineCall, component: str, files: dict[str, ConfigFile], unread: list[str]) -> dict[str, Knob]:
    """Return the knobs of one call, those in files of the manifest included; such a file is taken from ``files``."""
    made: dict[str, Knob] = {}
    for name, value in call.flags.items():
        place = f"--{name} of component {component}"
        made[name] = Knob(hidden_flag(name, value), place, "; ".join(call.open_parts(name)))
    for name in call.flags:
        if name == OVERRIDE_FLAG:
            unread.append(f"--{name} is not plain JSON")
        if name not in FILE_FLAGS:
            continue
        file = files.get(call.flags[name])
        settings = parsed_settings(file.text) if file is not None else None
        if file is None or settings is None:
            unread.append(f"--{name} {call.flags[name]} may set more")
            continue
        del files[file.path]
        inside = {
            flag: Knob(hidden_flag(flag, value), f"{IN_CONFIG_MAP}{file.name}")
            for flag, value in settings_flags(settings)
        }
        made = {**made, **inside} if FILE_FLAGS[name] else {**inside, **made}
    return made


def hidden_flag(name: str, value: str) -> str:
    """Return a flag's value, or only its fingerprint where it is a credential."""
    return fingerprint(value) if _SECRET_FLAG.search(name) else value


def fingerprint(text: str) -> str:
    """Return what stands for a text that is not shown."""
    return f"(hidden, fingerprint {hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]})"


def amount(request: object, limit: object) -> str:
    """Return what is asked of a resource; a request without its own value is the limit, as Kubernetes has it."""
    asked = _quantity(str(limit if request is None else request))
    if limit is None:
        return f"{asked}{WITHOUT_LIMIT}"
    return asked if _quantity(str(limit)) == asked else f"{asked} to {_quantity(str(limit))}"


def _env_knobs(prefix: str, env: Mapping[str, str], path: str) -> dict[str, Knob]:
    return {prefix + name: Knob(hidden(name, value), f"{path}: env {name}") for name, value in env.items()}


def hidden(name: str, value: str) -> str:
    """Return a variable's value, or only its fingerprint where it might be a credential."""
    if value.startswith("<") or not _SECRET.search(name):
        return value
    return fingerprint(value)


def _quantity(text: str) -> str:
    try:
        return canonical(text)
    except InputError:
        return text


def _shared_memory(data: Mapping[str, Any]) -> str:
    if data.get("sharedMemorySize") is not None:
        return _quantity(str(data["sharedMemorySize"]))
    memory = data.get("sharedMemory")
    if not isinstance(memory, Mapping):
        return ""
    return "0" if memory.get("disabled") else _quantity(str(memory.get("size") or ""))


def pairs(before: DgdKnobs, after: DgdKnobs) -> list[tuple[ComponentKnobs | None, ComponentKnobs | None]]:
    """Pair the components of two DGDs: by name, else by a role that each has left only once."""
    left = dict(before.components)
    right = dict(after.components)
    found: list[tuple[ComponentKnobs | None, ComponentKnobs | None]] = []
    for name in [name for name in left if name in right]:
        found.append((left.pop(name), right.pop(name)))
    for role in dict.fromkeys(item.role for item in left.values()):
        ours = [item for item in left.values() if item.role == role]
        theirs = [item for item in right.values() if item.role == role]
        if len(ours) == 1 and len(theirs) == 1:
            found.append((left.pop(ours[0].name), right.pop(theirs[0].name)))
    found.extend((item, None) for item in left.values())
    found.extend((None, item) for item in right.values())
    return found


def changes(before: DgdKnobs, after: DgdKnobs) -> tuple[KnobChange, ...]:
    """Return every knob in which the components of two DGDs differ; what follows from others is left out."""
    found: list[KnobChange] = []
    for one, other in pairs(before, after):
        name = other.name if other is not None else one.name if one is not None else ""
        ours = {key: knob for key, knob in one.knobs.items() if key != PRECISION} if one is not None else {}
        theirs = {key: knob for key, knob in other.knobs.items() if key != PRECISION} if other is not None else {}
        found.extend(_differing(name, ours, theirs))
    return tuple(found)


def same_value(name: str, one: str, other: str) -> bool:
    """Whether two values of a knob mean the same; ``a:1`` and ``docker.io/library/a:1`` are one image."""
    if one == other:
        return True
    if name not in (IMAGE, SIDECAR + IMAGE) or not (one and other):
        return False
    try:
        images = [parse_image(text) for text in (one, other)]
        names = {(item.name, item.tag or ("" if item.digest else "latest"), item.digest) for item in images}
        return len(names) == 1
    except ImageNameError:
        return False


def _differing(component: str, one: Mapping[str, Knob], other: Mapping[str, Knob]) -> Iterable[KnobChange]:
    for name in dict.fromkeys((*one, *other)):
        before, after = one.get(name), other.get(name)
        if not same_value(name, before.value if before else "", after.value if after else ""):
            where = after.where if after is not None else before.where if before is not None else ""
            yield KnobChange(component, name, before.value if before else "", after.value if after else "", where)


def flag_knob(text: str) -> str:
    """Return the knob of an engine flag in any of its spellings."""
    return FLAG + canonical_flag(text)
