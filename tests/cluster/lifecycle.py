# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts, stops and describes a cluster."""

from __future__ import annotations

import base64
import fcntl
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from . import addons
from .api import Api, wait_until
from .binaries import PROGRAMS, check_runs, ensure_binaries
from .kwokconfig import Ports, write_config
from .paths import HERE, ROOT, ClusterError, ClusterFolder, clusters_folder
from .pools import DEFAULT_POOLS, Pools, read_pools
from .processes import end_all, marked_environment, processes_of, start_process
from .progress import say

POD_LOG_LINE = "{time} stdout F This pod is played by KWOK; its log is one file for all pods.\n"
COLLECTIONS = ROOT / "build" / "collections"
PACKAGE = "ansible_collections.inference_ops.dynamo.tests.cluster"


@dataclass(frozen=True)
class Options:
    """How to start a cluster. ``apis``: which other controllers' kinds exist (see addons.py)."""

    pools: Path = DEFAULT_POOLS
    apis: tuple[str, ...] = ("dynamo", "lws")
    operator: bool = True
    release: str = "1.1"
    pathway: str = "auto"
    serve: bool = False


@dataclass(frozen=True)
class Record:
    """What is known of a cluster, kept as cluster.json in its folder."""

    name: str
    context: str
    kubeconfig: str
    state: str
    started_at: str
    ports: dict[str, int]
    gently: tuple[int, ...] = ()  # process ids that are asked to end before they are killed
    options: dict[str, Any] | None = None
    served_model: str = ""

    @property
    def model_url(self) -> str:
        return f"http://127.0.0.1:{self.ports['model']}"


def read_record(folder: ClusterFolder) -> Record | None:
    try:
        data = json.loads(folder.record.read_text())
    except (OSError, ValueError):
        return None
    return Record(**{**data, "gently": tuple(data["gently"])})


def write_record(folder: ClusterFolder, record: Record) -> None:
    new = folder.record.with_suffix(".new")
    new.write_text(json.dumps(asdict(record), indent=2) + "\n")
    new.replace(folder.record)


@contextmanager
def _locked(folder: ClusterFolder) -> Iterator[None]:
    """One command at a time for one name."""
    folder.lock.parent.mkdir(parents=True, exist_ok=True)
    with folder.lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            folder.lock.unlink(missing_ok=True)


def _create(folder: ClusterFolder, binaries: Path, ports: Ports) -> None:
    shutil.copy(HERE / "manifests" / "audit-policy.yaml", folder.path / "audit-policy.yaml")
    pod_log = folder.logs / "pods.log"
    pod_log.write_text(POD_LOG_LINE.format(time=datetime.now(UTC).isoformat()))
    write_config(folder.path / "kwok.yaml", ports, pod_log, folder.path / "audit-policy.yaml")
    command = [str(binaries / "kwokctl"), "create", "cluster", "--name", folder.name, "--runtime", "binary"]
    command += ["--config", str(folder.path / "kwok.yaml"), "--kubeconfig", str(folder.path / "kwok-kubeconfig")]
    command += ["--wait", "60s", "--timeout", "60s"]
    for program, option in PROGRAMS.items():
        command += [option, str(binaries / program)]
    # The data lives as long as the processes: no need to wait for the disk.
    command += ["--extra-args", "etcd=unsafe-no-fsync=true"]
    with (folder.logs / "kwokctl.log").open("ab") as log:
        env = marked_environment(folder.path, {"KWOK_WORKDIR": str(folder.kwok)})
        code = subprocess.run(
            command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env, check=False
        ).returncode
    if code:
        tail = (folder.logs / "kwokctl.log").read_text(errors="replace")[-2000:]
        raise ClusterError(f"kwokctl could not create cluster {folder.name}:\n{tail}")


def _write_kubeconfig(folder: ClusterFolder) -> None:
    """kwokctl's, with the certificates inside, so that the file can be copied."""
    config = yaml.safe_load((folder.kwok_cluster / "kubeconfig.yaml").read_text())
    for entry in [*(item["cluster"] for item in config["clusters"]), *(item["user"] for item in config["users"])]:
        for key in ("certificate-authority", "client-certificate", "client-key"):
            if key in entry:
                entry[f"{key}-data"] = base64.b64encode(Path(entry.pop(key)).read_bytes()).decode()
    folder.kubeconfig.touch(mode=0o600)
    folder.kubeconfig.write_text(yaml.safe_dump(config))


