# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A made-up large cluster and run: the same numbers every time, whatever the size."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.demand import PodDemand
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.judge import KINDS

Plain = dict[str, Any]
GPU = "nvidia.com/gpu"
NAMESPACE = "bench"
ZONES = ("zone-a", "zone-b", "zone-c")
PRODUCTS = ("NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-80GB")
#: Component, replicas in a thousand pods, GPUs, CPU, memory in Gi, what else it asks for.
COMPONENTS: tuple[tuple[str, int, int, str, int, Plain], ...] = (
    ("frontend", 100, 0, "2", 4, {}),
    ("planner", 10, 0, "1", 2, {}),
    ("prefill", 100, 4, "16", 128, {"nodeSelector": {"nvidia.com/gpu.product": PRODUCTS[0]}}),
    ("decode", 60, 8, "32", 256, {"nodeSelector": {"nvidia.com/gpu.product": PRODUCTS[0]}}),
    ("router", 30, 0, "1", 2, {"spread": "topology.kubernetes.io/zone"}),
    ("agg", 300, 1, "8", 64, {}),
    ("agg-two", 200, 2, "8", 64, {}),
    ("embed", 100, 1, "4", 16, {"apart": "kubernetes.io/hostname"}),
    ("encode", 100, 1, "4", 16, {"spread": "topology.kubernetes.io/zone"}),
)
TOLERATION = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}


def node(number: int) -> Plain:
    """Return one node: two of three have GPUs, a few are reserved for others."""
    has_gpus = number % 3 != 2
    labels = {
        "kubernetes.io/hostname": f"node-{number:05d}",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": ZONES[number // 3 % len(ZONES)],
    }
    room: Plain = {"cpu": "96", "memory": "1000Gi", "ephemeral-storage": "1000Gi", "pods": "110"}
    taints: list[Plain] = []
    if has_gpus:
        labels["nvidia.com/gpu.product"] = PRODUCTS[number // 9 % 2]
        room[GPU] = "8"
        taints.append({"key": GPU, "effect": "NoSchedule"})
    if number % 17 == 0:
        taints.append({"key": "team", "value": "other", "effect": "NoSchedule"})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{number:05d}", "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "spec": {"taints": taints} if taints else {},
        "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def bound_pod(number: int, nodes: int) -> Plain:
    """Return one bound pod; some hold GPUs, so that every node with GPUs has between none and six taken."""
    position = number % nodes
    turn = number // nodes
    has_gpus = position % 3 != 2
    requests: Plain = {"cpu": "1500m" if turn % 2 else "500m", "memory": f"{2 + turn}Gi"}
    if has_gpus and turn < position // 3 % 4:
        requests[GPU] = "2"
    return {
        "metadata": {
            "name": f"held-{number:06d}",
            "namespace": f"team-{number % 20}",
            "labels": {"app": f"app-{number % 50}", "pod-template-hash": f"h{number % 200}"},
        },
        "spec": {
            "nodeName": f"node-{position:05d}",
            "priority": 0,
            "containers": [{"name": "main", "resources": {"requests": requests}}],
        },
        "status": {"phase": "Running"},
    }


def snapshot(nodes: int, pods: int) -> Plain:
    """Return a snapshot with that many nodes and bound pods."""
    empty: Plain = {kind: [] for kind in KINDS}
    return {
        **empty,
        "schema": "inference_ops.dynamo/snapshot/v1",
        "taken_at": "2026-01-01T00:00:00Z",
        "context": "bench",
        "server_version": "v1.36.3",
        "namespace": NAMESPACE,
        "kinds": {kind: {"state": "observed"} for kind in KINDS},
        "nodes": [node(number) for number in range(nodes)],
        "pods": [bound_pod(number, nodes) for number in range(pods)],
        "api_requests": 0,
    }


def pod(name: str, component: str, gpus: int, cpu: str, memory: int, more: Plain) -> Plain:
    """Return one pod of a component."""
    requests: Plain = {"cpu": cpu, "memory": f"{memory}Gi"}
    limits: Plain = {}
    spec: Plain = {"tolerations": [TOLERATION]}
    if gpus:
        requests[GPU] = limits[GPU] = str(gpus)
    selector = {"matchLabels": {"component": component}}
    if "nodeSelector" in more:
        spec["nodeSelector"] = more["nodeSelector"]
    if "spread" in more:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": more["spread"],
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": selector,
            }
        ]
    if "apart" in more:
        terms = [{"topologyKey": more["apart"], "labelSelector": selector}]
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    container = {"name": "main", "image": "bench", "resources": {"requests": requests, "limits": limits}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"component": component}},
        "spec": {**spec, "containers": [container]},
    }


def demands(count: int) -> tuple[PodDemand, ...]:
    """Return about ``count`` demands in the shares of :data:`COMPONENTS`, components in turn."""
    found = []
    for component, share, gpus, cpu, memory, more in COMPONENTS:
        for replica in range(max(share * count // 1000, 1)):
            name = f"{component}-{replica}"
            made = pod(name, component, gpus, cpu, memory, more)
            found.append(PodDemand(name, component, "main", replica, made))
    return tuple(found)
