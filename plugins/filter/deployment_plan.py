# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges a deployment against a snapshot: pods, placement, pull secrets, references."""

from __future__ import annotations

DOCUMENTATION = r"""
name: deployment_plan
short_description: Judge a deployment against a snapshot, all at once
version_added: 0.1.0
description:
  - Asks all judges of this collection one after another. What pods come of the deployment, do they fit on the cluster,
    do their images get a credential, is everything there that the manifests name.
  - Says the same as M(inference_ops.dynamo.dgd_render), M(inference_ops.dynamo.gpu_fit),
    M(inference_ops.dynamo.pull_secret_match) and P(inference_ops.dynamo.preflight_findings#filter) one by one.
positional: snapshot
options:
  _input:
    description: The objects of all manifests, one DynamoGraphDeployment among them.
    type: list
    elements: dict
    required: true
  snapshot:
    description: A snapshot that M(inference_ops.dynamo.cluster_info) returned, or the path of a saved one.
    type: raw
    required: true
  namespace:
    description: The namespace. By default the snapshot's own.
    type: str
  operator_release:
    description: As in M(inference_ops.dynamo.dgd_render).
    type: str
    default: auto
  pathway:
    description: As in M(inference_ops.dynamo.dgd_render).
    type: str
    default: auto
  operator_config:
    description: As in M(inference_ops.dynamo.dgd_render).
    type: dict
    default: {}
  retiring:
    description: DynamoGraphDeployments that are gone before the new one comes.
    type: list
    elements: str
    default: []
  run_dgds:
    description: Other DynamoGraphDeployments whose GPUs count towards O(gpu_ceiling).
    type: list
    elements: str
    default: []
  gpu_ceiling:
    description: The most GPUs that the run may hold at once.
    type: int
  findings:
    description: Findings that are known already.
    type: list
    elements: dict
    default: []
  accepted:
    description: Reason codes of findings that warn and do not stop.
    type: list
    elements: str
    default: []
  unknown:
    description: Whether an unknown stops the run.
    type: str
    choices: [warn, fail]
    default: warn
  compare_to:
    description: Another release of the operator. C(render.changes) then says what it would change.
    type: str
  time_limit:
    description: Seconds that the search for a placement may take.
    type: float
    default: 5
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: Say where the pods would go
  ansible.builtin.debug:
    msg: "{{ (objects | inference_ops.dynamo.deployment_plan('snapshots/gpu-west.json')).fit.placements }}"
"""

RETURN = r"""
_value:
  description: The judgement.
  type: dict
  contains:
    verdict:
      description: V(fits), V(does_not_fit) or V(unknown).
      type: str
    outcome:
      description: The worst outcome among the findings.
      type: str
    ok:
      description: Whether the run may go on.
      type: bool
    findings:
      description: All findings, the worst first.
      type: list
      elements: dict
    fit:
      description: As M(inference_ops.dynamo.gpu_fit) returns it; empty where the deployment is refused.
      type: dict
    render:
      description: As M(inference_ops.dynamo.dgd_render) returns it.
      type: dict
    pull_secrets:
      description: As M(inference_ops.dynamo.pull_secret_match) returns it.
      type: dict
    gpus_requested:
      description: The GPUs that the pods ask for.
      type: int
    limitations:
      description: Findings that say what the run's identity may not read.
      type: list
      elements: dict
    namespace:
      description: The namespace.
      type: str
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError, shown
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.findings import Finding
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.plan import PlanRequest, make_plan
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot import Snapshot
from ansible_collections.inference_ops.dynamo.plugins.module_utils.plain import to_plain
from ansible_collections.inference_ops.dynamo.plugins.module_utils.snapshots import load_snapshot

_WHERE = "deployment_plan"


def _snapshot(value: object) -> Snapshot:
    if isinstance(value, str):
        return load_snapshot(str(to_plain(value)))
    if not isinstance(value, Mapping):
        raise InputError("expected a snapshot or the path of one", where=_WHERE, found=shown(value))
    return Snapshot.from_plain(to_plain(value))


def _list(value: object, name: str, kind: type) -> tuple[Any, ...]:
    plain = to_plain(value or [], f"{_WHERE}: {name}")
    if not isinstance(plain, list) or not all(isinstance(item, kind) for item in plain):
        raise InputError(f"expected a list of {kind.__name__}", where=_WHERE, field=name, found=shown(plain))
    return tuple(plain)


def _request(definitions: object, snapshot: object, options: Mapping[str, Any]) -> PlanRequest:
    config = to_plain(options.get("operator_config") or {}, f"{_WHERE}: operator_config")
    if not isinstance(config, dict):
        raise InputError("expected a mapping", where=_WHERE, field="operator_config", found=shown(config))
    if options.get("unknown", "warn") not in ("warn", "fail"):
        raise InputError("must be warn or fail", where=_WHERE, field="unknown", found=shown(options["unknown"]))
    ceiling = options.get("gpu_ceiling")
    return PlanRequest(
        definitions=_list(definitions, "definitions", dict),
        snapshot=_snapshot(snapshot),
        namespace=str(to_plain(options.get("namespace") or "")),
        release=str(to_plain(options.get("operator_release") or "auto")),
        pathway=str(to_plain(options.get("pathway") or "auto")),
        config=config,
        retiring=_list(options.get("retiring"), "retiring", str),
        run_dgds=_list(options.get("run_dgds"), "run_dgds", str),
        gpu_ceiling=None if ceiling in (None, "") else int(ceiling),
        findings=tuple(Finding.from_result(item) for item in _list(options.get("findings"), "findings", dict)),
        accepted=frozenset(_list(options.get("accepted"), "accepted", str)),
        unknown="fail" if options.get("unknown") == "fail" else "warn",
        compare_to=str(to_plain(options.get("compare_to") or "")),
    )


def deployment_plan(definitions: object, snapshot: object, time_limit: float = 5.0, **options: Any) -> dict[str, Any]:
    """Return the judgement as plain data."""
    try:
        request = _request(definitions, snapshot, options)
        return make_plan(request, clock=time.monotonic, time_limit=float(time_limit)).to_result()
    except (InputError, ValueError) as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"deployment_plan": deployment_plan}
