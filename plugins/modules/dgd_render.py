# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders a DGD into the objects and pods that the Dynamo operator will make of it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: dgd_render
short_description: Show what the Dynamo operator will create from a DynamoGraphDeployment
version_added: 0.1.0
description:
  - Renders a C(DynamoGraphDeployment) (DGD) of API version C(nvidia.com/v1alpha1) or C(nvidia.com/v1beta1) into the
    objects that a release of the Dynamo operator creates from it, and into the pods that these objects become.
  - Checks it first as the API server and the operator's webhooks of that release do.
    What they refuse is refused here, with the field and the reason.
    Unknown fields are reported, never dropped in silence.
  - Needs no cluster. A snapshot of one (see M(inference_ops.dynamo.cluster_info)) tells it the operator's release,
    the pathway and the pull secrets.
  - In diff mode it shows the components as the manifest has them beside the pods that come of them.
author:
  - Inference Ops contributors (@inference-ops)
extends_documentation_fragment:
  - inference_ops.dynamo._kube
  - inference_ops.dynamo._kube.unused
  - inference_ops.dynamo._attributes
attributes:
  check_mode:
    support: full
    details:
      - This module only reads.
  diff_mode:
    support: full
    details:
      - Before are the components of the manifest, after are the rendered pods. Nothing is changed anywhere.
  idempotent:
    support: full
    details:
      - This module only reads.
options:
  src:
    description:
      - File with the DGD, YAML or JSON. It may hold other documents as well.
    type: path
  definition:
    description:
      - The DGD as data, or a list of objects that holds it.
    type: raw
  name:
    description:
      - The DGD to render, where the manifest holds several.
    type: str
  namespace:
    description:
      - The namespace that the DGD goes to. Must agree with the manifest's own, where it has one.
      - Without either it is C(default).
    type: str
  operator_release:
    description:
      - The release of the operator whose rules apply.
      - V(documented) is what the operator's own page of defaults says, V(1.1) and V(1.5) are what those releases do.
        V(main) is V(1.5) with the changes known of the operator's main branch.
      - V(auto) takes the release of the operator seen in O(snapshot), else the newest one.
    type: str
    default: auto
    choices: [auto, documented, "1.1", "1.5", main]
  pathway:
    description:
      - The kind of workload.
      - V(auto) goes by the operator's rule, from what the snapshot shows to be installed
        (or from O(operator_config)) and from the DGD's annotations.
    type: str
    default: auto
    choices: [auto, deployment, lws, grove]
  operator_config:
    description:
      - Settings of the operator that differ from those of its Helm chart.
    type: dict
    suboptions:
      version:
        description: The operator's version, which its webhook stamps on new DGDs.
        type: str
      discovery_backend:
        description: How components find each other, where the DGD does not say.
        type: str
        choices: [kubernetes, etcd]
      nats_address:
        description: Address of NATS. An empty text means that none is configured.
        type: str
      etcd_address:
        description: Address of etcd.
        type: str
      model_express_url:
        description: Address of Model Express.
        type: str
      prometheus_endpoint:
        description: Address of Prometheus.
        type: str
      mpi_ssh_secret:
        description: Name of the secret with the SSH keys for MPI.
        type: str
      termination_delay:
        description: Grove's termination delay, such as C(4h0m0s).
        type: str
      restricted_namespace:
        description: The one namespace that a namespace-restricted operator serves.
        type: str
      grove:
        description: Whether Grove is switched on.
        type: bool
      lws:
        description: Whether LeaderWorkerSets can be used.
        type: bool
      dra:
        description: Whether Dynamic Resource Allocation can be used.
        type: bool
      kai_scheduler:
        description: Whether the KAI scheduler is switched on.
        type: bool
      volcano_scheduler:
        description: Whether the Volcano scheduler is switched on for Grove (1.5).
        type: bool
      istio:
        description: Whether Istio is there (1.5).
        type: bool
      inference_pool:
        description: Whether the Gateway API Inference Extension is installed.
        type: bool
      checkpoint:
        description: Whether checkpoints are switched on.
        type: bool
      ingress_class:
        description: Class of the Ingress that a frontend gets.
        type: str
      ingress_host_suffix:
        description: Suffix of that Ingress's host.
        type: str
      ingress_tls_secret:
        description: TLS secret of that Ingress.
        type: str
  pull_secrets:
    description:
      - The pull secrets of the namespace, as M(inference_ops.dynamo.cluster_info) lists them.
      - Without it those of O(snapshot) are taken.
    type: list
    elements: dict
    suboptions:
      name:
        description: Name of the secret.
        type: str
        required: true
      namespace:
        description: Its namespace. Without it the DGD's.
        type: str
      type:
        description: Its type.
        type: str
        default: kubernetes.io/dockerconfigjson
      registries:
        description: The registries in it, as they are written there.
        type: list
        elements: str
        default: []
  snapshot:
    description:
      - A cluster's snapshot, as data or as the path of its file.
    type: raw
  explain:
    description:
      - Return for each value that the operator puts in which rule put it there (RV(explanation)).
    type: bool
    default: false
  compare_to:
    description:
      - Another release. RV(changes) then says what changes in the pods when the operator goes from
        O(operator_release) to it.
    type: str
    choices: [documented, "1.1", "1.5", main]
  refused:
    description:
      - What to do when the operator would refuse the DGD.
        V(fail) fails the task, V(report) returns RV(rejections) and a finding.
    type: str
    default: fail
    choices: [fail, report]
