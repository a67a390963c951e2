# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lock that a whole ansible-playbook run holds, and that ends with it however it ends.

A run is many short processes, so none of them can hold a lock for it. A small helper process holds an advisory file
lock (``flock``) on the run's behalf and waits for the run's process to end; the kernel then drops the lock. The lock is
what counts, never the file: its text only tells a person who holds it. File locks reach across containers of one host
and, where the file system carries them, across hosts.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .core.errors import InputError
from .moments import moment

try:
    import fcntl
except ImportError:  # not on Windows, where no controller runs
    fcntl = None  # type: ignore[assignment]  # a missing module has no type

FILE_NAME = ".deploy.lock"
#: Where the kernel cannot wake us at a process's end, we look this often (seconds).
_LOOK = 0.5
_LONGEST_RECORD = 4096


@dataclass(frozen=True)
class Owner:
    """The process whose end releases the lock; ``start`` tells it from a later one with the same number."""

    pid: int
    start: str = ""


@dataclass(frozen=True)
class LockState:
    """Who holds the lock (``holder``, empty: nobody), whether that is us, and whether we changed it."""

    holder: Mapping[str, Any]
    ours: bool
    changed: bool


def run_owner() -> Owner:
    """Return the ansible-playbook process that this module runs for.

    Ansible's worker makes itself a session leader; its parent is the run's own process, and we are in its session.
    """
    leader = os.getsid(0)
    pid = parent_of(leader) if leader != os.getpid() else os.getppid()
    if pid is None or pid <= 1:
        raise InputError(
            "the ansible-playbook process cannot be told",
            field="owner_pid",
            remedy="Run on the controller (connection local), or give owner_pid",
        )
    return Owner(pid, start_of(pid))


def parent_of(pid: int) -> int | None:
    """Return a process's parent, or nothing where that cannot be read."""
    fields = _stat(pid)
    return int(fields[1]) if len(fields) > 1 else None


def start_of(pid: int) -> str:
    """Return what tells this process from others that get the same number later; empty where it cannot be read."""
    fields = _stat(pid)
    return fields[19] if len(fields) > 19 else ""


def _stat(pid: int) -> list[str]:
    """Return the fields of ``/proc/PID/stat`` from the state on; a command's name may hold spaces and brackets."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def is_alive(owner: Owner) -> bool:
    """Whether the process still runs; one that has ended and waits for its parent does not."""
    fields = _stat(owner.pid)
    if fields:
        return fields[0] not in ("Z", "X") and (not owner.start or fields[19:20] == [owner.start])
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def take(
    root: str,
    owner: Owner,
    record: Mapping[str, Any],
    *,
    timeout: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> LockState:
    """Take the lock for ``owner``; raise :class:`InputError` where another run holds it beyond ``timeout`` seconds."""
    if not is_alive(owner):
        raise InputError("no such process runs", field="owner_pid", found=str(owner.pid))
    end = clock() + timeout
    while True:
        descriptor = _open(root)
        try:
            if _locked(descriptor):
                _start_keeper(descriptor, owner, {**record, **_identity(owner)})
                return LockState(_read(descriptor), True, True)
            holder = _read(descriptor)
        finally:
            os.close(descriptor)
        if _is(holder, owner):
            return LockState(holder, True, False)
        if clock() >= end:
            raise InputError(
                f"another run holds this experiment root: {_told(holder)}",
                where=root,
                remedy="Wait until it has ended; the lock ends with its process, nothing needs to be removed",
            )
        sleep(min(0.1, max(end - clock(), 0.01)))


def hold(root: str, owner: Owner, *, timeout: float, check_mode: bool) -> LockState:
    """Take the lock on the experiment root, or tell whether it would be taken; another run's is refused either way."""
    if not check_mode:
        return take(root, owner, {"host": os.uname().nodename, "since": moment()}, timeout=timeout)
    state = look(root, owner)
    if state.holder and not state.ours:
        raise InputError(f"another run holds this experiment root: {_told(state.holder)}", where=root)
    return LockState(state.holder, True, not state.ours)


