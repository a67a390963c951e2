# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts and removes a kind cluster that serves the model from pods."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..cluster import addons
from ..cluster.api import Api, wait_until
from ..cluster.lifecycle import start_operator
from ..cluster.paths import NAME, ROOT, ClusterError
from ..cluster.processes import end_all, processes_of
from ..cluster.progress import run_shown, say
from .docker import stop_docker, use_docker
from .images import SERVED_IMAGE, ensure_node_image, ensure_served_image, program

GPUS = 16
PRODUCT = "NVIDIA-H100-80GB-HBM3"


@dataclass(frozen=True)
class KindCluster:
    name: str
    context: str
    kubeconfig: str
    node_image: str
    docker_host: str
    docker_started: bool


def folder_of(name: str) -> Path:
    if not NAME.fullmatch(name):
        raise ClusterError(f"cluster name {name!r}: use 1 to 40 of a-z, 0-9 and -, not - at the ends")
    return ROOT / "build" / "kind" / name


def _record(folder: Path) -> KindCluster | None:
    try:
        return KindCluster(**json.loads((folder / "cluster.json").read_text()))
    except (OSError, ValueError):
        return None


def _advertise_gpus(api: Api) -> None:
    """Give the node GPUs as Kubernetes' documentation describes for extended resources: by a patch of its status."""
    for node in api.list("v1", "Node"):
        amounts = {"nvidia.com/gpu": str(GPUS)}
        api.patch(node, {"status": {"capacity": amounts}}, "status")
        labels = {"nvidia.com/gpu.product": PRODUCT, "nvidia.com/gpu.count": str(GPUS)}
        api.patch(node, {"metadata": {"labels": labels}})
        name = node["metadata"]["name"]

        def allocatable(name: str = name) -> bool:
            live = api.get("v1", "Node", "", name) or {}
            return bool(live["status"]["allocatable"].get("nvidia.com/gpu") == str(GPUS))

        wait_until("GPUs on the node", allocatable, seconds=60)


def _environment(folder: Path) -> Mapping[str, str]:
    return {**os.environ, "KUBECONFIG": str(folder / "kubeconfig")}


def up(name: str, release: str = "1.1") -> KindCluster:
    """Start a cluster with CRDs, GPUs, the served model's image and the stand-in; leaves a running one alone."""
    folder = folder_of(name)
    started = use_docker()
    if (record := _record(folder)) and processes_of(folder):
        say(f"==> kind cluster {name} runs already")
        return record
    began = time.monotonic()
    node_image = ensure_node_image()
    served = ensure_served_image()
    down(name, keep_docker=True)
    (folder / "logs").mkdir(parents=True)
    kubeconfig = folder / "kubeconfig"
    env = _environment(folder)
    create = [program("kind"), "create", "cluster", "--name", name, "--image", node_image, "--wait", "180s"]
    run_shown("kind cluster", [*create, "--kubeconfig", str(kubeconfig)], folder / "logs" / "kind.log", env=env)
    subprocess.run(["docker", "tag", served, SERVED_IMAGE], check=True, capture_output=True)
    load = [program("kind"), "load", "docker-image", SERVED_IMAGE, "--name", name]
    run_shown("the served model's image into the cluster", load, folder / "logs" / "load.log", env=env)
    context = f"kind-{name}"
    api = Api(kubeconfig, context)
    addons.install_apis(api, ("dynamo", "lws"), release)
    _advertise_gpus(api)
    start_operator(folder, kubeconfig, context, release, "auto", SERVED_IMAGE, real=True)
    record = KindCluster(name, context, str(kubeconfig), node_image, os.environ.get("DOCKER_HOST", ""), started)
    (folder / "cluster.json").write_text(json.dumps(asdict(record), indent=2) + "\n")
    say(f"    ready in {time.monotonic() - began:.0f} s: --kubeconfig {kubeconfig} --context {context}")
    return record


def down(name: str, *, keep_docker: bool = False) -> None:
    """Remove cluster, stand-in and folder, and the Docker daemon if ``up`` had to start it. Safe to repeat."""
    folder = folder_of(name)
    record = _record(folder)
    end_all(folder, gently=processes_of(folder))
    if folder.exists():
        try:
            use_docker()
            command = [program("kind"), "delete", "cluster", "--name", name, "--kubeconfig", str(folder / "kubeconfig")]
            run_shown(f"removing kind cluster {name}", command, folder / "logs" / "delete.log")
        finally:
            subprocess.run(["rm", "-rf", str(folder)], check=True)
    if record and record.docker_started and not keep_docker:
        stop_docker()


def describe(name: str) -> dict[str, Any]:
    folder = folder_of(name)
    record = _record(folder)
    if record is None:
        return {"name": name, "state": "broken" if folder.exists() else "absent"}
    return {**asdict(record), "state": "running" if processes_of(folder) else "broken"}
