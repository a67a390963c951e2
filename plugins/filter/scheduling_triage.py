# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what a scheduler says about a pod that it cannot place."""

from __future__ import annotations

DOCUMENTATION = r"""
name: scheduling_triage
short_description: Read a scheduler's message about a pending pod
version_added: 0.1.0
description:
  - Reads the message of a pod's C(PodScheduled) condition or of a scheduling event.
    It knows the wording of kube-scheduler, KAI, Volcano and Kueue.
  - A text that is not known is category V(unknown) with the text, never a guess.
positional: event
options:
  _input:
    description: The message.
    type: str
    required: true
  event:
    description: Whether the text is an event's note, which is cut at 1,024 characters.
    type: bool
    default: false
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: What keeps the pod from being placed
  ansible.builtin.debug:
    msg: "{{ (message | inference_ops.dynamo.scheduling_triage).primary }}"
  vars:
    message: "0/3 nodes are available: 2 Insufficient nvidia.com/gpu, 1 node(s) had untolerated taint(s)."
"""

RETURN = r"""
_value:
  description: The reading.
  type: dict
  contains:
    reasons:
      description: Each reason with C(category), C(count) (nodes), C(text), C(resource), C(subject).
      type: list
      elements: dict
    primary:
      description: The category to act on.
      type: str
    way:
      description: V(wait), V(contention), V(failed_deploy), V(fix_dependency) or V(investigate), by the text alone.
      type: str
    resource:
      description: The resource of the primary reason, where there is one.
      type: str
    scheduler:
      description: Whose wording it is.
      type: str
    nodes:
      description: How many nodes the scheduler looked at, where it says so.
      type: int
    ignored:
      description: Remarks about preemption, which are no cause.
      type: list
      elements: str
    truncated:
      description: Whether the text was cut, and its last reason left out.
      type: bool
    text:
      description: The message.
      type: str
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError


def scheduling_triage(message: object, event: bool = False) -> dict[str, Any]:
    """Return the reading of a scheduler's message as plain data."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import parse

    if not isinstance(message, str):
        raise AnsibleFilterError(f"scheduling_triage: expected a text, found {type(message).__name__}")
    return parse(str.__str__(message), event=bool(event)).to_result()


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"scheduling_triage": scheduling_triage}
