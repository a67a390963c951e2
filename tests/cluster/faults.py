# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What befalls a real control plane: its API server dies and comes back, and etcd forgets old versions."""

from __future__ import annotations

import base64
import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .api import Api, wait_until
from .lifecycle import read_record
from .paths import ClusterError, ClusterFolder
from .processes import command_of, end_processes, start_process


@contextmanager
def without_apiserver(name: str) -> Iterator[None]:
    """Kill a running cluster's API server, and start it again at the end; etcd and all else keep running.

    Within 10 s, or the controller manager and the scheduler end for want of their leases.
    """
    folder = ClusterFolder.of(name)
    kept = folder.pid_file("kube-apiserver")
    pid = int(kept.read_text()) if kept.exists() else 0
    command = command_of(pid, folder.path)
    if not command:
        raise ClusterError(f"cluster {name} has no running API server")
    end_processes((pid,), folder.path, patience=0.0)
    try:
        yield
    finally:
        kept.write_text(str(start_process(command, folder.kwok_cluster / "logs" / "kube-apiserver.log", folder.path)))
        api = Api(folder.kubeconfig, folder.context)
        wait_until("the API server", lambda: api.text("/readyz") == "ok")
        api.close()


def forget_history(name: str) -> None:
    """Let a running cluster's etcd keep the newest version of everything alone, so that older ones are too old."""
    record = read_record(ClusterFolder.of(name))
    if record is None:
        raise ClusterError(f"cluster {name} does not run")
    url = f"http://127.0.0.1:{record.ports['etcd']}/v3/kv"
    newest = _ask(f"{url}/range", {"key": base64.b64encode(b"/").decode()})["header"]["revision"]
    _ask(f"{url}/compaction", {"revision": newest, "physical": True})


def _ask(url: str, body: dict[str, Any]) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode()), timeout=10) as answer:
        return json.load(answer)
