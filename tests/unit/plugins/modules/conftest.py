# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a module's ``main()`` in this process, as ansible-core hands it its arguments."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

try:
    from ansible.module_utils.testing import patch_module_args
except ImportError:
    collect_ignore_glob = ["test_*.py"]  # bare pytest without Ansible runs the core's tests only


@dataclass(frozen=True)
class Outcome:
    """What a module printed: its result, and whether it failed."""

    result: Mapping[str, Any]
    failed: bool

    @property
    def message(self) -> str:
        """The module's ``msg``."""
        return str(self.result.get("msg", ""))


RunModule = Callable[..., Outcome]


@contextlib.contextmanager
def _arguments(args: Mapping[str, Any], check: bool, diff: bool) -> Iterator[None]:
    full = {**args, "_ansible_check_mode": check, "_ansible_diff": diff}
    with patch_module_args(full):
        yield


@pytest.fixture
def run_module(capsys: pytest.CaptureFixture[str]) -> RunModule:
    """Return ``run(module, args, check=False, diff=False) -> Outcome``."""

    def run(module: ModuleType, args: Mapping[str, Any], *, check: bool = False, diff: bool = False) -> Outcome:
        capsys.readouterr()
        with _arguments(args, check, diff), pytest.raises(SystemExit) as stopped:
            module.main()
        printed = capsys.readouterr().out.strip().splitlines()
        result = json.loads(printed[-1])
        failed = bool(result.get("failed"))
        if failed != bool(stopped.value.code):
            raise AssertionError(f"exit code {stopped.value.code} does not agree with the result {result}")
        return Outcome(result, failed)

    return run
