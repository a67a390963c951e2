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
  - Writes a report as one HTML file that needs no network (it is readable in light and dark and on paper), the
    same as Markdown, and the plan as JSON.
  - It shows the verdict, the findings with their remedies (the worst first), where each pod goes, pull secrets, pods,
    the run's timeline, the smoke test, the ledger and the commands that take the deployment down.
  - Each part is optional; a part that was not looked at is said to be so.
  - All text that came from a cluster or a file is escaped.
options:
  html:
    description: The HTML file to write.
    type: path
  markdown:
    description: The Markdown file to write. At least one of O(html), O(markdown) and O(plan_json) must be given.
    type: path
  plan_json:
    description:
      - The JSON file to write for programs, with the verdict, the findings, the placements and the headroom.
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
  verdict:
    description: What was decided in a word or a few, such as V(fits). The default follows from the parts.
    type: str
    default: ""
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
  ledger_path:
    description: The ledger's file, to be read in place of O(ledger). A file that is not there is no ledger.
    type: path
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
  - inference_ops.dynamo._kube.unused
  - inference_ops.dynamo._attributes
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
plan_json:
  description: The JSON file, or empty.
  returned: success
  type: str
outcome:
  description: The report's outcome, C(pass), C(warn), C(unknown) or C(fail).
  returned: success
  type: str
headline:
  description: The report's first words.
  returned: success
  type: str
"""

import json
import os
import re
import time
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils import store
from ansible_collections.inference_ops.dynamo.plugins.module_utils._argspec import KUBE_ARGS, KubeModule
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.report import (
    plan_of,
    read_report,
    to_html,
    to_markdown,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.ledger_file import read_ledger

ARGUMENTS: dict[str, Any] = {
    **KUBE_ARGS,
    "html": {"type": "path"},
    "markdown": {"type": "path"},
    "plan_json": {"type": "path"},
    "title": {"type": "str", "required": True},
    "subtitle": {"type": "str", "default": ""},
    "facts": {"type": "dict", "default": {}},
    "generated_at": {"type": "str"},
    "verdict": {"type": "str", "default": ""},
    "findings": {"type": "list", "elements": "dict", "default": []},
    "render": {"type": "dict", "default": {}},
    "fit": {"type": "dict", "default": {}},
    "pull_secrets": {"type": "dict", "default": {}, "no_log": False},
    "smoke": {"type": "dict", "default": {}},
    "ledger": {"type": "dict", "default": {}},
    "ledger_path": {"type": "path"},
    "teardown_commands": {"type": "list", "elements": "str", "default": []},
}
FILES = ("html", "markdown", "plan_json")
#: The one line that tells when the report was written; it alone is no change.
WRITTEN = re.compile(rb"(Written (?:<time>)?)[^<\n]*?((?:</time>)? by inference)")


def write(path: str, text: str, check_mode: bool) -> bool:
    """Write a file unless it tells the same as the one that is there, and return whether it does not."""
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise InputError("the folder does not exist", where=path)
    data = text.encode("utf-8", "replace")
    before = store.read_if_there(path)
    if before is not None and WRITTEN.sub(rb"\1\2", before) == WRITTEN.sub(rb"\1\2", data):
        return False
    if not check_mode:
        store.write_atomically(path, data)
    return True


def ledger_of(params: dict[str, Any]) -> dict[str, Any]:
    """Return the ledger that was given or whose file was."""
    path = params["ledger_path"]
    if not path:
        return dict(params["ledger"])
    if params["ledger"]:
        raise InputError("give the ledger or its file, not both", field="ledger_path", found=path)
    return read_ledger(path) or {}


def run(params: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    """Make and write the report; return the module's result."""
    now = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    given = {**params, "ledger": ledger_of(params), "generated_at": params["generated_at"] or now}
    report = read_report(given)
    texts = {
        "html": lambda: to_html(report),
        "markdown": lambda: to_markdown(report),
        "plan_json": lambda: json.dumps(plan_of(given), indent=4, ensure_ascii=False) + "\n",
    }
    changed = [write(params[name], texts[name](), check_mode) for name in FILES if params[name]]
    return {
        "changed": any(changed),
        **{name: params[name] or "" for name in FILES},
        "outcome": report.outcome,
        "headline": report.headline,
    }


def main() -> None:
    module = KubeModule(argument_spec=ARGUMENTS, supports_check_mode=True, required_one_of=[FILES])
    try:
        module.exit_json(**run(module.params, module.check_mode))
    except InputError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
