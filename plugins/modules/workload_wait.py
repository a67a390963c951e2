# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waits for Jobs, DGDs, claims or deletions, judging the state anew on each watch event."""

from __future__ import annotations

DOCUMENTATION = r"""
module: workload_wait
short_description: Wait for Jobs, a DGD, claims or a deletion, and say why it is not running
version_added: 1.0.0
description:
  - Watches the objects concerned and judges them on each event, as ready, progressing or failed, with the reason and the next step.
  - A failure that waiting cannot mend ends the wait early, after a grace of its own.
    Contention for resources, a model that is loading and a rolling update in progress do not.
  - With O(timeout=0) it looks once and returns, which is how a status is read.
    With O(dumps) it judges files written by C(kubectl get -o json) and touches no cluster.
  - While it waits, an action plugin shows a progress line at least every O(progress_interval) seconds.
  - A wait that ends in failure or at its bound does not fail the task unless O(fail) is set. The play decides on RV(state).
author:
  - Inference Ops contributors (@inference-ops)
extends_documentation_fragment:
  - inference_ops.dynamo._kube
  - inference_ops.dynamo._attributes
attributes:
  check_mode:
    support: full
    details:
      - The module only reads.
  diff_mode:
    support: none
    details:
      - The module changes nothing.
options:
  wait_for:
    description:
      - What is waited for. Jobs complete, a DGD's components are all ready, claims are bound
        (or rightly wait for their first consumer), or objects are gone.
    type: str
    required: true
    choices: [jobs, dgd, pvc, deletion]
  namespace:
    description:
      - The namespace of the objects.
    type: str
    required: true
  names:
    description:
      - The names of the objects.
      - For V(dgd) exactly one.
      - For V(deletion) of a C(DynamoGraphDeployment) the pods and workloads that it owns are waited for as well.
    type: list
    elements: str
    required: true
  kind:
    description:
      - The kind of the objects whose deletion is waited for.
    type: str
    default: DynamoGraphDeployment
  api_version:
    description:
      - The API version of the objects whose deletion is waited for.
    type: str
    default: nvidia.com/v1alpha1
  uids:
    description:
      - The UIDs that the objects have, by name, where they are known.
      - A Job of another UID is not the Job waited for.
        In a deletion, an object of the same name with another UID was created anew, which is reported.
    type: dict
    default: {}
  timeout:
    description:
      - After this many seconds the wait ends with RV(state=timeout). V(0) looks once.
    type: int
    default: 3600
  progress_interval:
    description:
      - A progress line is shown at least this often, in seconds, and at each change of state.
      - The next look at a legitimate wait is due after this time as well, as RV(next_check) says.
    type: int
    default: 10
  graces:
    description:
      - How many seconds a failure must last before it ends the wait.
    type: dict
    default: {}
    suboptions:
      unschedulable:
        description:
          - Taints, affinities and selectors that no node meets. Set it longer where an autoscaler may add nodes.
        type: int
        default: 30
      never_fits:
        description:
          - A request that no node of the cluster could hold even when empty. Set it longer where an autoscaler may add nodes.
        type: int
        default: 30
      dependency:
        description:
          - A missing claim, quota, secret, config map, service account, or a refusal by an admission controller.
        type: int
        default: 60
      image:
        description:
          - An image that cannot be pulled.
        type: int
        default: 90
      crash:
        description:
          - A container that crashes again and again, runs out of memory, or is killed by its probes.
        type: int
        default: 120
      readiness:
        description:
          - A readiness probe that fails although the container started.
        type: int
        default: 600
      operator:
        description:
          - An error of the operator, or a DGD that no operator takes up.
        type: int
        default: 120
      other:
        description:
          - Every other failure.
        type: int
        default: 120
  stable_for:
    description:
      - Everything must stay ready for this many seconds before RV(state=ready), so that flapping does not pass for readiness.
    type: int
    default: 5
  pods:
    description:
      - The pods as M(inference_ops.dynamo.dgd_render) returns them, where they are known.
      - They give the replicas that are expected and the thresholds of the probes.
      - Without them the live pods' own specs are used.
    type: list
    elements: dict
    default: []
  objects:
    description:
      - The objects as M(inference_ops.dynamo.dgd_render) returns them, where they are known.
      - With them, leftovers of another workload kind are found by comparison with what is rendered.
    type: list
    elements: dict
    default: []
  check_fit:
    description:
      - Read the nodes, so that a wait for resources is told apart from a request that can never fit,
        and the scheduler's text is checked against them.
      - Nodes that may not be read are recorded as unknown.
    type: bool
    default: true
  check_discovery:
    description:
      - Once the pods of a DGD are ready, check that each worker is registered for service discovery.
    type: bool
    default: true
  discovery_backend:
    description:
      - The discovery backend of the platform, for a DGD without the annotation C(nvidia.com/dynamo-discovery-backend).
    type: str
    default: kubernetes
  logs:
    description:
      - Read the last lines of containers that crash.
    type: bool
    default: true
  dumps:
    description:
      - A folder with files written by C(kubectl get -o json), one or more of any kinds, instead of a cluster.
      - Files with the ending C(.log) named after a pod are read as its log.
    type: path
  fail:
    description:
      - Fail the task when RV(state) is not V(ready).
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Wait for the download
  inference_ops.dynamo.workload_wait:
    context: "{{ kube_context }}"
    namespace: team-a
    wait_for: jobs
    names: [model-download]
    timeout: 6000
  register: download

- name: Wait until every component is ready
  inference_ops.dynamo.workload_wait:
    context: "{{ kube_context }}"
    namespace: team-a
    wait_for: dgd
    names: [demo]
    pods: "{{ rendered.pods }}"
    timeout: 3600
  register: readiness

- name: Wait until a DGD and its pods are gone
  inference_ops.dynamo.workload_wait:
    context: "{{ kube_context }}"
    namespace: team-a
    wait_for: deletion
    names: [demo]
    timeout: 600

- name: Judge what a colleague has dumped
  inference_ops.dynamo.workload_wait:
    dumps: /tmp/dumps
    namespace: team-a
    wait_for: dgd
    names: [demo]
    timeout: 0
"""

