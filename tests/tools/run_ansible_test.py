# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run ansible-test on a copy of the checkout that lies where ansible-test wants a collection.

``run_ansible_test.py BUILD sanity|units [OPTION ...]``, run by a Python that has ansible installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import ansible_collections

ROOT = Path(__file__).resolve().parents[2]


def stage(build: Path) -> Path:
    """Copy what git knows (so that a local leftover can neither break nor mend the run) and return the folder."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\0")
    collections = build / "ansible_collections"
    target = collections / "inference_ops" / "dynamo"
    shutil.rmtree(target, ignore_errors=True)
    for name in filter(None, listed):
        source = ROOT / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name, follow_symlinks=False)
    # A repository of its own: in the checkout's, the copy would lie in an ignored folder and every file be skipped.
    for command in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *command], cwd=target, check=True)
    # Our roles and module documents refer to kubernetes.core.
    link = collections / "kubernetes"
    link.unlink(missing_ok=True)
    link.symlink_to(Path(next(iter(ansible_collections.__path__))) / "kubernetes")
    return target


def seed_get_pip(home: Path) -> None:
    """Put Python's own pip where ansible-test caches get-pip: the site it comes from may be out of reach."""
    from ansible_test._internal import python_requirements

    source = Path(python_requirements.__file__).read_text(encoding="utf-8")
    versions = {piece.split("'")[0] for piece in source.split("pip='")[1:]} | {"24.2"}
    cache = home / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    for version in versions:
        script = cache / f"get_pip_{version.replace('.', '_')}.py"
        script.write_text("import ensurepip\n\nensurepip.bootstrap(upgrade=True)\n", encoding="utf-8")


def main(argv: list[str]) -> int:
    """Stage the copy and run ansible-test in it."""
    build = Path(argv[0]).resolve() / "ansible-test"
    home = build / "home"
    seed_get_pip(home)
    environment = dict(os.environ)
    environment.setdefault("PIP_CACHE_DIR", str(Path.home() / ".cache" / "pip"))
    # A person's own ~/.ansible stays untouched.
    environment["HOME"] = str(home)
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    for name in ("ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_HOME", "PYTHONPYCACHEPREFIX"):
        environment.pop(name, None)
    return subprocess.run(["ansible-test", *argv[1:]], cwd=stage(build), env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
