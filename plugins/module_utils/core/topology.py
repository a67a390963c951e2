# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which workloads a DGD has, and which it should not have any more.

The operator does not delete a Deployment when a component becomes multinode (a LeaderWorkerSet), nor the other way
round; both then hold GPUs and answer. From operator 1.1 on a managed rolling update keeps the old generation on purpose
until the new one is ready: that is told apart by the DGD's ``status.rollingUpdate`` and its worker-hash annotation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from . import keys
from .demand import K8sObject
from .errors import InputError
from .findings import Finding, Reason
from .podresources import pod_requests
from .triage.state import ClusterState, condition, created, labels_of, meta, name_of

LeftoverState = Literal["orphan", "stale_generation", "rolling_update"]
CHECK = "topology"
KIND_CHANGE = Reason(
    "topology_kind_change",
    CHECK,
    "The new manifest makes another kind of workload of a live component; the operator keeps both",
    "Set topology_change to recreate (delete the DGD, wait, apply), or leave nodeCount as it is.",
)
COMPONENT_SET = Reason(
    "topology_component_set",
    CHECK,
    "The new manifest adds or removes components of a live DGD, which the operator refuses or leaves behind",
    "Set topology_change to recreate (delete the DGD, wait, apply).",
)
SAME = Reason("topology_same", CHECK, "Every live component keeps its kind of workload")
ORPHAN = Reason(
    "topology_orphan",
    CHECK,
    "A workload of another kind, of a removed component or of a superseded generation is left behind",
    "Set orphans to delete (a dry run shows which), or delete it by name.",
)
STALE_GENERATION = Reason(
    "topology_stale_generation",
    CHECK,
    "An older generation still runs, and may serve, while nothing says which one is wanted",
    "Find out which generation serves before deleting one: the DGD has lost its worker-hash annotation.",
)
ROLLING_UPDATE = Reason(
    "topology_rolling_update",
    CHECK,
    "A rolling update is in progress: the old generation stays until the new one is ready",
)
HASH_LOST = Reason(
    "topology_hash_annotation_lost",
    CHECK,
    "The DGD owns workers of a hashed generation and has no worker-hash annotation",
    "Patch DGDs, never replace them: a replace drops what the operator wrote (worker hash, provider, origin version).",
)
REASONS: tuple[Reason, ...] = (KIND_CHANGE, COMPONENT_SET, SAME, ORPHAN, STALE_GENERATION, ROLLING_UPDATE, HASH_LOST)

DEPLOYMENT, LWS, CLIQUE = "Deployment", "LeaderWorkerSet", "PodClique"
#: plural → kind of the workloads that are compared.
WORKLOADS = {"deployments": DEPLOYMENT, "leaderworkersets": LWS, "podcliques": CLIQUE}
_MOVING = frozenset({"Pending", "InProgress"})


@dataclass(frozen=True)
class TopologyChange:
    """What applying the new manifest would change under a live component."""

    component: str
    change: Literal["kind", "added", "removed"]
    live_kind: str
    live_names: tuple[str, ...]
    wanted_kind: str

    @property
    def message(self) -> str:
        """The change in words."""
        running = f"{self.live_kind} ({', '.join(self.live_names)})"
        if self.change == "kind":
            return f"component {self.component} runs as {running} and would become {self.wanted_kind}"
        if self.change == "removed":
            return f"component {self.component} runs as {running} and is not in the new manifest"
        return f"component {self.component} is new in the manifest of a live DGD"

    def to_result(self) -> dict[str, Any]:
        """Return the change as plain data."""
        return {
            "component": self.component,
            "change": self.change,
            "live_kind": self.live_kind,
            "live_names": list(self.live_names),
            "wanted_kind": self.wanted_kind,
            "message": self.message,
        }

    def to_finding(self) -> Finding:
        """Return the change in the finding contract."""
        reason = KIND_CHANGE if self.change == "kind" else COMPONENT_SET
        return reason.finding("fail", f"Component/{self.component}", self.message)


