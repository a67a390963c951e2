# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says which workloads of a DGD are left behind."""

from __future__ import annotations

DOCUMENTATION = r"""
name: dgd_leftovers
short_description: Find workloads that a DGD has left behind
version_added: 0.1.0
description:
  - Finds workloads of another kind, of a removed component or of an old worker generation,
    and tells them apart from a rolling update in progress.
positional: name, objects
options:
  _input:
    description: The snapshot as M(inference_ops.dynamo.cluster_info) returns it.
    type: dict
    required: true
  name:
    description: The name of the DGD.
    type: str
    required: true
  objects:
    description: The objects as M(inference_ops.dynamo.dgd_render) returns them, where known.
    type: list
    elements: dict
    default: []
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: What could be deleted
  ansible.builtin.debug:
    msg: "{{ (snapshot | inference_ops.dynamo.dgd_leftovers('demo')).leftovers | selectattr('deletable') }}"
"""

RETURN = r"""
_value:
  description: >-
    C(leftovers), each with C(api_version), C(kind), C(name), C(uid), C(component), C(state), C(deletable), C(reason),
    C(gpus), C(holds); and C(findings).
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError


def dgd_leftovers(snapshot: object, name: str, objects: object = None) -> dict[str, Any]:
    """Return the leftovers and their findings as plain data."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.topology import leftover_findings, leftovers
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.live import rendered_and_live

    try:
        rendered, live = rendered_and_live(objects or [], snapshot, name, "dgd_leftovers")
        found = leftovers(live, rendered)
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error
    return {
        "leftovers": [one.to_result() for one in found],
        "findings": [finding.to_result() for finding in leftover_findings(live, found)],
    }


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"dgd_leftovers": dgd_leftovers}
