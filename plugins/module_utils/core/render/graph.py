# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The graph while it is rendered: the DGD, its components, and what all rules look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import keys
from .api import ClusterFacts, OperatorConfig, PullSecretLookup, Rejection, Stage
from .explain import Explanation
from .profiles.model import Profile


class Refused(Exception):
    """The operator stops here; what it made so far stands."""

    def __init__(self, stage: Stage, rule: str, message: str, component: str = "", field: str = "") -> None:
        super().__init__(message)
        self.rejection = Rejection(stage, rule, message, field, component)


@dataclass
class Component:
    """One component of the graph in the release's own API version.

    ``spec`` is the v1alpha1 service or the v1beta1 component after defaulting. ``annotations`` and ``labels`` are what
    decides and what is copied on: in 1.1 the component's own, in 1.5 those of its pod template; both with the DGD's
    copied down. ``preserved`` are, in 1.5, the v1alpha1 values that v1beta1 has no place for.
    """

    name: str
    type: str
    spec: dict[str, Any]
    sub_type: str = ""
    annotations: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    preserved: Mapping[str, Any] = field(default_factory=dict)
    backend_framework: str = ""
    service_labels: dict[str, str] = field(default_factory=dict)
    service_annotations: dict[str, str] = field(default_factory=dict)
    user_metadata: dict[str, Any] = field(default_factory=dict)
    clique_annotations: dict[str, str] = field(default_factory=dict)

    @property
    def lower(self) -> str:
        """The name in small letters, as it stands in the names of objects."""
        return self.name.lower()

    @property
    def replicas(self) -> int | None:
        """The replicas asked for."""
        value: int | None = self.spec.get("replicas")
        return value

    @property
    def nodes(self) -> int:
        """How many nodes one replica spans (``GetNumberOfNodes``)."""
        multinode = self.spec.get("multinode")
        return int(multinode.get("nodeCount", 2)) if multinode is not None else 1

    @property
    def is_worker(self) -> bool:
        """Whether the component gets a worker's defaults and belongs to the worker hash."""
        return self.type in keys.WORKER_TYPES


@dataclass
class Graph:
    """A DGD on its way to objects."""

    profile: Profile
    config: OperatorConfig
    facts: ClusterFacts
    pull_secrets: PullSecretLookup | None
    worker_hash: str
    name: str
    namespace: str
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]
    explanation: Explanation
    metadata: Mapping[str, Any] = field(default_factory=dict)
    preserved: Mapping[str, Any] = field(default_factory=dict)
    components: list[Component] = field(default_factory=list)
    objects: list[dict[str, Any]] = field(default_factory=list)
    backend_framework: str = ""
    _added: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def dynamo_namespace(self) -> str:
        """The Dynamo namespace of a component (``ComputeDynamoNamespace``)."""
        return keys.dynamo_namespace(self.namespace, self.name)

    def component_namespace(self, component: Component) -> str:
        """Return the Dynamo namespace of ``component``: the global one where it asks for it."""
        is_global = bool(component.spec.get("globalDynamoNamespace"))
        return keys.dynamo_namespace(self.namespace, self.name, is_global=is_global)

    @property
    def is_multinode(self) -> bool:
        """Whether any component spans several nodes."""
        return any(component.nodes > 1 for component in self.components)

    def add(self, item: dict[str, Any], rule_id: str) -> dict[str, Any]:
        """Add an object; it is the operator's own as a whole.

        One that is there already, because two components differ only in case, gets the new contents but keeps its
        metadata, as the operator's own sync does.
        """
        known = self._added.get(ref(item))
        if known is not None:
            known.update({key: value for key, value in item.items() if key != "metadata"})
            return known
        self._added[ref(item)] = item
        self.objects.append(item)
        self.explanation.whole(ref(item), "", None, rule_id)
        return item


def ref(item: Mapping[str, Any]) -> str:
    """Return ``Kind/name`` of an object."""
    return f"{item['kind']}/{item['metadata']['name']}"


def metadata(
    name: str, namespace: str, labels: Mapping[str, str] | None = None, annotations: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return an object's metadata without empty maps."""
    result: dict[str, Any] = {"name": name, "namespace": namespace}
    if labels:
        result["labels"] = dict(labels)
    if annotations:
        result["annotations"] = dict(annotations)
    return result


def effective_discovery(annotations: Mapping[str, str], config: OperatorConfig) -> str:
    """Return the discovery backend: the annotation's value if the key exists, even empty, else the operator's."""
    return annotations.get(keys.ANNOTATION_DISCOVERY_BACKEND, config.discovery_backend)


def uses_kubernetes(annotations: Mapping[str, str], config: OperatorConfig) -> bool:
    """Return whether labels, Services and ServiceAccounts of Kubernetes discovery are made (rules 8)."""
    return effective_discovery(annotations, config) == "kubernetes"