@dataclass(frozen=True)
class Leftover:
    """A workload that another one has superseded, or is about to. ``gpus`` is what its live pods hold."""

    api_version: str
    kind: str
    name: str
    uid: str
    component: str
    state: LeftoverState
    deletable: bool
    reason: str
    gpus: int = 0
    holds: tuple[str, ...] = ()

    def to_result(self) -> dict[str, Any]:
        """Return the leftover as plain data."""
        return {
            "api_version": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "component": self.component,
            "state": self.state,
            "deletable": self.deletable,
            "reason": self.reason,
            "gpus": self.gpus,
            "holds": list(self.holds),
        }

    def to_finding(self) -> Finding:
        """Return the leftover in the finding contract."""
        reason = {"orphan": ORPHAN, "stale_generation": STALE_GENERATION, "rolling_update": ROLLING_UPDATE}[self.state]
        outcome: Literal["pass", "warn"] = "pass" if self.state == "rolling_update" else "warn"
        held = f", holding {self.gpus} GPUs" if self.gpus else ""
        return reason.finding(
            outcome, f"{self.kind}/{self.name}", f"{self.reason}{held}", [f"holds {name}" for name in self.holds]
        )


# --- before an apply --------------------------------------------------------------------------------------------------


def topology_changes(objects: Sequence[K8sObject], live: ClusterState) -> tuple[TopologyChange, ...]:
    """Compare the rendered ``objects`` with the live workloads of ``live.dgd``; nothing where it does not run."""
    wanted = _wanted_kinds(objects)
    running: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for kind, obj in _live_workloads(live):
        running[live.component_of(obj)][kind].append(name_of(obj))
    if not running or not wanted:
        return ()
    found = []
    for component in sorted(set(wanted) | set(running)):
        have, want = running.get(component, {}), wanted.get(component, "")
        kinds = "/".join(sorted(have))
        names = tuple(sorted(name for names in have.values() for name in names))
        if not have:
            found.append(TopologyChange(component, "added", "", (), want))
        elif not want:
            found.append(TopologyChange(component, "removed", kinds, names, ""))
        elif want not in have:
            found.append(TopologyChange(component, "kind", kinds, names, want))
    return tuple(found)


def topology_findings(changes: Sequence[TopologyChange], live: ClusterState) -> tuple[Finding, ...]:
    """Return the changes in the finding contract; a pass where there is none."""
    if not changes:
        return (SAME.finding("pass", f"DynamoGraphDeployment/{live.dgd}", SAME.meaning),)
    return tuple(change.to_finding() for change in changes)


def _wanted_kinds(objects: Sequence[K8sObject]) -> dict[str, str]:
    """Return component → kind of its workload among rendered objects."""
    wanted: dict[str, str] = {}
    for obj in objects:
        if not isinstance(obj, Mapping):
            raise InputError("a rendered object must be a mapping", where="objects")
        kind = str(obj.get("kind") or "")
        if kind in (DEPLOYMENT, LWS):
            component = _component_label(obj)
            if component:
                wanted[component] = kind
        elif kind == "PodCliqueSet":
            for clique in ((obj.get("spec") or {}).get("template") or {}).get("cliques") or ():
                component = _component_label(clique)
                if component:
                    wanted[component] = CLIQUE
    return wanted


def _component_label(obj: K8sObject) -> str:
    labels = labels_of(obj) or obj.get("labels") or {}
    template = ((obj.get("spec") or {}).get("template") or {}) if isinstance(obj.get("spec"), Mapping) else {}
    return str(
        labels.get(keys.LABEL_COMPONENT) or (labels_of(template) if template else {}).get(keys.LABEL_COMPONENT) or ""
    )


def _live_workloads(live: ClusterState) -> Iterator[tuple[str, K8sObject]]:
    for plural, kind in WORKLOADS.items():
        for obj in live.mine(plural):
            if not meta(obj).get("deletionTimestamp") and live.component_of(obj):
                yield kind, obj
    if live.of("podcliques"):
        return
    # A snapshot may hold the sets only: their cliques name the components.
    for obj in live.mine("podcliquesets"):
        for clique in ((obj.get("spec") or {}).get("template") or {}).get("cliques") or ():
            component = _component_label(clique)
            if component:
                yield (
                    CLIQUE,
                    {
                        "metadata": {
                            "name": name_of(obj),
                            "labels": {keys.LABEL_COMPONENT: component, keys.LABEL_DGD: live.dgd},
                        }
                    },
                )


