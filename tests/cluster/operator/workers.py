# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays the workers' registration for service discovery, where no container runs that would do it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import keys
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.instance_id import worker_instance_id

from .desired import with_owner
from .status import pod_ready

Object = dict[str, Any]


def _variables(pod: Mapping[str, Any]) -> dict[str, str]:
    containers = pod["spec"]["containers"]
    main = next((item for item in containers if item["name"] == keys.MAIN_CONTAINER), containers[0])
    return {item["name"]: item.get("value", "") for item in main.get("env") or ()}


def registrations(pods: Sequence[Mapping[str, Any]]) -> Iterator[Object]:
    """The DynamoWorkerMetadata that each ready worker pod writes once its engine is up."""
    for pod in pods:
        labels = pod["metadata"].get("labels") or {}
        variables = _variables(pod)
        follower = labels.get(keys.LABEL_ROLE) == "worker" and keys.LABEL_LWS_NAME in labels
        if labels.get(keys.LABEL_COMPONENT_TYPE) not in keys.WORKER_TYPES or follower or not pod_ready(pod):
            continue
        if variables.get("DYN_DISCOVERY_BACKEND") != "kubernetes":
            continue
        name = pod["metadata"]["name"]
        suffix = variables.get("DYN_NAMESPACE_WORKER_SUFFIX")
        namespace = variables.get("DYN_NAMESPACE", "") + (f"-{suffix}" if suffix else "")
        identity = worker_instance_id(name)
        component = "prefill" if keys.PREFILL in labels.values() else "backend"
        endpoint = {"namespace": namespace, "component": component, "endpoint": "generate", "instance_id": identity}
        record = {
            "apiVersion": keys.V1ALPHA1,
            "kind": keys.WORKER_METADATA_KIND,
            "metadata": {"name": name, "namespace": pod["metadata"]["namespace"]},
            "spec": {"data": {"endpoints": {f"{namespace}/{component}/generate/{identity:x}": endpoint}}},
        }
        yield with_owner(record, pod)
