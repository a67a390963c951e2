# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proof that a candidate's changed knobs are live: the field of a running pod, or the line of its log, that shows each.

A manifest that was applied and a model that answers prove nothing about one knob; what a running pod was started with
does. Only the matching words of a log line are quoted, as the rest of a line may hold anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import keys
from .demand import K8sObject
from .dgdview import ComponentView, ContainerView, DgdView, container_of
from .endpoint import is_ready
from .engineargs import canonical_value, engine_calls
from .errors import InputError
from .findings import Finding, Reason
from .knobs import (
    COMMAND,
    ENV,
    FLAG,
    FRAMEWORK,
    GPUS,
    IMAGE,
    IN_CONFIG_MAP,
    NODES,
    REPLICAS,
    RESOURCE,
    ROLE,
    SHARED_MEMORY,
    SIDECAR,
    WITHOUT_LIMIT,
    KnobChange,
    amount,
    changes,
    hidden,
    hidden_flag,
    knobs_of,
    pairs,
)
from .quantity import canonical

CHECK = "config_engagement"

ENGAGED = Reason("engagement_proven", CHECK, "A changed knob is live in every running pod of its component.")
NOT_LIVE = Reason(
    "engagement_not_live",
    CHECK,
    "A running pod shows another value than the candidate's.",
    "Look whether the rollout is finished and whether something rewrites the pod; measure nothing before it is live.",
)
UNPROVEN = Reason(
    "engagement_unproven",
    CHECK,
    "Neither a running pod's fields nor its start-up log show the changed knob.",
    "Give the pods' start-up logs, or look at the process itself.",
)
REASONS: tuple[Reason, ...] = (ENGAGED, NOT_LIVE, UNPROVEN)

COMPONENT = "component"


@dataclass(frozen=True)
class Proof:
    """One changed knob: ``proven`` is ``None`` where nothing shows it, ``False`` where a pod shows something else."""

    component: str
    knob: str
    before: str
    after: str
    proven: bool | None
    evidence: tuple[str, ...]

    def to_result(self) -> dict[str, Any]:
        """Return the entry of the ledger's ``config_engagement``."""
        return {
            "id": f"{self.component} {self.knob}".strip(),
            "component": self.component,
            "knob": self.knob,
            "before": self.before,
            "after": self.after,
            "proven": self.proven,
            "evidence": list(self.evidence),
        }

    def finding(self) -> Finding:
        """Return the proof as a finding."""
        label = f"{self.component}: {self.knob} {self.before or 'unset'} → {self.after or 'unset'}"
        reason = {True: ENGAGED, False: NOT_LIVE, None: UNPROVEN}[self.proven]
        words = {True: "is live", False: "is not live", None: "is not proven"}[self.proven]
        return reason.finding(
            {True: "pass", False: "fail", None: "unknown"}[self.proven],  # type: ignore[arg-type]  # three of the outcomes
            f"Component/{self.component}",
            f"{label} {words}.",
            self.evidence,
        )


@dataclass(frozen=True)
class _Live:
    """A running pod, and its containers by name."""

    name: str
    pod: K8sObject
    containers: Mapping[str, ContainerView]
    log: str

    @property
    def main(self) -> ContainerView:
        return self.containers.get(keys.MAIN_CONTAINER) or next(iter(self.containers.values()), ContainerView(""))


def prove(
    previous: DgdView, candidate: DgdView, pods: Iterable[K8sObject], logs: Mapping[str, str] | None = None
) -> tuple[Proof, ...]:
    """Return a proof, or its lack, for each knob in which the candidate differs. ``logs`` are texts by pod name."""
    before, after = knobs_of(previous), knobs_of(candidate)
    live = _live_pods(candidate, pods, logs or {})
    proofs: list[Proof] = []
    for one, other in pairs(before, after):
        if one is not None and other is not None:
            continue
        name = (other or one).name if (other or one) is not None else ""  # type: ignore[union-attr]  # one of them is there
        running = live.get(name, [])
        words = ("", "present") if one is None else ("present", "")
        told = tuple(f"Pod/{pod.name}: runs" for pod in running) or ("no pod of it runs",)
        proofs.append(Proof(name, COMPONENT, *words, bool(running) is (one is None), told))
    single = {proof.component for proof in proofs}
    for change in changes(before, after):
        if change.component not in single:
            view = candidate.component(change.component)
            proofs.append(_prove_one(change, view, live.get(change.component, [])))
    return tuple(proofs)


