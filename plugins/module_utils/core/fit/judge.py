# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole judgement: from demands and a snapshot to a verdict with its reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from ..csi import DRIVER_KINDS, IN_TREE
from ..demand import K8sObject, PodDemand
from ..findings import Finding, by_severity
from ..keys import LABEL_DGD
from . import report as reasons
from .account import gpus, held, holdings, message, of_dgds, rows, shown_requests
from .admission import Admission
from .ask import Answer, Problem, answer
from .attach import unread
from .cluster import BoundPod, Cluster, build_cluster, readable
from .explain import SMALL, fits_by_preempting, headroom, suggestions
from .greedy import Greedy, orders
from .model import claim_names, labels_of, namespace_of
from .predict import DEFAULT_SCHEDULER, Pending, Prediction, gated, predict
from .quota import quota_refusals
from .report import FitReport, FitRequest, Placement, PredictionReport, Unplaced
from .selectors import EVERYTHING
from .state import Options, State

#: The kinds of a snapshot that a judgement looks at.
KINDS = (
    "nodes",
    "pods",
    "namespaces",
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses",
    "resourcequotas",
    "limitranges",
    "priorityclasses",
    "runtimeclasses",
    *DRIVER_KINDS,
)
_CLAIM_KINDS = ("persistentvolumeclaims", "persistentvolumes", "storageclasses", *DRIVER_KINDS)
Clock = Callable[[], float]
#: Resource names that stand for devices of dynamic resource allocation.
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
_INLINE_DISKS = ("iscsi", "rbd", *(one.source for one in IN_TREE))
_RUNS = 16


@dataclass
class _Case:
    """What one judgement has gathered so far."""

    request: FitRequest
    demands: tuple[PodDemand, ...] = ()
    unknown: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    #: Positions of demands that cannot be judged themselves.
    doubtful: set[int] = field(default_factory=set)


def kinds_for(demands: Iterable[PodDemand]) -> tuple[str, ...]:
    """Return the kinds that the judgement of these demands looks at: storage only where pods mount claims."""
    if any(claim_names(demand.pod) for demand in demands):
        return KINDS
    return tuple(kind for kind in KINDS if kind not in _CLAIM_KINDS)


def judge_fit(request: FitRequest, *, clock: Clock, time_limit: float = 10.0) -> FitReport:
    """Judge whether all pods fit. ``clock`` gives seconds; ``time_limit`` bounds the search, and the rest once more.

    Raises :class:`InputError` where a quantity in the demands or the snapshot is none.
    """
    began = clock()
    case = _Case(request)
    unread = [kind for kind in ("nodes", "pods") if not readable(request.cluster, kind)]
    if unread:
        return _blind(f"the cluster's {' and '.join(unread)} could not be read")
    _admit(case)
    if not case.demands:
        return FitReport("fits", findings=(reasons.FITS.finding("pass", "pods", "There are no pods to place."),))
    whole = build_cluster(request.cluster, request.claims)
    owners = _owners(case, whole)
    cluster = whole.without([*owners.replaced, *owners.retiring])
    problem = Problem.of(cluster, case.demands)
    _doubts(case, problem)
    _limits(case, problem, owners)
    found = _answer(case, problem, lambda: clock() - began > time_limit)
    search_over = clock()
    return _report(case, whole, problem, owners, found, lambda: clock() - search_over > time_limit)


@dataclass(frozen=True)
class _Owners:
    replaced: list[BoundPod]
    retiring: list[BoundPod]
    run: list[BoundPod]


def _blind(why: str) -> FitReport:
    finding = reasons.UNKNOWN.finding("unknown", "cluster", f"The fit could not be judged: {why}.")
    return FitReport("unknown", unknown=(why,), findings=(finding,))


def _admit(case: _Case) -> None:
    """Fill in what the API server would, and note what it would refuse."""
    admission = Admission(case.request.cluster)
    made = []
    refusals: dict[str, str] = {}
    for position, demand in enumerate(case.request.demands):
        admitted = admission.admit(demand.pod, case.request.namespace)
        made.append(replace(demand, pod=admitted.pod))
        for text in admitted.refusals:
            refusals.setdefault(f"{demand.component or demand.name}: {text}", demand.name)
        for text in (*demand.unknown, *admitted.unknown):
            case.unknown.append(f"{demand.name}: {text}")
            case.doubtful.add(position)
    case.demands = tuple(made)
    for text, name in refusals.items():
        case.refused.append(f"the API server would refuse {text}")
        case.findings.append(reasons.REFUSED.finding("fail", f"Pod/{name}", f"The API server would refuse {text}."))


