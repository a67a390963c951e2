# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proves that a candidate's changed knobs are live."""

from __future__ import annotations

DOCUMENTATION = r"""
name: config_engagement
short_description: Show for each changed knob of a DGD where a running pod proves it live
version_added: 0.1.0
description:
  - Compares a candidate's C(DynamoGraphDeployment) (DGD) with the previous one, and looks in the running pods for
    each knob that differs. The proof is a field of each pod of the component (arguments, environment, image,
    resources, volumes, the number of ready pods), or the words of its start-up log.
  - A knob that a running pod shows with another value is C(fail); one that nothing shows is C(unknown).
  - Of a log line only the matching words are quoted.
positional: previous, pods
options:
  _input:
    description: The candidate DGD as data, or a list of objects that holds it.
    type: raw
    required: true
  previous:
    description: The previous iteration's DGD, in the same forms.
    type: raw
    required: true
  pods:
    description: The running pods of the DGD, as M(kubernetes.core.k8s_info) returns them.
    type: list
    elements: dict
    required: true
  logs:
    description: Start-up logs, as a mapping of pod names to texts.
    type: dict
author:
  - Inference Ops contributors (@inference-ops)
seealso:
  - module: inference_ops.dynamo.deployment_ledger
"""

EXAMPLES = r"""
- name: Record the evidence
  inference_ops.dynamo.deployment_ledger:
    path: "{{ ledger }}"
    set:
      config_engagement: "{{ (candidate | inference_ops.dynamo.config_engagement(previous, pods.resources)).entries }}"
"""

RETURN = r"""
_value:
  description:
    - C(entries) for the ledger's C(config_engagement), each with C(component), C(knob), C(before), C(after),
      C(proven) and C(evidence); C(findings) of the same, the worst first; C(verdict), the worst outcome.
  type: dict
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError, shown
from ansible_collections.inference_ops.dynamo.plugins.module_utils.plain import to_plain

NAME = "config_engagement"


def config_engagement(candidate: object, previous: object, pods: object, logs: object = None) -> dict[str, Any]:
    """Return the proofs for each changed knob."""
    # Imported by use: to find one filter, Ansible imports every file of this folder.
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.engagement import prove
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.findings import by_severity, worst
    from ansible_collections.inference_ops.dynamo.plugins.module_utils.definitions import view_of

    try:
        running = to_plain(pods, f"{NAME}: pods")
        texts = to_plain(logs or {}, f"{NAME}: logs")
        if not isinstance(running, list) or not all(isinstance(pod, dict) for pod in running):
            raise InputError("must be a list of pods", where=NAME, field="pods", found=shown(running))
        if not isinstance(texts, dict):
            raise InputError("must be a mapping of pod names to texts", where=NAME, field="logs", found=shown(texts))
        words = {name: str(text) for name, text in texts.items()}
        proofs = prove(view_of(previous, f"{NAME}: previous"), view_of(candidate, NAME), running, words)
    except InputError as error:
        raise AnsibleFilterError(str(error)) from error
    findings = by_severity(proof.finding() for proof in proofs)
    return {
        "verdict": worst(findings),
        "entries": [proof.to_result() for proof in proofs],
        "findings": [finding.to_result() for finding in findings],
    }


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filter by its name."""
        return {"config_engagement": config_engagement}