seealso:
  - module: inference_ops.dynamo.cluster_info
  - module: inference_ops.dynamo.gpu_fit
"""

EXAMPLES = r"""
- name: Render a recipe for the operator and pathway of a saved snapshot
  inference_ops.dynamo.dgd_render:
    src: recipes/qwen/deploy.yaml
    namespace: inference
    snapshot: snapshots/gpu-west.json
  register: rendered

- name: Show which pods will be asked for
  ansible.builtin.debug:
    msg: "{{ rendered.pods | map(attribute='name') }}"

- name: Say why each injected value stands there
  inference_ops.dynamo.dgd_render:
    src: recipes/qwen/deploy.yaml
    operator_release: "1.5"
    pathway: grove
    explain: true

- name: See what an upgrade of the operator changes in the pods
  inference_ops.dynamo.dgd_render:
    src: recipes/qwen/deploy.yaml
    operator_release: "1.1"
    compare_to: "1.5"
    refused: report
  register: upgrade
"""

RETURN = r"""
name:
  description: The DGD's name.
  returned: success
  type: str
  sample: vllm-agg
namespace:
  description: The namespace that it goes to.
  returned: success
  type: str
  sample: inference
api_version:
  description: The manifest's API version.
  returned: success
  type: str
  sample: nvidia.com/v1beta1
release:
  description: The release whose rules were applied.
  returned: success
  type: str
  sample: "1.5"
release_evidence:
  description: How the release was chosen.
  returned: success
  type: str
  sample: asked for
pathway:
  description: The pathway taken, V(deployment), V(lws) or V(grove).
  returned: success
  type: str
  sample: grove
pathway_evidence:
  description: How the pathway was chosen.
  returned: success
  type: str
  sample: the snapshot shows the API group grove.io
components:
  description: The DGD's components.
  returned: success
  type: list
  elements: dict
  sample:
    - name: VllmWorker
      type: worker
      replicas: 2
      nodes: 1
      gpus: 4
      image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.1.0
objects:
  description: What the operator creates, as whole Kubernetes objects. With RV(rejections), what stood until then.
  returned: success
  type: list
  elements: dict
pods:
  description:
    - The pods that come of it, one entry each, as M(inference_ops.dynamo.gpu_fit) takes them.
    - RV(pods[].unknown) says why a pod cannot be told for certain.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: A name for the pod, unique in the DGD.
      type: str
    component:
      description: The component that it belongs to.
      type: str
    role:
      description: Its part in a multinode replica, V(main), V(leader) or V(worker).
      type: str
    replica:
      description: The replica that it belongs to, from 0.
      type: int
    pod:
      description: The whole pod, metadata and spec.
      type: dict
    gangs:
      description: The groups of pods that are placed together with it or not at all.
      type: list
      elements: dict
    unknown:
      description: Why the pod is not known for certain.
      type: list
      elements: str
references:
  description: The objects that the manifest and its pods refer to and that must be there before.
  returned: success
  type: dict
  contains:
    items:
      description: One entry a reference, with its kind, name, key, place and the components that use it.
      type: list
      elements: dict
    names:
      description: The names by kind.
      type: dict
findings:
  description: What the DGD's author should know, in the form that all judges of this collection use.
  returned: success
  type: list
  elements: dict
verdict:
  description: The worst outcome among the findings.
  returned: success
  type: str
  sample: pass
unknown_fields:
  description: Fields of the manifest that the release does not know and therefore drops.
  returned: success
  type: list
  elements: str
operator_warnings:
  description: What the operator's webhook warns of.
  returned: success
  type: list
  elements: str
rejections:
  description: Why the API server or the operator refuses the DGD. Empty where it is accepted.
  returned: always
  type: list
  elements: dict
  contains:
    stage:
      description: Who refuses it.
      type: str
      sample: validating-webhook
    rule:
      description: Stable id of the rule.
      type: str
      sample: runtime_version
    field:
      description: Path in the manifest.
      type: str
    component:
      description: The component concerned, or empty.
      type: str
    message:
      description: What is wrong.
      type: str
explanation:
  description: Where each injected value comes from, with O(explain).
  returned: with O(explain)
  type: list
  elements: dict
  contains:
    object:
      description: The object.
      type: str
    path:
      description: The value's place in it.
      type: str
    release:
      description: The release.
      type: str
    rule:
      description: Stable id of the rule.
      type: str
    source:
      description: The operator's function or the document's section.
      type: str
    why:
      description: What the rule does.
      type: str
    value:
      description: The value.
      type: raw