def _owners(case: _Case, cluster: Cluster) -> _Owners:
    request = case.request
    namespaces = {namespace_of(demand.pod) for demand in case.demands}
    own = (
        {request.dgd_name}
        if request.dgd_name
        else {str(labels_of(demand.pod).get(LABEL_DGD, "")) for demand in case.demands}
    )
    replaced = of_dgds(cluster, own, namespaces)
    retiring = of_dgds(cluster, set(request.retiring) - own, namespaces)
    run = of_dgds(cluster, set(request.run_dgds) - own - set(request.retiring), namespaces)
    return _Owners(replaced, retiring, run)


def _doubts(case: _Case, problem: Problem) -> None:
    """Note what the filters here do not judge."""
    for group in problem.groups:
        name = problem.names([group.index])
        spec = group.source.get("spec") or {}
        kinds = case.request.cluster.get("kinds") or {}
        found = [
            *group.volumes.unknown,
            *unread(kinds, group.volumes, problem.cluster.limits, problem.cluster.storage),
        ]
        if group.volumes and _elsewhere(case):
            found.append("mounts claims, and the snapshot was taken of another namespace")
        if spec.get("resourceClaims"):
            found.append("asks for devices by resource claims, which are not judged")
        if any(resource.startswith(_DEVICE_CLASS) for resource in group.requests):
            found.append("asks for devices by a device class, which is not judged")
        if any(kind in volume for volume in spec.get("volumes") or () for kind in _INLINE_DISKS):
            found.append("mounts a disk named in the pod, whose attachment is not judged")
        if _needs_declared_feature(spec):
            found.append("needs a feature that nodes declare (1.36), which is not judged")
        terms = (*group.affinity.near, *group.affinity.apart)
        wide = any(not term.namespace_selector.nothing and term.namespace_selector != EVERYTHING for term in terms)
        if wide and not readable(case.request.cluster, "namespaces"):
            found.append("selects namespaces by label, and the namespaces could not be read")
        case.unknown.extend(f"{name}: {text}" for text in found)
        if found:
            case.doubtful.update(group.members)
        for note in group.volumes.notes:
            case.findings.append(reasons.VOLUME.finding("warn", name, f"{name}: {note}."))
        if gated(group):
            text = f"{group.count} pods of {name} wait for their scheduling gates."
            case.findings.append(reasons.GATED.finding("warn", name, text))


