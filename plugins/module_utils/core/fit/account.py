# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked for and by whom it is held, in words and numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from ..demand import PodDemand
from ..keys import LABEL_DGD
from ..podresources import written
from .cluster import BoundPod, Cluster, Group
from .model import PODS, labels_of, namespace_of
from .report import Holdings, NodeRow
from .state import State


@lru_cache(maxsize=1024)
def is_gpu(resource: str) -> bool:
    """Return whether an extended resource stands for GPUs, shares of them, or slices of them."""
    domain, _slash, name = resource.partition("/")
    return bool(name) and ("gpu" in name or "gpu" in domain.split(".") or name.startswith("mig-") or name == "gaudi")


def gpus(requests: Mapping[str, int]) -> dict[str, int]:
    """Return the GPU part of what a pod asks for."""
    return {name: value for name, value in requests.items() if value and is_gpu(name)}


def of_dgds(cluster: Cluster, names: Iterable[str], namespaces: Iterable[str]) -> list[BoundPod]:
    """Return the bound pods of the DGDs named, in the namespaces given."""
    wanted, where = frozenset(names) - {""}, frozenset(namespaces)
    if not wanted:
        return []
    return [
        pod
        for pod in cluster.bound
        if labels_of(pod.source).get(LABEL_DGD) in wanted and namespace_of(pod.source) in where
    ]


def held(pods: Iterable[BoundPod]) -> dict[str, int]:
    """Return the GPUs that the pods hold."""
    total: Counter[str] = Counter()
    for pod in pods:
        for name, value in pod.requests.items():
            if value and is_gpu(name):
                total[name] += value
    return dict(total)


def holdings(
    cluster: Cluster,
    groups: Sequence[Group],
    run: Iterable[BoundPod],
    replaced: Iterable[BoundPod],
    retiring: Iterable[BoundPod],
) -> Holdings:
    """Count who holds which GPUs."""
    by_namespace: dict[str, Counter[str]] = {}
    held_on: list[Counter[str]] = [Counter() for _unused in cluster.nodes]
    for pod in cluster.bound:
        for name, value in pod.requests.items():
            if value and is_gpu(name):
                by_namespace.setdefault(namespace_of(pod.source), Counter())[name] += value
                held_on[pod.node][name] += value
    allocatable: Counter[str] = Counter()
    free: Counter[str] = Counter()
    for node, taken in zip(cluster.nodes, held_on, strict=True):
        for name, value in gpus(node.allocatable).items():
            allocatable[name] += value
            free[name] += max(value - taken[name], 0)
    demanded: Counter[str] = Counter()
    for group in groups:
        for name, value in gpus(group.requests).items():
            demanded[name] += value * group.count
    return Holdings(
        by_namespace={name: dict(counts) for name, counts in sorted(by_namespace.items())},
        run=held(run),
        replaced=held(replaced),
        retiring=held(retiring),
        demanded=dict(demanded),
        allocatable=dict(allocatable),
        free=dict(free),
    )


def shown_requests(group: Group) -> dict[str, str]:
    """Return what a pod of the group asks for, as quantities, without its pod place."""
    return {name: written(name, value) for name, value in sorted(group.requests.items()) if name != PODS}


def rows(
    state: State, demands: Sequence[PodDemand], run: Iterable[BoundPod], steps: Sequence[tuple[int, int]]
) -> tuple[NodeRow, ...]:
    """Return the picture's rows: nodes with GPUs, with the pods placed by (demand, node)."""
    cluster = state.cluster
    ours = {id(pod) for pod in run}
    mine: list[Counter[str]] = [Counter() for _unused in cluster.nodes]
    others: list[Counter[str]] = [Counter() for _unused in cluster.nodes]
    for pod in cluster.bound:
        taken = (mine if id(pod) in ours else others)[pod.node]
        for name, value in pod.requests.items():
            if value and is_gpu(name):
                taken[name] += value
    group_of = {member: group for group in state.groups for member in group.members}
    placed: dict[tuple[int, str], Counter[str]] = {}
    for member, position in steps:
        for name, value in gpus(group_of[member].requests).items():
            placed.setdefault((position, name), Counter())[demands[member].component or demands[member].name] += value
    found = []
    for position, node in enumerate(cluster.nodes):
        for name, total in sorted(gpus(node.allocatable).items()):
            new = placed.get((position, name), Counter())
            free = max(total - mine[position][name] - others[position][name] - sum(new.values()), 0)
            out = "" if new else _out(state, position, name)
            found.append(
                NodeRow(
                    node.name, name, total, others[position][name], mine[position][name], tuple(new.items()), free, out
                )
            )
    return tuple(found)


def _out(state: State, node: int, resource: str) -> str:
    """Return why no pod that asks for the resource can ever use the node, or nothing where one can."""
    reasons = []
    for index, group in enumerate(state.groups):
        if not group.requests.get(resource):
            continue
        before, after = state.static[index][node]
        if not before and not after:
            return ""
        reasons.append(before or after[0])
    return Counter(reasons).most_common(1)[0][0] if reasons else "no pod asks for it"


def message(nodes: int, reasons: Mapping[str, int], failure: str = "") -> str:
    """Write counts as the scheduler does."""
    text = failure or ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"0/{nodes} nodes are available: {text}."
