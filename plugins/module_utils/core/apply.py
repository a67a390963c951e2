# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``kubernetes.core.k8s`` answered to a server-side apply, as facts a play can act on.

The module gives the API server's answer as text inside a message. Here the ``Status`` object in it is found again, and
with it the code, the reason, and in a conflict who owns which field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .demand import K8sObject
from .findings import Finding, Reason

CONFLICT = Reason(
    "apply_conflict",
    "apply",
    "Another field manager owns fields that the manifest sets to another value.",
    "Let the other manager give the fields up, take them out of the manifest, or take them over with force_conflicts.",
)
IMMUTABLE = Reason(
    "apply_immutable",
    "apply",
    "The object exists and differs in fields that cannot be changed.",
    "Delete the object by name if nothing needs it, or give the manifest the values that it has.",
)
FORBIDDEN = Reason(
    "apply_forbidden",
    "apply",
    "The identity of the run may not apply the object, or an admission rule forbids it.",
    "Give the run's service account the verbs get, create and patch for the resource, or mend what the rule names.",
)
KIND_ABSENT = Reason(
    "apply_kind_absent",
    "apply",
    "The cluster does not have the resource type.",
    "Install the operator and its custom resource definitions, or use an apiVersion that the cluster serves.",
)
REFUSED = Reason(
    "apply_refused",
    "apply",
    "The API server or an admission webhook refused the object.",
    "Mend the field that the message names.",
)
UNREACHABLE = Reason(
    "apply_unreachable",
    "apply",
    "The API server gave no answer that could be understood.",
    "Check the connection options and that the API server is up, then run again.",
)
CHANGING = Reason(
    "apply_changing",
    "apply",
    "The object is being deleted, or something changed it at the same moment.",
    "Wait until it is gone or settled, then run again; look at its finalizers where it stays.",
)
REASONS: tuple[Reason, ...] = (CONFLICT, IMMUTABLE, FORBIDDEN, KIND_ABSENT, REFUSED, UNREACHABLE, CHANGING)

