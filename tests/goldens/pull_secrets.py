# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare both look-ups with the operator's own indexers and the kubelet's own keyring.

The cases' secrets go through the same collection function as a cluster's, so what it leaves out cannot matter.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.docker_secrets import (
    DATA_KEYS,
    SecretEntry,
    collect_secret,
    go_base64,
    public_key,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.go_url import UrlError, registry_host
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.image_reference import (
    ImageNameError,
    parse_image,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.keyring import Keyring, operator_index
from ansible_collections.inference_ops.dynamo.tests.goldens.rows import Row, compared

#: The namespace of the pod in every case.
NAMESPACE = "default"
Json = Mapping[str, Any]


def run(folder: Path) -> Iterator[Row]:
    """Yield one row a case and program."""
    file = folder / "pull_secrets" / "cases.json"
    if not file.is_file():
        return
    cases = json.loads(file.read_text(encoding="utf-8"))["cases"]
    yield from compared(cases, lambda case: str(case["id"]), _rows)


def _rows(case: Json) -> Iterator[Row]:
    secrets = [_collected(secret) for secret in case["secrets"]]
    for release in ("1.1", "1.5"):
        expected = case[f"operator_{release.replace('.', '_')}"]
        ours = _operator(secrets, case["image"], release, expected)
        yield _row(f"operator {release}", case["id"], ours, expected)
    yield _row("kubelet", case["id"], _kubelet(secrets, case), case["kubelet"])


def _collected(secret: Json) -> SecretEntry:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in secret["data"].items()}
    metadata = {"name": secret["name"], "namespace": secret["namespace"]}
    # As the API serves it, and once through JSON, as a saved snapshot holds it.
    entry = collect_secret({"metadata": metadata, "type": secret["type"], "data": data})
    return SecretEntry.from_snapshot(json.loads(json.dumps(entry.to_snapshot())))


def _operator(secrets: list[SecretEntry], image: str, release: str, expected: Json) -> dict[str, Any]:
    index = operator_index(secrets, release)
    ours: dict[str, Any] = {
        "secrets": list(index.lookup(image, NAMESPACE)),
        "imagePullSecrets": list(index.attach([image], NAMESPACE)),
    }
    try:
        registry_host(image)
    except UrlError as error:
        ours["lookupError"] = _same_meaning(str(error), expected.get("lookupError"))
    if index.blocked_by or index.skipped:
        # The operator's text quotes what it refused; ours names the secret alone.
        names = [name.rpartition("/")[2] for name in (*index.blocked_by, *index.skipped)]
        text = str(expected.get("refreshError"))
        ours["refreshError"] = text if all(f"{name}:" in text for name in names) else f"refused: {names}"
    return ours


def _kubelet(secrets: list[SecretEntry], case: Json) -> dict[str, Any]:
    expected = case["kubelet"]
    local = [secret for secret in secrets if secret.namespace == NAMESPACE]
    try:
        name = parse_image(case["image"]).name
    except ImageNameError as error:
        parse_error = _same_meaning(str(error), expected.get("imageParseError"))
        return {"secrets": [], "usersInOrder": [], "imageParseError": parse_error}
    whole = Keyring(local)
    users = _users(case["secrets"])
    ours: dict[str, Any] = {
        "repoToPull": name,
        "secrets": [secret.name for secret in local if not _broken([secret]) and Keyring([secret]).lookup(name)],
        "usersInOrder": [] if whole.broken else [users[match.secret, match.registry] for match in whole.lookup(name)],
    }
    if whole.broken:
        ours["allSecretsError"] = _same_meaning("", expected.get("allSecretsError"))
        ours["perSecretErrors"] = {
            key: _same_meaning("", (expected.get("perSecretErrors") or {}).get(key)) for key in whole.broken
        }
    return ours


def _broken(secrets: list[SecretEntry]) -> bool:
    return bool(Keyring(secrets).broken)


def _users(secrets: list[Json]) -> dict[tuple[str, str], str]:
    """The user name behind each credential, which only the cases' raw data tell; ours never leaves the collection."""
    users = {}
    for secret in secrets:
        try:
            document = json.loads(secret["data"].get(DATA_KEYS.get(secret["type"], ""), "{}"))
            entries = document if secret["type"].endswith("dockercfg") else document.get("auths") or {}
            for key, entry in entries.items():
                decoded = go_base64(entry.get("auth") or "") or entry.get("username", "").encode()
                user = decoded.decode("utf-8", "replace").partition(":")[0]
                users[secret["name"], public_key(key) or key] = user
        except (ValueError, AttributeError):  # malformed on purpose: nobody uses it
            continue
    return users


def _same_meaning(ours: str, theirs: object) -> str:
    """Return their text where ours, without what it quotes, stands in it: then the two compare equal."""
    return str(theirs) if theirs and ours in str(theirs) else f"refused: {ours}"


def _row(group: str, name: str, ours: Json, expected: Json) -> Row:
    if ours == expected:
        return Row(group, name, "equal")
    wrong = sorted(key for key in {*ours, *expected} if ours.get(key) != expected.get(key))
    detail = "; ".join(f"{key}: ours {ours.get(key)!r}, theirs {expected.get(key)!r}" for key in wrong)
    return Row(group, name, "different", detail)
