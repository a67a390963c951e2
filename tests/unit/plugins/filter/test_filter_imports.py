# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""To find one filter Ansible imports every filter file, in every task anew: none may bring a judge along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ansible.errors")

from ansible_collections.inference_ops.dynamo.plugins.filter import image_registry

FOLDER = "ansible_collections.inference_ops.dynamo.plugins.filter"
LIGHT = {"core", "core.demand", "core.errors", "core.manifest", "plain"}
SCRIPT = """
import importlib, pkgutil, sys
folder = importlib.import_module(sys.argv[1])
names = [module.name for module in pkgutil.iter_modules(folder.__path__)]
for name in names:
    importlib.import_module(f"{sys.argv[1]}.{name}")
print(len(names), *sorted(sys.modules))
"""


def test_importing_all_filters_imports_no_judge() -> None:
    path = str(Path(image_registry.__file__).parents[5])
    answer = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {path!r})\n{SCRIPT}", FOLDER],
        capture_output=True,
        text=True,
        check=True,
    )
    count, *modules = answer.stdout.split()
    assert int(count) >= 19
    part = "inference_ops.dynamo.plugins.module_utils."
    assert {name.split(part)[1] for name in modules if part in name} <= LIGHT
