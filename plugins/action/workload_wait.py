# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module workload_wait and shows its progress lines while it waits, for a person and for AWX."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

#: How often the progress file is looked at, in seconds.
LOOK = 0.5


class ActionModule(ActionBase):
    """The module's face on the controller."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the module; beside it, show each line that it appends to a file of its own."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        display = Display()
        # The file is on the controller, so only a module that runs there can write into it.
        local = str(self._connection.transport).rsplit(".", 1)[-1] == "local"
        if not local or arguments.get("progress_file"):
            if not local:
                display.display("workload_wait: the connection is not local, so progress is shown only at the end")
            result.update(self._execute_module(module_args=arguments, task_vars=task_vars))
            return result
        handle, path = tempfile.mkstemp(prefix="workload_wait-")
        os.close(handle)
        host = str((task_vars or {}).get("inventory_hostname") or "")
        tail = Tail(path, lambda line: display.display(f"  {host + ': ' if host else ''}{line}"))
        tail.start()
        try:
            arguments["progress_file"] = path
            result.update(self._execute_module(module_args=arguments, task_vars=task_vars))
        finally:
            tail.stop()
            os.unlink(path)
        return result


class Tail(threading.Thread):
    """Gives each whole line that is appended to a file to ``show``, soon after it is written."""

    def __init__(self, path: str, show: Callable[[str], None]) -> None:
        super().__init__(daemon=True, name="workload_wait-progress")
        self._path = path
        self._show = show
        self._ended = threading.Event()
        self._offset = 0

    def run(self) -> None:
        """Look at the file until :meth:`stop`."""
        while not self._ended.wait(LOOK):
            self._read()
        self._read()

    def stop(self) -> None:
        """Show what is still there and end."""
        self._ended.set()
        self.join(timeout=5)

    def _read(self) -> None:
        with open(self._path, "rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole, newline, _rest = data.rpartition(b"\n")
        self._offset += len(whole) + len(newline)
        for line in whole.decode("utf-8", "replace").splitlines():
            self._show(line)
