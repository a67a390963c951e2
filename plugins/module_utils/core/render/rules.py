# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules that put values into objects, each with where it comes from.

An id is the section of the operator rules and a short name. ``operator`` is the operator's file and function,
``seed`` the section of the document ``operator-defaults`` where it describes the same thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """One rule: why a value is there, and where that is written."""

    id: str
    why: str
    operator: str
    seed: str = ""

    def source(self, release: str) -> str:
        """Return where the rule is written for a release."""
        if release == "documented" and self.seed:
            return f"operator-defaults, section {self.seed}"
        return f"{self.operator} (operator-defaults, section {self.seed})" if self.seed else self.operator


_GRAPH = "internal/dynamo/graph.go"
_POD = f"{_GRAPH} :: GenerateBasePodSpec"
_PROBES = "Health Probes by Component Type"
_PORTS = "Port Configurations"


def _type_rules() -> Iterator[Rule]:
    """Yield the rules of the component types' containers: command, ports, probes."""
    documented = {
        "frontend": (_PORTS, _PROBES),
        "worker": (_PORTS, _PROBES),
        "planner": (_PORTS, ""),
        "epp": (_PORTS, ""),
    }
    for name, (ports, probes) in {**documented, "base": ("", "")}.items():
        source = f"internal/dynamo/component_{'common' if name == 'base' else name}.go :: GetBaseContainer"
        article = "an" if name == "epp" else "a"
        who = "a component of any other type" if name == "base" else f"{article} {name}"
        yield Rule(f"3-{name}-command", f"what {who} runs unless told otherwise", source)
        yield Rule(f"3-{name}-ports", f"the ports of {who}", source, ports)
        yield Rule(f"3-{name}-probes", f"how {who} is probed", source, probes)


