# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rendering as users ask for it: a manifest, a release or ``auto``, perhaps a snapshot; findings and a diff come back.

The renderer itself (:mod:`.render`) is handed facts; here they are read out of the snapshot and the options.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from . import keys
from .demand import PodDemand
from .docker_secrets import SecretEntry
from .errors import InputError, shown
from .findings import Finding, Reason, by_severity, worst
from .keyring import operator_index
from .manifest import Document, check_names
from .references import references_of
from .render import (
    CheckpointConfig,
    ClusterFacts,
    IngressConfig,
    OperatorConfig,
    Rejection,
    RenderRequest,
    RenderResult,
    helm_config,
    render,
)
from .render.compare import Comparison, compare
from .render.components import ComponentView, check_amounts, components_of, raw_components
from .render.podcheck import check_pods
from .render.profiles import profile_of
from .render.releases import Choice, Gates, choose_gates, choose_release
from .render.update import review_update, without_restart
from .snapshot import Snapshot, name_of

_CHECK = "render"
REFUSED = Reason(
    "render_refused",
    _CHECK,
    "The API server or the operator refuses the DGD.",
    "Mend the field that the message names.",
)
UNKNOWN_FIELD = Reason(
    "render_unknown_field",
    _CHECK,
    "A field is not known to this release and has no effect.",
    "Correct its spelling, or take it out.",
)
OPERATOR_WARNING = Reason(
    "render_operator_warning", _CHECK, "The operator accepts the DGD with a warning.", "See the message."
)
UPDATE_REFUSED = Reason(
    "render_update_refused",
    _CHECK,
    "The operator would refuse to change the live DGD into this one.",
    "Leave the field as it is in the live DGD, or delete that and create it anew.",
)
RELEASE_ASSUMED = Reason(
    "render_release_assumed",
    _CHECK,
    "The rules of another release than the operator's may have been applied.",
    "Give operator_release, or a snapshot of the cluster.",
)
PATHWAY_ASSUMED = Reason(
    "render_pathway_assumed",
    _CHECK,
    "Whether the cluster has Grove or LeaderWorkerSet is not known, and the DGD needs one of them.",
    "Give pathway, or a snapshot of the cluster.",
)
REPLICAS_MANAGED = Reason(
    "render_replicas_managed",
    _CHECK,
    "An autoscaler may change the number of replicas; the pods told are those it starts with.",
    "Judge the fit for the greatest number of replicas as well.",
)
REASONS: tuple[Reason, ...] = (
    REFUSED,
    UNKNOWN_FIELD,
    OPERATOR_WARNING,
    RELEASE_ASSUMED,
    PATHWAY_ASSUMED,
    REPLICAS_MANAGED,
)


@dataclass(frozen=True)
class RenderOptions:
    """What a user may ask for. ``config`` are the operator's settings that differ from Helm's, by option name."""

    namespace: str = ""
    release: str = "auto"
    pathway: str = "auto"
    config: Mapping[str, Any] = field(default_factory=dict)
    secrets: tuple[SecretEntry, ...] | None = None
    snapshot: Snapshot | None = None
    explain: bool = False
    compare_to: str = ""


@dataclass(frozen=True)
class RenderReport:
    """The answer: the rendering, its components, findings, and the comparison where one was asked for."""

    document: Document
    namespace: str
    release: Choice
    pathway: str
    pathway_evidence: str
    components: tuple[ComponentView, ...]
    result: RenderResult
    findings: tuple[Finding, ...]
    comparison: Comparison | None = None
    explain: bool = False

    @property
    def rejections(self) -> tuple[Rejection, ...]:
        """Why the DGD is refused; empty where it is accepted."""
        return self.result.errors

    def refusal(self) -> str:
        """Return the refusal as one message."""
        first, *others = self.rejections
        place = first.field or (f"component {first.component}" if first.component else "")
        more = f" ({len(others)} more)" if others else ""
        told = f"{place}: {first.message}" if place else first.message
        return f"{self.document.place}: release {self.result.release} refuses the DGD at {first.stage}: {told}{more}."

    def diff(self) -> dict[str, Any]:
        """Return the manifest's components beside one pod of each kind that comes of them, as Ansible shows a diff."""
        after: dict[str, Any] = {}
        for pod in self.result.pods:
            name = pod.component if pod.role == "main" else f"{pod.component} ({pod.role})"
            metadata = {
                key: pod.pod["metadata"][key] for key in ("labels", "annotations") if key in pod.pod["metadata"]
            }
            after.setdefault(name, {"metadata": metadata, "spec": pod.pod["spec"]})
        return {
            "before_header": f"{self.document.place}: components",
            "after_header": f"pods, release {self.result.release}, pathway {self.pathway}",
            "before": _raw(self.document),
            "after": after,
        }

    def to_result(self) -> dict[str, Any]:
        """Return the report as a module's return values."""
        made: dict[str, Any] = {
            "name": self.document.name,
            "namespace": self.namespace,
            "api_version": self.document.api_version,
            "release": self.result.release,
            "release_evidence": self.release.evidence,
            "pathway": self.pathway,
            "pathway_evidence": self.pathway_evidence,
            "components": [component.to_result() for component in self.components],
            "objects": [dict(item) for item in self.result.objects],
            "pods": [pod.to_result() for pod in self.result.pods],
            "references": references_of([self.document.data], self.result.pods).to_result(),
            "findings": [finding.to_result() for finding in self.findings],
            "verdict": worst(self.findings),
            "unknown_fields": list(self.result.unknown_fields),
            "operator_warnings": list(self.result.warnings),
            "rejections": [rejection.to_result() for rejection in self.rejections],
        }
        if self.explain:
            made["explanation"] = [origin.to_result() for origin in self.result.explanation]
        if self.comparison is not None:
            made["changes"] = self.comparison.to_result()
        return made


