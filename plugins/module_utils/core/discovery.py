# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is each worker registered for service discovery, as a frontend would see it?

Kubernetes backend: an instance is visible only while its EndpointSlice endpoint is ready *and* a DynamoWorkerMetadata
of its name exists that the living pod owns. Sources: the document "Service discovery", and Dynamo's
``lib/runtime/src/discovery/kube`` (name and instance id of a container-mode registration).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from . import keys
from .demand import K8sObject
from .findings import Finding, Reason
from .instance_id import worker_instance_id
from .triage.state import ClusterState, condition, labels_of, meta, name_of

CHECK = "discovery"
KUBERNETES, ETCD = "kubernetes", "etcd"
VISIBLE = Reason("discovery_visible", CHECK, "Every worker that should be is registered and ready")
NOT_REGISTERED = Reason(
    "discovery_not_registered",
    CHECK,
    "A ready worker has no DynamoWorkerMetadata: no frontend can see it",
    "Look at the worker's log for its registration, and at the discovery ServiceAccount's permissions.",
)
NOT_READY = Reason(
    "discovery_not_ready",
    CHECK,
    "A worker is registered and its endpoint is not ready",
    "Wait until its readiness probe passes, or see triage.",
)
STALE = Reason(
    "discovery_stale_metadata",
    CHECK,
    "A DynamoWorkerMetadata belongs to an earlier pod of the same name",
    "Wait until the new pod rewrites it; delete the DynamoWorkerMetadata where it does not.",
)
ORPHAN = Reason(
    "discovery_orphan_metadata",
    CHECK,
    "A DynamoWorkerMetadata belongs to no pod that exists",
    "It is deleted with its owner; delete it where the owner is gone already.",
)
NO_GENERATE = Reason(
    "discovery_no_generate",
    CHECK,
    "A worker has registered no generate endpoint",
    "The engine is not up yet, or serves another endpoint: see the worker's log.",
)
WRONG_NAMESPACE = Reason(
    "discovery_wrong_namespace",
    CHECK,
    "A worker has registered under another Dynamo namespace than its frontend looks in",
    "Do not set DYN_NAMESPACE by hand; the operator gives all components of a DGD the same one.",
)
WRONG_INSTANCE = Reason(
    "discovery_wrong_instance_id",
    CHECK,
    "A worker's instance id is not the one made from its name",
    "Do not set the instance id by hand.",
)
MISSING_ENVIRONMENT = Reason(
    "discovery_missing_environment",
    CHECK,
    "A component lacks variables that discovery needs",
    "Let the operator set POD_NAME, POD_NAMESPACE, POD_UID and DYN_DISCOVERY_BACKEND; a sidecar has to be given them.",
)
MISSING_RBAC = Reason(
    "discovery_missing_rbac",
    CHECK,
    "The ServiceAccount of the pods may not do what discovery needs",
    (
        "Let the operator's Role and RoleBinding for discovery be restored, or grant the permissions to the "
        "pods' own ServiceAccount."
    ),
)
RBAC_UNKNOWN = Reason(
    "discovery_rbac_unknown",
    CHECK,
    "Whether the ServiceAccount's permissions suffice may not be asked",
    "Allow create on subjectaccessreviews, or check the Role by hand.",
)
ETCD_LIMITS = Reason(
    "discovery_etcd_limits",
    CHECK,
    "With the etcd backend registrations are in etcd, which is not read",
    (
        "What is checked: the backend chosen, ETCD_ENDPOINTS, and readiness. The smoke test shows whether a "
        "model is listed."
    ),
)
NO_ETCD_ENDPOINTS = Reason(
    "discovery_etcd_endpoints_missing",
    CHECK,
    "The etcd backend is chosen and a component has no ETCD_ENDPOINTS",
    "Give the platform's etcd address in the operator's settings.",
)
NOT_READ = Reason(
    "discovery_not_read",
    CHECK,
    "Discovery cannot be checked",
    "Grant read access to the kinds named, or install the CRD.",
)
BACKEND_UNKNOWN = Reason(
    "discovery_backend_unknown",
    CHECK,
    "The backend's name is none that Dynamo knows",
    "Use kubernetes or etcd in nvidia.com/dynamo-discovery-backend.",
)
REASONS: tuple[Reason, ...] = (
    VISIBLE,
    NOT_REGISTERED,
    NOT_READY,
    STALE,
    ORPHAN,
    NO_GENERATE,
    WRONG_NAMESPACE,
    WRONG_INSTANCE,
    MISSING_ENVIRONMENT,
    MISSING_RBAC,
    RBAC_UNKNOWN,
    ETCD_LIMITS,
    NO_ETCD_ENDPOINTS,
    NOT_READ,
    BACKEND_UNKNOWN,
)

