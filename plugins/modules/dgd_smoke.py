#!/usr/bin/python
# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: dgd_smoke
short_description: Ask a deployed model one question and judge the answer
version_added: 0.1.0
description:
  - Finds the OpenAI endpoint of a DynamoGraphDeployment, waits until the served model is listed, sends one chat
    completion, and judges status and body apart. An answer that is merely JSON does not pass.
  - The frontend Service is found from the DGD's components and the Services that belong to it, never guessed from a
    name. Gateway variants have no frontend Service; their frontend runs as a sidecar of each worker pod, so a ready
    worker pod's port 8000 is used, with the header C(x-dynamo-worker-instance-id) where the sidecar routes directly.
  - The port-forward runs inside the module's own process on a free port and ends with it.
  - A lost connection or a pod that goes away is answered by choosing a ready pod again, within the given bounds.
  - With O(deploy_root) it writes C(smoke_test_artifact.json) there (atomically) and the raw bodies below its
    C(smoke/) folder. Bodies of earlier runs are removed first, so that a stale one can never pass.
  - The module fails when the smoke test does not pass, and then returns the same values as on success. A role that
    must record the outcome first sets C(failed_when) to V(false) and looks at RV(success).
options:
  namespace:
    description: The namespace of the DGD, Service or pod. Needed unless O(url) is given.
    type: str
  dgd:
    description:
      - The name of the DynamoGraphDeployment whose endpoint is to be found.
      - Exactly one of O(dgd), O(service), O(pod) and O(url) must be given.
    type: str
  service:
    description: A Service to go through instead of the one found from the DGD. One of its ready pods is chosen.
    type: str
  pod:
    description: A pod to talk to directly.
    type: str
  url:
    description:
      - The address of an endpoint that is reachable without a port-forward, such as V(http://127.0.0.1:8000). No
        cluster is asked.
    type: str
  port:
    description:
      - The port to forward to, by number or by name.
      - Without it the Service's port named C(http), its only port, or the one that leads to the pod's HTTP port,
        resolved in each pod. For a sidecar the port that its ports, flags or variables tell; V(8000) where none does.
    type: str
  model:
    description:
      - The served model's name, spelt exactly as the endpoint lists it.
      - Without it the name that the DGD's engine arguments give (C(--served-model-name)); otherwise the only base
        model that is listed. A path of model files is never sent as a name.
    type: str
  prompt:
    description: The user message.
    type: str
    default: "Simply output the phrase: NVIDIA Dynamo"
  max_tokens:
    description: The bound on the answer's length, in tokens.
    type: int
    default: 100
  temperature:
    description: The sampling temperature.
    type: float
    default: 0
  stream:
    description: Ask for a streamed answer (server-sent events) and judge the events put together.
    type: bool
    default: false
  headers:
    description:
      - More request headers, as a mapping of names to values.
      - The value of one that carries a credential, such as C(Authorization), is never shown or written, even where
        the endpoint repeats it.
    type: dict
    default: {}
  worker_instance_id:
    description:
      - The decimal instance id for the header C(x-dynamo-worker-instance-id).
      - With V(auto) it is computed from the pod's name, as Dynamo does, where a sidecar routes directly or asks for
        it.
      - With V(none) the header is never sent.
    type: str
    default: auto
  reach_timeout:
    description: Seconds to wait for the first HTTP answer of any status.
    type: int
    default: 60
  model_timeout:
    description: Seconds to wait until the model is listed. Workers register some time after their pods are ready.
    type: int
    default: 300
  request_timeout:
    description: Seconds to wait for the chat completion.
    type: int
    default: 120
  poll_interval:
    description: Seconds between two looks at the list of models.
    type: float
    default: 2
  deploy_root:
    description:
      - The run's own folder (C(<experiment root>/artifacts/deploy-iter-NNN)). The artifact and the raw bodies are
        written there and nowhere else. Without it nothing is written.
    type: path
attributes:
  check_mode:
    support: full
    details:
      - In check mode no request is sent to the model and nothing is written; the endpoint is still looked up and
        returned.
  diff_mode:
    support: none
    details:
      - The artifact is a record of one run, not a desired state.
  idempotent:
    support: full
    details:
      - RV(ignore:changed) is true only when the artifact's request, codes or success differ from the earlier
        artifact's.
extends_documentation_fragment:
  - inference_ops.dynamo._kube
  - inference_ops.dynamo._kube.used
  - inference_ops.dynamo._attributes
seealso:
  - module: inference_ops.dynamo.workload_wait
  - module: inference_ops.dynamo.deployment_ledger
author:
  - Inference Ops contributors (@inference-ops)
"""

EXAMPLES = r"""
- name: Smoke-test the model that a DGD serves
  inference_ops.dynamo.dgd_smoke:
    context: gpu-cluster
    namespace: serving
    dgd: llama-agg
    model: meta-llama/Llama-3.1-8B-Instruct
    deploy_root: "{{ experiment_root }}/artifacts/deploy-iter-000"
  register: smoke

- name: Ask an endpoint that is reachable already
  inference_ops.dynamo.dgd_smoke:
    url: http://127.0.0.1:8000
    model: Qwen/Qwen3-0.6B
    model_timeout: 30

- name: Record the outcome before failing
  inference_ops.dynamo.dgd_smoke:
    context: gpu-cluster
    namespace: serving
    dgd: llama-agg
  register: smoke
  failed_when: false
"""

RETURN = r"""
success:
  description: Whether every gate passed.
  returned: always
  type: bool
stage:
  description:
    - The gate that was reached last, of C(endpoint), C(reach), C(models), C(chat) and C(done); C(skipped) in check
      mode.
  returned: always
  type: str
endpoint:
  description: Where the requests went.
  returned: always
  type: dict
  contains:
    kind:
      description: C(service), C(pod) or C(url).
      type: str
    service:
      description: The Service, or empty.
      type: str
    pod:
      description: The pod that answered last, or empty.
      type: str
    port:
      description: The port in the pod.
      type: int
    url:
      description: The address, only where O(url) was given.
      type: str
    why:
      description: Why this endpoint was chosen.
      type: str
model:
  description: The model that was asked for.
  returned: always
  type: str
api_request:
  description: The full body that was sent.
  returned: always
  type: dict
api_response:
  description: The full parsed answer, or the error body (a string where it is not JSON).
  returned: always
  type: raw
http_status:
  description: The HTTP status of both gates, 0 where there was no answer.
  returned: always
  type: dict
  sample: {"models": 200, "chat": 200}
timings:
  description: Seconds that each gate took.
  returned: always
  type: dict
  sample: {"endpoint": 0.1, "reach": 0.2, "models": 4.1, "chat": 1.9}
verdict:
  description: The worst outcome among the findings.
  returned: always
  type: str
findings:
  description: The findings, worst first.
  returned: always
  type: list
  elements: dict
artifact:
  description: The path of the artifact, or empty.
  returned: always
  type: str
"""

import re
import time
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils import http_probe, smoke_files
from ansible_collections.inference_ops.dynamo.plugins.module_utils._argspec import KUBE_ARGS, KubeModule
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import http_answer, smoke
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import KubeError, connect
from ansible_collections.inference_ops.dynamo.plugins.module_utils.moments import moment
from ansible_collections.inference_ops.dynamo.plugins.module_utils.smoke_locator import KubeLocator, UrlLocator
from ansible_collections.inference_ops.dynamo.plugins.module_utils.smoke_run import (
    Locator,
    SmokePlan,
    SmokeRun,
    Tools,
    not_sent,
)

ARGUMENTS: dict[str, Any] = {
    **KUBE_ARGS,
    "namespace": {"type": "str"},
    "dgd": {"type": "str"},
    "service": {"type": "str"},
    "pod": {"type": "str"},
    "url": {"type": "str"},
    "port": {"type": "str"},
    "model": {"type": "str"},
    "prompt": {"type": "str", "default": smoke.DEFAULT_PROMPT},
    "max_tokens": {"type": "int", "default": 100, "no_log": False},
    "temperature": {"type": "float", "default": 0},
    "stream": {"type": "bool", "default": False},
    "headers": {"type": "dict", "default": {}},
    "worker_instance_id": {"type": "str", "default": "auto"},
    "reach_timeout": {"type": "int", "default": 60},
    "model_timeout": {"type": "int", "default": 300},
    "request_timeout": {"type": "int", "default": 120},
    "poll_interval": {"type": "float", "default": 2},
    "deploy_root": {"type": "path"},
}
WAYS = ("dgd", "service", "pod", "url")


def locate(params: dict[str, Any]) -> Locator:
    """Return what looks for the endpoint."""
    if params["url"]:
        verify = params["validate_certs"] is not False
        return UrlLocator(http_probe.parse_url(params["url"], verify, params["ca_cert"] or ""), params["url"])
    kube = connect(params, agent="dgd_smoke")
    names = {name: params[name] or "" for name in ("dgd", "service", "pod", "port")}
    return KubeLocator(kube, params["namespace"], **names)


def plan_of(params: dict[str, Any], locator: Locator) -> SmokePlan:
    """Return what to ask; the DGD tells the model's name where none is given."""
    model = params["model"] or ""
    if not model and isinstance(locator, KubeLocator) and locator.dgd:
        model = smoke.served_model(locator.view())
    instance = params["worker_instance_id"]
    if instance not in ("auto", "none") and not re.fullmatch("[0-9]+", instance):
        raise InputError("must be auto, none or a decimal number", field="worker_instance_id", found=instance)
    names = ("prompt", "max_tokens", "temperature", "stream", "reach_timeout", "model_timeout", "request_timeout")
    headers = http_answer.check_headers(params["headers"])
    more = {name: params[name] for name in names}
    interval = max(params["poll_interval"], 0.1)
    return SmokePlan(model=model, headers=headers, instance_id=instance, poll_interval=interval, **more)


def run(params: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    """Run the smoke test; return the module's result."""
    locator = locate(params)
    plan = plan_of(params, locator)
    root = params["deploy_root"] or ""
    if check_mode:
        return {**not_sent(plan, locator).to_result(), "changed": False, "artifact": ""}
    before = smoke_files.read_artifact(root) if root else None
    keep = smoke_files.keep_in(root)
    result = SmokeRun(plan, Tools(locator, http_probe.send, time.monotonic, time.sleep, keep)).run()
    if not root:
        return {**result.to_result(), "changed": False, "artifact": ""}
    path = smoke_files.write_artifact(root, result, moment())
    changed = not smoke.same_outcome(before, smoke_files.read_artifact(root))
    return {**result.to_result(), "changed": changed, "artifact": path}


def main() -> None:
    module = KubeModule(
        argument_spec=ARGUMENTS,
        supports_check_mode=True,
        mutually_exclusive=[WAYS],
        required_one_of=[WAYS],
        required_by=dict.fromkeys(WAYS[:3], ("namespace",)),
    )
    # A credential among the headers shows in no output, -vvv included.
    module.no_log_values.update(http_answer.secret_values(module.params["headers"]))
    try:
        result = run(module.params, module.check_mode)
    except (InputError, KubeError) as error:
        module.fail_json(msg=str(error), success=False)
    if not result["success"] and not module.check_mode:
        module.fail_json(msg=result["msg"], **{name: value for name, value in result.items() if name != "msg"})
    module.exit_json(**result)


if __name__ == "__main__":
    main()
