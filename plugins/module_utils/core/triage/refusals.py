# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges what was never created: quotas, admission, invalid objects, and an operator that cannot go on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..demand import K8sObject
from .kubelet import quote, stable
from .state import ClusterState, Event, condition, created, meta, name_of, seconds
from .verdict import Verdict

#: How long an operator or controller may take to act before its silence is a finding.
TAKE_UP = 30.0
#: Controllers that create pods, by plural, with their kind.
CONTROLLERS = {
    "replicasets": "ReplicaSet",
    "statefulsets": "StatefulSet",
    "leaderworkersets": "LeaderWorkerSet",
    "podcliques": "PodClique",
    "podcliquescalinggroups": "PodCliqueScalingGroup",
    "podcliquesets": "PodCliqueSet",
    "deployments": "Deployment",
    "jobs": "Job",
}
_CONFLICT = re.compile(r"Operation cannot be fulfilled on|the object has been modified|AlreadyExists|already exists")
_QUOTA = re.compile(
    r"exceeded quota: (?P<quota>[^,]+), requested: (?P<requested>.+?), used: (?P<used>.+?), limited: (?P<limited>.+)$"
)
_QUOTA_MUST = re.compile(r"failed quota: (?P<quota>[^:]+): must specify (?P<must>.+)$")
_WEBHOOK = re.compile(r'admission webhook "(?P<name>[^"]+)" denied the request:? ?(?P<text>.*)', re.DOTALL)
_WEBHOOK_DOWN = re.compile(r'failed calling webhook "(?P<name>[^"]+)"')
_POLICY = re.compile(r"ValidatingAdmissionPolicy '(?P<name>[^']+)'")
_POD_SECURITY = re.compile(r'violates PodSecurity "(?P<name>[^"]+)": (?P<text>.+)$', re.DOTALL)
#: Refusals by built-in admission: (pattern, who refuses, remedy).
_ADMISSION: tuple[tuple[str, str, str], ...] = (
    (
        r"unable to validate against any security context constraint",
        "SecurityContextConstraints",
        "Give the service account a constraint that allows what the pod asks for.",
    ),
    (r"unable to validate against any pod security policy", "PodSecurityPolicy", ""),
    (
        r"no PriorityClass with name (?P<name>\S+) was found",
        "Priority",
        "Create the priority class, or name one that exists.",
    ),
    (
        r'error looking up service account \S+: serviceaccount "(?P<name>[^"]+)" not found',
        "ServiceAccount",
        "Create the service account, or name one that exists.",
    ),
    (
        r'RuntimeClass(?:\.node\.k8s\.io)? "(?P<name>[^"]+)" not found',
        "RuntimeClass",
        "Install the runtime class, or name one that exists.",
    ),
    (
        r"(?:maximum|minimum) \S+ usage per (?:Pod|Container)|limit to request ratio per",
        "LimitRanger",
        "Keep requests and limits within the namespace's LimitRange.",
    ),
    (
        r"because it is being terminated",
        "NamespaceLifecycle",
        "The namespace is being deleted: use another, or wait until it is gone.",
    ),
    (
        r"component topology is immutable|is immutable",
        "immutable",
        "Delete the DGD and apply it anew (topology_change: recreate).",
    ),
    (r"is forbidden(?!: User )", "forbidden", ""),
)
_BUILT_IN = tuple((re.compile(pattern), who, remedy) for pattern, who, remedy in _ADMISSION)
#: Errors of what is around the operator, not of the DGD.
_INFRASTRUCTURE = re.compile(
    r"connection (?:refused|reset)|timeout|timed out|deadline exceeded|dial tcp|no such host|unexpected EOF|etcdserver"
    r"|is forbidden: User|Unauthorized|no matches for kind|Internal error|too many requests|leader election|tls: "
    r"|the server (?:is currently unable|could not find)",
    re.I,
)
_INVALID = re.compile(
    (
        r"is invalid:|Invalid value:|Required value|Unsupported value|strict decoding error|unknown field"
        r"|unable to decode|cannot unmarshal|failed to parse|must be "
    ),
    re.I,
)


