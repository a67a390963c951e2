# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU memory service between pods: one keeps a rank's weights, engines come and go (rules 10.5; ``failover.go``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import keys
from . import launch
from .explain import Notes
from .gms import SOCKET_DIR, add_toleration, claim_spec, strip_gpus
from .graph import Component, Graph
from .grove import schedule
from .merge import env_field, env_var
from .node import Role
from .pod_beta import build_pod, gpu_count
from .services import DISCOVERY_LABELS
from .shapes import plain
from .template_beta import TOPOLOGY_ANNOTATIONS

SHARED = "gms-shared"
SHARED_PATH = "/run/gms/shared"
_HOST_PATH = "/run/gms"
_SERVER_SCRIPT = "«gms server script»"
_USE_ENDPOINT_HEALTH = "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS"
Clique = tuple[str, str, int]


def _memory(component: Component) -> Mapping[str, Any]:
    return (component.spec.get("experimental") or {}).get("gpuMemoryService") or {}


def is_inter_pod(component: Component) -> bool:
    """Return whether the component keeps its weights in pods of their own."""
    return str(_memory(component).get("mode")) == "InterPod"


def shadows(component: Component) -> int:
    """Return how many shadow engines stand by per rank; 0 without failover."""
    failover = (component.spec.get("experimental") or {}).get("failover")
    if not failover or failover.get("mode") != "InterPod":
        return 0
    return int(failover.get("numShadows", 1))


def cliques_of(component: Component) -> list[Clique]:
    """Return name, role and rank of each clique: per rank the weights' keeper and the engine."""
    result: list[Clique] = []
    single = component.nodes == 1
    for rank in range(component.nodes):
        result.append((f"{component.lower}-gms-{rank}", "gms", rank))
        if rank:
            result.append((f"{component.lower}-wkr-{rank}", "worker", rank))
        else:
            result.append((component.lower if single else f"{component.lower}-ldr", "main" if single else "leader", 0))
    return result


