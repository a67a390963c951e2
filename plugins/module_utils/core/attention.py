# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of a cluster a wait has to read: little while all goes well, everything for whatever else there is.

A judgement that was made from few kinds may miss why something does not run; it never misses that it does not run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from .demand import K8sObject
from .triage.state import ClusterState, condition, meta, name_of
from .waits import Judgement, WaitRequest

#: ``settled``: it runs and may go on for long. ``open``: nothing is wrong yet, and it does not run either.
Interest = Literal["settled", "open", "ready", "trouble"]
_CALM = frozenset({"ready", "model_loading"})


def interest(request: WaitRequest, state: ClusterState, judged: Judgement) -> Interest:
    """Return how a judgement stands, for the decision on what else to read."""
    report = judged.report
    wrong = any(cause.category not in _CALM for cause in report.causes)
    wrong = wrong or any(view.category not in _CALM for view in report.components)
    if judged.final == "failed" or wrong:
        return "trouble"
    if report.ready:
        return "ready"
    if request.wait_for == "jobs":
        return _jobs(state, judged.parts.get("jobs") or ())
    return "open"


def _jobs(state: ClusterState, reports: Any) -> Interest:
    """Jobs may run for hours: they are settled while each has a pod that runs and none that does not."""
    if any(report["state"] not in ("active", "complete") for report in reports):
        return "trouble"
    active = {str(report["uid"]) for report in reports if report["state"] == "active"}
    running = set()
    for pod in state.of("pods"):
        owners = active & {str(owner.get("uid")) for owner in meta(pod).get("ownerReferences") or ()}
        if owners and not _runs(pod):
            return "open"
        running |= owners
    return "settled" if running == active else "open"


def _runs(pod: K8sObject) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return phase == "Running" and condition(pod, "Ready").get("status") == "True"


def proven_accounts(state: ClusterState, discovery: Mapping[str, Any]) -> frozenset[str]:
    """Return the service accounts of workers that are registered: these were permitted to register."""
    visible = set(discovery.get("visible") or ())
    return frozenset(
        str((pod.get("spec") or {}).get("serviceAccountName") or "default")
        for pod in state.pods
        if name_of(pod) in visible
    )
