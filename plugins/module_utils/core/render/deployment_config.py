# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Legacy ``DYN_DEPLOYMENT_CONFIG``: a JSON text among the variables that changes the component (rules 4.2)."""

from __future__ import annotations

import json
from typing import Any

from ..errors import InputError
from ..keys import GPU_RESOURCE
from ..quantity import canonical
from .gojson import go_json
from .graph import Refused

VARIABLE = "DYN_DEPLOYMENT_CONFIG"


def find(variables: list[dict[str, Any]]) -> str:
    """Return the variable's text, empty where there is none."""
    return next((str(item.get("value", "")) for item in variables if item.get("name") == VARIABLE), "")


def parse(text: str, component: str) -> dict[str, Any]:
    """Return the configuration; refuse a text that is no JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Refused("dgd-controller", "bad_deployment_config", f"{VARIABLE} is no JSON object", component)
    return value


def with_frontend_port(config: dict[str, Any], component: str, port: int) -> str:
    """Return the text with the component's port set, as Go marshals a map."""
    if isinstance(config.get(component), dict):
        config[component]["port"] = port
    return go_json(config, sort_keys=True)


def service_args(config: dict[str, Any], component: str) -> dict[str, Any]:
    """Return the ``ServiceArgs`` of a component."""
    entry = config.get(component)
    args = entry.get("ServiceArgs") if isinstance(entry, dict) else None
    if not isinstance(args, dict):
        return {}
    wanted = args.get("resources")
    amounts = list(wanted.values()) if isinstance(wanted, dict) else []
    amounts += [text for custom in amounts if isinstance(custom, dict) for text in custom.values()]
    if not isinstance(args.get("workers"), int | None) or any(isinstance(text, int | float) for text in amounts):
        raise Refused(
            "dgd-controller",
            "bad_deployment_config",
            f"{VARIABLE}: an amount must be a text, workers a number",
            component,
        )
    return args


def native_amounts(args: dict[str, Any], component: str) -> dict[str, str]:
    """Return the resources of ``ServiceArgs`` under Kubernetes' own names; they are both requests and limits."""
    wanted = args.get("resources")
    if not isinstance(wanted, dict):
        return {}
    pairs = [("cpu", wanted.get("cpu")), ("memory", wanted.get("memory")), (GPU_RESOURCE, wanted.get("gpu"))]
    custom = wanted.get("custom")
    pairs += list(custom.items()) if isinstance(custom, dict) else []
    amounts = {}
    for name, text in pairs:
        if text in (None, ""):
            continue
        try:
            amounts[str(name)] = canonical(text)
        except InputError as problem:
            raise Refused(
                "dgd-controller", "bad_quantity", f"{VARIABLE}: {name}: {problem.problem}", component
            ) from None
    return amounts
