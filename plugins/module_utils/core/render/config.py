# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator's configuration as its Helm chart writes it when nobody sets a value."""

from __future__ import annotations

from .api import OperatorConfig
from .profiles import profile_of

#: The names under which the platform chart is usually installed.
HELM_RELEASE = "dynamo-platform"
HELM_NAMESPACE = "dynamo-system"


def helm_config(release: str, helm_release: str = HELM_RELEASE, helm_namespace: str = HELM_NAMESPACE) -> OperatorConfig:
    """Return the configuration of ``release`` under Helm's defaults.

    Source: ``deploy/helm/charts/platform``. 1.1 installs NATS, 1.5 does not; Grove's delay is the platform chart's
    (the operator's own is 15 minutes); Grove and LeaderWorkerSet count as switched off.
    """
    nats = f"nats://{helm_release}-nats.{helm_namespace}.svc.cluster.local:4222"
    return OperatorConfig(
        nats_address=nats if profile_of(release).chart_installs_nats else "",
        planner_cluster_role=f"{helm_release}-dynamo-operator-planner",
        epp_cluster_role=f"{helm_release}-dynamo-operator-epp",
        termination_delay="4h0m0s",
    )
