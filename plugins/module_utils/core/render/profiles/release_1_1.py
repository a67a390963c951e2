# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Release 1.1 (chart 1.1.0, commit df888f6860e2): CRD v1alpha1.

Source of the values: ``internal/dynamo/component_{common,frontend,worker,planner,epp}.go``, ``backend_trtllm.go``.
"""

from __future__ import annotations

from ... import keys
from .model import Port, Profile, Switches, TypeDefaults


def _get(path: str, port: str) -> dict[str, object]:
    return {"path": path, "port": port}


_EPP_HEALTH = {"port": keys.EPP_HEALTH_PORT, "service": "inference-extension"}

FRONTEND = TypeDefaults(
    name=keys.FRONTEND,
    command=("python3",),
    args=("-m", "dynamo.frontend"),
    ports=(Port(keys.PORT_HTTP, keys.HTTP_PORT),),
    liveness={
        "httpGet": _get("/live", keys.PORT_HTTP),
        "initialDelaySeconds": 15,
        "periodSeconds": 10,
        "timeoutSeconds": 1,
        "failureThreshold": 3,
    },
    readiness={
        "httpGet": _get("/health", keys.PORT_HTTP),
        "initialDelaySeconds": 10,
        "periodSeconds": 10,
        "timeoutSeconds": 3,
        "failureThreshold": 3,
    },
    env={"DYNAMO_PORT": str(keys.HTTP_PORT), "DYN_HTTP_PORT": str(keys.HTTP_PORT)},
    prefixed=True,
)

WORKER = TypeDefaults(
    name=keys.WORKER,
    ports=(Port(keys.PORT_SYSTEM, keys.SYSTEM_PORT), Port(keys.PORT_NIXL, keys.NIXL_PORT)),
    liveness={
        "httpGet": _get("/live", keys.PORT_SYSTEM),
        "periodSeconds": 5,
        "timeoutSeconds": 4,
        "failureThreshold": 1,
    },
    readiness={
        "httpGet": _get("/health", keys.PORT_SYSTEM),
        "periodSeconds": 10,
        "timeoutSeconds": 4,
        "failureThreshold": 3,
    },
    startup={
        "httpGet": _get("/live", keys.PORT_SYSTEM),
        "periodSeconds": 10,
        "timeoutSeconds": 5,
        "failureThreshold": 720,
    },
    env={
        "DYN_SYSTEM_ENABLED": "true",
        "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]',
        "DYN_SYSTEM_PORT": str(keys.SYSTEM_PORT),
        "DYN_HEALTH_CHECK_ENABLED": "false",
        "NIXL_TELEMETRY_ENABLE": "n",
        "NIXL_TELEMETRY_EXPORTER": "prometheus",
        "NIXL_TELEMETRY_PROMETHEUS_PORT": str(keys.NIXL_PORT),
    },
)

PLANNER = TypeDefaults(
    name=keys.PLANNER,
    ports=(Port(keys.PORT_METRICS, keys.PLANNER_METRICS_PORT), Port(keys.PORT_SYSTEM, keys.SYSTEM_PORT)),
    liveness=WORKER.liveness,
    readiness=WORKER.readiness,
    startup=WORKER.startup,
    env={
        "PLANNER_PROMETHEUS_PORT": str(keys.PLANNER_METRICS_PORT),
        "DYN_SYSTEM_PORT": str(keys.SYSTEM_PORT),
    },
    service_account=keys.PLANNER_SERVICE_ACCOUNT,
)

EPP = TypeDefaults(
    name=keys.EPP,
    command=(),
    args=(
        "-pool-name",
        "{dgd}-pool",
        "-pool-namespace",
        "{namespace}",
        "-pool-group",
        keys.INFERENCE_POOL_GROUP,
        "-v",
        "4",
        "--zap-encoder",
        "json",
        "-grpc-port",
        str(keys.EPP_GRPC_PORT),
        "-grpc-health-port",
        str(keys.EPP_HEALTH_PORT),
        "-config-file",
        "/etc/epp/epp-config-dynamo.yaml",
    ),
    ports=(
        Port(keys.PORT_GRPC, keys.EPP_GRPC_PORT),
        Port(keys.PORT_GRPC_HEALTH, keys.EPP_HEALTH_PORT),
        Port(keys.PORT_METRICS, keys.EPP_METRICS_PORT),
    ),
    liveness={"grpc": _EPP_HEALTH, "initialDelaySeconds": 5, "periodSeconds": 10},
    readiness={"grpc": _EPP_HEALTH, "initialDelaySeconds": 5, "periodSeconds": 10},
    startup={"grpc": _EPP_HEALTH, "periodSeconds": 10, "failureThreshold": 180},
    env={
        "USE_STREAMING": "true",
        "RUST_LOG": "debug,dynamo_llm::kv_router=trace",
        "DYN_ENFORCE_DISAGG": "false",
    },
    prefixed=True,
    service_account=keys.EPP_SERVICE_ACCOUNT,
    grace_period=130,
)

PROFILE = Profile(
    release="1.1",
    version="1.1.0",
    api_version=keys.V1ALPHA1,
    chart_installs_nats=True,
    types={
        keys.FRONTEND: FRONTEND,
        keys.WORKER: WORKER,
        keys.PREFILL: WORKER,
        keys.DECODE: WORKER,
        keys.PLANNER: PLANNER,
        keys.EPP: EPP,
    },
    other=TypeDefaults(name="base"),
    switches=Switches(epp_single_dash=True),
    mpirun_variables=(
        "CUDA_VISIBLE_DEVICES",
        "HF_DATASETS_CACHE",
        "HF_ENDPOINT",
        "HF_HOME",
        "HF_TOKEN",
        "HOME",
        "HUGGING_FACE_HUB_TOKEN",
        "LD_LIBRARY_PATH",
        "MODEL_PATH",
        "NCCL_DEBUG",
        "NCCL_IB_DISABLE",
        "NCCL_P2P_DISABLE",
        "PATH",
        "PYTHONPATH",
        "TENSORRT_LLM_CACHE_DIR",
        "TOKENIZERS_PARALLELISM",
        "TRANSFORMERS_CACHE",
        "TRTLLM_USE_UCX_KVCACHE",
        "USER",
    ),
    trtllm_worker_readiness={
        "tcpSocket": {"port": keys.MPI_SSH_PORT},
        "initialDelaySeconds": 20,
        "periodSeconds": 20,
        "timeoutSeconds": 5,
        "failureThreshold": 10,
    },
)
