# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a judgement takes on large clusters, and the same pods through the real kube-scheduler.

Each size runs in a process of its own, as the module does: read the snapshot's file, judge. The real scheduler gets
the same cluster and pods (fit_scheduler.py). Closes with the growth from the smallest to the largest size, and fails
where a bound is broken.
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

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.judge import judge_fit
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.report import FitRequest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.snapshots import load_snapshot
from ansible_collections.inference_ops.dynamo.tests.benchmarks import fit_cluster

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
    return min(runs, key=lambda run: run.wall)


def told(run: Timing) -> str:
    """Return a timing as a line."""
    return (
        f"{run.nodes:5} nodes {run.pods:6} bound pods {run.demands:5} demands: {run.wall:5.2f} s wall"
        f" ({run.read:.2f} s reading) {run.cpu:5.2f} s CPU {run.mib:4} MiB  {run.verdict},"
        f" prediction leaves {run.pending} pending"
    )


def compare(ours: Timing) -> None:
    """Give the real scheduler the work of one timing and print the ratios."""
    # Only here: the embedded cluster brings tools that the rest does not need.
    from ansible_collections.inference_ops.dynamo.tests.benchmarks.fit_scheduler import schedule

    began = time.monotonic()
    theirs = schedule(
        ours.nodes, ours.pods, ours.demands, lambda text: print(f"  {time.monotonic() - began:4.0f} s: {text}")
    )
    judging = ours.wall - ours.read
    print(
        f"the real scheduler, {ours.nodes} nodes, {ours.pods} bound pods, {ours.demands} demands: {theirs.last:.2f} s"
        f" from its start to the last pod decided, {theirs.pending} left pending; we {ours.wall:.2f} s:"
        f" ratio {theirs.last / ours.wall:.1f}"
    )
    print(
        f"  without reading the cluster: {theirs.last - theirs.first:.2f} s from its first decision to its last, we"
        f" {judging:.2f} s: ratio {(theirs.last - theirs.first) / judging:.1f}"
    )


def main(argv: Sequence[str]) -> int:
    """Measure and compare; return 1 where a bound is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=4, metavar=("FILE", "NODES", "PODS", "DEMANDS"), help=argparse.SUPPRESS)
    parser.add_argument("--no-scheduler", action="store_true", help="leave the real scheduler out")
    parser.add_argument(
        "--scheduler-nodes", type=int, default=5_000, help="nodes for the real scheduler (5000 take 2 minutes to fill)"
    )
    options = parser.parse_args(argv)
    if options.one:
        path, nodes, pods, count = options.one
        print(json.dumps(asdict(one(path, int(nodes), int(pods), int(count)))))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        timings = [measured(Path(folder), *size) for size in SIZES]
        for run in timings:
            print(told(run), flush=True)
        if not options.no_scheduler:
            size = (options.scheduler_nodes, options.scheduler_nodes * 10, options.scheduler_nodes // 5)
            compare(timings[SIZES.index(size)] if size in SIZES else measured(Path(folder), *size))
    small, large = timings[0], timings[-1]
    # The same demands on more nodes: only then does the ratio speak of the nodes.
    wide = max((run for run in timings if run.demands == small.demands), key=lambda run: run.nodes)
    growth = (wide.cpu / small.cpu) / (wide.nodes / small.nodes)
    print(
        f"growth from {small.nodes} to {wide.nodes} nodes, {small.demands} demands: {wide.cpu / small.cpu:.1f} times"
        f" ({growth:.2f} of linear)"
    )
    broken = [
        text
        for text, bad in (
            (f"over {MOST_SECONDS} s", large.wall > MOST_SECONDS),
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
