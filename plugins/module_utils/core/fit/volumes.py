# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims and volumes as the scheduler's VolumeBinding, VolumeZone and VolumeRestrictions see them; attach.py counts.

Source: Kubernetes 1.36 ``plugins/volumebinding``, ``plugins/volumezone``, component-helpers ``storage/volume``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat

from ..csi import LATE_BINDING, NO_PROVISIONER, Attachment, of_class, of_disk, of_volume, tells_space
from ..demand import K8sObject
from ..podresources import amount
from . import reasons
from .model import claim_names, labels_of, metadata, namespace_of
from .selectors import EVERYTHING, Labels, Selector, any_term, label_selector, node_terms

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
ONCE_POD = "ReadWriteOncePod"
TOPOLOGY_LABELS: Mapping[str, str] = {
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}

ClaimKey = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True)
class Claim:
    """One unbound claim that waits for its first consumer."""

    key: ClaimKey
    size: int
    storage_class: str
    modes: frozenset[str]
    source: K8sObject
    selected_node: str = ""


@dataclass(frozen=True)
class PodVolumes:
    """What a pod's volumes ask of the nodes.

    ``failure`` holds for the whole cluster, ``unknown`` are the limits of our own judgement.
    """

    failure: str = ""
    bound: tuple[str, ...] = ()
    waiting: tuple[Claim, ...] = ()
    once: tuple[ClaimKey, ...] = ()
    unknown: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    attaches: tuple[Attachment, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.failure or self.bound or self.waiting or self.once or self.attaches)


NO_VOLUMES = PodVolumes()


def _name(source: K8sObject) -> str:
    return str(metadata(source).get("name") or "")


def _class_of(source: K8sObject) -> str:
    annotated = (metadata(source).get("annotations") or {}).get(CLASS_ANNOTATION)
    return str(annotated if annotated is not None else (source.get("spec") or {}).get("storageClassName") or "")


def _to_be_bound(claim: K8sObject) -> bool:
    return not (claim.get("spec") or {}).get("volumeName")


def _size(resources: object) -> int:
    storage = resources.get("storage") if isinstance(resources, Mapping) else None
    found = amount("storage", storage) if storage is not None else 0
    return int(found)


