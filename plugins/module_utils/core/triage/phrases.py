# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The phrases of schedulers as data: which text means which category. First match wins, so order matters."""

from __future__ import annotations

import re

_RESOURCE = r"(?P<resource>[A-Za-z0-9][A-Za-z0-9_./-]*[A-Za-z0-9]|[A-Za-z])"

#: What schedulers call a resource whose real name is another.
GPU_ALIASES = {"GPUs": "nvidia.com/gpu", "GPU": "nvidia.com/gpu", "CPU cores": "cpu", "CPUs": "cpu"}

#: kube-scheduler plugin → the category of what it refuses.
PLUGINS = {
    "NodeResourcesFit": "insufficient_resource",
    "TaintToleration": "taint",
    "NodeUnschedulable": "node_unschedulable",
    "NodeAffinity": "node_affinity",
    "NodeName": "node_affinity",
    "NodeDeclaredFeatures": "node_affinity",
    "InterPodAffinity": "pod_affinity",
    "PodTopologySpread": "topology_spread",
    "NodePorts": "host_port",
    "VolumeBinding": "pvc",
    "VolumeZone": "pvc",
    "VolumeRestrictions": "pvc",
    "NodeVolumeLimits": "pvc",
    "DynamicResources": "dra_claim",
    "SchedulingGates": "scheduling_gated",
    "GangScheduling": "gang",
    "Coscheduling": "gang",
}
RUNNING_PLUGIN = re.compile(
    r'^running (?:\S+ plugin "(?P<plugin>[^"]+)"|"(?P<filter>[^"]+)" filter plugin'
    r'|Score plugins: plugin "(?P<scoring>[^"]+)")'
)
#: What is said about preemption and post-filtering: never a cause.
TAIL = re.compile(
    r"^(?:preemption: |preemption \(|No preemption victims found|Preemption is not helpful"
    r"|no candidate node for preemption"
    r"|not eligible due to|waiting for the preemption|no new claims to deallocate|still not schedulable|plugin disabled"
    r"|deallocation of ResourceClaim completed|deletion of ResourceClaim completed|not found$)",
)

