# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Embedded clusters for tests: start one, use it, and be sure that it is gone afterwards."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import lifecycle
from .api import Api
from .kwokconfig import SERVED_PORT
from .lifecycle import Options, Record
from .paths import ClusterFolder

__all__ = ["SERVED_PORT", "Options", "RunningCluster", "running_cluster"]

_numbers = itertools.count()


@dataclass(frozen=True)
class RunningCluster:
    """A cluster that runs; ``api`` is an administrator's."""

    folder: ClusterFolder
    record: Record
    api: Api

    @property
    def kubeconfig(self) -> Path:
        return self.folder.kubeconfig

    @property
    def context(self) -> str:
        return self.folder.context

    def namespace(self, name: str) -> str:
        """Make a namespace and its default service account usable at once."""
        lifecycle.make_namespace(self.folder.name, name)
        return name

    def audit_lines(self) -> list[str]:
        """The API server's audit log, one JSON object a line."""
        return self.folder.audit_log.read_text().splitlines()


@contextmanager
def running_cluster(options: Options | None = None, name: str = "") -> Iterator[RunningCluster]:
    """A cluster of this test process's own, stopped at the end whatever happens."""
    name = name or f"test-{os.getpid()}-{next(_numbers)}"
    folder = ClusterFolder.of(name)
    try:
        record = lifecycle.start(name, options or Options())
        api = Api(folder.kubeconfig, folder.context, "inference-ops-test")
        try:
            yield RunningCluster(folder, record, api)
        finally:
            api.close()
    finally:
        lifecycle.stop(name)
