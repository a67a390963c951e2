# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which release of the Dynamo operator runs, and which gates its cluster opens.

Sources: the labels and arguments that the platform chart gives the operator's Deployment; the operator's
``cmd/main.go`` (1.1) and ``internal/features/gates.go`` (1.5) for the API groups behind each gate.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import keys
from .demand import K8sObject
from .errors import InputError, shown
from .image_reference import ImageNameError, parse_image
from .podspecs import as_list

#: Finds the operator's Deployment, whatever the Helm release is called.
OPERATOR_SELECTOR = "app.kubernetes.io/part-of=dynamo-operator"
_VERSION = re.compile(r"v?(\d+\.\d+(?:\.\d+)?)(?:[-+.].*)?")
_VERSION_ARGUMENT = "--operator-version="


@dataclass(frozen=True)
class OperatorFacts:
    """What is known of the operator; an empty ``release`` means that nobody could tell.

    ``grove``, ``lws``, ``volcano``, ``kai`` and ``dra`` say whether the cluster offers that API; None where discovery
    failed. The operator's own configuration may still switch a gate off.
    """

    release: str = ""
    evidence: str = ""
    namespace: str = ""
    ready: bool | None = None
    args: tuple[str, ...] = ()
    gates: Mapping[str, bool | None] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
        """Return the facts as they stand in a snapshot."""
        return {
            "release": self.release,
            "evidence": self.evidence,
            "namespace": self.namespace,
            "ready": self.ready,
            "args": list(self.args),
            **{gate: self.gates.get(gate) for gate in GATES},
        }

    @classmethod
    def from_plain(cls, data: object, where: str = "snapshot") -> OperatorFacts:
        """Read the facts back; raise :class:`InputError` for what is no mapping."""
        if not isinstance(data, Mapping):
            raise InputError("must be a mapping", where=where, field="operator", found=shown(data))
        return cls(
            release=str(data.get("release") or ""),
            evidence=str(data.get("evidence") or ""),
            namespace=str(data.get("namespace") or ""),
            ready=_known(data.get("ready")),
            args=tuple(str(argument) for argument in as_list(data.get("args"))),
            gates={gate: _known(data.get(gate)) for gate in GATES},
        )


def _known(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


#: Gate to the API groups that open it, all of them.
GATES: Mapping[str, tuple[str, ...]] = {
    "grove": (keys.GROVE_GROUP,),
    "lws": (keys.LWS_GROUP, keys.VOLCANO_GROUP),
    "volcano": (keys.VOLCANO_GROUP,),
    "kai": (keys.KAI_GROUP,),
    "dra": (keys.DRA_GROUP,),
}


def operator_facts(deployments: Iterable[K8sObject], groups: frozenset[str] | None, unread: str = "") -> OperatorFacts:
    """Read the facts out of the operator's Deployments and the server's API groups.

    ``unread`` says why the Deployments could not be read, or is empty.
    """
    gates: dict[str, bool | None] = {
        gate: None if groups is None else all(group in groups for group in needed) for gate, needed in GATES.items()
    }
    candidates = sorted(
        deployments, key=lambda item: (not _is_ready(item), str((item.get("metadata") or {}).get("name") or ""))
    )
    if not candidates:
        evidence = unread or f"no Deployment carries the label {OPERATOR_SELECTOR}"
        return OperatorFacts(evidence=evidence, gates=gates)
    chosen = candidates[0]
    release, evidence = _release(chosen)
    metadata = chosen.get("metadata") or {}
    return OperatorFacts(
        release=release,
        evidence=f"Deployment {metadata.get('namespace')}/{metadata.get('name')}: {evidence}",
        namespace=str(metadata.get("namespace") or ""),
        ready=_is_ready(chosen),
        args=tuple(_arguments(chosen)),
        gates=gates,
    )


def _is_ready(deployment: K8sObject) -> bool:
    return bool((deployment.get("status") or {}).get("readyReplicas"))


def _containers(deployment: K8sObject) -> list[Mapping[str, Any]]:
    template = (deployment.get("spec") or {}).get("template") or {}
    containers = (template.get("spec") or {}).get("containers") or []
    return [container for container in containers if container.get("name") == "manager"] or list(containers)


def _arguments(deployment: K8sObject) -> list[str]:
    return [str(argument) for container in _containers(deployment)[:1] for argument in container.get("args") or ()]


def _release(deployment: K8sObject) -> tuple[str, str]:
    """Return the release and what says so: the operator's own argument, the chart's label, the image's tag."""
    for argument in _arguments(deployment):
        if argument.startswith(_VERSION_ARGUMENT) and (found := version_of(argument[len(_VERSION_ARGUMENT) :])):
            return found, argument
    labels = (deployment.get("metadata") or {}).get("labels") or {}
    label = str(labels.get("app.kubernetes.io/version") or "")
    if found := version_of(label):
        return found, f"label app.kubernetes.io/version={label}"
    chart = str(labels.get("helm.sh/chart") or "")
    if found := version_of(chart.rpartition("-")[2]):
        return found, f"label helm.sh/chart={chart}"
    for container in _containers(deployment)[:1]:
        image = str(container.get("image") or "")
        try:
            found = version_of(parse_image(image).tag)
        except ImageNameError:
            found = ""
        return found, f"image {image}"
    return "", "it names no version"


def version_of(text: str) -> str:
    """Return the ``X.Y`` or ``X.Y.Z`` that a version begins with, or nothing."""
    match = _VERSION.fullmatch(text.strip())
    return match[1] if match else ""
