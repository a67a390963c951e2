# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says which components of a live DGD a new manifest would make another kind of workload."""

from __future__ import annotations

DOCUMENTATION = r"""
name: dgd_topology_changes
short_description: Find components that would change their kind of workload
version_added: 0.1.0
description:
  - Compares the rendered objects with the live Deployments, LeaderWorkerSets and PodCliques of a DGD, before an apply.
  - The operator keeps the old workload beside the new one, so a change of kind has to be decided on.
positional: snapshot, name
options:
  _input:
    description: The objects as M(inference_ops.dynamo.dgd_render) returns them.
    type: list
    required: true
  snapshot:
    description: The snapshot as M(inference_ops.dynamo.cluster_info) returns it.
    type: dict
    required: true
  name:
    description: The name of the DGD.
    type: str
    required: true
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: Refuse a change of kind
  ansible.builtin.assert:
    that: (rendered.objects | inference_ops.dynamo.dgd_topology_changes(snapshot, 'demo')).changes | length == 0
"""

RETURN = r"""
_value:
  description: >-
    C(changes), each with C(component), C(change) (V(kind), V(added), V(removed)), C(live_kind), C(live_names),
    C(wanted_kind), C(message); and C(findings).
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError


def dgd_topology_changes(objects: object, snapshot: object, name: str) -> dict[str, Any]:
    """Return the changes and their findings as plain data."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.topology import (
        topology_changes,
        topology_findings,
    )
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.live import rendered_and_live

    try:
        rendered, live = rendered_and_live(objects, snapshot, name, "dgd_topology_changes")
        changes = topology_changes(rendered, live)
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error
    return {
        "changes": [change.to_result() for change in changes],
        "findings": [finding.to_result() for finding in topology_findings(changes, live)],
    }


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"dgd_topology_changes": dgd_topology_changes}
