# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds that we deal with: their API group, their name in URLs, and whether they live in a namespace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .errors import InputError


@dataclass(frozen=True)
class Kind:
    """One kind. ``version`` is the one to ask for where the server's discovery names no other."""

    name: str
    plural: str
    group: str = ""
    version: str = "v1"
    namespaced: bool = True

    @property
    def resource(self) -> str:
        """The name as RBAC messages write it: ``pods``, ``podcliquesets.grove.io``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("Namespace", "namespaces", namespaced=False),
        Kind("Node", "nodes", namespaced=False),
        Kind("Pod", "pods"),
        Kind("PersistentVolumeClaim", "persistentvolumeclaims"),
        Kind("PersistentVolume", "persistentvolumes", namespaced=False),
        Kind("ResourceQuota", "resourcequotas"),
        Kind("LimitRange", "limitranges"),
        Kind("ServiceAccount", "serviceaccounts"),
        Kind("ConfigMap", "configmaps"),
        Kind("Secret", "secrets"),
        Kind("Service", "services"),
        Kind("Event", "events"),
        Kind("Endpoints", "endpoints"),
        Kind("ReplicationController", "replicationcontrollers"),
        Kind("StorageClass", "storageclasses", "storage.k8s.io", namespaced=False),
        Kind("CSINode", "csinodes", "storage.k8s.io", namespaced=False),
        Kind("CSIDriver", "csidrivers", "storage.k8s.io", namespaced=False),
        Kind("CSIStorageCapacity", "csistoragecapacities", "storage.k8s.io"),
        Kind("VolumeAttachment", "volumeattachments", "storage.k8s.io", namespaced=False),
        Kind("PriorityClass", "priorityclasses", "scheduling.k8s.io", namespaced=False),
        Kind("RuntimeClass", "runtimeclasses", "node.k8s.io", namespaced=False),
        Kind("CustomResourceDefinition", "customresourcedefinitions", "apiextensions.k8s.io", namespaced=False),
        Kind("EndpointSlice", "endpointslices", "discovery.k8s.io"),
        Kind("Deployment", "deployments", "apps"),
        Kind("ReplicaSet", "replicasets", "apps"),
        Kind("StatefulSet", "statefulsets", "apps"),
        Kind("DaemonSet", "daemonsets", "apps"),
        Kind("ControllerRevision", "controllerrevisions", "apps"),
        Kind("Job", "jobs", "batch"),
        Kind("CronJob", "cronjobs", "batch"),
        Kind("Ingress", "ingresses", "networking.k8s.io"),
        Kind("NetworkPolicy", "networkpolicies", "networking.k8s.io"),
        Kind("HorizontalPodAutoscaler", "horizontalpodautoscalers", "autoscaling", "v2"),
        Kind("PodDisruptionBudget", "poddisruptionbudgets", "policy"),
        Kind("Role", "roles", "rbac.authorization.k8s.io"),
        Kind("RoleBinding", "rolebindings", "rbac.authorization.k8s.io"),
        Kind("ClusterRole", "clusterroles", "rbac.authorization.k8s.io", namespaced=False),
        Kind("ClusterRoleBinding", "clusterrolebindings", "rbac.authorization.k8s.io", namespaced=False),
        Kind("Lease", "leases", "coordination.k8s.io"),
        Kind("DeviceClass", "deviceclasses", "resource.k8s.io", namespaced=False),
        Kind("ResourceSlice", "resourceslices", "resource.k8s.io", namespaced=False),
        Kind("ResourceClaim", "resourceclaims", "resource.k8s.io"),
        Kind("ResourceClaimTemplate", "resourceclaimtemplates", "resource.k8s.io"),
        Kind("DynamoGraphDeployment", "dynamographdeployments", "nvidia.com", "v1alpha1"),
        Kind("DynamoComponentDeployment", "dynamocomponentdeployments", "nvidia.com", "v1alpha1"),
        Kind("DynamoGraphDeploymentRequest", "dynamographdeploymentrequests", "nvidia.com", "v1alpha1"),
        Kind("DynamoGraphDeploymentScalingAdapter", "dynamographdeploymentscalingadapters", "nvidia.com", "v1alpha1"),
        Kind("DynamoModel", "dynamomodels", "nvidia.com", "v1alpha1"),
        Kind("DynamoCheckpoint", "dynamocheckpoints", "nvidia.com", "v1alpha1"),
        Kind("DynamoWorkerMetadata", "dynamoworkermetadatas", "nvidia.com", "v1alpha1"),
        Kind("LeaderWorkerSet", "leaderworkersets", "leaderworkerset.x-k8s.io"),
        Kind("PodCliqueSet", "podcliquesets", "grove.io", "v1alpha1"),
        Kind("PodClique", "podcliques", "grove.io", "v1alpha1"),
        Kind("PodCliqueScalingGroup", "podcliquescalinggroups", "grove.io", "v1alpha1"),
        Kind("PodGang", "podgangs", "scheduler.grove.io", "v1alpha1"),
        Kind("ClusterTopology", "clustertopologies", "grove.io", "v1alpha1", namespaced=False),
        Kind("ClusterTopologyBinding", "clustertopologybindings", "grove.io", "v1alpha1", namespaced=False),
        Kind("PodGroup", "podgroups", "scheduling.volcano.sh", "v1beta1"),
        Kind("Queue", "queues", "scheduling.volcano.sh", "v1beta1", namespaced=False),
    )
}


def known_kind(name: str) -> Kind:
    """Return the kind called ``name``; raise :class:`InputError` where it is none of ours."""
    if name not in KINDS:
        raise InputError(f"unknown kind {name}", field="kind", found=name)
    return KINDS[name]


def resource_path(api_version: str, kind: Kind, namespace: str = "", name: str = "") -> str:
    """Return the URL path of a list or of one object; an empty ``namespace`` means all, or none for a cluster kind."""
    version = api_version or (f"{kind.group}/{kind.version}" if kind.group else kind.version)
    parts = ["apis" if "/" in version else "api", version]
    if kind.namespaced and namespace:
        parts += ["namespaces", namespace]
    parts.append(kind.plural)
    if name:
        parts.append(name)
    return "/" + "/".join(parts)
