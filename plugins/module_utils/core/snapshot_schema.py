# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The snapshot's JSON Schema, made from the tables that the code itself goes by; ``make schemas`` writes the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .docker_secrets import PROBLEMS
from .operator_facts import GATES
from .snapshot import COLLECTED, SCHEMA, STATES

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_NAME: Schema = {"type": "string", "minLength": 1}
_KNOWN: Schema = {"type": ["boolean", "null"]}
_COUNT: Schema = {"type": "integer", "minimum": 0}
#: Kinds of which only a summary is kept; all others hold objects.
_SUMMARIES = {"secrets": "secret", "configmaps": "config_map"}


def _array(items: Schema, description: str = "") -> Schema:
    return {"type": "array", "items": items, **({"description": description} if description else {})}


def _closed(properties: Mapping[str, Schema], required: tuple[str, ...] = (), description: str = "") -> Schema:
    """Return an object that has no other fields."""
    schema: Schema = {"type": "object", "additionalProperties": False, "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    return {**schema, **({"description": description} if description else {})}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _told(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


_HEAD: Mapping[str, Schema] = {
    "schema": {"const": SCHEMA},
    "taken_at": {**_TEXT, "format": "date-time", "description": "When the cluster was looked at, in UTC."},
    "context": _told(_TEXT, "The kubeconfig's context, or the host where none was named."),
    "server_version": _told(_TEXT, "The API server's version, such as v1.36.3."),
    "namespace": _told(_NAME, "The namespace that was looked at closely."),
    "kinds": {
        "type": "object",
        "description": "How the reading of each kind went.",
        "additionalProperties": _ref("state"),
    },
    "api_groups": _array(_TEXT, "The API groups that the server has, without the core one."),
    "api_versions": _array(_TEXT, "group/version of each, a group's preferred one first."),
    "api_resources": _array(_TEXT, "plural.group of each; empty where the server does not aggregate its discovery."),
    "checked": {
        "type": "object",
        "description": "What was asked for by name: by kind, then by name.",
        "additionalProperties": {
            "type": "object",
            "additionalProperties": {"enum": ["observed", "absent", "forbidden"]},
        },
    },
    "operator": _ref("operator"),
    "dry_runs": _array(_ref("dry_run"), "What the server said to a dry run of each object."),
    "api_requests": _told(_COUNT, "How many requests the look took."),
}
_METADATA: Schema = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": _NAME, "namespace": _TEXT},
}
_DEFINITIONS: Mapping[str, Schema] = {
    "state": _closed(
        {
            "state": {"enum": list(STATES)},
            "detail": _told(_TEXT, "What is missing: a permission, an API, an answer."),
            "partial": _told(_TEXT, "The part that was read all the same."),
        },
        ("state",),
    ),
    "object": {
        "type": "object",
        "description": "A Kubernetes object as the API serves it, cut down to what judges look at.",
        "required": ["metadata"],
        "properties": {
            "apiVersion": _TEXT,
            "kind": _TEXT,
            "metadata": _METADATA,
            "spec": {"type": "object"},
            "status": {"type": "object"},
        },
    },
    "config_map": _closed({"name": _NAME, "namespace": _TEXT, "keys": _array(_TEXT)}, ("name", "keys")),
    "secret": _closed(
        {
            "name": _NAME,
            "namespace": _TEXT,
            "type": _TEXT,
            "registries": _array(_TEXT, "Registry keys of a pull secret, without user names and passwords."),
            "keys": _array(_TEXT, "Names of the data keys, where the secret was asked for by name."),
            "problems": _array(_closed({"code": {"enum": list(PROBLEMS)}, "registry": _TEXT}, ("code",))),
        },
        ("name",),
        "No value of a Secret has a place here.",
    ),
    "operator": _closed(
        {
            "release": _told(_TEXT, "X.Y.Z, or empty where nobody could tell."),
            "evidence": _TEXT,
            "namespace": _TEXT,
            "ready": _KNOWN,
            "args": _array(_TEXT),
            **{gate: _told(_KNOWN, "Whether the API is there; null where discovery failed.") for gate in GATES},
        }
    ),
    "dry_run": _closed(
        {
            "apiVersion": _TEXT,
            "kind": _TEXT,
            "namespace": _TEXT,
            "name": _TEXT,
            "outcome": {"enum": ["accepted", "refused", "conflict", "forbidden", "error"]},
            "code": _COUNT,
            "reason": _TEXT,
            "message": _TEXT,
        },
        ("kind", "name", "outcome"),
    ),
}
SNAPSHOT_SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": SCHEMA,
    "title": "Cluster snapshot",
    "description": "One read-only look at a cluster, to be judged now or later.",
    **_closed(
        {**_HEAD, **{plural: _array(_ref(_SUMMARIES.get(plural, "object"))) for plural in COLLECTED}},
        ("schema", "taken_at", "context", "server_version", "namespace", "kinds"),
    ),
    "$defs": dict(_DEFINITIONS),
}
