# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as one HTML page. Every text passes :func:`_e`; only the page's own marks and our own picture do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ..findings import Finding, Outcome
from .data import FitPart, LedgerPart, Moment, PodRow, PullRow, Report, SmokePart, own_message
from .style import STYLE

_MARKS: dict[Outcome, str] = {"pass": "✓", "warn": "!", "unknown": "?", "fail": "✕"}
_COUNTED: dict[Outcome, tuple[str, str]] = {
    "fail": ("failure", "failures"),
    "unknown": ("unknown", "unknown"),
    "warn": ("warning", "warnings"),
    "pass": ("passed", "passed"),
}
#: Nothing may be loaded or run, whatever text came from a cluster.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def to_html(report: Report) -> str:
    """Return the page."""
    sections = [(name, title, body) for name, title, body in _sections(report) if body]
    links = "".join(f'<li><a href="#{name}">{_e(title)}</a></li>' for name, title, _unused in sections)
    parts = "".join(
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{_e(title)}</h2>{body}</section>'
        for name, title, body in sections
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_e(_POLICY)}">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{_e(report.title)} · {_e(report.headline)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#main">To the content</a>\n<div class="page">\n{_head(report)}'
        f'<nav aria-label="Parts of this report"><ul>{links}</ul></nav>\n'
        f'<main id="main">\n{parts}{_not_looked_at(report)}</main>\n{_foot(report)}</div>\n</body>\n</html>\n'
    )


def _e(text: object) -> str:
    """Escape a text for HTML, in content and in attributes; control characters have no place in a page."""
    plain = "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in str(text))
    return escape(plain, quote=True)


def _head(report: Report) -> str:
    kicker = f'<p class="kicker">{_e(report.subtitle)}</p>' if report.subtitle else ""
    facts = "".join(_fact(name, value) for name, value in report.facts)
    lead = f'<span class="lead">{_e(report.lead)}</span>' if report.lead else ""
    return (
        f"<header>{kicker}<h1>{_e(report.title)}</h1>"
        f'<p class="verdict {report.outcome}"><span class="mark" aria-hidden="true">{_MARKS[report.outcome]}</span>'
        f'<strong>{_e(report.headline)}</strong><span class="counts">{_e(counted(report))}</span>{lead}</p>'
        f"{f'<dl class=facts>{facts}</dl>' if facts else ''}</header>\n"
    )


def _fact(name: str, value: str) -> str:
    """Return one fact; a long value takes a row of its own."""
    long = ' class="row"' if len(value) > 24 else ""
    return f"<div{long}><dt>{_e(name)}</dt><dd>{_e(value)}</dd></div>"


def counted(report: Report) -> str:
    """Return how many findings there are of each outcome, in words."""
    parts = [f"{count} {_COUNTED[outcome][count != 1]}" for outcome, count in report.counts.items() if count]
    return " · ".join(parts) or "no findings"


def _sections(report: Report) -> Iterable[tuple[str, str, str]]:
    yield "findings", "Findings", _findings(report.findings)
    yield "placement", "Where the pods go", _fit(report.fit) if report.fit is not None else ""
    yield "pods", "Pods", _pods(report.pods) if report.pods is not None else ""
    yield "pull-secrets", "Pull secrets", _pulls(report.pulls) if report.pulls is not None else ""
    yield "timeline", "Timeline", _timeline(report.moments)
    yield "smoke", "Smoke test", _smoke(report.smoke) if report.smoke is not None else ""
    yield "ledger", "Ledger", _ledger(report.ledger) if report.ledger is not None else ""
    yield "teardown", "Taking it down", _commands(report.commands)


def _tag(outcome: Outcome, words: str = "") -> str:
    return f'<span class="tag {outcome}">{_MARKS[outcome]} {_e(words or outcome)}</span>'


