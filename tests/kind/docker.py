# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Docker daemon of the kind scenario: the machine's, or one started by the scripts beside the project."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from ..cluster.paths import ROOT, ClusterError, cache_folder
from ..cluster.progress import run_shown, say

OWN_FOLDER = Path(os.environ.get("DOCKER") or "/var/tmp/kind-docker")  # docker.sh's own default
PACKAGES = ("docker.io", "iptables", "debootstrap", "jq", "libcap2-bin", "gcc", "libc6-dev")


def sources_folder() -> Path:
    """Scripts that build a node image and start a daemon without a registry; KIND_SOURCES names another place."""
    return Path(os.environ.get("KIND_SOURCES") or ROOT.parent / "shared" / "kind")


def docker_output(*arguments: str) -> str:
    """Standard output of a docker command; raises ClusterError with what it said."""
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"docker {arguments[0]}: {done.stderr.strip()[-1000:]}")
    return done.stdout


def has_image(name: str) -> bool:
    return bool(docker_output("images", "--quiet", name).strip())


def _answers() -> bool:
    return (
        bool(shutil.which("docker"))
        and not subprocess.run(["docker", "version"], capture_output=True, check=False).returncode
    )


def _install_packages() -> None:
    needed = ("dockerd", "debootstrap", "jq", "capsh", "iptables", "gcc")
    if all(shutil.which(name) for name in needed):
        return
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    log = cache_folder() / "logs" / "kind-packages.log"
    run_shown("Debian's package lists", ["apt-get", "update", "-q"], log, env=env)
    command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *PACKAGES]
    run_shown("Debian packages for Docker", command, log, env=env)


def use_docker() -> bool:
    """Make ``docker`` usable for this process and its children. True when a daemon had to be started.

    Raises ClusterError when there is none and nothing to start one with.
    """
    if _answers():
        return False
    os.environ["DOCKER_HOST"] = f"unix://{OWN_FOLDER}/docker.sock"
    if _answers():
        return False
    sources = sources_folder()
    if not sources.is_dir():
        del os.environ["DOCKER_HOST"]
        raise ClusterError(f"no Docker daemon answers, and there are no scripts in {sources} to start one")
    if os.geteuid() != 0:
        raise ClusterError("a Docker daemon can be started by root only")
    _install_packages()
    say(f"==> Docker daemon in {OWN_FOLDER}")
    done = subprocess.run([str(sources / "docker.sh"), "start"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ClusterError(f"the Docker daemon did not start: {done.stderr[-1000:]}")
    return True


def stop_docker() -> None:
    subprocess.run([str(sources_folder() / "docker.sh"), "stop"], capture_output=True, check=False)
