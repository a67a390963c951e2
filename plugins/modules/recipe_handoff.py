#!/usr/bin/python
# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: recipe_handoff
short_description: Check a hand-off and make the run's own copies of its manifests
version_added: 0.1.0
description:
  - Recomputes the SHA-256 of the workload contract and of the assigned DGD before anything else, compares them with
    what was handed off, and at iteration 0 also with C(deployment.dgd_path) and C(deployment.dgd_sha256) of the
    contract.
  - Copies the DGD and the handed-off support manifests to C(<exp_root>/artifacts/deploy-iter-NNN/applied_manifests/)
    under stable names (C(deploy.yaml), C(model-cache.yaml), C(model-download.yaml), C(model-validate.yaml)). Among
    variants of one manifest it takes the one for the DGD's precision and says why, or fails with the candidates.
    Sources are never touched.
  - Applies compatibility patches to the copies only. They are limited to Kubernetes fields, namely a storage class
    placeholder and the tolerations that the user names. Each is returned as a JSON Patch with its reason. A patch
    that would touch a performance knob is refused.
  - On request it takes the experiment root's lock and starts the ledger in the same step, so that a run begins with one
    task.
  - Compares the assigned DGD with the contract's baseline for each pinned knob.
  - What makes the hand-off unusable (a wrong hash, no DGD, no YAML) fails the module with nothing written. What a
    person should see together with the other blockers (a pinned knob, an unresolved placeholder) is returned in
    RV(findings).
  - It asks no cluster.
