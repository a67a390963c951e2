# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cut Kubernetes objects down to what judges look at, before they are kept, saved or handed on.

No values of environment variables, no data of ConfigMaps or Secrets, nothing of other people's pods but what a
scheduler counts. Objects keep the API's own field names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from .csi import IN_TREE
from .demand import K8sObject
from .docker_secrets import collect_secret

Plain = dict[str, Any]
Trim = Callable[[K8sObject], Plain]
#: Repeats the whole object, environment included.
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def pick(source: object, *names: str) -> Plain:
    """Return the fields of these names that are there and not empty."""
    if not isinstance(source, Mapping):
        return {}
    return {name: source[name] for name in names if source.get(name) not in (None, "", [], {})}


def _metadata(item: K8sObject, *more: str) -> Plain:
    metadata = pick(item.get("metadata"), "name", "namespace", "labels", *more)
    if "ownerReferences" in metadata:
        metadata["ownerReferences"] = [
            pick(owner, "apiVersion", "kind", "name", "uid", "controller") for owner in metadata["ownerReferences"]
        ]
    if "annotations" in metadata:
        metadata["annotations"] = {key: value for key, value in metadata["annotations"].items() if key != _LAST_APPLIED}
    return metadata


def _own(item: K8sObject) -> Plain:
    """Metadata of an object of the namespace that is looked at."""
    return _metadata(
        item,
        "uid",
        "resourceVersion",
        "generation",
        "annotations",
        "creationTimestamp",
        "deletionTimestamp",
        "finalizers",
        "ownerReferences",
    )


def _object(item: K8sObject, metadata: Plain, **parts: object) -> Plain:
    result = pick(item, "apiVersion", "kind")
    result["metadata"] = metadata
    result.update({name: value for name, value in parts.items() if value not in (None, {}, [])})
    return result


def _picker(
    *, spec: tuple[str, ...] = (), status: tuple[str, ...] = (), top: tuple[str, ...] = (), own: bool = False
) -> Trim:
    """Make a trimming function that keeps these fields."""

    def trim(item: K8sObject) -> Plain:
        metadata = _own(item) if own else _metadata(item)
        return {
            **_object(item, metadata, spec=pick(item.get("spec"), *spec), status=pick(item.get("status"), *status)),
            **pick(item, *top),
        }

    return trim


# -- cluster ----------------------------------------------------------------------------------------------------------


def trim_node(node: K8sObject) -> Plain:
    """Keep labels, taints, what it has and what it says of itself; its list of images is most of a Node and goes."""
    status = node.get("status") or {}
    trimmed = pick(status, "capacity", "allocatable", "declaredFeatures")
    trimmed["conditions"] = [
        pick(condition, "type", "status", "reason", "message") for condition in status.get("conditions") or ()
    ]
    trimmed["nodeInfo"] = pick(status.get("nodeInfo"), "architecture", "operatingSystem", "kubeletVersion")
    return _object(
        node,
        _metadata(node, "creationTimestamp", "deletionTimestamp"),
        spec=pick(node.get("spec"), "taints", "unschedulable", "providerID"),
        status=trimmed,
    )


def trim_persistent_volume(volume: K8sObject) -> Plain:
    """Keep what binding and scheduling look at; of the driver's part only which driver and which volume it is."""
    spec = volume.get("spec") or {}
    trimmed = pick(
        spec,
        "capacity",
        "accessModes",
        "nodeAffinity",
        "storageClassName",
        "volumeMode",
        "volumeAttributesClassName",
        "persistentVolumeReclaimPolicy",
    )
    trimmed["claimRef"] = pick(spec.get("claimRef"), "namespace", "name", "uid")
    if "csi" in spec:
        trimmed["csi"] = pick(spec["csi"], "driver", "volumeHandle")
    trimmed.update(_in_tree_disk(spec))
    metadata = _metadata(volume, "deletionTimestamp")
    return _object(volume, metadata, spec=pick(trimmed, *trimmed), status=pick(volume.get("status"), "phase"))


def _in_tree_disk(source: Mapping[str, Any]) -> Plain:
    """Keep which disk it is, where a driver's limit counts it."""
    return {one.source: pick(source[one.source], one.handle) for one in IN_TREE if source.get(one.source)}


def trim_storage_class(item: K8sObject) -> Plain:
    """Keep all but its parameters, which may name secrets."""
    keep = ("provisioner", "volumeBindingMode", "allowedTopologies", "reclaimPolicy", "allowVolumeExpansion")
    return {**_object(item, _metadata(item, "annotations")), **pick(item, *keep)}