def refusal(text: str) -> Verdict | None:
    """Return the verdict on a text by which the API server refuses an object; None where it is no refusal."""
    line = quote(text)
    quota = _QUOTA.search(text)
    if quota:
        named = quota["quota"].strip()
        return Verdict(
            "quota",
            (
                f"Quota {named} is exceeded: asked for {quota['requested']}, used {quota['used']}, limit "
                f"{quota['limited']}"
            ),
            (line,),
            f"{named}/{quota['requested']}",
            {
                "quota": named,
                "requested": quota["requested"],
                "used": quota["used"],
                "limited": quota["limited"].rstrip("."),
            },
        )
    must = _QUOTA_MUST.search(text)
    if must:
        return Verdict(
            "quota",
            f"Quota {must['quota'].strip()} demands that pods specify {must['must']}",
            (line,),
            must["quota"].strip(),
            {"quota": must["quota"].strip(), "must_specify": must["must"]},
            remedy="Set these requests or limits, or give the namespace a LimitRange with defaults.",
        )
    return _admission(text, line)


def _admission(text: str, line: str) -> Verdict | None:
    for pattern, sub in (
        (_WEBHOOK, "webhook"),
        (_WEBHOOK_DOWN, "webhook_unreachable"),
        (_POLICY, "policy"),
        (_POD_SECURITY, "pod_security"),
    ):
        match = pattern.search(text)
        if match:
            who = match["name"]
            what = {
                "webhook": f"Admission webhook {who} refuses it",
                "webhook_unreachable": f"Admission webhook {who} does not answer",
                "policy": f"Admission policy {who} refuses it",
                "pod_security": f"Pod security level {who} refuses it",
            }[sub]
            remedy = "Have the webhook's service repaired." if sub == "webhook_unreachable" else ""
            return Verdict(
                "admission",
                what,
                (line,),
                f"{who}/{stable(match.groupdict().get('text') or '')}",
                {"who": who, "sub": sub},
                remedy=remedy,
            )
    if _INVALID.search(text) and "is forbidden" not in text:
        return Verdict(
            "config_invalid",
            "The API server does not accept the object as it is described",
            (line,),
            stable(text),
            {"sub": "invalid"},
        )
    for pattern, who, remedy in _BUILT_IN:
        match = pattern.search(text)
        if match:
            name = match.groupdict().get("name") or ""
            what = f"{who} {name}".strip()
            message = (
                f"Admission refuses the pod ({what})"
                if who != "immutable"
                else "The operator does not allow this change to a live DGD"
            )
            return Verdict(
                "admission",
                message,
                (line,),
                f"{who}/{name or stable(text)}",
                {"who": who, "name": name},
                remedy=remedy,
            )
    return None


