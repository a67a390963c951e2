# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vLLM: multinode by multiprocessing, Ray or data parallelism, and its cache (rules 7.1; ``backend_vllm.go``)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from .. import keys
from . import launch, names
from .merge import env_field, env_var
from .node import Node, append_env, drop_probes
from .semver import parse_version

WAIT_CONTAINER = "wait-for-leader-mp"
WAIT_VOLUME = "wait-leader-script"
RAY_WAIT = "«wait for the Ray head»"
#: From this origin version on, multiprocessing is the default.
_MP_SINCE = (1, 0, 0)
_SHELL = ["/bin/sh", "-c"]


def uses_mp(annotations: Mapping[str, str], executor: str) -> bool:
    """Return whether multiprocessing is chosen: by annotation, else by the version that stamped the DGD."""
    if executor == "ray":
        return False
    asked = annotations.get(keys.ANNOTATION_VLLM_EXECUTOR, "").lower()
    if asked in ("mp", "ray"):
        return asked == "mp"
    origin = parse_version(annotations.get(keys.ANNOTATION_ORIGIN_VERSION, ""))
    return origin is not None and origin.at_least(*_MP_SINCE)


def update_container(container: dict[str, Any], node: Node) -> None:
    """Rewrite the command line of a multinode pod and set the cache folder."""
    mp = uses_mp(node.annotations, node.profile.switches.executor)
    elastic = node.profile.switches.elastic_ep
    if node.gms_engine and not launch.has_argument(container.get("args", ()), "--load-format", "gms"):
        launch.inject_flags(container, "--load-format gms", keys.VLLM, needs_shell=False)
        node.note_launch(container, "10.5-inter-pod-gms")
    if node.gms_shadow:
        append_env(container, node, [env_var("DYN_VLLM_GMS_SHADOW_MODE", "true")], "10.5-inter-pod-gms")
    if node.multinode:
        _launch(container, node, mp)
        if mp:
            append_env(container, node, [env_field("VLLM_NIXL_SIDE_CHANNEL_HOST", "status.podIP")], "7.1-side-channel")
        if node.role == "worker":
            drop_probes(container, node)
    elif elastic and node.role == "main" and is_elastic_single(container) and container.get("command"):
        _elastic(container, node)
        variables = [env_field(name, "status.podIP") for name in ("POD_IP", "VLLM_DP_MASTER_IP")]
        append_env(container, node, variables, "7.1-elastic-ep")
    if node.cache_root:
        append_env(container, node, [env_var("VLLM_CACHE_ROOT", node.cache_root)], "4.2-vllm-cache")


def _launch(container: dict[str, Any], node: Node, mp: bool) -> None:
    tensor = launch.flag_value(container, "--tensor-parallel-size")
    pipeline = launch.flag_value(container, "--pipeline-parallel-size")
    data = launch.flag_value(container, "--data-parallel-size")
    world = tensor * pipeline
    if 0 < node.gpus < world:
        _mp(container, node) if mp else _ray(container, node)
    elif node.profile.switches.elastic_ep and "--enable-elastic-ep" in launch.argument_words(container):
        _elastic(container, node)
    elif 0 < node.gpus < world * data:
        _data_parallel(container, node, world, data)


def _mp(container: dict[str, Any], node: Node) -> None:
    deployer = node.deployer
    if deployer is None:
        return
    leader = node.role == "leader"
    rank = "--node-rank 0" if leader else f"--node-rank {deployer.rank} --headless"
    flags = (
        f"--distributed-executor-backend mp --nnodes {node.nodes} --master-addr {deployer.leader(node.component)} "
        f"--master-port {keys.VLLM_MP_PORT} {rank}"
    )
    launch.inject_flags(container, flags, keys.VLLM, not leader and deployer.rank_needs_shell)
    node.note_launch(container, "7.1-mp")


def _ray(container: dict[str, Any], node: Node) -> None:
    if node.deployer is None:
        return
    if node.role == "leader":
        words = [launch.quoted(container.get(key, ())) for key in ("command", "args")]
        text = " ".join([f"ray start --head --port={keys.RAY_PORT} &&", *words, "--distributed-executor-backend ray"])
    else:
        text = f"ray start --address={node.deployer.leader(node.component)}:{keys.RAY_PORT} --block"
    container["command"], container["args"] = list(_SHELL), [text]
    node.note_launch(container, "7.1-ray")