options:
  exp_root:
    description: The experiment root. It must exist.
    type: path
    required: true
  iteration:
    description: The optimization iteration, from 0.
    type: int
    default: 0
  dgd_path:
    description:
      - The assigned DGD's file. At iteration 0 with O(user_workload) the default is the contract's
        C(deployment.dgd_path).
      - A relative path of a contract is looked up from the experiment root, then from the folders above it.
    type: path
  dgd_sha256:
    description:
      - The SHA-256 that was handed off. At iteration 0 with O(user_workload) the default is the contract's.
      - Needed with O(user_workload) at a later iteration.
    type: str
  provenance:
    description:
      - Who handed the DGD off, V(user-interviewer) at iteration 0 and V(hypothesis-challenger) later. A combination
        that does not match is refused.
      - The default is the one that belongs to the iteration.
    type: str
    choices: [user-interviewer, hypothesis-challenger]
  user_workload:
    description: The workload contract, C(user_workload.yaml).
    type: path
  user_workload_sha256:
    description: The contract's SHA-256 as it was handed off. Needed with O(user_workload).
    type: str
  support_manifests:
    description:
      - The handed-off support manifests. Each is a path, or a mapping with C(src) and C(name), where C(name) is the
        stable name without its ending, such as V(model-download).
      - Several variants of one manifest may be given; one is chosen by precision.
    type: list
    elements: raw
    default: []
  context:
    description: The kubeconfig context. Where the contract names one too, both must be equal.
    type: str
  namespace:
    description: The namespace. Where the contract names one too, both must be equal.
    type: str
  storage_class:
    description: The storage class for claims that need one. Where the contract names one too, both must be equal.
    type: str
  gpu_ceiling:
    description:
      - The most GPUs that the run may hold at once. Where the contract names one too, the smaller one counts.
    type: int
  pinned:
    description:
      - Knobs that may not change against the baseline, in addition to the contract's C(resources.pinned). See the
        filter P(inference_ops.dynamo.dgd_pinned_changes#filter) for how they are written.
    type: list
    elements: str
    default: []
  baseline:
    description: The baseline DGD for pinned knobs where there is no contract.
    type: path
  precision:
    description: The precision to choose variants by, where the DGD does not tell it.
    type: str
  tolerations:
    description:
      - Tolerations to add to the copies, named by the user. None is ever invented.
      - Each is a Kubernetes toleration, with C(reason) (why, required) and optionally C(components) (the DGD
        components that get it; all by default) and C(jobs) (whether the Jobs get it too; V(false) by default).
    type: list
    elements: dict
    default: []
  patches:
    description:
      - Further compatibility patches as JSON Patch, for a fix that a diagnosis asks for. Each is a mapping with
        C(manifest) (stable name), C(object) (C(Kind/name), needed where the manifest holds several), C(operations)
        and C(reason).
      - Only Kubernetes fields are accepted.
    type: list
    elements: dict
    default: []
  lock:
    description:
      - Take the experiment root for the whole run before anything is written, as
        M(inference_ops.dynamo.experiment_lock) does. In check mode another run's lock is refused and none is taken.
      - Must run on the controller then.
    type: bool
    default: false
  ledger:
    description:
      - Start C(deployment_ledger.json) in the run's folder, or bring its hand-off up to date, as
        M(inference_ops.dynamo.deployment_ledger) does with RV(ledger_fields). See RV(record).
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
- name: Take a contract's baseline to iteration 0
  inference_ops.dynamo.recipe_handoff:
    exp_root: runs/llama
    user_workload: runs/llama/user_workload.yaml
    user_workload_sha256: "{{ handed_off_sha256 }}"
    support_manifests:
      - recipes/llama/model-cache.yaml
      - recipes/llama/model-download-fp8.yaml
      - recipes/llama/model-download-nvfp4.yaml

- name: Without a contract, from play variables
  inference_ops.dynamo.recipe_handoff:
    exp_root: build/demo
    dgd_path: docs/examples/agg-vllm/deploy.yaml
    context: gpu-cluster
    namespace: serving
    storage_class: shared-nfs
    support_manifests:
      - docs/examples/agg-vllm/model-cache.yaml
    tolerations:
      - key: nvidia.com/gpu
        operator: Exists
        effect: NoSchedule
        reason: the GPU nodes of this cluster carry this taint
"""

RETURN = r"""
deploy_root:
  description: The run's folder.
  returned: success
  type: str
applied_root:
  description: The folder of the copies.
  returned: success
  type: str
context:
  description: The effective context, or empty.
  returned: success
  type: str
namespace:
  description: The effective namespace, or empty.
  returned: success
  type: str
storage_class:
  description: The effective storage class, or empty.
  returned: success
  type: str
gpu_ceiling:
  description: The effective ceiling, or null.
  returned: success
  type: int
pinned:
  description: The pinned knobs in force.
  returned: success
  type: list
  elements: str
provenance:
  description: Who handed the DGD off.
  returned: success
  type: str
user_workload:
  description: The contract's path and SHA-256, or an empty mapping.
  returned: success
  type: dict
  sample: {"path": "user_workload.yaml", "sha256": "9f86d0…"}
dgd:
  description: The assigned DGD.
  returned: success
  type: dict
  contains:
    name:
      description: Its C(metadata.name).
      type: str
    api_version:
      description: Its C(apiVersion).
      type: str
    source:
      description: The handed-off file.
      type: str
    sha256:
      description: The handed-off file's SHA-256.
      type: str
    path:
      description: The run's copy.
      type: str
    applied_sha256:
      description: The copy's SHA-256.
      type: str
    served_model:
      description: The served model's name as the engine arguments give it, or empty.
      type: str
    precision:
      description: The precision, or empty.
      type: str
    precision_why:
      description: Where the precision was found.
      type: str
manifests:
  description:
    - The copies in the order in which they are applied, the DGD's last.
    - C(definitions) are the whole objects as they will be applied, patched and with the namespace filled in, in check
      mode too. In the DGD's own manifest the DGD comes first; what else it holds is applied before it.
  returned: success
  type: list
  elements: dict
  sample:
    - name: model-download.yaml
      path: runs/llama/artifacts/deploy-iter-000/applied_manifests/model-download.yaml
      sha256: 2c26b4…
      source: recipes/llama/model-download-fp8.yaml
      source_sha256: 2c26b4…
      reason: the DGD's precision is fp8 (--quantization fp8 of component Worker)
      patched: false
      objects: [{"api_version": "batch/v1", "kind": "Job", "name": "model-download", "namespace": "serving"}]
      definitions: [{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "model-download"}}]