def render_document(document: Document, options: RenderOptions) -> RenderReport:
    """Render the DGD in ``document``; raise :class:`InputError` where the question itself makes no sense."""
    namespace = check_names(document, options.namespace)
    asked, snapshot = document.data, options.snapshot
    operator = snapshot.operator if snapshot is not None else None
    release = choose_release(
        options.release, operator.release if operator else "", operator.evidence if operator else ""
    )
    components = _components(document)
    gates = _gates(options, any(component.nodes > 1 for component in components))
    config = _config(release.value, options, gates)
    live = _live(snapshot, document.name, namespace)
    if live is not None and not profile_of(release.value).admission.restart_at_creation:
        document = replace(document, data=without_restart(document.data))
    result = _render(document, namespace, release.value, config, options)
    if not result.errors:
        check_amounts(document.data, document.place)
    findings = _findings(document, release, gates, result)
    if live is not None:
        findings = by_severity((*findings, *_update_findings(live, asked, release.value, config)))
    comparison = None
    if options.compare_to:
        other_config = _config(options.compare_to, options, gates)
        comparison = compare(result, _render(document, namespace, options.compare_to, other_config, options))
    return RenderReport(
        document=document,
        namespace=namespace,
        release=release,
        pathway=_pathway(result, components, config),
        pathway_evidence=gates.evidence,
        components=components,
        result=result,
        findings=findings,
        comparison=comparison,
        explain=options.explain,
    )


def _live(snapshot: Snapshot | None, name: str, namespace: str) -> Mapping[str, Any] | None:
    """Return the live DGD of this name, where the snapshot saw one."""
    if snapshot is None or snapshot.namespace != namespace:
        return None
    return snapshot.find(keys.DGD_PLURAL, name)


def _update_findings(
    live: Mapping[str, Any], asked: Mapping[str, Any], release: str, config: OperatorConfig
) -> Iterable[Finding]:
    for refused in review_update(live, asked, release, config):
        subject = (
            f"component/{refused.component}" if refused.component else f"{keys.DGD_KIND}/{live['metadata']['name']}"
        )
        yield UPDATE_REFUSED.finding("fail", subject, _sentence(refused), (f"rule {refused.rule}",))


def _components(document: Document) -> tuple[ComponentView, ...]:
    """The overview leaves wrong values to the renderer, which says more of them."""
    try:
        return components_of(document.data, document.place)
    except InputError:
        return ()


def _raw(document: Document) -> Mapping[str, Any]:
    """Return the components as the manifest has them, or its spec where it has none that could be told apart."""
    try:
        return {name: component for name, component, _unused in raw_components(document.data)}
    except InputError:
        return {"spec": document.data.get("spec")}


def _render(
    document: Document, namespace: str, release: str, config: OperatorConfig, options: RenderOptions
) -> RenderResult:
    secrets = options.secrets
    if secrets is None and options.snapshot is not None:
        secrets = options.snapshot.secrets
    index = operator_index(_in(secrets, namespace), release) if secrets else None
    return render(
        RenderRequest(
            definition=document.data,
            namespace=namespace,
            release=release,
            config=config,
            pull_secrets=(lambda image: index.lookup(image, namespace)) if index is not None else None,
            facts=_facts(options.snapshot, namespace),
            explain=options.explain,
        )
    )


def _in(secrets: Iterable[SecretEntry], namespace: str) -> tuple[SecretEntry, ...]:
    return tuple(replace(secret, namespace=secret.namespace or namespace) for secret in secrets)


def _facts(snapshot: Snapshot | None, namespace: str) -> ClusterFacts:
    """Read what the renderer may know of the cluster; kinds that were not observed stay unknown."""
    if snapshot is None:
        return ClusterFacts()
    topologies = _topologies(snapshot)
    if snapshot.namespace != namespace:
        return ClusterFacts(topologies=topologies)
    account = next(
        (
            name_of(item)
            for item in snapshot.items("serviceaccounts")
            if ((item.get("metadata") or {}).get("labels") or {}).get(keys.LABEL_COMPONENT_POD) == "true"
        ),
        "",
    )
    return ClusterFacts(component_service_account=account, topologies=topologies)


