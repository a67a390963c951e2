# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges one pod: whether it is scheduled, what the scheduler says, and what its containers do."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from .. import keys
from ..demand import K8sObject
from ..podresources import is_sidecar
from .away import absent_node, node_away, on_lost_node
from .categories import CATEGORIES, Way
from .containers import Container, judge_container
from .kubelet import missing_config, quote, stable, volume_event
from .messages import Blocker, SchedulerMessage, parse
from .nodes import NodeJudge, NodeOpinion, disagreement, is_lost
from .phrases import GROVE_GATE, KUEUE_GATES
from .state import ClusterState, Event, condition, created, meta, name_of, seconds
from .verdict import Verdict, severity

#: A scheduler takes up a new pod in milliseconds; after this long without a word there is none.
SCHEDULER_SILENCE = 10.0
#: What a node itself rules: the categories in which the nodes' own opinion counts for more than the commonest reason.
NODE_RULES = frozenset({"taint", "node_affinity", "node_unschedulable"})
_SCHEDULING_EVENTS = frozenset({"FailedScheduling", "Unschedulable"})
_EVICTED = frozenset({"Evicted", "NodeShutdown", "Terminated", "Shutdown", "EvictionByEvictionAPI"})
_NODE_REFUSALS = re.compile(
    r"^(?:UnexpectedAdmissionError|UnexpectedPredicateFailureType|UnknownReason|InvalidNodeInfo|OutOf\S+"
    r"|Node(?:Affinity|Ports|Name|Unschedulable|ResourcesFit|DeclaredFeatures\S*)|Preempting|TaintToleration"
    r"|PodOS\S+|Pod\S+(?:NotSupported|NotAdmitted|Unsupported)|SupplementalGroupsPolicy\S+"
    r"|InitContainerRestartPolicyForbidden|SysctlForbidden|AppArmor|Topology\S*|.*(?:Affinity|Alignment)Error)$"
)
#: Events about a bound pod whose containers wait, and who judges them.
_VOLUME_EVENTS = frozenset({"FailedMount", "FailedMapVolume", "FailedAttachVolume"})
_SANDBOX_EVENTS = frozenset({"FailedCreatePodSandBox", "NetworkNotReady", "FailedCreatePodSandbox"})
#: A kubelet that begins with a pod says this once or twice.
_CACHE = re.compile(r"failed to sync (?:configmap|secret) cache")
CACHE_OFTEN = 4
#: In these ways a later event shows that the trouble is over.
_PROGRESS_EVENTS = frozenset({"Pulling", "Pulled", "Created", "Started", "SuccessfulAttachVolume"})


@dataclass(frozen=True)
class Look:
    """What a pod is judged with."""

    state: ClusterState
    nodes: NodeJudge


def judge_pod(pod: K8sObject, look: Look) -> Verdict | None:
    """Return the verdict on a pod; None for one that no longer counts (being deleted, or done)."""
    status = pod.get("status") or {}
    node = look.state.node_of.get(str((pod.get("spec") or {}).get("nodeName") or ""))
    if node is not None and is_lost(node):
        return on_lost_node(node)
    if meta(pod).get("deletionTimestamp"):
        return None
    phase = status.get("phase")
    if phase == "Succeeded":
        return None
    events = look.state.events_of("Pod", pod)
    if phase == "Failed":
        return _failed(pod, events, look)
    if str(status.get("reason") or "") == "NodeLost" or condition(pod, "Ready").get("reason") == "NodeStatusUnknown":
        return Verdict(
            "node_lost",
            f"The node of pod {name_of(pod)} does not report",
            (quote(str(status.get("message") or "NodeLost")),),
            "node",
        )
    if not (pod.get("spec") or {}).get("nodeName"):
        return _unscheduled(pod, events, look)
    return _scheduled(pod, events, look)


# --- pods that ended or lost their node -----------------------------------------------------------------------------


