# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a DGD as it was read, with the indexes that the judges need: all of it made in one pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any

from .. import keys
from ..demand import K8sObject, PodDemand
from ..errors import InputError

#: Where no time can be read.
NEVER = 0.0
#: What the recorder puts before the newest of many events that it keeps as one.
COMBINED = "(combined from similar events): "
#: The Deployment controller counts templates here, on each ReplicaSet; a roll-back counts on.
REVISION = "deployment.kubernetes.io/revision"


def seconds(text: object) -> float:
    """Return an RFC 3339 time as seconds since 1970, or 0 where it is none."""
    return _seconds(text) if isinstance(text, str) and text else NEVER


@lru_cache(maxsize=16384)
def _seconds(text: str) -> float:
    try:
        return datetime.fromisoformat(text[:-1] + "+00:00" if text[-1] in "Zz" else text).timestamp()
    except ValueError:
        return NEVER


def meta(obj: K8sObject) -> K8sObject:
    """Return an object's metadata."""
    found = obj.get("metadata")
    return found if isinstance(found, Mapping) else {}


def name_of(obj: K8sObject) -> str:
    """Return an object's name."""
    return str(meta(obj).get("name") or "")


def labels_of(obj: K8sObject) -> Mapping[str, str]:
    """Return an object's labels."""
    found = meta(obj).get("labels")
    return found if isinstance(found, Mapping) else {}


def created(obj: K8sObject) -> float:
    """Return when an object was created."""
    return seconds(meta(obj).get("creationTimestamp"))


def condition(obj: K8sObject, kind: str) -> K8sObject:
    """Return the condition of type ``kind``, or an empty mapping."""
    for one in (obj.get("status") or {}).get("conditions") or ():
        if isinstance(one, Mapping) and one.get("type") == kind:
            return one
    return {}


