# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters of triage, topology and teardown: plain data in and out, and one message for bad input."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("ansible.errors")

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.filter.dgd_deletion_plan import FilterModule as Plan
from ansible_collections.inference_ops.dynamo.plugins.filter.dgd_leftovers import FilterModule as Leftovers
from ansible_collections.inference_ops.dynamo.plugins.filter.dgd_topology_changes import FilterModule as Changes
from ansible_collections.inference_ops.dynamo.plugins.filter.job_state import FilterModule as JobState
from ansible_collections.inference_ops.dynamo.plugins.filter.scheduling_triage import FilterModule as Scheduling

scheduling_triage = Scheduling().filters()["scheduling_triage"]
job_state = JobState().filters()["job_state"]
dgd_topology_changes = Changes().filters()["dgd_topology_changes"]
dgd_leftovers = Leftovers().filters()["dgd_leftovers"]
dgd_deletion_plan = Plan().filters()["dgd_deletion_plan"]

MARKS = {"nvidia.com/dynamo-graph-deployment-name": "demo", "nvidia.com/dynamo-component": "worker"}
OWNER = [{"kind": "DynamoGraphDeployment", "name": "demo", "uid": "u1", "controller": True}]
DEPLOYMENT = {
    "kind": "Deployment",
    "metadata": {"name": "demo-worker", "uid": "u2", "labels": MARKS, "ownerReferences": OWNER},
}
LWS = {
    "kind": "LeaderWorkerSet",
    "metadata": {"name": "demo-worker-0", "uid": "u3", "labels": MARKS, "ownerReferences": OWNER},
    "status": {"readyReplicas": 1},
}
GRAPH = {"metadata": {"name": "demo", "uid": "u1"}, "spec": {"services": {"worker": {"multinode": {"nodeCount": 2}}}}}
SNAPSHOT: dict[str, Any] = {
    "taken_at": "2026-01-01T00:00:00Z",
    "kinds": {"deployments": {"state": "observed"}, "secrets": {"state": "forbidden"}},
    "dynamographdeployments": [GRAPH],
    "deployments": [DEPLOYMENT],
    "secrets": [],
}


def test_scheduling_triage() -> None:
    reading = scheduling_triage("0/2 nodes are available: 2 node(s) had untolerated taint(s).")
    assert (reading["primary"], reading["way"]) == ("taint", "failed_deploy")
    cut = "0/9 nodes are available: " + "9 Insufficient cpu, " * 50
    assert scheduling_triage(cut[:1020] + " ...", event=True)["truncated"] is True
    with pytest.raises(AnsibleFilterError, match="expected a text, found list"):
        scheduling_triage([])


def test_job_state() -> None:
    done = {"metadata": {"name": "j", "uid": "u"}, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    assert job_state(done)["state"] == "complete"
    assert job_state({}, last_seen=done)["state"] == "complete"
    assert job_state({}, uid="u")["state"] == "unknown_finished"
    assert job_state(None)["state"] == "absent"
    with pytest.raises(AnsibleFilterError, match="expected a Job, found str"):
        job_state("text")
    with pytest.raises(AnsibleFilterError, match="pods and events lists"):
        job_state({}, pods="text")
    with pytest.raises(AnsibleFilterError, match="last_seen must be a mapping"):
        job_state({}, last_seen=[1])


def test_dgd_topology_changes() -> None:
    answer = dgd_topology_changes([LWS], SNAPSHOT, "demo")
    assert [(one["live_kind"], one["wanted_kind"]) for one in answer["changes"]] == [("Deployment", "LeaderWorkerSet")]
    assert [one["outcome"] for one in answer["findings"]] == ["fail"]
    assert dgd_topology_changes([DEPLOYMENT], SNAPSHOT, "demo")["changes"] == []
    with pytest.raises(AnsibleFilterError, match="expected rendered objects and a snapshot"):
        dgd_topology_changes("x", SNAPSHOT, "demo")
    with pytest.raises(AnsibleFilterError, match="holds no kind that was read"):
        dgd_topology_changes([], {}, "demo")


def test_dgd_leftovers() -> None:
    answer = dgd_leftovers({**SNAPSHOT, "leaderworkersets": [LWS]}, "demo")
    assert [(one["name"], one["state"], one["deletable"]) for one in answer["leftovers"]] == [
        ("demo-worker", "orphan", True)
    ]
    assert [one["reason_code"] for one in answer["findings"]] == ["topology_orphan"]
    assert dgd_leftovers(SNAPSHOT, "demo", [LWS])["leftovers"] == [], "its successor does not exist yet"
    with pytest.raises(AnsibleFilterError, match="holds no kind that was read"):
        dgd_leftovers({"kinds": {}}, "demo")


def test_dgd_deletion_plan() -> None:
    claim = {"metadata": {"name": "cache", "uid": "u4", "ownerReferences": OWNER}}
    snapshot = {**SNAPSHOT, "persistentvolumeclaims": [claim], "operator": {"ready": True}}
    plan = dgd_deletion_plan(snapshot, "demo")
    assert [(one["name"], one["owner_index"]) for one in plan["owned_claims"]] == [("cache", 0)]
    assert plan["blockers"]
    assert plan["order"] == [{"kind": "DynamoGraphDeployment", "name": "demo"}]
    assert dgd_deletion_plan(snapshot, "demo", retain_pvcs=False)["blockers"] == []
    with pytest.raises(AnsibleFilterError, match="expected a snapshot"):
        dgd_deletion_plan([], "demo")
