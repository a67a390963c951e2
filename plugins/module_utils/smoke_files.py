# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the smoke test leaves in the run's own folder: raw bodies as they come in, and the artifact."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from . import store
from .core import schema, smoke
from .core.errors import InputError
from .core.smoke_reasons import ARTIFACT_SCHEMA
from .smoke_run import SmokeResult

FOLDER = "smoke"
BODIES = ("models_body.json", "api_body.json")


def keep_in(root: str) -> Callable[[str, bytes], object]:
    """Return what keeps a raw body below ``root``; nothing is kept where ``root`` is empty.

    Bodies and the artifact of earlier runs are removed at once, so that none of them can ever stand for this run.
    """
    if not root:
        return lambda _name, _body: None
    if not os.path.isdir(root):
        raise InputError("the folder does not exist", where=root, field="deploy_root")
    folder = os.path.join(root, FOLDER)
    store.make_folder(folder)
    for name in (*(os.path.join(FOLDER, body) for body in BODIES), smoke.ARTIFACT_FILE):
        store.remove_file(os.path.join(root, name))
    return lambda name, body: store.write_atomically(os.path.join(folder, name), body)


def read_artifact(root: str) -> object:
    """Return the artifact that an earlier run left, or nothing where there is none that can be read."""
    try:
        return json.loads(store.read_if_there(os.path.join(root, smoke.ARTIFACT_FILE)) or b"null")
    except ValueError:
        return None


def write_artifact(root: str, result: SmokeResult, at: str) -> str:
    """Write the artifact whole, checked against its schema, and return its path."""
    path = os.path.join(root, smoke.ARTIFACT_FILE)
    made = smoke.artifact(
        request=result.request,
        response=result.response,
        success=result.success,
        codes=result.codes,
        findings=result.findings,
        model=result.model,
        stage=result.stage,
        endpoint=result.endpoint.to_result() if result.endpoint else {},
        at=at,
        timings=dict(result.timings),
    )
    schema.check(made, ARTIFACT_SCHEMA, path)
    store.write_atomically(path, (json.dumps(made, indent=2, ensure_ascii=False) + "\n").encode())
    return path
