# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The face of the wait on the controller: lines are shown as they come, and it is never silent for long."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ansible.plugins.action")

from ansible_collections.inference_ops.dynamo.plugins.action import workload_wait
from ansible_collections.inference_ops.dynamo.plugins.action.workload_wait import SILENCE, ActionModule, Tail


def test_whole_lines_are_shown_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    shown: list[str] = []
    path.write_text("", encoding="utf-8")
    tail = Tail(str(path), shown.append)
    with path.open("a", encoding="utf-8") as file:
        file.write("one\ntw")
    tail.look()
    assert shown == ["one"]
    with path.open("a", encoding="utf-8") as file:
        file.write("o\nthree\n")
    tail.look()
    assert shown == ["one", "two", "three"]


def test_silence_is_broken(tmp_path: Path) -> None:
    path, now = tmp_path / "progress", [0.0]
    shown: list[str] = []
    path.write_text("", encoding="utf-8")
    tail = Tail(str(path), shown.append, clock=lambda: now[0])
    now[0] = SILENCE - 0.1
    tail.look()
    assert shown == []
    now[0] = SILENCE
    tail.look()
    now[0] = SILENCE + 1
    tail.look()
    assert shown == [f"still waiting after {round(SILENCE)} s"]
    assert SILENCE + 2 * workload_wait.LOOK < 15


def test_what_is_written_last_is_shown_before_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "progress"
    shown: list[str] = []
    path.write_text("", encoding="utf-8")
    tail = Tail(str(path), shown.append)
    tail.start()
    path.write_text("last\n", encoding="utf-8")
    tail.stop()
    assert shown == ["last"]


class Played(ActionModule):
    """The plugin with the module, the connection and the base class played."""

    def __init__(self, transport: str, **args: Any) -> None:
        self._task = SimpleNamespace(args={"wait_for": "dgd", "names": ["demo"], **args}, async_val=0)
        self._connection = SimpleNamespace(transport=transport)
        self.given: dict[str, Any] = {}

    def _execute_module(self, module_args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        self.given = module_args
        if module_args.get("progress_file"):
            Path(module_args["progress_file"]).write_text("[0s of 1s] Worker 0/1 ready\n", encoding="utf-8")
        return {"state": "ready", "seen": task_vars["inventory_hostname"]}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(workload_wait, "Display", lambda: SimpleNamespace(display=lines.append))
    monkeypatch.setattr("ansible.plugins.action.ActionBase.run", lambda *_args: {})
    return lines


@pytest.mark.parametrize("transport", ["local", "ansible.builtin.local"])
def test_progress_is_shown_beside_the_module(shown: list[str], transport: str) -> None:
    plugin = Played(transport)
    result = plugin.run(task_vars={"inventory_hostname": "east"})
    assert result == {"state": "ready", "seen": "east"}
    assert shown == ["  east: waiting for dgd demo", "  east: [0s of 1s] Worker 0/1 ready"]
    assert not Path(plugin.given["progress_file"]).exists(), "nothing is left behind"


def test_a_remote_module_is_run_and_the_person_told(shown: list[str]) -> None:
    plugin = Played("ssh")
    assert plugin.run(task_vars={"inventory_hostname": "east"})["state"] == "ready"
    assert "progress_file" not in plugin.given
    assert "only at the end" in shown[0]


def test_a_progress_file_of_ones_own_is_left_to_its_owner(shown: list[str], tmp_path: Path) -> None:
    own = str(tmp_path / "own")
    plugin = Played("local", progress_file=own)
    plugin.run(task_vars={"inventory_hostname": "east"})
    assert plugin.given["progress_file"] == own
    assert shown == []
