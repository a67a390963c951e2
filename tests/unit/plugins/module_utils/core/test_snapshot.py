# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots: what they say of a cluster, what they refuse, and the operator's facts in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.operator_facts import (
    OperatorFacts,
    operator_facts,
    version_of,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot import (
    COLLECTED,
    KindState,
    Snapshot,
    SnapshotBuilder,
    unknown_kinds,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot_schema import SNAPSHOT_SCHEMA
from ansible_collections.inference_ops.dynamo.tests.doubles.snapshots import named, snapshot, snapshot_data

SCHEMA_FILE = Path(__file__).resolve().parents[5] / "docs" / "schemas" / "snapshot.schema.json"


def test_existence_has_three_answers() -> None:
    view = snapshot(
        serviceaccounts=[named("a")],
        states={"configmaps": "forbidden", "podcliquesets": "absent"},
        checked={"secrets": {"s": "observed"}, "configmaps": {"c": "absent", "d": "forbidden"}},
    )
    assert view.exists("serviceaccounts", "a") is True
    assert view.exists("serviceaccounts", "b") is False
    assert view.exists("configmaps", "x") is None
    assert view.exists("podcliquesets", "x") is False
    assert view.exists("secrets", "s") is True
    assert view.exists("configmaps", "c") is False
    assert view.exists("configmaps", "d") is None
    assert view.exists("events", "x") is None
    assert view.state("events") == KindState("not_collected", "the snapshot does not hold this kind")


def test_api_groups_are_unknown_where_discovery_failed() -> None:
    assert snapshot(api_groups=["grove.io"]).api_groups == frozenset({"grove.io"})
    assert snapshot(states={"api_groups": "error"}).api_groups is None


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"schema": "other"}, "saved.json: schema: not a snapshot of this collection (found 'other')"),
        ({"taken_at": 7}, "saved.json: taken_at: must be text"),
        ({"kinds": []}, "saved.json: kinds: must say of each kind"),
        ({"kinds": {"nodes": {"state": "odd"}}}, "saved.json: kinds.nodes.state: must be one of"),
        ({"kinds": {"nodes": "observed"}}, "saved.json: kinds.nodes.state: must be one of"),
        ({"nodes": {}}, "saved.json: nodes: must be a list"),
        ({"nodes": [named("a"), {"metadata": {}}]}, "saved.json: nodes[1]: must be an object with a name"),
        ({"pods": [{"metadata": {"name": "p"}, "spec": []}]}, None),
        ({"pods": [{"metadata": {"name": "p"}, "spec": [1]}]}, "saved.json: pods[0].spec: must be a mapping"),
        ({"secrets": [{"name": "s", "data": {"a": "planted"}}]}, "s.data: only name"),
        ({"operator": []}, None),
        ({"operator": ["x"]}, "saved.json: operator: must be a mapping"),
        ({"checked": {"secrets": ["s"]}}, "saved.json: checked: must map kinds to names"),
        ({"dry_runs": ["x"]}, "saved.json: dry_runs[0]: must be a mapping"),
        ({"dry_runs": {"a": 1}}, "saved.json: dry_runs: must be a list"),
        ({"operator": {"ready": "yes", "args": "x", "grove": 1}}, None),
        ({"api_groups": "x"}, "saved.json: api_groups: must be a list"),
    ],
)
def test_a_saved_file_is_checked(change: dict[str, Any], text: str | None) -> None:
    data = snapshot_data(**change)
    if text is None:
        assert Snapshot.from_plain(data, "saved.json").namespace == "ml"
        return
    with pytest.raises(InputError) as caught:
        Snapshot.from_plain(data, "saved.json")
    assert text in str(caught.value)
    assert "planted" not in str(caught.value)


def test_what_is_no_object_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="must be a JSON object"):
        Snapshot.from_plain([])


def test_the_published_schema_is_the_codes() -> None:
    assert json.loads(SCHEMA_FILE.read_text(encoding="utf-8")) == SNAPSHOT_SCHEMA
    assert set(COLLECTED) < set(SNAPSHOT_SCHEMA["properties"])


