# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists what manifests name: secrets with keys, config maps, claims, accounts, classes, images."""

from __future__ import annotations

DOCUMENTATION = r"""
name: dgd_references
short_description: List what manifests refer to by name
version_added: 0.1.0
description:
  - Lists the secrets (with the keys that are needed), config maps, claims, service accounts, priority, runtime and
    storage classes and images that a DynamoGraphDeployment of either API version, or any other manifest, names.
  - Each reference says in which field of which component it stands.
positional: pods
options:
  _input:
    description: One object, or a list of them.
    type: raw
    required: true
  pods:
    description: Pods that M(inference_ops.dynamo.dgd_render) returned, for what the operator adds.
    type: list
    elements: dict
    default: []
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: Look at the secrets that the recipe needs, by name and key
  inference_ops.dynamo.cluster_info:
    context: gpu-cluster
    namespace: inference
    secret_names: "{{ (definitions | inference_ops.dynamo.dgd_references).names.Secret | default([]) }}"
"""

RETURN = r"""
_value:
  description: The references.
  type: dict
  contains:
    items:
      description: >-
        One entry a reference, with C(kind), C(name), C(how), C(key), C(optional), C(used_by) and C(path).
      type: list
      elements: dict
    names:
      description: The names by kind.
      type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.plain import to_plain


def dgd_references(objects: object, pods: object = None) -> dict[str, Any]:
    """Return the references as plain data."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.demand import PodDemand
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.references import references_of

    try:
        plain = to_plain(objects, "dgd_references")
        items = plain if isinstance(plain, list) else [plain]
        if not all(isinstance(item, dict) for item in items):
            raise InputError("expected an object or a list of objects", where="dgd_references")
        demands = to_plain(pods or [], "dgd_references: pods")
        if not isinstance(demands, list):
            raise InputError("expected a list", where="dgd_references: pods")
        return references_of(items, [PodDemand.from_result(pod) for pod in demands]).to_result()
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"dgd_references": dgd_references}