def _live_pods(dgd: DgdView, pods: Iterable[K8sObject], logs: Mapping[str, str]) -> dict[str, list[_Live]]:
    found: dict[str, list[_Live]] = {}
    for pod in pods:
        metadata = pod.get("metadata") or {}
        labels = metadata.get("labels") or {}
        over = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
        if labels.get(keys.LABEL_DGD, dgd.name) != dgd.name or metadata.get("deletionTimestamp") or over:
            continue
        spec = pod.get("spec") or {}
        containers = {
            str(item.get("name")): container_of(item)
            for item in spec.get("containers") or ()
            if isinstance(item, Mapping)
        }
        name = str(metadata.get("name", ""))
        found.setdefault(str(labels.get(keys.LABEL_COMPONENT, "")), []).append(
            _Live(name, pod, containers, logs.get(name, ""))
        )
    return found


def _prove_one(change: KnobChange, view: ComponentView | None, running: Sequence[_Live]) -> Proof:
    def proof(proven: bool | None, evidence: Iterable[str]) -> Proof:
        return Proof(change.component, change.name, change.before, change.after, proven, tuple(evidence))

    if not running or view is None:
        return proof(None, ["no pod of the component runs"])
    if change.name in (REPLICAS, NODES):
        wanted = (1 if view.replicas is None else view.replicas) * view.nodes
        ready = [pod.name for pod in running if is_ready(pod.pod)]
        return proof(len(ready) == wanted, [f"{len(ready)} of {wanted} pods are ready: {', '.join(sorted(ready))}"])
    shown = [(pod, *_seen(change, pod)) for pod in running]
    wrong = [f"Pod/{pod.name}: {told}" for pod, same, told in shown if same is False]
    if wrong:
        return proof(False, wrong)
    right = [f"Pod/{pod.name}: {told}" for pod, same, told in shown if same]
    right += [f"Pod/{pod.name} log: {line}" for pod in running for line in _log_lines(change, pod.log)]
    everywhere = all(same or _log_lines(change, pod.log) for pod, same, _unused in shown)
    return proof(True if right and everywhere else None, right or ["the pods' fields do not show it"])


def _seen(change: KnobChange, pod: _Live) -> tuple[bool | None, str]:
    """Return whether a pod's fields show the knob's new value, and the field; ``None`` where they cannot."""
    name, wanted = change.name, change.after
    if change.where.startswith(IN_CONFIG_MAP):
        return None, ""  # the file is mounted; whether the process has read it only its log tells
    if name.startswith(SIDECAR):
        sidecar = pod.containers.get(keys.SIDECAR_FRONTEND, ContainerView(""))
        return _in_container(name[len(SIDECAR) :], wanted, sidecar)
    if name in (FRAMEWORK, COMMAND) or name.startswith((FLAG, ENV)) or name == IMAGE:
        return _in_container(name, wanted, pod.main)
    if name == GPUS or name.startswith(RESOURCE):
        return _resource(name, wanted, pod)
    if name == SHARED_MEMORY:
        return _shared_memory(wanted, pod)
    if name == ROLE:
        labels = (pod.pod.get("metadata") or {}).get("labels") or {}
        values = (labels.get(keys.LABEL_SUB_COMPONENT_TYPE), labels.get(keys.LABEL_COMPONENT_TYPE))
        return wanted in values, f"labels {', '.join(str(value) for value in values if value)}"
    return None, ""


