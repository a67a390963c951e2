# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real Dynamo frontend and mocker on this machine, behind the cluster's port-forward.

The mocker is Dynamo's own engine simulator: everything but the GPU is real, so a smoke test proves something.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from .paths import HERE, ClusterError, cache_folder
from .processes import is_alive, start_process
from .progress import run_shown, say

REQUIREMENT = "ai-dynamo==1.1.1"
MODEL = "example-org/tiny-chat"
REVISION = "0" * 39 + "1"
START_SECONDS = 90.0


@dataclass(frozen=True)
class Served:
    model: str
    pids: tuple[int, ...]


def environment_folder() -> Path:
    """A virtual environment of its own: ai-dynamo's requirements are no business of Ansible's."""
    key = hashlib.sha256(f"{REQUIREMENT} {sys.version_info[:2]}".encode()).hexdigest()[:16]
    return cache_folder() / "served-model" / key


def ensure_environment() -> Path:
    """Python of an environment that has Dynamo; made once (about 0.5 GB)."""
    folder = environment_folder()
    python = folder / "bin" / "python"
    ready = folder / ".ready"
    if not ready.exists():
        log = cache_folder() / "logs" / "served-model.log"
        run_shown(
            "virtual environment for the served model", [sys.executable, "-m", "venv", "--clear", str(folder)], log
        )
        pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off", REQUIREMENT]
        run_shown(f"{REQUIREMENT} from PyPI (about a minute)", pip, log, detail=lambda: _last_line(log))
        ready.touch()
    return python


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return lines[-1][:100] if lines else ""


def hub_snapshot(hub_home: Path, model: str = MODEL) -> Path:
    """The folder for the model's files in the layout of a Hugging Face cache; its branch ``main`` points there."""
    repository = hub_home / "hub" / f"models--{model.replace('/', '--')}"
    snapshot = repository / "snapshots" / REVISION
    for folder in (snapshot, repository / "refs"):
        folder.mkdir(parents=True, exist_ok=True)
    (repository / "refs" / "main").write_text(REVISION)
    return snapshot


def write_hub_cache(python: Path, hub_home: Path, model: str = MODEL) -> Path:
    """Make the tiny model in the layout of a Hugging Face cache, so that it is served under its hub name."""
    snapshot = hub_snapshot(hub_home, model)
    done = subprocess.run(
        [str(python), str(HERE / "tiny_model.py"), str(snapshot)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ClusterError(f"the tiny model could not be made: {done.stderr.strip()}")
    return snapshot


def listed_models(url: str) -> list[str]:
    """Names that the frontend lists; none when it does not answer yet."""
    try:
        with urllib.request.urlopen(f"{url}/v1/models", timeout=5) as response:
            return [item["id"] for item in json.load(response)["data"]]
    except (OSError, urllib.error.URLError, ValueError, KeyError):
        return []


def start_served_model(folder: Path, port: int, model: str = MODEL) -> Served:
    """Start frontend and mocker for the cluster in ``folder``; returns once the frontend lists the model."""
    python = ensure_environment()
    home = folder / "served-model"
    write_hub_cache(python, home, model)
    env = {
        "HF_HOME": str(home),
        "HF_HUB_OFFLINE": "1",
        "DYN_FILE_KV": str(home / "discovery"),
        "DYN_TCP_RPC_HOST": "127.0.0.1",
        "TMPDIR": str(home),
    }
    (home / "discovery").mkdir(exist_ok=True)
    planes = ["--discovery-backend", "file", "--request-plane", "tcp", "--event-plane", "zmq"]
    frontend = [str(python), "-m", "dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", str(port), *planes]
    mocker = [str(python), "-m", "dynamo.mocker", "--model-path", model, "--speedup-ratio", "10", *planes]
    say(f"==> Dynamo frontend and mocker for {model}")
    logs = folder / "logs"
    pids = tuple(
        start_process(command, logs / f"{name}.log", folder, env)
        for name, command in (("frontend", frontend), ("mocker", mocker))
    )
    started = time.monotonic()
    told = started
    while model not in listed_models(f"http://127.0.0.1:{port}"):
        now = time.monotonic()
        if not all(is_alive(pid, folder) for pid in pids) or now - started > START_SECONDS:
            tail = "\n".join(
                line
                for name in ("frontend", "mocker")
                for line in (logs / f"{name}.log").read_text(errors="replace").splitlines()[-8:]
            )
            raise ClusterError(f"the frontend does not list {model}; logs are in {logs}\n{tail}")
        if now - told > 10:
            told = now
            say(f"    {now - started:4.0f} s  the frontend does not list the model yet")
        time.sleep(0.2)
    say(f"    listed after {time.monotonic() - started:.1f} s on http://127.0.0.1:{port}")
    return Served(model, pids)