# --- after an apply ---------------------------------------------------------------------------------------------------


def leftovers(live: ClusterState, objects: Sequence[K8sObject] = ()) -> tuple[Leftover, ...]:
    """Return what is left behind, told apart from a rolling update. ``objects`` are the rendered ones, where known."""
    graph = live.graph
    if graph is None:
        return ()
    found = list(_generations(live, graph))
    taken = {one.uid for one in found}
    wanted = _wanted_kinds(objects)
    by_component: dict[str, list[tuple[str, K8sObject]]] = defaultdict(list)
    for kind, obj in _live_workloads(live):
        if not _owned_by_any(live, obj, taken):
            by_component[live.component_of(obj)].append((kind, obj))
    declared = {spec.name: spec for spec in live.components}
    for component, workloads in sorted(by_component.items()):
        spec = declared.get(component)
        if declared and spec is None:
            found += [
                _left(live, kind, obj, "orphan", "its component is not in the DGD any more", True)
                for kind, obj in workloads
            ]
            continue
        kinds = {kind for kind, _obj in workloads}
        right = wanted.get(component) or _expected_kind(kinds, spec.nodes if spec else 1)
        if len(kinds) < 2 or right not in kinds:
            continue
        ready = any(_is_ready(kind, obj) for kind, obj in workloads if kind == right)
        found += [
            _left(
                live,
                kind,
                obj,
                "orphan",
                f"component {component} runs as {right} now" + ("" if ready else ", which is not ready yet"),
                ready,
            )
            for kind, obj in workloads
            if kind != right
        ]
    return tuple(replace(one, gpus=_gpus(live, one.uid), holds=_holds(live, one.uid)) for one in found)


def leftover_findings(live: ClusterState, found: Sequence[Leftover]) -> tuple[Finding, ...]:
    """Return leftovers in the finding contract, and whether the DGD has lost its worker-hash annotation."""
    findings = [one.to_finding() for one in found]
    hashed = any(labels_of(obj).get(keys.LABEL_WORKER_HASH) for obj in live.mine("dynamocomponentdeployments"))
    if live.graph is not None and hashed and not _current_hashes(live.graph):
        findings.append(HASH_LOST.finding("warn", f"DynamoGraphDeployment/{live.dgd}", HASH_LOST.meaning))
    return tuple(findings)


def _current_hashes(graph: K8sObject) -> frozenset[str]:
    annotations = meta(graph).get("annotations") or {}
    found = (
        annotations.get(key) for key in (keys.ANNOTATION_CURRENT_WORKER_HASH_V2, keys.ANNOTATION_CURRENT_WORKER_HASH)
    )
    return frozenset(str(one) for one in found if one)


def _generations(live: ClusterState, graph: K8sObject) -> Iterator[Leftover]:
    """Yield the DynamoComponentDeployments of other generations than the current one."""
    current = _current_hashes(graph)
    moving = str(((graph.get("status") or {}).get("rollingUpdate") or {}).get("phase") or "") in _MOVING
    declared = {spec.name for spec in live.components}
    by_component: dict[str, list[K8sObject]] = defaultdict(list)
    for obj in live.mine("dynamocomponentdeployments"):
        if not meta(obj).get("deletionTimestamp"):
            by_component[live.component_of(obj)].append(obj)
    for component, members in sorted(by_component.items()):
        if declared and component not in declared:
            for obj in members:
                yield _left(live, keys.DCD_KIND, obj, "orphan", "its component is not in the DGD any more", True)
            continue
        if len(members) > 1:
            yield from _superseded(live, component, members, current, moving)


