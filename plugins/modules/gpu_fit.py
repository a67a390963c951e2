#!/usr/bin/python
# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_fit
short_description: Say whether pods fit on a cluster, as the scheduler would see it
version_added: 0.1.0
description:
  - Judges whether all pods of a DynamoGraphDeployment can be placed on a cluster at the same time, with the filters of
    kube-scheduler 1.34 to 1.36, and explains the answer.
  - Every bound pod that has not ended holds its full request, whatever it is doing. No pod is evicted, and no
    toleration is added to a pod.
  - V(fits) means that there is an order in which every pod passes all filters at its turn. The placement is returned,
    and has passed a second check that shares nothing with the search. V(does_not_fit) comes with the reason in words.
    What cannot be judged is V(unknown) with the reason.
  - Reads a snapshot made by M(inference_ops.dynamo.cluster_info), or looks at the live cluster itself.
  - A verdict never fails the task.
options:
  pods:
    description: The pods to place, as RV(inference_ops.dynamo.dgd_render#module:pods) holds them.
    type: list
    elements: dict
    required: true
  snapshot:
    description: A snapshot of the cluster. With it or O(snapshot_path) no cluster is contacted.
    type: dict
  snapshot_path:
    description: A file that holds a snapshot of the cluster, which is quicker than O(snapshot) for a large cluster.
    type: path
  namespace:
    description: The namespace of pods that name none.
    type: str
    default: default
  dgd_name:
    description:
      - The name of the DynamoGraphDeployment that the pods belong to. Pods of it that run already are taken to be
        replaced by O(pods), so what they hold counts as free.
      - By default the name in the pods' own labels.
    type: str
  retiring:
    description:
      - Names of other DynamoGraphDeployments in the same namespace that will be gone before. What they hold counts as
        free, and is returned in RV(holdings.retiring).
    type: list
    elements: str
    default: []
  run_dgds:
    description: Names of other DynamoGraphDeployments in the same namespace whose GPUs count towards O(gpu_ceiling).
    type: list
    elements: str
    default: []
  gpu_ceiling:
    description: How many GPUs the pods and O(run_dgds) may hold together.
    type: int
  claims:
    description: PersistentVolumeClaims, as whole objects, that will be made before the pods are.
    type: list
    elements: dict
    default: []
  time_limit:
    description:
      - How many seconds the search for a placement may take. When they are over the verdict is V(unknown).
      - RV(headroom), RV(suggestions) and RV(prediction) take as long again at most, and say where they are not
        complete.
    type: float
    default: 10.0
  predict:
    description: Whether to work out what the default scheduler's own order and scoring would do.
    type: bool
    default: true
attributes:
  check_mode:
    support: full
  diff_mode:
    support: N/A
  idempotent:
    support: full
extends_documentation_fragment:
  - inference_ops.dynamo._kube
  - inference_ops.dynamo._kube.used
  - inference_ops.dynamo._attributes
  - inference_ops.dynamo._attributes.read_only
seealso:
  - module: inference_ops.dynamo.cluster_info
  - module: inference_ops.dynamo.dgd_render
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: Render the manifest
  inference_ops.dynamo.dgd_render:
    src: recipes/agg/deploy.yaml
    namespace: team-a
  register: rendered

- name: Judge the fit on the live cluster
  inference_ops.dynamo.gpu_fit:
    context: gpu-west
    pods: "{{ rendered.pods }}"
    namespace: team-a
    gpu_ceiling: 16
  register: fit

- name: Judge the fit from a saved snapshot, with the previous iteration gone
  inference_ops.dynamo.gpu_fit:
    pods: "{{ rendered.pods }}"
    snapshot_path: snapshots/gpu-west.json
    retiring: [agg-iter-0]
  register: fit

- name: Stop where the pods do not fit
  ansible.builtin.fail:
    msg: "{{ fit.proof }}"
  when: fit.verdict == 'does_not_fit'
"""

RETURN = r"""
verdict:
  description: V(fits), V(does_not_fit) or V(unknown).
  returned: success
  type: str
proof:
  description: Why the pods do not fit, in words; empty for another verdict.
  returned: success
  type: str
fits_only_by_preempting:
  description: Whether the pods do not fit as it is but would if pods of lower priority were evicted.
  returned: success
  type: bool
unknown:
  description: The reasons for V(unknown).
  returned: success
  type: list
  elements: str
placements:
  description: A placement of all pods that works, in the order in which it works. Empty unless RV(verdict) is V(fits).
  returned: success
  type: list
  elements: dict
  contains:
    pod: {description: Name of the pod demand., type: str}
    component: {description: The component it belongs to., type: str}
    node: {description: Name of the node., type: str}
unplaced:
  description: Pods that found no node at their turn, by group of equal pods.
  returned: success
  type: list
  elements: dict
  contains:
    component: {description: The component., type: str}
    pods: {description: Names of the pod demands., type: list, elements: str}
    requests: {description: "What each of them asks for, as quantities.", type: dict}
    reasons:
      description: Number of nodes by reason, in the scheduler's words. A node counts for each resource it lacks.
      type: dict
    message: {description: The reasons as the scheduler would write them., type: str}
prediction:
  description:
    - What the default scheduler would do now with its own order and scoring, which can miss a placement that exists.
      Ties are broken at random by the scheduler, so several runs are made on small clusters.
  returned: success
  type: dict
  contains:
    state:
      description: V(complete), V(incomplete) where time was up, or V(not_judged) with RV(prediction.reason).
      type: str
    reason: {description: Why it was not judged., type: str}
    runs: {description: Number of simulated runs., type: int}
    all_placed: {description: Number of runs in which every pod found a node., type: int}
    pending: {description: Names of the pods left pending in the most usual run., type: list, elements: str}
    gated: {description: Names of the pods that wait for their scheduling gates., type: list, elements: str}
    may_preempt: {description: Names of the pods that would try to evict others., type: list, elements: str}
    incomplete_gangs:
      description: Names of the gangs of which some members would find a node, but fewer than the gang needs at once.
      type: list
      elements: str
holdings:
  description: GPUs held by bound pods, by resource name.
  returned: success
  type: dict
  contains:
    by_namespace: {description: By namespace., type: dict}
    run: {description: By O(run_dgds)., type: dict}
    replaced: {description: "By the DynamoGraphDeployment's own running pods, counted as free.", type: dict}
    retiring: {description: "By O(retiring), counted as free.", type: dict}
    demanded: {description: What the pods ask for., type: dict}
    allocatable: {description: What all nodes offer., type: dict}
    free: {description: "What is free on all nodes, each counted from zero.", type: dict}
headroom:
  description: By component, the largest number of replicas that fits while the other components stay as asked.
  returned: success
  type: list
  elements: dict
  contains:
    component: {description: The component., type: str}
    asked: {description: Replicas asked for., type: int}
    fits: {description: Replicas that fit., type: int}
    exact: {description: Whether one more was shown not to fit., type: bool}
suggestions:
  description: Changes with which the pods fit; each was tried.
  returned: success
  type: list
  elements: dict
  contains:
    kind: {description: "V(fewer_replicas), V(missing_toleration) or V(retire).", type: str}
    message: {description: The change in words., type: str}
nodes:
  description: The rows of the picture that P(inference_ops.dynamo.gpu_fit_svg#filter) draws.
  returned: success
  type: list
  elements: dict
findings:
  description: The findings, the worst first.
  returned: success
  type: list
  elements: dict
states:
  description: Number of states that the exhaustive search looked at; 0 where none was needed.
  returned: success
  type: int
api_requests:
  description: Requests made to the API server.
  returned: success
  type: int
"""

import gc
import time
from collections.abc import Mapping
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils._argspec import KUBE_ARGS, KubeModule
from ansible_collections.inference_ops.dynamo.plugins.module_utils.collect import collect_snapshot
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.demand import PodDemand
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.judge import judge_fit, kinds_for
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.report import FitRequest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot import Snapshot
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import connect
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube_errors import KubeError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.snapshots import load_snapshot

ARGUMENTS: dict[str, Any] = {
    "pods": {"type": "list", "elements": "dict", "required": True},
    "snapshot": {"type": "dict"},
    "snapshot_path": {"type": "path"},
    "namespace": {"type": "str", "default": "default"},
    "dgd_name": {"type": "str"},
    "retiring": {"type": "list", "elements": "str", "default": []},
    "run_dgds": {"type": "list", "elements": "str", "default": []},
    "gpu_ceiling": {"type": "int"},
    "claims": {"type": "list", "elements": "dict", "default": []},
    "time_limit": {"type": "float", "default": 10.0},
    "predict": {"type": "bool", "default": True},
}


def collect(params: Mapping[str, Any], demands: tuple[PodDemand, ...]) -> tuple[Mapping[str, Any], int]:
    """Return the cluster from where the user said, and how many requests that took."""
    if params["snapshot_path"]:
        return load_snapshot(params["snapshot_path"]).data, 0
    if params["snapshot"] is not None:
        return Snapshot.from_plain(params["snapshot"]).data, 0
    namespaces = {(demand.pod.get("metadata") or {}).get("namespace") or params["namespace"] for demand in demands}
    kube = connect(params, agent="gpu_fit")
    namespace = min(namespaces, default=params["namespace"])
    return collect_snapshot(kube, namespace, kinds=kinds_for(demands)), kube.api_requests


def main() -> None:
    # A large cluster is millions of objects that all live until this process ends: looking for garbage only costs time.
    gc.disable()
    module = KubeModule(
        argument_spec={**KUBE_ARGS, **ARGUMENTS},
        mutually_exclusive=[("snapshot", "snapshot_path")],
        supports_check_mode=True,
    )
    params = module.params
    try:
        demands = tuple(PodDemand.from_result(entry, f"pods[{number}]") for number, entry in enumerate(params["pods"]))
        cluster, api_requests = collect(params, demands)
        request = FitRequest(
            demands=demands,
            cluster=cluster,
            namespace=params["namespace"],
            dgd_name=params["dgd_name"] or "",
            retiring=tuple(params["retiring"]),
            run_dgds=tuple(params["run_dgds"]),
            gpu_ceiling=params["gpu_ceiling"],
            claims=tuple(params["claims"]),
            predict=params["predict"],
        )
        report = judge_fit(request, clock=time.monotonic, time_limit=params["time_limit"])
    except (InputError, KubeError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, api_requests=api_requests, **report.to_result())


if __name__ == "__main__":
    main()
