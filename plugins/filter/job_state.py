# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says what a Job has come to."""

from __future__ import annotations

DOCUMENTATION = r"""
name: job_state
short_description: Say what a Job has come to
version_added: 0.1.0
description:
  - Judges a Job by its conditions. A Job that is not there any more is never a success by itself.
    It takes its own last status, its pods, or its controller's event.
positional: last_seen, pods, events, uid
options:
  _input:
    description: The Job as the API serves it, or an empty mapping where there is none.
    type: dict
    required: true
  last_seen:
    description: The Job as it was last read, where known.
    type: dict
    default: {}
  pods:
    description: Pods of the namespace.
    type: list
    elements: dict
    default: []
  events:
    description: Events of the namespace.
    type: list
    elements: dict
    default: []
  uid:
    description: The UID of the Job waited for, where known.
    type: str
    default: ''
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: Stop where the download failed
  ansible.builtin.assert:
    that: (job | inference_ops.dynamo.job_state).state != 'failed'
"""

RETURN = r"""
_value:
  description: >-
    The state: C(state) (V(complete), V(failed), V(active), V(suspended), V(deleting), V(absent), V(unknown_finished),
    V(replaced)), C(finished), C(success), C(reason), C(message), C(succeeded), C(failed), C(active), C(proof).
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.plain import to_plain


def job_state(
    job: object, last_seen: object = None, pods: object = None, events: object = None, uid: str = ""
) -> dict[str, Any]:
    """Return a Job's state as plain data."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.jobs import job_state as judge

    try:
        live, last = to_plain(job, "job_state"), to_plain(last_seen or {}, "job_state: last_seen")
        others, told = to_plain(pods or [], "job_state: pods"), to_plain(events or [], "job_state: events")
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error
    if live is not None and not isinstance(live, dict):
        raise AnsibleFilterError(f"job_state: expected a Job, found {type(live).__name__}")
    if not isinstance(last, dict) or not isinstance(others, list) or not isinstance(told, list):
        raise AnsibleFilterError("job_state: last_seen must be a mapping, pods and events lists")
    return judge(live or None, uid=str(uid), last_seen=last or None, pods=others, events=told).to_result()


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"job_state": job_state}
