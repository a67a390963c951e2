# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The deployment ledger: its fields, its rules, and how it changes. Reading and writing files is ``store``'s work.

The ledger is the record of one deployment of one DGD. Its fields are those of the recipe workflow; the rules stand
once, as :data:`LEDGER_SCHEMA`, from which ``docs/schemas/deployment_ledger.schema.json`` is made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from . import schema
from .errors import InputError, shown

SCHEMA_ID = "inference_ops.dynamo/deployment_ledger/v1"
FILE_NAME = "deployment_ledger.json"
#: The run's copy of the assigned DGD among the applied manifests.
DEPLOYED = "deploy.yaml"
PROVENANCES = ("user-interviewer", "hypothesis-challenger")

#: What may follow on what. A rerun may go back to an earlier step, but never from a result to its preparation.
STEPS: Mapping[str, tuple[str, ...]] = {
    "": ("prepared", "blocked"),
    "prepared": ("applying", "blocked"),
    "applying": ("waiting", "ready", "blocked", "prepared"),
    "waiting": ("ready", "succeeded", "blocked", "applying", "prepared"),
    "ready": ("succeeded", "blocked", "waiting", "applying"),
    "succeeded": ("ready", "waiting", "applying", "blocked"),
    "blocked": ("prepared", "applying"),
}
STATUSES = tuple(status for status in STEPS if status)
#: What belongs to one holding of GPUs and is put aside when the same iteration is deployed again after a teardown.
HOLDING_FIELDS = ("allocated_at", "torn_down_at", "status", "gpus_requested", "smoke", "readiness")
#: Lists to which entries are appended.
LISTS = (
    "applied_manifests",
    "patches",
    "limitations",
    "diagnostics",
    "failed_attempts",
    "contention",
    "blockers",
    "config_engagement",
    "cleanup_commands",
    "earlier_holdings",
    "runs",
)

_TEXT = {"type": "string"}
_NAME = {"type": "string", "minLength": 1}
_TIME = {
    "type": "string",
    "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$",
    "description": "a time as RFC 3339 writes it, such as 2026-01-31T12:00:00Z",
}
_TIME_OR_NULL = {**_TIME, "type": ["string", "null"]}
_SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$", "description": "a SHA-256 (64 lower-case hexadecimal digits)"}
_SHA256_OR_NONE = {**_SHA256, "pattern": "^([0-9a-f]{64})?$"}
_STEP = {
    "type": "object",
    "required": ["state"],
    "properties": {"state": {"enum": ["started", "done", "failed", "skipped"]}, "at": _TIME, "detail": _TEXT},
}


def _entry(required: Sequence[str] = (), **properties: Any) -> dict[str, Any]:
    """The schema of a list's entry: ``id`` and ``at`` are known everywhere, other fields may follow."""
    known = {"id": _NAME, "at": _TIME, **properties}
    return {"type": "object", "required": list(required), "properties": known}


