# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says which registry an image is pulled from."""

from __future__ import annotations

DOCUMENTATION = r"""
name: image_registry
short_description: Say which registry an image is pulled from
version_added: 0.1.0
description:
  - Returns the registry, with its port, of an image's name as container runtimes and the kubelet read it. A name
    without a registry belongs to V(docker.io).
  - Fails for a name that no runtime accepts, such as one with a placeholder in it.
options:
  _input:
    description: The image's name.
    type: str
    required: true
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: Give the registry
  ansible.builtin.debug:
    msg: "{{ 'nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.1.0' | inference_ops.dynamo.image_registry }}"
    # gives nvcr.io
"""

RETURN = r"""
_value:
  description: The registry.
  type: str
  sample: nvcr.io
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError


def image_registry(image: object) -> str:
    """Return the registry of an image."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.image_reference import (
        ImageNameError,
        parse_image,
    )

    if not isinstance(image, str):
        raise AnsibleFilterError(f"image_registry: expected an image's name, found {type(image).__name__}")
    try:
        return parse_image(str.__str__(image)).registry
    except ImageNameError as error:
        raise AnsibleFilterError(f"image_registry: {image} is not an image's name: {error}") from error


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"image_registry": image_registry}