def _in_container(name: str, wanted: str, container: ContainerView) -> tuple[bool | None, str]:
    where = f"spec.containers[{container.name}]"
    if name == IMAGE:
        return container.image == wanted, f"{where}.image {container.image}"
    if name.startswith(ENV):
        variable = name[len(ENV) :]
        own = {
            name: text
            for call in engine_calls(container.command, container.args, container.env)
            for name, text in call.env.items()
        }
        value = hidden(variable, {**container.env, **own}.get(variable, ""))
        if value.startswith("<") and wanted and not wanted.startswith("<"):
            return None, ""  # the pod takes it from elsewhere; a ConfigMap of the manifest told the value
        return value == wanted, f"{where}.env {variable}={value}" if value else f"{where}.env has no {variable}"
    calls = engine_calls(container.command, container.args, container.env)
    if name == FRAMEWORK:
        found = {call.framework for call in calls}
        return wanted in found if found else None, f"{where} runs {', '.join(sorted(found))}"
    if name == COMMAND:
        text = " ".join((*container.command, *container.args))
        return (wanted in text) or None, f"{where} runs {wanted}"
    flag = name[len(FLAG) :].partition(" ")[0]
    values = [call.flags[flag] for call in calls if flag in call.flags]
    if any(call.open_parts(flag) for call in calls):
        return None, ""
    if not values:
        return (not wanted) if calls else None, f"{where} has no --{flag}"
    values = [hidden_flag(flag, value) for value in values]
    return canonical_value(flag, wanted) in values, f"{where} --{flag} {' '.join(values)}"


def _resource(name: str, wanted: str, pod: _Live) -> tuple[bool | None, str]:
    resource = keys.GPU_RESOURCE if name == GPUS else name[len(RESOURCE) :]
    spec = pod.pod.get("spec") or {}
    for container in spec.get("containers") or ():
        if container.get("name") == pod.main.name:
            resources = container.get("resources") or {}
            limit, request = ((resources.get(family) or {}).get(resource) for family in ("limits", "requests"))
            there = amount(request, limit) if (limit, request) != (None, None) else ""
            told = f"spec.containers[{pod.main.name}].resources {resource}={there or 'unset'}"
            return _as_asked(_quantity(wanted) if name == GPUS and wanted else wanted, there), told
    return None, ""


def _as_asked(wanted: str, there: str) -> bool:
    """Whether a pod has the amount; a limit that one of both leaves out (a LimitRange may add it) does not count."""
    if WITHOUT_LIMIT in wanted + there:
        wanted, there = (text.removesuffix(WITHOUT_LIMIT).partition(" to ")[0] for text in (wanted, there))
    return wanted == there


def _shared_memory(wanted: str, pod: _Live) -> tuple[bool | None, str]:
    for volume in (pod.pod.get("spec") or {}).get("volumes") or ():
        if volume.get("name") == keys.SHARED_MEMORY_VOLUME:
            size = _quantity((volume.get("emptyDir") or {}).get("sizeLimit"))
            return size == wanted if wanted else None, f"spec.volumes[{keys.SHARED_MEMORY_VOLUME}] {size}"
    return wanted == "0", f"spec.volumes has no {keys.SHARED_MEMORY_VOLUME}"


def _quantity(text: object) -> str:
    try:
        return canonical(text)
    except InputError:
        return str(text)


def _log_lines(change: KnobChange, log: str) -> list[str]:
    """Return the words of a start-up log that show an engine flag with its new value, each form once."""
    if not change.name.startswith(FLAG) or not change.after or not log:
        return []
    # A log tells a setting within a file or a mapping by its own name.
    own = change.name[len(FLAG) :].partition(" ")[0].rpartition(".")[2]
    flag = re.escape(own).replace(r"\-", "[-_]")
    value = re.escape(change.after)
    pattern = re.compile(rf"(?<![\w-])-{{0,2}}{flag}['\"]?\s*[=: ]\s*['\"]?{value}(?![\w.])", re.IGNORECASE)
    return list(dict.fromkeys(_found(pattern, log)))[:3]


def _found(pattern: re.Pattern[str], log: str) -> Iterator[str]:
    for line in log[:1_000_000].splitlines():
        match = pattern.search(line)
        if match:
            yield match[0].strip()