_TABLE: tuple[tuple[str, str], ...] = (
    # NodeResourcesFit; KAI; Volcano
    (rf"^Insufficient {_RESOURCE}$", "insufficient_resource"),
    (r"^(?P<pods>Too many pods)", "insufficient_resource"),
    (r"(?P<pods>pod number exceeded)", "insufficient_resource"),
    (
        r"[Nn]ode(?:\(s\))? didn't have enough resources: (?P<resource>GPUs|GPU memory|CPU cores|[^\s,]+)",
        "insufficient_resource",
    ),
    (r"[Nn]ode(?:\(s\))? didn't have enough of mig profile: (?P<resource>[^\s,]+)", "insufficient_resource"),
    (r"^node\(s\) resource fit failed", "insufficient_resource"),
    (r"^No node in the \S+ node-pool has (?P<resource>GPU) resources", "insufficient_resource"),
    (r"is not ready for fractional GPU scheduling", "node_unschedulable"),
    # TaintToleration; first the taints that the node controller sets by a node's own state, not by anybody's will
    (
        r"^node\(s\) had (?:untolerated )?taint \{(?P<subject>node\.(?:kubernetes|cloudprovider\.kubernetes)\.io/"
        r"(?:unschedulable|not-ready|unreachable|network-unavailable|memory-pressure|disk-pressure|pid-pressure"
        r"|out-of-service|uninitialized|shutdown)[^}]*)\}",
        "node_unschedulable",
    ),
    (r"^node\(s\) had untolerated taint \{(?P<subject>.*)\}$", "taint"),
    (r"^node\(s\) had untolerated taint", "taint"),
    (r"^node\(s\) had taint \{(?P<subject>.*)\}, that the pod didn't tolerate", "taint"),
    (r"^node\(s\) had taints that the pod didn't tolerate", "taint"),
    # NodeUnschedulable
    (r"^node\(s\) were unschedulable", "node_unschedulable"),
    (r"^no nodes available to schedule pods", "node_unschedulable"),
    (r"^node\(s\) had unknown conditions", "node_unschedulable"),
    (r"^node\(s\) (?:were|was) not ready", "node_unschedulable"),
    # volumes before node affinity: "didn't match PersistentVolume's node affinity" is about the volume
    (r"^pod has unbound immediate PersistentVolumeClaims", "pvc"),
    (r'persistentvolumeclaim "(?P<subject>[^"]+)" (?:not found|is being deleted)', "pvc"),
    (r'persistentvolumeclaim "(?P<subject>[^"]+)" bound to non-existent persistentvolume', "pvc"),
    (r'^waiting for ephemeral volume controller to create the persistentvolumeclaim "(?P<subject>[^"]+)"', "pvc"),
    (r"^node\(s\) didn't find available persistent volumes to bind", "pvc"),
    (r"^node\(s\) had volume node affinity conflict", "pvc"),
    (r"^node\(s\) didn't match PersistentVolume's node affinity", "pvc"),
    (r"^node\(s\) did not have enough free storage", "pvc"),
    (r"^node\(s\) unavailable due to one or more pvc\(s\) bound to non-existent pv\(s\)", "pvc"),
    (r"^node\(s\) had no available volume zone", "pvc"),
    (r"^PersistentVolume(?:Claim)? had no (?:name|pv name and storageClass name)", "pvc"),
    (r'^(?:storageclass|csidriver)\.storage\.k8s\.io "(?P<subject>[^"]+)" not found', "pvc"),
    (r'^persistentvolume "(?P<subject>[^"]+)" not found', "pvc"),
    (r'^VolumeBindingMode not set for StorageClass "(?P<subject>[^"]+)"', "pvc"),
    (r"^node\(s\) had no available disk", "pvc"),
    (r"^node\(s\) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode", "pvc"),
    (r"^node\(s\) exceed max volume count", "pvc"),
    (r"^binding volumes: ", "pvc"),
    (r'^provisioning failed for PVC "(?P<subject>[^"]+)"', "pvc"),
    # NodeAffinity, NodeName
    (r"^node\(s\) didn't match Pod's node affinity", "node_affinity"),
    (r"^node\(s\) didn't match (?:Pod's )?node selector", "node_affinity"),
    (r"^node\(s\) didn't match scheduler-enforced node affinity", "node_affinity"),
    (r"^pod affinity terms conflict", "node_affinity"),
    (r"^node\(s\) didn't match the requested (?:node name|hostname)", "node_affinity"),
    (r"^node declared features check failed(?: - unsatisfied requirements: (?P<subject>.+))?", "node_affinity"),
    (r"^node\(s\) didn't satisfy plugin(?:\(s\))? (?P<subject>\[[^\]]*\]|\S+)", "by_plugin"),
    # InterPodAffinity
    (r"^node\(s\) didn't match pod (?:anti-)?affinity(?:/anti-affinity)?(?: rules)?", "pod_affinity"),
    (r"^node\(s\) didn't satisfy existing pods anti-affinity rules", "pod_affinity"),
    # PodTopologySpread
    (r"^node\(s\) didn't match pod topology spread constraints", "topology_spread"),
    # NodePorts
    (r"^node\(s\) didn't have free ports for the requested pod ports", "host_port"),
    # DynamicResources
    (r"^cannot allocate all claims", "dra_claim"),
    (r"^resourceclaim (?:not available on the node|in use)", "dra_claim"),
    (r"^resource claim (?P<subject>\S+) is in the process of being allocated", "dra_claim"),
    (r'^resourceclaim(?:\.resource\.k8s\.io)? "(?P<subject>[^"]+)" (?:is being deleted|not found)', "dra_claim"),
    (r'^deviceclass(?:\.resource\.k8s\.io)? "(?P<subject>[^"]+)" not found', "dra_claim"),
    (r"^timed out trying to allocate devices", "dra_claim"),
    (r"request [^:]+: device class (?P<subject>\S+) does not exist", "dra_claim"),
    (r"^resource claim (?P<subject>[^,]+), request [^:]+: (?:unknown request type|has subrequests)", "dra_claim"),
    (r"ResourceClaim not created yet", "dra_claim"),
    (r"^could not find (?:resource ?claim|ResourceClaim)", "dra_claim"),
    (rf"^cannot fit resource(?: {_RESOURCE})?", "dra_claim"),
    (rf"^cannot schedule extended resource claim(?: {_RESOURCE})?", "dra_claim"),
    # SchedulingGates
    (r"^waiting for scheduling gates: \[(?P<subject>[^\]]*)\]", "scheduling_gated"),
    (r"^Scheduling is blocked due to non-empty scheduling gates", "scheduling_gated"),
    # GangScheduling and permit plugins
    (r"^waiting for minCount pods from a gang to appear", "gang"),
    (r'^waiting for pod\'s pod group "(?P<subject>[^"]+)" to appear', "gang"),
    (r"^minCount \(\d+\) cannot be satisfied", "gang"),
    (r'^waiting for composite pod group "(?P<subject>[^"]+)" tree to meet quorum', "gang"),
    (r"^rejected due to timeout after waiting \S+ at plugin", "gang"),
    (r"^pod group is not ready", "gang"),
    (r"^(?:optimistic rejection in PostFilter|rejected by (?:a )?gang|gang .*(?:rejected|unschedulable))", "gang"),
    # what the cluster's own settings refuse
    (r"^Pod has a restartable init container and the SidecarContainers feature is disabled", "admission"),
    (r"^AssumePod failed|^binding rejected: |^plugin \"[^\"]+\" does not exist", "scheduler_error"),
    # queues of Volcano and KAI
    (r"queue .*(?:quota|resource) .*insufficient|queue .*overused|exceeds? queue", "quota"),
)
PHRASES = tuple((re.compile(pattern), category) for pattern, category in _TABLE)

