# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws what gpu_fit found as inline SVG."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_fit_svg
short_description: Draw a cluster's GPUs and where the pods go
version_added: 0.1.0
description:
  - Takes the result of M(inference_ops.dynamo.gpu_fit) and returns one C(svg) element to be put into an HTML page.
  - Each GPU is a slot, held by others, held by the run, placed, free, or out of reach. Large clusters are drawn as a
    grid, very large ones with nodes that look alike joined.
positional: title
options:
  _input:
    description: The result of M(inference_ops.dynamo.gpu_fit).
    type: dict
    required: true
  title:
    description: The picture's title for screen readers.
    type: str
    default: GPU capacity
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: Write a page with the picture
  ansible.builtin.copy:
    dest: fit.html
    mode: "0644"
    content: "<!DOCTYPE html><title>Fit</title>{{ fit | inference_ops.dynamo.gpu_fit_svg('gpu-west') }}"
"""

RETURN = r"""
_value:
  description: The SVG element. All text in it is escaped.
  type: str
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.plain import to_plain


def gpu_fit_svg(result: object, title: str = "GPU capacity") -> str:
    """Return the picture of a result of gpu_fit."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.picture import node_rows, svg

    try:
        return svg(node_rows(to_plain(result, "gpu_fit_svg")), str(title))
    except InputError as error:
        raise AnsibleFilterError(f"gpu_fit_svg: {error}") from error


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"gpu_fit_svg": gpu_fit_svg}