# The two forms of apimachinery's structured-merge-diff conflict messages: one field behind the manager, or a list.
_MANAGER = re.compile(r'conflicts? with "(?P<manager>[^"]*)"')
_FIELD = re.compile(r"(?:^-?|:)\s*(\.\S+)", re.MULTILINE)
_IMMUTABLE = re.compile(r"field is immutable|is immutable after creation|topology is immutable", re.IGNORECASE)
_ABSENT_KIND = re.compile(
    r"Failed to find (?:exact match for|API for resource)|no matches for kind|could not find the requested resource",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Conflict:
    """A field manager and the fields of the manifest that it owns, as paths such as ``.spec.replicas``."""

    manager: str
    fields: tuple[str, ...]

    def to_result(self) -> dict[str, Any]:
        """Return the conflict as plain data."""
        return {"manager": self.manager, "fields": list(self.fields)}


@dataclass(frozen=True)
class ApplyError:
    """Why one object was not applied. ``code`` is the HTTP status, 0 where there was none."""

    subject: str
    cause: Reason
    code: int
    reason: str
    message: str
    conflicts: tuple[Conflict, ...] = ()

    def finding(self) -> Finding:
        """Return the error as a finding of outcome ``fail``."""
        return self.cause.finding("fail", self.subject, self.message)

    def to_result(self) -> dict[str, Any]:
        """Return the error as plain data."""
        return {
            "subject": self.subject,
            "reason_code": self.cause.code,
            "code": self.code,
            "reason": self.reason,
            "message": f"{self.subject}: {self.message}",
            "conflicts": [conflict.to_result() for conflict in self.conflicts],
            "immutable": self.cause is IMMUTABLE,
            "remedy": self.cause.remedy,
        }


@dataclass(frozen=True)
class ApplyOutcome:
    """What became of the objects of one apply."""

    changed: bool
    objects: tuple[K8sObject, ...]
    errors: tuple[ApplyError, ...]

    def to_result(self) -> dict[str, Any]:
        """Return the outcome as plain data for a role's result."""
        return {
            "changed": self.changed,
            "objects": list(self.objects),
            "errors": [error.to_result() for error in self.errors],
            "findings": [error.finding().to_result() for error in self.errors],
            "failed_jobs": list(self.failed_jobs),
        }

    @property
    def failed_jobs(self) -> tuple[str, ...]:
        """Return the Jobs that had failed already when they were applied: the failure of an earlier run."""
        jobs = [item for item in self.objects if item.get("kind") == "Job"]
        return tuple(str(job["metadata"]["name"]) for job in jobs if _failed(job))


def _failed(job: K8sObject) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(item.get("type") == "Failed" and item.get("status") == "True" for item in conditions)


def judge_answer(answer: Mapping[str, Any], objects: Sequence[K8sObject]) -> ApplyOutcome:
    """Judge the answer of one ``kubernetes.core.k8s`` task that was given ``objects`` with ``continue_on_error``."""
    entries = _entries(answer)
    if entries is None:
        error = _error("all objects" if len(objects) != 1 else _subject(objects[0]), str(answer.get("msg", "")))
        return ApplyOutcome(changed=False, objects=(), errors=(error,))
    applied: list[K8sObject] = []
    errors: list[ApplyError] = []
    for index, entry in enumerate(entries):
        subject = _subject(objects[index]) if index < len(objects) else f"object {index + 1}"
        problem = entry.get("error")
        if problem:
            errors.append(
                _error(subject, str(problem.get("msg", problem)) if isinstance(problem, Mapping) else str(problem))
            )
        elif isinstance(entry.get("result"), Mapping):
            applied.append(entry["result"])
    return ApplyOutcome(bool(answer.get("changed")), tuple(applied), tuple(errors))


def _entries(answer: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """Return one entry an object; ``None`` where the module failed as a whole."""
    result = answer.get("result")
    if not isinstance(result, Mapping):
        return None
    several = result.get("results")
    return [entry for entry in several if isinstance(entry, Mapping)] if isinstance(several, list) else [answer]


def _subject(item: K8sObject) -> str:
    metadata = item.get("metadata")
    name = metadata.get("name", "") if isinstance(metadata, Mapping) else ""
    return f"{item.get('kind', 'object')}/{name}"


def _status(text: str) -> Mapping[str, Any]:
    """Return the ``Status`` object inside ``text``, which may show it as a Python byte string."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return {}
    body = text[start : end + 1]
    if text[max(start - 2, 0) : start] in ("b'", 'b"'):
        # The repr of bytes doubles backslashes; UTF-8 beyond ASCII stands as \\x escapes.
        body = re.sub(r"\\(x[0-9a-f]{2}|.)", _unescape, body).encode("latin-1", "replace").decode("utf-8", "replace")
    try:
        status = json.loads(body)
    except ValueError:
        return {}
    return status if isinstance(status, dict) else {}


def _unescape(match: re.Match[str]) -> str:
    escape = match.group(1)
    if escape.startswith("x"):
        return chr(int(escape[1:], 16))
    return {"n": "\n", "t": "\t", "r": "\r"}.get(escape, escape)


def _error(subject: str, text: str) -> ApplyError:
    status = _status(text)
    message = str(status.get("message") or text).strip() or "no answer"
    code = status.get("code")
    code = code if isinstance(code, int) else 0
    reason = str(status.get("reason") or "")
    conflicts = (
        conflicts_of(message) if code == 409 or "conflict with" in message or "conflicts with" in message else ()
    )
    return ApplyError(subject, _cause(code, message, conflicts), code, reason, message, conflicts)


def _cause(code: int, message: str, conflicts: tuple[Conflict, ...]) -> Reason:
    if conflicts:
        return CONFLICT
    if _IMMUTABLE.search(message):
        return IMMUTABLE
    if _ABSENT_KIND.search(message):
        return KIND_ABSENT
    if code in (401, 403):
        return FORBIDDEN
    if code == 409:
        return CHANGING
    # Too many requests and timeouts say nothing about the object.
    return REFUSED if 400 <= code < 500 and code not in (408, 429) else UNREACHABLE


def conflicts_of(message: str) -> tuple[Conflict, ...]:
    """Return who owns which fields, from the message of an apply conflict; nothing where it is another one."""
    found: dict[str, list[str]] = {}
    heads = list(_MANAGER.finditer(message))
    for number, head in enumerate(heads):
        end = heads[number + 1].start() if number + 1 < len(heads) else len(message)
        fields = found.setdefault(head.group("manager"), [])
        fields += [field for field in _FIELD.findall(message[head.end() : end]) if field not in fields]
    return tuple(Conflict(manager, tuple(fields)) for manager, fields in found.items())
