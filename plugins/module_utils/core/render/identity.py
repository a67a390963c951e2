# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hash by which a checkpoint is found again (rules 10.1; ``internal/checkpoint/hash.go``)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from .gojson import go_json


def identity_hash(identity: Mapping[str, Any]) -> str:
    """Return the 16 digits that name a checkpoint (``internal/checkpoint/hash.go``)."""
    known: dict[str, Any] = {
        "model": identity.get("model", ""),
        "backendFramework": identity.get("backendFramework", ""),
        "dynamoVersion": identity.get("dynamoVersion"),
        "tensorParallelSize": identity.get("tensorParallelSize") or 1,
        "pipelineParallelSize": identity.get("pipelineParallelSize") or 1,
        "dtype": identity.get("dtype"),
        "maxModelLen": identity.get("maxModelLen"),
        "extraParameters": dict(sorted((identity.get("extraParameters") or {}).items())),
    }
    always = ("model", "backendFramework")
    kept = {key: value for key, value in known.items() if value or key in always}
    return hashlib.sha256(go_json(kept).encode()).hexdigest()[:16]
