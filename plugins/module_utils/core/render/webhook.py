# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the validating webhooks of all releases share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import keys
from ..errors import shown
from .api import ClusterFacts, OperatorConfig, Rejection
from .profiles import profile_of
from .profiles.model import Admission
from .schema import rejection
from .semver import parse_version

#: Grove's limit for the names of set, group and clique together; the rest of 63 characters are indexes and dashes.
NAME_LIMIT = 45
EXECUTORS = ("mp", "ray")
DISCOVERY_MODES = ("pod", "container")

Topology = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Review:
    """What a webhook looks at: the stamped object, and what it knows of operator and cluster."""

    definition: Mapping[str, Any]
    release: str
    config: OperatorConfig
    facts: ClusterFacts
    grove: bool

    @property
    def rules(self) -> Admission:
        """What the release's admission does."""
        return profile_of(self.release).admission

    @property
    def spec(self) -> Mapping[str, Any]:
        """The DGD's spec."""
        spec: Mapping[str, Any] = self.definition["spec"]
        return spec

    @property
    def name(self) -> str:
        """The DGD's name."""
        return str(self.definition["metadata"].get("name") or "")

    @property
    def namespace(self) -> str:
        """The DGD's namespace."""
        return str(self.definition["metadata"].get("namespace") or "")

    @property
    def annotations(self) -> Mapping[str, str]:
        """The DGD's annotations, the webhook's stamps included."""
        return self.definition["metadata"].get("annotations") or {}

    @property
    def services(self) -> Iterator[tuple[str, Mapping[str, Any], str]]:
        """The v1alpha1 services by name: name, service, path."""
        services = self.spec.get("services") or {}
        return ((name, services[name] or {}, f"spec.services[{name}]") for name in sorted(services))


@dataclass
class Findings:
    """What a webhook found: refusals and warnings."""

    definition: Mapping[str, Any]
    errors: list[Rejection] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def refuse(self, rule: str, path: str, message: str) -> None:
        """Add a refusal."""
        self.errors.append(rejection("validating-webhook", rule, path, message, self.definition))

    def warn(self, path: str, message: str) -> None:
        """Add a warning about a field."""
        self.warnings.append(f"{path}: {message}")


def annotation_path(key: str) -> str:
    """Return the path of one of the DGD's annotations."""
    return f"metadata.annotations[{key}]"


def check_annotations(view: Review, found: Findings) -> None:
    """Values of the DGD's annotations that both releases check."""
    annotations = view.annotations
    origin = annotations.get(keys.ANNOTATION_ORIGIN_VERSION)
    if origin is not None and parse_version(origin) is None:
        found.refuse(
            "annotation_origin_version",
            annotation_path(keys.ANNOTATION_ORIGIN_VERSION),
            f"must be a semantic version, found {shown(origin)}",
        )
    check_executor(annotations, annotation_path(keys.ANNOTATION_VLLM_EXECUTOR), found)
    mode = annotations.get(keys.ANNOTATION_DISCOVERY_MODE)
    if mode is not None and mode not in DISCOVERY_MODES:
        found.refuse(
            "annotation_discovery_mode",
            annotation_path(keys.ANNOTATION_DISCOVERY_MODE),
            f"must be pod or container, found {shown(mode)}",
        )


def check_executor(annotations: Mapping[str, str], path: str, found: Findings) -> None:
    """The choice of vLLM's executor, on a DGD or a component."""
    executor = annotations.get(keys.ANNOTATION_VLLM_EXECUTOR)
    if executor is not None and executor.lower() not in EXECUTORS:
        found.refuse("annotation_executor", path, f"must be mp or ray, found {shown(executor)}")


def check_restart_order(restart: Mapping[str, Any], names: set[str], found: Findings) -> None:
    """The order of a sequential restart names each component once."""
    strategy = restart.get("strategy") or {}
    order = strategy.get("order") or []
    path = "spec.restart.strategy.order"
    if not order:
        return
    if strategy.get("type") == "Parallel":
        found.refuse("restart_order_parallel", path, "cannot be given when the strategy is Parallel")
        return
    if len(set(order)) != len(order):
        found.refuse("restart_order_twice", path, "names a component twice")
    if len(set(order)) != len(names):
        found.refuse("restart_order_incomplete", path, "must name every component")
    for name in dict.fromkeys(order):
        if name not in names:
            found.refuse("restart_order_unknown", path, f"names {shown(name)}, which is no component")


def check_domains(view: Review, topology: str, path: str, constraints: list[tuple[str, str]], found: Findings) -> None:
    """The topology is there and has the domains; ``constraints`` are path and domain, the graph's own first.

    Nothing is checked where nobody looked at the cluster's topologies.
    """
    if view.facts.topologies is None:
        return
    levels = view.facts.topologies.get(topology)
    if levels is None:
        found.refuse("topology_missing", path, f"the cluster has no topology named {topology}")
        return
    domains = [domain for domain, _unused in levels]
    for place, domain in constraints:
        if domain and domain not in domains:
            found.refuse(
                "topology_domain",
                place,
                f"topology {topology} has no domain {domain}; it has {', '.join(sorted(domains))}",
            )
    widest = constraints[0][1] if constraints else ""
    if widest not in domains:
        return
    for place, domain in constraints[1:]:
        if domain in domains and domains.index(domain) < domains.index(widest):
            found.refuse("topology_broader", place, f"must not be broader than the graph's own domain {widest}")


def warn_deprecated(service: Mapping[str, Any], path: str, namespace: str, found: Findings) -> None:
    """Fields that are read and have no effect."""
    if service.get("dynamoNamespace"):
        found.warn(
            f"{path}.dynamoNamespace",
            f"has no effect: the operator uses {namespace}, not {service['dynamoNamespace']}; remove the field",
        )
    if service.get("autoscaling") is not None:
        found.warn(
            f"{path}.autoscaling",
            "has no effect: no HorizontalPodAutoscaler is made; use scalingAdapter with an autoscaler of your own",
        )
