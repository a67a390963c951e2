# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report shows, read from what the modules returned. A part that nobody looked at is ``None``, never empty."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from ..errors import InputError, shown
from ..findings import OUTCOME_ORDER, Finding, Outcome, by_severity, without_name, worst
from ..fit.picture import node_rows, svg
from ..podresources import pod_requests

_GIB = 2**30
#: What the moments of a ledger are called, in the order in which they come.
MOMENTS: Mapping[str, str] = {
    "created_at": "Prepared",
    "apply_started_at": "Apply began",
    "download_started_at": "Download began",
    "download_finished_at": "Download finished",
    "applied_at": "DGD applied",
    "allocated_at": "First GPU pod scheduled",
    "ready_at": "Ready",
    "succeeded_at": "Smoke test passed",
    "torn_down_at": "Torn down",
}
_FIT_WORDS: Mapping[str, tuple[Outcome, str]] = {
    "fits": ("pass", "Fits"),
    "does_not_fit": ("fail", "Does not fit"),
    "unknown": ("unknown", "Not known whether it fits"),
}
_STATUS_WORDS: Mapping[str, str] = {
    "prepared": "Prepared",
    "applying": "Being applied",
    "waiting": "Waiting to be ready",
    "ready": "Ready",
    "succeeded": "Served and tested",
    "blocked": "Blocked",
}


@dataclass(frozen=True)
class PodRow:
    """Equal pods of one component: how many, what each asks for, and where they go."""

    component: str
    role: str
    count: int
    images: tuple[str, ...]
    requests: str
    nodes: tuple[str, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class FitPart:
    """The fit's verdict in words, its picture (SVG of our own), and what did not find a place."""

    outcome: Outcome
    verdict: str
    sentence: str
    picture: str
    unplaced: tuple[tuple[str, str, str], ...]
    headroom: tuple[tuple[str, str, str], ...]
    suggestions: tuple[str, ...]


@dataclass(frozen=True)
class PullRow:
    """One image: who attaches which secret, and whether the kubelet can use it."""

    image: str
    registry: str
    verdict: str
    outcome: Outcome
    secrets: tuple[str, ...]
    why: str
    used_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Moment:
    """A moment of the run: seconds since the first and until the next (``None`` for the last)."""

    label: str
    at: str
    since: float
    until: float | None


@dataclass(frozen=True)
class SmokePart:
    """The smoke test: what was asked and what was answered."""

    success: bool
    stage: str
    model: str
    endpoint: str
    question: str
    answer: str
    codes: str
    timings: str


@dataclass(frozen=True)
class LedgerPart:
    """The ledger: its main fields, and its lists as rows of text."""

    status: str
    fields: tuple[tuple[str, str], ...]
    manifests: tuple[tuple[str, str, str], ...]
    patches: tuple[tuple[str, str, str], ...]
    attempts: tuple[tuple[str, str, str], ...]
    evidence: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Report:
    """Everything a report shows."""

    title: str
    subtitle: str
    generated_at: str
    outcome: Outcome
    headline: str
    lead: str
    facts: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]
    fit: FitPart | None = None
    pods: tuple[PodRow, ...] | None = None
    pulls: tuple[PullRow, ...] | None = None
    moments: tuple[Moment, ...] = ()
    smoke: SmokePart | None = None
    ledger: LedgerPart | None = None
    commands: tuple[str, ...] = field(default=())

    @property
    def counts(self) -> Mapping[Outcome, int]:
        """How many findings have each outcome, the worst first."""
        order = reversed(OUTCOME_ORDER)
        return {outcome: sum(finding.outcome == outcome for finding in self.findings) for outcome in order}


def read_report(data: Mapping[str, Any]) -> Report:
    """Read a report from the module's parameters; raise :class:`InputError` naming the part that has a wrong shape."""
    findings = by_severity(_findings(data.get("findings") or ()))
    ledger = mapping_of(data, "ledger")
    smoke = mapping_of(data, "smoke")
    fit = _fit(mapping_of(data, "fit"))
    smoke_part = _smoke(smoke)
    ledger_part = _ledger(ledger)
    outcome, headline = _headline(str(data.get("verdict") or ""), findings, fit, smoke_part, ledger)
    commands = data.get("teardown_commands") or ledger.get("cleanup_commands") or ()
    return Report(
        title=_text(data.get("title")),
        subtitle=_text(data.get("subtitle")),
        generated_at=_text(data.get("generated_at")),
        outcome=outcome,
        headline=headline,
        lead=_lead(findings),
        facts=tuple(
            (str(name), _text(value)) for name, value in mapping_of(data, "facts").items() if value not in (None, "")
        ),
        findings=findings,
        fit=fit,
        pods=_pods(mapping_of(data, "render"), mapping_of(data, "fit")),
        pulls=_pulls(mapping_of(data, "pull_secrets")),
        moments=_moments(ledger),
        smoke=smoke_part,
        ledger=ledger_part,
        commands=_texts(commands),
    )


