# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration kwokctl reads: ports, Stages, pod logs, port-forward to the served model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from .ports import free_ports
from .stages import all_stages

SERVED_PORT = 8000  # the frontend's port in every recipe


@dataclass(frozen=True)
class Ports:
    """All that a cluster listens on, loopback only; ``model`` is where a pod's port 8000 is forwarded to."""

    etcd: int
    etcd_peer: int
    api: int
    controllers: int
    scheduler: int
    kwok: int
    model: int

    @classmethod
    def free(cls) -> Ports:
        return cls(*free_ports(7))

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


def kwok_documents(ports: Ports, pod_log: Path, audit_policy: Path) -> list[dict[str, Any]]:
    options: dict[str, Any] = {
        "bindAddress": "127.0.0.1",
        "etcdPort": ports.etcd,
        "etcdPeerPort": ports.etcd_peer,
        "kubeApiserverPort": ports.api,
        "kubeControllerManagerPort": ports.controllers,
        "kubeSchedulerPort": ports.scheduler,
        "kwokControllerPort": ports.kwok,
        "kubeAuditPolicy": str(audit_policy),
        "disableQPSLimits": True,
    }
    config = "config.kwok.x-k8s.io/v1alpha1"
    stage = "kwok.x-k8s.io/v1alpha1"
    target = {"address": "127.0.0.1", "port": ports.model}
    return [
        {"apiVersion": config, "kind": "KwokctlConfiguration", "options": options},
        {
            "apiVersion": stage,
            "kind": "ClusterPortForward",
            "metadata": {"name": "served-model"},
            "spec": {"forwards": [{"ports": [SERVED_PORT], "target": target}]},
        },
        {
            "apiVersion": stage,
            "kind": "ClusterLogs",
            "metadata": {"name": "pods"},
            "spec": {"logs": [{"logsFile": str(pod_log), "previousLogsFile": str(pod_log)}]},
        },
        *all_stages(),
    ]


def write_config(path: Path, ports: Ports, pod_log: Path, audit_policy: Path) -> None:
    path.write_text(yaml.safe_dump_all(kwok_documents(ports, pod_log, audit_policy), sort_keys=False))
