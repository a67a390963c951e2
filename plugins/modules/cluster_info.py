# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_info
short_description: Take a snapshot of a cluster, to be judged now or later
version_added: 0.1.0
author:
  - Inference Ops contributors (@inference-ops)
description:
  - Looks at a cluster once, reading only, and returns what the judges of this collection need. These are nodes, the
    requests of all pods that are bound and not over, and the namespace's claims, quotas, accounts, secrets by name,
    Dynamo objects and their children.
  - Of each kind it says how the reading went. A kind that may not be read, or that the server does not have, is
    recorded and does not fail the task. A server that does not answer, or does not accept the credentials, does.
  - Of a Secret only its name, its type and, for a pull secret, its registries leave the cluster. Values of environment
    variables and the data of ConfigMaps are left out too.
  - With O(path) the snapshot is saved, so that every judgement can be made again without the cluster.
extends_documentation_fragment:
  - inference_ops.dynamo._kube
  - inference_ops.dynamo._kube.used
  - inference_ops.dynamo._attributes
attributes:
  check_mode:
    support: full
    details:
      - The cluster is only read. In check mode the file is not written.
  diff_mode:
    support: none
  idempotent:
    support: none
    details:
      - A snapshot holds the time when it was taken, so a file written again differs.
options:
  namespace:
    description:
      - The namespace that is looked at closely.
    type: str
    required: true
  path:
    description:
      - File to save the snapshot to, as JSON. It is written whole or not at all.
    type: path
  kinds:
    description:
      - The kinds to read, by the name that URLs use (V(nodes), V(pods), V(events)). By default all that the judgement
        of a deployment needs.
      - Only on demand are read V(events), V(jobs), V(replicasets), V(statefulsets), V(podcliques),
        V(podcliquescalinggroups), V(podgangs), V(podgroups), V(dynamographdeploymentrequests), V(deviceclasses)
        and V(resourceslices).
    type: list
    elements: str
  more_kinds:
    description:
      - Kinds to read beside those of O(kinds) or of its default.
    type: list
    elements: str
    default: []
  secret_names:
    description:
      - Secrets whose key names are needed too, since manifests refer to them by key. Also tells whether such a secret
        exists where listing secrets is forbidden.
    type: list
    elements: str
    default: []
  dry_run:
    description:
      - Objects to send to the server as a dry run of a server-side apply, one request each. The snapshot's C(dry_runs)
        says what the server answered.
    type: list
    elements: dict
    default: []
  include_snapshot:
    description:
      - Whether to return the snapshot. Switch it off for a large cluster when O(path) is given.
    type: bool
    default: true
seealso:
  - module: inference_ops.dynamo.gpu_fit
  - module: inference_ops.dynamo.pull_secret_match
"""

EXAMPLES = r"""
- name: Look at the cluster and keep what was seen
  inference_ops.dynamo.cluster_info:
    kubeconfig: ~/.kube/config
    context: gpu-cluster
    namespace: inference
    path: build/snapshot.json
    secret_names: [hf-token-secret]
  register: cluster

- name: Say what could not be read
  ansible.builtin.debug:
    msg: "{{ cluster.not_observed }}"
"""

RETURN = r"""
snapshot:
  description:
    - The snapshot, as C(docs/schemas/snapshot.schema.json) describes it.
  returned: success and O(include_snapshot=true)
  type: dict
  sample:
    schema: inference_ops.dynamo/snapshot/v1
    namespace: inference
    kinds:
      nodes:
        state: forbidden
        detail: needs verb "list" on nodes in the whole cluster (ClusterRole)
path:
  description: The file that was written, or would be in check mode.
  returned: success and O(path) given
  type: str
not_observed:
  description: The kinds that were not read whole, with state and detail.
  returned: success
  type: dict
  sample:
    podcliquesets:
      state: absent
      detail: the server has no API podcliquesets.grove.io
counts:
  description: How many objects of each kind the snapshot holds.
  returned: success
  type: dict
  sample:
    nodes: 12
    pods: 431
api_requests:
  description: How many requests were sent.
  returned: success
  type: int
  sample: 27
"""

from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils._argspec import KUBE_ARGS, KubeModule
from ansible_collections.inference_ops.dynamo.plugins.module_utils.collect import collect_snapshot
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot import COLLECTED, UNASKED
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import connect
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube_errors import KubeError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.snapshots import save_snapshot

ARGUMENTS: dict[str, Any] = {
    "namespace": {"type": "str", "required": True},
    "path": {"type": "path"},
    "kinds": {"type": "list", "elements": "str"},
    "more_kinds": {"type": "list", "elements": "str", "default": []},
    "secret_names": {"type": "list", "elements": "str", "default": [], "no_log": False},
    "dry_run": {"type": "list", "elements": "dict", "default": []},
    "include_snapshot": {"type": "bool", "default": True},
}


def summary(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Return what is worth a look beside the snapshot itself."""
    not_observed = {
        name: state for name, state in snapshot["kinds"].items() if state["state"] != "observed" or "partial" in state
    }
    counts = {name: len(snapshot[name]) for name in COLLECTED if name in snapshot}
    return {"not_observed": not_observed, "counts": counts, "api_requests": snapshot["api_requests"]}


def main() -> None:
    module = KubeModule(argument_spec={**KUBE_ARGS, **ARGUMENTS}, supports_check_mode=True)
    params = module.params
    wanted = UNASKED if params["kinds"] is None else params["kinds"]
    try:
        snapshot = collect_snapshot(
            connect(params, agent="cluster_info"),
            params["namespace"],
            kinds=[*wanted, *params["more_kinds"]],
            secret_names=params["secret_names"],
            dry_run=params["dry_run"],
        )
        result = summary(snapshot)
        changed = False
        if params["path"]:
            result["path"] = params["path"]
            changed = True if module.check_mode else save_snapshot(params["path"], snapshot)
    except (InputError, KubeError) as error:
        module.fail_json(msg=str(error))
    if params["include_snapshot"]:
        result["snapshot"] = snapshot
    module.exit_json(changed=changed, **result)


if __name__ == "__main__":
    main()
