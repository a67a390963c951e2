# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random clusters judged by us and by the real kube-scheduler of an embedded cluster: ``fit.py [FIRST-LAST]``.

A seed is a contradiction when the real cluster shows that we are wrong:

- we say ``does_not_fit`` and the scheduler placed every pod without evicting any;
- we say ``fits`` and the scheduler refuses a pod of our placement, each pinned to its node, in our order (a pin is a
  private extended resource of the node: node affinity would switch topology spread off);
- the first pod that the scheduler left pending has other counts of nodes by reason in its message than we have at any
  moment of the replay of the real bindings.

The prediction is right when it leaves as many pods of each group pending as the scheduler did.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.demand import PodDemand
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.cluster import build_cluster, group_pods
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.judge import judge_fit
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.report import FitReport, FitRequest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.state import State
from ansible_collections.inference_ops.dynamo.tests.cluster.api import Api, ApiError, wait_until
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import Options, RunningCluster, running_cluster
from ansible_collections.inference_ops.dynamo.tests.differential.fit_drivers import (
    DRIVERS,
    LEFT,
    SELECTED,
    STORAGE,
    add_drivers,
    volume_for,
)
from ansible_collections.inference_ops.dynamo.tests.differential.fit_scenarios import (
    FIXED,
    SPACE_LABELS,
    SPACES,
    Plain,
    Scenario,
    scenario,
)
from ansible_collections.inference_ops.dynamo.tests.goldens.fit import message_counts

PIN = "fit.example.com/pin-"
KINDS = {
    "nodes": ("v1", "Node"),
    "pods": ("v1", "Pod"),
    "namespaces": ("v1", "Namespace"),
    "persistentvolumeclaims": ("v1", "PersistentVolumeClaim"),
    "persistentvolumes": ("v1", "PersistentVolume"),
    "resourcequotas": ("v1", "ResourceQuota"),
    "limitranges": ("v1", "LimitRange"),
    "storageclasses": ("storage.k8s.io/v1", "StorageClass"),
    "priorityclasses": ("scheduling.k8s.io/v1", "PriorityClass"),
    "runtimeclasses": ("node.k8s.io/v1", "RuntimeClass"),
    "csinodes": (STORAGE, "CSINode"),
    "csidrivers": (STORAGE, "CSIDriver"),
    "volumeattachments": (STORAGE, "VolumeAttachment"),
    "csistoragecapacities": (STORAGE, "CSIStorageCapacity"),
}
#: What the scheduler says of a pod whose generic ephemeral volume's claim is not there yet.
_FOR_EPHEMERAL = "waiting for ephemeral volume controller"
#: Seconds without a change after which the scheduler is taken to be done; a pod's first retry comes after one second.
QUIET = 1.6
SETTLE = 30.0


@dataclass
class Tally:
    """What the seeds showed."""

    seeds: int = 0
    contradictions: list[str] = field(default_factory=list)
    judged: int = 0
    right: int = 0
    messages: int = 0
    witnesses: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Outcome:
    """What the scheduler did: node by pod (empty: pending), its messages, who was evicted, what was refused."""

    nodes: Mapping[str, str]
    messages: Mapping[str, str]
    evicted: Sequence[str]
    refused: Mapping[str, str]


