# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares two releases of the operator for one DGD."""

from __future__ import annotations

DOCUMENTATION = r"""
name: dgd_release_diff
short_description: Say what changes in a DGD's pods from one release of the operator to another
version_added: 0.1.0
description:
  - Renders a C(DynamoGraphDeployment) (DGD) by the rules of two releases and returns what differs.
  - The documented values can be compared with a release as well.
  - A DGD that the first release would refuse is an error; what the second would refuse is part of the answer.
positional: from_release, to_release
options:
  from_release:
    description: The release to compare, such as V(1.1), or V(documented).
    type: str
    required: true
  to_release:
    description: The release to compare with.
    type: str
    required: true
extends_documentation_fragment:
  - inference_ops.dynamo._render_filter.dgd
  - inference_ops.dynamo._render_filter
author:
  - Inference Ops contributors (@inference-ops)
seealso:
  - module: inference_ops.dynamo.dgd_render
"""

EXAMPLES = r"""
- name: Show what an upgrade of the operator changes
  ansible.builtin.debug:
    msg: "{{ (dgd | inference_ops.dynamo.dgd_release_diff('1.1', '1.5', pathway='grove')).summary }}"
"""

RETURN = r"""
_value:
  description: The changes, as RV(inference_ops.dynamo.dgd_render#module:changes).
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError


def dgd_release_diff(
    definition: object,
    from_release: object,
    to_release: object,
    name: object = "",
    namespace: object = "",
    pathway: object = "auto",
    operator_config: object = None,
    pull_secrets: object = None,
    snapshot: object = None,
) -> dict[str, Any]:
    """Return what changes from one release to the other as plain data."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.releases import choose_release
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.render_filters import report_of, text_of

    try:
        report = report_of(
            definition,
            "dgd_release_diff",
            name=name,
            namespace=namespace,
            operator_release=from_release,
            compare_to=choose_release(text_of(to_release, "dgd_release_diff: to_release")).value,
            pathway=pathway,
            operator_config=operator_config,
            pull_secrets=pull_secrets,
            snapshot=snapshot,
        )
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error
    return report.to_result()["changes"]


class FilterModule:
    """The filter's table."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"dgd_release_diff": dgd_release_diff}