def short_of_pods(obj: K8sObject) -> bool:
    """Return whether a controller has fewer pods than it wants; True where it does not say."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    wanted = spec.get("replicas", spec.get("parallelism", 1))
    have = status.get("replicas", status.get("active", 0)) or 0
    return not (isinstance(wanted, int) and isinstance(have, int) and have >= wanted)


def refused(state: ClusterState) -> Iterator[tuple[str, Verdict]]:
    """Yield (component, verdict) for each controller that cannot create pods now."""
    for plural, kind in CONTROLLERS.items():
        for obj in state.mine(plural):
            if meta(obj).get("deletionTimestamp") or not short_of_pods(obj):
                continue
            verdict = _controller(obj, state.events_of(kind, obj))
            if verdict is not None:
                yield state.component_of(obj), verdict


def _controller(obj: K8sObject, events: list[Event]) -> Verdict | None:
    failure = condition(obj, "ReplicaFailure")
    texts: list[tuple[str, float]] = []
    if failure.get("status") == "True":
        texts.append((str(failure.get("message") or ""), seconds(failure.get("lastTransitionTime"))))
    texts += [(event.message, event.first) for event in reversed(events) if event.warning]
    for text, since in texts:
        verdict = refusal(text)
        if verdict is not None:
            return Verdict(**{**vars(verdict), "since": since})
    failed = next((event for event in reversed(events) if event.reason == "FailedCreate"), None)
    if failed is not None or failure.get("status") == "True":
        text = failed.message if failed else str(failure.get("message") or "")
        return Verdict(
            "operator_error" if _INFRASTRUCTURE.search(text) else "unknown",
            "A controller cannot create pods",
            (quote(text),),
            stable(text),
            since=failed.first if failed else 0.0,
        )
    return None


def operator_trouble(state: ClusterState, without_pods: set[str]) -> Iterator[tuple[str, Verdict]]:
    """Yield (component, verdict) for what the operator says or fails to do; component "" is the DGD as a whole.

    An update conflict is retried and leaves its event behind, so it never counts; other errors count only for
    components that have no pods, since a later success leaves no event.
    """
    graph = state.graph
    if graph is None:
        return
    ready = condition(graph, "Ready")
    text = str(ready.get("message") or "")
    if ready.get("status") == "False" and "reconcil" in str(ready.get("reason") or "") and not _CONFLICT.search(text):
        yield (
            "",
            _operator_text(
                text, f"DGD {name_of(graph)}: {ready.get('reason')}: ", seconds(ready.get("lastTransitionTime"))
            ),
        )
    if not (graph.get("status") or {}) and without_pods and state.now - created(graph) > TAKE_UP:
        yield (
            "",
            Verdict(
                "operator_error",
                "No operator has taken up the DGD",
                (f"DGD {name_of(graph)}: no status {round(state.now - created(graph))} s after its creation",),
                "not_taken_up",
                {"sub": "not_taken_up"},
                remedy="Check that the Dynamo operator runs and watches this namespace.",
                since=created(graph),
            ),
        )
    for event in reversed(state.events_of("DynamoGraphDeployment", graph)):
        if event.warning and not _CONFLICT.search(event.message) and without_pods:
            yield "", _operator_text(event.message, f"DGD {name_of(graph)}: {event.reason}: ", event.first)
            break
    for obj in state.mine("dynamocomponentdeployments"):
        component = state.component_of(obj)
        if component not in without_pods or meta(obj).get("deletionTimestamp"):
            continue
        for event in reversed(state.events_of("DynamoComponentDeployment", obj)):
            if event.warning and not _CONFLICT.search(event.message):
                yield component, _operator_text(event.message, f"{event.reason}: ", event.first)
                break


def _operator_text(text: str, prefix: str, since: float) -> Verdict:
    verdict = refusal(text)
    if verdict is not None:
        return Verdict(**{**vars(verdict), "evidence": (quote(prefix + text),), "since": since})
    if _INFRASTRUCTURE.search(text):
        return Verdict(
            "operator_error",
            "The operator cannot carry out the DGD",
            (quote(prefix + text),),
            stable(text),
            {"sub": "reconcile"},
            since=since,
        )
    # Nothing around the operator failed, so it is what the DGD describes that it cannot make.
    return Verdict(
        "config_invalid",
        "The operator cannot make what the DGD describes",
        (quote(prefix + text),),
        stable(text),
        {"sub": "refused_by_operator"},
        since=since,
    )


def stuck_rollouts(state: ClusterState) -> Iterator[tuple[str, Verdict]]:
    """Yield (component, verdict) for Deployments that have made no progress within their own deadline."""
    for obj in state.mine("deployments"):
        progressing = condition(obj, "Progressing")
        if progressing.get("reason") == "ProgressDeadlineExceeded" and progressing.get("status") == "False":
            yield (
                state.component_of(obj),
                Verdict(
                    "rollout_stuck",
                    f"Deployment {name_of(obj)} makes no progress within its deadline",
                    (quote(f"Deployment {name_of(obj)}: {progressing.get('message', '')}"),),
                    name_of(obj),
                    {"workload": name_of(obj)},
                    since=seconds(progressing.get("lastUpdateTime") or progressing.get("lastTransitionTime")),
                ),
            )
