# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens to a DGD on its way into the cluster: decoded, pruned, defaulted, stamped, and held against every rule.

The order is the API server's: types, CRD defaults, the operator's mutating webhook, CRD limits and rules, the
operator's validating webhook. The first stage that refuses ends it, with every refusal of that stage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import keys
from . import webhook_1_1, webhook_1_5
from .api import ClusterFacts, OperatorConfig, Rejection
from .convert import to_v1beta1
from .profiles import profile_of
from .provider import ROOT_TARGET, default_target
from .schema import clean, decode, rejection, validate, version_of
from .webhook import Findings, Review

DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True)
class AdmissionResult:
    """The DGD as it is stored, in its own API version, or why it is not. ``unknown_fields`` were pruned."""

    definition: dict[str, Any]
    errors: tuple[Rejection, ...] = ()
    warnings: tuple[str, ...] = ()
    unknown_fields: tuple[str, ...] = ()


def admit(
    definition: Mapping[str, Any],
    *,
    release: str,
    config: OperatorConfig,
    facts: ClusterFacts | None = None,
    namespace: str | None = None,
    ignore_schema_errors: bool = False,
) -> AdmissionResult:
    """Admit ``definition`` as a new object; ``config.grove`` says whether Grove is switched on.

    ``ignore_schema_errors`` goes on where the CRD's limits refuse the object.
    """
    if version_of(definition) != "v1alpha1" and not profile_of(release).admission.serves_beta:
        problem = f"release {release} serves only {keys.V1ALPHA1}"
        return AdmissionResult(
            {**definition}, (rejection("decode", "unknown_api_version", "apiVersion", problem, definition),)
        )
    errors = decode(definition, release)
    if errors:
        return AdmissionResult({**definition}, errors)
    kept, unknown = clean(definition, release)
    kept["metadata"] = {**kept.get("metadata", {})}
    if not kept["metadata"].get("namespace"):
        kept["metadata"]["namespace"] = namespace or DEFAULT_NAMESPACE
    stamp(kept, release, config)
    errors = validate(kept, release)
    if errors and not ignore_schema_errors:
        return AdmissionResult(kept, errors, (), unknown)
    found = review(kept, release, config, facts or ClusterFacts())
    return AdmissionResult(kept, tuple(found.errors), tuple(found.warnings), unknown)


def stamp(definition: dict[str, Any], release: str, config: OperatorConfig) -> None:
    """Do what the mutating webhook does to a new object (rules 11), in place."""
    spec = definition["spec"]
    components = [*(spec.get("services") or {}).values(), *(spec.get("components") or ())]
    for component in components:
        if component is not None and component.get("replicas") is None:
            component["replicas"] = 1
    profile = profile_of(release)
    annotations = definition["metadata"].setdefault("annotations", {})
    if profile.admission.stamps_origin:
        annotations.setdefault(keys.ANNOTATION_ORIGIN_VERSION, config.version or profile.version)
    if not profile.admission.stamps_provider:
        return
    grove = on_grove(annotations, config)
    annotations[keys.ANNOTATION_WORKLOAD_PROVIDER] = "grove" if grove else "component"
    if grove:
        for component in spec.get("components") or ():
            component.setdefault("minAvailable", 1)
        if spec.get("providerOverride"):
            default_target(spec["providerOverride"], ROOT_TARGET)


def on_grove(annotations: Mapping[str, Any], config: OperatorConfig) -> bool:
    """Whether a new DGD takes the Grove pathway (rule P1): any value but ``false`` means yes."""
    return config.grove and str(annotations.get(keys.ANNOTATION_ENABLE_GROVE, "")).lower() != "false"


def review(definition: Mapping[str, Any], release: str, config: OperatorConfig, facts: ClusterFacts) -> Findings:
    """Run the validating webhook of ``release`` over a stamped object."""
    annotations = definition["metadata"].get("annotations") or {}
    view = Review(definition, release, config, facts, on_grove(annotations, config))
    alpha, reviews = version_of(definition) == "v1alpha1", view.rules.reviews
    if reviews == "alpha" or (reviews == "as-given" and alpha):
        return webhook_1_1.review(view)
    hub = to_v1beta1(definition) if alpha else definition
    return webhook_1_5.review(view, hub)
