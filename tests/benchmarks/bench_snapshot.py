# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a snapshot of 5,000 nodes and 50,000 pods takes, in how many requests, and how much memory it needs.

The server is a test double in a process of its own that makes pages up as they are asked for, so the time shown is
mostly ours, and the memory ours alone. Exits 1 where the bound of 1 GiB is missed.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.collect import collect_snapshot
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import connect
from ansible_collections.inference_ops.dynamo.plugins.module_utils.snapshots import load_snapshot, save_snapshot
from ansible_collections.inference_ops.dynamo.tests.doubles.cluster import serve_cluster
from ansible_collections.inference_ops.dynamo.tests.doubles.fake_api import Answer, FakeApi, Request

#: Bytes at the peak, and how many nodes and pods.
BOUND = 1 << 30
SIZES = ((500, 5_000), (5_000, 50_000))


class LargeCluster(FakeApi):
    """Nodes and pods that exist only on the page that is asked for."""

    def __init__(self, nodes: int, pods: int) -> None:
        super().__init__()
        self.sizes = {"/api/v1/nodes": ("NodeList", nodes, node), "/api/v1/pods": ("PodList", pods, pod)}

    def answer(self, request: Request) -> Answer:
        """Make up a page of nodes or pods, and leave the rest to the double."""
        if request.path not in self.sizes:
            return super().answer(request)
        kind, count, make = self.sizes[request.path]
        begin = int(request.params.get("continue", "0"))
        end = min(begin + int(request.params["limit"]), count)
        metadata = {"resourceVersion": "1", **({"continue": str(end)} if end < count else {})}
        items = [make(index) for index in range(begin, end)]
        return Answer(body={"kind": kind, "apiVersion": "v1", "metadata": metadata, "items": items})


def node(index: int) -> dict[str, Any]:
    """Return a node as large as real ones are: most of it is the list of its images."""
    labels = {f"feature.node.kubernetes.io/cpu-{number}": "true" for number in range(40)}
    images = [{"names": [f"registry.example.com/image-{number}@sha256:{'0' * 64}"]} for number in range(50)]
    amounts = {"cpu": "128", "memory": "2Ti", "pods": "110", "nvidia.com/gpu": "8"}
    return {
        "metadata": {"name": f"node-{index}", "labels": {**labels, "kubernetes.io/hostname": f"node-{index}"}},
        "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
        "status": {"allocatable": amounts, "capacity": amounts, "images": images, "conditions": []},
    }


def pod(index: int) -> dict[str, Any]:
    """Return a pod of one of 2,000 workloads, with the environment and mounts that real ones have."""
    owner = f"workload-{index % 2000}"
    container = {
        "name": "main",
        "image": "registry.example.com/x:1",
        "env": [{"name": f"VARIABLE_{number}", "value": "x" * 40} for number in range(30)],
        "resources": {"requests": {"cpu": f"{index % 8 + 1}", "memory": "8Gi"}, "limits": {"memory": "8Gi"}},
        "volumeMounts": [{"name": f"v{number}", "mountPath": f"/v{number}"} for number in range(6)],
    }
    return {
        "metadata": {
            "name": f"{owner}-{index}",
            "namespace": f"team-{index % 200}",
            "labels": {"app": owner, "pod-template-hash": f"{index % 2000:08x}"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": owner, "uid": "u", "controller": True}],
            "managedFields": [{"manager": "kubelet", "fieldsV1": {f"f:{number}": {} for number in range(60)}}],
        },
        "spec": {
            "nodeName": f"node-{index % 5000}",
            "containers": [container, {**container, "name": "sidecar"}],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": f"claim-{index}"}}],
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}] * 4},
    }


def serve(nodes: int, pods: int, ready: Connection) -> None:
    """Serve until the parent hangs up."""
    with LargeCluster(nodes, pods) as api:
        serve_cluster(api)
        ready.send(api.url)
        ready.poll(None)


def measure(nodes: int, pods: int, result: Connection) -> None:
    """Take, save and load one snapshot in this process and send what it cost."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(nodes, pods, theirs), daemon=True)
    server.start()
    kube = connect({"host": ours.recv()}, agent="bench")
    began = time.perf_counter()
    snapshot = collect_snapshot(kube, "ml")
    taken = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "snapshot.json")
        began = time.perf_counter()
        save_snapshot(path, snapshot)
        size = os.path.getsize(path)
        load_snapshot(path)
        kept = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    found = (len(snapshot["nodes"]), len(snapshot["pods"]))
    result.send(json.dumps([taken, kept, size, peak, kube.api_requests, found]))
    ours.send("done")


def main() -> int:
    """Run the sizes and return the exit code."""
    peaks = []
    for nodes, pods in SIZES:
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.Process(target=measure, args=(nodes, pods, theirs))
        process.start()
        taken, kept, size, peak, requests, found = json.loads(ours.recv())
        process.join()
        # The namespace's own pod comes with the double.
        if found != [nodes, pods + 1]:
            raise SystemExit(f"expected {nodes} nodes and {pods + 1} pods, found {found}")
        peaks.append(peak)
        print(
            f"{nodes:6} nodes {pods:6} pods: {taken:6.1f} s in {requests} requests, file {size / 2**20:5.1f} MiB "
            f"(written and read in {kept:4.1f} s), peak {peak / 2**20:6.0f} MiB"
        )
    growth = peaks[1] / peaks[0]
    print(f"ten times the cluster: {growth:.1f} times the memory, {peaks[1] / BOUND:.2f} of the bound of 1 GiB")
    return 0 if peaks[1] < BOUND else 1


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    sys.exit(main())