def _list(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": entry}


_OBJECT = {
    "type": "object",
    "required": ["kind", "name"],
    "properties": {"api_version": _TEXT, "kind": _NAME, "name": _NAME, "namespace": _TEXT, "uid": _TEXT},
}
_EVIDENCE = {"type": ["string", "array"], "items": _TEXT}
_DIAGNOSIS = _entry(["message"], reason_code=_TEXT, subject=_TEXT, message=_NAME, evidence=_EVIDENCE)
_FAILED_ATTEMPT = _entry(["category"], category=_NAME, reason_code=_TEXT, diagnosis=_TEXT, evidence=_EVIDENCE)

LEDGER_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": SCHEMA_ID,
    "title": "Deployment ledger",
    "description": "The record of one deployment of one DynamoGraphDeployment.",
    "type": "object",
    "required": ["schema", "iteration", "dgd_name", "namespace", "source_dgd_sha256", "status"],
    "additionalProperties": False,
    "properties": {
        "schema": {"const": SCHEMA_ID},
        "status": {"enum": list(STATUSES)},
        "iteration": {"type": "integer", "minimum": 0},
        "provenance": {"enum": list(PROVENANCES)},
        "dgd_name": _NAME,
        "dgd_api_version": _TEXT,
        "kube_context": _TEXT,
        "namespace": _NAME,
        "source_dgd_path": _NAME,
        "source_dgd_sha256": _SHA256,
        "user_workload_path": _TEXT,
        "user_workload_sha256": _SHA256_OR_NONE,
        "created_at": _TIME,
        "gpus_requested": {"type": "integer", "minimum": 0},
        "allocated_at": {**_TIME_OR_NULL, "title": "When the first GPU pod was scheduled"},
        "torn_down_at": {**_TIME_OR_NULL, "title": "When the DGD was gone; null while it lives"},
        "applied_manifests": _list(
            _entry(
                ["name", "path", "sha256"],
                name=_NAME,
                path=_NAME,
                sha256=_SHA256,
                source=_TEXT,
                source_sha256=_SHA256_OR_NONE,
                reason=_TEXT,
                patched={"type": "boolean"},
                objects=_list(_OBJECT),
            )
        ),
        "latest_attempt_only": {
            "type": "boolean",
            "title": "Whether the applied manifests are only the latest attempt of a blocked run",
        },
        "patches": _list(
            _entry(
                ["manifest", "operations", "reason"],
                manifest=_NAME,
                object=_TEXT,
                operations=_list({"type": "object", "required": ["op", "path"]}),
                reason=_NAME,
            )
        ),
        "preflight": {"type": "object"},
        "limitations": _list(_entry(["message"], message=_NAME)),
        "readiness": {"type": "object", "properties": {"state": _NAME, "at": _TIME}},
        "diagnostics": _list(_DIAGNOSIS),
        "failed_attempts": _list(_FAILED_ATTEMPT),
        "contention": _list(_entry(["evidence"], evidence=_EVIDENCE, after_seconds={"type": "number", "minimum": 0})),
        "blockers": _list(_DIAGNOSIS),
        "retired_previous": {
            "type": "object",
            "required": ["dgd_name", "namespace"],
            "properties": {
                "dgd_name": _NAME,
                "namespace": _NAME,
                "kube_context": _TEXT,
                "ledger": _TEXT,
                "deleted_at": _TIME_OR_NULL,
                "gone_at": _TIME_OR_NULL,
            },
        },
        "endpoint": {"type": "object"},
        "smoke": {
            "type": "object",
            "required": ["success"],
            "properties": {
                "success": {"enum": [0, 1]},
                "at": _TIME,
                "artifact": _TEXT,
                "http_status": {"type": "object"},
            },
        },
        "config_engagement": _list(
            _entry(["component", "knob", "proven"], component=_TEXT, knob=_NAME, proven={"type": ["boolean", "null"]})
        ),
        "cleanup_commands": _list(_NAME),
        "timings": {"type": "object", "additionalProperties": {"type": ["string", "number", "null"]}},
        "steps": {"type": "object", "additionalProperties": _STEP},
        "earlier_holdings": _list({"type": "object"}),
        "runs": _list(_entry()),
        "notes": {"type": "object"},
    },
}


@dataclass(frozen=True)
class LedgerChange:
    """What to do with a ledger: fields to set, fields to set where they are missing or null, entries to append."""

    set: Mapping[str, Any] = field(default_factory=dict)
    set_once: Mapping[str, Any] = field(default_factory=dict)
    append: Mapping[str, Any] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether nothing is asked for."""
        return not (self.set or self.set_once or self.append)


def parse_ledger(text: str, where: str) -> dict[str, Any]:
    """Return the ledger in ``text``; raise :class:`InputError` where it is no JSON or does not hold the rules."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            "not a ledger: no JSON", where=where, found=shown(str(error)), remedy="Mend or move the file away"
        ) from error
    check_ledger(data, where)
    return dict(data)


def dump_ledger(ledger: Mapping[str, Any]) -> str:
    """Return the ledger as text: known fields in the schema's order, then a line end.

    Halves of surrogate pairs, which a quoted log may hold and no file in UTF-8 can, become question marks.
    """
    order = {name: number for number, name in enumerate(LEDGER_SCHEMA["properties"])}
    fields = sorted(ledger.items(), key=lambda item: order.get(item[0], len(order)))
    text = json.dumps(dict(fields), indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "replace").decode()


def check_ledger(ledger: object, where: str) -> None:
    """Raise :class:`InputError` naming the first field that breaks a rule."""
    schema.check(ledger, LEDGER_SCHEMA, where)
    if not isinstance(ledger, Mapping):
        return
    names = [entry["name"] for entry in ledger.get("applied_manifests", ())]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError("one file per manifest type", where=where, field="applied_manifests", found=", ".join(twice))
    if ledger["status"] == "succeeded":
        if ledger.get("smoke", {}).get("success") != 1:
            raise InputError("a run succeeds only by its smoke test", where=where, field="smoke.success")
        if not names:
            raise InputError("a run that succeeded applied manifests", where=where, field="applied_manifests")
    moments = {
        name: _moment(ledger[name], where, name) for name in ("allocated_at", "torn_down_at") if ledger.get(name)
    }
    if len(moments) == 2 and moments["torn_down_at"] < moments["allocated_at"]:
        found = shown(ledger["torn_down_at"])
        raise InputError("earlier than allocated_at", where=where, field="torn_down_at", found=found)


