# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a release is made of: values as data, and switches for the rules that differ between releases.

A new release is a new file with one :class:`Profile`, usually ``dataclasses.replace`` of the one before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Probe = Mapping[str, Any]


@dataclass(frozen=True)
class Port:
    """A container port: its name and number; all are TCP."""

    name: str
    number: int


@dataclass(frozen=True)
class TypeDefaults:
    """What a component type's main container and pod get before the user's values are merged over them.

    ``args`` may hold ``{dgd}`` and ``{namespace}``. ``env`` are the type's own variables; ``prefixed`` adds
    ``DYN_NAMESPACE_PREFIX``. ``service_port`` is the port that the component's Service offers.
    """

    name: str
    command: tuple[str, ...] = ("/bin/sh", "-c")
    args: tuple[str, ...] = ()
    ports: tuple[Port, ...] = ()
    liveness: Probe | None = None
    readiness: Probe | None = None
    startup: Probe | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    prefixed: bool = False
    service_account: str = ""
    grace_period: int = 60


@dataclass(frozen=True)
class Switches:
    """Where the rules of releases differ. The comment names the section of the rules.

    ``first_pass_rolls_lws``: an LWS graph never stores a worker hash, so its first pass counts as a rolling update.
    ``wait_for_leader_by_flags``: the init container depends on the rendered command line, else on the chosen executor.
    """

    executor: Literal["by-origin", "ray"] = "by-origin"  # 7.1
    worker_suffix: Literal["always", "rolling-update"] = "always"  # 4.1
    suffix_on_grove: bool = False  # 4.1
    gpu_from_container: bool = False  # 7.1: any GPU resource of the main container, not only resources.limits.gpu
    trtllm_gpu_requests_first: bool = True  # 7.3
    wait_for_leader_by_flags: bool = False  # 7.1
    elastic_ep: bool = False  # 7.1
    scheduler_volcano_on_lws: bool = True  # 1.6
    lws_per_replica: bool = True  # 1.3
    lws_needs_gpu_limit: bool = True  # 7
    first_pass_rolls_lws: bool = True  # 1.4
    etcd_variable: bool = False  # 4.1: DYN_DISCOVERY_BACKEND=etcd is spelt out
    epp_single_dash: bool = False  # 3.1
    hpa: bool = False  # 9
    checkpoint_variables: bool = False  # 10: the documented DYN_CHECKPOINT_* variables
    gms_startup_probe: bool = True  # 10.3
    runtime_liveness: bool = False  # A01: liveness threshold by the runtime's version
    init_image_secrets: bool = False  # A11: pull secrets of init containers' images


@dataclass(frozen=True)
class Admission:
    """How a DGD gets in: what the API server's schema and the webhooks of a release do with it (rules 11).

    ``reviews`` is the object that the validating webhook looks at: the v1alpha1 one, or the v1beta1 one that all are
    converted to; ``as-given`` takes the one or the other. ``additions`` are the fields of later releases that this one
    knows as well, by the word that stands after ``since=`` in the CRD's table. Defaults are release 1.1's.
    """

    serves_beta: bool = False
    reviews: Literal["alpha", "hub", "as-given"] = "alpha"
    additions: frozenset[str] = frozenset()
    stamps_origin: bool = True
    stamps_provider: bool = False
    restart_at_creation: bool = True
    refuses_disabled_memory: bool = True  # its own webhook adds the size that its schema forbids
    schema_wants_memory_size: bool = False
    checkpoint_needs_source: bool = True
    most_shadows: int | None = 1
    limits_names: bool = True
    wants_runtime_version: bool = False
    judges_updates: bool = True


@dataclass(frozen=True)
class Profile:
    """One release of the operator."""

    release: str
    version: str
    api_version: str
    types: Mapping[str, TypeDefaults]
    other: TypeDefaults
    switches: Switches
    mpirun_variables: tuple[str, ...]
    trtllm_worker_readiness: Probe
    restart_policy: str = "Always"
    fs_group: int = 1000
    shared_memory_size: str = "8Gi"
    ssh_secret_mode: int = 0o644
    hpa_cpu_target: int = 80
    chart_installs_nats: bool = False
    source: str = "operator"
    admission: Admission = field(default_factory=Admission)

    def defaults(self, component_type: str) -> TypeDefaults:
        """Return the defaults of a component type; unknown ones get the base only."""
        return self.types.get(component_type, self.other)