def _needs_declared_feature(spec: K8sObject) -> bool:
    """Return whether the scheduler's NodeDeclaredFeatures looks at the pod: two features need a node that has them."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    rules = [rule for container in containers for rule in container.get("restartPolicyRules") or ()]
    restarts = any(rule.get("action") == "RestartAllContainers" for rule in rules)
    return restarts or bool(spec.get("hostNetwork") and spec.get("hostUsers") is False)


def _elsewhere(case: _Case) -> bool:
    """Return whether the snapshot's namespaced kinds are those of another namespace than the pods'."""
    taken = case.request.cluster.get("namespace")
    return bool(taken) and any(namespace_of(demand.pod) != taken for demand in case.demands)


def _limits(case: _Case, problem: Problem, owners: _Owners) -> None:
    """Check what bounds the run from outside the scheduler: the ceiling and the quotas."""
    request = case.request
    demanded: Counter[str] = Counter()
    for group in problem.groups:
        for name, value in gpus(group.requests).items():
            demanded[name] += value * group.count
    standing = held(owners.run)
    total = sum(demanded.values()) + sum(standing.values())
    if request.gpu_ceiling is not None and total > request.gpu_ceiling:
        text = (
            f"the run would hold {total} GPUs ({sum(demanded.values())} for these pods, {sum(standing.values())} held"
            f" already), its ceiling is {request.gpu_ceiling}"
        )
        case.refused.append(text)
        case.findings.append(reasons.CEILING.finding("fail", "gpu_ceiling", text[0].upper() + text[1:] + "."))
    gone = [pod.source for pod in (*owners.replaced, *owners.retiring)]
    for name, text in quota_refusals(request.cluster, [demand.pod for demand in case.demands], gone):
        case.refused.append(f"resource quota {name} keeps pods from being created: {text}")
        case.findings.append(
            reasons.QUOTA.finding("fail", f"ResourceQuota/{name}", f"Not all pods can be created: {text}.")
        )
    for kind in ("resourcequotas", "limitranges"):
        if not readable(request.cluster, kind) or _elsewhere(case):
            text = f"The {kind} of the pods' namespace were not read, so they were not taken into account."
            case.findings.append(reasons.QUOTA_UNKNOWN.finding("unknown", kind, text))


def _answer(case: _Case, problem: Problem, expired: Callable[[], bool]) -> Answer:
    if not case.doubtful:
        return answer(problem, expired)
    # What is sure does not fit whatever the rest turns out to be, where not even it fits by itself.
    sure = [demand for position, demand in enumerate(case.demands) if position not in case.doubtful]
    if sure:
        found = answer(Problem.of(problem.cluster, sure), expired, relaxed=True)
        if found.placed is False:
            return found
    return Answer(None)


def _report(
    case: _Case,
    whole: Cluster,
    problem: Problem,
    owners: _Owners,
    found: Answer,
    expired: Callable[[], bool],
) -> FitReport:
    proofs = [*case.refused, *([found.proof] if found.placed is False else [])]
    unknown = [*case.unknown, *found.unknown]
    verdict: reasons.Verdict = "does_not_fit" if proofs else ("fits" if found.placed else "unknown")
    predicted = None
    if case.request.predict and not case.doubtful:
        predicted = _predict(problem, expired)
    shown = _prediction(case, problem, predicted)
    pending = predicted.usual.pending if predicted and predicted.usual else _leftover(problem, found)
    refuted = found.placed is False and case.request.explain
    preempting = refuted and fits_by_preempting(problem, problem.cluster, expired)
    rooms: tuple[reasons.Headroom, ...] = ()
    if found.placed is not None and case.request.explain:
        rooms = headroom(problem, found.placed, found.steps, expired)
    hints = suggestions(problem, rooms, owners.run, case.request.run_dgds, expired) if refuted else ()
    steps = found.steps or (predicted.usual.placed if predicted and predicted.usual else ())
    state = State(problem.cluster, problem.groups)
    result = FitReport(
        verdict=verdict,
        proof="; ".join(proofs),
        fits_only_by_preempting=preempting,
        unknown=tuple(dict.fromkeys(unknown)) if verdict == "unknown" else (),
        placements=_placements(problem, found.steps) if verdict == "fits" else (),
        unplaced=tuple(_unplaced(problem, one) for one in pending),
        prediction=shown,
        holdings=holdings(whole, problem.groups, owners.run, owners.replaced, owners.retiring),
        headroom=rooms,
        suggestions=hints,
        nodes=rows(state, problem.demands, owners.run, steps),
        states=found.states,
    )
    findings = by_severity([*_verdict_findings(result), *case.findings, *_shared(problem, found)])
    return replace(result, findings=findings)


def _placements(problem: Problem, steps: Iterable[tuple[int, int]]) -> tuple[Placement, ...]:
    return tuple(
        Placement(problem.demands[member].name, problem.demands[member].component, problem.cluster.nodes[node].name)
        for member, node in steps
    )


def _predict(problem: Problem, expired: Callable[[], bool]) -> Prediction | None:
    names = {(demand.pod.get("spec") or {}).get("schedulerName") or DEFAULT_SCHEDULER for demand in problem.demands}
    if names != {DEFAULT_SCHEDULER}:
        return None
    size = len(problem.demands) * len(problem.cluster.nodes)
    return predict(problem.cluster, problem.groups, Options(), expired, _RUNS if size <= SMALL else 1)


def _prediction(case: _Case, problem: Problem, found: Prediction | None) -> PredictionReport:
    if not case.request.predict:
        return PredictionReport("not_judged", reason="it was not asked for")
    if case.doubtful:
        return PredictionReport("not_judged", reason="some pods cannot be judged")
    if found is None:
        names = {(demand.pod.get("spec") or {}).get("schedulerName") or DEFAULT_SCHEDULER for demand in problem.demands}
        return PredictionReport("not_judged", reason=f"the pods go to {', '.join(sorted(names))}")

    def named(members: Iterable[int]) -> tuple[str, ...]:
        return tuple(problem.demands[member].name for member in members)

    waiting = named(found.gated)
    if found.usual is None:
        return PredictionReport("incomplete", reason="time was up", gated=waiting)
    return PredictionReport(
        state="complete",
        runs=found.runs,
        all_placed=found.all_placed,
        pending=named(found.usual.left),
        gated=waiting,
        may_preempt=named(found.may_preempt),
        incomplete_gangs=_incomplete(problem, found.usual.left),
    )


def _incomplete(problem: Problem, left: Iterable[int]) -> tuple[str, ...]:
    """Return the gangs of which some members found a node, but fewer than it needs at once."""
    needed = {gang.name: gang.min_members for demand in problem.demands for gang in demand.gangs}
    members = Counter(gang.name for demand in problem.demands for gang in demand.gangs)
    missing = Counter(gang.name for member in left for gang in problem.demands[member].gangs)
    placed = {name: members[name] - missing[name] for name in needed}
    return tuple(name for name, least in needed.items() if 0 < placed[name] < least)


def _leftover(problem: Problem, found: Answer) -> tuple[Pending, ...]:
    """Return what one greedy attempt leaves, where no prediction says what is left."""
    if found.placed:
        return ()
    state = State(problem.cluster, problem.groups)
    attempt = Greedy(state)
    attempt.run(orders(state)[0])
    return tuple(
        Pending(index, problem.groups[index].members[-count:], state.reason_counts(index), state.cluster_failure(index))
        for index, count in enumerate(attempt.remaining)
        if count
    )


def _unplaced(problem: Problem, pending: Pending) -> Unplaced:
    group = problem.groups[pending.group]
    return Unplaced(
        component=problem.names([pending.group]),
        pods=tuple(problem.demands[member].name for member in pending.members),
        requests=shown_requests(group),
        reasons=pending.reasons if not pending.failure else {pending.failure: len(problem.cluster.nodes)},
        message=message(len(problem.cluster.nodes), pending.reasons, pending.failure),
    )


def _verdict_findings(result: FitReport) -> list[Finding]:
    subject = "pods"
    found: list[Finding] = []
    for name in result.prediction.incomplete_gangs:
        text = f"The default scheduler would place some pods of {name}, but not as many as it needs at once."
        found.append(reasons.GANG.finding("warn", name, text))
    if result.verdict == "fits":
        nodes = len({one.node for one in result.placements})
        text = f"All {len(result.placements)} pods can be placed at the same time, on {nodes} nodes."
        found.append(reasons.FITS.finding("pass", subject, text, remedy=""))
        left = result.prediction.pending
        if left:
            text = (
                f"A placement of all pods exists, but the default scheduler is likely to leave {len(left)} pending:"
                f" all were placed in {result.prediction.all_placed} of {result.prediction.runs} simulated runs."
            )
            evidence = [f"{one.component}: {one.message}" for one in result.unplaced]
            found.append(reasons.PREDICTION.finding("warn", subject, text, evidence))
    elif result.verdict == "does_not_fit":
        evidence = [f"{one.component}: {one.message}" for one in result.unplaced]
        remedy = "; ".join(one.message for one in result.suggestions) or None
        found.append(
            reasons.DOES_NOT_FIT.finding("fail", subject, f"The pods do not fit: {result.proof}.", evidence, remedy)
        )
        if result.fits_only_by_preempting:
            text = "The pods fit only if pods of lower priority are evicted."
            found.append(reasons.PREEMPTING.finding("warn", subject, text))
    else:
        text = f"Whether the pods fit is not known: {'; '.join(result.unknown)}."
        found.append(reasons.UNKNOWN.finding("unknown", subject, text))
    return found


def _shared(problem: Problem, found: Answer) -> list[Finding]:
    """Warn of pods that ask for several shares of a GPU: the shares can be one and the same GPU."""
    group_of = {member: group for group in problem.groups for member in group.members}
    warned: dict[str, Finding] = {}
    for member, node in found.steps:
        asked = max(gpus(group_of[member].requests).values(), default=0)
        labels = problem.cluster.nodes[node].labels
        strategy = labels.get("nvidia.com/gpu.sharing-strategy", "none")
        if asked > 1 and (strategy not in ("", "none") or labels.get("nvidia.com/gpu.product", "").endswith("-SHARED")):
            name = problem.demands[member].component or problem.demands[member].name
            text = (
                f"{name} asks for {asked} GPUs on {problem.cluster.nodes[node].name}, whose GPUs are shared"
                f" ({strategy}): they may be one GPU, and the kubelet may refuse the pod."
            )
            warned.setdefault(name, reasons.SHARED.finding("warn", name, text))
    return list(warned.values())


__all__ = ["judge_fit"]
