# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Failover inside a pod: two engines share the GPUs, one of them a shadow (rules 10.4; ``failover*.go``)."""

from __future__ import annotations

import re
from typing import Any

from .. import keys
from . import gms
from .explain import Notes
from .graph import Graph
from .merge import env_var
from .shapes import plain

ENGINES = 2
_PORT_STEP = 100
_DROPPED = (
    "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS",
    "DYN_SYSTEM_PORT",
    "DYN_SYSTEM_ENABLED",
    "DYN_HEALTH_CHECK_ENABLED",
    "CONTAINER_NAME",
)
_FORWARD_PASS = "DYN_FORWARDPASS_METRIC_PORT"
_MASTER_PORT = re.compile(r"(--master-port[ =])([0-9]+)")


def split_engines(graph: Graph, spec: dict[str, Any], nodes: int, notes: Notes) -> None:
    """Replace the first container by its engines; the others follow."""
    main, *others = spec["containers"]
    engines = [_engine(graph, main, index, nodes) for index in range(ENGINES)]
    spec["containers"] = [*engines, *others]
    notes.renamed[main.get("name", "")] = tuple(engine["name"] for engine in engines)
    for engine in engines:
        notes.note(("containers", engine["name"], "ports"), engine["ports"], "10.4-failover")
        notes.env(engine["name"], engine["env"][-_appended(graph, nodes) :], "10.4-failover")
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            if probe in engine:
                notes.note(("containers", engine["name"], probe), engine[probe], "10.4-failover")


def _appended(graph: Graph, nodes: int) -> int:
    return len(_variables(graph, 0, nodes))


def _engine(graph: Graph, main: dict[str, Any], index: int, nodes: int) -> dict[str, Any]:
    engine: dict[str, Any] = plain(main)
    port_name = f"system-{index}"
    engine["name"] = f"engine-{index}"
    engine["ports"] = [{"name": port_name, "containerPort": keys.SYSTEM_PORT + index, "protocol": "TCP"}]
    dropped = {*_DROPPED, *([_FORWARD_PASS] if _has_forward_pass(graph) else [])}
    kept = [item for item in engine.get("env", ()) if item["name"] not in dropped]
    engine["env"] = [*kept, *_variables(graph, index, nodes)]
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        get = engine.get(probe, {}).get("httpGet")
        if get is not None:
            get["port"] = port_name
    if index:
        _move_master_port(engine, _PORT_STEP * index)
    return engine


def _has_forward_pass(graph: Graph) -> bool:
    return _FORWARD_PASS in graph.profile.defaults(keys.WORKER).env


def _variables(graph: Graph, index: int, nodes: int) -> list[dict[str, Any]]:
    values = [
        ("ENGINE_ID", str(index)),
        ("CONTAINER_NAME", f"engine-{index}"),
        ("FAILOVER_LOCK_PATH", f"{gms.CONTROL_PATH}/failover.lock"),
        ("DYN_SYSTEM_STARTING_HEALTH_STATUS", "notready"),
        ("DYN_SYSTEM_PORT", str(keys.SYSTEM_PORT + index)),
        ("DYN_SYSTEM_ENABLED", "true"),
    ]
    if _has_forward_pass(graph):
        values.append((_FORWARD_PASS, str(keys.FORWARD_PASS_PORT + index)))
    values += [
        ("DYN_VLLM_GMS_SHADOW_MODE", "true"),
        ("VLLM_NIXL_SIDE_CHANNEL_PORT", str(5600 + index)),
        ("DYN_VLLM_KV_EVENT_PORT", str(20080 + index)),
    ]
    if nodes > 1:
        values.append(("NNODES", str(nodes)))
    return [env_var(name, value) for name, value in values]


def _move_master_port(engine: dict[str, Any], step: int) -> None:
    for key in ("command", "args"):
        words = engine.get(key, [])
        for index, word in enumerate(words):
            if word == "--master-port" and index + 1 < len(words) and words[index + 1].isdecimal():
                words[index + 1] = str(int(words[index + 1]) + step)
                return
            moved = _MASTER_PORT.sub(lambda match: f"{match[1]}{int(match[2]) + step}", word)
            if moved != word:
                words[index] = moved
                return
    engine["args"] = [*engine.get("args", ()), "--master-port", str(keys.VLLM_MP_PORT + step)]