RETURN = r"""
state:
  description: V(ready), V(failed), V(timeout), or V(progressing) where O(timeout=0).
  returned: always
  type: str
way:
  description: >-
    What to do: V(none) when ready, V(wait) for progress, V(contention) for a legitimate wait,
    V(failed_deploy) for what can never run as written, V(fix_dependency) for what the manifest needs and lacks,
    V(investigate) for what is unknown.
  returned: always
  type: str
category:
  description: The category of the main cause, such as V(taint), or V(ready).
  returned: always
  type: str
msg:
  description: One sentence that says the outcome.
  returned: always
  type: str
causes:
  description: One entry a root cause, the most telling first.
  returned: always
  type: list
  elements: dict
  contains:
    category:
      description: The category.
      type: str
    reason_code:
      description: The code of the finding.
      type: str
    way:
      description: As RV(way), for this cause.
      type: str
    affected:
      description: The components with C(component), C(replicas) (how many are affected) and C(pods) (their names).
      type: list
      elements: dict
    message:
      description: What is the matter.
      type: str
    evidence:
      description: The lines that show it.
      type: list
      elements: str
    detail:
      description: What belongs to the category, such as C(resource), C(requested), C(probe), C(remaining_seconds), C(exit_code), C(sub).
      type: dict
    remedy:
      description: What to do.
      type: str
findings:
  description: The same causes and all other checks (discovery, leftovers) in the finding contract.
  returned: always
  type: list
  elements: dict
components:
  description: Each component with C(component), C(desired), C(ready), C(category) and C(slowest) (what the slowest pod does).
  returned: always
  type: list
  elements: dict
top_reasons:
  description: The up to three most telling reasons where RV(state) is not V(ready).
  returned: always
  type: list
  elements: str
evidence:
  description: The evidence lines of the main cause.
  returned: always
  type: list
  elements: str
failed_attempt:
  description: >-
    What belongs into the ledger's C(failed_attempts) where RV(way=failed_deploy): C(at), C(category), C(reason_code),
    C(component), C(diagnosis), C(evidence). Empty otherwise.
  returned: always
  type: dict
next_check:
  description: >-
    For a legitimate wait (RV(way=contention) or RV(way=wait)): C(after_seconds), C(at), C(evidence), and C(can_ever_fit)
    (V(true), V(false), or V(null) where unknown). Empty otherwise.
  returned: always
  type: dict
leftovers:
  description: >-
    Objects of another workload kind or of an old generation: C(api_version), C(kind), C(name), C(uid), C(component), C(state)
    (V(orphan), V(stale_generation), V(rolling_update)), C(deletable) (owned by this DGD and superseded),
    C(gpus), C(reason).
  returned: when a DGD is waited for
  type: list
  elements: dict
deletion:
  description: >-
    What holds a deletion: C(gone), C(remaining) (objects with kind, name, finalizers, since), C(holders), C(remedy).
  returned: when a deletion is waited for
  type: dict
jobs:
  description: Each Job with C(name), C(state), C(reason), C(succeeded), C(failed), C(active).
  returned: when Jobs are waited for
  type: list
  elements: dict
timings:
  description: >-
    C(started_at), C(finished_at), C(elapsed_seconds), C(allocated_at) (when the first GPU pod was scheduled),
    C(ready_at), and C(components) with the seconds until each was ready.
  returned: always
  type: dict
progress:
  description: The progress lines that were shown, the last 200.
  returned: always
  type: list
  elements: str
kinds:
  description: >-
    For each kind that was watched C(state) (V(observed), V(forbidden), V(absent), V(error)) and C(detail).
  returned: always
  type: dict
api_requests:
  description: How many requests were sent to the API server.
  returned: always
  type: int
"""
