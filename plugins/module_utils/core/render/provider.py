# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Release 1.5's ``providerOverride``: the one part of Grove's own object that a DGD may write.

Source: ``internal/provideroverride`` (what may be written) and ``internal/webhook/validation``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import shown

GROVE_API_VERSION = "grove.io/v1alpha1"
ROOT_TARGET = "PodCliqueSet"

Problem = tuple[str, str, str]


def default_target(override: dict[str, Any], target: str) -> None:
    """Fill in the target where the API version leaves only one."""
    if not override.get("target") and override.get("apiVersion") == GROVE_API_VERSION:
        override["target"] = target


def override_problems(override: Mapping[str, Any], path: str, provider: str) -> Iterator[Problem]:
    """Yield rule, path and words for each thing in the graph's override that is refused."""
    if provider != "grove":
        yield "provider_override_pathway", path, f"needs the Grove pathway, and this graph takes {provider}"
        return
    version = override.get("apiVersion")
    if version != GROVE_API_VERSION:
        yield "provider_override_version", f"{path}.apiVersion", f"must be {GROVE_API_VERSION}, found {shown(version)}"
        return
    target = override.get("target")
    if target and target != ROOT_TARGET:
        yield "provider_override_target", f"{path}.target", f"must be {ROOT_TARGET}, found {shown(target)}"
        return
    yield from _value_problems(override.get("value"), f"{path}.value", ("spec", "template"), "topologyConstraint")


def _value_problems(value: Any, path: str, way: tuple[str, ...], owned: str) -> Iterator[Problem]:
    """Only ``owned`` below ``way`` may be written, and it must be there."""
    if not isinstance(value, Mapping):
        yield "provider_override_value", path, f"a mapping is needed, found {shown(value)}"
        return
    allowed = way[0] if way else owned
    for key in sorted(value):
        if key != allowed:
            yield "provider_override_owned", f"{path}.{key}", "belongs to the operator and cannot be overridden"
    place = f"{path}.{allowed}"
    if allowed not in value:
        yield "provider_override_missing", place, "is needed"
    elif way:
        yield from _value_problems(value[allowed], place, way[1:], owned)
    elif not isinstance(value[allowed], Mapping):
        yield "provider_override_value", place, f"a mapping is needed, found {shown(value[allowed])}"


def writes_topology(override: Mapping[str, Any] | None) -> bool:
    """Whether an override writes Grove's topology constraint."""
    value: Any = (override or {}).get("value")
    for key in ("spec", "template", "topologyConstraint"):
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    return True
