# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many volumes of a driver a node can attach: the scheduler's NodeVolumeLimits.

Source: Kubernetes 1.36 ``plugins/nodevolumelimits/csi.go``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..csi import Attachment, limits_of, of_volume
from ..demand import K8sObject
from .model import metadata
from .volumes import PodVolumes, Storage

NONE: Mapping[str, int] = {}
#: Per driver the names of volumes and how many pods use each.
Used = dict[str, dict[str, int]]


@dataclass(frozen=True)
class VolumeLimits:
    """By node position: the most volumes of each driver, and volumes attached there that no pod uses."""

    most: Mapping[int, Mapping[str, int]]
    lingering: Mapping[int, Mapping[str, int]]

    @property
    def drivers(self) -> frozenset[str]:
        """The drivers that some node limits."""
        return frozenset(driver for limits in self.most.values() for driver in limits)


NO_LIMITS = VolumeLimits({}, {})


def volume_limits(
    csi_nodes: Iterable[K8sObject],
    attachments: Iterable[K8sObject],
    storage: Storage,
    where: Mapping[str, int],
    bound: Iterable[tuple[K8sObject, int]],
) -> VolumeLimits:
    """Compile the limits; ``where`` is the position of each node, ``bound`` pods with their nodes' positions."""
    most = {}
    for one in csi_nodes:
        position = where.get(str(metadata(one).get("name")))
        limits = limits_of(one)
        if position is not None and limits:
            most[position] = limits
    if not most:
        return NO_LIMITS
    used = used_volumes(storage, bound, most.keys())
    lingering: dict[int, Counter[str]] = {}
    for node, volume in sorted(set(_attached(attachments, storage, where))):
        if volume.name not in used.get(node, {}).get(volume.driver, {}):
            lingering.setdefault(node, Counter())[volume.driver] += 1
    return VolumeLimits(most, lingering)


def _attached(
    attachments: Iterable[K8sObject], storage: Storage, where: Mapping[str, int]
) -> Iterator[tuple[int, Attachment]]:
    for one in attachments:
        spec = one.get("spec") or {}
        position = where.get(str(spec.get("nodeName")))
        volume = storage.volumes.get(str((spec.get("source") or {}).get("persistentVolumeName") or ""))
        found = of_volume(volume) if volume and (volume.get("spec") or {}).get("csi") else None
        if position is not None and found is not None and spec.get("attacher"):
            yield position, Attachment(str(spec["attacher"]), found.name)


def used_volumes(
    storage: Storage, bound: Iterable[tuple[K8sObject, int]], nodes: Iterable[int] | None = None
) -> dict[int, Used]:
    """Return by node position which volumes pods use there, of the nodes in ``nodes``."""
    found: dict[int, Used] = {}
    wanted = None if nodes is None else set(nodes)
    for pod, node in bound:
        if (wanted is None or node in wanted) and (pod.get("spec") or {}).get("volumes"):
            for volume in storage.used_by(pod):
                _count(found.setdefault(node, {}), volume, 1)
    return found


def _count(used: Used, volume: Attachment, change: int) -> None:
    names = used.setdefault(volume.driver, {})
    total = names.get(volume.name, 0) + change
    if total:
        names[volume.name] = total
    else:
        del names[volume.name]


def _names(volumes: Iterable[Attachment]) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for driver, name in volumes:
        found.setdefault(driver, []).append(name)
    return list(found.items())


class Attached:
    """Counts volumes on nodes while pods of groups come and go; costs nothing where no limited driver is wanted."""

    def __init__(
        self, limits: VolumeLimits, volumes: Sequence[PodVolumes], used: Mapping[int, Used], nodes: int
    ) -> None:
        drivers = limits.drivers
        #: Per group the volumes of limited drivers.
        self.wanted = [tuple(one for one in group.attaches if one.driver in drivers) for group in volumes]
        self.limits = limits
        self._by_driver = [_names(wanted) for wanted in self.wanted]
        self._known = frozenset(volume for volumes in self.wanted for volume in volumes)
        self._here: list[Used] = [
            {driver: dict(names) for driver, names in used.get(node, {}).items()}
            for node in range(nodes if self._known else 0)
        ]
        #: How many pods use each wanted volume, wherever they stand.
        self._users: Counter[Attachment] = Counter()
        for here in self._here:
            for driver, names in here.items():
                for name, count in names.items():
                    if Attachment(driver, name) in self._known:
                        self._users[Attachment(driver, name)] += count

    def exceeds(self, group: int, node: int) -> bool:
        """Return whether the pod's volumes that are new to the node are more than it takes."""
        if not self.wanted[group]:
            return False
        limits = self.limits.most.get(node, NONE)
        here = self._here[node]
        for driver, names in self._by_driver[group]:
            if driver in limits:
                held = here.get(driver, ())
                new = sum(name not in held for name in names)
                if new and new > self.room(node, driver):
                    return True
        return False

    def room(self, node: int, driver: str) -> int:
        """Return how many more volumes of a driver the node takes, which has a limit for it."""
        used = len(self._here[node].get(driver, ())) + self.limits.lingering.get(node, NONE).get(driver, 0)
        return self.limits.most[node][driver] - used

    def shift(self, group: int, node: int, change: int) -> None:
        """Count a pod of the group in (1) or out (-1)."""
        for volume in self.wanted[group]:
            _count(self._here[node], volume, change)
            self._users[volume] += change

    def anywhere(self, volume: Attachment) -> bool:
        """Return whether some node has the volume attached for a pod."""
        return self._users[volume] > 0

    def identity(self, node: int) -> object:
        """Return what of the node can matter to the groups here."""
        if not self._known:
            return ()
        limits = self.limits.most.get(node, NONE)
        return (
            tuple(sorted((driver, self.room(node, driver)) for driver in limits)),
            frozenset(one for one in self._known if one.name in self._here[node].get(one.driver, ())),
        )


def unread(kinds: Mapping[str, Any], volumes: PodVolumes, limits: VolumeLimits, storage: Storage) -> list[str]:
    """Return what of the notes on drivers could matter to the pod and could not be read.

    ``kinds`` are the snapshot's states. A kind that the snapshot does not name was not asked for, and is not judged.
    """

    def failed(kind: str) -> bool:
        return (kinds.get(kind) or {}).get("state") in ("forbidden", "error")

    found = []
    drivers = sorted({one.driver for one in volumes.attaches})
    if drivers and failed("csinodes"):
        found.append(f"how many volumes of {', '.join(drivers)} a node takes could not be read (csinodes)")
    elif limits.drivers.intersection(drivers) and failed("volumeattachments"):
        found.append("which volumes are still attached to nodes could not be read (volumeattachments)")
    made = sorted({claim.storage_class for claim in volumes.waiting if storage.provisions(claim.storage_class)})
    if made and failed("csidrivers"):
        found.append(f"whether class {', '.join(made)} tells its free storage could not be read (csidrivers)")
    elif any(map(storage.tells_space, made)) and failed("csistoragecapacities"):
        found.append(f"the free storage of class {', '.join(made)} could not be read (csistoragecapacities)")
    static = {claim.storage_class for claim in volumes.waiting} - set(made)
    for name in sorted(static if limits.most else ()):
        attachable = {one.driver for one in map(of_volume, storage.of_class(name)) if one}
        if attachable & limits.drivers:
            found.append(f"which volume of class {name} is bound, and what of it counts on a node, is known only then")
    return found
