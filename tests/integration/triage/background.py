# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a wait beside a test, which meanwhile does things to the cluster."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.waits import WaitRequest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import connect
from ansible_collections.inference_ops.dynamo.plugins.module_utils.waiting import (
    ClusterSource,
    Progress,
    SystemClock,
    run_wait,
)
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import RunningCluster
from ansible_collections.inference_ops.dynamo.tests.integration.triage.graph import Object


class Background:
    """A wait in a thread of its own."""

    def __init__(self, cluster: RunningCluster, wanted: WaitRequest, kubeconfig: Path | None = None) -> None:
        self.lines: list[str] = []
        self.result: Object = {}
        self.ended_at = 0.0
        self._kube = connect(
            {"kubeconfig": str(kubeconfig or cluster.kubeconfig), "context": cluster.context}, agent="workload_wait"
        )
        self.source = ClusterSource(self._kube, wanted, SystemClock(), check_fit=True, logs=True)
        self._thread = threading.Thread(target=self._run, args=(wanted,), daemon=True)
        self._thread.start()

    def _run(self, wanted: WaitRequest) -> None:
        self.result = run_wait(wanted, self.source, SystemClock(), Progress(self.lines.append))
        self.ended_at = time.monotonic()
        self.source.watches.stop()

    @property
    def requests(self) -> int:
        """How many requests were sent until now."""
        return self._kube.api_requests

    def join(self, seconds: float) -> Object:
        """Wait for the end and return the result."""
        self._thread.join(timeout=seconds)
        assert not self._thread.is_alive(), "the wait did not end"
        return self.result
