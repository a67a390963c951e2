# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Release 1.5 (chart 1.5.0, commit 2a6da14c8361): CRDs v1alpha1 and v1beta1, the latter stored.

Source of the values: as 1.1; what differs is written out here.
"""

from __future__ import annotations

from dataclasses import replace

from ... import keys
from . import release_1_1
from .model import Admission, Switches

WORKER = replace(
    release_1_1.WORKER,
    env={**release_1_1.WORKER.env, "DYN_FORWARDPASS_METRIC_PORT": str(keys.FORWARD_PASS_PORT)},
)
EPP = replace(
    release_1_1.EPP,
    args=tuple(
        f"-{arg}" if arg.startswith("-") and not arg.startswith("--") and arg != "-v" else arg
        for arg in release_1_1.EPP.args
    ),
    env={**release_1_1.EPP.env, "RUST_LOG": "info"},
)

PROFILE = replace(
    release_1_1.PROFILE,
    chart_installs_nats=False,
    release="1.5",
    version="1.5.0",
    api_version=keys.V1BETA1,
    types={
        **release_1_1.PROFILE.types,
        keys.WORKER: WORKER,
        keys.PREFILL: WORKER,
        keys.DECODE: WORKER,
        keys.EPP: EPP,
    },
    switches=Switches(
        suffix_on_grove=True,
        gpu_from_container=True,
        trtllm_gpu_requests_first=False,
        wait_for_leader_by_flags=True,
        elastic_ep=True,
        scheduler_volcano_on_lws=False,
        lws_per_replica=False,
        lws_needs_gpu_limit=False,
        first_pass_rolls_lws=False,
        gms_startup_probe=False,
    ),
    admission=Admission(
        serves_beta=True,
        reviews="hub",
        additions=frozenset({"1.5"}),
        stamps_provider=True,
        restart_at_creation=False,
        refuses_disabled_memory=False,
        schema_wants_memory_size=True,
        checkpoint_needs_source=False,
        most_shadows=None,
        wants_runtime_version=True,
    ),
    mpirun_variables=tuple(sorted((*release_1_1.PROFILE.mpirun_variables, "CPATH", "TRITON_PTXAS_PATH"))),
)
