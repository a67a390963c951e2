# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files are whole at any moment: a writer is killed before each of its steps, and between any two bytes."""

from __future__ import annotations

import os
import random
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils import store
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError

STORE = store.__name__
OLD, NEW = b"old " * 5000, b"new " * 5000


def in_child(work: Callable[[], Any]) -> int:
    """Run ``work`` in a child process, and return its wait status."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1]


def dying_at(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this process kill itself before its ``step``-th call that touches the disk."""
    left = [step]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return call

    for name in ("open", "fsync", "replace", "fchmod", "close", "stat", "fdopen"):
        monkeypatch.setattr(f"{STORE}.os.{name}", counted(getattr(os, name)))


@pytest.mark.parametrize("existing", [None, OLD])
def test_a_writer_killed_before_any_step_leaves_old_or_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existing: bytes | None
) -> None:
    seen = set()
    for step in range(1, 20):
        path = tmp_path / str(step) / "ledger.json"
        path.parent.mkdir()
        if existing is not None:
            path.write_bytes(existing)

        def work(path: Path = path, step: int = step) -> None:
            dying_at(step, monkeypatch)
            store.write_atomically(str(path), NEW)

        status = in_child(work)
        found = path.read_bytes() if path.exists() else None
        assert found in (existing, NEW)
        seen.add((os.WIFSIGNALED(status), found))
        store.write_atomically(str(path), NEW)
        assert path.read_bytes() == NEW
        assert os.listdir(path.parent) == ["ledger.json"]
    # The steps reached from the first to past the last: killed with the old, killed with the new, and not killed.
    assert seen == {(True, existing), (True, NEW), (False, NEW)}


def test_a_writer_killed_at_random_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    contents = [bytes([65 + number]) * 200_000 for number in range(4)]
    choose = random.Random(7)
    for _unused in range(20):
        ready, tell = os.pipe()
        child = os.fork()
        if child == 0:
            while True:
                for content in contents:
                    store.write_atomically(str(path), content)
                    os.write(tell, b".")
        os.close(tell)
        for _unused in range(choose.randrange(1, 12)):
            os.read(ready, 1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        assert path.read_bytes() in contents


def test_the_same_content_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "f"
    assert store.write_atomically(str(path), b"a") is True
    before = path.stat()
    assert store.write_atomically(str(path), b"a") is False
    assert path.stat().st_ino == before.st_ino


def test_mode_and_link_are_kept(tmp_path: Path) -> None:
    path, link = tmp_path / "f", tmp_path / "link"
    path.write_bytes(b"a")
    path.chmod(0o640)
    link.symlink_to(path)
    store.write_atomically(str(link), b"b")
    assert link.is_symlink()
    assert path.read_bytes() == b"b"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_two_writers_lose_no_change(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_bytes(b"0")

    def add_many() -> None:
        for _unused in range(50):
            store.update_file(str(path), lambda text: str(int(text or b"0") + 1).encode())

    children = []
    for _unused in range(3):
        child = os.fork()
        if child == 0:
            add_many()
            os._exit(0)
        children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    assert path.read_bytes() == b"150"


def test_a_refused_change_leaves_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a")

    def refuse(_text: bytes | None) -> bytes:
        raise InputError("no", where="f")

    with pytest.raises(InputError, match="f: no"):
        store.update_file(str(path), refuse)
    assert os.listdir(tmp_path) == ["f"]


def test_what_cannot_be_written_is_one_message(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        store.write_atomically(str(folder), b"a")
    with pytest.raises(InputError, match="cannot be written: No such file"):
        store.write_atomically(str(tmp_path / "missing" / "f"), b"a")
    with pytest.raises(InputError, match="cannot be removed"):
        store.remove_file(str(folder))
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="the folder cannot be made"):
        store.make_folder(str(tmp_path / "file" / "x"))


def test_a_full_disk_leaves_the_old_file_and_no_scrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"{STORE}.os.fsync", full)
    with pytest.raises(InputError, match="f: cannot be written: No space left on device"):
        store.write_atomically(str(path), b"b")
    assert path.read_bytes() == b"a"
    assert os.listdir(tmp_path) == ["f"]


def test_a_file_system_without_locks_is_written_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(_descriptor: int, _operation: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(f"{STORE}.fcntl.flock", no_locks)
    assert store.write_atomically(str(tmp_path / "f"), b"a")


def test_folders_and_removal_say_whether_anything_changed(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert store.make_folder(str(folder)) is True
    assert store.make_folder(str(folder)) is False
    (folder / "f").write_bytes(b"")
    assert store.remove_file(str(folder / "f")) is True
    assert store.remove_file(str(folder / "f")) is False
