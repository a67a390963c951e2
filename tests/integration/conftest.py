# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Import path of the collection and the shared embedded cluster for tests that need a real control plane."""

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

from ansible_collections.inference_ops.dynamo.tests.cluster.testing import (  # noqa: E402
    Options,
    RunningCluster,
    running_cluster,
)


@pytest.fixture(scope="session")
def cluster() -> Iterator[RunningCluster]:
    """One cluster with the operator's stand-in for all tests of a run; use a namespace of your own in it."""
    with running_cluster(Options()) as running:
        yield running


@pytest.fixture(scope="session")
def bare_cluster() -> Iterator[RunningCluster]:
    """One cluster without an operator: nothing acts on a DGD there."""
    with running_cluster(Options(operator=False)) as running:
        yield running
