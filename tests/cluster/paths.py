# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the embedded cluster keeps things; the only file that knows the folders."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


class ClusterError(Exception):
    """What a person can act on; the command line prints it without a traceback."""


def cache_folder() -> Path:
    """The user's cache folder, as the Makefile's CACHE."""
    given = os.environ.get("CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "inference-ops-dynamo"


def clusters_folder() -> Path:
    """Each cluster has one folder below this one; INFERENCE_OPS_CLUSTERS names another place."""
    return Path(os.environ.get("INFERENCE_OPS_CLUSTERS") or ROOT / "build" / "clusters").resolve()


def content_hash(files: Iterable[Path]) -> str:
    """16 hex digits over the files' names and contents, the same on every machine."""
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda path: path.name):
        digest.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class ClusterFolder:
    """The files of one cluster."""

    name: str
    path: Path

    @classmethod
    def of(cls, name: str) -> ClusterFolder:
        """Raises ClusterError on a name that is no short DNS label."""
        if not NAME.fullmatch(name):
            raise ClusterError(f"cluster name {name!r}: use 1 to 40 of a-z, 0-9 and -, not - at the ends")
        return cls(name, clusters_folder() / name)

    @property
    def record(self) -> Path:
        return self.path / "cluster.json"

    @property
    def kubeconfig(self) -> Path:
        return self.path / "kubeconfig"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def kwok(self) -> Path:
        """kwokctl's own work folder."""
        return self.path / "kwok"

    @property
    def kwok_cluster(self) -> Path:
        return self.kwok / "clusters" / self.name

    @property
    def audit_log(self) -> Path:
        return self.kwok_cluster / "logs" / "audit.log"

    def pid_file(self, program: str) -> Path:
        """Where kwokctl keeps the id of a control plane program's process."""
        return self.kwok_cluster / "pids" / f"{program}.pid"

    @property
    def lock(self) -> Path:
        """Beside the folder, since stop removes the folder."""
        return self.path.parent / f".{self.name}.lock"

    @property
    def context(self) -> str:
        return f"kwok-{self.name}"
