# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One cluster with a served model for all tests of the whole workflow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from ansible_collections.inference_ops.dynamo.tests.cluster.testing import Options, RunningCluster, running_cluster


@pytest.fixture(scope="session")
def served_cluster() -> Iterator[RunningCluster]:
    """A cluster with the operator's stand-in and the real frontend and mocker; use a namespace of your own in it."""
    with running_cluster(Options(serve=True)) as running:
        yield running
