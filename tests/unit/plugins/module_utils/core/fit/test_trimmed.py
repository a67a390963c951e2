# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A snapshot keeps all that the judgement looks at: trimmed objects are judged as whole ones."""

from __future__ import annotations

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.demand import PodDemand
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.judge import judge_fit
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.report import FitRequest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.kinds import KINDS
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot import COLLECTED
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.trim import PodTrimmer
from ansible_collections.inference_ops.dynamo.tests.differential.fit_drivers import DRIVERS, add_drivers
from ansible_collections.inference_ops.dynamo.tests.differential.fit_scenarios import FIXED, SPACE_LABELS, scenario
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.fit.builders import Plain, Ticks


def whole(seed: int) -> tuple[Plain, tuple[PodDemand, ...]]:
    """Return a scenario as a snapshot with whole objects, claims bound as its volumes' names tell, and its demands."""
    case = scenario(seed)
    add_drivers(case)
    found: Plain = {"namespaces": [{"metadata": {"name": name, "labels": SPACE_LABELS[name]}} for name in SPACE_LABELS]}
    for item in (*case.nodes, *case.objects, *FIXED, *DRIVERS):
        found.setdefault(KINDS[item["kind"]].plural, []).append(item)
    found["pods"] = [{**pod, "status": {"phase": "Running"}} for pod in case.existing]
    volumes = {one["metadata"]["name"] for one in found.get("persistentvolumes", ())}
    for claim in found.get("persistentvolumeclaims", ()):
        volume = f"{claim['metadata']['name']}-pv"
        if volume in volumes:
            claim["spec"]["volumeName"] = volume
            claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    for volume in found.get("persistentvolumes", ()):
        volume["status"] = {"phase": "Available"}
    demands = tuple(
        PodDemand(pod["metadata"]["name"], pod["metadata"]["name"].rsplit("-", 1)[0], "main", number, pod)
        for number, pod in enumerate(case.pending)
    )
    return found, demands


def trimmed(snapshot: Plain) -> Plain:
    return {
        kind: [(PodTrimmer("fit-a") if kind == "pods" else COLLECTED[kind].trim)(item) for item in items]
        for kind, items in snapshot.items()
    }


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_trimmed_objects_are_judged_as_whole_ones(first: int) -> None:
    for seed in range(first, first + 20):
        snapshot, demands = whole(seed)
        reports = []
        for data in (snapshot, trimmed(snapshot)):
            request = FitRequest(demands, data, namespace="fit-a", explain=False)
            reports.append(judge_fit(request, clock=Ticks(0.001), time_limit=1))
        assert reports[0] == reports[1], f"seed {seed}"
