# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Import path of the collection, and one kind cluster for all tests of a run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINK = ROOT / "build" / "collections" / "ansible_collections" / "inference_ops" / "dynamo"
if not LINK.is_symlink():
    LINK.parent.mkdir(parents=True, exist_ok=True)
    LINK.symlink_to(ROOT)
sys.path.insert(0, str(ROOT / "build" / "collections"))

from ansible_collections.inference_ops.dynamo.tests.kind.clusters import KindCluster, describe, down, up  # noqa: E402


@pytest.fixture(scope="session")
def kind() -> Iterator[KindCluster]:
    """A cluster named test: one that runs already is used and kept."""
    kept = describe("test")["state"] == "running"
    running = up("test")
    yield running
    if not kept:
        down("test")
