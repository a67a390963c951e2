# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans the deletion of a DGD: what goes with it, and what would bring it back."""

from __future__ import annotations

DOCUMENTATION = r"""
name: dgd_deletion_plan
short_description: Plan the deletion of a DGD
version_added: 0.1.0
description:
  - Finds the claims that the DGD owns and a plain delete would drop, the requests that would make it again,
    and a finalizer whose operator does not run. What the snapshot does not hold is unknown.
positional: name, retain_pvcs
options:
  _input:
    description: The snapshot as M(inference_ops.dynamo.cluster_info) returns it, or a part of one.
    type: dict
    required: true
  name:
    description: The name of the DGD.
    type: str
    required: true
  retain_pvcs:
    description: Whether claims have to be kept.
    type: bool
    default: true
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: What stands in the way
  ansible.builtin.debug:
    msg: "{{ (snapshot | inference_ops.dynamo.dgd_deletion_plan('demo')).blockers }}"
"""

RETURN = r"""
_value:
  description: >-
    C(order) (C(kind), C(name)), C(owned_claims) (C(name), C(uid), C(owner_index), C(volume), C(reclaim_policy)),
    C(requests), C(blockers) (texts) and C(findings).
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.plain import to_plain


def dgd_deletion_plan(snapshot: object, name: str, retain_pvcs: bool = True) -> dict[str, Any]:
    """Return the plan as plain data."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.teardown import deletion_plan
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage.state import from_snapshot

    try:
        state = to_plain(snapshot, "dgd_deletion_plan")
        if not isinstance(state, dict):
            raise InputError("expected a snapshot", where="dgd_deletion_plan")
        live = from_snapshot(state, str(name))
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error
    operator = state.get("operator")
    ready = operator.get("ready") if isinstance(operator, dict) else None
    return deletion_plan(live, retain_pvcs=bool(retain_pvcs), operator_runs=ready).to_result()


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"dgd_deletion_plan": dgd_deletion_plan}
