# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one contract in which every judge answers.

A judge returns findings; a play's verdict is the worst outcome among them. What could not be read is ``unknown``,
never ``pass``. Each area declares its reason codes once as :class:`Reason` objects in a tuple named ``REASONS``;
the documentation's table and the tests are made from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .errors import InputError, shown

Outcome = Literal["pass", "warn", "fail", "unknown"]

#: From best to worst; ``fail`` is certain, so it outranks ``unknown``.
OUTCOME_ORDER: tuple[Outcome, ...] = ("pass", "warn", "unknown", "fail")


@dataclass(frozen=True)
class Finding:
    """One answer of one check about one subject.

    ``subject`` is ``Kind/name`` or another name that a person can look up; ``evidence`` are lines quoted from what
    was read, never a secret's value; ``remedy`` says what to do and is empty only for ``pass``.
    """

    check: str
    outcome: Outcome
    reason_code: str
    subject: str
    message: str
    evidence: tuple[str, ...] = ()
    remedy: str = ""

    def to_result(self) -> dict[str, Any]:
        """Return the finding as plain data for a module's return value."""
        return {
            "check": self.check,
            "outcome": self.outcome,
            "reason_code": self.reason_code,
            "subject": self.subject,
            "message": self.message,
            "evidence": list(self.evidence),
            "remedy": self.remedy,
        }

    @classmethod
    def from_result(cls, data: object, where: str = "findings") -> Finding:
        """Read back what :meth:`to_result` gave; raise :class:`InputError` naming the field that is wrong."""
        if not isinstance(data, Mapping):
            raise InputError("a finding must be a mapping", where=where, found=shown(data))
        if data.get("outcome") not in OUTCOME_ORDER:
            allowed = ", ".join(OUTCOME_ORDER)
            found = shown(data.get("outcome"))
            raise InputError(f"must be one of {allowed}", where=where, field="outcome", found=found)
        evidence = data.get("evidence") or []
        if not isinstance(evidence, list):
            raise InputError("must be a list of lines", where=where, field="evidence", found=shown(evidence))
        texts = {name: str(data.get(name) or "") for name in ("check", "reason_code", "subject", "message", "remedy")}
        return cls(outcome=data["outcome"], evidence=tuple(map(str, evidence)), **texts)


@dataclass(frozen=True)
class Reason:
    """A stable reason code: what check it belongs to, what it means, and the usual remedy."""

    code: str
    check: str
    meaning: str
    remedy: str = ""

    def finding(
        self,
        outcome: Outcome,
        subject: str,
        message: str,
        evidence: Iterable[str] = (),
        remedy: str | None = None,
    ) -> Finding:
        """Make a finding of this reason; ``remedy`` replaces the usual one where more is known."""
        return Finding(
            check=self.check,
            outcome=outcome,
            reason_code=self.code,
            subject=subject,
            message=message,
            evidence=tuple(evidence),
            remedy=self.remedy if remedy is None else remedy,
        )


#: How many names a message writes out.
SHOWN = 5


def some(names: Sequence[str], separator: str = ", ") -> str:
    """Write out the first few of many names and count the rest."""
    more = f"{separator}and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return separator.join(names[:SHOWN]) + more


def without_name(subject: str, message: str) -> str:
    """Return the message without the subject's name at its beginning, for places where the subject stands before it."""
    for name in (subject, subject.partition("/")[2]):
        if name and message.startswith(f"{name}: "):
            return message[len(name) + 2 :]
    return message


def worst(findings: Iterable[Finding]) -> Outcome:
    """Return the worst outcome among ``findings``; ``pass`` where there are none."""
    return max((finding.outcome for finding in findings), key=OUTCOME_ORDER.index, default="pass")


def by_severity(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings with the worst first, otherwise in the order given."""
    return tuple(sorted(findings, key=lambda finding: -OUTCOME_ORDER.index(finding.outcome)))
