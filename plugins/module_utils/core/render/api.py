# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes into :func:`render` and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..demand import K8sObject, PodDemand
from ..findings import Finding

#: Image to names of pull secrets.
PullSecretLookup = Callable[[str], Sequence[str]]
Pathway = Literal["auto", "deployment", "lws", "grove"]
Stage = Literal["decode", "crd-schema", "validating-webhook", "dgd-controller", "dcd-controller"]


@dataclass(frozen=True)
class IngressConfig:
    """The operator's ``ingress.*`` settings; all empty means no Ingress and no VirtualService by default."""

    class_name: str = ""
    tls_secret: str = ""
    host_suffix: str = ""
    virtual_service_gateway: str = ""


@dataclass(frozen=True)
class CheckpointConfig:
    """The operator's ``checkpoint.*`` settings. ``pvc`` and ``path`` are 1.5's configured storage."""

    enabled: bool = False
    pvc: str = ""
    path: str = ""
    seccomp_profile: str = "profiles/block-iouring.json"


@dataclass(frozen=True)
class OperatorConfig:
    """The operator's configuration: what its Helm chart wrote, as far as it shows in the objects it makes.

    Addresses are full values of the environment variables they become; empty means not configured.
    ``termination_delay`` is Grove's, spelt as Go prints a duration (``4h0m0s``); empty leaves it out.
    ``version`` is what the mutating webhook stamps as origin version; empty stands for the release's own.
    ``restricted_namespace`` not empty is the namespace-restricted mode (no planner or EPP RBAC is made).
    """

    version: str = ""
    discovery_backend: str = "kubernetes"
    nats_address: str = ""
    etcd_address: str = ""
    model_express_url: str = ""
    prometheus_endpoint: str = ""
    mpi_ssh_secret: str = "mpi-run-ssh-secret"
    planner_cluster_role: str = ""
    epp_cluster_role: str = ""
    restricted_namespace: str = ""
    termination_delay: str = "15m0s"
    ingress: IngressConfig = field(default_factory=IngressConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    grove: bool = False
    lws: bool = False
    kai_scheduler: bool = False
    volcano_scheduler: bool = False
    dra: bool = True
    istio: bool = False
    inference_pool: bool = True


@dataclass(frozen=True)
class CheckpointState:
    """A DynamoCheckpoint of the namespace: is it ready, and under which id and version is it stored."""

    ready: bool = False
    checkpoint_id: str = ""
    artifact_version: str = "1"


@dataclass(frozen=True)
class ClusterFacts:
    """What the operator reads from the cluster while it renders. ``None`` means: nobody looked.

    ``claims`` are the PersistentVolumeClaims of the namespace (``None``: each one that the DGD does not create is
    taken to exist). ``checkpoints`` by name (``None``: none exist). ``topologies`` gives per cluster topology its
    domains from broad to narrow, each with its node label. ``component_service_account`` is the first ServiceAccount
    of the namespace that is labelled for component pods. ``snapshot_claim``/``snapshot_path`` come from the snapshot
    agent's DaemonSet. ``device_counts`` gives the GPU count of a ResourceClaimTemplate.
    ``dgd_uid`` is the live DGD's UID, which 1.5 writes into the checkpoints that it makes.
    """

    claims: frozenset[str] | None = None
    checkpoints: Mapping[str, CheckpointState] | None = None
    topologies: Mapping[str, tuple[tuple[str, str], ...]] | None = None
    component_service_account: str = ""
    snapshot_claim: str = ""
    snapshot_path: str = ""
    device_counts: Mapping[str, int] = field(default_factory=dict)
    dgd_uid: str = ""


@dataclass(frozen=True)
class RenderRequest:
    """One DGD and all that decides what becomes of it.

    ``definition`` is the manifest as loaded from YAML; ``namespace`` stands in for a missing one (else ``default``).
    ``release`` is one of :data:`RELEASES`. ``pathway`` ``auto`` goes by ``config.grove`` and ``config.lws`` and the
    DGD's annotation; the others set those two gates. ``pull_secrets`` answers an image with the names of the secrets
    that the operator's index holds for it, in its order (:mod:`..pull_secrets`); ``None``: there are none.
    ``worker_hash`` stands for the eight digits that only the operator can compute.
    """

    definition: Mapping[str, Any]
    namespace: str | None = None
    release: str = "1.5"
    pathway: Pathway = "auto"
    config: OperatorConfig | None = None
    pull_secrets: PullSecretLookup | None = None
    worker_hash: str = "00000000"
    facts: ClusterFacts = field(default_factory=ClusterFacts)
    explain: bool = False
    #: Go on after the API server's schema refused the input (the operator then sees it as it stands).
    ignore_schema_errors: bool = False


@dataclass(frozen=True)
class Rejection:
    """One refusal: who refuses (``stage``), where in the manifest, which rule, and why in our own words."""

    stage: Stage
    rule: str
    message: str
    field: str = ""
    component: str = ""

    def to_result(self) -> dict[str, str]:
        """Return the refusal as plain data."""
        return {
            "stage": self.stage,
            "rule": self.rule,
            "field": self.field,
            "component": self.component,
            "message": self.message,
        }


@dataclass(frozen=True)
class Origin:
    """Why a value stands in an object although nobody wrote it there.

    ``path`` names list items by their name: ``spec.template.spec.containers[main].env[DYN_NAMESPACE]``.
    ``rule`` is a stable id (:mod:`.rules`), ``source`` the operator's file and function or the document's section.
    """

    object: str
    path: str
    release: str
    rule: str
    source: str
    why: str
    value: Any = None

    def to_result(self) -> dict[str, Any]:
        """Return the origin as plain data."""
        return {
            "object": self.object,
            "path": self.path,
            "release": self.release,
            "rule": self.rule,
            "source": self.source,
            "why": self.why,
            "value": self.value,
        }


@dataclass(frozen=True)
class RenderResult:
    """What the operator would have made. With ``errors`` the DGD is refused and ``objects`` is what stood by then."""

    release: str
    pathway: str
    namespace: str
    objects: tuple[K8sObject, ...] = ()
    pods: tuple[PodDemand, ...] = ()
    errors: tuple[Rejection, ...] = ()
    warnings: tuple[str, ...] = ()
    unknown_fields: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    explanation: tuple[Origin, ...] = ()
