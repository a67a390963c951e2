# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the confusion tables share: the shape of a case, how it is checked, and what many of them are made of."""

from __future__ import annotations

from typing import Any

from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.builders import (
    Object,
    judged,
    labels,
    pod,
    terminated,
    waiting,
)

#: (pods, events, more, category, way, sub)
Case = tuple[list[Object], list[Object], dict[str, Any], str, str, str]

FULL = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
TAINTED = "0/2 nodes are available: 2 node(s) had untolerated taint(s)."
KILLED = "Container main failed liveness probe, will be restarted"
LIVENESS = "Liveness probe failed: HTTP probe failed with statuscode: 404"
NOT_BOUND = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"


def crash(code: int, reason: str = "Error", **more: Any) -> Object:
    return pod(containers=[waiting("CrashLoopBackOff", "back-off", last=terminated(code, reason, **more), restarts=4)])


def replicaset(text: str, *, replicas: int = 0) -> Object:
    failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": text}
    return {
        "metadata": {"name": "demo-worker-abc", "uid": "u-demo-worker-abc", "labels": labels()},
        "spec": {"replicas": 2},
        "status": {"replicas": replicas, "conditions": [failure]},
    }


def refused(text: str) -> dict[str, Any]:
    return {"replicasets": [replicaset(text)]}


def claim(name: str = "cache", phase: str = "Pending", **spec: Any) -> Object:
    return {"metadata": {"name": name, "uid": f"u-{name}"}, "spec": spec, "status": {"phase": phase}}


PART = {
    "dynamocomponentdeployments": [{"metadata": {"name": "demo-worker", "uid": "u-demo-worker", "labels": labels()}}]
}
WITH_CLAIM = {"volumes": [{"name": "m", "persistentVolumeClaim": {"claimName": "cache"}}]}
GPU = {"containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}
GPU_16 = {"containers": [{"name": "main", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "16"}}}]}
FORBIDDEN = 'pods "demo-worker-abc-x" is forbidden: '


def check(case: Case) -> None:
    """Judge a case and hold what is said of the Worker against its right answer."""
    pods, events, more, category, way, sub = case
    report = judged(pods, events, **more)
    view = report.component("Worker")
    assert view is not None
    assert view.category == category, view.slowest
    causes = [cause for cause in report.causes if cause.category == category]
    if category == "ready":
        assert report.ready
        assert report.causes == ()
        return
    assert causes, [cause.category for cause in report.causes]
    assert causes[0].way == way, causes[0].message
    if sub:
        assert causes[0].detail.get("sub") == sub
    if way not in ("wait",):
        assert causes[0].evidence, "every verdict shows what it rests on"
        assert causes[0].remedy
    assert causes[0].to_finding().reason_code == f"triage_{category}"
