# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says in a few lines what a play found out."""

from __future__ import annotations

DOCUMENTATION = r"""
name: run_summary
short_description: Say in a few lines what a play found out
version_added: 0.1.0
description:
  - Returns the lines that close a play, that is the verdict, what did not pass with its remedy (the worst first),
    and where the files are.
options:
  _input:
    description: The findings of all checks.
    type: list
    elements: dict
    required: true
  verdict:
    description: What was decided, in a word.
    type: str
    required: true
  placements:
    description: The node of each pod, as M(inference_ops.dynamo.gpu_fit) returns it.
    type: raw
    default: {}
  lines:
    description: More lines to show.
    type: list
    elements: str
    default: []
  files:
    description: Paths of files by what they are. Empty ones are left out.
    type: dict
    default: {}
  components:
    description: The components of a deployment with their state, as M(inference_ops.dynamo.workload_wait) returns them.
    type: list
    elements: dict
    default: []
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: Show what the plan found out
  ansible.builtin.debug:
    msg: "{{ findings | inference_ops.dynamo.run_summary(verdict='fits', files={'Report': 'build/demo/report.html'}) }}"
"""

RETURN = r"""
_value:
  description: The findings in order, the worst outcome, and the lines.
  type: dict
  contains:
    lines:
      description: The lines to show.
      type: list
      elements: str
    outcome:
      description: The worst outcome among the findings.
      type: str
    findings:
      description: The findings, each once, the worst first.
      type: list
      elements: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.plain import to_plain


def run_summary(
    findings: object,
    verdict: object,
    placements: object = None,
    lines: object = None,
    files: object = None,
    components: object = None,
) -> dict[str, Any]:
    """Return the summary as plain data."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.summary import (
        outcome_of,
        sorted_findings,
        summary_lines,
    )

    try:
        found, word, pods = (to_plain(value, "run_summary") for value in (findings, verdict, placements))
        more, paths = to_plain(lines or [], "run_summary: lines"), to_plain(files or {}, "run_summary: files")
        parts = to_plain(components or [], "run_summary: components")
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error
    if not isinstance(found, list) or not all(isinstance(finding, dict) for finding in found):
        raise AnsibleFilterError("run_summary: expected a list of findings")
    if isinstance(pods, list):
        pods = {str(entry.get("pod", number)): entry.get("node", "") for number, entry in enumerate(pods)}
    shown = summary_lines(str(word), found, pods or {}, [str(line) for line in more], paths, parts)
    return {"lines": shown, "outcome": outcome_of(found), "findings": sorted_findings(found)}


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"run_summary": run_summary}