def _findings(findings: Sequence[Finding]) -> str:
    if not findings:
        return '<p class="none">No check reported anything.</p>'
    open_ones = [finding for finding in findings if finding.outcome != "pass"]
    passed = [finding for finding in findings if finding.outcome == "pass"]
    body = "".join(_finding(finding) for finding in open_ones) or "<p>Every check passed.</p>"
    if passed:
        rows = [
            (_e(finding.subject), _e(own_message(finding)), f'<code class="keep">{_e(finding.reason_code)}</code>')
            for finding in passed
        ]
        table = _table("", ("Subject", "What was found", "Code"), rows)
        words = "1 check passed" if len(passed) == 1 else f"{len(passed)} checks passed"
        body += f"<details><summary>{words}</summary>{table}</details>"
    return body


def _finding(finding: Finding) -> str:
    evidence = f"<pre>{_e(chr(10).join(finding.evidence))}</pre>" if finding.evidence else ""
    remedy = f'<p class="remedy"><b>What to do:</b> {_e(finding.remedy)}</p>' if finding.remedy else ""
    return (
        f'<article class="finding {finding.outcome}"><h3>{_tag(finding.outcome)}<span>{_e(finding.subject)}</span>'
        f"<code>{_e(finding.reason_code)}</code></h3><p>{_e(own_message(finding))}</p>{evidence}{remedy}</article>"
    )


def _fit(fit: FitPart) -> str:
    body = f"<p>{_tag(fit.outcome, fit.verdict)} {_e(fit.sentence)}</p>"
    if fit.picture:
        body += f'<div class="picture" tabindex="0" role="region" aria-label="Picture of the nodes">{fit.picture}</div>'
    if fit.unplaced:
        rows = [(_e(component), _num(count), _e(message)) for component, count, message in fit.unplaced]
        body += _table("Pods without a place", ("Component", "Pods", "Why"), rows)
    if fit.suggestions:
        body += (
            "<h3>What would make it fit</h3><ul>"
            + "".join(f"<li>{_e(text)}</li>" for text in fit.suggestions)
            + "</ul>"
        )
    if fit.headroom:
        rows = [(_e(component), _num(asked), _num(fits)) for component, asked, fits in fit.headroom]
        body += _table("Headroom", ("Component", "Replicas asked", "Replicas that fit"), rows)
    return body


def _pods(pods: Sequence[PodRow]) -> str:
    rows = [
        (
            _e(row.component) + (f' <span class="soft">{_e(row.role)}</span>' if row.role else ""),
            _num(row.count),
            _e(row.requests) or '<span class="soft">nothing</span>',
            "<br>".join(_e(node) for node in row.nodes) or '<span class="soft">no place chosen</span>',
            "<br>".join(f"<code>{_e(image)}</code>" for image in row.images)
            + "".join(f"<br>{_tag('unknown')} {_e(reason)}" for reason in row.unknown),
        )
        for row in pods
    ]
    if not rows:
        return '<p class="none">The DGD makes no pods.</p>'
    return _table("", ("Component", "Pods", "Each asks for", "Nodes", "Image"), rows)


def _pulls(pulls: Sequence[PullRow]) -> str:
    rows = [
        (
            f"<code>{_e(row.image)}</code>",
            "<br>".join(_e(name) for name in row.used_by) or '<span class="soft">not told</span>',
            _tag(row.outcome, row.verdict),
            "<br>".join(f'<span class="keep"><code>{_e(name)}</code></span>' for name in row.secrets)
            or '<span class="soft">none</span>',
            _e(row.why),
        )
        for row in pulls
    ]
    if not rows:
        return '<p class="none">No image was judged.</p>'
    return _table("", ("Image", "Used by", "Verdict", "Secrets", "Why"), rows)


def _timeline(moments: Sequence[Moment]) -> str:
    if not moments:
        return ""
    whole = max(moment.since for moment in moments) or 1.0
    rows = []
    for moment in moments:
        start = 100 * moment.since / whole
        length = 100 * (moment.until or 0.0) / whole
        stretch = f'<i style="--at:{min(start, 99.2):.2f}%;--for:{length:.2f}%"></i>'
        at = f'<span class="num soft"><time>{_e(_short_time(moment.at))}</time></span>'
        after = f'<span class="num right">{_e(_after(moment.since))}</span>'
        track = f'<span class="track" aria-hidden="true">{stretch}</span>'
        rows.append(f"<li><span>{_e(moment.label)}</span>{at}{track}{after}</li>")
    return f'<ol class="timeline">{"".join(rows)}</ol>'


