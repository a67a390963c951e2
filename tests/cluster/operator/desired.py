# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the stand-in creates for a DGD: exactly what the collection's own renderer says, with owners."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import keys
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import (
    RenderRequest,
    helm_config,
    render,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.api import Pathway

PATHWAYS: tuple[str, ...] = get_args(Pathway)
# Kinds whose objects belong to a component's DCD, where there is one.
COMPONENT_KINDS = ("Deployment", "LeaderWorkerSet", "PodGroup", "Service", "Ingress", "VirtualService")
# A component's fields that may change without a new generation of workers.
NOT_HASHED = (
    "annotations",
    "labels",
    "replicas",
    "minAvailable",
    "autoscaling",
    "scalingAdapter",
    "ingress",
    "modelRef",
)


@dataclass(frozen=True)
class Settings:
    """How this operator is installed: its release, and which workload controllers it found."""

    release: str
    pathway: Pathway
    grove: bool
    lws: bool
    nats: bool = True
    plays_workers: bool = True

    @property
    def api_version(self) -> str:
        """The version of Dynamo's kinds that this release stores."""
        return keys.V1ALPHA1 if self.release == "1.1" else keys.V1BETA1


@dataclass(frozen=True)
class Desired:
    """Complete objects in the order to apply, or the reasons why there are none."""

    objects: Sequence[dict[str, Any]] = ()
    annotations: Mapping[str, str] | None = None  # what admission writes onto the DGD itself
    errors: Sequence[str] = ()


def definition_of(dgd: Mapping[str, Any]) -> dict[str, Any]:
    """The DGD as its author wrote it, in the version that its content shows (the API server converts by name only)."""
    spec = {key: value for key, value in dgd["spec"].items() if value not in (None, [], {})}
    api_version = keys.V1ALPHA1 if "services" in spec else keys.V1BETA1
    kept = ("name", "namespace", "labels", "annotations")
    metadata = {key: dgd["metadata"][key] for key in kept if key in dgd["metadata"]}
    return {"apiVersion": api_version, "kind": keys.DGD_KIND, "metadata": metadata, "spec": spec}


def worker_digest(definition: Mapping[str, Any]) -> str:
    """Eight hex digits that change when the workers' specification does, as the operator's own hash (other digits)."""
    spec = definition["spec"]
    components = spec.get("components") or [
        {"name": name, **item} for name, item in (spec.get("services") or {}).items()
    ]
    workers = [
        {key: value for key, value in item.items() if key not in NOT_HASHED}
        for item in components
        if item.get("componentType", item.get("type")) in keys.WORKER_TYPES
    ]
    text = json.dumps(sorted(workers, key=lambda item: str(item["name"])), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _reference(owner: Mapping[str, Any], *, block: bool = True) -> dict[str, Any]:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": block,
    }


def with_owner(item: Mapping[str, Any], owner: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of ``item`` that is deleted with ``owner``."""
    metadata = {**item["metadata"], "ownerReferences": [_reference(owner)]}
    return {**item, "metadata": metadata}


def component_owner(item: Mapping[str, Any], dcds: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The DCD an object belongs to: it has the same name, or the DCD's name in front (an index may follow)."""
    if item["kind"] not in COMPONENT_KINDS:
        return None
    name = item["metadata"]["name"]
    fitting = [
        dcd for dcd in dcds if name == (own := dcd["metadata"]["name"].replace(".", "-")) or name.startswith(f"{own}-")
    ]
    return max(fitting, key=lambda dcd: len(dcd["metadata"]["name"]), default=None)


def desired_objects(dgd: Mapping[str, Any], settings: Settings) -> Desired:
    """Render the DGD as this operator would; refusals come back as text."""
    definition = definition_of(dgd)
    config = replace(helm_config(settings.release), grove=settings.grove, lws=settings.lws)
    if not settings.nats:
        config = replace(config, nats_address="")
    result = render(
        RenderRequest(
            definition=definition,
            namespace=dgd["metadata"]["namespace"],
            release=settings.release,
            pathway=settings.pathway,
            config=config,
            worker_hash=worker_digest(definition),
        )
    )
    if result.errors:
        return Desired(errors=[f"{error.stage}: {error.message}" for error in result.errors])
    objects = [json.loads(json.dumps(item)) for item in result.objects]
    own = [item for item in objects if item["kind"] == keys.DGD_KIND]
    annotations = own[0]["metadata"].get("annotations") if own else None
    # Secrets are copies of ones that are not here; a pod that mounts one needs the object, whatever is in it.
    for item in objects:
        if item["kind"] == "Secret":
            item["data"] = dict.fromkeys(item.get("data", {}), "")
    rank = {keys.DCD_KIND: 1}
    children = [item for item in objects if item["kind"] != keys.DGD_KIND]
    children.sort(key=lambda item: rank.get(item["kind"], 2 if item["kind"] in COMPONENT_KINDS else 0))
    return Desired(children, annotations)
