#!/usr/bin/python
# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: experiment_lock
short_description: Let one run at a time use an experiment root
version_added: 0.1.0
description:
  - Takes a lock on an experiment root for the whole ansible-playbook run, or gives it back.
  - The lock is an advisory file lock that a small helper process holds on the run's behalf. The helper ends as soon
    as the ansible-playbook process ends, however it ends, and the kernel then drops the lock. A killed run leaves no
    lock behind.
  - Taking the lock again in the same run changes nothing. The lock lives no longer than the run, so taking it and
    giving it back are never reported as a change; see RV(taken).
  - The file C(.deploy.lock) in the experiment root stays, but without a holder it locks nothing.
options:
  path:
    description: The experiment root. It must exist.
    type: path
    required: true
  state:
    description: Whether the run shall hold the lock.
    type: str
    choices: [held, free]
    default: held
  timeout:
    description: Seconds to wait for another run to end.
    type: int
    default: 5
  owner_pid:
    description:
      - The process whose end releases the lock. The default is the ansible-playbook process. Give it only where
        another process drives the run.
    type: int
attributes:
  check_mode:
    support: full
    details:
      - In check mode the lock is not taken. A lock that another run holds is still refused.
  diff_mode:
    support: none
  idempotent:
    support: full
extends_documentation_fragment:
  - inference_ops.dynamo._kube
  - inference_ops.dynamo._kube.unused
  - inference_ops.dynamo._attributes
notes:
  - Must run on the controller, as the lock lives and ends with the ansible-playbook process.
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: Refuse a second run on this experiment root
  inference_ops.dynamo.experiment_lock:
    path: "{{ experiment_root }}"

- name: Give it back
  inference_ops.dynamo.experiment_lock:
    path: "{{ experiment_root }}"
    state: free
"""

RETURN = r"""
taken:
  description: Whether this call took the lock (in check mode, whether it would).
  returned: always
  type: bool
holder:
  description: Who holds the lock after the call, or an empty mapping.
  returned: always
  type: dict
  sample: {"pid": 4711, "host": "controller", "since": "2026-11-29T22:00:00Z"}
"""

import os
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils import run_lock
from ansible_collections.inference_ops.dynamo.plugins.module_utils._argspec import KUBE_ARGS, KubeModule
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError

ARGUMENTS: dict[str, Any] = {
    **KUBE_ARGS,
    "path": {"type": "path", "required": True},
    "state": {"type": "str", "choices": ["held", "free"], "default": "held"},
    "timeout": {"type": "int", "default": 5},
    "owner_pid": {"type": "int"},
}


def run(params: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    """Take the lock or give it back; return the module's result."""
    root = os.path.realpath(params["path"])
    if not os.path.isdir(root):
        raise InputError("the experiment root does not exist", where=params["path"], field="path")
    pid = params["owner_pid"]
    owner = run_lock.Owner(pid, run_lock.start_of(pid)) if pid else run_lock.run_owner()
    if params["state"] == "held":
        state = run_lock.hold(root, owner, timeout=params["timeout"], check_mode=check_mode)
    else:
        state = run_lock.look(root, owner) if check_mode else run_lock.give_back(root, owner)
    return {"changed": False, "taken": state.changed and state.ours, "holder": dict(state.holder)}


def main() -> None:
    module = KubeModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    try:
        module.exit_json(**run(module.params, module.check_mode))
    except InputError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