#: Where Grove keeps the levels of a cluster's topology: before 1.5, and since.
_TOPOLOGY_KINDS = ("clustertopologies", "clustertopologybindings")


def _topologies(snapshot: Snapshot) -> Mapping[str, tuple[tuple[str, str], ...]] | None:
    """Return each cluster topology's levels from broad to narrow, with their node labels; ``None``: nobody looked."""
    if not any(snapshot.state(kind).state == "observed" for kind in _TOPOLOGY_KINDS):
        return None
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for kind in _TOPOLOGY_KINDS:
        for item in snapshot.items(kind):
            levels = (item.get("spec") or {}).get("levels")
            named = [level for level in levels if isinstance(level, Mapping)] if isinstance(levels, list) else []
            found[name_of(item)] = tuple((str(level.get("domain")), str(level.get("key") or "")) for level in named)
    return found


def _pathway(result: RenderResult, components: Iterable[ComponentView], config: OperatorConfig) -> str:
    """The pathway by the name of its workloads; the operator itself knows only Grove and components."""
    if result.pathway == keys.GROVE or (not result.pathway and config.grove):
        return keys.GROVE
    multinode = any(component.nodes > 1 for component in components)
    return keys.LWS if multinode and config.lws else keys.DEPLOYMENT


def _gates(options: RenderOptions, multinode: bool) -> Gates:
    seen = options.snapshot.operator.gates if options.snapshot is not None else {}
    return choose_gates(
        options.pathway,
        asked=(options.config.get("grove"), options.config.get("lws")),
        seen=(seen.get("grove"), seen.get("lws")),
        multinode=multinode,
    )


def _config(release: str, options: RenderOptions, gates: Gates) -> OperatorConfig:
    """Return the operator's configuration: Helm's, with what the user and the snapshot say otherwise."""
    given = {
        name: value for name, value in options.config.items() if value is not None and name not in ("grove", "lws")
    }
    ingress = IngressConfig(
        class_name=str(given.pop("ingress_class", "")),
        host_suffix=str(given.pop("ingress_host_suffix", "")),
        tls_secret=str(given.pop("ingress_tls_secret", "")),
    )
    checkpoint = CheckpointConfig(enabled=bool(given.pop("checkpoint", False)))
    dra = given.pop("dra", None)
    if dra is None:
        dra = options.snapshot is None or options.snapshot.operator.gates.get("dra") is not False
    known = {item.name for item in fields(OperatorConfig)}
    if stray := sorted(set(given) - known):
        raise InputError(
            "not a setting of the operator",
            field=f"operator_config.{stray[0]}",
            found=shown(given[stray[0]]),
            remedy=f"There are {', '.join(sorted(known))}",
        )
    return replace(
        helm_config(release),
        **given,
        grove=gates.grove,
        lws=gates.lws,
        dra=bool(dra),
        ingress=ingress,
        checkpoint=checkpoint,
    )


def _findings(document: Document, release: Choice, gates: Gates, result: RenderResult) -> tuple[Finding, ...]:
    subject = f"{keys.DGD_KIND}/{document.name}"
    found: list[Finding] = [
        REFUSED.finding(
            "fail",
            f"component/{rejection.component}" if rejection.component else subject,
            _sentence(rejection),
            (f"stage {rejection.stage}, rule {rejection.rule}",),
        )
        for rejection in result.errors
    ]
    found += [
        # What is asked for under an unknown name is not asked for at all: the pods would fit anywhere.
        UNKNOWN_FIELD.finding(
            "fail" if ".resources." in name else "warn",
            subject,
            f"{name}: release {result.release} does not know this field.",
        )
        for name in result.unknown_fields
    ]
    found += [OPERATOR_WARNING.finding("warn", subject, warning) for warning in result.warnings]
    if not release.exact:
        found.append(
            RELEASE_ASSUMED.finding("warn", subject, f"Release {release.value} was taken: {release.evidence}.")
        )
    if not gates.exact:
        found.append(PATHWAY_ASSUMED.finding("warn", subject, f"The pathway is {gates.evidence}."))
    found += _managed(document, result.pods)
    found += result.findings
    if not result.errors:
        found += check_pods(result.pods)
    return by_severity(found)


def _sentence(rejection: Rejection) -> str:
    if rejection.field:
        return f"{rejection.field}: {rejection.message}."
    return f"{rejection.message[:1].upper()}{rejection.message[1:]}."


def _managed(document: Document, pods: Iterable[PodDemand]) -> list[Finding]:
    known = {pod.component for pod in pods}
    found = []
    for name, component, path in raw_components(document.data) if known else ():
        adapter = component.get("scalingAdapter")
        managed = isinstance(adapter, Mapping) and ("components" in path or adapter.get("enabled") is True)
        if managed and name in known:
            found.append(
                REPLICAS_MANAGED.finding("warn", f"component/{name}", "A scaling adapter owns the number of replicas.")
            )
    return found