@dataclass
class Storage:
    """The cluster's claims, volumes and classes, indexed."""

    claims: dict[ClaimKey, K8sObject] = field(default_factory=dict)
    volumes: dict[str, K8sObject] = field(default_factory=dict)
    classes: dict[str, K8sObject] = field(default_factory=dict)
    #: Claims that will be made before the pods are.
    planned: frozenset[ClaimKey] = frozenset()
    readable: bool = True
    drivers: dict[str, K8sObject] = field(default_factory=dict)
    #: By class what its driver says it can still make, and for which nodes.
    space: dict[str, Space] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        claims: Iterable[K8sObject],
        volumes: Iterable[K8sObject],
        classes: Iterable[K8sObject],
        planned: Iterable[K8sObject] = (),
        readable: bool = True,
        drivers: Iterable[K8sObject] = (),
        capacities: Iterable[K8sObject] = (),
    ) -> Storage:
        """Index the objects; a planned claim that exists already counts as it is in the cluster.

        One that is not bound yet stays planned: whoever planned it waits for it before there are pods.
        """
        held = {(namespace_of(claim), _name(claim)): claim for claim in claims}
        coming = {(namespace_of(claim), _name(claim)): claim for claim in planned}
        space: dict[str, Space] = {}
        for one in capacities:
            space.setdefault(str(one.get("storageClassName") or ""), Space()).add(one)
        return cls(
            claims={**coming, **held},
            volumes={_name(volume): volume for volume in volumes},
            classes={_name(one): one for one in classes},
            planned=frozenset(key for key in coming if key not in held or _to_be_bound(held[key])),
            readable=readable,
            drivers={_name(one): one for one in drivers},
            space=space,
        )

    @cached_property
    def _owned(self) -> dict[ClaimKey, str]:
        """The volume of each claim, as volumes tell it: claims of other namespaces are not read."""
        found = {}
        for name, volume in self.volumes.items():
            reference = (volume.get("spec") or {}).get("claimRef")
            if reference:
                found[(str(reference.get("namespace") or "default"), str(reference.get("name") or ""))] = name
        return found

    def attachment(self, key: ClaimKey, claim: K8sObject | None) -> Attachment | None:
        """Return what a claim attaches, or None where no driver counts it."""
        if claim is None:
            return of_volume(self.volumes[self._owned[key]]) if key in self._owned else None
        volume = self.volumes.get(str((claim.get("spec") or {}).get("volumeName") or ""))
        if volume is not None:
            return of_volume(volume)
        return of_class(self.classes.get(self.class_name(claim)) or {}, *key)

    def used_by(self, pod: K8sObject) -> Iterator[Attachment]:
        """Yield what a standing pod has attached; a volume of which nothing is known does not count."""
        for name, _template in claim_names(pod):
            key = (namespace_of(pod), name)
            found = self.attachment(key, None if key in self.planned else self.claims.get(key))
            if found is not None:
                yield found
        for volume in (pod.get("spec") or {}).get("volumes") or ():
            disk = of_disk(volume)
            if disk is not None:
                yield disk

    def class_name(self, claim: K8sObject) -> str:
        """Return the claim's class; one that names none will get the default class."""
        spec = claim.get("spec") or {}
        if "storageClassName" in spec or _class_of(claim):
            return _class_of(claim)
        for name, one in sorted(self.classes.items()):
            if (metadata(one).get("annotations") or {}).get(DEFAULT_CLASS) == "true":
                return name
        return ""

    def look_up(self, pod: K8sObject) -> PodVolumes:
        """Say what the pod's claims ask of the nodes."""
        named = claim_names(pod)
        if not named:
            return NO_VOLUMES
        if not self.readable:
            return PodVolumes(unknown=("the cluster's claims or volumes could not be read",))
        namespace = namespace_of(pod)
        found = _Lookup(self)
        for name, template in named:
            failure = found.add((namespace, name), template)
            if failure:
                return PodVolumes(failure=failure)
        return found.result()

    def provisions(self, class_name: str) -> bool:
        """Return whether volumes of the class are made on demand."""
        provisioner = (self.classes.get(class_name) or {}).get("provisioner") or ""
        return provisioner not in ("", NO_PROVISIONER)

    def provisions_on(self, class_name: str, labels: Labels) -> bool:
        """Return whether a volume of the class can be made for a node with ``labels``."""
        if not self.provisions(class_name):
            return False
        topologies = self.classes[class_name].get("allowedTopologies") or ()
        return not topologies or any(
            all(
                labels.get(str(one.get("key"))) in (one.get("values") or ())
                for one in term.get("matchLabelExpressions") or ()
            )
            for term in topologies
        )

    def of_class(self, class_name: str) -> Iterator[K8sObject]:
        """Yield the volumes of a class."""
        return iter(self._by_class.get(class_name, ()))

    @cached_property
    def _by_class(self) -> dict[str, list[K8sObject]]:
        found: dict[str, list[K8sObject]] = {}
        for volume in self.volumes.values():
            found.setdefault(_class_of(volume), []).append(volume)
        return found

    def tells_space(self, class_name: str) -> bool:
        """Return whether the class's driver says how much it can still make."""
        provisioner = str((self.classes.get(class_name) or {}).get("provisioner") or "")
        return tells_space(self.drivers.get(provisioner) or {})

    def made_anywhere(self, claim: Claim) -> bool:
        """Return whether nothing about a node can keep it from getting a volume made for the claim."""
        name = claim.storage_class
        if not self.provisions(name) or self.classes[name].get("allowedTopologies") or self.tells_space(name):
            return False
        return not claim.selected_node and not self._suiting(claim)

    def why_not_made(self, claim: Claim, labels: Labels) -> str:
        """Return why no volume can be made for the claim on a node with ``labels``, or nothing."""
        if not self.provisions_on(claim.storage_class, labels):
            return reasons.VOLUME_BIND
        if not claim.size or not self.tells_space(claim.storage_class):
            return ""
        space = self.space.get(claim.storage_class)
        return "" if space is not None and space.has(claim.size, labels) else reasons.VOLUME_SPACE

    def is_placed(self, volume: str) -> bool:
        """Return whether a volume can rule a node out: it is gone, or it has rules or labels about its place."""
        if volume not in self.volumes:
            return True
        found = self.volumes[volume]
        return bool((found.get("spec") or {}).get("nodeAffinity") or labels_of(found).keys() & TOPOLOGY_LABELS.keys())

    def reachable(self, volume: str, labels: Labels) -> bool:
        """Return whether a node with ``labels`` meets the volume's node affinity."""
        affinity = ((self.volumes[volume].get("spec") or {}).get("nodeAffinity") or {}).get("required")
        terms = node_terms(affinity)
        return terms is None or any_term(terms, labels, "")

    def in_zone(self, volume: str, labels: Labels) -> bool:
        """Return whether the volume's zone and region labels agree with the node's, where the node has any."""
        if not any(key in labels for key in TOPOLOGY_LABELS):
            return True
        for key, stable in TOPOLOGY_LABELS.items():
            text = labels_of(self.volumes[volume]).get(key)
            if text is None:
                continue
            have = labels.get(key, labels.get(stable))
            if have is None or have not in {part.strip() for part in text.split("__")}:
                return False
        return True

    def node_reasons(self, volumes: PodVolumes, labels: Labels) -> tuple[str, ...]:
        """Return why the bound volumes rule a node out: VolumeBinding's reasons, else VolumeZone's."""
        for name in volumes.bound:
            if name not in self.volumes:
                return (reasons.VOLUME_GONE,)
            if not self.reachable(name, labels):
                return (reasons.VOLUME_NODE,)
        if all(self.in_zone(name, labels) for name in volumes.bound):
            return ()
        return (reasons.VOLUME_ZONE,)

    def match(self, claim: Claim, taken: Mapping[str, ClaimKey], labels: Labels | None) -> str | None:
        """Return the volume that the claim would be bound to: the pre-bound, else the smallest.

        ``labels`` are the node's; None stands for the volume controller, which binds before any node is known.
        """
        best: tuple[int, str] | None = None
        for name, size, prebound in self._suiting(claim):
            owner = taken.get(name)
            if owner not in (None, claim.key) or (labels is not None and not self.reachable(name, labels)):
                if prebound or owner == claim.key:
                    return None
                continue
            if prebound or owner is not None:
                return name
            if best is None or (size, name) < best:
                best = (size, name)
        return best[1] if best else None

    def _suiting(self, claim: Claim) -> list[tuple[str, int, bool]]:
        """Return the volumes that the claim may get: name, size, whether it is kept for the claim; those first."""
        if claim.key not in self._suit:
            found = [one for one in map(self._suits, repeat(claim), self.of_class(claim.storage_class)) if one]
            self._suit[claim.key] = sorted(found, key=lambda one: not one[2])
        return self._suit[claim.key]

    @cached_property
    def _suit(self) -> dict[ClaimKey, list[tuple[str, int, bool]]]:
        return {}

    def _suits(self, claim: Claim, volume: K8sObject) -> tuple[str, int, bool] | None:
        spec = volume.get("spec") or {}
        wanted = claim.source.get("spec") or {}
        reference = spec.get("claimRef") or {}
        size = _size(spec.get("capacity"))
        suits = (
            size >= claim.size
            and (spec.get("volumeMode") or "Filesystem") == (wanted.get("volumeMode") or "Filesystem")
            and (spec.get("volumeAttributesClassName") or "") == (wanted.get("volumeAttributesClassName") or "")
            and not metadata(volume).get("deletionTimestamp")
        )
        if reference:
            owner = (str(reference.get("namespace") or "default"), str(reference.get("name") or ""))
            return (_name(volume), size, True) if suits and owner == claim.key else None
        suits = suits and (volume.get("status") or {}).get("phase") == "Available" and _open_to(claim, volume)
        return (_name(volume), size, False) if suits else None


