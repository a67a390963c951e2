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
extends_documentation_fragment:
  - inference_ops.dynamo._kube
  - inference_ops.dynamo._kube.unused
  - inference_ops.dynamo._attributes
  - inference_ops.dynamo._attributes.full
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

import os
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils import manifests, store
from ansible_collections.inference_ops.dynamo.plugins.module_utils._argspec import KUBE_ARGS, KubeModule
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.experiment import FILE_NAME, update_context

ARGUMENTS: dict[str, Any] = {
    **KUBE_ARGS,
    "path": {"type": "path", "required": True},
    "context": {"type": "str", "required": True},
}


def run(params: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    """Update the entry; return the module's result."""
    path = params["path"]
    if os.path.isdir(path):
        path = os.path.join(path, FILE_NAME)
    if not params["context"]:
        raise InputError("must not be empty", field="context")
    if not os.path.lexists(path):
        return {"changed": False, "exists": False, "entry": "", "previous": ""}
    # Line ends as they are: nothing but the entry may change.
    text = manifests.read_bytes(path).decode("utf-8", "replace")
    values = manifests.load_yaml(manifests.read_file(path), path)
    if len(values) > 1:
        raise InputError("must be one document", where=path, found=f"{len(values)} documents")
    entry = update_context(text, values[0] if values else None, params["context"], path)
    changed = entry.text != text
    if changed and not check_mode:
        store.write_atomically(path, entry.text.encode())
    diff = {"before_header": path, "after_header": path, "before": text, "after": entry.text}
    return {"changed": changed, "exists": True, "entry": entry.path, "previous": entry.previous, "diff": diff}


def main() -> None:
    module = KubeModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    try:
        module.exit_json(**run(module.params, module.check_mode))
    except InputError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