def trim_csi_node(item: K8sObject) -> Plain:
    """Keep how many volumes of each driver the node takes."""
    drivers = [pick(one, "name", "allocatable") for one in (item.get("spec") or {}).get("drivers") or ()]
    return _object(item, _metadata(item), spec={"drivers": drivers} if drivers else {})


def trim_csi_driver(item: K8sObject) -> Plain:
    """Keep what the scheduler looks at."""
    return _object(item, _metadata(item), spec=pick(item.get("spec"), "storageCapacity", "attachRequired"))


def trim_volume_attachment(item: K8sObject) -> Plain:
    """Keep which volume is attached where."""
    spec = item.get("spec") or {}
    source = pick(spec.get("source"), "persistentVolumeName")
    return _object(item, _metadata(item), spec={**pick(spec, "attacher", "nodeName"), "source": source})


def trim_storage_capacity(item: K8sObject) -> Plain:
    """Keep all that says how much can be provisioned for which nodes; an empty topology means all of them."""
    kept = pick(item, "storageClassName", "capacity", "maximumVolumeSize")
    if item.get("nodeTopology") is not None:
        kept["nodeTopology"] = item["nodeTopology"]
    return {**_object(item, _metadata(item)), **kept}


def trim_claim(item: K8sObject) -> Plain:
    """Keep what binding and a diagnosis look at; an empty class is not the default one, so it is kept."""
    spec = item.get("spec") or {}
    trimmed = pick(spec, "accessModes", "resources", "volumeMode", "volumeName", "selector")
    for name in ("storageClassName", "volumeAttributesClassName"):
        if spec.get(name) is not None:
            trimmed[name] = spec[name]
    status = pick(item.get("status"), "phase", "capacity", "accessModes", "conditions")
    return _object(item, _own(item), spec=trimmed, status=status)


def trim_name(item: K8sObject) -> Plain:
    """Keep name and labels."""
    return _object(item, _metadata(item, "deletionTimestamp"))


# -- pods -------------------------------------------------------------------------------------------------------------

_SCHEDULING = (
    "nodeName",
    "nodeSelector",
    "affinity",
    "tolerations",
    "topologySpreadConstraints",
    "overhead",
    "priority",
    "priorityClassName",
    "preemptionPolicy",
    "resources",
    "resourceClaims",
    "schedulerName",
    "schedulingGates",
    "hostNetwork",
    "runtimeClassName",
)
#: Fields that all pods of one workload hold alike.
_REPEATED = ("affinity", "tolerations", "containers", "initContainers", "topologySpreadConstraints", "overhead")
_OWN_POD = ("serviceAccountName", "imagePullSecrets", "restartPolicy", "terminationGracePeriodSeconds", "subdomain")
_OWN_CONTAINER = ("image", "restartPolicy", "readinessProbe", "livenessProbe", "startupProbe")


class PodTrimmer:
    """Trims pods, and shares what thousands of them repeat, so that 50,000 pods stay in a few hundred MiB.

    ``namespace`` is the one looked at: its pods keep what a diagnosis needs, others what a scheduler counts.
    """

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._shared: dict[str, Any] = {}

    def __call__(self, pod: K8sObject) -> Plain:
        metadata = pod.get("metadata") or {}
        own = metadata.get("namespace") == self._namespace
        spec = pod.get("spec") or {}
        trimmed = pick(spec, *_SCHEDULING, *(_OWN_POD if own else ()))
        for name in ("containers", "initContainers"):
            if spec.get(name):
                trimmed[name] = [self._container(container, own) for container in spec[name]]
        volumes = [volume for volume in map(_claim_volume, spec.get("volumes") or ()) if volume]
        if volumes:
            trimmed["volumes"] = volumes
        kept = _own(pod) if own else _metadata(pod, "deletionTimestamp", "ownerReferences")
        for name in (
            "affinity",
            "tolerations",
            "containers",
            "initContainers",
            "topologySpreadConstraints",
            "overhead",
        ):
            if name in trimmed:
                trimmed[name] = self._share(trimmed[name])
        if "labels" in kept:
            kept["labels"] = self._share(kept["labels"])
        return {"metadata": kept, "spec": trimmed, "status": _pod_status(pod.get("status") or {}, own)}

    def _share(self, value: Any) -> Any:
        return self._shared.setdefault(json.dumps(value, sort_keys=True), value)

    def _container(self, container: Mapping[str, Any], own: bool) -> Plain:
        kept = pick(container, "name", "resources", *(_OWN_CONTAINER if own else ("restartPolicy",)))
        # Elsewhere only a port of the node itself can stand in a pod's way.
        ports = [
            pick(port, "hostPort", "hostIP", "protocol", "containerPort", "name")
            for port in container.get("ports") or ()
            if own or port.get("hostPort")
        ]
        if ports:
            kept["ports"] = ports
        return kept


