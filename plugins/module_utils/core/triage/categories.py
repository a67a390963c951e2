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


def _category(reason: Reason, way: Way, grace: str) -> Category:
    return Category(reason.code.removeprefix("triage_"), way, grace, reason)


_NEVER = "The manifest can never schedule as written: enter the failed attempt, correct the manifest and deploy again."

READY = _category(Reason("triage_ready", CHECK, "Every replica is ready", ""), "none", "")
MODEL_LOADING = _category(
    Reason("triage_model_loading", CHECK, "It starts as it should and is not ready yet", "Wait: this is progress."),
    "wait",
    "",
)
INSUFFICIENT_RESOURCE = _category(
    Reason(
        "triage_insufficient_resource",
        CHECK,
        "Nodes that would take the pod have not enough of a resource free",
        "Wait for the resource, or ask for less. Ask gpu_fit whether the request can ever fit.",
    ),
    "contention",
    "never_fits",
)
TAINT = _category(
    Reason("triage_taint", CHECK, "Nodes carry taints that the pod does not tolerate", _NEVER),
    "failed_deploy",
    "unschedulable",
)
NODE_AFFINITY = _category(
    Reason("triage_node_affinity", CHECK, "No node has what the selector or affinity asks for", _NEVER),
    "failed_deploy",
    "unschedulable",
)
POD_AFFINITY = _category(
    Reason("triage_pod_affinity", CHECK, "Affinity or anti-affinity to other pods cannot be met", _NEVER),
    "failed_deploy",
    "unschedulable",
)
TOPOLOGY_SPREAD = _category(
    Reason(
        "triage_topology_spread",
        CHECK,
        "The topology spread constraints cannot be met",
        "Relax maxSkew or whenUnsatisfiable, label the nodes, or let nodeTaintsPolicy leave tainted nodes out.",
    ),
    "failed_deploy",
    "unschedulable",
)
NODE_UNSCHEDULABLE = _category(
    Reason(
        "triage_node_unschedulable",
        CHECK,
        "The nodes are cordoned, not ready, or there are none",
        "Have the node uncordoned or repaired. The manifest needs no change.",
    ),
    "fix_dependency",
    "unschedulable",
)
HOST_PORT = _category(
    Reason(
        "triage_host_port",
        CHECK,
        "A host port is taken on every node that would take the pod",
        "Drop hostPort and hostNetwork, use fewer replicas than nodes, or end the pod that holds the port.",
    ),
    "failed_deploy",
    "unschedulable",
)
PVC = _category(
    Reason(
        "triage_pvc",
        CHECK,
        "A claim is missing, unbound, or not usable where the pod could run",
        "Fix the claim or its storage class; neither waiting nor another manifest helps.",
    ),
    "fix_dependency",
    "dependency",
)
DRA_CLAIM = _category(
    Reason(
        "triage_dra_claim",
        CHECK,
        "A resource claim cannot be allocated",
        "Check the device class, the ResourceSlices, and which claims hold the devices.",
    ),
    "fix_dependency",
    "dependency",
)
SCHEDULING_GATED = _category(
    Reason(
        "triage_scheduling_gated",
        CHECK,
        "The pod waits for a scheduling gate to be taken away",
        "Find the controller that owns the gate; only it may take it away.",
    ),
    "fix_dependency",
    "dependency",
)
GANG = _category(
    Reason(
        "triage_gang",
        CHECK,
        "The pods of a gang are placed all together or not at all, and some cannot be placed",
        "Wait until the whole gang fits, or ask gpu_fit whether it ever can.",
    ),
    "contention",
    "never_fits",
)
QUOTA = _category(
    Reason("triage_quota", CHECK, "A quota refuses it", "Have the quota raised, free what it counts, or ask for less."),
    "fix_dependency",
    "dependency",
)
ADMISSION = _category(
    Reason(
        "triage_admission",
        CHECK,
        "An admission controller refuses the object",
        "Give what the refusal asks for, or have the policy changed.",
    ),
    "fix_dependency",
    "dependency",
)
NODE_ADMISSION = _category(
    Reason(
        "triage_node_admission",
        CHECK,
        "The kubelet refused the pod on its node",
        "Look at the node's device plugin and allocatable; the scheduler and the kubelet disagree.",
    ),
    "failed_deploy",
    "other",
)
IMAGE_PULL = _category(
    Reason(
        "triage_image_pull",
        CHECK,
        "An image cannot be pulled",
        "Check the image's name and tag, the registry's reach, and the pull secrets (pull_secret_match).",
    ),
    "fix_dependency",
    "image",
)
IMAGE_PLATFORM = _category(
    Reason(
        "triage_image_platform",
        CHECK,
        "The image is not built for the node's platform",
        "Use an image for the node's architecture, or select nodes of the image's.",
    ),
    "failed_deploy",
    "image",
)
CONFIG_MISSING = _category(
    Reason(
        "triage_config_missing",
        CHECK,
        "A secret or config map, or a key in it, that the pod needs is missing",
        "Create it in the namespace; the pod starts by itself then.",
    ),
    "fix_dependency",
    "dependency",
)
MOUNT = _category(
    Reason(
        "triage_mount",
        CHECK,
        "A volume cannot be mounted",
        "Fix the volume's source (path, server, driver) named in the evidence.",
    ),
    "fix_dependency",
    "dependency",
)
SANDBOX = _category(
    Reason(
        "triage_sandbox",
        CHECK,
        "The pod's sandbox or network cannot be set up",
        "Look at the node's container runtime and network plugin.",
    ),
    "fix_dependency",
    "dependency",
)
CRASH_LOOP = _category(
    Reason(
        "triage_crash_loop",
        CHECK,
        "A container ends again and again",
        "Read the last log lines; a restart will not change them.",
    ),
    "failed_deploy",
    "crash",
)
OOM = _category(
    Reason(
        "triage_oom",
        CHECK,
        "A container was killed for using more memory than its limit",
        "Raise the container's memory limit, or make the process use less.",
    ),
    "failed_deploy",
    "crash",
)
PROBE_FAILURE = _category(
    Reason(
        "triage_probe_failure",
        CHECK,
        "A probe fails",
        "Check the probe's path, port and thresholds against what the process serves.",
    ),
    "failed_deploy",
    "crash",
)
EVICTED = _category(
    Reason(
        "triage_evicted",
        CHECK,
        "The pod was evicted from its node",
        "Relieve the node (disk, memory), or set requests and limits that fit what the process uses.",
    ),
    "fix_dependency",
    "other",
)
SCHEDULER_ERROR = _category(
    Reason(
        "triage_scheduler_error",
        CHECK,
        "The scheduler met an error while placing the pod",
        "Read the error; it is the scheduler's or a plugin's, not the pod's.",
    ),
    "fix_dependency",
    "other",
)
SCHEDULER_MISSING = _category(
    Reason(
        "triage_scheduler_missing",
        CHECK,
        "No scheduler takes the pod up",
        "Name a scheduler that runs in this cluster, or have the one named by schedulerName installed or restarted.",
    ),
    "failed_deploy",
    "unschedulable",
)
CONFIG_INVALID = _category(
    Reason(
        "triage_config_invalid",
        CHECK,
        "The API server or the operator refuses what the manifest describes",
        "Correct the field that the refusal names.",
    ),
    "failed_deploy",
    "operator",
)
NODE_LOST = _category(
    Reason(
        "triage_node_lost",
        CHECK,
        "The node of the pod does not report any more",
        "Have the node repaired or removed; its pods are replaced then.",
    ),
    "fix_dependency",
    "other",
)
OPERATOR_ERROR = _category(
    Reason(
        "triage_operator_error",
        CHECK,
        "The operator cannot carry out the DGD, or does not take it up",
        "Look at the operator: whether it runs, and what its log says about this DGD.",
    ),
    "fix_dependency",
    "operator",
)
ROLLOUT_STUCK = _category(
    Reason(
        "triage_rollout_stuck",
        CHECK,
        "A rollout makes no progress",
        "Find out why the new pods do not become ready; the old ones are kept until then.",
    ),
    "failed_deploy",
    "other",
)
UNKNOWN = _category(
    Reason("triage_unknown", CHECK, "The text is not known to us and is given as it stands", "Read the text given."),
    "investigate",
    "other",
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
