# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a node pools file and makes the cluster's nodes, volumes and storage classes from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from .paths import HERE, ClusterError

DEFAULT_POOLS = HERE / "nodepools" / "default.yaml"
FAKE_NODE = {"kwok.x-k8s.io/node": "fake"}
PRODUCT_LABEL = "nvidia.com/gpu.product"
COUNT_LABEL = "nvidia.com/gpu.count"
ZONE_LABEL = "topology.kubernetes.io/zone"
POOL_LABEL = "inference-ops/pool"


@dataclass(frozen=True)
class NodePool:
    """``count`` equal nodes, named NAME-0 and so on; zones are dealt out in turn."""

    name: str
    count: int = 1
    gpus: int = 0
    gpu_resource: str = "nvidia.com/gpu"
    product: str = ""
    cpu: str = "64"
    memory: str = "512Gi"
    ephemeral_storage: str = "2Ti"
    pods: int = 110
    zones: Sequence[str] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Mapping[str, str]] = ()
    extended: Mapping[str, int | str] = field(default_factory=dict)
    unschedulable: bool = False


@dataclass(frozen=True)
class VolumePool:
    """Static volumes, since nothing provisions any here; the real controller binds them to claims."""

    name: str
    count: int = 4
    size: str = "10Ti"
    storage_class: str = "standard"
    access_modes: Sequence[str] = ("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany")


@dataclass(frozen=True)
class StorageClass:
    name: str
    default: bool = False
    binding: str = "Immediate"


@dataclass(frozen=True)
class Pools:
    nodes: Sequence[NodePool] = ()
    volumes: Sequence[VolumePool] = (VolumePool("static"),)
    storage_classes: Sequence[StorageClass] = (StorageClass("standard", default=True),)


def _parse(kind: type[Any], data: object, where: str) -> Any:
    if not isinstance(data, dict):
        raise ClusterError(f"{where}: a mapping is wanted, not {type(data).__name__}")
    known = {item.name for item in fields(kind)}
    if unknown := sorted(set(data) - known):
        raise ClusterError(f"{where}: unknown {', '.join(map(str, unknown))}; known are {', '.join(sorted(known))}")
    if kind is not Pools and not isinstance(data.get("name"), str):
        raise ClusterError(f"{where}: name is missing or no string")
    return kind(**data)


def read_pools(path: Path) -> Pools:
    """The file's pools; raises ClusterError naming file and field."""
    try:
        data = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise ClusterError(f"{path}: {error}") from error
    _parse(Pools, data, str(path))  # its keys
    kinds: Mapping[str, type[Any]] = {"nodes": NodePool, "volumes": VolumePool, "storage_classes": StorageClass}
    parsed = {}
    for key, kind in kinds.items():
        if key in data:
            if not isinstance(data[key], list):
                raise ClusterError(f"{path}: {key} must be a list")
            parsed[key] = [_parse(kind, item, f"{path}: {key}[{i}]") for i, item in enumerate(data[key])]
    return Pools(**parsed)


def _node(pool: NodePool, index: int) -> dict[str, Any]:
    name = f"{pool.name}-{index}"
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        POOL_LABEL: pool.name,
    }
    if pool.product:
        labels |= {PRODUCT_LABEL: pool.product, COUNT_LABEL: str(pool.gpus), "nvidia.com/gpu.present": "true"}
    if pool.zones:
        labels[ZONE_LABEL] = pool.zones[index % len(pool.zones)]
    resources: dict[str, str] = {
        "cpu": str(pool.cpu),
        "memory": pool.memory,
        "ephemeral-storage": pool.ephemeral_storage,
        "pods": str(pool.pods),
        **{key: str(value) for key, value in pool.extended.items()},
    }
    if pool.gpus:
        resources[pool.gpu_resource] = str(pool.gpus)
    spec: dict[str, Any] = {"taints": [dict(taint) for taint in pool.taints]}
    if pool.unschedulable:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**labels, **pool.labels}, "annotations": FAKE_NODE},
        "spec": spec,
        "status": {"capacity": resources, "allocatable": resources},
    }


def node_objects(pools: Pools) -> Iterator[dict[str, Any]]:
    for pool in pools.nodes:
        for index in range(pool.count):
            yield _node(pool, index)


def storage_objects(pools: Pools) -> Iterator[dict[str, Any]]:
    """Storage classes first, then volumes."""
    for item in pools.storage_classes:
        annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if item.default else {}
        yield {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": item.name, "annotations": annotations},
            "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": item.binding,
        }
    for volume in pools.volumes:
        for index in range(volume.count):
            yield {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": f"{volume.name}-{index}"},
                "spec": {
                    "capacity": {"storage": volume.size},
                    "accessModes": list(volume.access_modes),
                    "storageClassName": volume.storage_class,
                    "persistentVolumeReclaimPolicy": "Retain",
                    "hostPath": {"path": f"/nowhere/{volume.name}-{index}"},
                },
            }