def _failed(pod: K8sObject, events: list[Event], look: Look) -> Verdict:
    status = pod.get("status") or {}
    reason, text = str(status.get("reason") or ""), str(status.get("message") or "")
    disruption = condition(pod, "DisruptionTarget")
    line = quote(
        f"pod {name_of(pod)}: {reason or disruption.get('reason') or 'Failed'}: "
        f"{text or disruption.get('message') or ''}"
    )
    detail = {"reason": reason, "node": str((pod.get("spec") or {}).get("nodeName") or "")}
    if reason == "NodeLost":
        return Verdict("node_lost", "The node of the pod was lost", (line,), "node", detail)
    if reason in _EVICTED or (not reason and disruption.get("status") == "True"):
        return Verdict(
            "evicted", f"The pod was evicted ({reason or disruption.get('reason')})", (line,), stable(text), detail
        )
    if reason and _NODE_REFUSALS.match(reason):
        return Verdict(
            "node_admission", f"The kubelet refused the pod ({reason})", (line,), reason + stable(text), detail
        )
    found = _containers(pod, events, look)
    if found is not None and found.category not in ("ready", "model_loading"):
        return found
    return Verdict("unknown", f"The pod failed ({reason or 'no reason given'})", (line,), reason, detail)


# --- pods without a node --------------------------------------------------------------------------------------------


def _unscheduled(pod: K8sObject, events: list[Event], look: Look) -> Verdict:
    spec = pod.get("spec") or {}
    said = condition(pod, "PodScheduled")
    gates = [str(gate.get("name") or "") for gate in spec.get("schedulingGates") or ()]
    if gates or said.get("reason") == "SchedulingGated":
        return _gated(pod, gates, look)
    text, from_event = str(said.get("message") or ""), False
    since = seconds(said.get("lastTransitionTime"))
    if not text or said.get("status") == "True":
        told = [event for event in events if event.reason in _SCHEDULING_EVENTS]
        text, from_event = (told[-1].message, True) if told else ("", False)
        since = told[-1].first if told else 0.0
    if not text:
        return _silence(pod, look)
    message = parse(text, event=from_event)
    if said.get("reason") == "SchedulerError" and (message.primary is None or message.primary.category == "unknown"):
        return Verdict("scheduler_error", "The scheduler met an error", (quote(text),), stable(text), since=since)
    return _unschedulable(pod, message, look, since)


def _silence(pod: K8sObject, look: Look) -> Verdict:
    age = look.state.now - created(pod)
    held = _held_before_the_queue(pod, look)
    if held is not None and age >= SCHEDULER_SILENCE:
        return held
    name = str((pod.get("spec") or {}).get("schedulerName") or "default-scheduler")
    if age < SCHEDULER_SILENCE:
        return Verdict("model_loading", "The pod was just created", key="scheduling", detail={"stage": "scheduling"})
    return Verdict(
        "scheduler_missing",
        f"No scheduler called {name} has taken the pod up in {round(age)} s",
        (f"pod {name_of(pod)}: schedulerName {name}, no condition PodScheduled and no event",),
        name,
        {"scheduler": name, "age_seconds": round(age)},
        since=created(pod),
    )


def _held_before_the_queue(pod: K8sObject, look: Look) -> Verdict | None:
    """kube-scheduler says nothing of a pod whose claims or gang do not exist yet: it is not even queued."""
    spec = pod.get("spec") or {}
    claims = spec.get("resourceClaims") or ()
    if claims:
        made = {
            str(one.get("name")): one.get("resourceClaimName")
            for one in (pod.get("status") or {}).get("resourceClaimStatuses") or ()
        }
        names = [
            str(
                one.get("resourceClaimName")
                or made.get(str(one.get("name")))
                or one.get("resourceClaimTemplateName")
                or ""
            )
            for one in claims
        ]
        told = [event for event in look.state.events_of("Pod", pod) if "ResourceClaim" in event.reason]
        lines = [quote(f"{event.reason}: {event.message}") for event in told[-1:]]
        lines.append(f"pod {name_of(pod)}: resource claims {', '.join(names)}, no word from the scheduler")
        return Verdict(
            "dra_claim",
            f"The scheduler waits for resource claims that do not exist ({', '.join(names)})",
            tuple(lines),
            ",".join(sorted(names)),
            {"claims": names},
        )
    group = (spec.get("workloadRef") or {}).get("name") or (spec.get("schedulingGroup") or {}).get("podGroupName")
    if group:
        line = f"pod {name_of(pod)}: group {group}, no word from the scheduler"
        return Verdict(
            "gang", f"The scheduler waits for the pod's group {group}", (line,), str(group), {"subject": group}
        )
    return None


