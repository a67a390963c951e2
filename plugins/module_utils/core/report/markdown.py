# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as Markdown, with the same parts in the same order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..findings import Finding, Outcome
from .data import Report, own_message
from .html import counted, span

_MARKS: dict[Outcome, str] = {"pass": "✓", "warn": "!", "unknown": "?", "fail": "✕"}


def to_markdown(report: Report) -> str:
    """Return the text."""
    lines = [f"# {_m(report.title)}", ""]
    if report.subtitle:
        lines += [_m(report.subtitle), ""]
    lines += [f"**{_MARKS[report.outcome]} {_m(report.headline)}** ({_m(counted(report))})", "", _m(report.lead), ""]
    lines += [*(f"- {_m(name)}: {_m(value)}" for name, value in report.facts), ""]
    for title, part in (
        ("Findings", _findings(report.findings)),
        ("Where the pods go", _fit(report)),
        ("Pods", _pods(report)),
        ("Pull secrets", _pulls(report)),
        ("Timeline", _timeline(report)),
        ("Smoke test", _smoke(report)),
        ("Ledger", _ledger(report)),
        ("Taking it down", [*_block(report.commands)]),
    ):
        body = list(part)
        if body:
            lines += [f"## {title}", "", *body, ""]
    lines += [f"Written {_m(report.generated_at)} by inference\\_ops.dynamo.", ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def _m(text: object) -> str:
    """Escape a text for Markdown on one line, HTML included."""
    line = " ".join(str(text).split())
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~])", r"\\\1", line)


def _block(texts: Iterable[str]) -> Iterable[str]:
    """Fence texts as they are; the fence is longer than any run of backticks within."""
    body = list(texts)
    if body:
        longest = max((len(run) for text in body for run in re.findall("`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        yield from (fence, *body, fence)


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    if not rows:
        return []
    return [
        "| " + " | ".join(heads) + " |",
        "| " + " | ".join("---" for _unused in heads) + " |",
        *("| " + " | ".join(_m(cell) for cell in row) + " |" for row in rows),
        "",
    ]


def _findings(findings: Sequence[Finding]) -> Iterable[str]:
    if not findings:
        yield "No check reported anything."
    for finding in findings:
        if finding.outcome == "pass":
            continue
        yield f"### {_MARKS[finding.outcome]} {finding.outcome}: {_m(finding.subject)} ({_m(finding.reason_code)})"
        yield from ("", _m(own_message(finding)), "", *_block(finding.evidence), "")
        if finding.remedy:
            yield from (f"What to do: {_m(finding.remedy)}", "")
    passed = [finding for finding in findings if finding.outcome == "pass"]
    yield from _table(
        ("Passed", "What was found", "Code"), [(item.subject, item.message, item.reason_code) for item in passed]
    )


def _fit(report: Report) -> Iterable[str]:
    fit = report.fit
    if fit is None:
        return
    yield from (f"{_MARKS[fit.outcome]} {_m(fit.verdict)}. {_m(fit.sentence)}", "")
    yield from _table(("Component without a place", "Pods", "Why"), fit.unplaced)
    yield from (f"- {_m(text)}" for text in fit.suggestions)
    yield from ("", *_table(("Component", "Replicas asked", "Replicas that fit"), fit.headroom))


def _pods(report: Report) -> Iterable[str]:
    rows = [
        (f"{row.component} {row.role}".strip(), row.count, row.requests, ", ".join(row.nodes), ", ".join(row.images))
        for row in report.pods or ()
    ]
    return _table(("Component", "Pods", "Each asks for", "Nodes", "Image"), rows)


def _pulls(report: Report) -> Iterable[str]:
    rows = [
        (row.image, ", ".join(row.used_by), row.verdict, ", ".join(row.secrets), row.why) for row in report.pulls or ()
    ]
    return _table(("Image", "Used by", "Verdict", "Secrets", "Why"), rows)


def _timeline(report: Report) -> Iterable[str]:
    rows = [(moment.label, moment.at, f"+{span(moment.since)}") for moment in report.moments]
    return _table(("Moment", "Time", "Since the start"), rows)


def _smoke(report: Report) -> Iterable[str]:
    smoke = report.smoke
    if smoke is None:
        return
    yield "Passed." if smoke.success else "Not sent." if smoke.stage == "skipped" else f"Failed at {_m(smoke.stage)}."
    yield ""
    rows = [
        ("Model", smoke.model),
        ("Endpoint", smoke.endpoint),
        ("HTTP status", smoke.codes),
        ("Time", smoke.timings),
    ]
    yield from (f"- {_m(name)}: {_m(value)}" for name, value in rows if value)
    for name, text in (("Asked", smoke.question), ("Answered", smoke.answer)):
        if text:
            yield from ("", f"{name}:", "", *_block([text]))


def _ledger(report: Report) -> Iterable[str]:
    ledger = report.ledger
    if ledger is None:
        return
    yield from (f"- {_m(name)}: {_m(value)}" for name, value in (("Status", ledger.status), *ledger.fields))
    yield ""
    yield from _table(("Manifest", "SHA-256", "Why this one"), ledger.manifests)
    yield from _table(("Patched object", "Change", "Reason"), ledger.patches)
    yield from _table(("Attempt or blocker", "Subject", "Why"), ledger.attempts)
    yield from _table(("Changed knob", "State", "Evidence"), ledger.evidence)
