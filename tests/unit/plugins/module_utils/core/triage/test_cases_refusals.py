# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The confusion table of what was never made: quotas, admission, invalid objects, the operator, rollouts (D14)."""

from __future__ import annotations

import pytest
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.builders import (
    dgd,
    event,
    labels,
    pod,
    ready_pod,
    running,
)
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.cases import (
    FORBIDDEN,
    PART,
    Case,
    check,
    refused,
)

CASES: dict[str, Case] = {
    "quota": (
        [ready_pod("demo-worker-0")],
        [],
        refused(
            FORBIDDEN + "exceeded quota: gpus, requested: requests.nvidia.com/gpu=2, used: requests.nvidia.com/gpu=2, "
            "limited: requests.nvidia.com/gpu=3"
        ),
        "quota",
        "fix_dependency",
        "",
    ),
    "quota that wants requests": (
        [],
        [],
        refused(FORBIDDEN + "failed quota: gpus: must specify limits.cpu for: main"),
        "quota",
        "fix_dependency",
        "",
    ),
    "SCC": (
        [],
        [],
        refused(FORBIDDEN + "unable to validate against any security context constraint: [x]"),
        "admission",
        "fix_dependency",
        "",
    ),  # D14
    "pod security": (  # D14
        [],
        [],
        refused(FORBIDDEN + 'violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false'),
        "admission",
        "fix_dependency",
        "pod_security",
    ),
    "webhook named in the DGD's condition, no pod exists": (  # D14
        [],
        [],
        {
            "graph": {
                **dgd(),
                "status": {
                    "observedGeneration": 1,
                    "conditions": [
                        {
                            "type": "Ready",
                            "status": "False",
                            "reason": "failed_to_reconcile_the_resources",
                            "message": 'admission webhook "pcs.validating.webhooks.grove.io" denied the request: '
                            "spec.replicas: Invalid value: 0: must be greater than 0",
                        }
                    ],
                },
            }
        },
        "admission",
        "fix_dependency",
        "webhook",
    ),
    "immutable topology": (
        [],
        [],
        refused("component topology is immutable: worker"),
        "admission",
        "fix_dependency",
        "",
    ),  # D14
    "priority class missing": (
        [],
        [],
        refused(FORBIDDEN + "no PriorityClass with name gpu-high was found"),
        "admission",
        "fix_dependency",
        "",
    ),
    "service account missing": (
        [],
        [],
        refused(FORBIDDEN + 'error looking up service account team-a/runner: serviceaccount "runner" not found'),
        "admission",
        "fix_dependency",
        "",
    ),
    "limit range": (
        [],
        [],
        refused(FORBIDDEN + "maximum memory usage per Container is 1Gi, but limit is 8Gi"),
        "admission",
        "fix_dependency",
        "",
    ),
    "webhook that does not answer": (
        [],
        [],
        refused('Internal error occurred: failed calling webhook "inject.example": dial tcp: connection refused'),
        "admission",
        "fix_dependency",
        "webhook_unreachable",
    ),
    "the pod template is invalid": (
        [],
        [
            event(
                "ReconcileError",
                'failed to create Deployment: Deployment.apps "demo-worker" is invalid: startupProbe: Required value',
                kind="DynamoComponentDeployment",
                name="demo-worker",
            )
        ],
        PART,
        "config_invalid",
        "failed_deploy",
        "",
    ),
    "an update conflict stays behind in DGDs that are fine": (
        [ready_pod("demo-worker-0"), ready_pod("demo-worker-1")],
        [
            event(
                "ReconcileError",
                "Operation cannot be fulfilled on x: the object has been modified",
                kind="DynamoComponentDeployment",
                name="demo-worker",
            )
        ],
        PART,
        "ready",
        "none",
        "",
    ),
    "the operator cannot make what is described": (
        [],
        [
            event(
                "ReconcileError",
                "failed to generate pod spec: multinode needs LWS or Grove",
                kind="DynamoComponentDeployment",
                name="demo-worker",
            )
        ],
        PART,
        "config_invalid",
        "failed_deploy",
        "refused_by_operator",
    ),
    "the operator fails at something else": (
        [],
        [
            event(
                "ReconcileError",
                "failed to list secrets: connection reset",
                kind="DynamoComponentDeployment",
                name="demo-worker",
            )
        ],
        PART,
        "operator_error",
        "fix_dependency",
        "reconcile",
    ),
    "no operator takes the DGD up": (
        [],
        [],
        {"graph": {**dgd(), "status": {}}},
        "operator_error",
        "fix_dependency",
        "not_taken_up",
    ),
    "rollout stuck": (
        [pod(containers=[running(ago=900, ready=False)], spec={"containers": [{"name": "main", "image": "i"}]})],
        [],
        {
            "deployments": [
                {
                    "metadata": {"name": "demo-worker", "uid": "u-d", "labels": labels()},
                    "status": {
                        "conditions": [
                            {
                                "type": "Progressing",
                                "status": "False",
                                "reason": "ProgressDeadlineExceeded",
                                "message": "has timed out progressing",
                            }
                        ]
                    },
                }
            ]
        },
        "rollout_stuck",
        "failed_deploy",
        "",
    ),
    "the operator lacks a permission": (
        [],
        [
            event(
                "ReconcileError",
                'deployments.apps is forbidden: User "system:serviceaccount:dynamo:operator" cannot create resource',
                kind="DynamoComponentDeployment",
                name="demo-worker",
            )
        ],
        PART,
        "operator_error",
        "fix_dependency",
        "reconcile",
    ),
    "a controller lacks a permission": (
        [],
        [],
        refused('pods is forbidden: User "system:serviceaccount:lws:controller" cannot create resource "pods"'),
        "operator_error",
        "fix_dependency",
        "",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_case_is_called_by_its_name(name: str) -> None:
    check(CASES[name])