_RULES: tuple[Rule, ...] = (
    Rule(
        "1.2-component-deployment", "every component gets its own deployment resource", f"{_GRAPH} :: generateSingleDCD"
    ),
    Rule("1.4-worker-hash", "workers are named by a hash of their specs", "internal/dynamo/hash.go"),
    Rule(
        "1.6-deployment",
        "a component on one node becomes a Deployment",
        "internal/controller/dynamocomponentdeployment_controller.go :: generateDeployment",
    ),
    Rule(
        "1.6-lws",
        "a component on several nodes becomes LeaderWorkerSets",
        "internal/controller/dynamocomponentdeployment_controller.go :: generateLeaderWorkerSet",
    ),
    Rule(
        "1.6-volcano",
        "1.1 schedules each LeaderWorkerSet as a Volcano group",
        "internal/controller/dynamocomponentdeployment_controller.go :: generateVolcanoPodGroup",
    ),
    Rule("1.6-clique-set", "on Grove the whole graph is one PodCliqueSet", f"{_GRAPH} :: GenerateGrovePodCliqueSet"),
    Rule("1.6-scheduler", "Grove's pods are scheduled by the scheduler in use", f"{_GRAPH} :: injectKaiScheduler"),
    *_type_rules(),
    Rule(
        "3-planner-account", "a planner has its own account", "internal/dynamo/component_planner.go", "Service Accounts"
    ),
    Rule(
        "3-epp-account",
        "an endpoint picker has its own account",
        "internal/dynamo/component_epp.go",
        "Service Accounts",
    ),
    Rule("1.5-labels", "the operator finds, selects and counts pods by it", f"{_GRAPH} :: generateLabels"),
    Rule("1.5-annotations", "it comes down from the graph or the operator", f"{_GRAPH} :: generateAnnotations"),
    Rule("3-worker-runtime", "a runtime from 1.5.0 on is given three chances", "pull request 13512"),
    Rule("3-pod", "default of every pod", "internal/dynamo/component_common.go", "Pod Specification Defaults"),
    Rule("3.1-epp-volumes", "an endpoint picker reads its configuration", "internal/dynamo/component_epp.go"),
    Rule("3.3-sidecar", "the component asks for a frontend beside it", _POD),
    Rule("4.1-common", "every component gets it", "internal/dynamo/component_common.go", "All Components"),
    Rule(
        "4.1-discovery", "set unless discovery goes through etcd", f"{_GRAPH} :: GetDiscoveryBackend", "All Components"
    ),
    Rule(
        "4.1-infrastructure", "the operator is configured with it", f"{_GRAPH} :: addStandardEnvVars", "Infrastructure"
    ),
    Rule("4.1-frontend", "every frontend gets it", "internal/dynamo/component_frontend.go", "Frontend Components"),
    Rule("4.1-worker", "every worker gets it", "internal/dynamo/component_worker.go", "Worker Components"),
    Rule("4.1-planner", "every planner gets it", "internal/dynamo/component_planner.go", "Planner Components"),
    Rule("4.1-epp", "every endpoint picker gets it", "internal/dynamo/component_epp.go", "EPP Components"),
    Rule("4.1-base", "components of any other type get it", "internal/dynamo/component_common.go"),
    Rule(
        "4.1-worker-suffix",
        "keeps generations of workers apart",
        "internal/dynamo/component_worker.go",
        "Worker Components",
    ),
    Rule("4.1-kv-transfer", "the graph has a KV transfer policy", "internal/dynamo/component_worker.go"),
    Rule(
        "4.2-vllm-cache", "a volume is flagged as compilation cache", "internal/dynamo/backend_vllm.go", "VLLM Backend"
    ),
    Rule(
        "5-shared-memory",
        "every pod gets shared memory",
        "internal/dynamo/shared_memory.go :: ApplySharedMemoryVolumeAndMount",
        "Shared Memory Configuration",
    ),
    Rule("5-fs-group", "no security context was given", f"{_GRAPH} :: applyDefaultSecurityContext", "Security Context"),
    Rule("5-pvc-mount", "a volume mount names a PersistentVolumeClaim", _POD),
    Rule("5-cache", "vLLM's own cache folder", f"{_GRAPH} :: applyCompilationCache"),
    Rule(
        "5-pvcs",
        "the graph creates the claim",
        "internal/controller/dynamographdeployment_controller.go :: reconcilePVC",
    ),
    Rule("5-topology-labels", "the graph's KV transfer follows the topology", "internal/dynamo/component_worker.go"),
    Rule(
        "6-pull-secrets",
        "a secret of the namespace holds the image's registry",
        "internal/secrets/docker.go",
        "Image Pull Secrets",
    ),
    Rule(
        "7.1-mp",
        "tensor and pipeline parallelism do not fit one node",
        "internal/dynamo/backend_vllm.go",
        "VLLM Backend",
    ),
    Rule(
        "7.1-ray",
        "tensor and pipeline parallelism do not fit one node, and Ray is chosen",
        "internal/dynamo/backend_vllm.go",
        "Multinode Deployment Probe Modifications",
    ),
    Rule(
        "7.1-data-parallel", "data parallelism does not fit one node", "internal/dynamo/backend_vllm.go", "VLLM Backend"
    ),
    Rule("7.1-elastic-ep", "elastic expert parallelism runs on Ray", "internal/dynamo/backend_vllm.go"),
    Rule(
        "7.1-side-channel", "several nodes in multiprocessing mode", "internal/dynamo/backend_vllm.go", "VLLM Backend"
    ),
    Rule("7.1-wait-for-leader", "a worker node waits for its leader", "internal/dynamo/backend_vllm.go"),
    Rule("7.2-sglang", "the nodes of one replica find each other", "internal/dynamo/backend_sglang.go", "SGLang"),
    Rule("7.3-trtllm", "mpirun starts the nodes of one replica", "internal/dynamo/backend_trtllm.go", "TensorRT-LLM"),
    Rule("7.3-ssh-keys", "mpirun reaches the nodes over ssh", "internal/dynamo/backend_trtllm.go", "TensorRT-LLM"),
    Rule(
        "7.3-worker-readiness",
        "a worker node is ready when its ssh daemon listens",
        "internal/dynamo/backend_trtllm.go",
        "Multinode Deployment Probe Modifications",
    ),
    Rule("8-discovery-account", "pods read endpoints and write their own metadata", "internal/discovery/resource.go"),
    Rule("8-fallback-account", "no account was named", f"{_GRAPH} :: generatePodTemplateSpec"),
    Rule("8-discovery-rbac", "discovery goes through Kubernetes", "internal/discovery/resource.go"),
    Rule("8-service", "the component can be reached", f"{_GRAPH} :: GenerateComponentService"),
    Rule("9-component-rbac", "the component type has its own rights", "internal/rbac/manager.go", "Service Accounts"),
    Rule(
        "9-scaling-adapter", "the component lets others set its replicas", "internal/controller :: generateAdapterName"
    ),
    Rule("9-autoscaling", "autoscaling without metrics goes by CPU", "operator-defaults", "Autoscaling Defaults"),
    Rule("9-ingress", "the component is exposed", f"{_GRAPH} :: GenerateComponentIngress"),
    Rule("9-model-service", "clients find the workers of a model", "internal/dynamo/model_service.go"),
    Rule("9-epp-config", "the endpoint picker's inline configuration", "internal/dynamo/epp"),
    Rule("9-destination-rule", "Istio must not wrap the endpoint picker's own TLS", "internal/dynamo/graph.go"),
    Rule("9-inference-pool", "the gateway finds the endpoint picker", "internal/dynamo/epp"),
    Rule("10.1-checkpoint", "the component restores from a checkpoint", "internal/checkpoint", "Checkpoint / Restore"),
    Rule("10.2-candidate", "a pod may be restored when it starts", "internal/checkpoint"),
    Rule("10.3-gms", "the GPUs' memory outlives the engine", "internal/gms"),
    Rule("10.4-failover", "a shadow engine waits in the same pod", "internal/dynamo/failover_vllm.go"),
    Rule("10.5-inter-pod-gms", "the GPUs' memory is kept by a pod of its own", "internal/dynamo/failover.go"),
)
RULES: Mapping[str, Rule] = {item.id: item for item in _RULES}


def rule(rule_id: str) -> Rule:
    """Return the rule of an id."""
    return RULES[rule_id]