def mapping_of(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the mapping of that name, or an empty one where there is none."""
    value = data.get(name)
    if value is None or value == "":
        return {}
    if not isinstance(value, Mapping):
        raise InputError("must be a mapping", field=name, found=shown(value))
    return value


def _rows(data: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    value = data.get(name) or ()
    if not isinstance(value, (list, tuple)):
        raise InputError("must be a list", field=name, found=shown(value))
    return [item for item in value if isinstance(item, Mapping)]


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(_text(item) for item in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_text(item)}" for key, item in value.items())
    return str(value)


def _texts(value: object) -> tuple[str, ...]:
    """Return a list of texts; a single text is a list of one."""
    if isinstance(value, (list, tuple)):
        return tuple(_text(item) for item in value)
    return (_text(value),) if value else ()


def _findings(given: Iterable[object]) -> Iterable[Finding]:
    for number, item in enumerate(given):
        if not isinstance(item, Mapping) or item.get("outcome") not in OUTCOME_ORDER:
            raise InputError("must be a finding", field=f"findings[{number}]", found=shown(item))
        evidence = item.get("evidence") or ()
        yield Finding(
            check=_text(item.get("check")),
            outcome=item["outcome"],
            reason_code=_text(item.get("reason_code")),
            subject=_text(item.get("subject")),
            message=_text(item.get("message")),
            evidence=tuple(_text(line) for line in evidence)
            if isinstance(evidence, (list, tuple))
            else (_text(evidence),),
            remedy=_text(item.get("remedy")),
        )


def _headline(
    given: str, findings: Sequence[Finding], fit: FitPart | None, smoke: SmokePart | None, ledger: Mapping[str, Any]
) -> tuple[Outcome, str]:
    """Return the report's outcome and its first words: what happened counts before what was planned."""
    outcome = worst(findings)
    served = smoke is not None and smoke.success
    # What was planned no longer counts once the model answers.
    if fit is not None and not served and OUTCOME_ORDER.index(fit.outcome) > OUTCOME_ORDER.index(outcome):
        outcome = fit.outcome
    if smoke is not None and not smoke.success and smoke.stage != "skipped":
        outcome = "fail"
    status = str(ledger.get("status") or "")
    if status == "blocked":
        outcome = "fail"
    if served and outcome != "fail":
        # What could not be known before is outweighed by the answer; the findings still tell it.
        outcome = "pass"
    if given:
        return outcome, given[0].upper() + given[1:].replace("_", " ")
    if served:
        return outcome, "Served"
    if status and status != "prepared":
        return outcome, "Torn down" if ledger.get("torn_down_at") else _STATUS_WORDS.get(status, status)
    if fit is not None:
        return outcome, fit.verdict
    return outcome, {"pass": "Good", "warn": "Good, with remarks", "unknown": "Not fully known", "fail": "Blocked"}[
        outcome
    ]


def _lead(findings: Sequence[Finding]) -> str:
    """Return the most pressing finding in one line; empty where every check passed."""
    first = findings[0] if findings else None
    if first is None or first.outcome == "pass":
        return ""
    text = f"{first.subject}: {own_message(first)}"
    return text if len(text) <= 240 else text[:239] + "…"


def own_message(finding: Finding) -> str:
    """Return the message as a sentence of its own, since the subject stands before it."""
    rest = without_name(finding.subject, finding.message)
    return rest if rest == finding.message else rest[:1].upper() + rest[1:]


# -- fit and pods ------------------------------------------------------------------------------------------------------


def _fit(fit: Mapping[str, Any]) -> FitPart | None:
    if not fit:
        return None
    outcome, words = _FIT_WORDS.get(str(fit.get("verdict")), _FIT_WORDS["unknown"])
    placements = _rows(fit, "placements")
    nodes = {_text(item.get("node")) for item in placements}
    reasons = "; ".join(_texts(fit.get("unknown")))
    sentence = {
        "pass": f"{_many(len(placements), 'pod')} on {_many(len(nodes), 'node')}.",
        "fail": _text(fit.get("proof")) or "No placement of all pods was found.",
    }.get(outcome, reasons or "The reason is not told.")
    return FitPart(
        outcome,
        words,
        sentence,
        svg(node_rows(fit), "Where the pods go") if fit.get("nodes") else "",
        tuple(
            (_text(item.get("component")), str(len(_texts(item.get("pods")))), _text(item.get("message")))
            for item in _rows(fit, "unplaced")
        ),
        tuple(
            (
                _text(item.get("component")),
                _text(item.get("asked")),
                _text(item.get("fits")) + ("" if item.get("exact", True) else " or more"),
            )
            for item in _rows(fit, "headroom")
        ),
        tuple(_text(item.get("message")) for item in _rows(fit, "suggestions")),
    )


def _many(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _pods(render: Mapping[str, Any], fit: Mapping[str, Any]) -> tuple[PodRow, ...] | None:
    if not render:
        return None
    nodes = {_text(item.get("pod")): _text(item.get("node")) for item in _rows(fit, "placements")}
    groups: dict[tuple[str, str, tuple[str, ...], str, tuple[str, ...]], list[str]] = {}
    for item in _rows(render, "pods"):
        pod = item.get("pod")
        spec = pod.get("spec") if isinstance(pod, Mapping) else None
        containers = spec.get("containers") if isinstance(spec, Mapping) else None
        images = tuple(
            dict.fromkeys(_text(entry.get("image")) for entry in containers or () if isinstance(entry, Mapping))
        )
        unknown = _texts(item.get("unknown"))
        key = (_text(item.get("component")), _text(item.get("role")), images, _requests(pod), unknown)
        groups.setdefault(key, []).append(_text(item.get("name")))
    return tuple(
        PodRow(
            component,
            "" if role == "main" else role,
            len(names),
            images,
            requests,
            tuple(dict.fromkeys(nodes[name] for name in names if name in nodes)),
            unknown,
        )
        for (component, role, images, requests, unknown), names in groups.items()
    )


def _requests(pod: object) -> str:
    """Return what a pod asks for in short words: ``4 × nvidia.com/gpu, 16 CPU, 128 GiB``."""
    if not isinstance(pod, Mapping):
        return ""
    try:
        amounts = dict(pod_requests(pod))
    except InputError:
        return "not readable"
    cpu, memory = int(amounts.pop("cpu", 0)), int(amounts.pop("memory", 0))
    parts = [f"{int(amount)} × {name}" for name, amount in sorted(amounts.items()) if amount and "/" in name]
    parts += [f"{_short_number(cpu / 1000)} CPU"] if cpu else []
    parts += [f"{_short_number(memory / _GIB)} GiB"] if memory else []
    return ", ".join(parts)


def _short_number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


_PULL_OUTCOMES: Mapping[str, tuple[Outcome, str]] = {
    "attached_and_used": ("pass", "attached and usable"),
    "attached_not_usable": ("fail", "attached, not usable"),
    "usable_not_attached": ("warn", "usable, not attached"),
    "none": ("warn", "no secret"),
}


def _pulls(result: Mapping[str, Any]) -> tuple[PullRow, ...] | None:
    if not result:
        return None
    rows: dict[PullRow, list[str]] = {}
    for item in _rows(result, "images"):
        outcome, words = _PULL_OUTCOMES.get(str(item.get("verdict")), ("unknown", "not known"))
        secrets = tuple(dict.fromkeys((*_texts(item.get("attached")), *_texts(item.get("operator")))))
        row = PullRow(
            _text(item.get("image")), _text(item.get("registry")), words, outcome, secrets, _text(item.get("why"))
        )
        # Pods of several kinds may use one image; where the answer is the same, it is told once.
        rows.setdefault(row, []).extend(_texts(item.get("used_by")))
    return tuple(replace(row, used_by=tuple(dict.fromkeys(names))) for row, names in rows.items())


# -- the run -----------------------------------------------------------------------------------------------------------


def _moments(ledger: Mapping[str, Any]) -> tuple[Moment, ...]:
    timings = ledger.get("timings")
    every = {**{name: ledger.get(name) for name in MOMENTS}, **(timings if isinstance(timings, Mapping) else {})}
    found = []
    for name, value in every.items():
        moment = _parsed(value)
        if moment is not None:
            found.append(
                (moment, MOMENTS.get(name, name.removesuffix("_at").replace("_", " ").capitalize()), str(value))
            )
    order = list(MOMENTS.values())
    found.sort(key=lambda item: (item[0], order.index(item[1]) if item[1] in order else len(order)))
    first = found[0][0] if found else None
    rows = []
    for number, (moment, label, text) in enumerate(found):
        after = found[number + 1][0] if number + 1 < len(found) else None
        until = (after - moment).total_seconds() if after is not None else None
        rows.append(Moment(label, text, (moment - first).total_seconds() if first else 0.0, until))
    return tuple(rows)


def _parsed(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _smoke(smoke: Mapping[str, Any]) -> SmokePart | None:
    if not smoke:
        return None
    request, status = mapping_of(smoke, "api_request"), mapping_of(smoke, "http_status")
    messages = request.get("messages")
    question = (
        messages[0].get("content")
        if isinstance(messages, list) and messages and isinstance(messages[0], Mapping)
        else ""
    )
    endpoint = mapping_of(smoke, "endpoint")
    where = endpoint.get("url") or ", ".join(
        part
        for part in (
            f"Service {endpoint['service']}" if endpoint.get("service") else "",
            f"pod {endpoint['pod']}" if endpoint.get("pod") else "",
            f"port {endpoint['port']}" if endpoint.get("port") else "",
        )
        if part
    )
    timings = smoke.get("timings")
    return SmokePart(
        bool(smoke.get("success")),
        _text(smoke.get("stage")),
        _text(smoke.get("model")),
        _text(where),
        _text(question),
        _answer(smoke.get("api_response")),
        f"models {_text(status.get('models') or '—')}, chat {_text(status.get('chat') or '—')}",
        ", ".join(f"{name} {value} s" for name, value in (timings if isinstance(timings, Mapping) else {}).items()),
    )


def _answer(response: object) -> str:
    """Return the words that were answered: the message's content or reasoning, else the body itself."""
    choices = response.get("choices") if isinstance(response, Mapping) else None
    message = (
        choices[0].get("message") if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) else None
    )
    if isinstance(message, Mapping):
        for name in ("content", "reasoning_content", "reasoning", "refusal"):
            if isinstance(message.get(name), str) and message[name].strip():
                return str(message[name])
    if response is None or isinstance(response, str):
        return (response or "")[:2000]
    return json.dumps(response, indent=1, ensure_ascii=False, default=str)[:2000]


def _ledger(ledger: Mapping[str, Any]) -> LedgerPart | None:
    if not ledger:
        return None
    names = (
        ("Iteration", "iteration"),
        ("Handed off by", "provenance"),
        ("Source", "source_dgd_path"),
        ("Source SHA-256", "source_dgd_sha256"),
        ("Workload contract", "user_workload_path"),
        ("Contract SHA-256", "user_workload_sha256"),
        ("GPUs requested", "gpus_requested"),
        ("Limitations", "limitations"),
        ("Retired before", "retired_previous"),
    )
    fields = [(label, _ledger_text(ledger.get(name))) for label, name in names]
    if ledger.get("latest_attempt_only"):
        fields.append(("Manifests", "only the latest attempt's, as the run is blocked"))
    attempts = [
        *((item, "failed attempt") for item in _rows(ledger, "failed_attempts")),
        *((item, "blocker") for item in _rows(ledger, "blockers")),
        *((item, "waited for room") for item in _rows(ledger, "contention")),
    ]
    return LedgerPart(
        _STATUS_WORDS.get(str(ledger.get("status")), _text(ledger.get("status"))),
        tuple((label, value) for label, value in fields if value),
        tuple(
            (_text(item.get("name")), _text(item.get("sha256")), _text(item.get("reason")))
            for item in _rows(ledger, "applied_manifests")
        ),
        tuple(
            (
                _text(item.get("object") or item.get("manifest")),
                "; ".join(f"{step.get('op')} {step.get('path')}" for step in _rows(item, "operations")),
                _text(item.get("reason")),
            )
            for item in _rows(ledger, "patches")
        ),
        tuple(
            (
                f"{kind}{': ' + _text(item['category']) if item.get('category') else ''}",
                _text(item.get("subject") or item.get("component")),
                _text(item.get("message") or item.get("diagnosis") or item.get("evidence")),
            )
            for item, kind in attempts
        ),
        tuple(
            (
                f"{_text(item.get('component'))} {_text(item.get('knob'))}".strip(),
                "live" if item.get("proven") is True else "not live" if item.get("proven") is False else "not proven",
                _text(item.get("evidence")),
            )
            for item in _rows(ledger, "config_engagement")
        ),
    )


def _ledger_text(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(_text(item.get("message")) if isinstance(item, Mapping) else _text(item) for item in value)
    return _text(value)
