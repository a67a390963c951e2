# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all modules that touch a cluster take, and the module class that keeps an inline kubeconfig's secrets hidden.

Names, aliases and environment variables are those of kubernetes.core, so that AWX's credentials work unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule, env_fallback


def _option(*environment: str, **spec: Any) -> dict[str, Any]:
    return {**spec, "fallback": (env_fallback, [f"K8S_AUTH_{name}" for name in environment])}


#: The options of the documentation fragment ``inference_ops.dynamo._kube``.
KUBE_ARGS: dict[str, Any] = {
    # A mapping's secrets are hidden leaf by leaf: no_log here would blot out every harmless word of it everywhere.
    "kubeconfig": _option("KUBECONFIG", type="raw", no_log=False),
    "context": _option("CONTEXT", type="str"),
    "host": _option("HOST", type="str"),
    "api_key": _option("API_KEY", type="str", no_log=True),
    "username": _option("USERNAME", type="str"),
    "password": _option("PASSWORD", type="str", no_log=True),
    "client_cert": _option("CLIENT_CERT", "CERT_FILE", type="path", aliases=["cert_file"]),
    "client_key": _option("CLIENT_KEY", "KEY_FILE", type="path", aliases=["key_file"], no_log=False),
    "ca_cert": _option("CA_CERT", "SSL_CA_CERT", type="path", aliases=["ssl_ca_cert"]),
    "validate_certs": _option("VALIDATE_CERTS", "VERIFY_SSL", type="bool", aliases=["verify_ssl"]),
    "proxy": _option("PROXY", type="str"),
    "no_proxy": _option("NO_PROXY", type="str"),
    "proxy_headers": {
        "type": "dict",
        "options": {
            "proxy_basic_auth": _option("PROXY_HEADERS_PROXY_BASIC_AUTH", type="str", no_log=True),
            "basic_auth": _option("PROXY_HEADERS_BASIC_AUTH", type="str", no_log=True),
            "user_agent": _option("PROXY_HEADERS_USER_AGENT", type="str"),
        },
    },
    "persist_config": _option("PERSIST_CONFIG", type="bool"),
    "impersonate_user": _option("IMPERSONATE_USER", type="str"),
    "impersonate_groups": _option("IMPERSONATE_GROUPS", type="list", elements="str"),
}

#: Fields of a kubeconfig's user entries that hold nothing worth hiding.
_PUBLIC_USER_FIELDS = {"name", "client-certificate", "client-key", "tokenFile", "username", "as", "as-groups", "as-uid"}
_PUBLIC_EXEC_FIELDS = {"apiVersion", "command", "args", "installHint", "interactiveMode", "provideClusterInfo"}
#: A shorter value would be replaced inside ordinary words of every result.
_SHORTEST_SECRET = 4


def kubeconfig_secrets(kubeconfig: object) -> frozenset[str]:
    """Return the secret leaves (tokens, passwords, keys, exec environment) of an inline kubeconfig."""
    users = kubeconfig.get("users") if isinstance(kubeconfig, Mapping) else None
    found: set[str] = set()
    for entry in users if isinstance(users, list) else []:
        user = entry.get("user") if isinstance(entry, Mapping) else None
        for name, value in user.items() if isinstance(user, Mapping) else ():
            if name == "exec" and isinstance(value, Mapping):
                value = {key: inner for key, inner in value.items() if key not in _PUBLIC_EXEC_FIELDS}
                value["env"] = [item.get("value") for item in value.get("env") or () if isinstance(item, Mapping)]
            if name not in _PUBLIC_USER_FIELDS:
                found.update(_leaves(value))
    return frozenset(leaf for leaf in found if len(leaf) >= _SHORTEST_SECRET)


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _leaves(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _leaves(inner)
    elif isinstance(value, str):
        yield value


class KubeModule(AnsibleModule):
    """An AnsibleModule whose log lines and results never show the secrets of an inline kubeconfig."""

    def _log_invocation(self) -> None:
        # Called before the first log line is written, and the set made here serves every result afterwards.
        self.no_log_values.update(kubeconfig_secrets(self.params.get("kubeconfig")))
        super()._log_invocation()
