# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Storage drivers for the random scenarios: limits of nodes, attached volumes, free space; draws of their own.

No driver runs on the embedded cluster: its objects are written by hand, and :func:`volume_for` is what a driver would
make for a claim.
"""

from __future__ import annotations

import random
from typing import Any

from ansible_collections.inference_ops.dynamo.tests.differential.fit_scenarios import HOST, ZONE, Plain, Scenario

DISKS, SPACE = "disks.example.com", "space.example.com"
DISKS_SOON, DISKS_LATE, SPACE_LATE = "fit-disks", "fit-disks-late", "fit-space-late"
STORAGE = "storage.k8s.io/v1"
SELECTED = "volume.kubernetes.io/selected-node"
#: Objects that stay for all scenarios. Nothing is attached, or the control plane would write attachments of its own.
DRIVERS: tuple[Plain, ...] = (
    *(
        {
            "apiVersion": STORAGE,
            "kind": "CSIDriver",
            "metadata": {"name": name},
            "spec": {"attachRequired": False, "storageCapacity": name == SPACE},
        }
        for name in (DISKS, SPACE)
    ),
    *(
        {
            "apiVersion": STORAGE,
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": driver,
            "volumeBindingMode": mode,
        }
        for name, driver, mode in (
            (DISKS_SOON, DISKS, "Immediate"),
            (DISKS_LATE, DISKS, "WaitForFirstConsumer"),
            (SPACE_LATE, SPACE, "WaitForFirstConsumer"),
        )
    ),
)
#: Kinds that a scenario leaves behind, in the order in which they go.
LEFT = ("VolumeAttachment", "CSIStorageCapacity", "CSINode")


def add_drivers(case: Scenario) -> None:
    """Give every other scenario storage drivers; the draws leave all others as they are."""
    draw = random.Random(f"{case.seed} drivers")
    if draw.random() < 0.5:
        _Drivers(case, draw).add()


class _Drivers:
    def __init__(self, case: Scenario, draw: random.Random) -> None:
        self.case = case
        self.random = draw
        self.count = 0
        #: How many volumes nodes take: in some scenarios few, in others enough for most pods.
        self.counts = draw.choice(((None, 0, 1, 1, 2), (None, 0, 1, 2), (1, 2, 3), (2, 3, 5)))

    def chance(self, part: float, feature: str) -> bool:
        hit = self.random.random() < part
        if hit:
            self.case.features[feature] += 1
        return hit

    def add(self) -> None:
        for node in self.case.nodes:
            if self.chance(0.75, "node with a volume limit"):
                self._limit(node["metadata"]["name"])
        if self.random.random() < 0.6:
            self._space()
        for pod in self.case.existing:
            if self.chance(0.3, "existing pod with a driver's volume"):
                self._mount(pod, self._bound(pod["metadata"]["namespace"]))
        for node in self.case.nodes:
            if self.chance(0.1, "volume attached without a pod"):
                self._attachment(node["metadata"]["name"])
        groups: dict[str, list[Plain]] = {}
        for pod in self.case.pending:
            if not pod["spec"].get("volumes"):
                pod["spec"] = dict(pod["spec"])  # pods of a group share theirs
                groups.setdefault(pod["metadata"]["name"].rsplit("-", 1)[0], []).append(pod)
        for pods in groups.values():
            if self.random.random() < 0.7:
                self.random.choice((self._shared, self._own, self._own, self._scratch, self._late))(pods)

    # --- what pods mount ------------------------------------------------------------------------------------------

    def _shared(self, pods: list[Plain]) -> None:
        self.case.features["driver: one volume for a group"] += 1
        claim = self._bound(pods[0]["metadata"]["namespace"])
        for pod in pods:
            self._mount(pod, claim)

    def _own(self, pods: list[Plain]) -> None:
        self.case.features["driver: a volume for each pod"] += 1
        volumes = self.random.choice((1, 1, 2))
        for pod in pods:
            for _unused in range(volumes):
                self._mount(pod, self._bound(pod["metadata"]["namespace"]))

    def _scratch(self, pods: list[Plain]) -> None:
        self.case.features["driver: generic ephemeral volume"] += 1
        spec = self._claim_spec(self.random.choice((DISKS_LATE, DISKS_LATE, SPACE_LATE)))
        for pod in pods:
            volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
            pod["spec"].setdefault("volumes", []).append(volume)

    def _late(self, pods: list[Plain]) -> None:
        self.case.features["driver: claims made late"] += 1
        storage_class = self.random.choice((DISKS_LATE, SPACE_LATE, SPACE_LATE))
        for pod in pods:
            claim = self._claim(pod["metadata"]["namespace"], self._claim_spec(storage_class))
            self._mount(pod, claim["metadata"]["name"])

    @staticmethod
    def _mount(pod: Plain, claim: str) -> None:
        volumes = pod["spec"].setdefault("volumes", [])
        volumes.append({"name": f"v{len(volumes)}", "persistentVolumeClaim": {"claimName": claim}})

    # --- objects --------------------------------------------------------------------------------------------------

    def _name(self) -> str:
        self.count += 1
        return f"s{self.case.seed}-d{self.count}"

    def _claim_spec(self, storage_class: str) -> Plain:
        size = self.random.choice(("5Gi", "10Gi"))
        return {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": size}},
        }

    def _claim(self, namespace: str, spec: Plain) -> Plain:
        meta = {"name": self._name(), "namespace": namespace}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}
        self.case.objects.append(claim)
        return claim

    def _bound(self, namespace: str) -> str:
        """Make a claim with its volume; the volume controller binds them, as each names the other."""
        claim = self._claim(namespace, self._claim_spec(DISKS_SOON))
        volume = volume_for(claim, DISKS)
        claim["spec"]["volumeName"] = volume["metadata"]["name"]
        if self.chance(0.15, "driver: two volumes with one handle"):
            volume["spec"]["csi"]["volumeHandle"] = f"s{self.case.seed}-shared"
        self.case.objects.append(volume)
        return str(claim["metadata"]["name"])

    def _limit(self, node: str) -> None:
        drivers: list[Plain] = []
        for driver in (DISKS, SPACE):
            count = self.random.choice(self.counts)
            allocatable: Plain = {} if count is None else {"allocatable": {"count": count}}
            drivers.append({"name": driver, "nodeID": node, "topologyKeys": [HOST], **allocatable})
        spec = {"drivers": drivers}
        self.case.objects.append({"apiVersion": STORAGE, "kind": "CSINode", "metadata": {"name": node}, "spec": spec})

    def _attachment(self, node: str) -> None:
        claim = self._bound("fit-a")
        source = {"persistentVolumeName": f"{claim}-pv"}
        meta = {"name": f"{claim}-{node}"}
        spec = {"attacher": DISKS, "nodeName": node, "source": source}
        self.case.objects.append({"apiVersion": STORAGE, "kind": "VolumeAttachment", "metadata": meta, "spec": spec})

    def _space(self) -> None:
        self.case.features["free space of a driver"] += 1
        topologies: list[Plain] = [{"matchLabels": {ZONE: zone}} for zone in ("z-a", "z-b", "z-c")]
        topologies += [{"matchLabels": {HOST: node["metadata"]["labels"][HOST]}} for node in self.case.nodes[:2]]
        topologies.append({"matchExpressions": [{"key": ZONE, "operator": "DoesNotExist"}]})
        for topology in self.random.sample(topologies, self.random.randint(1, len(topologies))):
            item: Plain = {
                "apiVersion": STORAGE,
                "kind": "CSIStorageCapacity",
                "metadata": {"name": self._name(), "namespace": "fit-a"},
                "storageClassName": SPACE_LATE,
                "nodeTopology": topology,
                "capacity": self.random.choice(("4Gi", "8Gi", "20Gi", "20Gi")),
            }
            if self.chance(0.3, "largest volume of a driver"):
                item["maximumVolumeSize"] = self.random.choice(("4Gi", "12Gi"))
            self.case.objects.append(item)


def volume_for(claim: Plain, driver: str) -> Plain:
    """Return the volume that a driver makes for a claim: reachable from everywhere, bound to the claim."""
    meta = claim["metadata"]
    reference: Plain = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": meta["namespace"],
        "name": meta["name"],
        **({"uid": meta["uid"]} if "uid" in meta else {}),
    }
    spec: dict[str, Any] = {
        "capacity": claim["spec"]["resources"]["requests"],
        "accessModes": claim["spec"]["accessModes"],
        "storageClassName": claim["spec"]["storageClassName"],
        "persistentVolumeReclaimPolicy": "Retain",
        "claimRef": reference,
        "csi": {"driver": driver, "volumeHandle": f"{meta['namespace']}-{meta['name']}"},
    }
    annotations = {"pv.kubernetes.io/provisioned-by": driver}
    name = f"{meta['name']}-pv"
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": annotations},
        "spec": spec,
    }