#: (group, resource, verbs) that a component's ServiceAccount needs; see the operator's discovery Role.
NEEDED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("discovery.k8s.io", "endpointslices", ("list", "watch")),
    (keys.GROUP, "dynamoworkermetadatas", ("create", "list", "watch", "patch")),
)
#: What a registration does not show by itself: whether its account, which frontends have too, sees the others.
TELLING = ("dynamoworkermetadatas", "watch")
_VARIABLES = ("POD_NAME", "POD_NAMESPACE", "POD_UID", "DYN_DISCOVERY_BACKEND")
_FOLLOWER_ROLES = frozenset({"worker", "follower"})
WorkerState = Literal["visible", "not_registered", "not_ready", "stale", "not_expected", "starting"]


@dataclass(frozen=True)
class Access:
    """The answer of an access review: ``allowed`` is None where the question was not permitted."""

    service_account: str
    verb: str
    group: str
    resource: str
    allowed: bool | None
    reason: str = ""


@dataclass(frozen=True)
class WorkerView:
    """One pod as discovery sees it."""

    pod: str
    component: str
    state: WorkerState
    instance_id: int | None = None


@dataclass(frozen=True)
class DiscoveryReport:
    """What was found about discovery."""

    backend: str
    workers: tuple[WorkerView, ...]
    findings: tuple[Finding, ...]

    @property
    def visible(self) -> tuple[str, ...]:
        """The pods that a frontend can see."""
        return tuple(one.pod for one in self.workers if one.state == "visible")

    def to_result(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "backend": self.backend,
            "visible": list(self.visible),
            "workers": [
                {"pod": one.pod, "component": one.component, "state": one.state, "instance_id": one.instance_id}
                for one in self.workers
            ],
            "findings": [finding.to_result() for finding in self.findings],
        }


def effective_backend(graph: K8sObject | None, platform: str) -> str:
    """Return the backend: the DGD's annotation where the key exists, whatever its value, else the platform's."""
    annotations = meta(graph or {}).get("annotations") or {}
    if keys.ANNOTATION_DISCOVERY_BACKEND in annotations:
        return str(annotations[keys.ANNOTATION_DISCOVERY_BACKEND] or "")
    return platform or KUBERNETES


def service_accounts(state: ClusterState) -> tuple[str, ...]:
    """Return the service accounts of the pods that take part in discovery, to be asked about."""
    names = {
        str((pod.get("spec") or {}).get("serviceAccountName") or "default")
        for pod in state.pods
        if not _gone(pod) and labels_of(pod).get(keys.LABEL_DISCOVERY_ENABLED) == "true"
    }
    return tuple(sorted(names))


def judge_discovery(
    state: ClusterState,
    *,
    platform: str = KUBERNETES,
    access: Sequence[Access] = (),
    unread: Mapping[str, str] | None = None,
) -> DiscoveryReport:
    """Judge the registrations of a DGD's pods. ``unread`` maps kinds that could not be read to the reason."""
    backend = effective_backend(state.graph, platform)
    if backend == ETCD:
        return DiscoveryReport(ETCD, (), tuple(_etcd(state)))
    findings: list[Finding] = []
    if backend != KUBERNETES:
        text = f"backend {backend!r}: pods get the variable, but no ServiceAccount, labels or Services"
        findings.append(BACKEND_UNKNOWN.finding("fail", f"DynamoGraphDeployment/{state.dgd}", text))
    missing = {kind: why for kind, why in (unread or {}).items() if kind in ("endpointslices", "dynamoworkermetadatas")}
    if missing:
        lines = [f"{kind}: {why}" for kind, why in sorted(missing.items())]
        findings.append(
            NOT_READ.finding(
                "unknown", f"DynamoGraphDeployment/{state.dgd}", "Kinds that discovery needs were not read", lines
            )
        )
        return DiscoveryReport(backend, (), tuple(findings))
    workers, found = _registrations(state)
    findings += [*found, *_environment(state), *_rbac(access)]
    expected = [one for one in workers if one.state != "not_expected"]
    if expected and all(one.state == "visible" for one in expected) and not findings:
        names = [f"{one.pod}: instance {one.instance_id}" for one in expected]
        findings.append(
            VISIBLE.finding("pass", f"DynamoGraphDeployment/{state.dgd}", f"{len(expected)} workers are visible", names)
        )
    return DiscoveryReport(backend, tuple(workers), tuple(findings))


# --- registrations ----------------------------------------------------------------------------------------------------


