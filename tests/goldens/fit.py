# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded runs of the real kube-scheduler: the verdict, the witness, the reasons, and how often the prediction hits.

Three rows a case: ``verdict`` (against the recorded answer to "does any placement exist"; an unknown answer is open),
``witness`` (ours against the checker, the recorded one against the checker and the filters), ``reasons`` (for every pod
left pending our counts against the recorded message, at some moment of the replay of the recorded bindings).
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.demand import PodDemand
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.checker import Step, check_placement
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.cluster import build_cluster, group_pods
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.judge import judge_fit
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.report import FitReport, FitRequest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.state import State
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.kinds import KINDS
from ansible_collections.inference_ops.dynamo.tests.goldens.rows import Row, compared

Case = Mapping[str, Any]
_FRAME = re.compile(r"0/\d+ nodes are available: (?P<reasons>.*?)\.(?: no new claims| preemption:| not found|$)")
_COUNT = re.compile(r"(?P<count>\d+) (?P<reason>.*)")
SECONDS = 10.0


def run(folder: Path) -> Iterator[Row]:
    """Yield the rows of every case below ``folder``/fit, and one that tells the prediction's hit rate."""
    hits: list[bool] = []

    def rows(path: Path) -> Iterator[Row]:
        case = json.loads(path.read_text(encoding="utf-8"))
        report = judge(case)
        group = str(case.get("kind") or "case")
        yield _verdict(case, path.stem, group, report)
        yield from _witness(case, path.stem, group, report)
        yield from _reasons(case, path.stem, group)
        if case.get("class") != "evictions":
            hits.append(predicted(case, report))

    yield from compared(sorted((folder / "fit").glob("*.json")), lambda path: path.stem, rows)
    if hits:
        # A hit is chance where scores tie, so this row informs and cannot fail.
        yield Row(f"prediction right {100 * sum(hits) // len(hits)} %", "all", "equal", f"{sum(hits)} of {len(hits)}")


def snapshot(case: Case) -> dict[str, Any]:
    """Return the recorded cluster as a snapshot."""
    found: dict[str, Any] = {"nodes": case["nodes"], "pods": case["existing_pods"]}
    for entry in case["objects"]:
        found.setdefault(KINDS[entry["kind"]].plural, []).append(entry)
    return found


def judge(case: Case) -> FitReport:
    """Judge a recorded case."""
    demands = tuple(
        PodDemand(pod["metadata"]["name"], pod["metadata"]["name"].rsplit("-", 1)[0], "main", number, pod)
        for number, pod in enumerate(case["pending_pods"])
    )
    request = FitRequest(demands, snapshot(case), explain=False)
    return judge_fit(request, clock=time.monotonic, time_limit=SECONDS)


def _verdict(case: Case, name: str, group: str, report: FitReport) -> Row:
    known = case["fits_exists"]
    wanted = {True: "fits", False: "does_not_fit"}.get(known, report.verdict) if known != "unknown" else report.verdict
    equal = report.verdict == wanted
    detail = f"we say {report.verdict} ({report.proof or '; '.join(report.unknown)}), the truth is {wanted}"
    return Row(f"{group} verdict", name, "equal" if equal else "different", "" if equal else detail)


def _witness(case: Case, name: str, group: str, report: FitReport) -> Iterator[Row]:
    pods = {pod["metadata"]["name"]: pod for pod in case["pending_pods"]}
    if case["fits_exists"] is True:
        steps = [Step(pod, pods[pod], case["witness"][pod]) for pod in case["witness_order"]]
        refused = check_placement(build_cluster(snapshot(case)), steps)
        yield Row(f"{group} recorded witness", name, "different" if refused else "equal", refused)
    if report.verdict == "fits":
        steps = [Step(one.pod, pods[one.pod], one.node) for one in report.placements]
        refused = check_placement(build_cluster(snapshot(case)), steps)
        if not refused and len(steps) != len(pods):
            refused = f"{len(steps)} of {len(pods)} pods placed"
        yield Row(f"{group} our witness", name, "different" if refused else "equal", refused)


def message_counts(message: str) -> dict[str, int] | str | None:
    """Return a FailedScheduling message's counts by reason, or its text where it holds for the whole cluster."""
    match = _FRAME.match(message)
    if match is None:
        return None
    counts: dict[str, int] = {}
    for part in re.split(r", (?=\d+ )", match["reasons"]):
        found = _COUNT.fullmatch(part)
        if found is None:
            return match["reasons"]
        counts[found["reason"]] = int(found["count"])
    return counts


def _reasons(case: Case, name: str, group: str) -> Iterator[Row]:
    """Replay the recorded bindings; the message's moment is not recorded, so any of the replay will do."""
    if case.get("class") == "evictions":
        return
    outcome = case["outcome"]
    cluster = build_cluster(snapshot(case))
    pods = case["pending_pods"]
    groups = group_pods(pods, cluster)
    names = [pod["metadata"]["name"] for pod in pods]
    group_of = {names[member]: one.index for one in groups for member in one.members}
    where = {node.name: position for position, node in enumerate(cluster.nodes)}
    state = State(cluster, groups)
    open_messages = {
        pod: message_counts(outcome["messages"][pod])
        for pod in names
        if not outcome["placements"].get(pod) and pod in outcome["messages"] and pod not in outcome["gated"]
    }
    wanted = dict(open_messages)
    bound = [pod for pod in outcome["bind_order"] if outcome["placements"].get(pod)]
    bound += [pod for pod in names if outcome["placements"].get(pod) and pod not in bound]
    for pod in [None, *bound]:
        if pod is not None:
            state.place(group_of[pod], where[outcome["placements"][pod]])
        for waiting, counts in list(open_messages.items()):
            if _same(state, group_of[waiting], counts):
                del open_messages[waiting]
    for pod, counts in wanted.items():
        ours = state.cluster_failure(group_of[pod]) or state.reason_counts(group_of[pod])
        missed = pod in open_messages
        detail = f"{pod}: the scheduler said {counts}, we count {ours} at the end" if missed else ""
        yield Row(f"{group} reasons", f"{name}/{pod}", "different" if missed else "equal", detail)


def _same(state: State, group: int, recorded: dict[str, int] | str | None) -> bool:
    failure = state.cluster_failure(group)
    if failure:
        return isinstance(recorded, str) and recorded.startswith(failure)
    return state.reason_counts(group) == recorded


def predicted(case: Case, report: FitReport) -> bool:
    """Return whether the prediction leaves as many pods of each group pending as the scheduler did."""
    outcome = case["outcome"]
    real = Counter(
        pod.rsplit("-", 1)[0] for pod, node in outcome["placements"].items() if not node and pod not in outcome["gated"]
    )
    return Counter(pod.rsplit("-", 1)[0] for pod in report.prediction.pending) == real
