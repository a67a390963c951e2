# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the control plane's programs from Go modules, once per content of go.mod and go.sum."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .paths import HERE, ClusterError, cache_folder, content_hash
from .progress import run_shown, say
from .toolchain import find_go

# kwokctl's option for each program; etcd's package is called server.
PROGRAMS = {
    "server": "--etcd-binary",
    "kube-apiserver": "--kube-apiserver-binary",
    "kube-controller-manager": "--kube-controller-manager-binary",
    "kube-scheduler": "--kube-scheduler-binary",
    "kwok": "--kwok-controller-binary",
}
VERSION_PACKAGE = "k8s.io/component-base/version"


def kubernetes_version() -> str:
    """As go.mod has it, like v1.36.3."""
    found = re.search(r"^\sk8s\.io/kubernetes (v[\d.]+)", (HERE / "go.mod").read_text(), re.MULTILINE)
    if not found:
        raise ClusterError(f"{HERE / 'go.mod'} names no k8s.io/kubernetes version")
    return found.group(1)


def binaries_folder() -> Path:
    return cache_folder() / "cluster" / content_hash([HERE / "go.mod", HERE / "go.sum"])


def is_built(folder: Path) -> bool:
    return all(os.access(folder / program, os.X_OK) for program in [*PROGRAMS, "kwokctl"])


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One build at a time on a machine: two would take twice as long."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"==> another build holds {path}; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _link_flags() -> str:
    version = kubernetes_version()
    major, minor = version.lstrip("v").split(".")[:2]
    # Without these, clients read version 0.0.0.
    settings = {"gitVersion": version, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return "-s -w " + " ".join(f"-X {VERSION_PACKAGE}.{name}={value}" for name, value in settings.items())


def _build(folder: Path) -> None:
    go = find_go()
    env = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod -trimpath -buildvcs=false", "GOWORK": "off"}
    logs = cache_folder() / "logs"
    folder.parent.mkdir(parents=True, exist_ok=True)
    # In a copy, since -mod=mod may write to go.mod and the name of the cache must stay true.
    with tempfile.TemporaryDirectory(prefix=".build-", dir=folder.parent) as scratch:
        source = Path(scratch)
        for name in ("go.mod", "go.sum"):
            shutil.copy(HERE / name, source / name)
        output = source / "bin"
        output.mkdir()
        run_shown("Go modules", [go, "mod", "download"], logs / "go-download.log", cwd=source, env=env)

        packages = subprocess.run(
            [go, "list", "-deps", "tool"], cwd=source, env=env, capture_output=True, text=True, check=False
        )
        total = len(packages.stdout.split())
        log = logs / "go-build.log"

        def built() -> str:
            # -v names each package as it is compiled; those in Go's cache are not named.
            compiled = len(log.read_text(errors="replace").splitlines())
            linked = len(list(output.iterdir()))
            return f"{compiled} of at most {total} packages compiled, {linked} of {len(PROGRAMS) + 1} programs linked"

        run_shown(
            "control plane programs (about 15 CPU minutes the first time; Go's own cache is used)",
            [go, "build", "-v", "-ldflags", _link_flags(), "-o", f"{output}/", "tool"],
            log,
            cwd=source,
            env=env,
            detail=built,
        )
        if not is_built(output):
            raise ClusterError(f"go build left programs out; see {log}")
        shutil.rmtree(folder, ignore_errors=True)
        output.rename(folder)


def ensure_binaries() -> Path:
    """Folder with all programs; builds them when the cache has none that fit."""
    folder = binaries_folder()
    if not is_built(folder):
        with _locked(folder.with_suffix(".lock")):
            if not is_built(folder):
                _build(folder)
    return folder


def check_runs(folder: Path) -> None:
    """A cached program of another machine may not run here; say so before kwokctl waits for it in vain."""
    try:
        subprocess.run([folder / "kwokctl", "--version"], check=True, capture_output=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        raise ClusterError(
            f"{folder / 'kwokctl'} does not run here ({error}); remove {folder} to build anew"
        ) from error
