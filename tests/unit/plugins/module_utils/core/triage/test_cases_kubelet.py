# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The confusion table of pods on a node: refusals, evictions, lost nodes, images, configuration, volumes (D18, D20)."""

from __future__ import annotations

import pytest
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.builders import (
    event,
    node,
    pod,
    ready_pod,
    running,
    waiting,
)
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.cases import (
    Case,
    check,
    crash,
)

CASES: dict[str, Case] = {
    "kubelet refused the device": (
        [
            pod(
                phase="Failed",
                status={"reason": "UnexpectedAdmissionError", "message": "Allocate failed due to no healthy devices"},
            )
        ],
        [],
        {},
        "node_admission",
        "failed_deploy",
        "",
    ),
    "kubelet found no room": (
        [pod(phase="Failed", status={"reason": "OutOfcpu", "message": "Node didn't have enough resource: cpu"})],
        [],
        {},
        "node_admission",
        "failed_deploy",
        "",
    ),
    "evicted": (
        [
            pod(
                phase="Failed",
                status={"reason": "Evicted", "message": "The node was low on resource: ephemeral-storage"},
            )
        ],
        [],
        {},
        "evicted",
        "fix_dependency",
        "",
    ),
    "node shut down": (
        [
            pod(
                phase="Failed",
                status={"reason": "Terminated", "message": "Pod was terminated in response to imminent node shutdown"},
            )
        ],
        [],
        {},
        "evicted",
        "fix_dependency",
        "",
    ),
    "an evicted pod that was replaced is over": (
        [
            pod("demo-worker-9", phase="Failed", status={"reason": "Evicted"}),
            ready_pod("demo-worker-0"),
            ready_pod("demo-worker-1"),
        ],
        [],
        {},
        "ready",
        "none",
        "",
    ),
    "pods that are evicted again and again are not over": (
        [
            pod("demo-worker-8", phase="Failed", status={"reason": "Evicted", "message": "low"}, age=60),
            pod("demo-worker-9", phase="Failed", status={"reason": "Evicted", "message": "low"}, age=90),
            ready_pod("demo-worker-0"),
            ready_pod("demo-worker-1"),
        ],
        [],
        {},
        "evicted",
        "fix_dependency",
        "",
    ),
    "evictions of long ago are over": (
        [
            pod("demo-worker-8", phase="Failed", status={"reason": "Evicted"}, age=6000),
            pod("demo-worker-9", phase="Failed", status={"reason": "Evicted"}, age=9000),
            ready_pod("demo-worker-0"),
            ready_pod("demo-worker-1"),
        ],
        [],
        {},
        "ready",
        "none",
        "",
    ),
    "bound to a node that does not exist": (
        [pod(phase="Pending", node="no-such-node")],
        [],
        {"nodes": [node("gpu-1")]},
        "node_lost",
        "fix_dependency",
        "",
    ),
    "node does not report": (
        [ready_pod("demo-worker-0")],
        [],
        {"nodes": [node("gpu-1", ready="Unknown")]},
        "node_lost",
        "fix_dependency",
        "",
    ),
    "registry does not resolve": (
        [
            pod(
                phase="Pending",
                containers=[
                    waiting(
                        "ImagePullBackOff",
                        'Back-off pulling image "r/x:1": ErrImagePull: dial tcp: lookup r: no such host',
                    )
                ],
            )
        ],
        [],
        {},
        "image_pull",
        "fix_dependency",
        "unreachable",
    ),
    "back-off hides the reason, the event has it": (  # D18
        [pod(phase="Pending", containers=[waiting("ImagePullBackOff", 'Back-off pulling image "r/x:1"')])],
        [
            event("Failed", 'Failed to pull image "r/x:1": manifest unknown'),
            event("Failed", "Error: ErrImagePull", ago=10),
        ],
        {},
        "image_pull",
        "fix_dependency",
        "missing_tag",
    ),
    "pull access denied": (  # D18
        [
            pod(
                phase="Pending",
                containers=[
                    waiting(
                        "ErrImagePull", "pull access denied, repository does not exist or may require authorization"
                    )
                ],
            )
        ],
        [],
        {},
        "image_pull",
        "fix_dependency",
        "auth_or_missing",
    ),
    "no basic auth": (
        [pod(phase="Pending", containers=[waiting("ErrImagePull", "no basic auth credentials")])],
        [],
        {},
        "image_pull",
        "fix_dependency",
        "auth",
    ),  # D18
    "rate limit": (
        [pod(phase="Pending", containers=[waiting("ErrImagePull", "429 Too Many Requests: toomanyrequests")])],
        [],
        {},
        "image_pull",
        "contention",
        "rate_limit",
    ),
    "invalid image name": (
        [pod(phase="Pending", containers=[waiting("InvalidImageName", "couldn't parse image reference")])],
        [],
        {},
        "image_pull",
        "fix_dependency",
        "invalid_name",
    ),
    "image never pulled": (
        [pod(phase="Pending", containers=[waiting("ErrImageNeverPull", "Container image is not present")])],
        [],
        {},
        "image_pull",
        "fix_dependency",
        "never_pull",
    ),
    "no image for the platform": (  # D18: ends in "not found" and is no missing tag
        [pod(phase="Pending", containers=[waiting("ErrImagePull", "no match for platform in manifest: not found")])],
        [],
        {},
        "image_platform",
        "failed_deploy",
        "no_platform",
    ),
    "exec format error in the log": (  # D18
        [crash(1)],
        [],
        {"logs": {"demo-worker-0": "exec /usr/bin/python3: exec format error\n"}},
        "image_platform",
        "failed_deploy",
        "exec_format",
    ),
    "secret missing": (
        [pod(phase="Pending", containers=[waiting("CreateContainerConfigError", 'secret "hf-token" not found')])],
        [],
        {},
        "config_missing",
        "fix_dependency",
        "",
    ),
    "key missing in a secret": (
        [
            pod(
                phase="Pending",
                containers=[
                    waiting("CreateContainerConfigError", "couldn't find key HF_TOKEN in Secret team-a/hf-token")
                ],
            )
        ],
        [],
        {},
        "config_missing",
        "fix_dependency",
        "",
    ),
    "config map volume": (
        [pod(phase="Pending", containers=[waiting("ContainerCreating")])],
        [event("FailedMount", 'MountVolume.SetUp failed for volume "cfg" : configmap "engine" not found', count=9)],
        {},
        "config_missing",
        "fix_dependency",
        "",
    ),
    "root image under runAsNonRoot": (
        [
            pod(
                phase="Pending",
                containers=[
                    waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root")
                ],
            )
        ],
        [],
        {},
        "config_invalid",
        "failed_deploy",
        "",
    ),
    "mount": (
        [pod(phase="Pending", containers=[waiting("ContainerCreating")])],
        [
            event(
                "FailedMount",
                'MountVolume.SetUp failed for volume "h" : hostPath type check failed: /x is not a directory',
            )
        ],
        {},
        "mount",
        "fix_dependency",
        "",
    ),
    "sandbox": (
        [pod(phase="Pending", containers=[waiting("ContainerCreating")])],
        [event("FailedCreatePodSandBox", "Failed to create pod sandbox: plugin type calico failed")],
        {},
        "sandbox",
        "fix_dependency",
        "",
    ),
    "what the kubelet got over does not count": (
        [pod(phase="Pending", containers=[waiting("ContainerCreating")])],
        [
            event("FailedCreatePodSandBox", "no network yet", ago=50),
            event("Pulling", "Pulling image", ago=5, warning=False),
        ],
        {},
        "model_loading",
        "wait",
        "",
    ),
    "claim missing, met at the mount": (
        [pod(phase="Pending", containers=[waiting("ContainerCreating")])],
        [
            event(
                "FailedMount",
                "Unable to attach or mount volumes: error processing PVC team-a/cache: failed to fetch PVC from API "
                'server: persistentvolumeclaims "cache" not found',
            )
        ],
        {},
        "pvc",
        "fix_dependency",
        "",
    ),
    "claim not bound, met at the mount": (
        [pod(phase="Pending", containers=[waiting("ContainerCreating")])],
        [event("FailedMount", "error processing PVC team-a/cache: PVC is not bound")],
        {},
        "pvc",
        "fix_dependency",
        "",
    ),
    "kubelet could not align the CPUs": (
        [pod(phase="Failed", status={"reason": "SMTAlignmentError", "message": "SMT Alignment Error"})],
        [],
        {},
        "node_admission",
        "failed_deploy",
        "",
    ),
    "kubelet calls its node not ready": (
        [pod(containers=[running()], conditions=[{"type": "Ready", "status": "False"}])],
        [],
        {"nodes": [node("gpu-1", ready="False")]},
        "node_lost",
        "fix_dependency",
        "",
    ),
    "node not ready, told by an event alone": (
        [pod(containers=[running()], conditions=[{"type": "Ready", "status": "False"}])],
        [event("NodeNotReady", "Node is not ready")],
        {},
        "node_lost",
        "fix_dependency",
        "",
    ),
    "a readiness gate is not the node's fault": (
        [pod(containers=[running()], conditions=[{"type": "Ready", "status": "False", "reason": "ReadinessGates"}])],
        [event("NodeNotReady", "Node is not ready", ago=90)],
        {"nodes": [node("gpu-1")]},
        "model_loading",
        "wait",
        "",
    ),
    "an evicted pod whose successor loads is over after a while": (
        [
            pod("demo-worker-9", phase="Failed", status={"reason": "Evicted", "message": "low"}, age=300),
            ready_pod("demo-worker-0"),
            pod("demo-worker-1", containers=[running(ago=20, ready=False, started=False)]),
        ],
        [],
        {},
        "model_loading",
        "wait",
        "",
    ),
    "the kubelet has not read a config map yet": (
        [pod(phase="Pending", containers=[waiting("ContainerCreating")])],
        [
            event(
                "FailedMount",
                'MountVolume.SetUp failed for volume "kube-api-access" : failed to sync configmap cache: timed out',
            )
        ],
        {},
        "model_loading",
        "wait",
        "",
    ),
    "the kubelet reads no config maps": (
        [pod(phase="Pending", containers=[waiting("ContainerCreating")])],
        [
            event(
                "FailedMount",
                'MountVolume.SetUp failed for volume "kube-api-access" : failed to sync configmap cache: timed out',
                count=8,
            )
        ],
        {},
        "mount",
        "fix_dependency",
        "",
    ),
    "an evicted pod whose successor loads is told and waited for": (
        [
            pod("demo-worker-9", phase="Failed", status={"reason": "Evicted", "message": "low"}, age=60),
            ready_pod("demo-worker-0"),
            pod("demo-worker-1", containers=[running(ago=20, ready=False, started=False)]),
        ],
        [],
        {},
        "evicted",
        "wait",
        "",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_case_is_called_by_its_name(name: str) -> None:
    check(CASES[name])
