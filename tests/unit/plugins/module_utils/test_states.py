# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""States read from files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage import seconds
from ansible_collections.inference_ops.dynamo.plugins.module_utils.states import FRESH, read_dumps

TAKEN = "2026-01-01T10:00:00Z"


def pod(name: str, **metadata: Any) -> dict[str, Any]:
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "n", "uid": name, **metadata}}


def write(folder: Path, name: str, data: Any) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def test_lists_and_single_objects_and_logs(tmp_path: Path) -> None:
    write(tmp_path, "pods.json", {"kind": "List", "items": [pod("a"), pod("b")]})
    write(tmp_path, "more/typed.json", {"kind": "EventList", "items": [{"metadata": {"name": "e"}}]})
    write(tmp_path, "dgd.json", {"kind": "DynamoGraphDeployment", "metadata": {"name": "demo"}})
    write(tmp_path, "again.json", pod("a"))
    write(tmp_path, "strange.json", {"kind": "Widget", "metadata": {"name": "w"}})
    write(tmp_path, "demo-worker-0.log", "last words\n")
    dump = read_dumps(str(tmp_path))
    assert sorted(one["metadata"]["name"] for one in dump.objects["pods"]) == ["a", "b"], "the same object counts once"
    assert [len(dump.objects[kind]) for kind in ("events", "dynamographdeployments", "widgets")] == [1, 1, 1]
    assert dump.logs == {"demo-worker-0": "last words\n"}


def test_the_clock_is_that_of_the_look(tmp_path: Path) -> None:
    path = write(tmp_path, "pods.json", pod("a", creationTimestamp=TAKEN))
    os.utime(path, (seconds(TAKEN) + 30,) * 2)
    assert read_dumps(str(tmp_path)).taken_at == seconds(TAKEN) + 30
    os.utime(path, (seconds(TAKEN) + FRESH + 86400,) * 2)
    assert read_dumps(str(tmp_path)).taken_at == seconds(TAKEN), "a file copied later does not make its state older"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x.json", "{", "not JSON"),
        ("x.json", [1], "must be a Kubernetes object or a List"),
        ("x.json", {"kind": "List", "items": ["text"]}, "an item of the list is no object"),
        ("x.json", "[" * 100_000, "not JSON"),
        ("x.txt", "text", "no .json file"),
    ],
)
def test_what_is_no_dump_is_refused(tmp_path: Path, name: str, data: Any, message: str) -> None:
    write(tmp_path, name, data)
    with pytest.raises(InputError, match=message):
        read_dumps(str(tmp_path))


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        read_dumps(str(tmp_path / "none"))
