# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person sees of a run at the highest verbosity, and what it leaves behind, holds no credential."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("kubernetes")

from ansible_collections.inference_ops.dynamo.tests.doubles.cluster import encoded, planted, serve_cluster
from ansible_collections.inference_ops.dynamo.tests.doubles.fake_api import FakeApi, forbidden

PLAYBOOK = Path(sys.executable).parent / "ansible-playbook"
ROOT = Path(__file__).resolve().parents[4]


def collections_path() -> Path:
    """Where ``ansible_collections`` stands: above the checkout under ansible-test, else below its build folder."""
    above = next((parent for parent in ROOT.parents if parent.name == "ansible_collections"), None)
    return above.parent if above else ROOT / "build" / "collections"


def playbook(api: FakeApi, folder: Path) -> Path:
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": api.url}}],
        "users": [
            {"name": "u", "user": {"token": "planted-token"}},
            {"name": "v", "user": {"exec": {"command": "x", "env": [{"name": "A", "value": "planted-env"}]}}},
            {"name": "w", "user": {"username": "ann", "password": "planted-password"}},
        ],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    }
    connection = {"kubeconfig": kubeconfig, "context": "x", "namespace": "ml"}
    names = ["hf-token-secret", "ngc", "bad"]
    info = {**connection, "secret_names": names, "path": str(folder / "snapshot.json")}
    images = ["nvcr.io/nvidia/x:1", {"image": "y", "image_pull_secrets": ["bad"]}]
    token = {"host": api.url, "api_key": "planted-token", "namespace": "ml", "images": ["x"]}
    tasks = [
        {"inference_ops.dynamo.cluster_info": info},
        {"inference_ops.dynamo.pull_secret_match": {**connection, "images": images}},
        {"inference_ops.dynamo.pull_secret_match": token},
        {"inference_ops.dynamo.cluster_info": {**connection, "context": "absent"}, "ignore_errors": True},
    ]
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars": {"ansible_python_interpreter": sys.executable},
        "tasks": tasks,
    }
    path = folder / "play.json"
    path.write_text(json.dumps([play]), encoding="utf-8")
    return path


@pytest.mark.skipif(not PLAYBOOK.exists(), reason="only where Ansible is installed beside this Python")
def test_a_whole_run_shows_nothing_planted(tmp_path: Path) -> None:
    with FakeApi() as api:
        serve_cluster(api)
        api.fixed["/api/v1/namespaces/ml/configmaps"] = forbidden("configmaps")
        environment = {
            # A test runner's own import path shows a cut-down Ansible.
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "ANSIBLE_COLLECTIONS_PATH": str(collections_path()),
            "ANSIBLE_HOME": str(tmp_path / "home"),
            "ANSIBLE_LOG_PATH": str(tmp_path / "log"),
            "ANSIBLE_NOCOLOR": "1",
        }
        done = subprocess.run(
            [PLAYBOOK, "-i", "localhost,", "-vvvv", "--diff", playbook(api, tmp_path)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    shown = done.stdout + done.stderr
    assert done.returncode == 0, shown
    assert "the kubeconfig has no context absent" in shown
    left = {path: path.read_text(encoding="utf-8") for path in (tmp_path / "log", tmp_path / "snapshot.json")}
    assert "registries" in left[tmp_path / "snapshot.json"]
    for text in (*planted(), encoded("planted-token")):
        for where, content in {"screen": shown, **{str(path): content for path, content in left.items()}}.items():
            assert text not in content, f"{text} in {where}: ...{content[max(0, content.find(text) - 200) :][:300]}"
