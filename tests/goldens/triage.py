# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recorded states of a real cluster: is the Worker's category the right one?"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import (
    ClusterState,
    from_dumps,
    seconds,
    triage,
)
from ansible_collections.inference_ops.dynamo.tests.goldens.rows import Row, compared

COMPONENT = "Worker"


def run(folder: Path) -> Iterable[Row]:
    """Yield a row for each recorded state under ``folder/triage``."""
    return compared(sorted((folder / "triage").glob("*.json")), lambda path: path.stem, _rows)


def _rows(path: Path) -> Iterable[Row]:
    case = json.loads(path.read_text(encoding="utf-8"))
    state = ClusterState(
        now=seconds(case["taken_at"]),
        dgd=case["manifest"]["metadata"]["name"],
        objects=from_dumps(case["objects"]),
        nodes=case.get("nodes"),
        logs=case.get("logs") or {},
    )
    view = triage(state).component(COMPONENT)
    found = view.category if view else "no such component"
    if found == case["category"]:
        yield Row("triage", path.stem, "equal")
    else:
        seen = view.slowest if view else ""
        detail = f"{case['description']}: right is {case['category']}, we say {found} ({seen})"
        yield Row("triage", path.stem, "different", detail)
