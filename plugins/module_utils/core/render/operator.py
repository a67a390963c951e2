# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From one DGD to all objects: the entry point of the renderer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .. import keys
from ..errors import InputError, shown
from . import program_alpha, program_beta
from .admission import admit, on_grove
from .api import OperatorConfig, Rejection, RenderRequest, RenderResult
from .config import helm_config
from .convert import Converted, convert
from .demands import pod_demands
from .explain import Explanation
from .graph import Graph, Refused, metadata
from .profiles import profile_of
from .profiles.model import Profile
from .quirks import quirks
from .shapes import plain


def render(request: RenderRequest) -> RenderResult:
    """Return what the operator would make of ``request.definition``.

    A DGD that is refused comes back with ``errors``; only what is no DGD at all raises :class:`InputError`.
    """
    profile = profile_of(request.release)
    config = gates(request.config or helm_config(request.release), request.pathway)
    admitted = admit(
        _checked(request.definition),
        release=request.release,
        config=config,
        facts=request.facts,
        namespace=request.namespace,
        ignore_schema_errors=request.ignore_schema_errors,
    )
    result = RenderResult(
        release=profile.release,
        pathway="",
        namespace=str(admitted.definition.get("metadata", {}).get("namespace") or "default"),
        errors=admitted.errors,
        warnings=admitted.warnings,
        unknown_fields=admitted.unknown_fields,
    )
    if admitted.errors:
        return result
    provider = "grove" if on_grove(admitted.definition["metadata"].get("annotations") or {}, config) else "component"
    alpha = profile.api_version == keys.V1ALPHA1
    converted = Converted(admitted.definition) if alpha else convert(admitted.definition)
    graph = _graph(request, profile, config, converted.definition)
    errors: list[Rejection] = []
    try:
        errors += program_alpha.run(graph, provider) if alpha else program_beta.run(graph, converted, provider)
    except Refused as refused:
        errors.append(refused.rejection)
    graph.objects.append(_dgd_object(graph, provider))
    return replace(
        result,
        pathway=provider,
        objects=tuple(graph.objects),
        findings=quirks(graph, admitted.definition),
        pods=() if errors else pod_demands(graph.objects, admitted.definition, request.facts.topologies),
        errors=tuple(errors),
        explanation=tuple(graph.explanation.origins),
    )


def gates(config: OperatorConfig, pathway: str) -> OperatorConfig:
    """Return ``config`` with the gates that a pathway stands for."""
    if pathway == "auto":
        return config
    return replace(config, grove=pathway == keys.GROVE, lws=pathway == keys.LWS)


def _checked(definition: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(definition, Mapping) or not isinstance(definition.get("metadata"), Mapping):
        raise InputError("not a Kubernetes object with metadata", found=shown(definition))
    name, namespace = (definition["metadata"].get(key) for key in ("name", "namespace"))
    if not isinstance(name, str) or not name:
        raise InputError("an object needs a name", field="metadata.name", found=shown(name))
    if namespace is not None and not isinstance(namespace, str):
        raise InputError("a namespace is a text", field="metadata.namespace", found=shown(namespace))
    return plain(definition)


def _graph(request: RenderRequest, profile: Profile, config: OperatorConfig, definition: dict[str, Any]) -> Graph:
    meta = definition["metadata"]
    return Graph(
        profile=profile,
        config=config,
        facts=request.facts,
        pull_secrets=request.pull_secrets,
        worker_hash=request.worker_hash,
        name=meta.get("name", ""),
        namespace=meta.get("namespace") or request.namespace or "default",
        annotations=meta.get("annotations") or {},
        spec=definition["spec"],
        explanation=Explanation(profile.release, on=request.explain),
        metadata=meta,
    )


def _dgd_object(graph: Graph, provider: str) -> dict[str, Any]:
    annotations = dict(graph.annotations)
    if graph.profile.api_version != keys.V1ALPHA1:
        annotations[keys.ANNOTATION_CURRENT_WORKER_HASH_V2] = graph.worker_hash
    elif provider == "component" and not graph.is_multinode:
        annotations[keys.ANNOTATION_CURRENT_WORKER_HASH] = graph.worker_hash
    return {
        "apiVersion": graph.profile.api_version,
        "kind": keys.DGD_KIND,
        "metadata": metadata(graph.name, graph.namespace, graph.metadata.get("labels"), annotations),
    }