def build_cliques(
    graph: Graph,
    component: Component,
    set_name: str,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the component's cliques, what its scaling group shares, and the claims behind it."""
    count = gpu_count(graph, component)
    made = [_clique(graph, component, item, set_name, labels, annotations, count) for item in cliques_of(component)]
    sharing, claims = [], []
    device_class = str(_memory(component).get("deviceClassName") or "gpu.nvidia.com")
    for rank in range(component.nodes):
        name = f"{component.lower}-gpu-rank-{rank}"
        members = [clique for clique, _role, at in cliques_of(component) if at == rank]
        sharing.append({"name": name, "scope": "PerReplica", "filter": {"childCliqueNames": members}})
        devices = claim_spec(device_class, count)
        devices["devices"]["requests"][0]["name"] = "gpu"
        claims.append({"name": name, "templateSpec": {"spec": devices}})
    return made, {"group": {"resourceSharing": sharing}, "claims": claims}


def _clique(
    graph: Graph,
    component: Component,
    item: Clique,
    set_name: str,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    count: int,
) -> dict[str, Any]:
    name, kind, rank = item
    keeper = kind == "gms"
    failover = shadows(component)
    notes = Notes(on=graph.explanation.on)
    if keeper:
        spec = _keeper_pod(graph, component, rank, count, notes)
    else:
        spec = _engine_pod(graph, component, kind, rank, notes)
    own_labels = dict(labels)
    if keeper:
        own_labels = {key: value for key, value in own_labels.items() if key not in DISCOVERY_LABELS}
    elif failover:
        own_labels[keys.LABEL_FAILOVER_MEMBER] = "true"
    own_labels.update(schedule(graph, spec))
    clique: dict[str, Any] = {
        "name": name,
        "labels": own_labels,
        "annotations": {
            key: value for key, value in annotations.items() if not keeper or key not in TOPOLOGY_ANNOTATIONS
        },
        "spec": {
            "roleName": name,
            "replicas": 1 if keeper else failover + 1,
            "minAvailable": 1,
            "podSpec": spec,
        },
    }
    if not keeper:
        clique["spec"]["startsAfter"] = [f"{component.lower}-gms-{rank}"]
    graph.explanation.pod(f"PodCliqueSet/{set_name}", f".spec.template.cliques[{name}].spec.podSpec", spec, notes)
    return clique


def _share(spec: dict[str, Any], rank: int) -> None:
    """Give the pod the directory that a rank's pods share on their node."""
    main = spec["containers"][0]
    strip_gpus(main, every_kind=True)
    if not main["resources"]:
        del main["resources"]
    mount = {
        "name": SHARED,
        "mountPath": SHARED_PATH,
        "subPathExpr": f"$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)/rank-{rank}",
    }
    main["volumeMounts"] = [*main.get("volumeMounts", ()), mount]
    init = {
        "name": "fix-gms-perms",
        "image": main.get("image", ""),
        "command": ["sh", "-c", f"chmod 1777 {SHARED_PATH}"],
        "securityContext": {"runAsUser": 0, "runAsNonRoot": False},
        "volumeMounts": [dict(mount)],
    }
    spec["initContainers"] = [*spec.get("initContainers", ()), init]
    volume = {"name": SHARED, "hostPath": {"path": _HOST_PATH, "type": "DirectoryOrCreate"}}
    spec["volumes"] = [*spec.get("volumes", ()), volume]
    add_toleration(spec, unless_present=True)


def _keeper_pod(graph: Graph, component: Component, rank: int, count: int, notes: Notes) -> dict[str, Any]:
    alone = plain_component(component, nodes=1)
    spec = build_pod(graph, alone, "main", None, "dgd-controller", notes, gms_shadow=shadows(component) > 0)
    main = spec["containers"][0]
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        main.pop(probe, None)
    main["command"], main["args"] = ["bash", "-c"], [_SERVER_SCRIPT]
    test = f"test $(ls {SHARED_PATH}/gms_*.sock 2>/dev/null | wc -l) -ge {2 * count}"
    main["startupProbe"] = {
        "exec": {"command": ["sh", "-c", test]},
        "periodSeconds": 2,
        "timeoutSeconds": 2,
        "failureThreshold": 150,
    }
    main["env"] = [*main["env"], env_var(SOCKET_DIR, SHARED_PATH)]
    _share(spec, rank)
    for key in ("command", "args", "startupProbe"):
        notes.note(("containers", main["name"], key), main[key], "10.5-inter-pod-gms")
    return spec


def _engine_pod(graph: Graph, component: Component, kind: str, rank: int, notes: Notes) -> dict[str, Any]:
    role: Role = "leader" if kind == "leader" else "worker" if kind == "worker" else "main"
    deployer = launch.grove_gms(rank) if component.nodes > 1 else None
    failover = shadows(component) > 0
    engine = plain_component(component, nodes=component.nodes)
    spec = build_pod(graph, engine, role, deployer, "dgd-controller", notes, gms_engine=True, gms_shadow=failover)
    container = spec["containers"][0]
    added = [
        env_field("ENGINE_ID", "metadata.labels['grove.io/podclique-pod-index']"),
        env_var(SOCKET_DIR, SHARED_PATH),
        env_var("FAILOVER_LOCK_PATH", f"{SHARED_PATH}/failover.lock"),
        env_var("DYN_SYSTEM_STARTING_HEALTH_STATUS", "notready"),
    ]
    container["env"] = [*(item for item in container["env"] if item["name"] != _USE_ENDPOINT_HEALTH), *added]
    notes.env(container["name"], added, "10.5-inter-pod-gms")
    if failover:
        spec["restartPolicy"] = "Never"
    _share(spec, rank)
    notes.note(("restartPolicy",), spec["restartPolicy"], "10.5-inter-pod-gms")
    return spec


def plain_component(component: Component, *, nodes: int) -> Component:
    """Return a copy of the component that renders as an ordinary one over ``nodes`` nodes."""
    spec = plain(component.spec)
    spec.pop("experimental", None)
    if nodes == 1:
        spec.pop("multinode", None)
    return Component(
        name=component.name,
        type=component.type,
        spec=spec,
        sub_type=component.sub_type,
        preserved=component.preserved,
        backend_framework=component.backend_framework,
    )