def look(root: str, owner: Owner) -> LockState:
    """Return who holds the lock, without taking it."""
    if not os.path.exists(os.path.join(root, FILE_NAME)):
        return LockState({}, False, False)
    descriptor = _open(root)
    try:
        if _locked(descriptor):
            return LockState({}, False, False)
        holder = _read(descriptor)
        return LockState(holder, _is(holder, owner), False)
    finally:
        os.close(descriptor)


def give_back(root: str, owner: Owner, *, wait: Callable[[float], None] = time.sleep) -> LockState:
    """Give the lock back where ``owner`` holds it; another run's lock stays."""
    state = look(root, owner)
    if not state.ours:
        return state
    keeper = state.holder.get("keeper")
    if isinstance(keeper, int):
        with contextlib.suppress(ProcessLookupError):
            os.kill(keeper, signal.SIGTERM)
    for _unused in range(200):
        state = look(root, owner)
        if not state.ours:
            return LockState(state.holder, False, True)
        wait(0.01)
    raise InputError("the lock's helper process does not end", where=root, found=str(keeper))


def _identity(owner: Owner) -> dict[str, Any]:
    return {"pid": owner.pid, "start": owner.start, "space": _process_space()}


def _is(holder: Mapping[str, Any], owner: Owner) -> bool:
    """Whether the record is this run's. Numbers of processes mean something within one process space only."""
    return all(holder.get(name) == value for name, value in _identity(owner).items())


def _process_space() -> str:
    """Return what tells this host's boot and process namespace from all others."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return os.uname().nodename


def _told(holder: Mapping[str, Any]) -> str:
    if not holder:
        return "it left no name"
    return f"process {holder.get('pid')} on {holder.get('host')}, since {holder.get('since')}"


def _open(root: str) -> int:
    path = os.path.join(root, FILE_NAME)
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise InputError(f"the lock file cannot be opened: {error.strerror}", where=path) from error


def _locked(descriptor: int) -> bool:
    """Try to lock, and return whether that worked."""
    if fcntl is None:
        raise InputError("this system has no file locks", field="path")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise InputError(
            f"this file system has no file locks: {error.strerror}",
            field="path",
            remedy="Keep the experiment root on a file system that has them",
        ) from error
    return True


def _read(descriptor: int) -> dict[str, Any]:
    try:
        record = json.loads(os.pread(descriptor, _LONGEST_RECORD, 0) or b"{}")
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _start_keeper(descriptor: int, owner: Owner, record: Mapping[str, Any]) -> None:
    """Start the helper; it shares our open file, so the lock passes to it without ever being free."""
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ready)
            _become_keeper(descriptor, owner, record, tell)
        finally:
            os._exit(0)
    os.close(tell)
    os.waitpid(child, 0)
    # The helper has written its record, or has died on the way and closed the pipe.
    told = os.read(ready, 1)
    os.close(ready)
    if not told:
        raise InputError("the lock's helper process could not be started", field="path")


def _become_keeper(descriptor: int, owner: Owner, record: Mapping[str, Any], tell: int) -> None:
    os.setsid()
    if os.fork() != 0:
        return
    # Nothing of Ansible's may stay open, or it would wait for us.
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    _close_all_but({0, 1, 2, descriptor, tell})
    os.chdir("/")
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    watch = _watch(owner)
    text = json.dumps({**record, "keeper": os.getpid()}).encode()
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text, 0)
    os.write(tell, b"1")
    os.close(tell)
    watch()


def _close_all_but(kept: set[int]) -> None:
    try:
        numbers = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:
        numbers = list(range(256))
    for number in numbers:
        if number not in kept:
            with contextlib.suppress(OSError):
                os.close(number)


def _watch(owner: Owner) -> Callable[[], None]:
    """Return what waits until the process has ended; the kernel tells it where it can."""
    descriptor = -1
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            descriptor = os.pidfd_open(owner.pid)

    def wait() -> None:
        if descriptor >= 0 and is_alive(owner):
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll()
        while is_alive(owner):
            time.sleep(_LOOK)

    return wait