def _data_parallel(container: dict[str, Any], node: Node, world: int, data: int) -> None:
    deployer = node.deployer
    if deployer is None or world <= 0:
        return
    local = node.gpus // world
    total = data if data != 1 else local * node.nodes
    leader = node.role == "leader"
    flags = ["--data-parallel-hybrid-lb"]
    if "--data-parallel-size" not in launch.argument_words(container):
        flags.append(f"--data-parallel-size {total}")
    start = "0" if leader else f"$(( {local} * {deployer.rank} ))"
    flags += [
        f"--data-parallel-size-local {local}",
        f"--data-parallel-start-rank {start}",
        f"--data-parallel-address {deployer.leader(node.component)}",
        f"--data-parallel-rpc-port {keys.VLLM_DP_RPC_PORT}",
    ]
    launch.inject_flags(container, " ".join(flags), keys.VLLM, not leader)
    node.note_launch(container, "7.1-data-parallel")


def is_elastic_single(container: dict[str, Any]) -> bool:
    """Return whether a single-node command line asks for elastic expert parallelism on Ray."""
    words = [word for text in (*container.get("command", ()), *container.get("args", ())) for word in text.split()]
    if "--enable-elastic-ep" not in words:
        return False
    for flag in ("--data-parallel-backend", "-dpb"):
        if f"{flag}=ray" in words:
            return True
        if any(first == flag and second == "ray" for first, second in pairwise(words)):
            return True
    return False


def _elastic(container: dict[str, Any], node: Node) -> None:
    command = [*container.get("command", ()), *container.get("args", ())]
    if not container.get("command"):
        return
    if node.role == "worker" and node.deployer is not None:
        address = f"{node.deployer.leader(node.component)}:{keys.RAY_PORT}"
        text = f"{RAY_WAIT} ray start --address={address} --block"
    else:
        single = node.role == "main"
        own_address = ' --node-ip-address="$POD_IP"' if single else ""
        replaces = "exec " if single else ""
        head = f"ray start --head --port={keys.RAY_PORT}{own_address} --block &"
        text = f"{head} {RAY_WAIT} {replaces}{launch.posix_quoted(command)}"
    container["command"], container["args"] = list(_SHELL), [text]
    node.note_launch(container, "7.1-elastic-ep")


def update_pod(spec: dict[str, Any], node: Node) -> None:
    """Add the init container that keeps a worker from starting before its leader listens."""
    if not _waits(spec, node) or node.deployer is None:
        return
    host = launch.shell_variables(node.deployer.leader(node.component))
    mount = {"name": WAIT_VOLUME, "mountPath": "/scripts", "readOnly": True}
    init = {
        "name": WAIT_CONTAINER,
        "image": spec["containers"][0].get("image", ""),
        "command": [
            "sh",
            "-c",
            f'export LEADER_HOST="{host}" LEADER_PORT="{keys.VLLM_MP_PORT}"'
            " && exec python3 /scripts/wait-for-leader.py",
        ],
        "volumeMounts": [mount],
    }
    if not init["image"]:
        del init["image"]
    volume = {"name": WAIT_VOLUME, "configMap": {"name": names.wait_script_name(node.dgd)}}
    spec["initContainers"] = [*spec.get("initContainers", ()), init]
    spec["volumes"] = [*spec.get("volumes", ()), volume]
    node.notes.note(("initContainers", WAIT_CONTAINER), init, "7.1-wait-for-leader")
    node.notes.note(("volumes", WAIT_VOLUME), volume, "7.1-wait-for-leader")


def _waits(spec: dict[str, Any], node: Node) -> bool:
    if not node.multinode or node.role != "worker":
        return False
    if node.profile.switches.wait_for_leader_by_flags:
        main = spec["containers"][0]
        line = [*main.get("command", ()), *main.get("args", ())]
        words = [word for text in line for word in text.split()]
        return any(launch.has_argument(each, "--distributed-executor-backend", "mp") for each in (line, words))
    return uses_mp(node.annotations, node.profile.switches.executor) and bool(node.dgd)
