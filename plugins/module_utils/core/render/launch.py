# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a multinode component's pods find each other, and how flags get into a container's command (rules 7, 7.0)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

_PYTHON = re.compile(r"(.*/)?(python\d*(\.\d+)*)", re.ASCII | re.DOTALL)
_QUOTED_IF = frozenset(" \t\n'\"\\{}[]$!`")
_POSIX_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_KUBE_VARIABLE = re.compile(r"\$\(([A-Za-z0-9_]+)\)")


@dataclass(frozen=True)
class Deployer:
    """What carries a multinode component: how its leader is called and how a node knows its rank.

    ``rank`` is the text that yields a worker's node rank; ``rank_needs_shell`` tells whether only a shell can.
    """

    kind: str
    rank: str
    rank_needs_shell: bool
    waits_for_dns: bool
    inter_pod_gms: bool = False

    def leader(self, component: str) -> str:
        """Return the leader's host name, with variables that Kubernetes or a shell expands."""
        if self.kind == "lws":
            return "$(LWS_LEADER_ADDRESS)"
        index = "$(GROVE_PCLQ_POD_INDEX)" if self.inter_pod_gms else "0"
        return _grove_host(f"{component.lower()}-ldr-{index}")

    def hosts(self, component: str, nodes: int) -> list[str]:
        """Return the host names of all nodes, the leader first."""
        return [self.leader(component), *self.workers(component, nodes)]

    def workers(self, component: str, nodes: int) -> list[str]:
        """Return the host names of the worker nodes."""
        if self.kind == "lws":
            echo = 'echo "$LWS_LEADER_ADDRESS"'
            return [f"$({echo} | sed 's/\\./-{index}\\./')" for index in range(1, nodes)]
        if self.inter_pod_gms:
            return [_grove_host(f"{component.lower()}-wkr-{rank}-$(GROVE_PCLQ_POD_INDEX)") for rank in range(1, nodes)]
        return [_grove_host(f"{component.lower()}-wkr-{index}") for index in range(nodes - 1)]


def _grove_host(pod: str) -> str:
    return f"$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-{pod}.$(GROVE_HEADLESS_SERVICE)"


LWS = Deployer("lws", "$(LWS_WORKER_INDEX)", rank_needs_shell=False, waits_for_dns=True)
GROVE = Deployer("grove", "$((GROVE_PCLQ_POD_INDEX + 1))", rank_needs_shell=True, waits_for_dns=False)


def grove_gms(rank: int) -> Deployer:
    """Return the deployer of one rank of an inter-pod GMS component: the rank is known when it is rendered."""
    return Deployer("grove", str(rank), rank_needs_shell=False, waits_for_dns=False, inter_pod_gms=True)


def is_python(command: Sequence[str]) -> bool:
    """Return whether the command's program is a Python interpreter itself."""
    return bool(command) and _PYTHON.fullmatch(command[0]) is not None


def quote(text: str) -> str:
    """Quote one word for ``sh -c`` as the operator does: only where it has to, in double quotes."""
    if not _QUOTED_IF.intersection(text):
        return text
    for char in '\\"$`':
        text = text.replace(char, "\\" + char)
    return '"' + text.replace("'", "'\"'\"'") + '"'


def quoted(words: Iterable[str]) -> str:
    """Quote words and join them with spaces."""
    return " ".join(quote(word) for word in words)


def posix_quoted(words: Iterable[str]) -> str:
    """Quote words in single quotes where needed and join them with spaces."""
    return " ".join(word if _POSIX_PLAIN.fullmatch(word) else "'" + word.replace("'", "'\\''") + "'" for word in words)


def shell_variables(text: str) -> str:
    """Spell Kubernetes' ``$(NAME)`` as a shell's ``${NAME}``."""
    return _KUBE_VARIABLE.sub(r"${\1}", text)


def flag_value(container: dict[str, Any], flag: str) -> int:
    """Return the whole number after ``flag`` among the container's arguments, else 1.

    Only the spelt-out form with a space is seen, wherever it stands among the words of the arguments.
    """
    words = argument_words(container)
    for index, word in enumerate(words[:-1]):
        if word == flag and re.fullmatch(r"[+-]?[0-9]{1,18}", words[index + 1], re.ASCII):
            return int(words[index + 1])
    return 1


def has_argument(words: Sequence[str], flag: str, value: str) -> bool:
    """Return whether a command line gives ``flag`` this value, in one word or two, or inside a shell line."""
    return any(f"{flag} {value}" in word or f"{flag}={value}" in word for word in words) or any(
        pair == (flag, value) for pair in pairwise(words)
    )


def argument_words(container: dict[str, Any]) -> list[str]:
    """Return the words of all arguments, split at white space."""
    return [word for arg in container.get("args", ()) for word in arg.split()]


def inject_flags(container: dict[str, Any], flags: str, framework: str, needs_shell: bool) -> None:
    """Put ``flags`` into the container's command line, in place."""
    command = container.get("command", [])
    args = container.get("args", [])
    if not is_python(command):
        _inject_into_shell(container, flags, framework)
    elif needs_shell:
        words = [f"exec {quoted(command)}"]
        if args:
            words.append(quoted(args))
        container["command"] = ["sh", "-c"]
        container["args"] = [" ".join([*words, flags])]
    else:
        container["args"] = [*args, *flags.split()]


def _inject_into_shell(container: dict[str, Any], flags: str, framework: str) -> None:
    launched = re.compile(rf"(python[0-9.]*[\t\n\f\r ]+[^|&;]*{re.escape(framework)}[^|&;]*?)([\t\n\f\r ]|\Z|[|&;])")
    for index, arg in enumerate(container.get("args", ())):
        changed = launched.sub(lambda match: f"{match[1]} {flags}{match[2]}", arg)
        if changed != arg:
            container["args"] = [*container["args"][:index], changed, *container["args"][index + 1 :]]
            return
