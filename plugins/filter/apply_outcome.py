# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says what became of the objects of a server-side apply."""

from __future__ import annotations

DOCUMENTATION = r"""
name: apply_outcome
short_description: Say what became of the objects of a server-side apply
version_added: 0.1.0
description:
  - Takes what C(kubernetes.core.k8s) returned for a server-side apply with C(continue_on_error) and finds out,
    for each object, whether it was applied, and otherwise why not.
  - A conflict is told with the field managers and their fields.
positional: objects
options:
  _input:
    description: The registered result of the task.
    type: dict
    required: true
  objects:
    description: The objects that the task was given, in the same order.
    type: list
    elements: dict
    required: true
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: Stop with the names of the other field managers
  ansible.builtin.fail:
    msg: "{{ outcome.errors | map(attribute='message') | join('\n') }}"
  vars:
    outcome: "{{ applied | inference_ops.dynamo.apply_outcome(objects) }}"
  when: outcome.errors | length > 0
"""

RETURN = r"""
_value:
  description: The outcome.
  type: dict
  contains:
    changed:
      description: Whether the task changed something.
      type: bool
    objects:
      description: The objects that were applied, as the API server returned them.
      type: list
      elements: dict
    errors:
      description: >-
        One entry an object that was not applied, with C(subject), C(reason_code), C(code), C(reason), C(message),
        C(conflicts), C(immutable) and C(remedy).
      type: list
      elements: dict
    findings:
      description: The errors as findings.
      type: list
      elements: dict
    failed_jobs:
      description: The names of Jobs that had failed already when they were applied.
      type: list
      elements: str
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.plain import to_plain


def apply_outcome(answer: object, objects: object) -> dict[str, Any]:
    """Return the outcome of one apply task as plain data."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.apply import judge_answer

    try:
        plain, items = to_plain(answer, "apply_outcome"), to_plain(objects, "apply_outcome: objects")
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error
    if not isinstance(plain, dict):
        raise AnsibleFilterError(f"apply_outcome: expected a task's result, found {type(plain).__name__}")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise AnsibleFilterError("apply_outcome: objects: expected a list of objects")
    return judge_answer(plain, items).to_result()


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"apply_outcome": apply_outcome}