@dataclass(frozen=True)
class Event:
    """An event as the judges read it: either API's event, with its last time and how often it was seen."""

    reason: str
    message: str
    warning: bool
    kind: str
    name: str
    uid: str
    count: int
    first: float
    last: float
    container: str = ""

    @classmethod
    def read(cls, obj: K8sObject) -> Event:
        """Read a ``v1`` or an ``events.k8s.io/v1`` event."""
        about = obj.get("involvedObject") or obj.get("regarding") or {}
        series = obj.get("series") or {}
        first = seconds(obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp") or obj.get("eventTime"))
        last = seconds(
            series.get("lastObservedTime")
            or obj.get("lastTimestamp")
            or obj.get("deprecatedLastTimestamp")
            or obj.get("eventTime")
            or meta(obj).get("creationTimestamp")
        )
        path = str(about.get("fieldPath") or "")
        return cls(
            reason=str(obj.get("reason") or ""),
            message=str(obj.get("message") or obj.get("note") or "").removeprefix(COMBINED),
            warning=obj.get("type") == "Warning",
            kind=str(about.get("kind") or ""),
            name=str(about.get("name") or ""),
            uid=str(about.get("uid") or ""),
            count=int(series.get("count") or obj.get("count") or obj.get("deprecatedCount") or 1),
            first=first or last,
            last=last,
            container=path[path.index("{") + 1 : -1] if path.endswith("}") and "{" in path else "",
        )


@dataclass(frozen=True)
class ComponentSpec:
    """A component as the DGD declares it."""

    name: str
    type: str
    replicas: int
    nodes: int

    @property
    def pods(self) -> int:
        """How many pods it has when it is whole."""
        return self.replicas * self.nodes


@dataclass(frozen=True)
class ClusterState:
    """What was read, and when.

    ``objects`` maps a plural (``pods``, ``events``, ``replicasets``…) to the objects of the namespace; a plural that is
    missing was not read. ``nodes`` and ``cluster_pods`` (all bound pods) are ``None`` where they may not be read.
    ``logs`` maps ``pod``, ``pod/container`` or either with `` (previous)`` to last log lines. ``now`` is in seconds
    since 1970. ``demands`` are the rendered pods, where known.
    """

    now: float
    dgd: str
    objects: Mapping[str, Sequence[K8sObject]]
    nodes: Sequence[K8sObject] | None = None
    cluster_pods: Sequence[K8sObject] | None = None
    logs: Mapping[str, str] = field(default_factory=dict)
    demands: tuple[PodDemand, ...] = ()

    def of(self, plural: str) -> Sequence[K8sObject]:
        """Return the objects of a plural; nothing where they were not read."""
        return self.objects.get(plural) or ()

    @cached_property
    def graph(self) -> K8sObject | None:
        """The DGD itself."""
        return next((one for one in self.of("dynamographdeployments") if name_of(one) == self.dgd), None)

    @cached_property
    def by_uid(self) -> dict[str, K8sObject]:
        """Every object that was read except events, by UID."""
        return {
            uid: obj
            for plural, objects in self.objects.items()
            if plural != "events"
            for obj in objects
            if (uid := str(meta(obj).get("uid") or ""))
        }

    @cached_property
    def _told(self) -> dict[tuple[str, str], list[K8sObject]]:
        """Events as they are, by (kind, name) of what they are about; most are never looked at."""
        found: dict[tuple[str, str], list[K8sObject]] = defaultdict(list)
        for obj in self.of("events"):
            about = obj.get("involvedObject") or obj.get("regarding") or {}
            found[str(about.get("kind")), str(about.get("name"))].append(obj)
        return found

    def events_of(self, kind: str, obj: K8sObject) -> list[Event]:
        """Return the live events about ``obj``, the newest last: those of an earlier object of its name are stale."""
        uid = str(meta(obj).get("uid") or "")
        found = [Event.read(told) for told in self._told.get((kind, name_of(obj)), ())]
        return sorted(
            (event for event in found if event.uid in ("", uid) or not uid),
            key=lambda event: event.last,
        )

    @cached_property
    def components(self) -> tuple[ComponentSpec, ...]:
        """The components that the DGD declares, in either API version, by name."""
        return tuple(_components(self.graph or {}))

    def component_of(self, obj: K8sObject) -> str:
        """Return the component that an object belongs to: by its labels, its owners' labels, or its owner's name."""
        current: K8sObject | None = obj
        for _unused in range(6):
            if current is None:
                break
            label = labels_of(current).get(keys.LABEL_COMPONENT) or _template_labels(current).get(keys.LABEL_COMPONENT)
            if label:
                return str(label)
            current = self._owner(current)
        return ""

    def belongs(self, obj: K8sObject) -> bool:
        """Return whether an object is part of this DGD: by label, or through its owners."""
        current: K8sObject | None = obj
        for _unused in range(6):
            if current is None:
                return False
            label = labels_of(current).get(keys.LABEL_DGD) or _template_labels(current).get(keys.LABEL_DGD)
            if label:
                return bool(label == self.dgd)
            for owner in meta(current).get("ownerReferences") or ():
                if owner.get("kind") == keys.DGD_KIND:
                    return bool(owner.get("name") == self.dgd)
            current = self._owner(current)
        return False

    @cached_property
    def pods(self) -> tuple[K8sObject, ...]:
        """The pods of this DGD; all pods of the namespace that are nobody else's where it has no name."""
        if not self.dgd:
            return tuple(self.of("pods"))
        return tuple(pod for pod in self.of("pods") if self.belongs(pod))

    def mine(self, plural: str) -> Iterator[K8sObject]:
        """Yield the objects of a plural that are part of this DGD."""
        return (obj for obj in self.of(plural) if not self.dgd or self.belongs(obj))

    def superseded(self, pod: K8sObject) -> bool:
        """Return whether a pod is of an older template of its Deployment than the newest ReplicaSet's."""
        return any(owner.get("uid") in self._old_replicasets for owner in meta(pod).get("ownerReferences") or ())

    @cached_property
    def _old_replicasets(self) -> frozenset[str]:
        newest: dict[str, tuple[int, str]] = {}
        revisions: list[tuple[str, int, str]] = []
        for one in self.of("replicasets"):
            owner = next((owner for owner in meta(one).get("ownerReferences") or () if owner.get("controller")), None)
            revision = str((meta(one).get("annotations") or {}).get(REVISION) or "")
            if owner is None or not revision.isdigit():
                continue
            deployment, uid = str(owner.get("uid")), str(meta(one).get("uid") or "")
            revisions.append((deployment, int(revision), uid))
            newest[deployment] = max(newest.get(deployment, (0, "")), (int(revision), uid))
        return frozenset(uid for deployment, revision, uid in revisions if revision < newest[deployment][0] and uid)

    def _owner(self, obj: K8sObject) -> K8sObject | None:
        owners = meta(obj).get("ownerReferences") or ()
        controller = next((one for one in owners if one.get("controller")), owners[0] if owners else None)
        return self.by_uid.get(str(controller.get("uid"))) if controller else None

    @cached_property
    def node_of(self) -> dict[str, K8sObject]:
        """The nodes by name."""
        return {name_of(node): node for node in self.nodes or ()}


def _template_labels(obj: K8sObject) -> Mapping[str, str]:
    template = (obj.get("spec") or {}).get("template")
    return labels_of(template) if isinstance(template, Mapping) else {}


def _components(dgd: K8sObject) -> Iterator[ComponentSpec]:
    spec = dgd.get("spec") or {}
    services = spec.get("services")
    declared: Iterable[tuple[str, K8sObject]] = ()
    if isinstance(services, Mapping):
        declared = ((str(name), one) for name, one in services.items())
    elif isinstance(spec.get("components"), list):
        declared = ((str(one.get("name") or ""), one) for one in spec["components"] if isinstance(one, Mapping))
    for name, one in sorted(declared, key=lambda pair: pair[0]):
        body = one if isinstance(one, Mapping) else {}
        multinode = body.get("multinode")
        yield ComponentSpec(
            name=name,
            type=str(body.get("componentType") or body.get("type") or ""),
            replicas=_whole(body.get("replicas"), 1),
            nodes=_whole(multinode.get("nodeCount"), 2) if isinstance(multinode, Mapping) else 1,
        )


def _whole(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


def from_dumps(objects: Mapping[str, Sequence[K8sObject]]) -> dict[str, tuple[K8sObject, ...]]:
    """Return objects keyed by bare plural (``deployments.apps`` is ``deployments``), the same ones joined."""
    joined: dict[str, list[K8sObject]] = defaultdict(list)
    for plural, found in objects.items():
        joined[plural.split(".")[0].lower()].extend(one for one in found or () if isinstance(one, Mapping))
    return {plural: tuple(found) for plural, found in joined.items()}


def from_snapshot(snapshot: Mapping[str, Any], dgd: str, where: str = "snapshot") -> ClusterState:
    """Return the state that a snapshot holds; kinds that were not read are left out, so that they count as unknown."""
    kinds = snapshot.get("kinds")
    noted = kinds if isinstance(kinds, Mapping) else {}
    objects: dict[str, tuple[K8sObject, ...]] = {}
    for plural, found in snapshot.items():
        if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
            continue
        entry = noted.get(plural)
        state = entry.get("state") if isinstance(entry, Mapping) else "observed"
        if state in ("observed", "absent"):
            objects[plural] = tuple(found)
    if not objects:
        raise InputError("holds no kind that was read", where=where)
    nodes = objects.get("nodes")
    bound = tuple(pod for pod in objects.get("pods", ()) if (pod.get("spec") or {}).get("nodeName"))
    return ClusterState(seconds(snapshot.get("taken_at")), dgd, objects, nodes, bound if nodes else None)