def _registrations(state: ClusterState) -> tuple[list[WorkerView], list[Finding]]:
    ready = _ready_endpoints(state)
    records = {name_of(obj): obj for obj in state.of("dynamoworkermetadatas")}
    workers: list[WorkerView] = []
    findings: list[Finding] = []
    claimed: set[str] = set()
    for pod in state.pods:
        if _gone(pod):
            continue
        for name in _registration_names(pod):
            claimed.add(name)
            view, found = _worker(state, pod, name, records.get(name), ready)
            workers.append(view)
            findings += found
    pods = {str(meta(pod).get("uid") or ""): pod for pod in state.of("pods")}
    for name, record in sorted(records.items()):
        if name not in claimed and _is_ours(state, record):
            owner = _owner(record)
            if str(owner.get("uid") or "") not in pods:
                findings.append(
                    ORPHAN.finding(
                        "warn", f"DynamoWorkerMetadata/{name}", f"its pod {owner.get('name', name)} does not exist"
                    )
                )
    return workers, findings


def _worker(
    state: ClusterState, pod: K8sObject, name: str, record: K8sObject | None, ready: frozenset[tuple[str, str]]
) -> tuple[WorkerView, list[Finding]]:
    component, subject, uid = state.component_of(pod), f"Pod/{name_of(pod)}", str(meta(pod).get("uid") or "")
    is_ready = (name_of(pod), uid) in ready or (name_of(pod), "") in ready
    if record is None:
        if not _expected(pod):
            return WorkerView(name_of(pod), component, "not_expected"), []
        if not is_ready:
            return WorkerView(name_of(pod), component, "starting"), []
        return (
            WorkerView(name_of(pod), component, "not_registered"),
            [
                NOT_REGISTERED.finding(
                    "fail", subject, f"its endpoint is ready, and there is no DynamoWorkerMetadata {name}"
                )
            ],
        )
    owner = _owner(record)
    if uid and owner.get("uid") != uid:
        line = f"DynamoWorkerMetadata {name}: owner UID {owner.get('uid', 'none')}, the pod's is {uid}"
        return WorkerView(name_of(pod), component, "stale"), [STALE.finding("warn", subject, STALE.meaning, (line,))]
    findings = list(_content(pod, name, record, subject))
    if not is_ready:
        return (
            WorkerView(name_of(pod), component, "not_ready", worker_instance_id(name)),
            [
                NOT_READY.finding(
                    "warn", subject, f"DynamoWorkerMetadata {name} exists, the pod's endpoint is not ready"
                ),
                *findings,
            ],
        )
    broken = any(finding.outcome == "fail" for finding in findings)
    return WorkerView(
        name_of(pod), component, "not_registered" if broken else "visible", worker_instance_id(name)
    ), findings


def _content(pod: K8sObject, name: str, record: K8sObject, subject: str) -> Iterator[Finding]:
    endpoints = _endpoints(record)
    if not _expected(pod):
        return
    if not any(one["endpoint"] == "generate" for one in endpoints):
        listed = (
            ", ".join(sorted("/".join((one["namespace"], one["component"], one["endpoint"])) for one in endpoints))
            or "none"
        )
        yield NO_GENERATE.finding("fail", subject, "no generate endpoint is registered", (f"endpoints: {listed}",))
    base = str(labels_of(pod).get(keys.LABEL_NAMESPACE) or "")
    wrong = sorted(
        {
            one["namespace"]
            for one in endpoints
            if base and one["namespace"] != base and not one["namespace"].startswith(f"{base}-")
        }
    )
    if wrong:
        yield WRONG_NAMESPACE.finding(
            "fail", subject, f"registered under {', '.join(wrong)}, the frontend looks in {base}"
        )
    right = worker_instance_id(name)
    ids = sorted(
        {one["instance_id"] for one in endpoints if one["instance_id"] is not None and one["instance_id"] != right}
    )
    if ids:
        yield WRONG_INSTANCE.finding(
            "fail", subject, f"instance id {', '.join(map(str, ids))}, made from the name {name} it is {right}"
        )


def _endpoints(record: K8sObject) -> list[dict[str, Any]]:
    data = (record.get("spec") or {}).get("data") or {}
    found = data.get("endpoints") if isinstance(data, Mapping) else None
    values = found.items() if isinstance(found, Mapping) else ()
    result = []
    for key, value in values:
        parts = [*str(key).split("/"), "", "", ""][:3]
        one = value if isinstance(value, Mapping) else {}
        result.append(
            {
                "namespace": str(one.get("namespace") or parts[0]),
                "component": str(one.get("component") or parts[1]),
                "endpoint": str(one.get("endpoint") or parts[2]),
                "instance_id": one.get("instance_id") if isinstance(one.get("instance_id"), int) else None,
            }
        )
    return result


def _ready_endpoints(state: ClusterState) -> frozenset[tuple[str, str]]:
    """Return (pod, UID) of every endpoint that is ready; a missing ``ready`` means ready (discovery/v1)."""
    found = set()
    for piece in state.of("endpointslices"):
        for endpoint in piece.get("endpoints") or ():
            target = endpoint.get("targetRef") or {}
            ready = (endpoint.get("conditions") or {}).get("ready")
            if target.get("kind") == "Pod" and ready is not False:
                found.add((str(target.get("name") or ""), str(target.get("uid") or "")))
    return frozenset(found)


