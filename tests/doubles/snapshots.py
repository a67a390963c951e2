# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small snapshots for tests, written as a cluster would give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot import UNASKED, Snapshot


def snapshot_data(**parts: Any) -> dict[str, Any]:
    """Return a snapshot in which every default kind was observed and is empty; ``parts`` replace its fields.

    ``states`` maps a kind to another state.
    """
    states: Mapping[str, str] = parts.pop("states", {})
    kinds = {name: {"state": "observed", "detail": ""} for name in (*UNASKED, "api_groups")}
    for name, state in states.items():
        kinds[name] = {"state": state, "detail": f"needs {name}"}
    return {
        "schema": "inference_ops.dynamo/snapshot/v1",
        "taken_at": "2026-01-01T00:00:00Z",
        "context": "test",
        "server_version": "v1.36.3",
        "namespace": "ml",
        "kinds": kinds,
        "api_requests": 0,
        "namespaces": [named("ml")],
        **parts,
    }


def snapshot(**parts: Any) -> Snapshot:
    """Return a view of :func:`snapshot_data`."""
    return Snapshot.from_plain(snapshot_data(**parts))


def named(name: str, **parts: Any) -> dict[str, Any]:
    """Return an object with a name; keyword ``metadata`` adds to its metadata."""
    metadata = {"name": name, **parts.pop("metadata", {})}
    return {"metadata": metadata, **parts}
