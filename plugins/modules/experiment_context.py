#!/usr/bin/python
# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: experiment_context
short_description: Keep the cluster context in an experiment root's manifest.yaml true
version_added: 0.1.0
description:
  - Where the effective cluster context differs from the one that C(manifest.yaml) of the experiment root records,
    that one entry is updated. Everything else in the file, comments included, stays as it is.
  - An experiment root without C(manifest.yaml) is left as it is.
options:
  path:
    description: The file C(manifest.yaml), or the experiment root that holds it.
    type: path
    required: true
  context:
    description: The effective context.
    type: str
    required: true
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
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
- name: Record the cluster before anything is changed on it
  inference_ops.dynamo.experiment_context:
    path: "{{ experiment_root }}"
    context: gpu-cluster
"""

RETURN = r"""
exists:
  description: Whether the file is there.
  returned: success
  type: bool
entry:
  description: The entry's path in the file, such as C(cluster.context).
  returned: success
  type: str
previous:
  description: The context that was recorded before, or empty.
  returned: success
  type: str
"""
