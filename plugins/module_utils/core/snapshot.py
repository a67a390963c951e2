# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A snapshot: one read-only look at a cluster, so that every judgement also runs offline, from a file.

Plain JSON (``docs/schemas/snapshot.schema.json``); this file says what is collected and gives a typed view of it. What
could not be read is recorded as such, for a judge must not take it for empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from .demand import K8sObject
from .docker_secrets import SecretEntry
from .errors import InputError, shown
from .kinds import KINDS, Kind
from .operator_facts import OperatorFacts
from .trim import (
    Plain,
    Trim,
    trim_claim,
    trim_config_map,
    trim_csi_driver,
    trim_csi_node,
    trim_endpoint_slice,
    trim_event,
    trim_limit_range,
    trim_name,
    trim_node,
    trim_persistent_volume,
    trim_priority_class,
    trim_quota,
    trim_runtime_class,
    trim_secret,
    trim_service,
    trim_service_account,
    trim_storage_capacity,
    trim_storage_class,
    trim_topology,
    trim_volume_attachment,
    trim_workload,
)

SCHEMA = "inference_ops.dynamo/snapshot/v1"
State = Literal["observed", "forbidden", "absent", "error", "not_collected"]
STATES: tuple[State, ...] = ("observed", "forbidden", "absent", "error", "not_collected")
Scope = Literal["cluster", "namespace"]


@dataclass(frozen=True)
class Collected:
    """A kind that a snapshot can hold: where it is listed, how it is cut down, whether it is taken unasked."""

    kind: Kind
    trim: Trim
    scope: Scope
    unasked: bool = True


def _table(*rows: tuple[str, Trim, Scope, bool]) -> Mapping[str, Collected]:
    return {KINDS[name].plural: Collected(KINDS[name], trim, scope, unasked) for name, trim, scope, unasked in rows}


#: In the order in which they are read. Pods and CustomResourceDefinitions have their own way in ``collect``.
COLLECTED: Mapping[str, Collected] = _table(
    ("Namespace", trim_name, "cluster", True),
    ("Node", trim_node, "cluster", True),
    ("Pod", trim_workload, "cluster", True),
    ("PersistentVolumeClaim", trim_claim, "namespace", True),
    ("PersistentVolume", trim_persistent_volume, "cluster", True),
    ("StorageClass", trim_storage_class, "cluster", True),
    # Of these four only what can matter is read (csi.matters).
    ("CSINode", trim_csi_node, "cluster", True),
    ("CSIDriver", trim_csi_driver, "cluster", True),
    ("VolumeAttachment", trim_volume_attachment, "cluster", True),
    ("CSIStorageCapacity", trim_storage_capacity, "cluster", True),
    ("ResourceQuota", trim_quota, "namespace", True),
    ("LimitRange", trim_limit_range, "namespace", True),
    ("PriorityClass", trim_priority_class, "cluster", True),
    ("RuntimeClass", trim_runtime_class, "cluster", True),
    ("ServiceAccount", trim_service_account, "namespace", True),
    ("ConfigMap", trim_config_map, "namespace", True),
    ("Secret", trim_secret, "namespace", True),
    ("CustomResourceDefinition", trim_name, "cluster", True),
    ("DynamoGraphDeployment", trim_workload, "namespace", True),
    ("DynamoComponentDeployment", trim_workload, "namespace", True),
    ("DynamoGraphDeploymentRequest", trim_workload, "namespace", False),
    ("DynamoWorkerMetadata", trim_workload, "namespace", True),
    ("Deployment", trim_workload, "namespace", True),
    ("LeaderWorkerSet", trim_workload, "namespace", True),
    ("PodCliqueSet", trim_workload, "namespace", True),
    ("PodClique", trim_workload, "namespace", False),
    ("PodCliqueScalingGroup", trim_workload, "namespace", False),
    ("PodGang", trim_workload, "namespace", False),
    ("ClusterTopology", trim_topology, "cluster", True),
    ("ClusterTopologyBinding", trim_topology, "cluster", True),
    ("PodGroup", trim_workload, "namespace", False),
    ("Service", trim_service, "namespace", True),
    ("EndpointSlice", trim_endpoint_slice, "namespace", True),
    ("ReplicaSet", trim_workload, "namespace", False),
    ("StatefulSet", trim_workload, "namespace", False),
    ("Job", trim_workload, "namespace", False),
    ("Event", trim_event, "namespace", False),
    ("DeviceClass", trim_name, "cluster", False),
    ("ResourceSlice", trim_workload, "cluster", False),
    ("ResourceClaim", trim_workload, "namespace", True),
    ("ResourceClaimTemplate", trim_workload, "namespace", True),
)
UNASKED: tuple[str, ...] = tuple(name for name, entry in COLLECTED.items() if entry.unasked)


