# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words of triage: categories, what is to be done about each, and the reason codes made from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..findings import Outcome, Reason

#: What to do about a cause. ``failed_deploy``: it can never run as written. ``contention``: a legitimate wait for
#: what others hold. ``fix_dependency``: something that it needs is missing or refused. ``wait``: it makes progress.
#: ``investigate``: nobody knows yet. ``none``: nothing.
Way = Literal["none", "wait", "contention", "investigate", "fix_dependency", "failed_deploy"]
#: From best to worst.
WAYS: tuple[Way, ...] = ("none", "wait", "contention", "investigate", "fix_dependency", "failed_deploy")
OUTCOMES: dict[Way, Outcome] = {
    "none": "pass",
    "wait": "pass",
    "contention": "warn",
    "investigate": "unknown",
    "fix_dependency": "fail",
    "failed_deploy": "fail",
}
CHECK = "triage"


@dataclass(frozen=True)
class Category:
    """One category: its usual way and the grace (an option of ``workload_wait``) after which it ends a wait."""

    name: str
    way: Way
    grace: str
    reason: Reason


def _category(name: str, way: Way, grace: str, meaning: str, remedy: str) -> Category:
    return Category(name, way, grace, Reason(f"triage_{name}", CHECK, meaning, remedy))


_NEVER = "The manifest can never schedule as written: enter the failed attempt, correct the manifest and deploy again."

READY = _category("ready", "none", "", "Every replica is ready", "")
MODEL_LOADING = _category(
    "model_loading", "wait", "", "It starts as it should and is not ready yet", "Wait: this is progress."
)
INSUFFICIENT_RESOURCE = _category(
    "insufficient_resource",
    "contention",
    "never_fits",
    "Nodes that would take the pod have not enough of a resource free",
    "Wait for the resource, or ask for less. Ask gpu_fit whether the request can ever fit.",
)
TAINT = _category(
    "taint", "failed_deploy", "unschedulable", "Nodes carry taints that the pod does not tolerate", _NEVER
)
NODE_AFFINITY = _category(
    "node_affinity", "failed_deploy", "unschedulable", "No node has what the selector or affinity asks for", _NEVER
)
POD_AFFINITY = _category(
    "pod_affinity", "failed_deploy", "unschedulable", "Affinity or anti-affinity to other pods cannot be met", _NEVER
)
TOPOLOGY_SPREAD = _category(
    "topology_spread",
    "failed_deploy",
    "unschedulable",
    "The topology spread constraints cannot be met",
    "Relax maxSkew or whenUnsatisfiable, label the nodes, or let nodeTaintsPolicy leave tainted nodes out.",
)
NODE_UNSCHEDULABLE = _category(
    "node_unschedulable",
    "fix_dependency",
    "unschedulable",
    "The nodes are cordoned, not ready, or there are none",
    "Have the node uncordoned or repaired. The manifest needs no change.",
)
HOST_PORT = _category(
    "host_port",
    "failed_deploy",
    "unschedulable",
    "A host port is taken on every node that would take the pod",
    "Drop hostPort and hostNetwork, use fewer replicas than nodes, or end the pod that holds the port.",
)
PVC = _category(
    "pvc",
    "fix_dependency",
    "dependency",
    "A claim is missing, unbound, or not usable where the pod could run",
    "Fix the claim or its storage class; neither waiting nor another manifest helps.",
)
DRA_CLAIM = _category(
    "dra_claim",
    "fix_dependency",
    "dependency",
    "A resource claim cannot be allocated",
    "Check the device class, the ResourceSlices, and which claims hold the devices.",
)
SCHEDULING_GATED = _category(
    "scheduling_gated",
    "fix_dependency",
    "dependency",
    "The pod waits for a scheduling gate to be taken away",
    "Find the controller that owns the gate; only it may take it away.",
)
GANG = _category(
    "gang",
    "contention",
    "never_fits",
    "The pods of a gang are placed all together or not at all, and some cannot be placed",
    "Wait until the whole gang fits, or ask gpu_fit whether it ever can.",
)
QUOTA = _category(
    "quota",
    "fix_dependency",
    "dependency",
    "A quota refuses it",
    "Have the quota raised, free what it counts, or ask for less.",
)
ADMISSION = _category(
    "admission",
    "fix_dependency",
    "dependency",
    "An admission controller refuses the object",
    "Give what the refusal asks for, or have the policy changed.",
)
NODE_ADMISSION = _category(
    "node_admission",
    "failed_deploy",
    "other",
    "The kubelet refused the pod on its node",
    "Look at the node's device plugin and allocatable; the scheduler and the kubelet disagree.",
)
IMAGE_PULL = _category(
    "image_pull",
    "fix_dependency",
    "image",
    "An image cannot be pulled",
    "Check the image's name and tag, the registry's reach, and the pull secrets (pull_secret_match).",
)
IMAGE_PLATFORM = _category(
    "image_platform",
    "failed_deploy",
    "image",
    "The image is not built for the node's platform",
    "Use an image for the node's architecture, or select nodes of the image's.",
)
CONFIG_MISSING = _category(
    "config_missing",
    "fix_dependency",
    "dependency",
    "A secret or config map, or a key in it, that the pod needs is missing",
    "Create it in the namespace; the pod starts by itself then.",
)
MOUNT = _category(
    "mount",
    "fix_dependency",
    "dependency",
    "A volume cannot be mounted",
    "Fix the volume's source (path, server, driver) named in the evidence.",
)
SANDBOX = _category(
    "sandbox",
    "fix_dependency",
    "dependency",
    "The pod's sandbox or network cannot be set up",
    "Look at the node's container runtime and network plugin.",
)
CRASH_LOOP = _category(
    "crash_loop",
    "failed_deploy",
    "crash",
    "A container ends again and again",
    "Read the last log lines; a restart will not change them.",
)
OOM = _category(
    "oom",
    "failed_deploy",
    "crash",
    "A container was killed for using more memory than its limit",
    "Raise the container's memory limit, or make the process use less.",
)
PROBE_FAILURE = _category(
    "probe_failure",
    "failed_deploy",
    "crash",
    "A probe fails",
    "Check the probe's path, port and thresholds against what the process serves.",
)
EVICTED = _category(
    "evicted",
    "fix_dependency",
    "other",
    "The pod was evicted from its node",
    "Relieve the node (disk, memory), or set requests and limits that fit what the process uses.",
)
SCHEDULER_ERROR = _category(
    "scheduler_error",
    "fix_dependency",
    "other",
    "The scheduler met an error while placing the pod",
    "Read the error; it is the scheduler's or a plugin's, not the pod's.",
)
SCHEDULER_MISSING = _category(
    "scheduler_missing",
    "failed_deploy",
    "unschedulable",
    "No scheduler takes the pod up",
    "Name a scheduler that runs in this cluster, or have the one named by schedulerName installed or restarted.",
)
CONFIG_INVALID = _category(
    "config_invalid",
    "failed_deploy",
    "operator",
    "The API server or the operator refuses what the manifest describes",
    "Correct the field that the refusal names.",
)
NODE_LOST = _category(
    "node_lost",
    "fix_dependency",
    "other",
    "The node of the pod does not report any more",
    "Have the node repaired or removed; its pods are replaced then.",
)
OPERATOR_ERROR = _category(
    "operator_error",
    "fix_dependency",
    "operator",
    "The operator cannot carry out the DGD, or does not take it up",
    "Look at the operator: whether it runs, and what its log says about this DGD.",
)
ROLLOUT_STUCK = _category(
    "rollout_stuck",
    "failed_deploy",
    "other",
    "A rollout makes no progress",
    "Find out why the new pods do not become ready; the old ones are kept until then.",
)
UNKNOWN = _category(
    "unknown", "investigate", "other", "The text is not known to us and is given as it stands", "Read the text given."
)