def _registration_names(pod: K8sObject) -> tuple[str, ...]:
    """Return the names under which a pod registers: its own, or in container mode one for each engine container."""
    names = []
    for container in (pod.get("spec") or {}).get("containers") or ():
        environment = _environment_of(container)
        if environment.get("DYN_KUBE_DISCOVERY_MODE") == "container":
            own = str(environment.get("CONTAINER_NAME") or container.get("name") or "")
            names.append(name_of(pod) if own == keys.MAIN_CONTAINER else f"{name_of(pod)}-{own}")
    return tuple(names) or (name_of(pod),)


def _expected(pod: K8sObject) -> bool:
    """Return whether a pod must register: workers that lead their replica. Followers and weight servers never do."""
    labels = labels_of(pod)
    if labels.get(keys.LABEL_DISCOVERY_ENABLED) != "true":
        return False
    kind = str(labels.get(keys.LABEL_COMPONENT_TYPE) or labels.get(keys.LABEL_SUB_COMPONENT_TYPE) or "")
    if kind not in keys.WORKER_TYPES:
        return False
    if labels.get(keys.LABEL_ROLE) in _FOLLOWER_ROLES:
        return False
    index = labels.get("leaderworkerset.sigs.k8s.io/worker-index")
    if index not in (None, "0"):
        return False
    return re.search(r"-wkr(?:-|$)", str(labels.get("grove.io/podclique") or "")) is None


def _is_ours(state: ClusterState, record: K8sObject) -> bool:
    owner = str(_owner(record).get("name") or name_of(record))
    return owner.startswith(f"{state.dgd}-")


def _owner(record: K8sObject) -> K8sObject:
    owners = [one for one in meta(record).get("ownerReferences") or () if one.get("kind") == "Pod"]
    return owners[0] if owners else {}


def _gone(pod: K8sObject) -> bool:
    return bool(meta(pod).get("deletionTimestamp")) or (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


# --- environment and permissions --------------------------------------------------------------------------------------


def _environment_of(container: K8sObject) -> dict[str, str]:
    return {
        str(one.get("name")): str(one.get("value") or ("" if not one.get("valueFrom") else "(reference)"))
        for one in container.get("env") or ()
    }


def _main(pod: K8sObject) -> K8sObject:
    containers = (pod.get("spec") or {}).get("containers") or ()
    return next(
        (one for one in containers if one.get("name") == keys.MAIN_CONTAINER), containers[0] if containers else {}
    )


def _environment(state: ClusterState) -> Iterator[Finding]:
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for pod in state.pods:
        container = _main(pod)
        # A snapshot keeps no environment: then there is nothing to judge.
        if _gone(pod) or "env" not in container or labels_of(pod).get(keys.LABEL_DISCOVERY_ENABLED) != "true":
            continue
        have = _environment_of(container)
        missing = tuple(name for name in _VARIABLES if name not in have)
        component = state.component_of(pod)
        if missing and (component, missing) not in seen:
            seen.add((component, missing))
            yield MISSING_ENVIRONMENT.finding(
                "fail", f"Component/{component}", f"its container {container.get('name')} lacks {', '.join(missing)}"
            )


def _rbac(access: Sequence[Access]) -> Iterator[Finding]:
    for account in sorted({one.service_account for one in access}):
        own = [one for one in access if one.service_account == account]
        denied = [f"{one.verb} {one.resource}.{one.group}" for one in own if one.allowed is False]
        if denied:
            yield MISSING_RBAC.finding("fail", f"ServiceAccount/{account}", f"it may not {', '.join(denied)}")
        unasked = [one for one in own if one.allowed is None]
        if unasked:
            yield RBAC_UNKNOWN.finding(
                "unknown", f"ServiceAccount/{account}", RBAC_UNKNOWN.meaning, (unasked[0].reason,)
            )


def _etcd(state: ClusterState) -> Iterator[Finding]:
    ready = sum(1 for pod in state.pods if condition(pod, "Ready").get("status") == "True")
    yield ETCD_LIMITS.finding(
        "unknown",
        f"DynamoGraphDeployment/{state.dgd}",
        f"{ETCD_LIMITS.meaning}; {ready} of {len(state.pods)} pods are ready",
    )
    seen: set[str] = set()
    for pod in state.pods:
        container = _main(pod)
        component = state.component_of(pod)
        if _gone(pod) or "env" not in container or component in seen:
            continue
        if "ETCD_ENDPOINTS" not in _environment_of(container):
            seen.add(component)
            yield NO_ETCD_ENDPOINTS.finding("fail", f"Component/{component}", NO_ETCD_ENDPOINTS.meaning)