@dataclass(frozen=True)
class KindState:
    """How the reading of one kind went. ``detail`` says what is missing: a permission, an API, an answer.

    ``partial`` names the part that was read all the same, such as ``namespace ml``.
    """

    state: State
    detail: str = ""
    partial: str = ""

    def to_plain(self) -> dict[str, str]:
        """Return the state as it stands in a snapshot."""
        result: dict[str, str] = {"state": self.state, "detail": self.detail}
        return {**result, "partial": self.partial} if self.partial else result


@dataclass(frozen=True)
class Snapshot:
    """A typed view of a snapshot; ``data`` is the whole of it."""

    data: Mapping[str, Any]
    namespace: str
    context: str
    taken_at: str
    server_version: str
    kinds: Mapping[str, KindState]
    secrets: tuple[SecretEntry, ...] = ()
    operator: OperatorFacts = field(default_factory=OperatorFacts)

    def state(self, plural: str) -> KindState:
        """Return how the reading of a kind went; a kind that nobody asked for was not collected."""
        return self.kinds.get(plural, KindState("not_collected", "the snapshot does not hold this kind"))

    def items(self, plural: str) -> tuple[K8sObject, ...]:
        """Return the objects of a kind, none where it was not observed."""
        return tuple(self.data.get(plural) or ())

    def find(self, plural: str, name: str) -> K8sObject | None:
        """Return the object of this name; namespaced kinds hold those of the snapshot's namespace."""
        return next((item for item in self.items(plural) if name_of(item) == name), None)

    def exists(self, plural: str, name: str) -> bool | None:
        """Say whether an object exists; None where that cannot be known.

        A Secret that was asked for by name can be known even where listing is forbidden.
        """
        if self.find(plural, name) is not None:
            return True
        checked = (self.data.get("checked") or {}).get(plural) or {}
        if name in checked:
            return {"observed": True, "absent": False}.get(str(checked[name]))
        return False if self.state(plural).state in ("observed", "absent") else None

    @property
    def api_groups(self) -> frozenset[str] | None:
        """The API groups that the server offers, or None where discovery failed."""
        return frozenset(self.data["api_groups"]) if self.state("api_groups").state == "observed" else None

    @classmethod
    def from_plain(cls, data: object, where: str = "snapshot") -> Snapshot:
        """Check a snapshot and return a view of it; raise :class:`InputError` naming the file and the field."""
        if not isinstance(data, Mapping):
            raise InputError("a snapshot must be a JSON object", where=where, found=shown(type(data).__name__))
        if data.get("schema") != SCHEMA:
            raise InputError(
                "not a snapshot of this collection",
                where=where,
                field="schema",
                found=shown(data.get("schema")),
                remedy=f"It must be {SCHEMA}; take one with inference_ops.dynamo.cluster_info",
            )
        for name in ("taken_at", "context", "server_version", "namespace"):
            if not isinstance(data.get(name), str):
                raise InputError("must be text", where=where, field=name, found=shown(data.get(name)))
        kinds = _kind_states(data.get("kinds"), where)
        _check_lists(data, where)
        _check_answers(data, where)
        return cls(
            data=data,
            namespace=data["namespace"],
            context=data["context"],
            taken_at=data["taken_at"],
            server_version=data["server_version"],
            kinds=kinds,
            secrets=tuple(SecretEntry.from_snapshot(item, f"{where}: secrets") for item in data.get("secrets") or ()),
            operator=OperatorFacts.from_plain(data.get("operator") or {}, where),
        )