# --- KAI ------------------------------------------------------------------------------------------------------------
KAI_GANG = re.compile(
    r"^(?:Resources were found for (?P<found>\d+) pods (?:from all sub-groups )?while (?:sub-group \S+ "
    r"requires )?(?P<needed>\d+)"
    r"(?: pods for| are required for) gang scheduling\. Additional pods cannot be scheduled(?: in this "
    r"sub-group)? due to: "
    r"|Resources were not found for pod \S+ due to: )(?P<inner>.+)$",
    re.DOTALL,
)
KAI_QUOTA = re.compile(
    r"Workload requested .+ quota is|quota has reached the allowable limit of|\bOverLimit\b"
    r"|\bNonPreemptibleOverQuota\b",
    re.DOTALL,
)
KAI_QUOTA_DETAIL = re.compile(
    r"(?:Workload requested [\d.]+ (?P<resource>GPUs|CPU cores|memory|GB)?.*?, but (?P<queue>.+?) quota is)"
    r"|(?:(?P<limited_queue>\S+) quota has reached the allowable limit)",
    re.DOTALL,
)

# --- Volcano --------------------------------------------------------------------------------------------------------
VOLCANO_GANG = re.compile(r"^(?P<waiting>\d+)/(?P<all>\d+) tasks in gang unschedulable: ")

# --- Kueue ----------------------------------------------------------------------------------------------------------
KUEUE_SET = re.compile(r"couldn't assign flavors to pod set ")
KUEUE_BLOCKS = tuple(
    (re.compile(pattern), category)
    for pattern, category in (
        (r"ClusterQueue (?P<subject>\S+) (?:is inactive|not found|doesn't exist)", "quota"),
        (r"LocalQueue (?P<subject>\S+) (?:is inactive|not found|doesn't exist)", "quota"),
        (r"Workload namespace doesn't match ClusterQueue selector", "quota"),
        (r"The workload has failed admission checks", "admission"),
        (r"^Preempted to accommodate a workload", "quota"),
        (r"Workload no longer fits after processing another workload", "quota"),
        (r"^(?:The )?(?:ClusterQueue|LocalQueue) is stopped", "quota"),
    )
)
TAS_TOPOLOGY = re.compile(
    r'topology "(?P<topology>[^"]+)" (?:doesn\'t allow to fit any of \d+ (?:pod|slice)\(s\)'
    r"|allows to fit only \d+ out of \d+ (?:pod|slice)\(s\))"
)
TAS_EXCLUDED = re.compile(
    r'(?P<kind>resource|taint|nodeSelector|affinity|topologyDomain|draNoFit)(?: "(?P<name>[^"]*)")?: (?P<count>\d+)'
)

# --- Grove, Kueue: the gates they set ---------------------------------------------------------------------------------
GROVE_GATE = "grove.io/podgang-pending-creation"
KUEUE_GATES = ("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology")
