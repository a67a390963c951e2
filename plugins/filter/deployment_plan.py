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
from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError


def deployment_plan(definitions: object, snapshot: object, time_limit: float = 5.0, **options: Any) -> dict[str, Any]:
    """Return the judgement as plain data."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.plan import make_plan
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.plan_filters import plan_request

    try:
        request = plan_request(definitions, snapshot, options)
        return make_plan(request, clock=time.monotonic, time_limit=float(time_limit)).to_result()
    except (InputError, ValueError) as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"deployment_plan": deployment_plan}
