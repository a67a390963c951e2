# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Knows a cluster's processes by a mark in their environment, so that none outlives its cluster.

Process ids are reused by the system, and a starter may be killed before it wrote any down. A mark in the environment
is inherited by all children, and cannot be another program's.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

MARK = "INFERENCE_OPS_CLUSTER_FOLDER"


def marked_environment(folder: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, **(extra or {}), MARK: str(folder)}


def _has_mark(pid: int, folder: Path) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z" and f"{MARK}={folder}".encode() in environment.split(b"\0")


def processes_of(folder: Path) -> tuple[int, ...]:
    """Ids of all living processes that were started for the cluster in ``folder``, this one excepted."""
    ids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return tuple(sorted(pid for pid in ids if pid != os.getpid() and _has_mark(pid, folder)))


def start_process(command: Sequence[str], log: Path, folder: Path, env: Mapping[str, str] | None = None) -> int:
    """Start a process that lives as long as the cluster, in a session of its own; returns its id."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=marked_environment(folder, env),
            start_new_session=True,
        )
    # Right after Popen the kernel still sets the program up: for a moment its environment, and so the mark, is empty.
    deadline = time.monotonic() + 5
    while not _has_mark(process.pid, folder) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    return process.pid


def command_of(pid: int, folder: Path) -> list[str]:
    """The command line of a living process of the cluster; empty for any other process."""
    if not _has_mark(pid, folder):
        return []
    return [os.fsdecode(part) for part in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]]


def is_alive(pid: int, folder: Path) -> bool:
    return _has_mark(pid, folder)


def _signal(pids: Sequence[int], number: signal.Signals, folder: Path) -> None:
    for pid in pids:
        if _has_mark(pid, folder):  # again, just before: the id may have changed hands
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue


def end_processes(pids: Sequence[int], folder: Path, patience: float = 3.0) -> None:
    """End these processes of the cluster: ask, wait up to ``patience`` seconds, then kill."""
    _signal(pids, signal.SIGTERM, folder)
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and any(_has_mark(pid, folder) for pid in pids):
        time.sleep(0.05)
    _signal(pids, signal.SIGKILL, folder)
    while any(_has_mark(pid, folder) for pid in pids):  # a killed process is gone within milliseconds
        time.sleep(0.02)


def end_all(folder: Path, *, gently: Sequence[int] = ()) -> int:
    """End every process of the cluster; returns how many there were.

    Those in ``gently`` are asked first; the control plane is killed outright, as its data goes too. Looks again until
    none is left, since a process may have started another one meanwhile.
    """
    count = len(processes_of(folder))
    end_processes(gently, folder)
    while pids := processes_of(folder):
        end_processes(pids, folder, patience=0.0)
    return count