class Ground:
    """The cluster the scenarios run on."""

    def __init__(self, cluster: RunningCluster) -> None:
        self.api: Api = cluster.api
        self.drivers = {one["metadata"]["name"]: one["provisioner"] for one in DRIVERS if one["kind"] == "StorageClass"}
        self.made: set[str] = set()
        for space in SPACES:
            cluster.namespace(space)
            self.api.patch(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}},
                {"metadata": {"labels": SPACE_LABELS[space]}},
            )
        for item in (*FIXED, *DRIVERS):
            self.api.create(copy.deepcopy(item))

    def clear(self) -> None:
        """Remove what a scenario left."""
        for space in SPACES:
            self._delete_pods(self.pods(space))
        for left in LEFT:
            for item in self.api.list(STORAGE, left):
                self.api.delete(item)
        for kind in ("persistentvolumeclaims", "resourcequotas", "limitranges"):
            for item in self.api.list(*KINDS[kind]):
                self.api.delete(item)
        wait_until("claims gone", lambda: not self.api.list(*KINDS["persistentvolumeclaims"]))
        for kind in ("persistentvolumes", "nodes"):
            for item in self.api.list(*KINDS[kind]):
                self.api.delete(item)
        wait_until("nodes gone", lambda: not self.api.list(*KINDS["nodes"]))

    def pods(self, space: str) -> list[Plain]:
        return self.api.list("v1", "Pod", space)

    def _delete_pods(self, pods: Sequence[Plain]) -> None:
        for pod in pods:
            if pod["metadata"].get("finalizers"):
                self.api.patch(pod, {"metadata": {"finalizers": None}})
            try:
                self.api.request("DELETE", self.api.path_of(pod), {"gracePeriodSeconds": 0})
            except ApiError as error:
                if error.status != 404:
                    raise
        names = {(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in pods}
        wait_until("pods gone", lambda: not names & self._names())

    def _names(self) -> set[tuple[str, str]]:
        return {(space, pod["metadata"]["name"]) for space in SPACES for pod in self.pods(space)}

    def ready(self, case: Scenario) -> None:
        """Clear the ground and build; what plays the kubelets can miss a node that comes back at once, so try again."""
        for attempt in range(3):
            self.clear()
            try:
                self.build(case)
                return
            except TimeoutError:
                if attempt == 2:
                    raise

    def build(self, case: Scenario) -> None:
        """Make nodes, volumes, claims and the pods that stand already; wait until all of it has settled."""
        early = ("PersistentVolume", *LEFT)
        for item in (*case.nodes, *(one for one in case.objects if one["kind"] in early)):
            self.api.create(copy.deepcopy(item))
        for one in case.objects:
            if one["kind"] == "PersistentVolumeClaim":
                self.api.create(copy.deepcopy(one))
        wait_until("cordon taints", lambda: all(map(_tainted, self.api.list(*KINDS["nodes"]))))
        for pod in case.existing:
            self.api.create(copy.deepcopy(pod))
        # A pod holds its node's room from its binding on; only what is to end has to run first.
        wait_until("existing pods", lambda: self._running(set(case.phases)), 15)
        for pod in case.existing:
            phase = case.phases.get(pod["metadata"]["name"])
            if phase:
                self.api.patch(pod, {"status": {"phase": phase}}, "status")
            if pod["metadata"]["name"] in case.deleting:
                self.api.request("DELETE", self.api.path_of(pod), {"gracePeriodSeconds": 0})
        for one in case.objects:
            if one["kind"] in ("ResourceQuota", "LimitRange"):
                self.api.create(copy.deepcopy(one))
        if case.features["resource quota"]:
            wait_until("quota counted", self._quota_counted)
        self._claims_settled(case)

    def _running(self, names: set[str]) -> bool:
        found = [pod for space in SPACES for pod in self.pods(space) if pod["metadata"]["name"] in names]
        return len(found) == len(names) and all(pod["status"].get("phase") == "Running" for pod in found)

    def _quota_counted(self) -> bool:
        pods = Counter(
            pod["metadata"]["namespace"]
            for space in SPACES
            for pod in self.pods(space)
            if pod["status"].get("phase") not in ("Succeeded", "Failed")
        )
        for quota in self.api.list(*KINDS["resourcequotas"]):
            used = (quota.get("status") or {}).get("used")
            if used is None or ("pods" in used and int(used["pods"]) != pods[quota["metadata"]["namespace"]]):
                return False
        return True

    def _claims_settled(self, case: Scenario) -> None:
        """Give the volume controller the time to bind what it binds at once."""
        names = {one["metadata"]["name"][:-3] for one in case.objects if one["metadata"]["name"].endswith("-pv")}
        if names:
            wait_until("claims bound", lambda: all(self._bound(claim, names) for claim in self._claims()), 20)

    def provision(self) -> None:
        """Play the storage drivers: make a volume for each claim that the scheduler gave a node."""
        for claim in self._claims():
            driver = self.drivers.get(claim["spec"].get("storageClassName"))
            waits = SELECTED in claim["metadata"].get("annotations", {}) and not claim["spec"].get("volumeName")
            if driver and waits and (claim["metadata"]["uid"] not in self.made):
                self.made.add(claim["metadata"]["uid"])
                self.api.create(volume_for(claim, driver))

    def _claims(self) -> list[Plain]:
        return self.api.list(*KINDS["persistentvolumeclaims"])

    @staticmethod
    def _bound(claim: Plain, names: set[str]) -> bool:
        return claim["metadata"]["name"] not in names or claim["status"].get("phase") == "Bound"

    def snapshot(self) -> Plain:
        """Read the cluster as it is."""
        return {kind: self.api.list(*version) for kind, version in KINDS.items()}

    def create(self, pods: Sequence[Plain]) -> dict[str, str]:
        """Create pods one after another; return which were refused and why."""
        refused = {}
        for pod in pods:
            try:
                self.api.create(copy.deepcopy(pod))
            except ApiError as error:
                refused[pod["metadata"]["name"]] = error.message
        return refused

    def settle(self, names: set[str]) -> dict[str, Plain]:
        """Wait until every pod is decided and nothing changes any more; return the pods."""
        last: object = None
        since = time.monotonic()
        deadline = since + SETTLE
        while time.monotonic() < deadline:
            self.provision()
            pods = {one["metadata"]["name"]: one for space in SPACES for one in self.pods(space)}
            seen = {name: (_node(pods[name]), _message(pods[name])) for name in names if name in pods}
            decided = all(node or message for node, message in seen.values())
            if seen != last:
                last, since = seen, time.monotonic()
            elif decided and time.monotonic() - since > QUIET:
                break
            time.sleep(0.15)
        return pods

    def pinned(self, steps: Sequence[tuple[Plain, str]]) -> str:
        """Place pods one by one, each pinned to its node; return the first refusal, or nothing."""
        for item in self.api.list(*KINDS["nodes"]):
            room = {PIN + item["metadata"]["name"]: "1000"}
            self.api.patch(item, {"status": {"allocatable": room, "capacity": room}}, "status")
        for pod, node in steps:
            made = copy.deepcopy(pod)
            made["spec"].pop("schedulingGates", None)
            resources = made["spec"]["containers"][0].setdefault("resources", {})
            resources.setdefault("limits", {})[PIN + node] = "1"
            name = made["metadata"]["name"]
            self.api.create(made)
            found = self.settle_one(made)
            if _node(found) != node:
                return f"{name} on {node}: {_message(found) or 'not decided'}"
        return ""

    def settle_one(self, pod: Plain) -> Plain:
        """Wait until the scheduler has decided about one pod; a refusal has to stand for a while."""
        deadline = time.monotonic() + 12
        refused_since = 0.0
        while True:
            found = self.api.get("v1", "Pod", pod["metadata"]["namespace"], pod["metadata"]["name"]) or pod
            if _node(found):
                return found
            self.provision()
            now = time.monotonic()
            if _message(found) and not refused_since:
                refused_since = now
            if (refused_since and now - refused_since > 4) or now > deadline:
                return found
            time.sleep(0.03)


def _tainted(node: Plain) -> bool:
    cordoned = node["spec"].get("unschedulable")
    taints = {taint["key"] for taint in node["spec"].get("taints") or ()}
    return "node.kubernetes.io/not-ready" not in taints and (
        not cordoned or "node.kubernetes.io/unschedulable" in taints
    )


def _node(pod: Plain) -> str:
    return str(pod["spec"].get("nodeName") or "")


def _message(pod: Plain) -> str:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            message = str(condition.get("message") or condition.get("reason"))
            return "" if _FOR_EPHEMERAL in message else message
    return ""


def judge(case: Scenario, snapshot: Plain) -> FitReport:
    """Judge the pods as they are submitted, before any admission."""
    demands = tuple(
        PodDemand(pod["metadata"]["name"], _group(pod["metadata"]["name"]), "main", number, pod)
        for number, pod in enumerate(case.pending)
    )
    request = FitRequest(demands, snapshot, explain=False)
    return judge_fit(request, clock=time.monotonic, time_limit=10)


def _group(name: str) -> str:
    return name.rsplit("-", 1)[0]


def run_seed(ground: Ground, seed: int, tally: Tally, tell: Callable[[str], None]) -> None:
    """Run one seed and add what it shows."""
    case = scenario(seed)
    add_drivers(case)
    ground.ready(case)
    before = ground.snapshot()
    report = judge(case, before)
    names = {pod["metadata"]["name"] for pod in case.pending}
    refused = ground.create(case.pending)
    pods = ground.settle(names - set(refused))
    outcome = _outcome(case, before, pods, refused)
    problems = list(_contradictions(ground, case, before, report, outcome, pods, tally))
    tally.seeds += 1
    tally.verdicts[report.verdict] += 1
    tally.features.update(case.features)
    if not outcome.evicted and not refused:
        tally.judged += 1
        tally.right += _predicted(report, outcome, pods)
    for problem in problems:
        tally.contradictions.append(f"seed {seed}: {problem}")
        tell(f"seed {seed}: CONTRADICTION: {problem}")
    left = sum(1 for node in outcome.nodes.values() if not node)
    tell(f"seed {seed}: {report.verdict}; the scheduler left {left} of {len(names)} pending")


def _outcome(case: Scenario, before: Plain, pods: Mapping[str, Plain], refused: Mapping[str, str]) -> Outcome:
    stood = {
        pod["metadata"]["name"]
        for pod in before["pods"]
        if pod["metadata"]["namespace"] in SPACES and not pod["metadata"].get("deletionTimestamp")
    }
    names = [pod["metadata"]["name"] for pod in case.pending]
    made = [name for name in names if name not in refused]
    return Outcome(
        nodes={name: _node(pods[name]) if name in pods else "" for name in names},
        messages={name: _message(pods[name]) for name in made if name in pods and not _node(pods[name])},
        evicted=sorted((stood | set(made)) - set(pods)),
        refused=dict(refused),
    )


def _contradictions(
    ground: Ground,
    case: Scenario,
    before: Plain,
    report: FitReport,
    outcome: Outcome,
    pods: Mapping[str, Plain],
    tally: Tally,
) -> Iterator[str]:
    if report.verdict == "does_not_fit" and all(outcome.nodes.values()) and not outcome.evicted:
        yield f"the scheduler placed all, we say: {report.proof}"
    if report.verdict == "fits" and outcome.refused:
        yield f"we say it fits, the API server refused {dict(outcome.refused)}"
        return
    if not outcome.evicted:
        yield from _reasons(case, before, outcome, pods, tally)
    if report.verdict == "fits":
        tally.witnesses += 1
        by_name = {pod["metadata"]["name"]: pod for pod in case.pending}
        ground.ready(case)
        refused = ground.pinned([(by_name[one.pod], one.node) for one in report.placements])
        if refused:
            yield f"the scheduler refuses our placement: {refused}"


def _reasons(case: Scenario, before: Plain, outcome: Outcome, pods: Mapping[str, Plain], tally: Tally) -> Iterator[str]:
    """Compare the counts of the first pod left pending, at any moment of the replay of the bindings."""
    order = [pod["metadata"]["name"] for pod in case.pending]
    gated = {name for name in order if name in pods and pods[name]["spec"].get("schedulingGates")}
    first = next((name for name in order if name in outcome.messages and name not in gated), None)
    if first is None:
        return
    wanted = message_counts(outcome.messages[first])
    tally.messages += 1
    # As the API server made them: what it added by itself is judged by the verdict's comparison.
    submitted = [_unbound(pods[name]) for name in order if name in pods]
    cluster = build_cluster(before)
    groups = group_pods(submitted, cluster)
    names = [pod["metadata"]["name"] for pod in submitted]
    group_of = {names[member]: group.index for group in groups for member in group.members}
    where = {node.name: position for position, node in enumerate(cluster.nodes)}
    state = State(cluster, groups)
    seen = []
    bound = sorted((name for name in names if outcome.nodes[name]), key=lambda name: _bound_at(pods[name], order))
    for name in ["", *bound]:
        if name:
            state.place(group_of[name], where[outcome.nodes[name]])
        ours = state.cluster_failure(group_of[first]) or state.reason_counts(group_of[first])
        if ours == wanted or (isinstance(wanted, str) and isinstance(ours, str) and wanted.startswith(ours)):
            return
        seen.append(ours)
    yield f"{first}: the scheduler counts {wanted}, we {seen[-1]} in the end"


def _bound_at(pod: Plain, order: Sequence[str]) -> tuple[str, int]:
    times = [
        one["lastTransitionTime"]
        for one in pod["status"].get("conditions") or ()
        if one["type"] == "PodScheduled" and one["status"] == "True"
    ]
    return (times[0] if times else "", order.index(pod["metadata"]["name"]))


def _unbound(pod: Plain) -> Plain:
    """Return the pod as it was before it was bound: binding copies the node's zone and region labels."""
    made = copy.deepcopy(pod)
    made["spec"].pop("nodeName", None)
    made["spec"].pop("schedulingGates", None)
    labels = made["metadata"].get("labels") or {}
    if _node(pod):
        for key in ("topology.kubernetes.io/zone", "topology.kubernetes.io/region"):
            labels.pop(key, None)
    return made


def _predicted(report: FitReport, outcome: Outcome, pods: Mapping[str, Plain]) -> bool:
    gated = {name for name, pod in pods.items() if pod["spec"].get("schedulingGates")}
    real = Counter(_group(name) for name, node in outcome.nodes.items() if not node and name not in gated)
    return report.prediction.state == "complete" and Counter(map(_group, report.prediction.pending)) == real


def main(argv: Sequence[str]) -> int:
    """Run the seeds asked for; return 0 where no seed contradicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="?", default="0-99", help="FIRST-LAST or one number")
    first, _dash, last = parser.parse_args(argv).seeds.partition("-")
    tally = Tally()
    no_nodes = Path(__file__).with_name("no_nodes.yaml")
    with running_cluster(Options(pools=no_nodes, apis=(), operator=False)) as cluster:
        ground = Ground(cluster)
        for seed in range(int(first), int(last or first) + 1):
            run_seed(ground, seed, tally, lambda line: print(line, flush=True))
    print("\nexercised (times a feature was generated):")
    for name, count in sorted(tally.features.items()):
        print(f"  {count:4} {name}")
    print(
        f"verdicts: {dict(tally.verdicts)}; {tally.witnesses} placements replayed, {tally.messages} messages compared"
    )
    for problem in tally.contradictions:
        print(problem)
    share = 100 * tally.right // max(tally.judged, 1)
    print(
        f"differential-fit: {tally.seeds} seeds, {len(tally.contradictions)} contradictions, prediction right {share} %"
    )
    return 1 if tally.contradictions or not tally.seeds else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
