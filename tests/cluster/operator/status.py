# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The DGD's status from its children, as the operator reports it. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import keys

from .groups import GROVE, LWS_LABEL

READY = "Ready"
ALL_READY = "all_resources_are_ready"
SOME_NOT_READY = "some_resources_are_not_ready"
FAILED = "failed_to_reconcile_the_resources"


@dataclass(frozen=True)
class ComponentState:
    """Replicas of one component; for groups of pods a replica is a whole group."""

    kind: str
    names: tuple[str, ...]
    wanted: int
    existing: int
    ready: int
    updated: int

    @property
    def is_ready(self) -> bool:
        return self.wanted == self.existing == self.ready == self.updated

    def to_status(self) -> dict[str, Any]:
        return {
            "componentKind": self.kind,
            "componentName": self.names[0] if self.names else "",
            "componentNames": list(self.names),
            "replicas": self.existing,
            "readyReplicas": self.ready,
            "availableReplicas": self.ready,
            "updatedReplicas": self.updated,
        }


def pod_ready(pod: Mapping[str, Any]) -> bool:
    """Whether the pod's condition Ready is true."""
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(item["type"] == READY and item["status"] == "True" for item in conditions)


def deployment_state(deployment: Mapping[str, Any]) -> ComponentState:
    status = deployment.get("status") or {}
    wanted = deployment["spec"].get("replicas", 1)
    current = status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
    return ComponentState(
        "Deployment",
        (deployment["metadata"]["name"],),
        wanted,
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        status.get("updatedReplicas", 0) if current else 0,
    )


def _groups(pods: Iterable[Mapping[str, Any]], labels: Sequence[str]) -> dict[tuple[str, ...], list[bool]]:
    groups: dict[tuple[str, ...], list[bool]] = defaultdict(list)
    for pod in pods:
        own = pod["metadata"].get("labels") or {}
        groups[tuple(own.get(label, "") for label in labels)].append(pod_ready(pod))
    return groups


def lws_state(sets: Sequence[Mapping[str, Any]], pods: Sequence[Mapping[str, Any]]) -> ComponentState:
    """All LeaderWorkerSets of one component together (release 1.1 has one for each replica)."""
    names = tuple(sorted(item["metadata"]["name"] for item in sets))
    size = sets[0]["spec"]["leaderWorkerTemplate"].get("size", 1)
    own = [pod for pod in pods if (pod["metadata"].get("labels") or {}).get(f"{LWS_LABEL}/name") in names]
    groups = _groups(own, (f"{LWS_LABEL}/name", f"{LWS_LABEL}/group-index"))
    ready = sum(len(flags) == size and all(flags) for flags in groups.values())
    wanted = sum(item["spec"].get("replicas", 1) for item in sets)
    return ComponentState("LeaderWorkerSet", names, wanted, len(groups), ready, len(groups))


def clique_state(clique: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> ComponentState:
    name = clique["metadata"]["name"]
    own = [pod for pod in pods if (pod["metadata"].get("labels") or {}).get(f"{GROVE}/podclique") == name]
    ready = sum(map(pod_ready, own))
    return ComponentState("PodClique", (name,), clique["spec"].get("replicas", 1), len(own), ready, len(own))


def scaling_group_state(
    group: Mapping[str, Any], cliques: Sequence[Mapping[str, Any]], pods: Sequence[Mapping[str, Any]]
) -> ComponentState:
    name = group["metadata"]["name"]
    replicas: dict[str, list[bool]] = defaultdict(list)
    for clique in cliques:
        labels = clique["metadata"].get("labels") or {}
        if labels.get(f"{GROVE}/podcliquescalinggroup") == name:
            index = labels[f"{GROVE}/podcliquescalinggroup-replica-index"]
            replicas[index].append(clique_state(clique, pods).is_ready)
    ready = sum(map(all, replicas.values()))
    return ComponentState(
        "PodCliqueScalingGroup", (name,), group["spec"].get("replicas", 1), len(replicas), ready, len(replicas)
    )


def component_states(children: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, ComponentState]:
    """States by component name. ``children``: live objects by kind, those being deleted left out."""
    states: dict[str, ComponentState] = {}
    pods = children.get("Pod", ())
    cliques = children.get("PodClique", ())

    def component(item: Mapping[str, Any]) -> str:
        return str((item["metadata"].get("labels") or {}).get(keys.LABEL_COMPONENT, ""))

    for deployment in children.get("Deployment", ()):
        states[component(deployment)] = deployment_state(deployment)
    sets: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for lws in children.get("LeaderWorkerSet", ()):
        sets[component(lws)].append(lws)
    for name, items in sets.items():
        states[name] = lws_state(items, pods)
    for clique in cliques:
        if f"{GROVE}/podcliquescalinggroup" not in clique["metadata"]["labels"]:
            states[component(clique)] = clique_state(clique, pods)
    for group in children.get("PodCliqueScalingGroup", ()):
        group_name = group["metadata"]["name"]
        members = [c for c in cliques if c["metadata"]["labels"].get(f"{GROVE}/podcliquescalinggroup") == group_name]
        if members:
            states[component(members[0])] = scaling_group_state(group, cliques, pods)
    states.pop("", None)
    return states


def condition(
    kind: str, good: bool, reason: str, message: str, generation: int, before: Sequence[Mapping[str, Any]], now: str
) -> dict[str, Any]:
    """A condition whose transition time moves only when its status does."""
    status = "True" if good else "False"
    old = next((item for item in before if item["type"] == kind), None)
    since = old["lastTransitionTime"] if old and old["status"] == status and "lastTransitionTime" in old else now
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": since,
    }


def dgd_status(
    dgd: Mapping[str, Any], wanted: Sequence[str], states: Mapping[str, ComponentState], errors: Sequence[str], now: str
) -> dict[str, Any]:
    """The whole status. ``wanted`` names the components of the DGD; ``errors`` are why nothing could be made."""
    before = (dgd.get("status") or {}).get("conditions") or []
    generation = dgd["metadata"]["generation"]
    waiting = [
        f"{name}: " + (f"{states[name].ready} of {states[name].wanted} ready" if name in states else "not there yet")
        for name in wanted
        if name not in states or not states[name].is_ready
    ]
    if errors:
        state, ready = "failed", condition(READY, False, FAILED, "; ".join(errors), generation, before, now)
    elif waiting:
        message = "Resources not ready: " + "; ".join(waiting)
        state, ready = "pending", condition(READY, False, SOME_NOT_READY, message, generation, before, now)
    else:
        state = "successful"
        ready = condition(READY, True, ALL_READY, "All resources are ready", generation, before, now)
    # v1alpha1 calls its components services.
    field = "services" if (dgd["spec"].get("services")) else "components"
    parts = {name: states[name].to_status() for name in wanted if name in states}
    return {"observedGeneration": generation, "state": state, "conditions": [ready], field: parts}
