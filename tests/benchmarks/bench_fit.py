# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a judgement takes on large clusters, and the same pods through the real kube-scheduler.

Each size runs in a process of its own, as the module does: read the snapshot's file, judge. Closes with the growth from
the smallest to the largest size and the ratio to the real scheduler, and fails where a bound is broken.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit import FitRequest, judge_fit
from ansible_collections.inference_ops.dynamo.plugins.module_utils.snapshots import load_snapshot
from ansible_collections.inference_ops.dynamo.tests.benchmarks import fit_cluster
from ansible_collections.inference_ops.dynamo.tests.benchmarks.fit_cluster import Plain

SIZES = ((500, 5_000, 100), (1_000, 10_000, 100), (5_000, 50_000, 100), (5_000, 50_000, 1_000))
MOST_SECONDS = 5.0
MOST_MIB = 1024
#: At most linear.
MOST_GROWTH = 1.0


@dataclass(frozen=True)
class Timing:
    """One run: seconds of wall clock and CPU, the most memory, the verdict, what the prediction leaves pending."""

    nodes: int
    pods: int
    demands: int
    read: float
    wall: float
    cpu: float
    mib: int
    verdict: str
    pending: int


def one(path: str, nodes: int, pods: int, count: int) -> Timing:
    """Judge once, in this process."""
    gc.disable()  # as the module does
    demands = fit_cluster.demands(count)
    wall, cpu = time.monotonic(), time.process_time()
    snapshot = load_snapshot(path).data
    read = time.monotonic() - wall
    report = judge_fit(FitRequest(demands, snapshot, namespace=fit_cluster.NAMESPACE), clock=time.monotonic)
    return Timing(
        nodes=nodes,
        pods=pods,
        demands=len(demands),
        read=read,
        wall=time.monotonic() - wall,
        cpu=time.process_time() - cpu,
        mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        verdict=report.verdict,
        pending=len(report.prediction.pending),
    )


def measured(folder: Path, nodes: int, pods: int, count: int) -> Timing:
    """Judge in a process of its own and return the best of three runs."""
    path = folder / f"snapshot-{nodes}.json"
    path.write_text(json.dumps(fit_cluster.snapshot(nodes, pods)), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        f"{__spec__.parent}.bench_fit",
        "--one",
        str(path),
        str(nodes),
        str(pods),
        str(count),
    ]
    runs = []
    for _unused in range(3):
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
        runs.append(Timing(**json.loads(answer.stdout)))
    return min(runs, key=lambda run: run.cpu)


def schedule(nodes: int, pods: int, count: int) -> float:
    """Let the real scheduler place the same demands on the same cluster; return the seconds it took."""
    # Only here: the embedded cluster brings tools that the rest does not need.
    from concurrent.futures import ThreadPoolExecutor

    from ansible_collections.inference_ops.dynamo.tests.cluster.api import Api, wait_until
    from ansible_collections.inference_ops.dynamo.tests.cluster.testing import Options, running_cluster

    empty = Path(__file__).parents[1] / "differential" / "no_nodes.yaml"
    with running_cluster(Options(pools=empty, apis=(), operator=False)) as cluster:
        spaces = {fit_cluster.NAMESPACE} | {f"team-{number}" for number in range(20)}
        for space in sorted(spaces):
            cluster.namespace(space)

        def create(items: Sequence[Plain]) -> None:
            api = Api(cluster.kubeconfig, cluster.context)
            for item in items:
                api.create(item)
            api.close()

        def create_all(items: Sequence[Plain], workers: int = 4) -> None:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(create, [items[start::workers] for start in range(workers)]))

        create_all([fit_cluster.node(number) for number in range(nodes)])
        # Pods that are there must tolerate their nodes' taints, or the control plane evicts them.
        held = [fit_cluster.bound_pod(number, nodes) for number in range(pods)]
        create_all([{"apiVersion": "v1", "kind": "Pod", **_standing(one)} for one in held])
        wanted = [demand.pod for demand in fit_cluster.demands(count)]
        began = time.monotonic()
        create_all([dict(pod) for pod in wanted], 2)

        def all_bound() -> bool:
            found = cluster.api.list("v1", "Pod", fit_cluster.NAMESPACE)
            return len(found) == len(wanted) and all(pod["spec"].get("nodeName") for pod in found)

        wait_until("all pods bound", all_bound, 600)
        return time.monotonic() - began


def _standing(pod: Plain) -> Plain:
    spec = {**pod["spec"], "tolerations": [{"operator": "Exists"}]}
    spec.pop("priority")
    spec["containers"] = [{**one, "image": "held", **_limited(one)} for one in spec["containers"]]
    return {"metadata": pod["metadata"], "spec": spec}


def _limited(container: Plain) -> Plain:
    """Extended resources need limits; the pods made up for a snapshot name requests only."""
    requests = container["resources"]["requests"]
    limits = {name: value for name, value in requests.items() if "/" in name}
    return {"resources": {"requests": requests, **({"limits": limits} if limits else {})}}


def main(argv: Sequence[str]) -> int:
    """Measure and compare; return 1 where a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=4, metavar=("FILE", "NODES", "PODS", "DEMANDS"), help=argparse.SUPPRESS)
    parser.add_argument("--no-scheduler", action="store_true", help="leave the real scheduler out")
    parser.add_argument(
        "--scheduler-nodes", type=int, default=500, help="size for the real scheduler (5000 takes half an hour to fill)"
    )
    options = parser.parse_args(argv)
    if options.one:
        path, nodes, pods, count = options.one
        print(json.dumps(asdict(one(path, int(nodes), int(pods), int(count)))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        timings = [measured(Path(folder), *size) for size in SIZES]
    for run in timings:
        print(
            f"{run.nodes:5} nodes {run.pods:6} bound pods {run.demands:5} demands: {run.wall:5.2f} s wall"
            f" ({run.read:.2f} s reading) {run.cpu:5.2f} s CPU {run.mib:4} MiB  {run.verdict},"
            f" prediction leaves {run.pending} pending"
        )
    small, large = timings[0], timings[-1]
    # The same demands on more nodes: only then does the ratio speak of the nodes.
    wide = max((run for run in timings if run.demands == small.demands), key=lambda run: run.nodes)
    growth = (wide.cpu / small.cpu) / (wide.nodes / small.nodes)
    print(
        f"growth from {small.nodes} to {wide.nodes} nodes, {small.demands} demands: {wide.cpu / small.cpu:.1f} times"
        f" ({growth:.2f} of linear)"
    )
    if not options.no_scheduler:
        nodes = options.scheduler_nodes
        matching = next((run for run in timings if (run.nodes, run.demands) == (nodes, nodes // 5)), None)
        seconds = schedule(nodes, nodes * 10, nodes // 5)
        ours = matching.wall if matching else 0.0
        told = f", we {ours:.2f} s: ratio {seconds / ours:.1f}" if ours else ""
        print(f"the real scheduler with {nodes} nodes, creating the pods included: {seconds:.2f} s{told}")
    broken = [
        text
        for text, bad in (
            (f"over {MOST_SECONDS} s", large.cpu > MOST_SECONDS),
            (f"over {MOST_MIB} MiB", large.mib > MOST_MIB),
            ("more than linear", growth > MOST_GROWTH),
            ("no fit", large.verdict != "fits"),
        )
        if bad
    ]
    print(f"bench-fit: {'; '.join(broken) or 'all bounds held'}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