@dataclass
class Space:
    """The CSIStorageCapacity objects of one class: the largest volume that can be made, by the nodes' labels.

    Drivers of local disks have one object a node, so those that ask for one label are found by it.
    """

    by_label: dict[tuple[str, str], int] = field(default_factory=dict)
    others: list[tuple[Selector, int]] = field(default_factory=list)

    def add(self, capacity: K8sObject) -> None:
        """Take an object in; one without a topology or a size stands for no node."""
        most = capacity.get("maximumVolumeSize") or capacity.get("capacity")
        if most is None or capacity.get("nodeTopology") is None:
            return
        selector, size = label_selector(capacity["nodeTopology"]), int(amount("storage", most))
        only = selector.requirements[0] if len(selector.requirements) == 1 else None
        if only is not None and only.operator == "In" and len(only.values) == 1:
            label = (only.key, next(iter(only.values)))
            self.by_label[label] = max(size, self.by_label.get(label, 0))
        else:
            self.others.append((selector, size))

    def has(self, size: int, labels: Labels) -> bool:
        """Return whether a volume of ``size`` can be made for a node with ``labels``."""
        if any(self.by_label.get((key, labels.get(key, "")), -1) >= size for key in self._keys):
            return True
        return any(most >= size and selector.matches(labels) for selector, most in self.others)

    @cached_property
    def _keys(self) -> frozenset[str]:
        return frozenset(key for key, _value in self.by_label)


