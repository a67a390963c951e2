# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fresh cluster gets: nodes, storage, and the kinds of controllers that are absent here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from .api import Api, wait_until
from .paths import HERE, ClusterError
from .pools import Pools, node_objects, storage_objects

CRDS = HERE / "manifests" / "crds"
# Operators tell by the presence of these groups which pathway they may take.
APIS = {
    "dynamo": ("nvidia.com.yaml",),
    "lws": ("leaderworkerset.yaml", "volcano.yaml"),
    "grove": ("grove.yaml",),
    "inference": ("inference.yaml",),
}


def check_apis(names: Iterable[str]) -> None:
    if unknown := sorted(set(names) - set(APIS)):
        raise ClusterError(f"unknown API sets: {', '.join(unknown)}; known are {', '.join(APIS)}")


def _of_release(crd: dict[str, Any], release: str) -> dict[str, Any]:
    """Release 1.1 has Dynamo's kinds in v1alpha1 only."""
    versions = crd["spec"]["versions"]
    if release == "1.1" and crd["spec"]["group"] == "nvidia.com":
        versions[:] = [{**item, "storage": True} for item in versions if item["name"] == "v1alpha1"]
    return crd


def crd_objects(names: Sequence[str], release: str = "") -> list[dict[str, Any]]:
    """The CustomResourceDefinitions of these API sets, in the versions that the operator's release has."""
    documents: list[dict[str, Any]] = []
    for name in names:
        for file in APIS[name]:
            document = yaml.safe_load((CRDS / file).read_text())
            documents += document["items"] if document["kind"] == "List" else [document]
    return [_of_release(item, release) for item in documents]


def _established(api: Api, names: Sequence[str]) -> bool:
    for item in api.list("apiextensions.k8s.io/v1", "CustomResourceDefinition"):
        if item["metadata"]["name"] in names:
            conditions = {entry["type"]: entry["status"] for entry in item.get("status", {}).get("conditions") or []}
            if conditions.get("Established") != "True":
                return False
    return True


def _nodes_ready(api: Api) -> bool:
    return all(
        any(entry["type"] == "Ready" and entry["status"] == "True" for entry in node["status"].get("conditions") or [])
        for node in api.list("v1", "Node")
    )


def _default_accounts(api: Api) -> bool:
    """Pods of a namespace are refused until its default service account is there."""
    return api.get("v1", "ServiceAccount", "default", "default") is not None


def install_apis(api: Api, names: Sequence[str], release: str) -> None:
    crds = crd_objects(names, release)
    for crd in crds:
        api.apply(crd)
    wait_until("custom resources", lambda: _established(api, [crd["metadata"]["name"] for crd in crds]))
    # Discovery follows a moment later.
    for crd in crds:
        for version in crd["spec"]["versions"]:
            api_version = f"{crd['spec']['group']}/{version['name']}"
            kind = crd["spec"]["names"]["kind"]
            wait_until(f"{kind} in {api_version}", lambda v=api_version, k=kind: api.path(v, k))


def install(api: Api, pools: Pools, apis: Sequence[str], release: str) -> None:
    """Create all and wait until pods can be scheduled."""
    for item in [*storage_objects(pools), *node_objects(pools)]:
        api.create(item)
    install_apis(api, apis, release)
    wait_until("nodes Ready", lambda: _nodes_ready(api))
    wait_until("the default service account", lambda: _default_accounts(api))
