# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waits for Jobs, DGDs, claims or deletions, judging the state anew on each watch event."""

from __future__ import annotations

DOCUMENTATION = r"""
module: workload_wait
short_description: Wait for Jobs, a DGD, claims or a deletion, and say why it is not running
version_added: 0.1.0
description:
  - Watches the objects concerned and judges them on each event, as ready, progressing or failed, with the reason
    and the next step.
  - A failure that waiting cannot mend ends the wait early, after a grace of its own.
    Contention for resources, a model that is loading and a rolling update in progress do not.
  - While the API server gives no answer nothing is concluded, and the time does not count towards any grace.
    Where it is still away at the bound, RV(state=timeout) names it with the category V(unknown), before what was seen
    last. A server that gives no answer at the start, or a permission that is missing, fails the task.
  - With O(timeout=0) it looks once and returns, which is how a status is read.
    With O(dumps) it judges files written by C(kubectl get -o json) and touches no cluster.
  - While it waits, an action plugin shows a progress line at least every O(progress_interval) seconds.
  - A wait that ends in failure or at its bound does not fail the task unless O(fail) is set. The play decides on
    RV(state).
author:
  - Inference Ops contributors (@inference-ops)
extends_documentation_fragment:
  - inference_ops.dynamo._kube
  - inference_ops.dynamo._kube.used
  - inference_ops.dynamo._attributes
  - inference_ops.dynamo._attributes.read_only
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
      - How many seconds a failure must last before it ends the wait. Those not given have their defaults.
    type: dict
    suboptions:
      unschedulable:
        description:
          - Taints, affinities and selectors that no node meets. Set it longer where an autoscaler may add nodes.
        type: int
        default: 30
      never_fits:
        description:
          - A request that no node of the cluster could hold even when empty. Set it longer where an autoscaler
            may add nodes.
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
      - A DGD must stay ready for this many seconds before RV(state=ready), so that flapping does not pass
        for readiness.
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
      - Read the nodes where something does not run, so that a wait for resources is told apart from a request that can
        never fit, and the scheduler's text is checked against them.
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
  progress_file:
    description:
      - A file to which progress lines are appended as they come. The action plugin sets it to show them.
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
      description: >-
        What belongs to the category, such as C(resource), C(requested), C(probe), C(remaining_seconds), C(exit_code).
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
  description: >-
    Each component with C(component), C(desired), C(ready), C(category) and C(slowest) (what the slowest pod does).
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
    For a legitimate wait (RV(way=contention) or RV(way=wait)): C(after_seconds), C(at), C(evidence), C(can_ever_fit)
    (V(true), V(false), or V(null) where unknown). Empty otherwise.
  returned: always
  type: dict
leftovers:
  description: >-
    Objects of another workload kind or of an old generation: C(api_version), C(kind), C(name), C(uid), C(component),
    C(state)
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
claims:
  description: Each claim with C(name), C(state), C(message), C(evidence).
  returned: when claims are waited for
  type: list
  elements: dict
discovery:
  description: What service discovery sees, with C(backend), C(visible) (pods), C(workers).
  returned: when a DGD is ready and O(check_discovery=true)
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
    For each kind that was read C(state) (V(observed), V(forbidden), V(absent), V(error)) and C(detail). A wait that
    goes well needs few kinds; all are read where something is wrong or does not run in time.
  returned: always
  type: dict
api_requests:
  description: How many requests were sent to the API server.
  returned: always
  type: int
"""

from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils._argspec import KUBE_ARGS, KubeModule
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.demand import PodDemand
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.kinds import KINDS
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.readiness import DEFAULT_GRACES, WaitPolicy
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.waits import WaitRequest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import connect
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube_errors import KubeError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.states import judge_files
from ansible_collections.inference_ops.dynamo.plugins.module_utils.waiting import (
    ClusterSource,
    Progress,
    SystemClock,
    appender,
    run_wait,
)

ARGUMENTS: dict[str, Any] = {
    **KUBE_ARGS,
    "wait_for": {"type": "str", "required": True, "choices": ["jobs", "dgd", "pvc", "deletion"]},
    "namespace": {"type": "str", "required": True},
    "names": {"type": "list", "elements": "str", "required": True},
    "kind": {"type": "str", "default": "DynamoGraphDeployment"},
    "api_version": {"type": "str", "default": "nvidia.com/v1alpha1"},
    "uids": {"type": "dict", "default": {}},
    "timeout": {"type": "int", "default": 3600},
    "progress_interval": {"type": "int", "default": 10},
    "graces": {
        "type": "dict",
        "options": {name: {"type": "int", "default": grace} for name, grace in DEFAULT_GRACES.items()},
    },
    "stable_for": {"type": "int", "default": 5},
    "pods": {"type": "list", "elements": "dict", "default": []},
    "objects": {"type": "list", "elements": "dict", "default": []},
    "check_fit": {"type": "bool", "default": True},
    "check_discovery": {"type": "bool", "default": True},
    "discovery_backend": {"type": "str", "default": "kubernetes"},
    "logs": {"type": "bool", "default": True},
    "dumps": {"type": "path"},
    "progress_file": {"type": "path"},
    "fail": {"type": "bool", "default": False},
}


def parse(params: dict[str, Any]) -> WaitRequest:
    """Return the request that the options make; raise InputError for one that makes none."""
    kind, names = params["kind"], tuple(params["names"])
    if not names or (params["wait_for"] == "dgd" and len(names) != 1):
        raise InputError("give one name for a DGD, at least one otherwise", field="names", found=", ".join(names))
    if kind not in KINDS:
        raise InputError("unknown kind", field="kind", found=kind, remedy=f"Known are {', '.join(sorted(KINDS))}")
    for name in ("timeout", "stable_for", "progress_interval"):
        if params[name] < (1 if name == "progress_interval" else 0):
            raise InputError("too small", field=name, found=str(params[name]))
    return WaitRequest(
        wait_for=params["wait_for"],
        namespace=params["namespace"],
        names=names,
        policy=WaitPolicy(
            timeout=params["timeout"],
            graces=params["graces"] or {},
            # What is complete, bound or gone stays so.
            stable_for=params["stable_for"] if params["wait_for"] == "dgd" else 0,
            progress_interval=params["progress_interval"],
        ),
        kind=kind,
        plural=KINDS[kind].plural,
        api_version=params["api_version"],
        uids={name: str(uid) for name, uid in params["uids"].items()},
        demands=tuple(PodDemand.from_result(pod) for pod in params["pods"]),
        objects=tuple(params["objects"]),
        check_discovery=params["check_discovery"],
        platform=params["discovery_backend"],
    )


def collect(params: dict[str, Any], request: WaitRequest, clock: SystemClock) -> dict[str, Any]:
    """Run the wait against files or a cluster and return its whole result."""
    progress = Progress(appender(params["progress_file"]))
    if params["dumps"]:
        return {**judge_files(params["dumps"], request, clock), "kinds": {}, "progress": [], "api_requests": 0}
    kube = connect(params, agent="workload_wait")
    live = ClusterSource(kube, request, clock, check_fit=params["check_fit"], logs=params["logs"])
    result = run_wait(request, live, clock, progress)
    live.watches.stop()
    return {**result, "kinds": live.watches.kinds(), "progress": progress.lines, "api_requests": kube.api_requests}


def main() -> None:
    """Parse, wait, and report; only here can the task fail."""
    module = KubeModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    try:
        result = collect(module.params, parse(module.params), SystemClock())
    except (InputError, KubeError) as error:
        module.fail_json(msg=str(error))
    if module.params["fail"] and result["state"] != "ready":
        module.fail_json(**result)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
