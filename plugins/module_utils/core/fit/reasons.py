# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scheduler's own words for why a node is out (Kubernetes 1.36), and ours where it has none."""

from __future__ import annotations

UNSCHEDULABLE = "node(s) were unschedulable"
NODE_NAME = "node(s) didn't match the requested node name"
TAINT = "node(s) had untolerated taint(s)"
NODE_AFFINITY = "node(s) didn't match Pod's node affinity/selector"
NOT_NAMED = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
PORTS = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY_PODS = "Too many pods"
ONCE_POD = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
VOLUME_LIMIT = "node(s) exceed max volume count"
VOLUME_NODE = "node(s) didn't match PersistentVolume's node affinity"
VOLUME_BIND = "node(s) didn't find available persistent volumes to bind"
VOLUME_SPACE = "node(s) did not have enough free storage"
VOLUME_GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
VOLUME_ZONE = "node(s) had no available volume zone"
SPREAD = "node(s) didn't match pod topology spread constraints"
SPREAD_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"
POD_AFFINITY = "node(s) didn't match pod affinity rules"
POD_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"
#: Not the default scheduler's: Grove's pack constraint.
GANG_DOMAIN = "node(s) were outside the topology domain of the pod's gang"
#: PreFilter texts, which hold for the whole cluster.
AFFINITY_CONFLICT = "pod affinity terms conflict"
UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"


def insufficient(resource: str) -> str:
    """Return the text for a resource of which a node has too little left."""
    return TOO_MANY_PODS if resource == "pods" else f"Insufficient {resource}"
