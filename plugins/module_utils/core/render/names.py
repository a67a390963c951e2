# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of what the operator creates (rules 1.3)."""

from __future__ import annotations

import hashlib

from .. import keys

_PCS_LIMIT = 45
_NAME_LIMIT = 63
#: A dash and four hexadecimal digits.
_SUFFIX = 5


def fnv1a_16(text: str) -> str:
    """Return the low 16 bits of FNV-1a (32 bit) as four hexadecimal digits."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return f"{value & 0xFFFF:04x}"


def sha_8(text: str) -> str:
    """Return the first eight hexadecimal digits of SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def kube_name(name: str, *, lower: bool) -> str:
    """Return a name fit for a Service: dots become dashes, and from 1.5 on capitals become small."""
    dashed = name.replace(".", "-")
    return dashed.lower() if lower else dashed


def resource_name(dgd: str, component: str, worker_hash: str = "") -> str:
    """Return the name of a component's DCD; only workers carry the hash (``GetDCDResourceName``)."""
    name = f"{dgd}-{component.lower()}"
    return f"{name}-{worker_hash}" if worker_hash else name


def clique_set_name(dgd: str, lengths: list[int]) -> str:
    """Return 1.5's PodCliqueSet name; ``lengths`` are what each component adds to a pod's name (``PCSNameForDGD``)."""
    budget = max(_PCS_LIMIT - max(lengths, default=0), 8)
    if len(dgd) <= budget:
        return dgd
    return f"{dgd[: budget - _SUFFIX]}-{fnv1a_16(dgd)}"


def elastic_service_name(dgd: str, component: str) -> str:
    """Return the name of an elastic expert-parallel leader's Service (``ElasticEPLeaderServiceName``)."""
    name = kube_name(f"{dgd}-{component.lower()}-ray", lower=True)
    if len(name) <= _NAME_LIMIT:
        return name
    return f"{name[: _NAME_LIMIT - _SUFFIX]}-{fnv1a_16(name)}"


def model_service_name(model: str) -> str:
    """Return the name of a base model's headless Service (``model_service.go :: GenerateServiceName``)."""
    return f"dynamo-model-{sha_8(model)}"


def label_value(text: str) -> str:
    """Return ``text`` cut to a label's 63 characters as 1.5 does it (54, a dash, eight digits of SHA-256)."""
    return text if len(text) <= _NAME_LIMIT else f"{text[:54]}-{sha_8(text)}"


def wait_script_name(dgd: str) -> str:
    """Return the name of the ConfigMap that holds the wait-for-leader script (``backend_vllm.go``)."""
    return f"{dgd}-wait-leader-script"


def claim_template_name(dgd: str, component: str) -> str:
    """Return the name of the GMS ResourceClaimTemplate (``internal/dra/dra.go``)."""
    return f"{dgd}-{component.lower()}-gpu"


def discovery_role(dgd: str) -> str:
    """Return the name of the discovery Role (``internal/discovery/resource.go``)."""
    return f"{keys.discovery_service_account(dgd)}-role"


def discovery_binding(dgd: str) -> str:
    """Return the name of the discovery RoleBinding."""
    return f"{keys.discovery_service_account(dgd)}-binding"
