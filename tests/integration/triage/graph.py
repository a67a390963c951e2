# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays the Dynamo operator by hand: a DGD, and the Deployments that it would have, in a namespace of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.readiness import WaitPolicy
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.waits import WaitRequest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube import connect
from ansible_collections.inference_ops.dynamo.plugins.module_utils.waiting import (
    ClusterSource,
    Progress,
    SystemClock,
    run_wait,
)
from ansible_collections.inference_ops.dynamo.tests.cluster.api import Api, wait_until
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import RunningCluster

Object = dict[str, Any]
NAME = "demo"
#: Short graces, so that a test ends soon after the cause is seen.
GRACES = dict.fromkeys(
    ("unschedulable", "never_fits", "dependency", "image", "crash", "readiness", "operator", "other"), 1
)
PROBE = {"httpGet": {"path": "/health", "port": 9090}, "periodSeconds": 1, "failureThreshold": 1}


class Later(SystemClock):
    """The machine's clock, some seconds ahead: for what only time makes a finding."""

    def __init__(self, ahead: float) -> None:
        self._ahead = ahead

    def now(self) -> float:
        """Seconds since 1970, and some more."""
        return super().now() + self._ahead


def labels(component: str) -> dict[str, str]:
    """The labels that the operator puts on everything of a component."""
    return {
        "nvidia.com/dynamo-graph-deployment-name": NAME,
        "nvidia.com/dynamo-component": component,
        "nvidia.com/dynamo-component-type": component.lower(),
        "nvidia.com/selector": f"{NAME}-{component.lower()}",
    }


def dgd(namespace: str, workers: int = 1) -> Object:
    """A DGD with a Frontend and workers."""
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {
            "services": {
                "Frontend": {"componentType": "frontend", "replicas": 1},
                "Worker": {"componentType": "worker", "replicas": workers},
            }
        },
    }


def deployment(
    namespace: str,
    component: str,
    replicas: int = 1,
    pod: Mapping[str, Any] | None = None,
    annotations: Mapping[str, str] | None = None,
    marks: Mapping[str, str] | None = None,
    **spec: Any,
) -> Object:
    """The Deployment of a component; ``pod`` is merged over its pod spec, ``marks`` over its pods' labels."""
    name = f"{NAME}-{component.lower()}"
    template = {
        "metadata": {"labels": {**labels(component), **(marks or {})}, "annotations": dict(annotations or {})},
        "spec": {"containers": [{"name": "main", "image": "reg.example/vllm:1"}], **(pod or {})},
    }
    selector = {"matchLabels": {"nvidia.com/selector": name}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels(component)},
        "spec": {"replicas": replicas, "selector": selector, "template": template, **spec},
    }


def deploy(
    api: Api,
    namespace: str,
    *,
    workers: int = 1,
    pod: Mapping[str, Any] | None = None,
    annotations: Mapping[str, str] | None = None,
    status: bool = True,
    worker: bool = True,
    **spec: Any,
) -> None:
    """Create the DGD as an operator of release 1.1 would leave it while its components start."""
    graph = api.create(dgd(namespace, workers))
    if status:
        set_ready(api, graph, False)
    api.create(deployment(namespace, "Frontend"))
    if worker:
        api.create(deployment(namespace, "Worker", workers, pod, annotations, **spec))


def set_ready(api: Api, graph: Object, ready: bool) -> None:
    """Write the DGD's status."""
    told = {
        "type": "Ready",
        "status": str(ready),
        "reason": "all_resources_are_ready" if ready else "some_resources_are_not_ready",
        "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    observed = graph["metadata"]["generation"]
    api.patch(graph, {"status": {"observedGeneration": observed, "conditions": [told], "state": "pending"}}, "status")


def worker_pods(api: Api, namespace: str) -> list[Object]:
    """The worker's pods that are not being deleted."""
    selector = f"nvidia.com/selector={NAME}-worker"
    return [pod for pod in api.list("v1", "Pod", namespace, selector) if not pod["metadata"].get("deletionTimestamp")]


def first_worker(api: Api, namespace: str) -> Object:
    """Wait for the first worker pod."""
    found: list[Object] = wait_until("a worker pod", lambda: worker_pods(api, namespace))
    return found[0]


def tell(api: Api, pod: Object, reason: str, message: str) -> None:
    """Write an event about a pod as the kubelet would."""
    meta = pod["metadata"]
    api.create(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "generateName": "told-",
                "namespace": meta["namespace"],
                "name": f"{meta['name']}.{reason.lower()}",
            },
            "involvedObject": {
                "apiVersion": pod["apiVersion"],
                "kind": pod["kind"],
                "name": meta["name"],
                "namespace": meta["namespace"],
                "uid": meta["uid"],
            },
            "reason": reason,
            "message": message,
            "type": "Warning",
            "count": 1,
            "firstTimestamp": "2026-01-01T00:00:00Z",
            "lastTimestamp": None,
            "source": {"component": "kubelet"},
        }
    )


def request(namespace: str, *, timeout: float = 30, **more: Any) -> WaitRequest:
    """A wait for the DGD with short graces."""
    policy = WaitPolicy(timeout=timeout, graces=GRACES, stable_for=1, progress_interval=2)
    return WaitRequest("dgd", namespace, (NAME,), policy, **more)


def wait_for(
    cluster: RunningCluster, wanted: WaitRequest, *, ahead: float = 0, lines: list[str] | None = None, logs: bool = True
) -> Object:
    """Run a wait as the module does and return its result, with the requests that it sent."""
    kube = connect({"kubeconfig": str(cluster.kubeconfig), "context": cluster.context}, agent="workload_wait")
    clock = Later(ahead)
    source = ClusterSource(kube, wanted, clock, check_fit=True, logs=logs)
    progress = Progress((lines if lines is not None else []).append)
    result = run_wait(wanted, source, clock, progress)
    source.watches.stop()
    return {**result, "api_requests": kube.api_requests, "kinds": source.watches.kinds()}
