# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the operator does without a word and a person would want to know: findings about a graph and its objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .. import keys
from ..errors import InputError
from ..findings import Finding, Reason
from ..quantity import parse_quantity
from .graph import Component, Graph
from .template_beta import main_container

_CHECK = "render"

QUANTITY_DROPPED = Reason(
    "render_quantity_dropped",
    _CHECK,
    "An amount is no quantity, and release 1.5 leaves it out without a word.",
    "Write the amount as Kubernetes does, such as 500m, 4 or 16Gi.",
)
FLAG_UNSEEN = Reason(
    "render_parallel_flag_unseen",
    _CHECK,
    "A parallelism flag is spelt in a way that the operator does not read, so nothing joins the nodes.",
    "Spell it out, with a space: --tensor-parallel-size 16.",
)
QUOTE_BREAKS = Reason(
    "render_quote_breaks",
    _CHECK,
    "A single quote in a TensorRT-LLM command ends the quotes that the operator puts around it.",
    "Use double quotes, or put the value into a file.",
)
ENV_TWICE = Reason(
    "render_variable_twice",
    _CHECK,
    "A variable stands twice in a container: the operator appends it whatever the user set.",
    "Take your own entry out; the last one counts.",
)
SERVICE_EMPTY = Reason(
    "render_service_without_pods",
    _CHECK,
    "A component without type gets a Service that selects none of its pods.",
    "Give the component a type.",
)
SIDECAR_FIRST = Reason(
    "render_sidecar_first",
    _CHECK,
    "Release 1.1 puts the user's containers first and then works on the first container.",
    "Run the sidecar as an init container with restartPolicy Always, or use a newer operator.",
)
NAMES_COLLIDE = Reason(
    "render_names_collide",
    _CHECK,
    "Components whose names differ only in case become one object, and only one of them runs.",
    "Give the components names that differ in more than case.",
)
REASONS: tuple[Reason, ...] = (
    QUANTITY_DROPPED,
    FLAG_UNSEEN,
    QUOTE_BREAKS,
    ENV_TWICE,
    SERVICE_EMPTY,
    SIDECAR_FIRST,
    NAMES_COLLIDE,
)

_READ_FLAGS = ("--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size")
_UNREAD_FLAGS = ("-tp", "-pp", "-dp", "--tp", "--pp", "--dp", "--tp-size", "--pp-size", "--dp-size")


def quirks(graph: Graph, source: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return findings about a rendered graph; ``source`` is the admitted DGD in its own API version."""
    found = list(_collisions(graph))
    alpha_rules = graph.profile.api_version == keys.V1ALPHA1
    if not alpha_rules:
        found += _dropped(source)
    for component in graph.components:
        found += _flags(component, _main(component, alpha_rules))
        if not component.type:
            found.append(SERVICE_EMPTY.finding("warn", f"component {component.name}", SERVICE_EMPTY.meaning))
        if alpha_rules:
            found += _sidecars(component)
    found += _repeated(graph.objects)
    return tuple(found)


def _collisions(graph: Graph) -> Iterator[Finding]:
    named: dict[str, list[str]] = {}
    for component in graph.components:
        named.setdefault(component.lower, []).append(component.name)
    for spellings in named.values():
        if len(spellings) > 1:
            subject = f"component {spellings[-1]}"
            yield NAMES_COLLIDE.finding("fail", subject, f"{' and '.join(spellings)} overwrite one another")


def _main(component: Component, alpha_rules: bool) -> Mapping[str, Any]:
    if alpha_rules:
        return (component.spec.get("extraPodSpec") or {}).get("mainContainer") or {}
    return main_container(component) or {}


def _dropped(source: Mapping[str, Any]) -> Iterator[Finding]:
    for name, service in sorted(((source.get("spec") or {}).get("services") or {}).items()):
        for side in ("limits", "requests"):
            wanted = ((service or {}).get("resources") or {}).get(side) or {}
            amounts = {key: wanted[key] for key in ("cpu", "memory", "gpu") if wanted.get(key)}
            for key, text in {**amounts, **(wanted.get("custom") or {})}.items():
                try:
                    parse_quantity(text)
                except InputError:
                    path = f"spec.services.{name}.resources.{side}.{key}"
                    message = f"{path} is no quantity, so the pods are made without it"
                    yield QUANTITY_DROPPED.finding("fail", f"component {name}", message, [f"{path}: {text}"])


def _flags(component: Component, main: Mapping[str, Any]) -> Iterator[Finding]:
    if component.nodes < 2 or not component.is_worker:
        return
    line = [*(main.get("command") or ()), *(main.get("args") or ())]
    words = [word for text in line for word in text.split()]
    text = " ".join(words)
    subject = f"component {component.name}"
    if "dynamo.vllm" in text:
        unread = [
            word for word in words if word in _UNREAD_FLAGS or any(word.startswith(f"{flag}=") for flag in _READ_FLAGS)
        ]
        for word in unread:
            yield FLAG_UNSEEN.finding("warn", subject, f"the operator does not read {word.partition('=')[0]}", [word])
    elif "dynamo.trtllm" in text and "'" in text:
        yield QUOTE_BREAKS.finding("warn", subject, QUOTE_BREAKS.meaning, [text])


def _sidecars(component: Component) -> Iterator[Finding]:
    extra = component.spec.get("extraPodSpec") or {}
    worked_on = component.nodes > 1 or any(
        (component.spec.get(key) or {}).get("enabled") for key in ("gpuMemoryService", "failover")
    )
    if extra.get("containers") and worked_on and component.is_worker:
        first = str(extra["containers"][0].get("name", ""))
        message = f"the operator takes {first} for the main container"
        yield SIDECAR_FIRST.finding("warn", f"component {component.name}", message)


def _repeated(objects: Iterable[Mapping[str, Any]]) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for item in objects:
        for spec in _pod_specs(item):
            for container in spec.get("containers") or ():
                listed = [entry["name"] for entry in container.get("env") or ()]
                for name in sorted({entry for entry in listed if listed.count(entry) > 1}):
                    subject = f"{item['kind']}/{item['metadata']['name']}"
                    if (subject, name) not in seen:
                        seen.add((subject, name))
                        message = f"{name} stands twice in container {container.get('name', '')}"
                        yield ENV_TWICE.finding("warn", subject, message)


def _pod_specs(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    spec = item.get("spec") or {}
    if item["kind"] == "Deployment":
        return [spec["template"]["spec"]]
    if item["kind"] == "LeaderWorkerSet":
        group = spec["leaderWorkerTemplate"]
        return [group[key]["spec"] for key in ("leaderTemplate", "workerTemplate")]
    if item["kind"] == "PodCliqueSet":
        return [clique["spec"]["podSpec"] for clique in spec["template"]["cliques"]]
    return []