def _short_time(text: str) -> str:
    return text.replace("T", " ", 1)[:19]


def _after(seconds: float) -> str:
    return f"+{span(seconds)}" if seconds else "start"


def span(seconds: float) -> str:
    """Return a span of time in words: ``42 s``, ``3 min 05 s``, ``2 h 07 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _smoke(smoke: SmokePart) -> str:
    outcome: Outcome = "pass" if smoke.success else "unknown" if smoke.stage == "skipped" else "fail"
    words = "passed" if smoke.success else "not sent" if smoke.stage == "skipped" else f"failed at {smoke.stage}"
    talk = ""
    if smoke.question:
        talk = f'<div class="question"><small>asked</small>{_e(smoke.question)}</div>'
    if smoke.answer:
        talk += f'<div class="answer {outcome}"><small>{_e(smoke.model or "answered")}</small>{_e(smoke.answer)}</div>'
    rows = [("Endpoint", smoke.endpoint), ("HTTP status", smoke.codes), ("Time", smoke.timings)]
    facts = "".join(f'<div class="wide"><dt>{_e(name)}</dt><dd>{_e(value)}</dd></div>' for name, value in rows if value)
    return f'<p>{_tag(outcome, words)}</p><div class="talk">{talk}</div><dl class="facts">{facts}</dl>'


def _ledger(ledger: LedgerPart) -> str:
    facts = "".join(
        f"<div{' class=wide' if len(value) > 18 and 'SHA' not in name else ''}><dt>{_e(name)}</dt>"
        f"<dd{' class=mono' if 'SHA' in name else ''}>{_e(_shortened(name, value))}</dd></div>"
        for name, value in (("Status", ledger.status), *ledger.fields)
    )
    body = f'<dl class="facts">{facts}</dl>'
    for title, heads, rows in (
        ("Applied manifests", ("Manifest", "SHA-256", "Why this one"), ledger.manifests),
        ("Patches", ("Object", "Change", "Reason"), ledger.patches),
        ("Attempts and blockers", ("What", "Subject", "Why"), ledger.attempts),
        ("Changed knobs, proven live", ("Knob", "State", "Evidence"), ledger.evidence),
    ):
        if rows:
            mark = "code" if heads[1] in ("SHA-256", "Change") else "span"
            cells = [(_e(a), f"<{mark}>{_e(_shortened(heads[1], b))}</{mark}>", _e(c)) for a, b, c in rows]
            body += f"<h3>{title}</h3>{_table('', heads, cells)}"
    return body


def _shortened(name: str, value: str) -> str:
    return f"{value[:12]}…" if "SHA" in name and len(value) == 64 else value


def _commands(commands: Sequence[str]) -> str:
    if not commands:
        return ""
    words = "This takes" if len(commands) == 1 else "Each of these takes"
    return f"<p>{words} the deployment down:</p>" + "".join(
        f"<pre><code>{_e(command)}</code></pre>" for command in commands
    )


def _not_looked_at(report: Report) -> str:
    parts = (
        ("the fit", report.fit),
        ("the pods", report.pods),
        ("the pull secrets", report.pulls),
        ("the smoke test", report.smoke),
        ("a ledger", report.ledger),
    )
    missing = [name for name, part in parts if part is None]
    return f'<p class="soft" style="margin-top:20px">Not looked at: {_e(", ".join(missing))}.</p>' if missing else ""


def _foot(report: Report) -> str:
    return f"<footer>Written <time>{_e(report.generated_at)}</time> by inference_ops.dynamo.</footer>\n"


def _num(value: object) -> str:
    return f'<span class="num">{_e(value)}</span>'


def _table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; ``rows`` are HTML already."""
    head = "".join(f'<th scope="col">{_e(name)}</th>' for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    name = f"<caption>{_e(caption)}</caption>" if caption else ""
    label = _e(caption or heads[0])
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
        f"<table>{name}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