def _gated(pod: K8sObject, gates: list[str], look: Look) -> Verdict:
    line = f"pod {name_of(pod)}: scheduling gates {', '.join(gates) or 'not named'}"
    if any(gate in KUEUE_GATES for gate in gates):
        for workload in look.state.of("workloads"):
            owners = {owner.get("uid") for owner in meta(workload).get("ownerReferences") or ()}
            reserved = condition(workload, "QuotaReserved")
            if meta(pod).get("uid") in owners and reserved.get("status") == "False":
                message = parse(str(reserved.get("message") or ""))
                if message.primary is not None and message.primary.category != "unknown":
                    return _from_blocker(message.primary, message, (line, quote(message.text)))
    held_by = "Grove" if GROVE_GATE in gates else "Kueue" if set(gates) & set(KUEUE_GATES) else ""
    remedy = (
        f"{held_by} holds the pod: look at its {'PodGang' if held_by == 'Grove' else 'Workload'}." if held_by else ""
    )
    return Verdict(
        "scheduling_gated",
        f"The pod waits for its scheduling gates ({', '.join(gates) or 'not named'})",
        (line,),
        ",".join(sorted(gates)),
        {"gates": gates, "held_by": held_by},
        way="contention" if held_by else None,
        remedy=remedy,
        since=created(pod),
    )


def _unschedulable(pod: K8sObject, message: SchedulerMessage, look: Look, since: float) -> Verdict:
    primary = message.primary
    if primary is None:
        return Verdict(
            "model_loading",
            "The scheduler has not placed the pod yet",
            (quote(message.text),),
            "scheduling",
            {"stage": "scheduling"},
        )
    opinion = look.nodes.opinion(pod)
    verdict = replace(_from_blocker(primary, message, (quote(message.text),)), since=since)
    if opinion is not None:
        verdict = _with_nodes(verdict, pod, opinion)
        differs = disagreement(message, opinion)
        if differs:
            verdict = verdict.noting(disagreement=differs)
    if verdict.category == "pvc":
        verdict = _with_claims(verdict, pod, look.state)
    if verdict.category == "host_port":
        verdict = _with_ports(verdict, pod, look.state)
    return verdict


def _from_blocker(blocker: Blocker, message: SchedulerMessage, evidence: tuple[str, ...]) -> Verdict:
    category = CATEGORIES[blocker.category]
    key = "/".join(filter(None, (blocker.resource, blocker.subject)))
    detail: dict[str, Any] = {
        "resource": blocker.resource,
        "subject": blocker.subject,
        "scheduler": message.scheduler,
        "reasons": [one.to_result() for one in message.blockers],
        "truncated": message.truncated,
    }
    if blocker.category == "unknown":
        key, text = stable(blocker.text), f"The scheduler gives a reason that is not known: {quote(blocker.text)}"
    else:
        text = category.reason.meaning + (f" ({key})" if key else "")
    return Verdict(blocker.category, text, evidence, key, detail, way=message.way if blocker.way else None)


def _with_nodes(verdict: Verdict, pod: K8sObject, opinion: NodeOpinion) -> Verdict:
    """Add what the nodes say: how much is missing, whether it can ever fit, which taint or label it is."""
    detail: dict[str, Any] = {"can_ever_fit": opinion.can_ever_fit}
    if verdict.category in ("insufficient_resource", "gang"):
        return _resources(verdict, opinion, detail)
    if verdict.category == "taint" and opinion.lost:
        return replace(verdict, category="node_lost", message="No node reports any more").noting(**detail)
    said = {one["category"] for one in verdict.detail.get("reasons") or ()}
    if (
        verdict.category in NODE_RULES
        and opinion.meant
        and verdict.category not in opinion.meant
        and opinion.obstacle in said
    ):
        # Most nodes are not meant for the pod at all; the few that are refuse it for this reason.
        return _obstacle(verdict.noting(**detail), opinion, "by the pod's own selector only these nodes are meant")
    found = opinion.subjects.get(verdict.category, ())
    if not found:
        return verdict.noting(**detail)
    named = "; ".join(found[:5])
    word = {
        "taint": "taints not tolerated",
        "node_affinity": "asked for and missing",
        "node_unschedulable": "cordoned",
    }.get(verdict.category, "")
    return replace(verdict, message=f"{verdict.message}: {named}", key=verdict.key or named).noting(
        f"nodes: {word}: {named}", **detail, subjects=list(found)
    )


