# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts verdicts on pods and controllers together: one cause a root cause, and what each component is doing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .. import keys
from ..demand import K8sObject
from ..findings import Finding
from .categories import CATEGORIES, DISAGREEMENT, OUTCOMES, WAYS, Way
from .nodes import NodeJudge
from .pods import Look, judge_pod
from .refusals import TAKE_UP, operator_trouble, refused, stuck_rollouts
from .state import ClusterState, ComponentSpec, condition, created, labels_of, meta, name_of, seconds
from .verdict import Verdict, severity

#: How many pods a cause names.
NAMED_PODS = 10
#: Pods that belong to no component are shown under this name.
NO_COMPONENT = "-"
#: Pods of these categories are over and are replaced.
LOST = frozenset({"evicted", "node_admission"})
#: Losses within this time count although their successors are ready.
RECENT = 120.0


@dataclass(frozen=True)
class Affected:
    """How much of a component a cause concerns."""

    component: str
    replicas: int
    pods: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cause:
    """One root cause with everything that it affects."""

    category: str
    way: Way
    message: str
    evidence: tuple[str, ...]
    remedy: str
    affected: tuple[Affected, ...]
    detail: Mapping[str, Any]
    key: str = ""
    since: float = 0.0
    about: str = ""

    @property
    def replicas(self) -> int:
        """How many pods it concerns in all."""
        return sum(one.replicas for one in self.affected)

    @property
    def reason_code(self) -> str:
        """The finding's code."""
        return CATEGORIES[self.category].reason.code

    @property
    def where(self) -> str:
        """The components in words, or what else it is about."""
        return self.about or ", ".join(f"{one.component} ({one.replicas})" for one in self.affected) or "the DGD"

    def to_finding(self) -> Finding:
        """Return the cause in the finding contract."""
        subject = ", ".join(f"Component/{one.component}" for one in self.affected) or "DynamoGraphDeployment"
        subject = f"Cluster/{self.about}" if self.about else subject
        return CATEGORIES[self.category].reason.finding(
            OUTCOMES[self.way], subject, f"{self.where}: {self.message}", self.evidence, self.remedy
        )

    def to_result(self) -> dict[str, Any]:
        """Return the cause as plain data."""
        return {
            "category": self.category,
            "reason_code": self.reason_code,
            "way": self.way,
            "message": self.message,
            "evidence": list(self.evidence),
            "remedy": self.remedy,
            "affected": [
                {"component": one.component, "replicas": one.replicas, "pods": list(one.pods)} for one in self.affected
            ],
            "detail": dict(self.detail),
        }


@dataclass(frozen=True)
class ComponentView:
    """What a component is doing. ``slowest`` says what its slowest pod does; ``updating`` that two generations live."""

    component: str
    desired: int
    ready: int
    category: str
    slowest: str
    pods: int = 0
    updating: bool = False

    def to_result(self) -> dict[str, Any]:
        """Return the view as plain data."""
        return {
            "component": self.component,
            "desired": self.desired,
            "ready": self.ready,
            "pods": self.pods,
            "category": self.category,
            "slowest": self.slowest,
            "updating": self.updating,
        }


