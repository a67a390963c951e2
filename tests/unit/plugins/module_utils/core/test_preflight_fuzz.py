# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a manifest or a saved snapshot holds, the judges answer or refuse it in one message."""

from __future__ import annotations

import json
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.preflight import (
    PreflightRequest,
    judge_preflight,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.pull_request import (
    manifest_uses,
    snapshot_request,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.pull_secrets import match_pull_secrets
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.references import references_of
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot import Snapshot
from ansible_collections.inference_ops.dynamo.tests.doubles.snapshots import snapshot, snapshot_data
from hypothesis import given, settings
from hypothesis import strategies as st

FIELDS = [
    "kind", "apiVersion", "metadata", "name", "namespace", "spec", "status", "services", "components", "template",
    "containers", "image", "env", "valueFrom", "secretKeyRef", "configMapKeyRef", "key", "envFromSecret", "volumes",
    "secret", "secretName", "items", "projected", "sources", "persistentVolumeClaim", "claimName", "pvcs", "create",
    "imagePullSecrets", "serviceAccountName", "storageClassName", "components[0]", "annotations", "deletionTimestamp",
]  # fmt: skip
TEXTS = [
    "Job",
    "Pod",
    "DynamoGraphDeployment",
    "PersistentVolumeClaim",
    "nvidia.com/v1alpha1",
    "v1",
    "x",
    "",
    "a.io/x:1",
]
LEAVES = st.sampled_from(TEXTS) | st.none() | st.booleans() | st.integers()
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4),
    max_leaves=25,
)
OBJECTS = st.lists(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6), max_size=3)


@settings(max_examples=200, deadline=None)
@given(OBJECTS)
def test_any_manifest_is_judged(objects: list[dict[str, Any]]) -> None:
    references = references_of(objects)
    assert all(item.name and item.used_by for item in references.items)
    view = snapshot()
    report = judge_preflight(PreflightRequest(view, tuple(objects)))
    assert json.dumps(report.to_result())
    assert match_pull_secrets(snapshot_request(tuple(manifest_uses(objects)), view))


PARTS = st.sampled_from(
    [*snapshot_data(), "secrets", "configmaps", "persistentvolumeclaims", "operator", "dry_runs", "checked"]
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(PARTS, VALUES, max_size=3))
def test_any_saved_snapshot_is_judged_or_refused(parts: dict[str, Any]) -> None:
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"serviceAccountName": "x"}}
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "x"}, "spec": {}}
    view = refused = None
    try:
        view = Snapshot.from_plain({**snapshot_data(), **parts}, "saved.json")
    except InputError as error:
        refused = str(error)
    if view is None:
        assert refused is not None
        assert "saved.json" in refused
    else:
        assert judge_preflight(PreflightRequest(view, (manifest, claim))).findings
