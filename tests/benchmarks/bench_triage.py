# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast a large state is judged: 2,000 pods and 20,000 events, of which every third pod is in some trouble."""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import ClusterState, TriageReport, triage
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage import builders

PODS, EVENTS, NODES, RUNS = 2000, 20000, 250, 5
BOUND_SECONDS = 1.0
_FULL = (
    f"0/{NODES} nodes are available: {NODES} Insufficient nvidia.com/gpu. preemption: 0/{NODES} nodes are available: x."
)
_GPU = {"containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}


def big_state() -> ClusterState:
    """Return the state; each call makes new objects, so that nothing is remembered from one run to the next."""
    pods: list[dict[str, Any]] = [builders.ready_pod("demo-frontend-0", "Frontend")]
    for number in range(PODS - 1):
        name = f"demo-worker-{number}"
        kind = number % 6
        if kind == 0:
            pods.append(builders.pending(_FULL, name=name, spec=_GPU))
        elif kind == 1:
            crashed = builders.waiting("CrashLoopBackOff", last=builders.terminated(1), restarts=4)
            pods.append(builders.pod(name, containers=[crashed]))
        else:
            pods.append(builders.ready_pod(name, node=f"gpu-{number % NODES}"))
    events = [
        builders.event("Unhealthy", "Startup probe failed: connection refused", name=f"demo-worker-{number % PODS}")
        for number in range(EVENTS)
    ]
    nodes = [builders.node(f"gpu-{number}") for number in range(NODES)]
    return builders.state(pods, events, graph=builders.dgd(workers=PODS - 1), nodes=nodes, cluster_pods=pods)


def main() -> int:
    """Print the time a judgement takes and fail where it is over the bound."""
    spent: list[float] = []
    report: TriageReport | None = None
    for _unused in range(RUNS):
        state = big_state()
        began = time.perf_counter()
        report = triage(state)
        spent.append(time.perf_counter() - began)
    median = statistics.median(spent)
    causes = ", ".join(f"{cause.category} x{cause.replicas}" for cause in report.causes) if report else ""
    size = f"{PODS} pods, {EVENTS} events, {NODES} nodes"
    print(f"triage: {size}: {median:.2f} s (median of {RUNS}, worst {max(spent):.2f} s)")
    print(f"triage: causes: {causes}")
    print(f"triage: {median / BOUND_SECONDS:.2f} of the bound of {BOUND_SECONDS:.0f} s")
    return 0 if median < BOUND_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