CATEGORIES: dict[str, Category] = {
    category.name: category
    for category in (
        READY,
        MODEL_LOADING,
        INSUFFICIENT_RESOURCE,
        TAINT,
        NODE_AFFINITY,
        POD_AFFINITY,
        TOPOLOGY_SPREAD,
        NODE_UNSCHEDULABLE,
        HOST_PORT,
        PVC,
        DRA_CLAIM,
        SCHEDULING_GATED,
        GANG,
        QUOTA,
        ADMISSION,
        NODE_ADMISSION,
        IMAGE_PULL,
        IMAGE_PLATFORM,
        CONFIG_MISSING,
        MOUNT,
        SANDBOX,
        CRASH_LOOP,
        OOM,
        PROBE_FAILURE,
        EVICTED,
        SCHEDULER_ERROR,
        SCHEDULER_MISSING,
        CONFIG_INVALID,
        NODE_LOST,
        OPERATOR_ERROR,
        ROLLOUT_STUCK,
        UNKNOWN,
    )
}
DISAGREEMENT = Reason(
    "triage_scheduler_disagrees",
    CHECK,
    "The scheduler's text and the nodes as they are read now say different things",
    "The state may just have changed; look again. Where it stays, trust the scheduler and report the difference.",
)
REASONS: tuple[Reason, ...] = (*(category.reason for category in CATEGORIES.values()), DISAGREEMENT)
