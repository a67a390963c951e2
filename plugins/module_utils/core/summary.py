# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last lines a person reads on the screen: the verdict, what to do about it, and where the files are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .findings import OUTCOME_ORDER, without_name

#: So many findings fit on a screen; the report has all of them.
MOST_FINDINGS = 12
#: Lines that show a finding, and characters of each.
MOST_EVIDENCE = 2
LONGEST_EVIDENCE = 240
_MARKS = {"fail": "FAIL   ", "unknown": "UNKNOWN", "warn": "WARN   "}


def sorted_findings(findings: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return findings, given as plain data, each once and the worst first."""
    seen: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for finding in findings:
        outcome = str(finding.get("outcome", "unknown"))
        key = (outcome, *(str(finding.get(name, "")) for name in ("reason_code", "subject", "message")))
        seen.setdefault(key, finding)
    return sorted(seen.values(), key=lambda finding: -_rank(finding))


def outcome_of(findings: Iterable[Mapping[str, Any]]) -> str:
    """Return the worst outcome; an outcome that is not in the contract counts as unknown."""
    return OUTCOME_ORDER[max((_rank(finding) for finding in findings), default=0)]


def _rank(finding: Mapping[str, Any]) -> int:
    outcome = finding.get("outcome")
    order: Sequence[str] = OUTCOME_ORDER
    return order.index(outcome) if outcome in order else order.index("unknown")


def placement_lines(placements: Mapping[str, Any]) -> list[str]:
    """Return one line a node: how many pods go there."""
    by_node: dict[str, int] = {}
    for node in placements.values():
        by_node[str(node)] = by_node.get(str(node), 0) + 1
    return [f"  {node}: {count} pod{'s' if count != 1 else ''}" for node, count in sorted(by_node.items())]


def component_lines(components: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return one line a component: how many replicas are ready, and what the slowest pod does where some are not."""
    lines = []
    for component in components:
        ready, desired = component.get("ready", 0), component.get("desired", 0)
        slowest = " ".join(str(component.get("slowest") or "").split())
        tail = f", {slowest}" if slowest and ready != desired else ""
        lines.append(f"  {component.get('component', '')}: {ready} of {desired} ready{tail}")
    return lines


def finding_lines(findings: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the lines for what did not pass, the worst first, each with its remedy, then the count of the rest."""
    ordered = sorted_findings(findings)
    open_ones = [finding for finding in ordered if finding.get("outcome") != "pass"]
    lines: list[str] = []
    for finding in open_ones[:MOST_FINDINGS]:
        mark = _MARKS.get(str(finding.get("outcome")), _MARKS["unknown"])
        subject, message = str(finding.get("subject", "")), " ".join(str(finding.get("message", "")).split())
        told = message if message.startswith(subject) else f"{subject}: {without_name(subject, message)}"
        lines.append(f"{mark} {told} [{finding.get('reason_code', '')}]")
        lines += [
            f"        | {_short(line)}" for line in _evidence(finding)[:MOST_EVIDENCE] if _short(line) not in message
        ]
        if finding.get("remedy"):
            lines.append(f"        -> {' '.join(str(finding['remedy']).split())}")
    if len(open_ones) > MOST_FINDINGS:
        lines.append(f"        ... and {len(open_ones) - MOST_FINDINGS} more in the report")
    passed = len(ordered) - len(open_ones)
    lines.append(f"Checks: {passed} passed, {len(open_ones)} did not.")
    return lines


def _evidence(finding: Mapping[str, Any]) -> Sequence[object]:
    evidence = finding.get("evidence") or ()
    return (evidence,) if isinstance(evidence, str) else tuple(evidence)


def _short(line: object) -> str:
    text = " ".join(str(line).split())
    return text if len(text) <= LONGEST_EVIDENCE else text[: LONGEST_EVIDENCE - 1] + "…"


def summary_lines(
    verdict: str,
    findings: Iterable[Mapping[str, Any]],
    placements: Mapping[str, Any],
    lines: Iterable[str],
    files: Mapping[str, str],
    components: Iterable[Mapping[str, Any]] = (),
) -> list[str]:
    """Return the summary. ``placements`` maps pods to nodes; ``files`` maps labels to paths, empty ones left out."""
    summary = [f"Verdict: {verdict}"]
    state = component_lines(components)
    if state:
        summary += ["Components:", *state]
    placed = placement_lines(placements)
    if placed:
        summary += ["Placement:", *placed]
    summary += [*finding_lines(findings), *lines]
    width = max((len(label) for label, path in files.items() if path), default=0)
    summary += [f"{label + ':':<{width + 1}} {path}" for label, path in files.items() if path]
    return summary
