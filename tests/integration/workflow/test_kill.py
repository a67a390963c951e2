# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A deploy that is killed at any moment and run again ends as one that nobody disturbed.

``KILLS`` says how many runs are killed (``make kill-test`` takes 20), ``KILL_SEED`` at which moments.
"""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import RunningCluster
from ansible_collections.inference_ops.dynamo.tests.integration.workflow.play import DGD, ROOT, Play

KILLS = int(os.environ.get("KILLS", "2"))
SEED = int(os.environ.get("KILL_SEED", "1"))
CLAIM = "model-cache"
JOBS = ["tiny-chat-model-download", "tiny-chat-model-validate"]
#: What one undisturbed deployment consists of.
MADE = (
    ("v1", "PersistentVolumeClaim", CLAIM),
    *(("batch/v1", "Job", name) for name in JOBS),
    ("nvidia.com/v1alpha1", "DynamoGraphDeployment", DGD),
)
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "deployment_ledger.schema.json").read_text(encoding="utf-8"))


def state(cluster: RunningCluster, namespace: str) -> dict[str, tuple[str, int]]:
    """UID and generation of each object that a run makes: a second content would raise the generation."""
    seen = {}
    for api_version, kind, name in MADE:
        found = [item for item in cluster.api.list(api_version, kind, namespace) if item["metadata"]["name"] == name]
        for item in found:
            seen[f"{kind}/{name}"] = (item["metadata"]["uid"], int(item["metadata"].get("generation", 1)))
    return seen


def told(ledger: dict[str, Any]) -> dict[str, Any]:
    """What a ledger says apart from moments."""
    return {
        "status": ledger["status"],
        "smoke": ledger["smoke"]["success"],
        "manifests": {entry["name"]: entry["sha256"] for entry in ledger["applied_manifests"]},
        "failed_attempts": ledger.get("failed_attempts", []),
        "blockers": ledger.get("blockers", []),
    }


@pytest.mark.cluster
def test_a_killed_run_goes_on_where_it_was(served_cluster: RunningCluster, tmp_path: Path) -> None:
    cluster = served_cluster
    extra = {"readiness_stable_for": 1}
    undisturbed = Play(cluster.kubeconfig, cluster.context, cluster.namespace("kill-none"), tmp_path / "none", extra)
    undisturbed.root.mkdir()
    started = time.monotonic()
    first = undisturbed.run("deploy")
    whole = time.monotonic() - started
    assert first.returncode == 0, first.stdout + first.stderr
    wanted = told(undisturbed.ledger())
    assert undisturbed.run("teardown", dynamo_dgd=DGD).returncode == 0

    moments = random.Random(SEED)
    killed = 0
    for number in range(KILLS):
        play = Play(
            cluster.kubeconfig, cluster.context, cluster.namespace(f"kill-{number}"), tmp_path / f"{number}", extra
        )
        play.root.mkdir()
        after = moments.uniform(0.05, 0.98) * whole
        at_work = play.run_and_kill("deploy", after)
        killed += at_work
        made = state(cluster, play.namespace)
        again = play.run("deploy")
        print(f"kill {number + 1} of {KILLS} after {after:.1f} s, at work: {at_work}, rerun: {again.returncode}")
        assert again.returncode == 0, again.stdout + again.stderr
        ledger = play.ledger()
        jsonschema.validate(ledger, SCHEMA)
        assert told(ledger) == wanted
        ended = state(cluster, play.namespace)
        assert set(ended) == {f"{kind}/{name}" for _version, kind, name in MADE}
        # Nothing was applied twice with another content, and nothing that was there was made anew.
        assert all(generation == 1 for _uid, generation in ended.values()), ended
        assert made.items() <= ended.items()
        # The next one needs its volume, which the Jobs' pods hold even when they have ended.
        down = play.run("teardown", dynamo_dgd=DGD, teardown_jobs=JOBS, teardown_claims=[CLAIM])
        assert down.returncode == 0, down.stdout + down.stderr
    # A moment drawn late may find a run that was quicker than the first one.
    assert 2 * killed >= KILLS
