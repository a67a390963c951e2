# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod demand: one pod that a DGD will ask the scheduler to place. ``render`` makes them, ``fit`` places them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .errors import InputError, shown

#: A Kubernetes object as plain data, the way the API serves it.
K8sObject = Mapping[str, Any]
Role = Literal["main", "leader", "worker"]
ROLES: tuple[Role, ...] = ("main", "leader", "worker")


@dataclass(frozen=True)
class Gang:
    """Pods that are placed all together or not at all.

    ``min_members`` is how many of the gang's pods must be placed at once. ``topology_key`` is the node label in one
    of whose domains all of them must lie (Grove's pack constraint), or empty.
    """

    name: str
    min_members: int
    topology_key: str = ""


@dataclass(frozen=True)
class PodDemand:
    """One pod to be placed.

    ``name`` is stable and unique in the DGD (``agg-worker-0``, multinode ``agg-decode-0-ldr``, ``agg-decode-0-wkr-1``);
    ``component`` is the DGD's own name for the component; ``replica`` counts from 0; ``pod`` is the whole Pod (metadata
    with namespace and labels, and spec). ``unknown`` holds the reasons for which it cannot be judged faithfully.
    """

    name: str
    component: str
    role: Role
    replica: int
    pod: K8sObject
    gangs: tuple[Gang, ...] = ()
    unknown: tuple[str, ...] = field(default=())

    def to_result(self) -> dict[str, Any]:
        """Return the demand as plain data for a module's return value."""
        return {
            "name": self.name,
            "component": self.component,
            "role": self.role,
            "replica": self.replica,
            "pod": dict(self.pod),
            "gangs": [
                {"name": gang.name, "min_members": gang.min_members, "topology_key": gang.topology_key}
                for gang in self.gangs
            ],
            "unknown": list(self.unknown),
        }

    @classmethod
    def from_result(cls, data: object, where: str = "pods") -> PodDemand:
        """Read back what :meth:`to_result` gave; raise :class:`InputError` naming the field that is wrong."""
        if not isinstance(data, Mapping):
            raise InputError("a pod demand must be a mapping", where=where, found=shown(data))
        pod = data.get("pod")
        if not isinstance(pod, Mapping) or not isinstance(pod.get("spec"), Mapping):
            raise InputError("a pod demand needs a pod with a spec", where=where, field="pod", found=shown(pod))
        role = data.get("role", "main")
        replica = data.get("replica", 0)
        if role not in ROLES:
            raise InputError("unknown role", where=where, field="role", found=shown(role))
        if isinstance(replica, bool) or not isinstance(replica, int) or replica < 0:
            raise InputError(
                "replica must be a whole number from 0", where=where, field="replica", found=shown(replica)
            )
        gangs = data.get("gangs") or []
        if not isinstance(gangs, list) or not all(isinstance(gang, Mapping) and gang.get("name") for gang in gangs):
            raise InputError(
                "gangs must be a list of mappings with a name", where=where, field="gangs", found=shown(gangs)
            )
        return cls(
            name=str(data.get("name") or pod.get("metadata", {}).get("name") or ""),
            component=str(data.get("component") or ""),
            role=role,
            replica=replica,
            pod=pod,
            gangs=tuple(
                Gang(str(gang["name"]), int(gang.get("min_members", 1)), str(gang.get("topology_key") or ""))
                for gang in gangs
            ),
            unknown=tuple(str(reason) for reason in data.get("unknown") or ()),
        )
