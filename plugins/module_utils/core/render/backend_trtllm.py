# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TensorRT-LLM on several nodes: mpirun over ssh (rules 7.3; ``internal/dynamo/backend_trtllm.go``)."""

from __future__ import annotations

from typing import Any

from .. import keys
from . import launch
from .merge import env_var
from .node import Node, append_env
from .shapes import plain

SSH_PATH = "/ssh-pk"
#: The operator's scripts stand by their names.
SSH_SETUP = "«ssh set-up»"
SSH_DAEMON = "«ssh daemon on port 2222»"


def update_container(container: dict[str, Any], node: Node) -> None:
    """Mount the ssh keys everywhere; the leader runs mpirun, a worker only an ssh daemon."""
    if not node.multinode or node.deployer is None:
        return
    mount = {"name": node.ssh_secret, "mountPath": SSH_PATH, "readOnly": True}
    container["volumeMounts"] = [*container.get("volumeMounts", ()), mount]
    name = container.get("name", "")
    node.notes.note(("containers", name, "volumeMounts", node.ssh_secret), mount, "7.3-ssh-keys")
    append_env(container, node, [env_var("OMPI_MCA_orte_keep_fqdn_hostnames", "1")], "7.3-trtllm")
    text = _leader_text(container, node, node.deployer) if node.role == "leader" else SSH_DAEMON
    container["command"] = ["/bin/sh", "-c"]
    container["args"] = [text]
    node.note_launch(container, "7.3-trtllm")
    if node.role != "leader":
        container.pop("livenessProbe", None)
        container.pop("startupProbe", None)
        container["readinessProbe"] = plain(node.profile.trtllm_worker_readiness)
        node.notes.note(("containers", name, "readinessProbe"), container["readinessProbe"], "7.3-worker-readiness")


def update_pod(spec: dict[str, Any], node: Node) -> None:
    """Add the volume with the ssh keys."""
    if not node.multinode:
        return
    secret = {"secretName": node.ssh_secret, "defaultMode": node.profile.ssh_secret_mode}
    volume = {"name": node.ssh_secret, "secret": secret}
    spec["volumes"] = [*spec.get("volumes", ()), volume]
    node.notes.note(("volumes", node.ssh_secret), volume, "7.3-ssh-keys")


def _leader_text(container: dict[str, Any], node: Node, deployer: launch.Deployer) -> str:
    hosts = deployer.hosts(node.component, node.nodes)
    names = {item["name"] for item in container.get("env", ())} | set(node.profile.mpirun_variables)
    exported = " ".join(f"-x {name}" for name in sorted(names))
    mpirun = (
        'mpirun $([ "$(id -u)" = "0" ] && echo --allow-run-as-root) --oversubscribe '
        f"-n {node.nodes * node.gpus_trtllm} -H {','.join(hosts)} --mca pml ob1 "
        f'--mca plm_rsh_args "-p {keys.MPI_SSH_PORT} -o StrictHostKeyChecking=no -i $HOME/.ssh/id_rsa" '
        f"{exported} bash -c 'trtllm-llmapi-launch {_original(container)}'"
    )
    waits = [f"«wait for DNS of {' '.join(hosts[1:])}»"] if deployer.waits_for_dns else []
    return " && ".join([SSH_SETUP, *waits, mpirun])


def _original(container: dict[str, Any]) -> str:
    command = container.get("command", [])
    args = container.get("args", [])
    if launch.is_python(command):
        return " ".join(part for part in (launch.quoted(command), launch.quoted(args)) if part)
    return " ".join(args or command)
