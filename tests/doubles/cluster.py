# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small cluster on the double of an API server, with credentials planted wherever one could be."""

from __future__ import annotations

import base64
import json
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.kinds import KINDS, resource_path
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot import COLLECTED
from ansible_collections.inference_ops.dynamo.tests.doubles.fake_api import Answer, FakeApi

NAMESPACE = "ml"
#: None of these texts may ever come out of a module, in any form.
PLANTED = ("planted-token", "planted-user", "planted-password", "planted-env")


def encoded(text: str) -> str:
    """Return base64, as a Secret's data holds it."""
    return base64.b64encode(text.encode()).decode()


def docker_config(*registries: str) -> str:
    """Return a docker configuration with planted credentials for these registries."""
    entry = {
        "username": "planted-user",
        "password": "planted-password",
        "auth": encoded("planted-user:planted-password"),
    }
    return json.dumps({"auths": dict.fromkeys(registries, entry)})


def planted() -> tuple[str, ...]:
    """Return every form in which a planted text could leak."""
    forms = {encoded(text) for text in PLANTED} | {encoded("planted-user:planted-password")}
    return (*PLANTED, *sorted(forms), "planted")


def secret(name: str, kind: str, key: str, text: str) -> dict[str, Any]:
    """Return a Secret as the API serves it."""
    return {
        "metadata": {"name": name, "namespace": NAMESPACE},
        "type": kind,
        "data": {key: encoded(text)},
    }


def discovery() -> dict[str, Any]:
    """Return the aggregated discovery of every kind that a snapshot holds, but Grove's."""
    groups: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for kind in KINDS.values():
        if kind.group and not kind.group.endswith("grove.io"):
            entry = {"resource": kind.plural, "responseKind": {"kind": kind.name}}
            entry["scope"] = "Namespaced" if kind.namespaced else "Cluster"
            groups.setdefault(kind.group, {}).setdefault(kind.version, []).append(entry)
    items = [
        {
            "metadata": {"name": name},
            "versions": [{"version": version, "resources": found} for version, found in versions.items()],
        }
        for name, versions in groups.items()
    ]
    return {"kind": "APIGroupDiscoveryList", "items": items}


def serve_cluster(api: FakeApi) -> None:
    """Fill the double with a namespace, two pull secrets, a token and a DGD; every other kind is empty."""
    api.fixed["/version"] = Answer(body={"gitVersion": "v1.36.3"})
    api.fixed["/apis"] = Answer(body=discovery())
    for entry in COLLECTED.values():
        namespace = NAMESPACE if entry.scope == "namespace" else ""
        version = f"{entry.kind.group}/{entry.kind.version}" if entry.kind.group else entry.kind.version
        api.add_list(resource_path("", entry.kind, namespace), entry.kind.name, [], version)
    api.add_list("/api/v1/namespaces", "Namespace", [{"metadata": {"name": NAMESPACE}}])
    api.add_list("/api/v1/namespaces/ml/pods", "Pod", [_pod("own", NAMESPACE)])
    api.add_list("/api/v1/pods", "Pod", [_pod("own", NAMESPACE), _pod("other", "else"), _pod("free", "else", "")])
    api.add_list("/apis/apps/v1/deployments", "Deployment", [_operator()], "apps/v1")
    api.add_list(
        "/api/v1/namespaces/ml/secrets",
        "Secret",
        [
            secret("hf-token-secret", "Opaque", "HF_TOKEN", "planted-token"),
            secret(
                "ngc",
                "kubernetes.io/dockerconfigjson",
                ".dockerconfigjson",
                docker_config("https://planted-user:planted-password@nvcr.io/v2/"),
            ),
            secret("bad", "kubernetes.io/dockerconfigjson", ".dockerconfigjson", "{planted-password"),
        ],
    )
    env = [{"name": "TOKEN", "value": "planted-env"}]
    dgd = {
        "metadata": {"name": "agg", "namespace": NAMESPACE, "managedFields": [{"manager": "planted-env"}]},
        "spec": {"envs": env, "services": {"W": {"extraPodSpec": {"mainContainer": {"env": env}}}}},
    }
    api.add_list(
        "/apis/nvidia.com/v1alpha1/namespaces/ml/dynamographdeployments",
        "DynamoGraphDeployment",
        [dgd],
        "nvidia.com/v1alpha1",
    )


def _pod(name: str, namespace: str, node: str = "n") -> dict[str, Any]:
    container = {"name": "main", "image": "x:1", "env": [{"name": "A", "value": "planted-env"}]}
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"nodeName": node, "containers": [container]},
        "status": {"phase": "Running"},
    }


def _operator() -> dict[str, Any]:
    container = {"name": "manager", "image": "operator:1", "args": ["--operator-version=1.5.0"]}
    return {
        "metadata": {"name": "op", "namespace": "dynamo-system"},
        "spec": {"template": {"spec": {"containers": [container]}}},
        "status": {"readyReplicas": 1},
    }