def name_of(item: K8sObject) -> str:
    """Return an object's name; secrets and config maps of a snapshot hold theirs at the top."""
    metadata = item.get("metadata")
    return str((metadata if isinstance(metadata, Mapping) else item).get("name") or "")


def _kind_states(data: object, where: str) -> dict[str, KindState]:
    if not isinstance(data, Mapping):
        raise InputError("must say of each kind how its reading went", where=where, field="kinds", found=shown(data))
    result = {}
    for name, entry in data.items():
        state = entry.get("state") if isinstance(entry, Mapping) else None
        if state not in STATES:
            raise InputError(
                f"must be one of {', '.join(STATES)}", where=where, field=f"kinds.{name}.state", found=shown(state)
            )
        result[str(name)] = KindState(
            cast("State", state), str(entry.get("detail") or ""), str(entry.get("partial") or "")
        )
    return result


#: Lists at the top of a snapshot that hold no objects.
_NO_OBJECTS = frozenset({"api_groups", "api_versions", "api_resources", "dry_runs"})


def _check_lists(data: Mapping[str, Any], where: str) -> None:
    for name in (*COLLECTED, *_NO_OBJECTS):
        value = data.get(name)
        if value is None:
            continue
        if not isinstance(value, list):
            raise InputError("must be a list", where=where, field=name, found=shown(type(value).__name__))
        for index, item in enumerate(() if name in _NO_OBJECTS else value):
            if not isinstance(item, Mapping) or not name_of(item):
                raise InputError("must be an object with a name", where=where, field=f"{name}[{index}]")
            for part in ("spec", "status"):
                if not isinstance(item.get(part) or {}, Mapping):
                    raise InputError("must be a mapping", where=where, field=f"{name}[{index}].{part}")


def _check_answers(data: Mapping[str, Any], where: str) -> None:
    """Check what was asked for by name, and what the server said to the dry runs."""
    checked = data.get("checked") or {}
    if not isinstance(checked, Mapping) or not all(isinstance(names, Mapping) for names in checked.values()):
        raise InputError("must map kinds to names", where=where, field="checked", found=shown(checked))
    for index, run in enumerate(data.get("dry_runs") or ()):
        if not isinstance(run, Mapping) or not isinstance(run.get("outcome"), str):
            raise InputError("must be a mapping with an outcome", where=where, field=f"dry_runs[{index}]")


def unknown_kinds(names: Iterable[str]) -> list[str]:
    """Return those names that no snapshot can hold."""
    return [name for name in names if name not in COLLECTED]


@dataclass
class SnapshotBuilder:
    """Gathers a snapshot while a cluster is read."""

    namespace: str
    context: str
    taken_at: str
    server_version: str = ""
    kinds: dict[str, KindState] = field(default_factory=dict)
    lists: dict[str, list[Any]] = field(default_factory=dict)
    checked: dict[str, dict[str, str]] = field(default_factory=dict)
    operator: OperatorFacts = field(default_factory=OperatorFacts)

    def observed(self, plural: str, items: list[Any], partial: str = "") -> None:
        """Record a kind that was read whole."""
        self.lists[plural] = items
        self.kinds[plural] = KindState("observed", partial=partial)

    def missing(self, plural: str, state: State, detail: str, items: Iterable[Plain] = (), partial: str = "") -> None:
        """Record a kind that was not read, or only in part."""
        self.lists[plural] = list(items)
        self.kinds[plural] = KindState(state, detail, partial)

    def to_plain(self, api_requests: int) -> dict[str, Any]:
        """Return the snapshot as plain data."""
        return {
            "schema": SCHEMA,
            "taken_at": self.taken_at,
            "context": self.context,
            "server_version": self.server_version,
            "namespace": self.namespace,
            "kinds": {name: state.to_plain() for name, state in self.kinds.items()},
            **self.lists,
            "checked": self.checked,
            "operator": self.operator.to_plain(),
            "api_requests": api_requests,
        }
