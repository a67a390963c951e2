# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection options: those of kubernetes.core, and which parts of an inline kubeconfig are hidden."""

from __future__ import annotations

import pytest

pytest.importorskip("ansible", reason="the options are Ansible's")

from ansible_collections.inference_ops.dynamo.plugins.module_utils._argspec import KUBE_ARGS, kubeconfig_secrets


def test_only_credential_leaves_are_hidden() -> None:
    users = [
        {
            "name": "u",
            "user": {
                "token": "the-token",
                "client-certificate": "/path/cert",
                "client-key-data": "the-key",
                "auth-provider": {"name": "oidc", "config": {"refresh-token": "the-refresh"}},
                "exec": {
                    "command": "aws",
                    "args": ["eks"],
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "env": [{"name": "K", "value": "the-env"}, "odd"],
                },
            },
        },
        "odd",
    ]
    found = kubeconfig_secrets({"users": users, "current-context": "ctx"})
    assert found == {"the-token", "the-key", "oidc", "the-refresh", "the-env"}


@pytest.mark.parametrize("value", [None, "/a/path", {}, {"users": None}, {"users": [{"user": None}]}, 7])
def test_what_holds_no_secret(value: object) -> None:
    assert kubeconfig_secrets(value) == frozenset()


def test_a_very_short_secret_would_blot_out_words() -> None:
    assert kubeconfig_secrets({"users": [{"user": {"password": "abc"}}]}) == frozenset()


def test_names_and_environment_are_those_of_kubernetes_core() -> None:
    core = pytest.importorskip("ansible_collections.kubernetes.core.plugins.module_utils.args_common")
    assert set(KUBE_ARGS) == set(core.AUTH_ARG_SPEC)
    for name, spec in core.AUTH_ARG_SPEC.items():
        assert KUBE_ARGS[name].get("aliases", []) == spec.get("aliases", [])
    for true_name, name in core.AUTH_ARG_MAP.items():
        fallback = KUBE_ARGS[name].get("fallback")
        if fallback is not None:  # proxy_headers has one a field
            assert f"K8S_AUTH_{true_name.upper()}" in fallback[1]
            assert f"K8S_AUTH_{name.upper()}" in fallback[1]