@dataclass(frozen=True)
class TriageReport:
    """All that was found, the most telling cause first."""

    causes: tuple[Cause, ...]
    components: tuple[ComponentView, ...]
    extra: tuple[Finding, ...] = ()
    ready: bool = False
    stale_status: bool = False
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)

    @property
    def primary(self) -> Cause | None:
        """The cause to act on."""
        return self.causes[0] if self.causes else None

    @property
    def category(self) -> str:
        """The category of the primary cause; ``ready``, or ``model_loading`` where nothing is wrong yet."""
        if self.primary is not None:
            return self.primary.category
        return "ready" if self.ready else "model_loading"

    @property
    def way(self) -> Way:
        """What to do."""
        if self.primary is not None:
            return self.primary.way
        return "none" if self.ready else "wait"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Every cause in the finding contract, and what else was noticed."""
        if not self.causes and self.ready:
            subject = ", ".join(f"Component/{one.component}" for one in self.components) or "DynamoGraphDeployment"
            return (CATEGORIES["ready"].reason.finding("pass", subject, "Every replica is ready"), *self.extra)
        return (*(cause.to_finding() for cause in self.causes), *self.extra)

    def component(self, name: str) -> ComponentView | None:
        """Return the view of one component."""
        return next((one for one in self.components if one.component == name), None)


def triage(state: ClusterState) -> TriageReport:
    """Judge the DGD ``state.dgd``: what each component does, and one cause a root cause."""
    verdicts, by_component = _judge_pods(state)
    refusals: dict[str, list[Verdict]] = defaultdict(list)
    for component, verdict in refused(state):
        refusals[component].append(verdict)
    specs = _specs(state, by_component)
    without = {spec.name for spec in specs if spec.pods and not by_component.get(spec.name)}
    for component, verdict in operator_trouble(state, without):
        refusals[component].append(verdict)
    stuck = dict(stuck_rollouts(state))
    views: list[ComponentView] = []
    gathered: list[tuple[str, str, Verdict]] = []
    for spec in specs:
        pods = by_component.get(spec.name, [])
        found = _component(
            spec, pods, verdicts, refusals.get(spec.name, []), stuck.get(spec.name), state, refusals.get("", [])
        )
        views.append(found[0])
        gathered += [(spec.name, name, verdict) for name, verdict in found[1]]
    gathered += [("", "", verdict) for verdict in refusals.get("", [])]
    causes = _causes(gathered)
    graph_ready, stale = _graph_ready(state)
    ready = bool(specs) and graph_ready and all(one.category == "ready" for one in views)
    return TriageReport(
        causes=causes,
        components=tuple(views),
        extra=tuple(_disagreements(gathered)),
        ready=ready,
        stale_status=stale,
        verdicts=verdicts,
    )


def triage_pods(state: ClusterState, pods: Sequence[K8sObject], name: str) -> tuple[Cause, ...]:
    """Judge pods that belong to no DGD (a Job's) under ``name``; a pod that is ready or done is no cause."""
    look = Look(state, NodeJudge(state, [pod for pod in pods if _pending(pod)]))
    gathered = []
    for pod in pods:
        verdict = judge_pod(pod, look)
        if verdict is not None and verdict.category != "ready":
            gathered.append((name, name_of(pod), verdict))
    return _causes(gathered)


def _pending(pod: K8sObject) -> bool:
    return not (pod.get("spec") or {}).get("nodeName") and not meta(pod).get("deletionTimestamp")


def _judge_pods(state: ClusterState) -> tuple[dict[str, Verdict], dict[str, list[K8sObject]]]:
    look = Look(state, NodeJudge(state, [pod for pod in state.pods if _pending(pod)]))
    verdicts: dict[str, Verdict] = {}
    by_component: dict[str, list[K8sObject]] = defaultdict(list)
    for pod in state.pods:
        verdict = judge_pod(pod, look)
        if verdict is not None:
            verdicts[name_of(pod)] = verdict
            by_component[state.component_of(pod) or NO_COMPONENT].append(pod)
    return verdicts, by_component


def _specs(state: ClusterState, by_component: Mapping[str, list[K8sObject]]) -> tuple[ComponentSpec, ...]:
    """The components by the rendered pods, by the DGD, or by the pods that there are."""
    declared = {spec.name: spec for spec in state.components}
    rendered = Counter(demand.component for demand in state.demands if demand.component)
    for name, count in rendered.items():
        known = declared.get(name)
        if known is None or known.pods < count:
            declared[name] = ComponentSpec(name, known.type if known else "", count, 1)
    if not declared:
        # Where the DGD may not be read its Deployments say how many pods are wanted.
        wanted = Counter({name: len(pods) for name, pods in by_component.items()})
        for obj in state.mine("deployments"):
            name, replicas = state.component_of(obj), (obj.get("spec") or {}).get("replicas", 1)
            if name and isinstance(replicas, int):
                wanted[name] = max(wanted[name], replicas)
        declared = {name: ComponentSpec(name, "", count, 1) for name, count in wanted.items()}
    return tuple(declared[name] for name in sorted(declared))


def _generation(pods: Sequence[K8sObject], state: ClusterState, component: str) -> str:
    """Return the worker hash that the component is moving to: that of its newest DynamoComponentDeployment."""
    newest = max(
        (obj for obj in state.mine("dynamocomponentdeployments") if state.component_of(obj) == component),
        key=lambda obj: (created(obj), name_of(obj)),
        default=None,
    )
    if newest is not None:
        return str(labels_of(newest).get(keys.LABEL_WORKER_HASH) or "")
    return ""


def _component(
    spec: ComponentSpec,
    pods: Sequence[K8sObject],
    verdicts: Mapping[str, Verdict],
    refusals: Sequence[Verdict],
    stuck: Verdict | None,
    state: ClusterState,
    of_the_graph: Sequence[Verdict],
) -> tuple[ComponentView, list[tuple[str, Verdict]]]:
    wanted = _generation(pods, state, spec.name)
    current = [
        pod
        for pod in pods
        if (not wanted or labels_of(pod).get(keys.LABEL_WORKER_HASH) in (None, wanted)) and not state.superseded(pod)
    ]
    ready = sum(1 for pod in current if verdicts[name_of(pod)].category == "ready")
    updating = len({str(labels_of(pod).get(keys.LABEL_WORKER_HASH) or "") for pod in pods}) > 1
    updating = updating or any(state.superseded(pod) for pod in pods)
    lost = [pod for pod in current if verdicts[name_of(pod)].category in LOST]
    recent = [name_of(pod) for pod in lost if state.now - _last_change(pod) < RECENT]
    # Pods that are taken away again and again are not over because the newest ones are ready just now.
    repeated = len(lost) > 1 and bool(recent)
    if ready >= spec.pods and not repeated:
        # What else lies about (evicted pods that were replaced, the old generation) is no trouble any more.
        return ComponentView(spec.name, spec.pods, ready, "ready", "", len(pods), updating), []
    found = [(name_of(pod), verdicts[name_of(pod)]) for pod in current if verdicts[name_of(pod)].category != "ready"]
    if len(current) - len(lost) < spec.pods:
        found += [("", verdict) for verdict in refusals]
    elif not repeated:
        # Each that was lost has its successor, which is waited for; only a loss of just now is still to be told.
        found = [(name, verdict) for name, verdict in found if verdict.category not in LOST]
        found += [(name, replace(verdicts[name], way="wait")) for name in recent]
    if stuck is not None and all(verdict.category in ("model_loading", "unknown") for _name, verdict in found):
        found.append(("", stuck))
    if not found and not of_the_graph:
        found.append(("", _nothing_yet(spec, len(current), state)))
    telling = _most_telling([verdict for _name, verdict in found]) or _most_telling(of_the_graph)
    if telling is None:  # one of the two lists has an entry
        return ComponentView(spec.name, spec.pods, ready, "unknown", "", len(pods), updating), found
    return ComponentView(spec.name, spec.pods, ready, telling.category, telling.message, len(pods), updating), found


def _last_change(pod: K8sObject) -> float:
    status = pod.get("status") or {}
    times = [seconds(one.get("lastTransitionTime")) for one in status.get("conditions") or ()]
    ended = [(one.get("state") or {}).get("terminated") or {} for one in status.get("containerStatuses") or ()]
    return max([created(pod), *times, *(seconds(one.get("finishedAt")) for one in ended)])


def _nothing_yet(spec: ComponentSpec, pods: int, state: ClusterState) -> Verdict:
    graph = state.graph
    age = state.now - created(graph) if graph is not None and created(graph) else 0.0
    text = f"{pods} of {spec.pods} pods exist yet"
    ending = [pod for pod in state.pods if meta(pod).get("deletionTimestamp") and state.component_of(pod) == spec.name]
    if ending and not pods:
        # deletionTimestamp is when the grace period ends; until a while after it all is as it should be.
        late = state.now - min(seconds(meta(pod).get("deletionTimestamp")) for pod in ending)
        if late < TAKE_UP:
            text = f"{text}, {len(ending)} are still ending"
            return Verdict("model_loading", text, key="ending", detail={"stage": "ending"})
        line = f"pod {name_of(ending[0])}: {round(late)} s past its grace period, still there"
        return Verdict("unknown", f"{text}, as the ones before do not end", (line,), "ending")
    if pods or age < TAKE_UP:
        return Verdict("model_loading", text, key="pods", detail={"stage": "creating_pods"})
    return Verdict(
        "unknown",
        f"{text}, and nothing says why",
        (f"component {spec.name}: no pod after {round(age)} s, no event",),
        "no_pods",
    )


def _most_telling(verdicts: Sequence[Verdict]) -> Verdict | None:
    counts = Counter((verdict.category, verdict.key) for verdict in verdicts)
    return max(
        verdicts,
        key=lambda verdict: (severity(verdict.category), counts[verdict.category, verdict.key]),
        default=None,
    )


def _graph_ready(state: ClusterState) -> tuple[bool, bool]:
    """Return (the operator calls the DGD ready or says nothing, its status is about an older generation)."""
    graph = state.graph
    if graph is None:
        return not state.dgd, False
    status = graph.get("status") or {}
    observed, generation = status.get("observedGeneration"), meta(graph).get("generation")
    stale = isinstance(observed, int) and isinstance(generation, int) and observed < generation
    said = condition(graph, "Ready")
    return not stale and said.get("status") != "False", stale


def _causes(gathered: Iterable[tuple[str, str, Verdict]]) -> tuple[Cause, ...]:
    groups: dict[tuple[str, str, str], list[tuple[str, str, Verdict]]] = defaultdict(list)
    for component, pod, verdict in gathered:
        groups[verdict.category, verdict.key, component if verdict.per_component else ""].append(
            (component, pod, verdict)
        )
    causes = [_cause(members) for members in groups.values()]
    return tuple(
        sorted(
            causes,
            key=lambda cause: (-WAYS.index(cause.way), -severity(cause.category), -cause.replicas, cause.message),
        )
    )


def _cause(members: Sequence[tuple[str, str, Verdict]]) -> Cause:
    names: dict[str, list[str]] = defaultdict(list)
    for component, pod, _verdict in members:
        if component:
            names[component].append(pod)
    first = members[0][2]
    # Of equal verdicts the one with the most to show speaks for all; evidence repeats only where it differs.
    best = max((verdict for _component, _pod, verdict in members), key=lambda verdict: len(verdict.evidence))
    starts = [verdict.since for _component, _pod, verdict in members if verdict.since]
    category = CATEGORIES[first.category]
    return Cause(
        category=first.category,
        way=max((verdict.effective_way for _component, _pod, verdict in members), key=WAYS.index),
        message=best.message,
        evidence=best.evidence,
        remedy=best.remedy or category.reason.remedy,
        affected=tuple(
            Affected(component, len(pods), tuple(sorted(filter(None, pods)))[:NAMED_PODS])
            for component, pods in sorted(names.items())
        ),
        detail=best.detail,
        key=first.key,
        since=min(starts, default=0.0),
    )


def _disagreements(gathered: Iterable[tuple[str, str, Verdict]]) -> Iterable[Finding]:
    seen: set[str] = set()
    for component, pod, verdict in gathered:
        text = str(verdict.detail.get("disagreement") or "")
        if text and text not in seen:
            seen.add(text)
            yield DISAGREEMENT.finding("unknown", f"Component/{component}", f"Pod {pod}: {text}", verdict.evidence[:1])
