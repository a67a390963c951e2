# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole run with the shipped role for one namespace: what may not be seen is a limitation, not a failure.

With the shipped role for reading the cluster beside it, nothing is left unknown for want of a permission.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.preflight import LIMITATION
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import RunningCluster
from ansible_collections.inference_ops.dynamo.tests.integration.workflow.play import DGD, ROOT, Play

ROLES = ROOT / "docs" / "rbac"


def grant(cluster: RunningCluster, file: str, namespace: str) -> None:
    """Grant a shipped role to the service account in ``namespace``."""
    for document in yaml.safe_load((ROLES / file).read_text(encoding="utf-8"))["items"]:
        if not document["kind"].startswith("Cluster"):
            document["metadata"]["namespace"] = namespace
        for subject in document.get("subjects", ()):
            subject["namespace"] = namespace
        cluster.api.create(document)


def namespaced_kubeconfig(cluster: RunningCluster, namespace: str, folder: Path) -> Path:
    """Grant the shipped role in ``namespace`` and return a kubeconfig of its service account."""
    grant(cluster, "namespace-role.yaml", namespace)
    kubectl = ["kubectl", "--kubeconfig", str(cluster.kubeconfig), "--context", cluster.context]
    made = subprocess.run(
        [*kubectl, "create", "token", "dynamo-deployer", "-n", namespace, "--duration", "1h"],
        capture_output=True,
        text=True,
        check=True,
    )
    config = yaml.safe_load(cluster.kubeconfig.read_text(encoding="utf-8"))
    config["users"] = [{"name": "deployer", "user": {"token": made.stdout.strip()}}]
    for context in config["contexts"]:
        context["context"]["user"] = "deployer"
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    return file


@pytest.mark.cluster
def test_a_namespaced_identity_deploys_and_takes_down(served_cluster: RunningCluster, tmp_path: Path) -> None:
    cluster = served_cluster
    namespace = cluster.namespace("narrow")
    root = tmp_path / "root"
    root.mkdir()
    kubeconfig = namespaced_kubeconfig(cluster, namespace, tmp_path)
    play = Play(kubeconfig, cluster.context, namespace, root, {"readiness_stable_for": 1})

    done = play.run("deploy")
    assert done.returncode == 0, done.stdout + done.stderr
    ledger = play.ledger()
    assert ledger["status"] == "succeeded"
    limitations = " ".join(entry["message"] for entry in ledger["limitations"])
    for kind in ("nodes", "storageclasses", "customresourcedefinitions"):
        assert kind in limitations
    plan = json.loads((root / "plan.json").read_text(encoding="utf-8"))
    # What could not be read is unknown, and never counts as enough.
    assert (plan["verdict"], plan["outcome"]) == ("unknown", "unknown")

    strict = play.run("deploy", preflight_unknown="fail")
    assert strict.returncode == 2, strict.stdout + strict.stderr

    assert play.run("teardown", dynamo_dgd=DGD).returncode == 0
    assert cluster.api.list("nvidia.com/v1alpha1", "DynamoGraphDeployment", namespace) == []

    grant(cluster, "cluster-reader.yaml", namespace)
    wider = play.run("plan")
    assert wider.returncode == 0, wider.stdout + wider.stderr
    plan = json.loads((root / "plan.json").read_text(encoding="utf-8"))
    assert plan["verdict"] == "fits"
    assert [finding for finding in plan["findings"] if finding["reason_code"] == LIMITATION.code] == []
