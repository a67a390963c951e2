# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The smoke test's course: find the endpoint, reach it, wait for the model, ask once, judge.

The clock, the sleep and the connection come from outside, so that a test needs neither time nor a cluster.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from .core import smoke
from .core.endpoint import ENDPOINT_UNKNOWN, NO_READY_POD, SERVICE_MISSING, Endpoint
from .core.findings import Finding, by_severity, worst
from .core.http_answer import HttpAnswer, without_secrets
from .core.instance_id import worker_instance_id
from .core.smoke_reasons import HEADER_ADDED, INSTANCE_HEADER, NOT_SENT
from .http_probe import Address
from .kube_errors import Forbidden, KubeError, Unauthorized

#: How often a request that may answer later is sent again, within its bound.
RETRIES = 5
_MAY_COME = frozenset((NO_READY_POD.code, SERVICE_MISSING.code, ENDPOINT_UNKNOWN.code))


class Locator(Protocol):
    """Finds the endpoint, anew each time it is asked, and opens a way to it; both may raise :class:`KubeError`."""

    def find(self) -> Endpoint | Finding: ...

    def open(self, endpoint: Endpoint) -> contextlib.AbstractContextManager[Address]: ...


class Sender(Protocol):
    """Sends one request (``http_probe.send``)."""

    def __call__(
        self,
        address: Address,
        method: str,
        path: str,
        *,
        timeout: float,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpAnswer: ...


@dataclass(frozen=True)
class SmokePlan:
    """What to ask and for how long; times are seconds. ``instance_id`` is ``auto``, ``none`` or a number."""

    model: str = ""
    prompt: str = smoke.DEFAULT_PROMPT
    max_tokens: int = 100
    temperature: float = 0
    stream: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    instance_id: str = "auto"
    reach_timeout: float = 60
    model_timeout: float = 300
    request_timeout: float = 120
    poll_interval: float = 2


@dataclass(frozen=True)
class SmokeResult:
    """What came of it; there is always a finding."""

    stage: str
    endpoint: Endpoint | None
    model: str
    request: Mapping[str, Any]
    response: Any
    codes: tuple[int, int]
    findings: tuple[Finding, ...]
    timings: Mapping[str, float]

    @property
    def success(self) -> bool:
        """Whether every gate passed."""
        return self.stage == "done" and all(finding.outcome in ("pass", "warn") for finding in self.findings)

    def to_result(self) -> dict[str, Any]:
        """Return what the module returns; ``msg`` tells the outcome in one line."""
        first = self.findings[0]
        return {
            "success": self.success,
            "stage": self.stage,
            "endpoint": self.endpoint.to_result() if self.endpoint else {},
            "model": self.model,
            "api_request": dict(self.request),
            "api_response": self.response,
            "http_status": {"models": self.codes[0], "chat": self.codes[1]},
            "timings": dict(self.timings),
            "verdict": worst(self.findings),
            "findings": [finding.to_result() for finding in self.findings],
            "msg": f"{first.subject}: {first.message}" + (f" {first.remedy}" if first.outcome != "pass" else ""),
        }


@dataclass(frozen=True)
class Tools:
    """The outside world. ``keep`` stores a raw body under a name at the moment it comes in."""

    locator: Locator
    send: Sender
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    keep: Callable[[str, bytes], object]


class SmokeRun:
    """One smoke test. :meth:`run` is called once."""

    def __init__(self, plan: SmokePlan, tools: Tools) -> None:
        self.plan = plan
        self.tools = tools
        self.stage = "endpoint"
        self.endpoint: Endpoint | None = None
        self.address: Address | None = None
        self.way = contextlib.ExitStack()
        self.model = plan.model
        self.request: Mapping[str, Any] = {}
        self.response: Any = None
        self.codes = (0, 0)
        self.timings: dict[str, float] = {}
        self.notes: list[Finding] = []
        self.hopeless = False
        self.first: HttpAnswer | None = None

    def run(self) -> SmokeResult:
        """Go through the gates until one does not open."""
        with self.way:
            findings = self._gates()
        return SmokeResult(
            self.stage,
            self.endpoint,
            self.model,
            self.request,
            self.response,
            self.codes,
            by_severity([*findings, *self.notes]),
            self.timings,
        )

    def _gates(self) -> tuple[Finding, ...]:
        for stage, gate in (("endpoint", self._find), ("reach", self._reach), ("models", self._models)):
            self.stage = stage
            finding = self._timed(stage, gate)
            if finding is not None:
                return (finding,)
        self.stage = "chat"
        started = self.tools.clock()
        verdict = self._chat()
        self.timings["chat"] = round(self.tools.clock() - started, 3)
        self.response = verdict.response
        if verdict.success:
            self.stage = "done"
        return verdict.findings

    def _timed(self, stage: str, gate: Callable[[], Finding | None]) -> Finding | None:
        started = self.tools.clock()
        finding = gate()
        self.timings[stage] = round(self.tools.clock() - started, 3)
        return finding

    def _find(self) -> Finding | None:
        """Wait for an endpoint with a ready pod; what time cannot mend ends the test at once."""
        end = self.tools.clock() + self.plan.reach_timeout
        while True:
            finding = self._connect()
            if finding is None or finding.reason_code not in _MAY_COME or not self._wait(end):
                return finding

    def _connect(self) -> Finding | None:
        """Find the endpoint and open a way to it; a permission that is missing will not come by waiting."""
        self.way.close()
        self.address = None
        try:
            found = self.tools.locator.find()
            if isinstance(found, Finding):
                return found
            self.endpoint = found
            self.address = self.way.enter_context(self.tools.locator.open(found))
        except KubeError as error:
            self.hopeless = isinstance(error, (Forbidden, Unauthorized))
            subject = f"Pod/{self._pod()}" if self._pod() else "Endpoint"
            return ENDPOINT_UNKNOWN.finding("unknown", subject, str(error))
        return None

    def _wait(self, end: float) -> bool:
        left = end - self.tools.clock()
        if left <= 0 or self.hopeless:
            return False
        self.tools.sleep(min(self.plan.poll_interval, left))
        return True

    def _get_models(self, end: float) -> HttpAnswer:
        """Ask for the models once; a broken way is opened anew, as its pod may have gone."""
        if self.address is None:
            finding = self._connect()
            if finding is not None or self.address is None:
                return HttpAnswer(0, error=finding.message if finding else "")
        timeout = max(min(end - self.tools.clock(), 30.0), 1.0)
        answer = self._send("GET", smoke.MODELS_PATH, timeout, None, self.plan.headers)
        if not answer.status:
            self.address = None
        else:
            self.codes = (answer.status, self.codes[1])
            self.tools.keep("models_body.json", answer.body)
        return answer

    def _send(
        self, method: str, path: str, timeout: float, body: bytes | None, headers: Mapping[str, str]
    ) -> HttpAnswer:
        """Send one request; an endpoint that repeats a credential of its headers shall not have it written down."""
        if self.address is None:
            return HttpAnswer(0, error="There is no way to the endpoint.")
        answer = self.tools.send(self.address, method, path, timeout=timeout, body=body, headers=headers)
        return without_secrets(answer, self.plan.headers)

    def _reach(self) -> Finding | None:
        """Any HTTP answer shows that the way is open; the next gates judge it."""
        end = self.tools.clock() + self.plan.reach_timeout
        while True:
            answer = self._get_models(end)
            if answer.status:
                self.first = answer
                return None
            if not self._wait(end):
                return smoke.judge_models(answer, self.model).finding

    def _models(self) -> Finding | None:
        end = self.tools.clock() + self.plan.model_timeout
        last: tuple[Finding, HttpAnswer] | None = None
        while True:
            # The answer that showed the way open is judged first; asking again would tell the same.
            answer, self.first = self.first or self._get_models(end), None
            verdict = smoke.judge_models(answer, self.plan.model)
            if verdict.finding is None:
                self.model = verdict.model
                return None
            # A look that got no answer says less than an earlier one that did.
            last = (verdict.finding, answer) if answer.status or last is None else last
            if not verdict.waits or not self._wait(end):
                self.response = smoke.parsed_body(last[1])
                return last[0]

    def _chat(self) -> smoke.ChatVerdict:
        plan = self.plan
        self.request = smoke.chat_request(self.model, plan.prompt, plan.max_tokens, plan.temperature, plan.stream)
        end = self.tools.clock() + plan.request_timeout
        with_header = plan.instance_id not in ("auto", "none") or bool(self.endpoint and self.endpoint.direct)
        verdict = self._ask(end, with_header)
        for _unused in range(RETRIES):
            if verdict.wants_header and not with_header and plan.instance_id == "auto" and self._worker():
                with_header = True
                self.notes.append(self._header_note())
            elif not verdict.waits or not self._wait(end):
                break
            verdict = self._ask(end, with_header)
        return verdict

    def _pod(self) -> str:
        return self.endpoint.pod if self.endpoint else ""

    def _worker(self) -> str:
        """Return the pod whose worker a direct request names."""
        worker = self.endpoint.worker if self.endpoint else ""
        return self._pod() if worker is None else worker

    def _header_note(self) -> Finding:
        worker = self._worker()
        text = f"{self._pod()} asked for a worker's instance id; it was computed from the name of the pod {worker}."
        return HEADER_ADDED.finding("pass", f"Pod/{self._pod()}", text)

    def _ask(self, end: float, with_header: bool) -> smoke.ChatVerdict:
        if self.address is None:
            finding = self._connect()
            if finding is not None or self.address is None:
                return smoke.judge_chat(HttpAnswer(0, error=finding.message if finding else ""), self.request)
        headers = {**self.plan.headers, **(self._instance_header() if with_header else {})}
        body = json.dumps(self.request).encode()
        left = end - self.tools.clock()
        answer = self._send("POST", smoke.CHAT_PATH, max(left, 1.0), body, headers)
        self.codes = (self.codes[0], answer.status)
        if answer.status:
            self.tools.keep("api_body.json", answer.body)
        else:
            self.address = None
        return smoke.judge_chat(answer, self.request)

    def _instance_header(self) -> dict[str, str]:
        if self.plan.instance_id == "none" or any(name.lower() == INSTANCE_HEADER for name in self.plan.headers):
            return {}
        if self.plan.instance_id != "auto":
            return {INSTANCE_HEADER: self.plan.instance_id}
        return {INSTANCE_HEADER: str(worker_instance_id(self._worker()))} if self._worker() else {}


def not_sent(plan: SmokePlan, locator: Locator) -> SmokeResult:
    """Return what check mode may say: the endpoint, and that nothing was sent."""
    request = smoke.chat_request(plan.model, plan.prompt, plan.max_tokens, plan.temperature, plan.stream)
    try:
        found = locator.find()
    except KubeError as error:
        found = ENDPOINT_UNKNOWN.finding("unknown", "Endpoint", str(error))
    if isinstance(found, Finding):
        return SmokeResult("endpoint", None, plan.model, request, None, (0, 0), (found,), {})
    finding = NOT_SENT.finding("unknown", "Model" if not plan.model else f"Model/{plan.model}", NOT_SENT.meaning)
    return SmokeResult("skipped", found, plan.model, request, None, (0, 0), (finding,), {})
