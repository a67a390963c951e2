# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: pull_secret_match
short_description: Tell whose credentials each image will be pulled with
version_added: 0.1.0
author:
  - Inference Ops contributors (@inference-ops)
description:
  - For each image says which pull secrets the Dynamo operator attaches by itself, which of them the kubelet would then
    use, and where the two disagree. The operator compares registry hosts letter by letter; the kubelet knows Docker
    Hub's aliases, paths, wildcards and legacy secrets.
  - An image that no secret fits is V(unknown), for it may be public and a node may have credentials of its own.
  - Only names, types and registries of secrets are looked at and returned, never a credential.
  - Of the secrets those of O(namespace) are looked at. Release 1.1 of the operator also stumbles over a malformed
    secret in any other namespace, which this module cannot see.
extends_documentation_fragment:
  - inference_ops.dynamo._kube
  - inference_ops.dynamo._kube.used
  - inference_ops.dynamo._attributes
  - inference_ops.dynamo._attributes.read_only
options:
  images:
    description:
      - Images that the operator runs. Each is a name, or a mapping with C(image) and, as needed, C(used_by), C(pod)
        (ties together the containers of one pod), C(image_pull_secrets) (those that the manifest names itself),
        C(service_account) and C(discovery) (whether the operator looks for secrets, by default it does).
    type: list
    elements: raw
  pods:
    description:
      - Pods as M(inference_ops.dynamo.dgd_render) returns them when it was given the same secrets. Their
        C(imagePullSecrets) are taken as final.
    type: list
    elements: dict
  manifests:
    description:
      - Other objects that make pods, such as the Job that downloads the model. The operator attaches nothing to these.
        Objects that make no pods are passed over.
    type: list
    elements: dict
  secrets:
    description:
      - The namespace's pull secrets as M(inference_ops.dynamo.cluster_info) lists them, instead of a snapshot or a
        cluster. Each is a mapping with C(name), C(registries) and, as needed, C(namespace), C(type) and C(problems).
    type: list
    elements: dict
  service_accounts:
    description:
      - The pull secrets of service accounts, by account, where O(secrets) is given.
    type: dict
    default: {}
  snapshot:
    description:
      - A snapshot to look at instead of a cluster.
    type: dict
  snapshot_path:
    description:
      - File with a snapshot to look at instead of a cluster.
    type: path
  namespace:
    description:
      - The namespace of the pods. With a snapshot its own by default.
    type: str
  operator_release:
    description:
      - The operator's release, whose rules apply. V(auto) takes that of the snapshot or cluster.
    type: str
    default: auto
  disable_discovery:
    description:
      - Whether the component's annotation C(nvidia.com/disable-image-pull-secret-discovery) switches the operator's
        search off, for all of O(images).
    type: bool
    default: false
seealso:
  - module: inference_ops.dynamo.cluster_info
  - module: inference_ops.dynamo.dgd_render
"""

EXAMPLES = r"""
- name: Will the worker's image be pulled with a credential
  inference_ops.dynamo.pull_secret_match:
    context: gpu-cluster
    namespace: inference
    images:
      - nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.1.0
  register: pull

- name: Judge rendered pods and the download Job against a saved snapshot
  inference_ops.dynamo.pull_secret_match:
    snapshot_path: build/snapshot.json
    pods: "{{ rendered.pods }}"
    manifests: "{{ support_manifests }}"
"""

RETURN = r"""
images:
  description: One entry an image and kind of pod.
  returned: success
  type: list
  elements: dict
  contains:
    image:
      description: The image as it was written.
      type: str
    used_by:
      description: Containers that use it.
      type: list
      elements: str
    registry:
      description: The registry it is pulled from, empty where the name is not valid.
      type: str
    verdict:
      description: V(attached_and_used), V(attached_not_usable), V(usable_not_attached) or V(unknown).
      type: str
    why:
      description: The reason in words.
      type: str
    operator:
      description: Secrets that the operator attaches by itself for this image, in its order.
      type: list
      elements: str
    attached:
      description: All secrets of the pod.
      type: list
      elements: str
    kubelet:
      description: What the kubelet tries in its order, as C(secret) and the C(registry) key that fits.
      type: list
      elements: dict
    usable:
      description: Secrets of the namespace that fit the image, attached or not.
      type: list
      elements: str
    not_usable:
      description: Attached secrets that do not help, as C(secret) and C(why).
      type: list
      elements: dict
findings:
  description: Findings of the check C(pull_secrets).
  returned: success
  type: list
  elements: dict
operator_release:
  description: The release whose rules were applied.
  returned: success
  type: str
  sample: "1.5"
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils._argspec import KUBE_ARGS, KubeModule
from ansible_collections.inference_ops.dynamo.plugins.module_utils.collect import collect_snapshot
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.pull_request import match_request
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.pull_secrets import match_pull_secrets
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot import Snapshot
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import connect
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube_errors import KubeError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.snapshots import load_snapshot

ARGUMENTS: dict[str, Any] = {
    "images": {"type": "list", "elements": "raw"},
    "pods": {"type": "list", "elements": "dict"},
    "manifests": {"type": "list", "elements": "dict"},
    "secrets": {"type": "list", "elements": "dict", "no_log": False},
    "service_accounts": {"type": "dict", "default": {}},
    "snapshot": {"type": "dict"},
    "snapshot_path": {"type": "path"},
    "namespace": {"type": "str"},
    "operator_release": {"type": "str", "default": "auto"},
    "disable_discovery": {"type": "bool", "default": False},
}


def look(params: Mapping[str, Any]) -> Snapshot | None:
    """Return the snapshot to judge by: the one given, the one saved, or one of the cluster; None with own secrets."""
    if params["secrets"] is not None:
        return None
    if params["snapshot"] is not None:
        return Snapshot.from_plain(params["snapshot"])
    if params["snapshot_path"]:
        return load_snapshot(params["snapshot_path"])
    if not params["namespace"]:
        raise InputError("must be given to look at a cluster", field="namespace")
    kube = connect(params, agent="pull_secret_match")
    return Snapshot.from_plain(collect_snapshot(kube, params["namespace"], kinds=["secrets", "serviceaccounts"]))


def main() -> None:
    module = KubeModule(
        argument_spec={**KUBE_ARGS, **ARGUMENTS},
        supports_check_mode=True,
        mutually_exclusive=[("secrets", "snapshot", "snapshot_path")],
        required_one_of=[("images", "pods", "manifests")],
    )
    try:
        request = match_request(module.params, look(module.params))
        report = match_pull_secrets(request)
    except (InputError, KubeError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, operator_release=request.release, **report.to_result())


if __name__ == "__main__":
    main()
