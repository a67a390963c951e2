# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists a DGD's components."""

from __future__ import annotations

DOCUMENTATION = r"""
name: dgd_components
short_description: List the components of a DynamoGraphDeployment
version_added: 0.1.0
description:
  - Returns the components of a C(DynamoGraphDeployment) (DGD) of either API version, as the manifest has them.
    Nothing is rendered; for the pods see P(inference_ops.dynamo.dgd_pods#filter).
extends_documentation_fragment:
  - inference_ops.dynamo._render_filter.dgd
author:
  - Inference Ops contributors (@inference-ops)
seealso:
  - plugin: inference_ops.dynamo.dgd_pods
    plugin_type: filter
  - module: inference_ops.dynamo.dgd_render
"""

EXAMPLES = r"""
- name: Count the GPUs that a recipe asks for
  ansible.builtin.debug:
    msg: "{{ lookup('file', 'deploy.yaml') | from_yaml | inference_ops.dynamo.dgd_components
      | map(attribute='gpus_total') | sum }}"
"""

RETURN = r"""
_value:
  description: One entry a component, in the manifest's order.
  type: list
  elements: dict
  contains:
    name:
      description: The component's name.
      type: str
    type:
      description: Its type, such as V(worker), or empty.
      type: str
    sub_type:
      description: Its sub-type (v1alpha1), or empty.
      type: str
    replicas:
      description: How many replicas it has.
      type: int
    nodes:
      description: How many nodes one replica spans.
      type: int
    gpus:
      description: How many GPUs one of its pods asks for.
      type: int
    gpu_resource:
      description: The resource's name, or empty.
      type: str
    gpus_total:
      description: How many GPUs all of its pods ask for.
      type: int
    image:
      description: Its main container's image, or empty.
      type: str
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError


def dgd_components(definition: object, name: object = "") -> list[dict[str, Any]]:
    """Return a DGD's components as plain data."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.components import components_of
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.render_filters import document_of

    try:
        document = document_of(definition, name, "dgd_components")
        return [component.to_result() for component in components_of(document.data, "dgd_components")]
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filter's table."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"dgd_components": dgd_components}