def _superseded(
    live: ClusterState, component: str, members: Sequence[K8sObject], current: frozenset[str], moving: bool
) -> Iterator[Leftover]:
    newest = max(members, key=lambda obj: (created(obj), name_of(obj)))
    wanted = next((obj for obj in members if labels_of(obj).get(keys.LABEL_WORKER_HASH) in current), None)
    for obj in members:
        generation = labels_of(obj).get(keys.LABEL_WORKER_HASH) or "none"
        if moving:
            if obj is not newest:
                yield _left(
                    live,
                    keys.DCD_KIND,
                    obj,
                    "rolling_update",
                    f"generation {generation} stays until the new one is ready",
                    False,
                )
        elif not current:
            if obj is not newest:
                text = (
                    f"generation {generation} still runs, and may serve; the DGD does not say which generation it wants"
                )
                yield _left(live, keys.DCD_KIND, obj, "stale_generation", text, False)
        elif wanted is None or obj is not wanted:
            if wanted is not None and created(obj) > created(wanted):
                # Newer than the current one: an update is just beginning, and its status is not written yet.
                yield _left(
                    live,
                    keys.DCD_KIND,
                    obj,
                    "rolling_update",
                    f"generation {generation} is newer than the current one",
                    False,
                )
            elif wanted is not None:
                ready = condition(wanted, "Available").get("status") != "False"
                text = f"generation {generation} of component {component} is superseded by {name_of(wanted)}" + (
                    "" if ready else ", which is not ready yet"
                )
                yield _left(live, keys.DCD_KIND, obj, "orphan", text, ready)


def _expected_kind(kinds: set[str], nodes: int) -> str:
    """Return the kind that the DGD asks for among ``kinds``: where Grove is at work everything is a clique."""
    if CLIQUE in kinds:
        return CLIQUE
    return LWS if nodes > 1 else DEPLOYMENT


def _is_ready(kind: str, obj: K8sObject) -> bool:
    status, spec = obj.get("status") or {}, obj.get("spec") or {}
    wanted = spec.get("replicas", 1)
    return bool(int(status.get("readyReplicas") or 0) >= int(wanted if isinstance(wanted, int) else 1))


def _left(
    live: ClusterState, kind: str, obj: K8sObject, state: LeftoverState, reason: str, superseded: bool
) -> Leftover:
    owned = any(
        owner.get("kind") in (keys.DGD_KIND, keys.DCD_KIND) and owner.get("controller")
        for owner in meta(obj).get("ownerReferences") or ()
    )
    deletable = state == "orphan" and superseded and owned and live.belongs(obj)
    text = reason if owned else f"{reason}; it is not owned by the DGD"
    return Leftover(
        api_version=str(obj.get("apiVersion") or ""),
        kind=kind,
        name=name_of(obj),
        uid=str(meta(obj).get("uid") or ""),
        component=live.component_of(obj),
        state=state,
        deletable=deletable,
        reason=text,
    )


def _ancestors(live: ClusterState, obj: K8sObject) -> Iterator[str]:
    current: K8sObject | None = obj
    for _unused in range(8):
        if current is None:
            return
        owners = meta(current).get("ownerReferences") or ()
        uid = str(
            next((one.get("uid") for one in owners if one.get("controller")), owners[0].get("uid") if owners else "")
            or ""
        )
        if not uid:
            return
        yield uid
        current = live.by_uid.get(uid)


def _owned_by_any(live: ClusterState, obj: K8sObject, uids: set[str]) -> bool:
    return any(uid in uids for uid in _ancestors(live, obj))


def _gpus(live: ClusterState, uid: str) -> int:
    total = 0
    for pod in live.of("pods"):
        phase = (pod.get("status") or {}).get("phase")
        if not uid or phase in ("Succeeded", "Failed") or not (pod.get("spec") or {}).get("nodeName"):
            continue
        if uid in _ancestors(live, pod):
            total += pod_requests(pod).get(keys.GPU_RESOURCE, 0)
    return total


def _holds(live: ClusterState, uid: str) -> tuple[str, ...]:
    if not uid:
        return ()
    found = [
        f"{kind}/{name_of(obj)}"
        for plural, kind in WORKLOADS.items()
        for obj in live.of(plural)
        if uid in _ancestors(live, obj)
    ]
    return tuple(sorted(found))