def test_what_is_built_is_valid_and_values_of_secrets_are_not() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(SNAPSHOT_SCHEMA)
    builder = SnapshotBuilder("ml", "test", "2026-01-01T00:00:00Z", "v1.36.3")
    builder.observed("nodes", [named("n")])
    builder.missing("pods", "forbidden", "needs list", [named("p")], "namespace ml")
    validator.validate(builder.to_plain(3))
    validator.validate(snapshot_data())
    assert not validator.is_valid(snapshot_data(secrets=[{"name": "s", "data": {}}]))


def test_a_builder_keeps_what_was_read_in_part() -> None:
    builder = SnapshotBuilder("ml", "test", "2026-01-01T00:00:00Z")
    builder.missing("pods", "forbidden", "needs list", [named("p")], "namespace ml")
    view = Snapshot.from_plain(builder.to_plain(1))
    assert view.state("pods") == KindState("forbidden", "needs list", "namespace ml")
    assert view.exists("pods", "p") is True
    assert view.exists("pods", "q") is None


def test_kinds_that_no_snapshot_holds() -> None:
    assert unknown_kinds(["nodes", "ghosts"]) == ["ghosts"]


# -- the operator -----------------------------------------------------------------------------------------------------


def deployment(name: str = "op", ready: int = 1, **parts: Any) -> dict[str, Any]:
    container = {
        "name": "manager",
        "image": parts.pop("image", "nvcr.io/x/operator:1.2.3"),
        "args": parts.pop("args", []),
    }
    spec = {"template": {"spec": {"containers": [{"name": "proxy", "image": "proxy:9.9.9"}, container]}}}
    metadata = {"namespace": "dynamo-system", "labels": parts.pop("labels", {})}
    return named(name, metadata=metadata, spec=spec, status={"readyReplicas": ready})


@pytest.mark.parametrize(
    ("parts", "release", "evidence"),
    [
        ({"args": ["--x", "--operator-version=1.5.0"]}, "1.5.0", "--operator-version=1.5.0"),
        ({"labels": {"app.kubernetes.io/version": "1.1.0"}}, "1.1.0", "label app.kubernetes.io/version=1.1.0"),
        ({"labels": {"helm.sh/chart": "dynamo-operator-1.4.2"}}, "1.4.2", "label helm.sh/chart"),
        ({}, "1.2.3", "image nvcr.io/x/operator:1.2.3"),
        ({"image": "operator:latest"}, "", "image operator:latest"),
        ({"image": "<odd>"}, "", "image <odd>"),
    ],
)
def test_the_operators_release_and_what_says_so(parts: dict[str, Any], release: str, evidence: str) -> None:
    facts = operator_facts([deployment(**parts)], frozenset())
    assert facts.release == release
    assert facts.evidence.startswith(f"Deployment dynamo-system/op: {evidence}")


def test_a_ready_operator_is_preferred_and_facts_survive_a_file() -> None:
    facts = operator_facts(
        [deployment("a", 0), deployment("b", 1)], frozenset({"grove.io", "leaderworkerset.x-k8s.io"})
    )
    assert facts.ready is True
    assert facts.evidence.startswith("Deployment dynamo-system/b")
    assert facts.gates == {"grove": True, "lws": False, "volcano": False, "kai": False, "dra": False}
    assert OperatorFacts.from_plain(json.loads(json.dumps(facts.to_plain()))) == facts


def test_an_operator_that_was_not_seen() -> None:
    assert operator_facts((), None).ready is None
    assert set(operator_facts((), None).gates.values()) == {None}
    assert operator_facts((), None, unread="forbidden").evidence == "forbidden"
    assert (
        operator_facts([named("x", metadata={"namespace": "y"})], None).evidence
        == "Deployment y/x: it names no version"
    )


@pytest.mark.parametrize(
    ("text", "version"), [("1.5.0", "1.5.0"), ("v1.1", "1.1"), ("1.5.0-rc1", "1.5.0"), ("latest", ""), ("", "")]
)
def test_versions(text: str, version: str) -> None:
    assert version_of(text) == version
