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
  - Taking the lock again in the same run changes nothing.
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
holder:
  description: Who holds the lock after the call, or an empty mapping.
  returned: always
  type: dict
  sample: {"pid": 4711, "host": "controller", "since": "2026-11-29T22:00:00Z"}
"""
