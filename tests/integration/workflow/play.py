# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the playbooks as a person does, and reads what they leave behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
RECIPE = ROOT / "docs" / "examples" / "vllm-agg"
DGD = "tiny-chat-agg"
LEDGER = Path("artifacts/deploy-iter-000/deployment_ledger.json")


@dataclass(frozen=True)
class Play:
    """One person's set-up: a cluster, a namespace and an experiment root. ``extra`` are more extra variables."""

    kubeconfig: Path
    context: str
    namespace: str
    root: Path
    extra: dict[str, Any] = field(default_factory=dict)

    def command(self, playbook: str, **extra: Any) -> list[str]:
        """The command line of one run."""
        variables = {
            "dynamo_kubeconfig": str(self.kubeconfig),
            "dynamo_context": self.context,
            "dynamo_namespace": self.namespace,
            "dynamo_experiment_root": str(self.root),
            "dynamo_dgd_src": str(RECIPE / "deploy.yaml"),
            "dynamo_support_manifests": [
                str(RECIPE / f"{name}.yaml") for name in ("model-cache", "model-download", "model-validate")
            ],
            **self.extra,
            **extra,
        }
        program = str(Path(sys.executable).with_name("ansible-playbook"))
        return [program, f"inference_ops.dynamo.{playbook}", "-i", "localhost,", "-e", json.dumps(variables)]

    def run(self, playbook: str, **extra: Any) -> subprocess.CompletedProcess[str]:
        """Run to the end."""
        return subprocess.run(
            self.command(playbook, **extra), env=environment(), capture_output=True, text=True, check=False
        )

    def run_and_kill(self, playbook: str, after: float, **extra: Any) -> bool:
        """Kill a run with all its processes ``after`` seconds; return whether it was still at work."""
        process = subprocess.Popen(
            self.command(playbook, **extra),
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + after
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.02)
        at_work = process.poll() is None
        if at_work:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return at_work

    def ledger(self) -> dict[str, Any]:
        """The ledger of iteration 0."""
        return dict(json.loads((self.root / LEDGER).read_text(encoding="utf-8")))


def environment() -> dict[str, str]:
    """The environment of a run: the checkout as collection, no configuration of the machine's own."""
    home = ROOT / "build" / "ansible"
    home.mkdir(parents=True, exist_ok=True)
    config = home / "none.cfg"
    config.touch()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "K8S_AUTH_"))}
    return {
        **kept,
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "build" / "collections"),
        "ANSIBLE_HOME": str(home),
        "ANSIBLE_CONFIG": str(config),
    }
