# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The release of the document ``operator-defaults``: its values and tables, exactly, and nothing it does not say.

Where the document is silent (merge order, names, conversion) the rules of 1.5 stand in. Where it gives no value for a
thing (planner and EPP probes) nothing is set.
"""

from __future__ import annotations

from dataclasses import replace

from ... import keys
from . import release_1_1, release_1_5
from .model import Admission, Port, Switches

FRONTEND = replace(
    release_1_1.FRONTEND,
    liveness={
        "httpGet": {"path": "/health", "port": keys.PORT_HTTP},
        "initialDelaySeconds": 60,
        "periodSeconds": 60,
        "timeoutSeconds": 30,
        "failureThreshold": 10,
    },
    readiness={
        "exec": {
            "command": [
                "/bin/sh",
                "-c",
                'curl -s http://localhost:${DYNAMO_PORT}/health | jq -e ".status == \\"healthy\\""',
            ]
        },
        "initialDelaySeconds": 60,
        "periodSeconds": 60,
        "timeoutSeconds": 30,
        "failureThreshold": 10,
    },
)
WORKER = replace(
    release_1_1.WORKER,
    liveness={**(release_1_1.WORKER.liveness or {}), "timeoutSeconds": 30},
    readiness={**(release_1_1.WORKER.readiness or {}), "timeoutSeconds": 30, "failureThreshold": 60},
)
PLANNER = replace(
    release_1_1.PLANNER,
    ports=(Port(keys.PORT_METRICS, keys.PLANNER_METRICS_PORT),),
    liveness=None,
    readiness=None,
    startup=None,
    env={"PLANNER_PROMETHEUS_PORT": str(keys.PLANNER_METRICS_PORT)},
)
EPP = replace(
    release_1_5.EPP,
    liveness=None,
    readiness=None,
    startup=None,
    env={"USE_STREAMING": "true", "RUST_LOG": "debug,dynamo_llm::kv_router=trace"},
    prefixed=False,
    grace_period=60,
)

PROFILE = replace(
    release_1_5.PROFILE,
    release="documented",
    types={
        keys.FRONTEND: FRONTEND,
        keys.WORKER: WORKER,
        keys.PREFILL: WORKER,
        keys.DECODE: WORKER,
        keys.PLANNER: PLANNER,
        keys.EPP: EPP,
    },
    switches=Switches(
        executor="ray",
        worker_suffix="rolling-update",
        gpu_from_container=True,
        trtllm_gpu_requests_first=False,
        wait_for_leader_by_flags=True,
        scheduler_volcano_on_lws=False,
        lws_per_replica=False,
        lws_needs_gpu_limit=False,
        first_pass_rolls_lws=False,
        gms_startup_probe=False,
        etcd_variable=True,
        hpa=True,
        checkpoint_variables=True,
    ),
    # The document says nothing of admission: what both API versions demand in any release is demanded here.
    admission=Admission(
        serves_beta=True,
        reviews="as-given",
        stamps_origin=False,
        refuses_disabled_memory=False,
        most_shadows=None,
        limits_names=False,
        judges_updates=False,
    ),
    source="operator-defaults",
)
