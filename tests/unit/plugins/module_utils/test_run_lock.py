# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run's lock, with real processes for runs: it is theirs alone, and it ends with them however they end."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils import run_lock
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.run_lock import Owner, give_back, look, take

RECORD = {"host": "controller", "since": "2026-01-31T12:00:00Z"}
StartRun = Callable[[], Owner]


@pytest.fixture
def start_run() -> Iterator[StartRun]:
    """Return what starts a process that stands for a run; all of them are ended with the test."""
    started: list[int] = []

    def start() -> Owner:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            while True:
                signal.pause()
        started.append(child)
        return Owner(child, run_lock.start_of(child))

    yield start
    for child in started:
        end(child)


def end(pid: int, how: int = signal.SIGKILL) -> None:
    try:
        os.kill(pid, how)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return


def test_one_run_at_a_time(tmp_path: Path, start_run: StartRun) -> None:
    first, second = start_run(), start_run()
    state = take(str(tmp_path), first, RECORD, timeout=0)
    assert (state.ours, state.changed, state.holder["pid"], state.holder["host"]) == (
        True,
        True,
        first.pid,
        "controller",
    )
    again = take(str(tmp_path), first, RECORD, timeout=0)
    assert (again.ours, again.changed) == (True, False)
    said = f"another run holds this experiment root: process {first.pid} on controller, since 2026-01-31T12:00:00Z"
    with pytest.raises(InputError, match=said):
        take(str(tmp_path), second, RECORD, timeout=0)
    assert look(str(tmp_path), second).holder["pid"] == first.pid


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_that_ends_in_any_way_leaves_no_lock(tmp_path: Path, start_run: StartRun, how: int) -> None:
    first, second = start_run(), start_run()
    keeper = take(str(tmp_path), first, RECORD, timeout=0).holder["keeper"]
    end(first.pid, how)
    assert take(str(tmp_path), second, RECORD, timeout=10).changed
    assert not run_lock.is_alive(Owner(keeper))


def test_a_run_that_is_not_waited_for_has_ended_all_the_same(tmp_path: Path, start_run: StartRun) -> None:
    first, second = start_run(), start_run()
    take(str(tmp_path), first, RECORD, timeout=0)
    os.kill(first.pid, signal.SIGKILL)
    os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has taken note
    assert not run_lock.is_alive(first)
    assert take(str(tmp_path), second, RECORD, timeout=10).changed


def test_giving_back(tmp_path: Path, start_run: StartRun) -> None:
    first, second = start_run(), start_run()
    assert give_back(str(tmp_path), first).changed is False
    keeper = take(str(tmp_path), first, RECORD, timeout=0).holder["keeper"]
    other = give_back(str(tmp_path), second)
    assert (other.changed, other.holder["pid"]) == (False, first.pid)
    assert give_back(str(tmp_path), first).changed is True
    assert not run_lock.is_alive(Owner(keeper))
    assert take(str(tmp_path), second, RECORD, timeout=0).changed


def test_a_killed_helper_gives_the_lock_free_rather_than_lost(tmp_path: Path, start_run: StartRun) -> None:
    first = start_run()
    keeper = take(str(tmp_path), first, RECORD, timeout=0).holder["keeper"]
    os.kill(keeper, signal.SIGKILL)
    while run_lock.is_alive(Owner(keeper)):
        os.sched_yield()
    assert take(str(tmp_path), first, RECORD, timeout=10).changed


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}'])
def test_the_files_text_locks_nothing(tmp_path: Path, start_run: StartRun, text: str) -> None:
    (tmp_path / run_lock.FILE_NAME).write_text(text)
    run = start_run()
    assert look(str(tmp_path), run).holder == {}
    assert take(str(tmp_path), run, RECORD, timeout=0).changed


def test_a_number_used_again_is_another_run(tmp_path: Path, start_run: StartRun) -> None:
    run = start_run()
    assert run_lock.is_alive(run)
    assert not run_lock.is_alive(Owner(run.pid, "1"))
    with pytest.raises(InputError, match=f"no such process runs .found {run.pid}"):
        take(str(tmp_path), Owner(run.pid, "1"), RECORD, timeout=0)


def test_the_same_number_on_another_host_is_another_run(
    tmp_path: Path, start_run: StartRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start_run()
    take(str(tmp_path), run, RECORD, timeout=0)
    monkeypatch.setattr(run_lock, "_process_space", lambda: "elsewhere")
    with pytest.raises(InputError, match="another run holds"):
        take(str(tmp_path), run, RECORD, timeout=0)


def test_waiting_is_bounded(tmp_path: Path, start_run: StartRun) -> None:
    take(str(tmp_path), start_run(), RECORD, timeout=0)
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    with pytest.raises(InputError, match="another run holds"):
        take(str(tmp_path), start_run(), RECORD, timeout=3, clock=lambda: now[0], sleep=sleep)
    assert 3 <= now[0] <= 3.2


def test_two_roots_are_two_locks(tmp_path: Path, start_run: StartRun) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        assert take(str(tmp_path / name), start_run(), RECORD, timeout=0).changed


def test_what_cannot_be_locked_is_one_message(
    tmp_path: Path, start_run: StartRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start_run()
    with pytest.raises(InputError, match="the lock file cannot be opened: No such file"):
        take(str(tmp_path / "no"), run, RECORD, timeout=0)

    def no_locks(_descriptor: int, _operation: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(f"{run_lock.__name__}.fcntl.flock", no_locks)
    with pytest.raises(InputError, match="has no file locks: Operation not supported"):
        take(str(tmp_path), run, RECORD, timeout=0)


def test_a_helper_that_cannot_start_is_told(
    tmp_path: Path, start_run: StartRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise OSError

    monkeypatch.setattr(run_lock, "_become_keeper", broken)
    with pytest.raises(InputError, match="helper process could not be started"):
        take(str(tmp_path), start_run(), RECORD, timeout=0)


def in_process(work: Callable[[], Any]) -> Any:
    """Return what ``work`` returns in a process of its own, as JSON carries it."""
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(tell, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(tell)
    os.waitpid(child, 0)
    with os.fdopen(ready) as file:
        return json.load(file)


def test_the_run_is_the_parent_of_the_workers_session() -> None:
    """A worker leads a session below the run; the module is a process somewhere below the worker."""

    def worker() -> Any:
        os.setsid()
        return in_process(lambda: run_lock.run_owner().pid)

    assert in_process(worker) == os.getpid()


def test_a_module_that_leads_its_session_itself() -> None:
    def module() -> int:
        os.setsid()
        return run_lock.run_owner().pid

    assert in_process(module) == os.getpid()


def test_a_run_that_cannot_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_lock, "parent_of", lambda _pid: None)
    monkeypatch.setattr(f"{run_lock.__name__}.os.getsid", lambda _pid: 1)
    with pytest.raises(InputError, match="owner_pid: the ansible-playbook process cannot be told"):
        run_lock.run_owner()


def test_without_proc_a_signal_tells_who_lives(monkeypatch: pytest.MonkeyPatch, start_run: StartRun) -> None:
    run = start_run()
    monkeypatch.setattr(run_lock, "_stat", lambda _pid: [])
    assert run_lock.is_alive(run)
    assert run_lock.parent_of(run.pid) is None
    end(run.pid)
    assert not run_lock.is_alive(run)
