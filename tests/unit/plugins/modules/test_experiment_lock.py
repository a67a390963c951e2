# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock module: takes, keeps, gives back; check mode takes nothing and refuses all the same."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible_collections.inference_ops.dynamo.plugins.modules import experiment_lock

from .conftest import RunModule


@pytest.fixture
def start_run() -> Iterator[Callable[[], int]]:
    """Return what starts a process that stands for a run, and returns its number."""
    started: list[int] = []

    def start() -> int:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            while True:
                signal.pause()
        started.append(child)
        return child

    yield start
    for child in started:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_it_holds_and_gives_back(tmp_path: Path, run_module: RunModule, start_run: Callable[[], int]) -> None:
    arguments = {"path": str(tmp_path), "owner_pid": start_run(), "timeout": 0}
    first = run_module(experiment_lock, arguments).result
    assert (first["taken"], first["changed"], first["holder"]["pid"]) == (True, False, arguments["owner_pid"])
    assert run_module(experiment_lock, arguments).result["taken"] is False
    assert run_module(experiment_lock, arguments, check=True).result["taken"] is False
    other = {**arguments, "owner_pid": start_run()}
    for check in (False, True):
        refused = run_module(experiment_lock, other, check=check)
        assert refused.failed
        assert "another run holds this experiment root" in refused.message
    freed = run_module(experiment_lock, {**arguments, "state": "free"}).result
    assert freed["holder"] == {}
    assert run_module(experiment_lock, other).result["taken"] is True


def test_check_mode_takes_nothing(tmp_path: Path, run_module: RunModule, start_run: Callable[[], int]) -> None:
    outcome = run_module(experiment_lock, {"path": str(tmp_path), "owner_pid": start_run()}, check=True)
    assert outcome.result["taken"] is True
    assert list(tmp_path.iterdir()) == []


def test_a_missing_root_is_named(tmp_path: Path, run_module: RunModule) -> None:
    outcome = run_module(experiment_lock, {"path": str(tmp_path / "no"), "owner_pid": 1})
    assert "no: path: the experiment root does not exist" in outcome.message
