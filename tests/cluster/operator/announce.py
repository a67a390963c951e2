# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaves the traces of an installed operator, by which tools tell its release."""

from __future__ import annotations

from ..api import Api
from .desired import Settings

NAMESPACE = "dynamo-system"
DOUBLE = {"simulation.inference-ops/double": "a stand-in for tests plays this operator"}


def chart_version(release: str) -> str:
    return f"{release}.0" if release.count(".") == 1 else "1.0.0"


def announce(api: Api, settings: Settings, image: str = "") -> None:
    """Namespace and Deployment as the platform chart names them; the pod does nothing.

    ``image`` is one that has a shell, for a cluster whose containers really run.
    """
    version = chart_version(settings.release)
    name = "dynamo-platform-dynamo-operator"
    labels = {
        "app.kubernetes.io/name": "dynamo-operator",
        "app.kubernetes.io/instance": "dynamo-platform",
        "app.kubernetes.io/part-of": "dynamo-operator",
        "app.kubernetes.io/version": version,
        "app.kubernetes.io/managed-by": "Helm",
        "control-plane": "controller-manager",
        "helm.sh/chart": f"dynamo-operator-{version}",
    }
    selector = {"app.kubernetes.io/name": "dynamo-operator", "control-plane": "controller-manager"}
    container = {
        "name": "manager",
        "image": image or f"nvcr.io/nvidia/ai-dynamo/kubernetes-operator:{version}",
        "command": ["sh", "-c", "exec sleep infinity"],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
    }
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    api.apply(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": f"{name}-controller-manager",
                "namespace": NAMESPACE,
                "labels": labels,
                "annotations": DOUBLE,
            },
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": selector},
                "template": {
                    "metadata": {"labels": {**labels, **selector}, "annotations": DOUBLE},
                    "spec": {"containers": [container]},
                },
            },
        }
    )