changes:
  description: What changes in the pods from one release to the other, with O(compare_to).
  returned: with O(compare_to)
  type: dict
  contains:
    from:
      description: The release compared.
      type: str
    to:
      description: The release compared with.
      type: str
    pods:
      description: The changes per component and role.
      type: list
      elements: dict
    objects:
      description: Objects that only one of the two releases creates.
      type: list
      elements: dict
    refused:
      description: Why the other release refuses the DGD.
      type: list
      elements: dict
    summary:
      description: The changes as lines to be read.
      type: list
      elements: str
"""

from collections.abc import Mapping
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils import manifests
from ansible_collections.inference_ops.dynamo.plugins.module_utils._argspec import KUBE_ARGS, KubeModule
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.docker_secrets import SecretEntry
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.manifest import choose_dgd, documents_of
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import RELEASES
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.rendering import (
    RenderOptions,
    RenderReport,
    render_document,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot import Snapshot
from ansible_collections.inference_ops.dynamo.plugins.module_utils.snapshots import load_snapshot

CONFIG_TEXTS = (
    *("version", "nats_address", "etcd_address", "model_express_url", "prometheus_endpoint", "mpi_ssh_secret"),
    *("termination_delay", "restricted_namespace", "ingress_class", "ingress_host_suffix", "ingress_tls_secret"),
)
CONFIG_SWITCHES = ("grove", "lws", "dra", "kai_scheduler", "volcano_scheduler", "istio", "inference_pool", "checkpoint")
ARGS: dict[str, Any] = {
    **KUBE_ARGS,
    "src": {"type": "path"},
    "definition": {"type": "raw"},
    "name": {"type": "str"},
    "namespace": {"type": "str"},
    "operator_release": {"type": "str", "default": "auto", "choices": ["auto", *RELEASES]},
    "pathway": {"type": "str", "default": "auto", "choices": ["auto", "deployment", "lws", "grove"]},
    "operator_config": {
        "type": "dict",
        "options": {
            "discovery_backend": {"type": "str", "choices": ["kubernetes", "etcd"]},
            # A name, and no secret.
            **{name: {"type": "str", "no_log": False} for name in CONFIG_TEXTS},
            **{name: {"type": "bool"} for name in CONFIG_SWITCHES},
        },
    },
    "pull_secrets": {
        "type": "list",
        "elements": "dict",
        "no_log": False,
        "options": {
            "name": {"type": "str", "required": True},
            "namespace": {"type": "str"},
            "type": {"type": "str", "default": "kubernetes.io/dockerconfigjson"},
            "registries": {"type": "list", "elements": "str", "default": []},
        },
    },
    "snapshot": {"type": "raw"},
    "explain": {"type": "bool", "default": False},
    "compare_to": {"type": "str", "choices": [*RELEASES]},
    "refused": {"type": "str", "default": "fail", "choices": ["fail", "report"]},
}


def read_options(params: Mapping[str, Any]) -> RenderOptions:
    """Make the core's options of the module's."""
    secrets = params["pull_secrets"]
    snapshot = params["snapshot"]
    if isinstance(snapshot, str):
        snapshot = load_snapshot(snapshot)
    return RenderOptions(
        namespace=params["namespace"] or "",
        release=params["operator_release"],
        pathway=params["pathway"],
        config=params["operator_config"] or {},
        secrets=None
        if secrets is None
        else tuple(
            SecretEntry.from_snapshot({k: v for k, v in secret.items() if v is not None}, "pull_secrets")
            for secret in secrets
        ),
        snapshot=Snapshot.from_plain(snapshot) if isinstance(snapshot, Mapping) else snapshot,
        explain=params["explain"],
        compare_to=params["compare_to"] or "",
    )


def read_report(params: Mapping[str, Any]) -> RenderReport:
    """Read what was given and render it."""
    documents = manifests.load_file(params["src"]) if params["src"] else documents_of(params["definition"])
    return render_document(choose_dgd(documents, params["name"] or ""), read_options(params))


def main() -> None:
    """Parse, render, exit."""
    module = KubeModule(
        argument_spec=ARGS,
        required_one_of=[("src", "definition")],
        mutually_exclusive=[("src", "definition")],
        supports_check_mode=True,
    )
    try:
        report = read_report(module.params)
    except InputError as error:
        module.fail_json(msg=str(error), rejections=[])
    result = report.to_result()
    if report.rejections and module.params["refused"] == "fail":
        told = ("name", "namespace", "release", "pathway", "findings", "verdict", "rejections", "unknown_fields")
        module.fail_json(msg=report.refusal(), **{key: result[key] for key in told})
    diff = {"diff": report.diff()} if module._diff else {}
    module.exit_json(changed=False, **result, **diff)


if __name__ == "__main__":
    main()
