# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the module workload_wait and shows its progress lines while it waits, for a person and for AWX."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

#: How often the progress file is looked at, in seconds.
LOOK = 0.5
#: After this long without a line (a slow start of the module, a long interval) something is shown all the same.
SILENCE = 12.0


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
        names = arguments.get("names") or ""
        waited_for = ", ".join(map(str, names)) if isinstance(names, (list, tuple)) else names
        tail.say(f"waiting for {arguments.get('wait_for', '')} {waited_for}")
        tail.start()
        try:
            arguments["progress_file"] = path
            result.update(self._execute_module(module_args=arguments, task_vars=task_vars))
        finally:
            tail.stop()
            os.unlink(path)
        return result


class Tail(threading.Thread):
    """Gives each whole line that is appended to a file to ``show``, soon after it is written; never silent for long."""

    def __init__(self, path: str, show: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(daemon=True, name="workload_wait-progress")
        self._path = path
        self._show = show
        self._clock = clock
        self._ended = threading.Event()
        self._offset = 0
        self._began = self._said = clock()

    def say(self, line: str) -> None:
        """Show a line now."""
        self._said = self._clock()
        self._show(line)

    def run(self) -> None:
        """Look at the file until :meth:`stop`."""
        while not self._ended.wait(LOOK):
            self.look()
        self.look()

    def stop(self) -> None:
        """Show what is still there and end."""
        self._ended.set()
        self.join(timeout=5)

    def look(self) -> None:
        """Show what was appended since the last look, or that the wait goes on."""
        with open(self._path, "rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole, newline, _rest = data.rpartition(b"\n")
        self._offset += len(whole) + len(newline)
        for line in whole.decode("utf-8", "replace").splitlines():
            self.say(line)
        if self._clock() - self._said >= SILENCE:
            self.say(f"still waiting after {round(self._clock() - self._began)} s")
