# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares a DGD with its baseline for the knobs that are pinned."""

from __future__ import annotations

DOCUMENTATION = r"""
name: dgd_pinned_changes
short_description: Say which pinned knobs a DGD changes against its baseline
version_added: 0.1.0
description:
  - Compares two manifests of a C(DynamoGraphDeployment) (DGD) for each pinned knob, after both were brought to one
    form. The API version, the spelling of flags (aliases, C(--x=1) and C(--x 1)), environment variables, shell
    commands and the spelling of amounts make no difference.
  - What cannot be told from the manifests, such as a flag whose value the shell computes, is C(unknown) and never
    called unchanged.
  - A pinned knob is written as the name of a knob (V(mode), V(precision), V(framework), V(model), V(replicas),
    V(nodes), V(gpus), V(image), V(role), V(shared_memory), or any engine flag such as V(tensor_parallel_size) or
    V(--max-model-len)), as a component's knob (V(Decode.replicas), V(Decode.env.UCX_TLS), V(Decode.args)), or as a
    path in a manifest of either version (V(spec.services.Decode.replicas),
    V(spec.components[Decode].podTemplate.spec.containers[main].image)).
positional: baseline, pinned
options:
  _input:
    description: The assigned DGD as data, or a list of objects that holds it.
    type: raw
    required: true
  baseline:
    description: The baseline DGD, in the same forms.
    type: raw
    required: true
  pinned:
    description: The pinned knobs.
    type: list
    elements: str
    required: true
author:
  - Inference Ops contributors (@inference-ops)
seealso:
  - module: inference_ops.dynamo.recipe_handoff
"""

EXAMPLES = r"""
- name: Refuse a candidate that turns a pinned knob
  ansible.builtin.assert:
    that: report.verdict != 'fail'
    fail_msg: "{{ report.findings | map(attribute='message') | join(' ') }}"
  vars:
    report: "{{ candidate | inference_ops.dynamo.dgd_pinned_changes(baseline, ['mode', 'Decode.replicas']) }}"
"""

RETURN = r"""
_value:
  description: C(verdict), the worst outcome, and C(findings), at least one for each pinned knob, the worst first.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError, shown
from ansible_collections.inference_ops.dynamo.plugins.module_utils.plain import to_plain


def dgd_pinned_changes(candidate: object, baseline: object, pinned: object) -> dict[str, Any]:
    """Return the findings for each pinned knob."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.findings import by_severity, worst
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.pinned import judge_pinned
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.definitions import view_of

    try:
        names = to_plain(pinned, "dgd_pinned_changes: pinned")
        if not isinstance(names, list):
            raise InputError("must be a list", where="dgd_pinned_changes", field="pinned", found=shown(names))
        one = view_of(baseline, "dgd_pinned_changes: baseline")
        findings = by_severity(judge_pinned(one, view_of(candidate, "dgd_pinned_changes"), names))
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error
    return {"verdict": worst(findings), "findings": [finding.to_result() for finding in findings]}


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"dgd_pinned_changes": dgd_pinned_changes}
