#!/usr/bin/python
# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: deployment_report
short_description: Write a plan or a deployment as one self-contained page
version_added: 0.1.0
description:
  - Writes a report as one HTML file that needs no network (it is readable in light and dark and on paper), and the
    same as Markdown.
  - It shows the verdict, the findings with their remedies (the worst first), where each pod goes, pull secrets, pods,
    the run's timeline, the smoke test, the ledger and the commands that take the deployment down.
  - Each part is optional; a part that was not looked at is said to be so.
  - All text that came from a cluster or a file is escaped.
options:
  html:
    description: The HTML file to write.
    type: path
  markdown:
    description: The Markdown file to write. At least one of O(html) and O(markdown) must be given.
    type: path
  title:
    description: The heading, such as the DGD's name.
    type: str
    required: true
  subtitle:
    description: A line below the heading, such as the play that was run.
    type: str
    default: ""
  facts:
    description:
      - Facts to show in the head, as a mapping of labels to short texts, such as the context and the namespace.
    type: dict
    default: {}
  generated_at:
    description: The moment shown as the report's. The default is now. It does not count as a change.
    type: str
  findings:
    description: The findings of all checks.
    type: list
    elements: dict
    default: []
  render:
    description: What M(inference_ops.dynamo.dgd_render) returned.
    type: dict
    default: {}
  fit:
    description: What M(inference_ops.dynamo.gpu_fit) returned.
    type: dict
    default: {}
  nodes:
    description: The nodes of the snapshot, for the picture of the placement.
    type: list
    elements: dict
    default: []
  pull_secrets:
    description: What M(inference_ops.dynamo.pull_secret_match) returned.
    type: dict
    default: {}
  smoke:
    description: What M(inference_ops.dynamo.dgd_smoke) returned.
    type: dict
    default: {}
  ledger:
    description: The ledger.
    type: dict
    default: {}
  teardown_commands:
    description: The commands that take the deployment down. The default are the ledger's C(cleanup_commands).
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
extends_documentation_fragment:
  - inference_ops.dynamo._kube
  - inference_ops.dynamo._attributes
notes:
  - The connection options are accepted, so that C(module_defaults) of the action group can hold them, and are not used.
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: Write the report of a plan
  inference_ops.dynamo.deployment_report:
    html: "{{ experiment_root }}/report.html"
    markdown: "{{ experiment_root }}/report.md"
    title: llama-agg
    subtitle: Plan
    facts:
      Context: gpu-cluster
      Namespace: serving
    findings: "{{ preflight_findings }}"
    render: "{{ rendered }}"
    fit: "{{ fit }}"
"""

RETURN = r"""
html:
  description: The HTML file, or empty.
  returned: success
  type: str
markdown:
  description: The Markdown file, or empty.
  returned: success
  type: str
verdict:
  description: The worst outcome among the findings.
  returned: success
  type: str
"""