def _create_with_retry(folder: ClusterFolder, binaries: Path) -> Ports:
    """A port that was free may be taken meanwhile: try anew with others."""
    for left in (2, 1, 0):
        folder.logs.mkdir(parents=True, exist_ok=True)
        ports = Ports.free()
        record = Record(folder.name, folder.context, str(folder.kubeconfig), "starting", _now(), ports.as_dict())
        write_record(folder, record)
        try:
            _create(folder, binaries, ports)
            return ports
        except ClusterError:
            end_all(folder.path)
            shutil.rmtree(folder.kwok, ignore_errors=True)
            if not left:
                raise
            say(f"    cluster {folder.name} did not start; trying again with other ports")
    raise AssertionError("unreachable")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def child_environment() -> dict[str, str]:
    """For ``python -m`` of this package in a process of its own."""
    return {"PYTHONPATH": str(COLLECTIONS), "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def start_operator(
    folder: Path, kubeconfig: Path, context: str, release: str, pathway: str, image: str = "", *, real: bool = False
) -> int:
    """Start the stand-in for the cluster whose folder this is; returns its process id once it watches.

    ``real``: containers run here, so workers register by themselves, and NATS is switched off since none runs.
    """
    ready, log = folder / "operator.ready", folder / "logs" / "operator.log"
    command = [sys.executable, "-m", f"{PACKAGE}.operator", "--kubeconfig", str(kubeconfig), "--context", context]
    command += ["--release", release, "--pathway", pathway, "--ready-file", str(ready), "--image", image]
    command += ["--no-nats", "--real-workers"] if real else []
    pid = start_process(command, log, folder, child_environment())
    deadline = time.monotonic() + 30
    while not ready.exists():
        if pid not in processes_of(folder) or time.monotonic() > deadline:
            raise ClusterError(f"the operator stand-in did not start:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.1)
    return pid


def start(name: str, options: Options) -> Record:
    """Start a cluster and wait until it can be used; leaves a running one alone.

    Raises ClusterError, and then leaves no process and no folder behind.
    """
    folder = ClusterFolder.of(name)
    pools = read_pools(options.pools)
    addons.check_apis(options.apis)
    with _locked(folder):
        record = read_record(folder)
        if record and record.state == "running" and processes_of(folder.path):
            say(f"==> cluster {name} runs already")
            return record
        binaries = ensure_binaries()
        check_runs(binaries)
        if folder.path.exists():
            _remove(folder)  # what a killed start left
        try:
            return _start(folder, binaries, pools, options)
        except BaseException:
            _remove(folder)
            raise


def _start(folder: ClusterFolder, binaries: Path, pools: Pools, options: Options) -> Record:
    began = time.monotonic()
    say(f"==> cluster {folder.name} in {folder.path}")
    folder.path.mkdir(parents=True)
    ports = _create_with_retry(folder, binaries)
    _write_kubeconfig(folder)
    api = Api(folder.kubeconfig, folder.context)
    addons.install(api, pools, options.apis, options.release)
    gently = []
    if options.operator:
        arguments = (folder.path, folder.kubeconfig, folder.context, options.release, options.pathway)
        gently.append(start_operator(*arguments))
    shown = {**asdict(options), "pools": str(options.pools), "apis": list(options.apis)}
    record = Record(
        folder.name, folder.context, str(folder.kubeconfig), "running", _now(), ports.as_dict(), tuple(gently), shown
    )
    write_record(folder, record)
    say(f"    ready in {time.monotonic() - began:.1f} s: --kubeconfig {folder.kubeconfig} --context {folder.context}")
    if options.serve:
        record = serve(folder, record)
    return record


def serve(folder: ClusterFolder, record: Record) -> Record:
    """Start the real frontend and mocker behind the cluster's port-forward."""
    from .served_model import start_served_model  # only here: it brings tools that other commands do not need

    served = start_served_model(folder.path, record.ports["model"])
    record = replace(record, gently=(*record.gently, *served.pids), served_model=served.model)
    write_record(folder, record)
    return record


def serve_by_name(name: str) -> Record:
    folder = ClusterFolder.of(name)
    with _locked(folder):
        record = read_record(folder)
        if record is None or record.state != "running":
            raise ClusterError(f"cluster {name} does not run; start it first")
        return record if record.served_model else serve(folder, record)


def make_namespace(name: str, namespace: str) -> None:
    """As a cluster's administrator would before anybody deploys there; waits until pods may be made in it."""
    folder = ClusterFolder.of(name)
    api = Api(folder.kubeconfig, folder.context)
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    wait_until("its default service account", lambda: api.get("v1", "ServiceAccount", namespace, "default"))
    api.close()


def _remove(folder: ClusterFolder) -> int:
    record = read_record(folder)
    ended = end_all(folder.path, gently=record.gently if record else ())
    shutil.rmtree(folder.path, ignore_errors=True)
    if folder.path.exists():
        raise ClusterError(f"{folder.path} could not be removed")
    return ended


def stop(name: str) -> int:
    """End all processes of the cluster and remove its folder; safe to run twice. Returns how many ended."""
    folder = ClusterFolder.of(name)
    with _locked(folder):
        return _remove(folder)


def cluster_names() -> list[str]:
    folder = clusters_folder()
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def describe(name: str) -> dict[str, Any]:
    """Facts about a cluster: state is running, broken (some processes are gone, or a start was cut short) or absent."""
    folder = ClusterFolder.of(name)
    record = read_record(folder)
    pids = processes_of(folder.path)
    if record is None and not folder.path.exists() and not pids:
        return {"name": name, "state": "absent"}
    facts: dict[str, Any] = {"name": name, "folder": str(folder.path), "processes": len(pids)}
    wanted = len(PROGRAMS) + (len(record.gently) if record else 0)
    whole = record is not None and record.state == "running" and len(pids) >= wanted
    facts["state"] = "running" if whole else "broken"
    if record:
        facts |= {"context": record.context, "kubeconfig": record.kubeconfig, "started_at": record.started_at}
        facts |= {"ports": record.ports, "options": record.options}
        if record.served_model:
            facts |= {"served_model": record.served_model, "model_url": record.model_url}
    return facts
