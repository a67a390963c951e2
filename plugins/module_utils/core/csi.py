# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Storage drivers: whose a volume is, and which of the cluster's notes on drivers matter to a placement.

Source: Kubernetes 1.36 ``plugins/nodevolumelimits/csi.go``, ``csi-translation-lib``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .demand import K8sObject

NO_PROVISIONER = "kubernetes.io/no-provisioner"
LATE_BINDING = "WaitForFirstConsumer"
#: Without these, and without nodes, nothing is judged that the notes on drivers could change.
_STORAGE = ("persistentvolumes", "storageclasses")


@dataclass(frozen=True)
class InTree:
    """A disk that Kubernetes once mounted itself, and the driver that stands in for it."""

    source: str
    handle: str
    provisioner: str
    driver: str


#: Those that the scheduler counts as their driver's.
IN_TREE: tuple[InTree, ...] = (
    InTree("awsElasticBlockStore", "volumeID", "kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    InTree("gcePersistentDisk", "pdName", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    InTree("azureDisk", "diskURI", "kubernetes.io/azure-disk", "disk.csi.azure.com"),
    InTree("cinder", "volumeID", "kubernetes.io/cinder", "cinder.csi.openstack.org"),
    InTree("portworxVolume", "volumeID", "kubernetes.io/portworx-volume", "pxd.portworx.com"),
)
_DRIVER_OF: Mapping[str, str] = {one.provisioner: one.driver for one in IN_TREE}


class Attachment(NamedTuple):
    """One volume that a node has to attach: its driver, and what tells it from the driver's other volumes."""

    driver: str
    name: str


def _in_tree(source: Mapping[str, Any]) -> Attachment | None:
    for one in IN_TREE:
        if source.get(one.source):
            return Attachment(one.driver, str(source[one.source].get(one.handle) or ""))
    return None


def of_volume(volume: K8sObject) -> Attachment | None:
    """Return what a PersistentVolume attaches, or None where no driver counts it."""
    spec = volume.get("spec") or {}
    if spec.get("csi"):
        # A snapshot of an older release holds no handles; then every PersistentVolume is taken for another one.
        name = spec["csi"].get("volumeHandle") or (volume.get("metadata") or {}).get("name")
        return Attachment(str(spec["csi"].get("driver") or ""), str(name))
    return _in_tree(spec)


def of_disk(volume: Mapping[str, Any]) -> Attachment | None:
    """Return what a disk named in a pod attaches, or None where it is no such disk."""
    return _in_tree(volume)


def of_class(storage_class: K8sObject, namespace: str, claim: str) -> Attachment | None:
    """Return what a claim of the class attaches while it has no volume, or None where none is made for it."""
    provisioner = str(storage_class.get("provisioner") or "")
    if provisioner in ("", NO_PROVISIONER):
        return None
    return Attachment(_DRIVER_OF.get(provisioner, provisioner), f"claim {namespace}/{claim}")


def limits_of(csi_node: K8sObject) -> dict[str, int]:
    """Return how many volumes of each driver a CSINode takes; a driver without a number takes any."""
    found = {}
    for driver in (csi_node.get("spec") or {}).get("drivers") or ():
        count = (driver.get("allocatable") or {}).get("count")
        if count is not None:
            found[str(driver.get("name"))] = int(count)
    return found


def tells_space(driver: K8sObject) -> bool:
    """Return whether a CSIDriver publishes how much it can still provision."""
    return bool((driver.get("spec") or {}).get("storageCapacity"))


Lists = Mapping[str, Sequence[K8sObject]]


def _name(item: K8sObject) -> str:
    return str((item.get("metadata") or {}).get("name") or "")


def _provisioners(lists: Lists, late: bool = False) -> frozenset[str]:
    classes: Iterable[K8sObject] = lists.get("storageclasses") or ()
    names = {
        str(one.get("provisioner") or "") for one in classes if not late or one.get("volumeBindingMode") == LATE_BINDING
    }
    return frozenset(names - {"", NO_PROVISIONER})


def _attachable(lists: Lists) -> bool:
    volumes: Iterable[K8sObject] = lists.get("persistentvolumes") or ()
    return bool(_provisioners(lists)) or any(map(of_volume, volumes))


def _limited(lists: Lists) -> bool:
    return any(map(limits_of, lists.get("csinodes") or ()))


def _spacious(lists: Lists) -> bool:
    late = _provisioners(lists, late=True)
    return any(tells_space(one) and _name(one) in late for one in lists.get("csidrivers") or ())


#: By kind: what it builds on, and whether it can matter given that.
_MATTERS: Mapping[str, tuple[tuple[str, ...], Callable[[Lists], bool]]] = {
    "csinodes": (_STORAGE, _attachable),
    "csidrivers": (("storageclasses",), lambda lists: bool(_provisioners(lists, late=True))),
    "volumeattachments": (("csinodes",), _limited),
    "csistoragecapacities": (("csidrivers",), _spacious),
}
#: In the order in which they are to be read.
DRIVER_KINDS: tuple[str, ...] = tuple(_MATTERS)


def matters(kind: str, states: Mapping[str, str], lists: Lists) -> bool:
    """Return whether a kind has to be read, given the states and objects of the kinds read before it.

    What drivers say of nodes and of their free space is a request more for each kind, and most clusters need none of
    it. A kind that was asked for without volumes and classes is read.
    """
    if kind not in _MATTERS:
        return True
    if not any(one in states for one in _STORAGE):
        return True
    forerunners, judge = _MATTERS[kind]
    if any(states.get(one, "observed") != "observed" for one in ("nodes", *_STORAGE)):
        return False
    return all(states.get(one) == "observed" for one in forerunners) and judge(lists)
