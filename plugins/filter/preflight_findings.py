# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges a deployment against a snapshot before anything is changed."""

from __future__ import annotations

DOCUMENTATION = r"""
name: preflight_findings
short_description: Judge a deployment against a snapshot before anything is changed
version_added: 0.1.0
description:
  - Looks whether the namespace, the kinds of the manifests and the operator are there, what the server said to the dry
    runs, whether everything that the manifests name exists, and whether the images' names can be meant.
  - Takes the findings of the other judges along, so that all blockers are seen at once.
positional: definitions
options:
  _input:
    description:
      - The snapshot that M(inference_ops.dynamo.cluster_info) returned, or the path of a saved one.
    type: raw
    required: true
  definitions:
    description: The objects of all manifests, the DynamoGraphDeployment among them.
    type: list
    elements: dict
    required: true
  rendered:
    description: What M(inference_ops.dynamo.dgd_render) returned. Names what the operator makes itself.
    type: dict
    default: {}
  findings:
    description: Findings of the other judges.
    type: list
    elements: dict
    default: []
  unknown:
    description: Whether an unknown stops the run.
    type: str
    choices: [warn, fail]
    default: warn
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: Stop with all blockers at once
  ansible.builtin.assert:
    that: not report.stop
    fail_msg: "{{ report.blockers | join('\n') }}"
  vars:
    report: "{{ cluster.snapshot | inference_ops.dynamo.preflight_findings(definitions, rendered=rendered) }}"
"""

RETURN = r"""
_value:
  description: The report.
  type: dict
  contains:
    verdict:
      description: The worst outcome, V(pass), V(warn), V(unknown) or V(fail).
      type: str
    stop:
      description: Whether the run must not go on.
      type: bool
    blockers:
      description: The messages of what stops the run.
      type: list
      elements: str
    findings:
      description: All findings, the worst first.
      type: list
      elements: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError


def preflight_findings(
    snapshot: object, definitions: object, rendered: object = None, findings: object = None, unknown: str = "warn"
) -> dict[str, Any]:
    """Return the report as plain data."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.preflight import judge_preflight
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.plan_filters import preflight_request

    try:
        return judge_preflight(preflight_request(snapshot, definitions, rendered, findings, unknown)).to_result()
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"preflight_findings": preflight_findings}
