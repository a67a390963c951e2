# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Computes a worker's instance id from its pod's name."""

from __future__ import annotations

DOCUMENTATION = r"""
name: worker_instance_id
short_description: Compute the instance id that Dynamo gives the worker in a pod
version_added: 0.1.0
description:
  - Returns the decimal instance id for the request header C(x-dynamo-worker-instance-id), by which a frontend that
    routes directly knows its worker.
  - It is computed from the pod's name as Dynamo does for Kubernetes discovery; nothing is asked.
options:
  _input:
    description: The pod's name.
    type: str
    required: true
author:
  - Inference Ops contributors (@inference-ops)
seealso:
  - module: inference_ops.dynamo.dgd_smoke
"""

EXAMPLES = r"""
- name: Ask one worker through its sidecar
  ansible.builtin.uri:
    url: http://127.0.0.1:8000/v1/chat/completions
    method: POST
    body_format: json
    body: "{{ request }}"
    headers:
      x-dynamo-worker-instance-id: "{{ pod_name | inference_ops.dynamo.worker_instance_id }}"
"""

RETURN = r"""
_value:
  description: The instance id, a whole number below 2 to the power of 53.
  type: int
  sample: 582010010309664
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.plain import to_plain


def worker_instance_id(pod_name: object) -> int:
    """Return the instance id of the worker in the pod of that name."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import instance_id

    try:
        return instance_id.worker_instance_id(to_plain(pod_name, "worker_instance_id"))
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"worker_instance_id": worker_instance_id}
