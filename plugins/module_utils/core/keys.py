# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that Dynamo's objects carry: API groups, labels, annotations, ports, component types, environment variables.

Source, where a line says nothing else: the operator's ``internal/consts/consts.go`` of releases 1.1 and 1.5.
What only one release has is marked so. Values that differ between releases live in ``render/profiles``, not here.
"""

from __future__ import annotations

# --- API groups and kinds -------------------------------------------------------------------------------------------
GROUP = "nvidia.com"
V1ALPHA1 = "nvidia.com/v1alpha1"
V1BETA1 = "nvidia.com/v1beta1"
DGD_KIND = "DynamoGraphDeployment"
DCD_KIND = "DynamoComponentDeployment"
DCD_PLURAL = "dynamocomponentdeployments"
DGD_PLURAL = "dynamographdeployments"
WORKER_METADATA_KIND = "DynamoWorkerMetadata"
SCALING_ADAPTER_KIND = "DynamoGraphDeploymentScalingAdapter"
CHECKPOINT_KIND = "DynamoCheckpoint"
GROVE_GROUP = "grove.io"
LWS_GROUP = "leaderworkerset.x-k8s.io"
VOLCANO_GROUP = "scheduling.volcano.sh"
KAI_GROUP = "scheduling.run.ai"
DRA_GROUP = "resource.k8s.io"
INFERENCE_POOL_GROUP = "inference.networking.k8s.io"

# --- labels ---------------------------------------------------------------------------------------------------------
LABEL_SELECTOR = "nvidia.com/selector"
LABEL_DGD = "nvidia.com/dynamo-graph-deployment-name"
LABEL_COMPONENT = "nvidia.com/dynamo-component"
LABEL_NAMESPACE = "nvidia.com/dynamo-namespace"
LABEL_COMPONENT_TYPE = "nvidia.com/dynamo-component-type"
LABEL_SUB_COMPONENT_TYPE = "nvidia.com/dynamo-sub-component-type"
LABEL_COMPONENT_CLASS = "nvidia.com/dynamo-component-class"  # 1.5
LABEL_BASE_MODEL_HASH = "nvidia.com/dynamo-base-model-hash"
LABEL_WORKER_HASH = "nvidia.com/dynamo-worker-hash"
LABEL_DISCOVERY_BACKEND = "nvidia.com/dynamo-discovery-backend"
LABEL_DISCOVERY_ENABLED = "nvidia.com/dynamo-discovery-enabled"
LABEL_METRICS = "nvidia.com/metrics-enabled"
LABEL_MANAGED_BY = "nvidia.com/managed-by"
LABEL_FAILOVER_MEMBER = "nvidia.com/dynamo-failover-engine-group-member"  # 1.5
LABEL_RESTORE_TARGET = "nvidia.com/snapshot-is-restore-target"
LABEL_CHECKPOINT_ID = "nvidia.com/snapshot-checkpoint-id"
LABEL_CHECKPOINT_SOURCE = "nvidia.com/snapshot-is-checkpoint-source"
LABEL_ROLE = "role"
LABEL_INSTANCE_ID = "instance-id"  # 1.1 LWS
LABEL_KAI_QUEUE = "kai.scheduler/queue"
LABEL_COMPONENT_POD = "nvidia.com/dynamo-component-pod"  # on the ServiceAccount of component pods under etcd
LABEL_LWS_NAME = "leaderworkerset.sigs.k8s.io/name"
LABEL_GROVE_PCS = "app.kubernetes.io/part-of"

# --- annotations ----------------------------------------------------------------------------------------------------
ANNOTATION_ENABLE_GROVE = "nvidia.com/enable-grove"
ANNOTATION_WORKLOAD_PROVIDER = "nvidia.com/workload-provider"  # 1.5
ANNOTATION_ORIGIN_VERSION = "nvidia.com/dynamo-operator-origin-version"
ANNOTATION_ENABLE_METRICS = "nvidia.com/enable-metrics"
ANNOTATION_DISCOVERY_BACKEND = "nvidia.com/dynamo-discovery-backend"
ANNOTATION_DISCOVERY_MODE = "nvidia.com/dynamo-kube-discovery-mode"
ANNOTATION_VLLM_EXECUTOR = "nvidia.com/vllm-distributed-executor-backend"
ANNOTATION_DISABLE_PULL_SECRETS = "nvidia.com/disable-image-pull-secret-discovery"
ANNOTATION_RESTARTED_AT = "nvidia.com/restartAt"
ANNOTATION_DEPLOYMENT_STRATEGY = "nvidia.com/deployment-strategy"
ANNOTATION_MAX_SURGE = "nvidia.com/deployment-rolling-update-max-surge"
ANNOTATION_MAX_UNAVAILABLE = "nvidia.com/deployment-rolling-update-max-unavailable"
ANNOTATION_CURRENT_WORKER_HASH = "nvidia.com/current-worker-hash"
ANNOTATION_CURRENT_WORKER_HASH_V2 = "nvidia.com/current-worker-hash-v2"  # 1.5
ANNOTATION_BASE_MODEL = "nvidia.com/dynamo-base-model"
ANNOTATION_KAI_QUEUE = "nvidia.com/kai-scheduler-queue"
ANNOTATION_VOLCANO_QUEUE = "nvidia.com/volcano-queue"  # 1.5
ANNOTATION_GROVE_VOLCANO_QUEUE = "scheduling.grove.io/volcano-queue"  # 1.5
ANNOTATION_GROVE_UPDATE_STRATEGY = "nvidia.com/grove-update-strategy"  # 1.5
ANNOTATION_SNAPSHOT_VERSION = "nvidia.com/snapshot-artifact-version"
ANNOTATION_SNAPSHOT_STATUS = "nvidia.com/snapshot-checkpoint-status"  # 1.5
ANNOTATION_SNAPSHOT_STORAGE = "nvidia.com/snapshot-storage-type"  # 1.5
ANNOTATION_SNAPSHOT_STORAGE_PATH = "nvidia.com/snapshot-storage-base-path"  # 1.5
ANNOTATION_SNAPSHOT_CONTAINERS = "nvidia.com/snapshot-target-containers"  # 1.5
ANNOTATION_RESTORE_CANDIDATE = "nvidia.com/dynamo-checkpoint-restore-candidate"  # 1.5
ANNOTATION_CHECKPOINT_NAME = "nvidia.com/dynamo-checkpoint-name"  # 1.5
ANNOTATION_CHECKPOINT_POLICY = "nvidia.com/dynamo-checkpoint-startup-policy"  # 1.5
ANNOTATION_TOPOLOGY_LABEL_KEY = "nvidia.com/topology-label-key"  # 1.5
ANNOTATION_TOPOLOGY_CLUSTER = "nvidia.com/topology-cluster-topology-name"  # 1.5
ANNOTATION_DGD_SPEC = "nvidia.com/dgd-spec"  # 1.5: v1alpha1 values that v1beta1 has no place for
ANNOTATION_DCD_SPEC = "nvidia.com/dcd-spec"  # 1.5
ANNOTATION_POD_GROUP = "scheduling.k8s.io/group-name"  # 1.1 LWS, read by Volcano
ANNOTATION_POWER_LIMIT = "dynamo.nvidia.com/gpu-power-limit"  # 1.5
ANNOTATION_ISTIO_INJECT = "sidecar.istio.io/inject"
ANNOTATION_LAST_APPLIED_HASH = "nvidia.com/last-applied-hash"
ANNOTATION_LAST_APPLIED_GENERATION = "nvidia.com/last-applied-generation"

#: DGD annotations that the operator copies down to each component that does not set them itself
#: (``internal/dynamo/graph.go :: dgdPropagatedAnnotationKeys``).
PROPAGATED_ANNOTATIONS: tuple[str, ...] = (
    ANNOTATION_ENABLE_METRICS,
    ANNOTATION_DISCOVERY_BACKEND,
    ANNOTATION_DISCOVERY_MODE,
    ANNOTATION_ORIGIN_VERSION,
    ANNOTATION_VLLM_EXECUTOR,
)

# --- component types ------------------------------------------------------------------------------------------------
FRONTEND = "frontend"
WORKER = "worker"
PREFILL = "prefill"
DECODE = "decode"
PLANNER = "planner"
EPP = "epp"
#: Types that get a worker's defaults (``internal/dynamo/component_common.go :: ComponentDefaultsFactory``).
WORKER_TYPES: frozenset[str] = frozenset({WORKER, PREFILL, DECODE})

# --- backends -------------------------------------------------------------------------------------------------------
VLLM = "vllm"
SGLANG = "sglang"
TRTLLM = "trtllm"
BACKENDS: tuple[str, ...] = (VLLM, SGLANG, TRTLLM)

# --- pathways -------------------------------------------------------------------------------------------------------
DEPLOYMENT = "deployment"
LWS = "lws"
GROVE = "grove"

# --- container and port names ---------------------------------------------------------------------------------------
MAIN_CONTAINER = "main"
SIDECAR_FRONTEND = "sidecar-frontend"
PORT_HTTP = "http"
PORT_SYSTEM = "system"
PORT_NIXL = "nixl"
PORT_METRICS = "metrics"
PORT_GRPC = "grpc"
PORT_GRPC_HEALTH = "grpc-health"

# --- port numbers ---------------------------------------------------------------------------------------------------
HTTP_PORT = 8000
SYSTEM_PORT = 9090
NIXL_PORT = 19090
PLANNER_METRICS_PORT = 9085
EPP_GRPC_PORT = 9002
EPP_HEALTH_PORT = 9003
EPP_METRICS_PORT = 9090
FORWARD_PASS_PORT = 20380  # 1.5
RAY_PORT = 6379
VLLM_MP_PORT = 29500
SGLANG_INIT_PORT = 29500
VLLM_DP_RPC_PORT = 13445
MPI_SSH_PORT = 2222

# --- other shared names ---------------------------------------------------------------------------------------------
GPU_RESOURCE = "nvidia.com/gpu"
PLANNER_SERVICE_ACCOUNT = "planner-serviceaccount"
EPP_SERVICE_ACCOUNT = "epp-serviceaccount"
SHARED_MEMORY_VOLUME = "shared-memory"
SHARED_MEMORY_PATH = "/dev/shm"
KAI_SCHEDULER = "kai-scheduler"
VOLCANO_SCHEDULER = "volcano"
OPERATOR_MANAGER = "dynamo-operator"


def discovery_service_account(dgd: str) -> str:
    """Return the ServiceAccount of a DGD's pods under Kubernetes discovery (``internal/discovery/resource.go``)."""
    return f"{dgd}-k8s-service-discovery"


def dynamo_namespace(namespace: str, dgd: str, *, is_global: bool = False) -> str:
    """Return the Dynamo namespace of a component (``api/v1alpha1 :: ComputeDynamoNamespace``)."""
    return "dynamo" if is_global else f"{namespace}-{dgd.replace('.', '-')}"
