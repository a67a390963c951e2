# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two images of the kind scenario: the node's, and the one that holds the real frontend and mocker."""

from __future__ import annotations

import hashlib
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ..cluster.paths import HERE as CLUSTER
from ..cluster.paths import ROOT, ClusterError, cache_folder
from ..cluster.progress import run_shown, say
from ..cluster.served_model import REQUIREMENT, hub_snapshot
from .docker import docker_output, has_image, sources_folder

HERE = Path(__file__).resolve().parent
PUBLIC_NODE_IMAGE = "kindest/node:v1.34.0"
# The name in the recipe. Its tag gets a content hash here, so that a changed image is another one.
SERVED_IMAGE = "localhost/inference-ops/dynamo-mocker:1.1.1"
SUITE = "bookworm"  # its python3 is 3.11, as the wheels below
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "any")
MODEL_SOURCE = "opt/model-source"


def _log(name: str) -> Path:
    return cache_folder() / "logs" / f"kind-{name}.log"


def tree_hash(folder: Path) -> str:
    """16 hex digits over all files below a folder."""
    lines = [
        f"{path.relative_to(folder)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        for path in sorted(folder.rglob("*"), key=lambda path: str(path.relative_to(folder)))
        if path.is_file()
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


def node_work_folder() -> Path:
    """Where the sources' own scripts build; named by their content, so that a change builds anew."""
    return cache_folder() / "kind-node" / tree_hash(sources_folder())


def ensure_node_image() -> str:
    """The node image to use: KIND_NODE_IMAGE, one built from the sources beside the project, or the public one."""
    if given := os.environ.get("KIND_NODE_IMAGE"):
        return given
    sources = sources_folder()
    if not sources.is_dir():
        return PUBLIC_NODE_IMAGE
    work = node_work_folder()
    image = f"kind-node:{work.name}"
    if has_image(image):
        return image
    archive = work / "kind-node.tar"
    if not archive.exists():
        work.mkdir(parents=True, exist_ok=True)
        env = {**os.environ, "WORK": str(work), "IMAGE": image}
        run_shown(
            "kind node image from Debian packages and Go modules (about 15 minutes the first time)",
            [str(sources / "build-node-image.sh")],
            _log("node-image"),
            cwd=sources,
            env=env,
            detail=lambda: " ".join(sorted(path.name for path in (work / "bin").glob("*"))[-3:]),
        )
    loaded = docker_output("load", "-i", str(archive))
    name = loaded.rpartition("Loaded image: ")[2].strip()
    if name and name != image:
        docker_output("tag", name, image)
    return image


def program(name: str) -> str:
    """kind or kubectl: the one built with the node image, else the machine's."""
    if sources_folder().is_dir() and (built := node_work_folder() / "bin" / name).exists():
        return str(built)
    if found := shutil.which(name):
        return found
    raise ClusterError(f"{name} is not installed, and no sources to build it from are in {sources_folder()}")


def _served_key() -> str:
    files = b"".join(path.read_bytes() for path in (CLUSTER / "tiny_model.py", HERE / "Dockerfile"))
    steps = "".join(map(inspect.getsource, (_pip, _write_root)))
    return hashlib.sha256(files + f"{REQUIREMENT} {SUITE} {PLATFORMS} {steps}".encode()).hexdigest()[:16]


def _pip(target: Path) -> list[str]:
    """The wheels for the image's Python, whatever Python runs this."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    command += ["--target", str(target), "--only-binary", ":all:", "--python-version", "3.11", "--implementation", "cp"]
    for abi in ("cp311", "abi3", "none"):
        command += ["--abi", abi]
    for platform in PLATFORMS:
        command += ["--platform", platform]
    return [*command, REQUIREMENT]


def _inside(root: Path, what: str, *arguments: str) -> None:
    """Run the image's Python."""
    environment = ["env", "-i", "PATH=/usr/bin:/bin", "PYTHONPATH=/opt/dynamo"]
    run_shown(what, ["chroot", str(root), *environment, "python3", *arguments], _log("python"))


def _write_root(root: Path) -> None:
    """A Debian with Python, Dynamo's wheels and the tiny model, made by debootstrap: no image registry is used."""
    run_shown(
        "Debian base for the served model's image",
        ["debootstrap", "--variant=minbase", "--include=python3,ca-certificates", SUITE, str(root)],
        _log("debootstrap"),
    )
    run_shown(f"{REQUIREMENT} into the image", _pip(root / "opt" / "dynamo"), _log("wheels"))
    snapshot = hub_snapshot(root / MODEL_SOURCE)
    script = root / "tmp" / "tiny_model.py"
    shutil.copy(CLUSTER / "tiny_model.py", script)
    _inside(root, "the tiny model", "/tmp/tiny_model.py", f"/{snapshot.relative_to(root)}")
    script.unlink()
    # A first run leaves compiled modules: without them a start on a busy machine outlasts the liveness probe.
    for module in ("dynamo.frontend", "dynamo.mocker"):
        _inside(root, f"first run of {module}", "-m", module, "--help")
    for waste in ("var/lib/apt/lists", "var/cache/apt", "usr/share/doc", "usr/share/man", "usr/share/locale"):
        shutil.rmtree(root / waste, ignore_errors=True)


def _remove_root(root: Path) -> None:
    """debootstrap may leave /proc and /sys mounted below: never reach into those."""
    for name in ("proc", "sys"):
        subprocess.run(["umount", "--lazy", str(root / name)], capture_output=True, check=False)
    subprocess.run(["rm", "-rf", "--one-file-system", str(root)], check=True)


def _import_root(archive: Path) -> None:
    changes = ["ENV PYTHONPATH=/opt/dynamo", "ENV PATH=/usr/local/bin:/usr/bin:/bin"]
    options = [part for change in changes for part in ("-c", change)]
    docker_output("import", *options, str(archive), f"{SERVED_IMAGE}-{_served_key()}")


def ensure_served_image() -> str:
    """Name of the image in the Docker daemon; built once for each content of what goes into it."""
    image = f"{SERVED_IMAGE}-{_served_key()}"
    if has_image(image):
        return image
    if not sources_folder().is_dir() or not shutil.which("debootstrap"):
        _build_from_dockerfile(image)
        return image
    archive = cache_folder() / "kind-served" / f"{_served_key()}.tar"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        root = Path(tempfile.mkdtemp(prefix="root-", dir=archive.parent))
        new = archive.with_suffix(".new")
        try:
            _write_root(root)
            pack = ["tar", "-C", str(root), "--one-file-system", "--numeric-owner", "-cf", str(new), "."]
            run_shown("the image's archive", pack, _log("pack"))
        finally:
            _remove_root(root)
        new.rename(archive)
    say("==> served model's image into Docker")
    _import_root(archive)
    return image


def _build_from_dockerfile(image: str) -> None:
    from ..cluster.served_model import ensure_environment, write_hub_cache

    with tempfile.TemporaryDirectory() as scratch:
        context = Path(scratch)
        shutil.copy(HERE / "Dockerfile", context)
        write_hub_cache(ensure_environment(), context / "model-source")
        build = ["docker", "build", "--build-arg", f"REQUIREMENT={REQUIREMENT}", "-t", image, str(context)]
        run_shown("served model's image", build, _log("docker-build"), cwd=ROOT)