def _obstacle(verdict: Verdict, opinion: NodeOpinion, why: str) -> Verdict:
    """Return the verdict that the nodes meant for the pod give instead of the scheduler's most frequent reason."""
    category = opinion.obstacle
    subjects = opinion.subjects.get(category, ())
    named = "; ".join(subjects[:5])
    return Verdict(
        category,
        f"The nodes that could hold the pod refuse it ({CATEGORIES[category].reason.meaning.lower()}): {named}",
        (*verdict.evidence, why),
        named,
        {**verdict.detail, "can_ever_fit": False, "subjects": list(subjects)},
        since=verdict.since,
    )


def _resources(verdict: Verdict, opinion: NodeOpinion, detail: dict[str, Any]) -> Verdict:
    resource = str(verdict.detail.get("resource") or "")
    if opinion.lacking and (resource not in opinion.lacking):
        resource = next(iter(sorted(opinion.lacking, key=lambda name: ("/" not in name, name))))
    asked = opinion.requests.get(resource, 0)
    detail.update(resource=resource, requested=asked, eligible_nodes=opinion.eligible)
    if opinion.most_free:
        detail.update(most_free=opinion.most_free.get(resource, 0))
    if opinion.can_ever_fit:
        free = f", the most that one node has free is {detail['most_free']}" if "most_free" in detail else ""
        if not asked:
            return verdict.noting(**detail)
        return replace(verdict, message=f"{verdict.message}: a pod asks for {asked}{free}").noting(**detail)
    if opinion.obstacle in CATEGORIES:
        said = {one["category"] for one in verdict.detail.get("reasons") or ()}
        if opinion.obstacle not in said and not verdict.detail.get("truncated"):
            # The scheduler refused no node for this: the nodes have changed since, which is told as a disagreement.
            return verdict.noting(resource=resource, requested=asked)
        # The nodes that lack it could never hold the pod; those that could refuse it for another reason.
        return _obstacle(verdict, opinion, "nodes that are merely short of it are too small even when empty")
    most = opinion.lacking.get(resource, (asked, 0))[1]
    return replace(
        verdict,
        message=f"{verdict.message}: a pod asks for {asked}, the largest eligible node has {most}: it can never fit",
        way="failed_deploy",
        remedy="No node is large enough: ask for less per pod, or spread a replica over nodes (multinode).",
    ).noting(**detail, largest=most)


def _with_claims(verdict: Verdict, pod: K8sObject, state: ClusterState) -> Verdict:
    """Name the claims that are missing or unbound, and what their events say."""
    known = {name_of(claim): claim for claim in state.of("persistentvolumeclaims")}
    wanted = [
        str((volume.get("persistentVolumeClaim") or {}).get("claimName") or "")
        for volume in (pod.get("spec") or {}).get("volumes") or ()
        if isinstance(volume, dict) and volume.get("persistentVolumeClaim")
    ]
    lines, bad = [], []
    for name in wanted:
        claim = known.get(name)
        if claim is None:
            if "persistentvolumeclaims" in state.objects:
                bad.append(name)
                lines.append(f"claim {name}: does not exist")
            continue
        phase = str((claim.get("status") or {}).get("phase") or "")
        if phase != "Bound":
            bad.append(name)
            told = state.events_of("PersistentVolumeClaim", claim)
            lines.append(quote(f"claim {name}: {phase}" + (f": {told[-1].reason}: {told[-1].message}" if told else "")))
    if not bad:
        return verdict
    return replace(verdict, key=",".join(bad), message=f"{verdict.message}: {', '.join(bad)}").noting(
        *lines, claims=bad
    )


def _with_ports(verdict: Verdict, pod: K8sObject, state: ClusterState) -> Verdict:
    """A port held by the same DGD never comes free; one held by somebody else may."""
    ports = {
        port.get("hostPort")
        for container in (pod.get("spec") or {}).get("containers") or ()
        for port in container.get("ports") or ()
        if port.get("hostPort")
    }
    holders = [
        name_of(other)
        for other in state.pods
        if other is not pod
        and (other.get("spec") or {}).get("nodeName")
        and any(
            port.get("hostPort") in ports
            for container in (other.get("spec") or {}).get("containers") or ()
            for port in container.get("ports") or ()
        )
    ]
    way: Way | None = None if holders or not ports else "contention"
    return replace(verdict, way=way).noting(
        *(f"host port {port} is held by {', '.join(holders[:3])}" for port in sorted(ports, key=str) if holders),
        holders=holders,
    )


# --- pods on a node ---------------------------------------------------------------------------------------------------