def _moment(text: str, where: str, name: str) -> datetime:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError as error:
        raise InputError("no such time", where=where, field=name, found=shown(text)) from error


def change_ledger(ledger: Mapping[str, Any] | None, change: LedgerChange, where: str) -> dict[str, Any]:
    """Return the changed ledger, a new mapping; raise :class:`InputError` where the change breaks a rule.

    ``ledger`` is what stands in the file, or ``None`` where there is none.
    """
    for name, value in (("set", change.set), ("set_once", change.set_once), ("append", change.append)):
        if not isinstance(value, Mapping):
            raise InputError("must be a mapping", where=where, field=name, found=shown(value))
    changed: dict[str, Any] = dict(ledger) if ledger else {"schema": SCHEMA_ID}
    wanted = change.set.get("status")
    if wanted is None and _starts_again(changed, change.set_once.get("status")):
        wanted = change.set_once["status"]
    if wanted is not None:
        changed = _to_status(changed, wanted, where)
    for name, value in change.set.items():
        if name != "status":
            changed[name] = _merged(changed.get(name), value)
    for name, value in change.set_once.items():
        if name != "status":
            changed[name] = _filled(changed.get(name), value)
    for name, entries in change.append.items():
        if name == "failed_attempts" and isinstance(entries, (list, tuple)):
            entries = [_with_manifest(entry, changed) for entry in entries]
        changed[name] = _appended(changed.get(name, []), name, entries, where)
    if ledger is None and change.empty:
        return {}
    check_ledger(changed, where)
    return changed


def _starts_again(ledger: Mapping[str, Any], status: object) -> bool:
    """Whether a status to be set once counts: there is none, the run was blocked, or what it deployed is gone."""
    current = ledger.get("status")
    return status is not None and (current in (None, "blocked") or bool(ledger.get("torn_down_at")))


def _to_status(ledger: dict[str, Any], status: object, where: str) -> dict[str, Any]:
    current = str(ledger.get("status") or "")
    if status not in STATUSES:
        raise InputError(f"must be one of {', '.join(STATUSES)}", where=where, field="status", found=shown(status))
    if ledger.get("torn_down_at") and status == "prepared":
        held = {name: ledger[name] for name in HOLDING_FIELDS if name in ledger}
        kept = {name: value for name, value in ledger.items() if name not in HOLDING_FIELDS}
        earlier = [*ledger.get("earlier_holdings", []), held]
        return {**kept, "status": status, "earlier_holdings": earlier, "allocated_at": None, "torn_down_at": None}
    if status != current and status not in STEPS.get(current, ()):
        raise InputError(
            f"no step leads from {current or 'nothing'} to {status}",
            where=where,
            field="status",
            remedy=f"Allowed are {', '.join(STEPS.get(current, ()))}",
        )
    return {**ledger, "status": status}


def _merged(old: object, new: object) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**old, **{name: _merged(old.get(name), value) for name, value in new.items()}}
    return new


def _filled(old: object, new: object) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**old, **{name: _filled(old.get(name), value) for name, value in new.items()}}
    return new if old is None else old


def _appended(old: object, name: str, entries: object, where: str) -> list[Any]:
    if name not in LISTS:
        raise InputError("not a list of the ledger", where=where, field=name, remedy=f"Lists are {', '.join(LISTS)}")
    if not isinstance(entries, (list, tuple)):
        raise InputError("entries to append must be a list", where=where, field=name, found=shown(entries))
    made = list(old) if isinstance(old, (list, tuple)) else []
    for entry in entries:
        _append_one(made, entry)
    return made


def _with_manifest(entry: object, ledger: Mapping[str, Any]) -> object:
    """Return a failed attempt with the hash of what was deployed: a mended manifest that fails alike is another one."""
    for manifest in ledger.get("applied_manifests") or ():
        if isinstance(entry, Mapping) and isinstance(manifest, Mapping) and manifest.get("name") == DEPLOYED:
            return {"manifest_sha256": manifest.get("sha256"), **entry}
    return entry


def _append_one(made: list[Any], entry: object) -> None:
    if isinstance(entry, Mapping) and entry.get("id") is not None:
        for number, there in enumerate(made):
            if isinstance(there, Mapping) and there.get("id") == entry["id"]:
                made[number] = {**there, **{name: value for name, value in entry.items() if name != "at"}}
                return
    elif any(_same(there, entry) for there in made):
        return
    made.append(entry)


def _same(there: object, entry: object) -> bool:
    """Whether two entries record the same thing, at whichever time."""
    if isinstance(there, Mapping) and isinstance(entry, Mapping):
        return {**there, "at": None} == {**entry, "at": None}
    return there == entry
