# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real kube-scheduler at the made-up large cluster: fill a control plane, start the scheduler, take the time.

Only etcd and the API server run while the cluster is filled: the other controllers would answer each of 50,000 pods
with writes of their own. The pods to place wait when the scheduler starts, so its time covers the same as ours: read
the cluster, place the pods.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.inference_ops.dynamo.tests.benchmarks import fit_cluster
from ansible_collections.inference_ops.dynamo.tests.benchmarks.fit_cluster import Plain
from ansible_collections.inference_ops.dynamo.tests.cluster.api import MERGE_PATCH, Api
from ansible_collections.inference_ops.dynamo.tests.cluster.processes import end_processes, processes_of, start_process
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import Options, RunningCluster, running_cluster

NO_NODES = Path(__file__).parents[1] / "differential" / "no_nodes.yaml"
SCHEDULER = "kube-scheduler"
_NEEDED = ("etcd", "kube-apiserver")
#: More only wait for the API server, which takes both cores.
_WRITERS = 4
_PATIENCE = 600.0
_LOOK = 0.1

Request = tuple[str, str, Plain, str]
"""Method, path, body, content type."""


@dataclass(frozen=True)
class Scheduled:
    """Seconds: filling the cluster, from the scheduler's start to its first and last decision; pods left pending."""

    filling: float
    first: float
    last: float
    pending: int


def schedule(nodes: int, pods: int, count: int, tell: Callable[[str], None]) -> Scheduled:
    """Let the real scheduler place about ``count`` demands on ``nodes`` nodes that hold ``pods`` pods."""
    with running_cluster(Options(pools=NO_NODES, apis=(), operator=False)) as cluster:
        began = time.monotonic()
        for number in range(20):
            cluster.namespace(f"team-{number}")
        cluster.namespace(fit_cluster.NAMESPACE)
        programs = _programs(cluster)
        end_processes([pid for name, (pid, _command) in programs.items() if name not in _NEEDED], cluster.folder.path)
        _fill(cluster, nodes, pods, tell)
        wanted = [dict(demand.pod) for demand in fit_cluster.demands(count)]
        _write(cluster, map(_creation, wanted))
        filling = time.monotonic() - began
        tell(f"filled in {filling:.0f} s; the scheduler starts")
        # Its lease may still be in the name of the one that was ended.
        command = [*programs[SCHEDULER][1], "--leader-elect=false"]
        started = time.monotonic()
        start_process(command, cluster.folder.logs / "scheduler-again.log", cluster.folder.path)
        first, pending = _watch(cluster.api, started, len(wanted))
        return Scheduled(filling, first, time.monotonic() - started, pending)


def _programs(cluster: RunningCluster) -> Mapping[str, tuple[int, list[str]]]:
    """Return the cluster's processes by their programs' names: process id and command line."""
    found = {}
    for pid in processes_of(cluster.folder.path):
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]
        found[os.path.basename(command[0])] = (pid, command)
    return found


def _fill(cluster: RunningCluster, nodes: int, pods: int, tell: Callable[[str], None]) -> None:
    made = [fit_cluster.node(number) for number in range(nodes)]
    _write(cluster, map(_creation, made))
    # The API server taints new nodes as not ready, and nobody is here to take that away.
    _write(cluster, ((*_patch_of(node), MERGE_PATCH) for node in made))
    tell(f"{nodes} nodes are there")
    _write(cluster, (_creation(_standing(fit_cluster.bound_pod(number, nodes))) for number in range(pods)))
    tell(f"{pods} bound pods are there")


def _creation(item: Plain) -> Request:
    namespace = item["metadata"].get("namespace")
    kind = {"Node": "nodes", "Pod": "pods"}[item["kind"]]
    path = f"/api/v1/namespaces/{namespace}/{kind}" if namespace else f"/api/v1/{kind}"
    return "POST", path, item, "application/json"


def _patch_of(node: Plain) -> tuple[str, str, Plain]:
    change = {"spec": {"taints": node["spec"].get("taints") or None}}
    return "PATCH", f"/api/v1/nodes/{node['metadata']['name']}", change


def _write(cluster: RunningCluster, requests: Iterable[Request]) -> None:
    """Send the requests through a few connections that stay open."""
    waiting = list(requests)

    def send(share: Sequence[Request]) -> None:
        api = Api(cluster.kubeconfig, cluster.context)
        for request in share:
            response = api.raw(*request)
            response.read()  # or the connection is not used again
            response.release_conn()
        api.close()

    with ThreadPoolExecutor(_WRITERS) as pool:
        list(pool.map(send, [waiting[start::_WRITERS] for start in range(_WRITERS)]))


def _standing(pod: Plain) -> Plain:
    """Return a bound pod as the API server takes it."""
    spec = {key: value for key, value in pod["spec"].items() if key != "priority"}
    spec["containers"] = [{**one, "image": "held", **_limited(one)} for one in spec["containers"]]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": pod["metadata"], "spec": spec}


def _limited(container: Plain) -> Plain:
    """Extended resources need limits; the pods made up for a snapshot name requests only."""
    requests = container["resources"]["requests"]
    limits = {name: value for name, value in requests.items() if "/" in name}
    return {"resources": {"requests": requests, **({"limits": limits} if limits else {})}}


def _watch(api: Api, started: float, wanted: int) -> tuple[float, int]:
    """Wait until every pod is bound or refused; return when the first one was, and how many were refused."""
    first = 0.0
    path = f"/api/v1/namespaces/{fit_cluster.NAMESPACE}/pods?fieldSelector=spec.nodeName%3D"
    while True:
        now = time.monotonic() - started
        unbound = json.loads(api.text(path))["items"]
        refused = sum(map(_refused, unbound))
        if not first and (refused or len(unbound) < wanted):
            first = now
        if refused == len(unbound):
            return first, refused
        if now > _PATIENCE:
            raise TimeoutError(f"{len(unbound) - refused} pods undecided after {now:.0f} s")
        time.sleep(_LOOK)


def _refused(pod: Plain) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(one["type"] == "PodScheduled" and one["status"] == "False" for one in conditions)
