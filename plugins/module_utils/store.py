# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are written whole or not at all, also when the run is killed in between."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator

from .core.errors import InputError

try:
    import fcntl
except ImportError:  # not on Windows, where no controller runs
    fcntl = None  # type: ignore[assignment]  # a missing module has no type


def write_atomically(path: str, data: bytes) -> bool:
    """Put ``data`` at ``path`` and return whether that changed anything; see :func:`update_file`."""
    before, _unused = update_file(path, lambda _before: data)
    return before != data


def update_file(path: str, change: Callable[[bytes | None], bytes]) -> tuple[bytes | None, bytes]:
    """Replace the file's content by what ``change`` makes of it, and return both; other writers are kept out meanwhile.

    The new content goes to a temporary file beside its place, is flushed to the disk, and is then renamed; the folder
    is flushed too. At any moment the path holds the old content or the new. A link at ``path`` is followed. Raises
    :class:`InputError`; what ``change`` raises leaves the file as it is.
    """
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    # One name a target: what a killed run left is overwritten, never gathered.
    temporary = os.path.join(folder, f".{os.path.basename(target)}.tmp")
    try:
        with folder_locked(folder):
            before = read_if_there(target)
            after = change(before)
            if after != before:
                try:
                    _write_and_flush(temporary, after, _mode_of(target))
                    os.replace(temporary, target)
                except OSError:
                    remove_file(temporary)
                    raise
                _flush_folder(folder)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", where=path) from error
    return before, after


def read_if_there(path: str) -> bytes | None:
    """Return the file's bytes, or nothing where there is no file; raise :class:`InputError` where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=path) from error


def make_folder(path: str) -> bool:
    """Make a folder and those above it, and return whether it was missing."""
    if os.path.isdir(path):
        return False
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder cannot be made: {error.strerror or error}", where=path) from error
    return True


def remove_file(path: str) -> bool:
    """Remove a file, and return whether it was there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise InputError(f"cannot be removed: {error.strerror or error}", where=path) from error
    return True


@contextlib.contextmanager
def folder_locked(folder: str) -> Iterator[None]:
    """Keep other writers of this folder out while a file is read, changed and written; the kernel drops the lock.

    A file system without such locks is written without; the rename keeps files whole there too.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        if fcntl is not None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            except OSError as error:
                if error.errno not in (errno.ENOSYS, errno.ENOTSUP, errno.EBADF, errno.EINVAL, errno.ENOLCK):
                    raise
        yield
    finally:
        os.close(descriptor)


def _write_and_flush(path: str, data: bytes, mode: int | None) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        file.flush()
        os.fsync(file.fileno())


def _mode_of(path: str) -> int | None:
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        return None


def _flush_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems flush by themselves
            raise
    finally:
        os.close(descriptor)
