# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders a DGD into its pods."""

from __future__ import annotations

DOCUMENTATION = r"""
name: dgd_pods
short_description: Show the pods that the Dynamo operator will make of a DynamoGraphDeployment
version_added: 0.1.0
description:
  - Returns the pods that a C(DynamoGraphDeployment) (DGD) becomes, as M(inference_ops.dynamo.gpu_fit) takes them.
  - Does what M(inference_ops.dynamo.dgd_render) does, for playbooks that hold the DGD as data.
  - A DGD that the operator would refuse is an error that says why.
options:
  operator_release:
    description: The release whose rules apply, as in M(inference_ops.dynamo.dgd_render).
    type: str
    default: auto
extends_documentation_fragment:
  - inference_ops.dynamo._render_filter.dgd
  - inference_ops.dynamo._render_filter
author:
  - Inference Ops contributors (@inference-ops)
seealso:
  - module: inference_ops.dynamo.dgd_render
  - module: inference_ops.dynamo.gpu_fit
"""

EXAMPLES = r"""
- name: Name the pods of a DGD
  ansible.builtin.debug:
    msg: "{{ dgd | inference_ops.dynamo.dgd_pods(operator_release='1.5', pathway='grove') | map(attribute='name') }}"
"""

RETURN = r"""
_value:
  description: One entry a pod, as RV(inference_ops.dynamo.dgd_render#module:pods).
  type: list
  elements: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError


def dgd_pods(
    definition: object,
    name: object = "",
    namespace: object = "",
    operator_release: object = "auto",
    pathway: object = "auto",
    operator_config: object = None,
    pull_secrets: object = None,
    snapshot: object = None,
) -> list[dict[str, Any]]:
    """Return the pods that a DGD becomes as plain data."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.render_filters import report_of

    try:
        report = report_of(
            definition,
            "dgd_pods",
            name=name,
            namespace=namespace,
            operator_release=operator_release,
            pathway=pathway,
            operator_config=operator_config,
            pull_secrets=pull_secrets,
            snapshot=snapshot,
        )
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error
    return [pod.to_result() for pod in report.result.pods]


class FilterModule:
    """The filter's table."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"dgd_pods": dgd_pods}
