#!/usr/bin/python
# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: deployment_ledger
short_description: Keep the record of one deployment, atomically and schema-checked
version_added: 0.1.0
description:
  - Creates, reads and changes C(deployment_ledger.json), the record of one deployment of one DynamoGraphDeployment.
  - The ledger is checked against its rules before and after each change; a ledger that does not hold them is refused
    and left as it is. The same rules stand as JSON Schema in C(docs/schemas/deployment_ledger.schema.json).
  - The file is written beside its place, flushed to the disk and then renamed, so a killed run leaves the old ledger
    or the new one and never a part of one.
  - With none of O(set), O(set_once) and O(append) the ledger is only read.
options:
  path:
    description: The ledger's file. Its folder must exist.
    type: path
    required: true
  set:
    description:
      - Fields to set. A mapping is merged into the mapping that is there; a list or a single value replaces what is
        there.
      - A RV(ledger.status) is checked against the allowed steps from one status to the next.
    type: dict
    default: {}
  set_once:
    description:
      - Fields to set only where they are not there yet or null, for moments that must stay as they were first seen,
        such as V(allocated_at), V(torn_down_at) and V(timings.apply_started_at).
      - A status V(prepared) is set where there is none, after V(blocked), and where V(torn_down_at) says that what
        was deployed is gone. The last starts a new holding, and what the earlier one held moves to
        RV(ledger.earlier_holdings).
    type: dict
    default: {}
  append:
    description:
      - Entries to append, as a mapping of the list's name to a list of entries.
      - An entry whose C(id) is in the list already replaces that entry's fields. An entry without C(id) that equals
        one in the list, its C(at) left aside, is not appended again. So a rerun never records the same thing twice.
    type: dict
    default: {}
  must_exist:
    description: Refuse to create a ledger. For a retired iteration, where only V(torn_down_at) may be written.
    type: bool
    default: false
extends_documentation_fragment:
  - inference_ops.dynamo._kube
  - inference_ops.dynamo._kube.unused
  - inference_ops.dynamo._attributes
  - inference_ops.dynamo._attributes.full
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: Start the ledger of an iteration
  inference_ops.dynamo.deployment_ledger:
    path: "{{ deploy_root }}/deployment_ledger.json"
    set:
      iteration: 0
      provenance: user-interviewer
      dgd_name: llama-agg
      kube_context: gpu-cluster
      namespace: serving
      source_dgd_path: inputs/user_provided_dgd.yaml
      source_dgd_sha256: "{{ handoff.dgd.sha256 }}"
    set_once:
      status: prepared

- name: Record a failed attempt
  inference_ops.dynamo.deployment_ledger:
    path: "{{ deploy_root }}/deployment_ledger.json"
    append:
      failed_attempts:
        - id: attempt-1
          at: "{{ now(utc=true).strftime('%Y-%m-%dT%H:%M:%SZ') }}"
          category: taint
          subject: Pod/llama-agg-worker-0
          evidence: "0/3 nodes are available: 3 node(s) had untolerated taint(s)."

- name: Write when the previous iteration was torn down, and nothing else
  inference_ops.dynamo.deployment_ledger:
    path: "{{ previous_deploy_root }}/deployment_ledger.json"
    must_exist: true
    set_once:
      torn_down_at: "{{ now(utc=true).strftime('%Y-%m-%dT%H:%M:%SZ') }}"

- name: Read a ledger
  inference_ops.dynamo.deployment_ledger:
    path: "{{ deploy_root }}/deployment_ledger.json"
  register: record
"""

RETURN = r"""
ledger:
  description:
    - The whole ledger after the change (in check mode, as it would be). An empty mapping where there is none.
  returned: success
  type: dict
  contains:
    status:
      description:
        - One of C(prepared), C(applying), C(waiting), C(ready), C(succeeded) and C(blocked).
        - Whether the deployment still lives is told by C(torn_down_at), which is null until it is gone.
      type: str
    earlier_holdings:
      description: What the same iteration held before it was torn down and deployed again.
      type: list
      elements: dict
exists:
  description: Whether the file is there (in check mode, whether it was there).
  returned: success
  type: bool
sha256:
  description: The SHA-256 of the file's bytes, or empty.
  returned: success
  type: str
path:
  description: The ledger's file.
  returned: success
  type: str
"""

from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils._argspec import KUBE_ARGS, KubeModule
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.ledger import LedgerChange
from ansible_collections.inference_ops.dynamo.plugins.module_utils.ledger_file import record

ARGUMENTS: dict[str, Any] = {
    **KUBE_ARGS,
    "path": {"type": "path", "required": True},
    "set": {"type": "dict", "default": {}},
    "set_once": {"type": "dict", "default": {}},
    "append": {"type": "dict", "default": {}},
    "must_exist": {"type": "bool", "default": False},
}


def run(params: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    """Read or change the ledger; return the module's result."""
    change = LedgerChange(set=params["set"], set_once=params["set_once"], append=params["append"])
    return record(params["path"], change, must_exist=params["must_exist"], check_mode=check_mode)


def main() -> None:
    module = KubeModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    try:
        module.exit_json(**run(module.params, module.check_mode))
    except InputError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
