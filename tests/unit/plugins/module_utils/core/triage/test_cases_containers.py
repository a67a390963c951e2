# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The confusion table of containers that crash, are killed, or fail their probes (D16)."""

from __future__ import annotations

import pytest
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.builders import (
    container,
    event,
    pod,
    ready_pod,
    running,
    terminated,
    waiting,
)
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.triage.cases import (
    KILLED,
    LIVENESS,
    Case,
    check,
    crash,
)

CASES: dict[str, Case] = {
    "crash with a CUDA out of memory line": (
        [crash(1)],
        [],
        {
            "logs": {
                "demo-worker-0 (previous)": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 GiB\n"
            }
        },
        "crash_loop",
        "failed_deploy",
        "cuda_oom",
    ),
    "crash with an NCCL line": (
        [crash(1)],
        [],
        {"logs": {"demo-worker-0": "RuntimeError: NCCL error: unhandled system error"}},
        "crash_loop",
        "failed_deploy",
        "nccl",
    ),
    "crash of the driver": (
        [crash(1)],
        [],
        {"logs": {"demo-worker-0": "CUDA driver version is insufficient for CUDA runtime version"}},
        "crash_loop",
        "failed_deploy",
        "gpu_driver",
    ),
    "crash for want of host memory": (
        [crash(1)],
        [],
        {"logs": {"demo-worker-0": "std::bad_alloc"}},
        "crash_loop",
        "failed_deploy",
        "host_oom",
    ),
    "crash without a log": ([crash(3)], [], {}, "crash_loop", "failed_deploy", "error"),
    "command does not exist": (
        [crash(128, "StartError", message='exec: "/bin/nope": stat /bin/nope: no such file or directory')],
        [],
        {},
        "crash_loop",
        "failed_deploy",
        "command_not_found",
    ),
    "driver hook fails": (
        [
            pod(
                phase="Pending",
                containers=[waiting("RunContainerError", "nvidia-container-cli: initialization error: nvml error")],
            )
        ],
        [],
        {},
        "crash_loop",
        "failed_deploy",
        "gpu_driver",
    ),
    "ends without an error": ([crash(0, "Completed")], [], {}, "crash_loop", "failed_deploy", "exited"),
    "ends without an error, before the first restart": (
        [pod(containers=[container(terminated(0, "Completed"))])],
        [],
        {},
        "crash_loop",
        "failed_deploy",
        "exited",
    ),
    "ready just now after two crashes": (
        [pod(containers=[running(ago=20, last=terminated(1), restarts=2)])],
        [],
        {},
        "crash_loop",
        "failed_deploy",
        "error",
    ),
    "between two crashes it shows Running": (
        [pod(containers=[running(ago=5, ready=False, started=False, last=terminated(1), restarts=3)])],
        [],
        {},
        "crash_loop",
        "failed_deploy",
        "error",
    ),
    "init container fails": (
        [
            pod(
                phase="Pending",
                init=[waiting("CrashLoopBackOff", last=terminated(3), restarts=3, name="fetch")],
                containers=[waiting("PodInitializing")],
            )
        ],
        [],
        {},
        "crash_loop",
        "failed_deploy",
        "error",
    ),
    "out of memory": ([crash(137, "OOMKilled")], [], {}, "oom", "failed_deploy", ""),  # D16
    "out of memory, before the first restart": (
        [pod(containers=[container(terminated(137, "OOMKilled"))])],
        [],
        {},
        "oom",
        "failed_deploy",
        "",
    ),
    "137 by a liveness probe": (  # D16
        [crash(137)],
        [event("Unhealthy", LIVENESS, ago=40), event("Killing", KILLED, ago=40, warning=False)],
        {},
        "probe_failure",
        "failed_deploy",
        "",
    ),
    "137 from outside": ([crash(137)], [], {}, "crash_loop", "failed_deploy", "killed"),  # D16
    "143 with OOMKilled was stopped, a child was killed earlier": (
        [crash(143, "OOMKilled")],
        [],
        {},
        "crash_loop",
        "failed_deploy",
        "stopped",
    ),  # D16
    "143 with OOMKilled and a probe's kill": (  # D16
        [crash(143, "OOMKilled")],
        [event("Killing", KILLED, ago=35, warning=False)],
        {},
        "probe_failure",
        "failed_deploy",
        "",
    ),
    "137 of unknown status": ([crash(137, "ContainerStatusUnknown")], [], {}, "evicted", "fix_dependency", ""),  # D16
    "a probe's kill of an earlier run does not explain this crash": (
        [crash(1, ran=10)],
        [event("Killing", KILLED, ago=4000, warning=False)],
        {},
        "crash_loop",
        "failed_deploy",
        "error",
    ),
    "being killed by its liveness probe while still ready": (
        [ready_pod("demo-worker-0")],
        [event("Unhealthy", LIVENESS, ago=20), event("Killing", KILLED, ago=20, warning=False)],
        {},
        "probe_failure",
        "failed_deploy",
        "",
    ),
    "readiness answers 404 for ever": (
        [pod(containers=[running(ago=130, ready=False)])],
        [event("Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 404", count=14)],
        {},
        "probe_failure",
        "failed_deploy",
        "",
    ),
    "startup probe is refused by a server that is up": (
        [pod(containers=[running(ago=130, ready=False, started=False)])],
        [event("Unhealthy", "Startup probe failed: HTTP probe failed with statuscode: 404", count=12)],
        {},
        "probe_failure",
        "failed_deploy",
        "",
    ),
    "startup probe's time is used up": (
        [pod(containers=[running(ago=7300, ready=False, started=False)])],
        [event("Unhealthy", "Startup probe failed: connection refused", count=730)],
        {},
        "probe_failure",
        "failed_deploy",
        "",
    ),
    "early crashes are over once a run has outlived them": (
        [
            pod(containers=[running(ago=90, last=terminated(1, ran=5, ago=100), restarts=3)]),
            ready_pod("demo-worker-1"),
        ],
        [],
        {},
        "ready",
        "none",
        "",
    ),
    "loading after an early crash": (
        [pod(containers=[running(ago=200, ready=False, started=False, last=terminated(1, ago=210), restarts=1)])],
        [],
        {},
        "model_loading",
        "wait",
        "",
    ),
    "loading again after it crashed late in loading": (
        [
            pod(
                containers=[
                    running(ago=100, ready=False, started=False, last=terminated(1, ran=300, ago=110), restarts=2)
                ]
            )
        ],
        [],
        {},
        "crash_loop",
        "failed_deploy",
        "error",
    ),
    "killed once by its probe, and not yet past that point again": (
        [pod(containers=[running(ago=8, last=terminated(137, ran=75, ago=9), restarts=1)])],
        [event("Unhealthy", LIVENESS, ago=69), event("Killing", KILLED, ago=69, warning=False)],
        {},
        "probe_failure",
        "failed_deploy",
        "",
    ),
    "killed once by its probe long ago": (
        [
            pod(containers=[running(ago=300, last=terminated(137, ran=75, ago=301), restarts=1)]),
            ready_pod("demo-worker-1"),
        ],
        [event("Killing", KILLED, ago=361, warning=False)],
        {},
        "ready",
        "none",
        "",
    ),
    "killed by its probe again and again, each time without an error": (
        [pod(containers=[running(ago=5, last=terminated(0, "Completed", ran=75, ago=6), restarts=3)])],
        [event("Killing", KILLED, ago=66, warning=False)],
        {},
        "probe_failure",
        "failed_deploy",
        "",
    ),
    "137 from outside, and one liveness answer too late before it": (
        [
            pod(
                containers=[waiting("CrashLoopBackOff", "back-off", last=terminated(137), restarts=4)],
                spec={"containers": [{"name": "main", "image": "i", "livenessProbe": {"failureThreshold": 3}}]},
            )
        ],
        [event("Unhealthy", "Liveness probe failed: context deadline exceeded", ago=32)],
        {},
        "crash_loop",
        "failed_deploy",
        "killed",
    ),
    "137, and the answers that its liveness probe may fail": (
        [
            pod(
                containers=[waiting("CrashLoopBackOff", "back-off", last=terminated(137), restarts=4)],
                spec={"containers": [{"name": "main", "image": "i", "livenessProbe": {"failureThreshold": 3}}]},
            )
        ],
        [event("Unhealthy", "Liveness probe failed: context deadline exceeded", ago=32, count=3)],
        {},
        "probe_failure",
        "failed_deploy",
        "",
    ),
    "not ready for longer than the probe allows, events gone": (
        [
            pod(
                containers=[running(ago=130, ready=False)],
                spec={"containers": [{"name": "main", "image": "i", "readinessProbe": {"periodSeconds": 10}}]},
            )
        ],
        [],
        {},
        "probe_failure",
        "failed_deploy",
        "",
    ),
    "killed once by its probe for a late answer": (
        [
            pod(containers=[running(ago=8, last=terminated(137, ran=75, ago=9), restarts=1)]),
            ready_pod("demo-worker-1"),
        ],
        [
            event("Unhealthy", "Liveness probe failed: context deadline exceeded", ago=69),
            event("Killing", KILLED, ago=69, warning=False),
        ],
        {},
        "ready",
        "none",
        "",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_case_is_called_by_its_name(name: str) -> None:
    check(CASES[name])