jobs:
  description:
    - The names of the Jobs by the manifest's stable name, from C(metadata.name) and never from a file's name.
  returned: success
  type: dict
  sample: {"model-download": ["model-download"], "model-validate": []}
claims:
  description: The names of the PersistentVolumeClaims of the support manifests.
  returned: success
  type: list
  elements: str
patches:
  description: The compatibility patches that are in the copies, for the ledger.
  returned: success
  type: list
  elements: dict
  sample:
    - id: model-cache.yaml:PersistentVolumeClaim/model-cache:storage_class
      manifest: model-cache.yaml
      object: PersistentVolumeClaim/model-cache
      operations: [{"op": "replace", "path": "/spec/storageClassName", "value": "shared-nfs"}]
      reason: the placeholder 'your-storage-class-name' was resolved with the hand-off's storage class
previous:
  description: The previous iteration's folder and ledger, or an empty mapping at iteration 0.
  returned: success
  type: dict
  sample: {"deploy_root": "runs/llama/artifacts/deploy-iter-000", "ledger":
  "runs/llama/artifacts/deploy-iter-000/deployment_ledger.json"}
record:
  description: The ledger's C(path) and its content as C(ledger) (in check mode, as it would be).
  returned: with O(ledger)
  type: dict
  sample: {"path": "runs/llama/artifacts/deploy-iter-000/deployment_ledger.json", "ledger": {"status": "prepared"}}
ledger_fields:
  description:
    - The fields of the ledger that the hand-off decides, ready for
      O(inference_ops.dynamo.deployment_ledger#module:set).
  returned: success
  type: dict
verdict:
  description: The worst outcome among the findings.
  returned: success
  type: str
findings:
  description: The findings, worst first.
  returned: success
  type: list
  elements: dict
"""

from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils import handoff_files
from ansible_collections.inference_ops.dynamo.plugins.module_utils._argspec import KUBE_ARGS, KubeModule
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.ledger import PROVENANCES

ARGUMENTS: dict[str, Any] = {
    **KUBE_ARGS,
    "exp_root": {"type": "path", "required": True},
    "iteration": {"type": "int", "default": 0},
    "dgd_path": {"type": "path"},
    "dgd_sha256": {"type": "str"},
    "provenance": {"type": "str", "choices": list(PROVENANCES)},
    "user_workload": {"type": "path"},
    "user_workload_sha256": {"type": "str"},
    "support_manifests": {"type": "list", "elements": "raw", "default": []},
    "context": {"type": "str"},
    "namespace": {"type": "str"},
    "storage_class": {"type": "str"},
    "gpu_ceiling": {"type": "int"},
    "pinned": {"type": "list", "elements": "str", "default": []},
    "baseline": {"type": "path"},
    "precision": {"type": "str"},
    "tolerations": {"type": "list", "elements": "dict", "default": []},
    "patches": {"type": "list", "elements": "dict", "default": []},
    "lock": {"type": "bool", "default": False},
    "ledger": {"type": "bool", "default": False},
}


def run(params: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    """Check the hand-off, then write the copies; return the module's result."""
    made = handoff_files.check_handoff(params)
    if params["lock"]:
        handoff_files.lock_root(made, check_mode)
        # The run before us may have ended only now, and changed its ledger.
        made = handoff_files.check_handoff(params)
    differences = handoff_files.write_copies(made, check_mode)
    result = handoff_files.to_result(made)
    if params["ledger"]:
        started = handoff_files.start_ledger(made, check_mode)
        result["record"] = {name: started[name] for name in ("path", "ledger")}
        differences += [started["diff"]] if started["changed"] else []
    return {**result, "changed": bool(differences), "diff": differences}


def main() -> None:
    module = KubeModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    try:
        module.exit_json(**run(module.params, module.check_mode))
    except InputError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()
