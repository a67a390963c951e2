# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes what gpu_fit found as lines for a terminal."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_fit_text
short_description: Show a cluster's GPUs and where the pods go as text
version_added: 0.1.0
description:
  - Takes the result of M(inference_ops.dynamo.gpu_fit) and returns a picture in letters, for a terminal or AWX.
positional: width
options:
  _input:
    description: The result of M(inference_ops.dynamo.gpu_fit).
    type: dict
    required: true
  width:
    description: The longest line.
    type: int
    default: 100
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: Show where the pods go
  ansible.builtin.debug:
    msg: "{{ (fit | inference_ops.dynamo.gpu_fit_text).splitlines() }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: str
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.plain import to_plain


def gpu_fit_text(result: object, width: int = 100) -> str:
    """Return the lines of a result of gpu_fit."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.picture import node_rows, text

    try:
        return text(node_rows(to_plain(result, "gpu_fit_text")), max(int(width), 40))
    except InputError as error:
        raise AnsibleFilterError(f"gpu_fit_text: {error}") from error
    except (TypeError, ValueError):
        raise AnsibleFilterError(f"gpu_fit_text: width: expected a number, found {width!r}") from None


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"gpu_fit_text": gpu_fit_text}