def _claim_volume(volume: Mapping[str, Any]) -> Plain:
    kept = pick(volume, "persistentVolumeClaim")
    template = ((volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}).get("spec")
    if template:
        kept["ephemeral"] = {"volumeClaimTemplate": {"spec": template}}
    if "csi" in volume:
        kept["csi"] = pick(volume["csi"], "driver")
    kept.update(_in_tree_disk(volume))
    return {"name": volume.get("name"), **kept} if kept else {}


def _pod_status(status: Mapping[str, Any], own: bool) -> Plain:
    if own:
        return pick(
            status,
            "phase",
            "reason",
            "message",
            "conditions",
            "podIP",
            "resources",
            "allocatedResources",
            "startTime",
            "nominatedNodeName",
            "containerStatuses",
            "initContainerStatuses",
        )
    kept = pick(status, "phase", "nominatedNodeName", "resources", "allocatedResources")
    for name in ("containerStatuses", "initContainerStatuses"):
        # What the node has really set aside, where a resize is under way.
        resized = [
            pick(item, "name", "allocatedResources", "resources")
            for item in status.get(name) or ()
            if item.get("allocatedResources")
        ]
        if resized:
            kept[name] = resized
    return kept


# -- the namespace ----------------------------------------------------------------------------------------------------


def trim_config_map(item: K8sObject) -> Plain:
    """Keep the name and the names of its keys."""
    metadata = item.get("metadata") or {}
    keys = sorted({*(item.get("data") or {}), *(item.get("binaryData") or {})})
    return {"name": str(metadata.get("name") or ""), "namespace": str(metadata.get("namespace") or ""), "keys": keys}


def trim_secret(item: K8sObject) -> Plain:
    """Keep name, type and registries, as ``docker_secrets`` allows."""
    return collect_secret(item).to_snapshot()


def trim_workload(item: K8sObject) -> Plain:
    """Keep a workload whole but for its bookkeeping and the values of its environment variables."""
    return _object(item, _own(item), spec=without_env_values(item.get("spec") or {}), status=item.get("status") or {})


def without_env_values(value: Any) -> Any:
    """Return plain data with every literal value of an ``env`` or ``envs`` list left out, at any depth."""
    if isinstance(value, Mapping):
        return {
            key: [_env_entry(entry) for entry in inner]
            if key in ("env", "envs") and isinstance(inner, list)
            else without_env_values(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [without_env_values(inner) for inner in value]
    return value


def _env_entry(entry: Any) -> Any:
    return {key: inner for key, inner in entry.items() if key != "value"} if isinstance(entry, Mapping) else entry


def trim_event(item: K8sObject) -> Plain:
    """Keep who, what, why, how often and when."""
    return {
        **_object(item, pick(item.get("metadata"), "name", "namespace", "creationTimestamp")),
        **pick(
            item,
            "involvedObject",
            "reason",
            "message",
            "type",
            "count",
            "firstTimestamp",
            "lastTimestamp",
            "eventTime",
            "series",
            "reportingComponent",
            "source",
        ),
    }


trim_quota: Trim = _picker(spec=("hard", "scopes", "scopeSelector"), status=("hard", "used"))
trim_limit_range: Trim = _picker(spec=("limits",))
trim_priority_class: Trim = _picker(top=("value", "globalDefault", "preemptionPolicy"))
trim_runtime_class: Trim = _picker(top=("handler", "overhead", "scheduling"))
trim_service_account: Trim = _picker(top=("imagePullSecrets",), own=True)
#: Grove's levels: which node label stands for a zone, a block, a rack, a host.
trim_topology: Trim = _picker(spec=("levels",))
trim_service: Trim = _picker(spec=("selector", "ports", "clusterIP", "type"), own=True)
trim_endpoint_slice: Trim = _picker(top=("addressType", "endpoints", "ports"), own=True)