def _open_to(claim: Claim, volume: K8sObject) -> bool:
    selector = (claim.source.get("spec") or {}).get("selector")
    compiled = label_selector(selector) if selector is not None else EVERYTHING
    modes = frozenset((volume.get("spec") or {}).get("accessModes") or ())
    return claim.modes <= modes and compiled.matches(labels_of(volume))


class _Lookup:
    """Gathers one pod's claims; ``add`` answers the scheduler's PreFilter text where the pod can go nowhere."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.bound: list[str] = []
        self.waiting: dict[ClaimKey, Claim] = {}
        self.once: list[ClaimKey] = []
        self.unknown: list[str] = []
        self.notes: list[str] = []
        self.attaches: list[Attachment] = []

    def add(self, key: ClaimKey, template: K8sObject | None) -> str:
        claim = self.storage.claims.get(key)
        planned = key in self.storage.planned
        if claim is None and template is not None:
            claim, planned = {"metadata": {"namespace": key[0], "name": key[1]}, **template}, True
        if claim is None:
            return f'persistentvolumeclaim "{key[1]}" not found'
        spec = claim.get("spec") or {}
        if (claim.get("status") or {}).get("phase") == "Lost":
            return f'persistentvolumeclaim "{key[1]}" bound to non-existent persistentvolume "{spec.get("volumeName")}"'
        if metadata(claim).get("deletionTimestamp"):
            return f'persistentvolumeclaim "{key[1]}" is being deleted'
        if ONCE_POD in (spec.get("accessModes") or ()):
            self.once.append(key)
        attachment = self.storage.attachment(key, claim)
        if attachment is not None:
            self.attaches.append(attachment)
        volume = str(spec.get("volumeName") or "")
        if volume and BIND_COMPLETED in (metadata(claim).get("annotations") or {}):
            if volume not in self.storage.volumes and template is None:
                return f'persistentvolume "{volume}" not found'
            self.bound.append(volume)
            return ""
        return self._unbound(key, claim, volume, planned)

    def _unbound(self, key: ClaimKey, claim: K8sObject, volume: str, planned: bool) -> str:
        name = self.storage.class_name(claim)
        storage_class = self.storage.classes.get(name) or {}
        if storage_class.get("volumeBindingMode") == LATE_BINDING and not volume:
            spec = claim.get("spec") or {}
            self.waiting[key] = Claim(
                key=key,
                size=_size((spec.get("resources") or {}).get("requests")),
                storage_class=name,
                modes=frozenset(spec.get("accessModes") or ()),
                source=claim,
                selected_node=str((metadata(claim).get("annotations") or {}).get(SELECTED_NODE) or ""),
            )
            return ""
        if not planned:
            return reasons.UNBOUND_IMMEDIATE
        return self._planned(key, claim, volume, name)

    def _planned(self, key: ClaimKey, claim: K8sObject, volume: str, name: str) -> str:
        """Judge a claim that does not exist yet and will be bound at once, before any pod."""
        spec = claim.get("spec") or {}
        if volume:
            # A claim that names its volume gets that one or none.
            owner = ((self.storage.volumes.get(volume) or {}).get("spec") or {}).get("claimRef") or {}
            mine = not owner or (str(owner.get("namespace") or "default"), owner.get("name")) == key
            if volume not in self.storage.volumes or not mine:
                return reasons.UNBOUND_IMMEDIATE
            self.bound.append(volume)
        elif self.storage.provisions(name):
            text = f"claim {key[0]}/{key[1]} will be provisioned by class {name}; from which nodes its volume"
            if "ReadWriteMany" in (spec.get("accessModes") or ()):
                self.notes.append(f"{text} can be reached is taken to be: all")
            else:
                self.unknown.append(f"{text} can be reached is known only then")
        else:
            wanted = Claim(
                key,
                _size((spec.get("resources") or {}).get("requests")),
                name,
                frozenset(spec.get("accessModes") or ()),
                claim,
            )
            found = self.storage.match(wanted, {}, None)
            if found is None:
                return reasons.UNBOUND_IMMEDIATE
            self.bound.append(found)
            attachment = of_volume(self.storage.volumes[found])
            if attachment is not None:
                self.attaches.append(attachment)
        return ""

    def result(self) -> PodVolumes:
        return PodVolumes(
            bound=tuple(dict.fromkeys(self.bound)),
            waiting=tuple(sorted(self.waiting.values(), key=lambda claim: (claim.size, claim.key))),
            once=tuple(dict.fromkeys(self.once)),
            unknown=tuple(self.unknown),
            notes=tuple(self.notes),
            attaches=tuple(dict.fromkeys(self.attaches)),
        )
