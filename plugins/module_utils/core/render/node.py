# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One node of a component while its pod is built: what the backends' rules look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .explain import Notes
from .launch import Deployer
from .profiles.model import Profile

Role = Literal["main", "leader", "worker"]
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


@dataclass(frozen=True)
class Node:
    """A pod of a component: which role it plays among how many nodes, and what its launch depends on.

    ``gpus`` is how many GPUs the pod has as far as the release sees them; ``gpus_trtllm`` the same for mpirun's
    slots, which 1.1 reads differently. ``gms_engine`` loads its weights from a pod beside it, ``gms_shadow`` tells that
    such engines stand by for each other. ``annotations`` decide between mp and Ray; ``executor`` is what was chosen.
    """

    profile: Profile
    dgd: str
    component: str
    role: Role = "main"
    nodes: int = 1
    deployer: Deployer | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    gpus: int = 0
    gpus_trtllm: int = 0
    cache_root: str = ""
    ssh_secret: str = ""
    gms_engine: bool = False
    gms_shadow: bool = False
    notes: Notes = field(default_factory=Notes)

    @property
    def multinode(self) -> bool:
        """Whether the component spans several nodes."""
        return self.nodes > 1

    def note_launch(self, container: dict[str, Any], rule_id: str) -> None:
        """Note a rewritten command line."""
        name = container.get("name", "")
        for key in ("command", "args"):
            if key in container:
                self.notes.note(("containers", name, key), container[key], rule_id)


def drop_probes(container: dict[str, Any], node: Node) -> None:
    """Remove all probes of a node that serves nothing, the user's too."""
    for probe in PROBES:
        container.pop(probe, None)


def append_env(container: dict[str, Any], node: Node, variables: list[dict[str, Any]], rule_id: str) -> None:
    """Append variables after the sorted block; a user's variable of the same name stays, too."""
    container["env"] = [*container.get("env", ()), *variables]
    node.notes.env(container.get("name", ""), variables, rule_id)
