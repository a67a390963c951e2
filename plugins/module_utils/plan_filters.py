# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the filters that judge a plan share: plain data in, the core's requests out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .core.demand import PodDemand
from .core.errors import InputError, shown
from .core.findings import Finding
from .core.plan import PlanRequest
from .core.preflight import PreflightRequest
from .core.snapshot import Snapshot
from .plain import to_plain
from .snapshots import load_snapshot

_PLAN = "deployment_plan"
_PREFLIGHT = "preflight_findings"
#: The largest kinds of a snapshot, at which the preflight does not look: making them plain would take most of the time.
_NOT_LOOKED_AT = frozenset({"nodes", "pods", "persistentvolumes", "services", "endpointslices"})


def plan_request(definitions: object, snapshot: object, options: Mapping[str, Any]) -> PlanRequest:
    """Make the core's request of what ``deployment_plan`` was handed."""
    config = to_plain(options.get("operator_config") or {}, f"{_PLAN}: operator_config")
    if not isinstance(config, dict):
        raise InputError("expected a mapping", where=_PLAN, field="operator_config", found=shown(config))
    ceiling = options.get("gpu_ceiling")
    return PlanRequest(
        definitions=_list(definitions, f"{_PLAN}: definitions", dict),
        snapshot=_snapshot(snapshot, _PLAN),
        namespace=str(to_plain(options.get("namespace") or "")),
        release=str(to_plain(options.get("operator_release") or "auto")),
        pathway=str(to_plain(options.get("pathway") or "auto")),
        config=config,
        retiring=_list(options.get("retiring"), f"{_PLAN}: retiring", str),
        run_dgds=_list(options.get("run_dgds"), f"{_PLAN}: run_dgds", str),
        gpu_ceiling=None if ceiling in (None, "") else int(ceiling),
        findings=_findings(options.get("findings"), f"{_PLAN}: findings"),
        accepted=frozenset(_list(options.get("accepted"), f"{_PLAN}: accepted", str)),
        unknown=_unknown(options.get("unknown", "warn"), f"{_PLAN}: unknown"),
        compare_to=str(to_plain(options.get("compare_to") or "")),
    )


def preflight_request(
    snapshot: object, definitions: object, rendered: object, findings: object, unknown: object
) -> PreflightRequest:
    """Make the core's request of what ``preflight_findings`` was handed."""
    made = to_plain(rendered or {}, f"{_PREFLIGHT}: rendered")
    if not isinstance(made, dict):
        raise InputError("expected a mapping", where=f"{_PREFLIGHT}: rendered", found=shown(made))
    return PreflightRequest(
        snapshot=_snapshot(snapshot, _PREFLIGHT, _NOT_LOOKED_AT),
        definitions=_list(definitions, f"{_PREFLIGHT}: definitions", dict),
        rendered=_list(made.get("objects"), f"{_PREFLIGHT}: rendered.objects", dict),
        pods=tuple(PodDemand.from_result(pod) for pod in _list(made.get("pods"), f"{_PREFLIGHT}: rendered.pods", dict)),
        findings=_findings(findings, f"{_PREFLIGHT}: findings"),
        unknown=_unknown(unknown, f"{_PREFLIGHT}: unknown"),
    )


def _snapshot(value: object, where: str, left_out: frozenset[str] = frozenset()) -> Snapshot:
    if isinstance(value, str):
        return load_snapshot(str(to_plain(value)))
    if not isinstance(value, Mapping):
        raise InputError("expected a snapshot or the path of one", where=where, found=shown(value))
    return Snapshot.from_plain(to_plain({kind: items for kind, items in value.items() if kind not in left_out}))


def _list(value: object, where: str, kind: type) -> tuple[Any, ...]:
    plain = to_plain(value or [], where)
    if not isinstance(plain, list) or not all(isinstance(item, kind) for item in plain):
        words = "mappings" if kind is dict else "texts"
        raise InputError(f"expected a list of {words}", where=where, found=shown(plain))
    return tuple(plain)


def _findings(value: object, where: str) -> tuple[Finding, ...]:
    return tuple(Finding.from_result(item) for item in _list(value, where, dict))


def _unknown(value: object, where: str) -> Any:
    if value not in ("warn", "fail"):
        raise InputError("must be warn or fail", where=where, found=shown(value))
    return str(value)
