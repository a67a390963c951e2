# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rendering filters share: plain data in, the core's options, its answers out."""

from __future__ import annotations

from typing import Any

from .core.docker_secrets import SecretEntry
from .core.errors import InputError, shown
from .core.manifest import Document, choose_dgd, documents_of
from .core.rendering import RenderOptions, RenderReport, render_document
from .core.snapshot import Snapshot
from .plain import to_plain


def document_of(definition: object, name: object, where: str) -> Document:
    """Return the DGD in what a filter was handed."""
    return choose_dgd(documents_of(to_plain(definition, where), where), text_of(name, f"{where}: name"))


def report_of(definition: object, where: str, **options: object) -> RenderReport:
    """Render what a filter was handed; a refused DGD is an error that says why."""
    document = document_of(definition, options.pop("name", ""), where)
    report = render_document(document, options_of(where, options))
    if report.rejections:
        raise InputError(report.refusal().removesuffix("."))
    return report


def options_of(where: str, options: dict[str, object]) -> RenderOptions:
    """Make the core's options of a filter's keywords."""
    snapshot = to_plain(options.get("snapshot"), f"{where}: snapshot")
    secrets = to_plain(options.get("pull_secrets"), f"{where}: pull_secrets")
    config = to_plain(options.get("operator_config") or {}, f"{where}: operator_config")
    if not isinstance(config, dict):
        raise InputError("must be a mapping", where=where, field="operator_config", found=shown(config))
    if secrets is not None and not isinstance(secrets, list):
        raise InputError("must be a list", where=where, field="pull_secrets", found=shown(secrets))
    return RenderOptions(
        namespace=text_of(options.get("namespace"), f"{where}: namespace"),
        release=text_of(options.get("operator_release") or "auto", f"{where}: operator_release"),
        pathway=_pathway(options.get("pathway") or "auto", where),
        config=config,
        secrets=None if secrets is None else tuple(_secret(secret, where) for secret in secrets),
        snapshot=None if snapshot is None else Snapshot.from_plain(snapshot, f"{where}: snapshot"),
        compare_to=text_of(options.get("compare_to"), f"{where}: compare_to"),
    )


def _secret(secret: Any, where: str) -> SecretEntry:
    if isinstance(secret, dict):
        secret = {"type": "kubernetes.io/dockerconfigjson", **secret}
    return SecretEntry.from_snapshot(secret, f"{where}: pull_secrets")


def _pathway(value: object, where: str) -> str:
    pathway = text_of(value, f"{where}: pathway")
    if pathway not in ("auto", "deployment", "lws", "grove"):
        raise InputError("must be auto, deployment, lws or grove", where=where, field="pathway", found=shown(pathway))
    return pathway


def text_of(value: object, where: str) -> str:
    """Return a keyword that must be text; nothing stands for an empty one."""
    plain = to_plain(value, where)
    if plain is None:
        return ""
    if not isinstance(plain, str):
        raise InputError("must be text", where=where, found=shown(plain), remedy="Put it in quotes")
    return plain