def _scheduled(pod: K8sObject, events: list[Event], look: Look) -> Verdict:
    found = _containers(pod, events, look)
    trouble = _kubelet_events(pod, events) if found is None or found.detail.get("stage") == "creating" else None
    if trouble is not None:
        return trouble
    if found is None and (absent := absent_node(pod, look.state)) is not None:
        return absent
    if found is None:
        return Verdict(
            "model_loading", "The kubelet has not taken the pod up yet", key="creating", detail={"stage": "creating"}
        )
    if found.category == "ready" and condition(pod, "Ready").get("status") == "False":
        said = condition(pod, "Ready")
        if (away := node_away(pod, events, look.state)) is not None:
            return away
        return Verdict(
            "model_loading",
            f"The containers are ready, the pod is not ({said.get('reason', '')})",
            (quote(str(said.get("message") or "")),) if said.get("message") else (),
            "readiness_gate",
            {"stage": "readiness_gate"},
        )
    if found.detail.get("stage") == "creating":
        return _creating(found, events)
    return found


def _creating(found: Verdict, events: list[Event]) -> Verdict:
    told = [event for event in events if event.reason in _PROGRESS_EVENTS]
    if told and told[-1].reason == "Pulling":
        return replace(
            found,
            message=f"It pulls an image: {quote(told[-1].message)}",
            detail={"stage": "pulling", "since": told[-1].last},
        )
    return found


def _containers(pod: K8sObject, events: list[Event], look: Look) -> Verdict | None:
    """Judge the containers: the init container at work first, then the most telling of the others."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    init = _pair(
        pod, events, look, spec.get("initContainers") or (), status.get("initContainerStatuses") or (), init=True
    )
    if any(not one.status for one in init) and not status.get("containerStatuses"):
        init = [one for one in init if one.status]
    verdicts: list[Verdict] = []
    for one in init:
        verdict = judge_container(one)
        if not one.sidecar and verdict.category != "ready":
            return verdict
        verdicts.append(verdict)
    main = _pair(pod, events, look, spec.get("containers") or (), status.get("containerStatuses") or (), init=False)
    verdicts += [judge_container(one) for one in main if one.status]
    if not any(one.status for one in main) and not verdicts:
        return None
    return max(verdicts, key=lambda verdict: severity(verdict.category))


def _pair(pod: K8sObject, events: list[Event], look: Look, specs: Any, statuses: Any, *, init: bool) -> list[Container]:
    by_name = {str(status.get("name")): status for status in statuses}
    return [
        Container(
            name=str(spec.get("name") or ""),
            init=init,
            sidecar=init and is_sidecar(spec),
            spec=spec,
            status=by_name.get(str(spec.get("name")), {}),
            events=[event for event in events if event.container in ("", str(spec.get("name") or ""))],
            logs=look.state.logs,
            pod=name_of(pod),
            now=look.state.now,
            restart_policy=str((pod.get("spec") or {}).get("restartPolicy") or "Always"),
        )
        for spec in specs
    ]


def _kubelet_events(pod: K8sObject, events: list[Event]) -> Verdict | None:
    """Judge what the kubelet tells of a pod whose containers are not created; what it got over does not count."""
    for event in reversed(events):
        if event.reason in _PROGRESS_EVENTS:
            return None
        if _CACHE.search(event.message) and event.count < CACHE_OFTEN:
            continue  # the kubelet has just not read the object yet
        if event.reason in _VOLUME_EVENTS:
            specific = [one for one in events if one.reason in _VOLUME_EVENTS and missing_config(one.message)]
            told = specific[-1] if specific else event
            return replace(volume_event(told.reason, told.message), since=told.first)
        if event.reason in _SANDBOX_EVENTS:
            return Verdict(
                "sandbox",
                "The pod's sandbox or network cannot be set up",
                (quote(event.message),),
                stable(event.message),
                since=event.first,
            )
        if event.reason == "FailedPrepareDynamicResources":
            return Verdict(
                "dra_claim",
                "The node cannot prepare a resource claim",
                (quote(event.message),),
                stable(event.message),
                since=event.first,
            )
    return None


def gpus(pod: K8sObject) -> int:
    """Return how many NVIDIA GPUs a pod's containers ask for."""
    total = 0
    for container in (pod.get("spec") or {}).get("containers") or ():
        resources = container.get("resources") or {}
        value = (
            (resources.get("limits") or {}).get(keys.GPU_RESOURCE)
            or (resources.get("requests") or {}).get(keys.GPU_RESOURCE)
            or 0
        )
        total += int(str(value)) if str(value).isdigit() else 0
    return total
