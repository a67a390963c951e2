# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The smoke test's judgement: what is asked, and what each answer means. Sending is ``http_probe``'s work.

Status and body are judged apart, and each way in which an endpoint can disappoint has its own reason code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from . import keys
from .dgdview import DgdView
from .engineargs import engine_calls
from .findings import Finding
from .http_answer import MAX_BODY, HttpAnswer, stream_events
from .smoke_reasons import (
    ARTIFACT_ID,
    BODY_TOO_LARGE,
    CHAT_HTTP_ERROR,
    CHAT_TIMEOUT,
    CHAT_UNAVAILABLE,
    CONNECTION_LOST,
    DEGENERATE_OUTPUT,
    DIRECT_ROUTING,
    EMPTY_CONTENT,
    ERROR_IN_BODY,
    HTML_PAGE,
    LOADING,
    MODEL_AMBIGUOUS,
    MODEL_NOT_FOUND,
    MODEL_NOT_LISTED,
    MODELS_HTTP_ERROR,
    MODELS_MALFORMED,
    NO_CHOICES,
    NOT_JSON,
    OTHER_MODEL_ANSWERED,
    PASSED,
    REASONING_ONLY,
    REFUSAL,
    STREAM_BROKEN,
    STREAM_UNASKED,
    TOOL_CALL,
    UNREACHABLE,
    WRONG_MODEL_LISTED,
    WRONG_OBJECT,
)

MODELS_PATH = "/v1/models"
CHAT_PATH = "/v1/chat/completions"
DEFAULT_PROMPT = "Simply output the phrase: NVIDIA Dynamo"
ARTIFACT_FILE = "smoke_test_artifact.json"

_SPECIAL = re.compile(
    r"<[|｜][^<>]{0,64}[|｜]>|</?(?:s|pad|unk|eos|bos|end_of_turn|start_of_turn)>|\[/?(?:PAD|EOS|BOS|UNK)\]"
)
#: Reasons to finish that no request causes which is served to its end. Sources: the finish reasons
#: of vLLM, SGLang and Dynamo.
_BROKEN_OFF = frozenset(("error", "abort", "cancelled"))
_THINK = re.compile(r"\A\s*(?:<think>.*?(?:</think>|\Z)|(?:(?!<think>).)*?</think>)", re.DOTALL)


@dataclass(frozen=True)
class ModelsVerdict:
    """What a list of models says: the model to ask, or why there is none; ``waits`` tells whether time may help."""

    model: str = ""
    finding: Finding | None = None
    waits: bool = False


@dataclass(frozen=True)
class ChatVerdict:
    """What a chat answer says.

    ``wants_header`` marks a sidecar that asks for a worker, ``waits`` an endpoint that may answer well a little later.
    """

    response: Any
    findings: tuple[Finding, ...]
    wants_header: bool = False
    waits: bool = False

    @property
    def success(self) -> bool:
        """Whether the smoke test passes with this answer."""
        return all(finding.outcome in ("pass", "warn") for finding in self.findings)


def chat_request(
    model: str, prompt: str = DEFAULT_PROMPT, max_tokens: int = 100, temperature: float = 0, stream: bool = False
) -> dict[str, Any]:
    """Return the request's body."""
    whole = int(temperature) if float(temperature).is_integer() else temperature
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": max_tokens,
        "temperature": whole,
    }
    return {**body, "stream": True} if stream else body


def served_model(dgd: DgdView) -> str:
    """Return the served model's name as the workers' arguments give it, or empty where they do not or disagree.

    Without ``--served-model-name`` an engine serves under the model's id; a path of files is never taken for a name.
    """
    names: set[str] = set()
    for component in dgd.of_role(keys.DECODE, keys.WORKER, keys.PREFILL) or dgd.components:
        for call in engine_calls(component.main.command, component.main.args, component.main.env):
            served = call.flags.get("served-model-name", "").split(" ")[0]
            model = call.flags.get("model", "")
            name = served or ("" if model.startswith(("/", ".", "~")) else model)
            if name and "$" not in name:
                names.add(name)
    return names.pop() if len(names) == 1 else ""


def judge_models(answer: HttpAnswer, wanted: str = "") -> ModelsVerdict:
    """Judge an answer to the list of models."""
    subject = f"Model/{wanted}" if wanted else "Model"
    if not answer.status or answer.timed_out:
        return ModelsVerdict(
            finding=UNREACHABLE.finding("fail", subject, _no_answer(answer), _quoted(answer)), waits=True
        )
    broken = _broken(answer, subject)
    if broken is not None:
        return ModelsVerdict(finding=broken, waits=broken.reason_code != BODY_TOO_LARGE.code)
    if answer.is_html:
        return ModelsVerdict(finding=_page(subject, answer), waits=answer.status in (502, 503, 504))
    if answer.status == 503:
        text = "The endpoint answers 503."
        return ModelsVerdict(finding=LOADING.finding("fail", subject, text, _quoted(answer)), waits=True)
    if not answer.ok:
        text = f"{MODELS_PATH} was answered {answer.status}{_redirected(answer)}."
        finding = MODELS_HTTP_ERROR.finding("fail", subject, text, _quoted(answer))
        return ModelsVerdict(finding=finding, waits=answer.status in (404, 429) or answer.status >= 500)
    ids, adapters = _listed(answer)
    if ids is None:
        text = f"{MODELS_PATH} was answered {answer.status} and no list."
        return ModelsVerdict(finding=MODELS_MALFORMED.finding("fail", subject, text, _quoted(answer)))
    return _choose_model(ids, adapters, wanted, subject)


def _listed(answer: HttpAnswer) -> tuple[list[str] | None, set[str]]:
    """Return the ids that are listed, nothing where that is no list, and those that say they are adapters."""
    try:
        data = answer.json()
    except ValueError:
        return None, set()
    entries = data.get("data") if isinstance(data, Mapping) else None
    if not isinstance(entries, list):
        return None, set()
    known = [entry for entry in entries if isinstance(entry, Mapping) and isinstance(entry.get("id"), str)]
    return [entry["id"] for entry in known], {entry["id"] for entry in known if entry.get("parent")}


def _choose_model(ids: list[str], adapters: set[str], wanted: str, subject: str) -> ModelsVerdict:
    if wanted in ids:
        return ModelsVerdict(model=wanted)
    if not ids:
        return ModelsVerdict(
            finding=MODEL_NOT_LISTED.finding("fail", subject, "The list of models is empty."), waits=True
        )
    listed = f"listed: {', '.join(ids[:20])}"
    if wanted:
        alike = [name for name in ids if name.lower() == wanted.lower()]
        text = f"{wanted} is not listed" + (f"; {alike[0]} is, and upper and lower case count." if alike else ".")
        return ModelsVerdict(finding=WRONG_MODEL_LISTED.finding("fail", subject, text, [listed]), waits=True)
    base = [name for name in dict.fromkeys(ids) if name not in adapters]
    if len(base) == 1:
        return ModelsVerdict(model=base[0])
    return ModelsVerdict(finding=MODEL_AMBIGUOUS.finding("fail", subject, f"{len(base)} models are listed.", [listed]))


def judge_chat(answer: HttpAnswer, request: Mapping[str, Any]) -> ChatVerdict:
    """Judge an answer to a chat completion that was asked with ``request``."""
    subject = f"Model/{request.get('model', '')}"
    response = parsed_body(answer)
    broken = _broken(answer, subject)
    if broken is not None:
        return ChatVerdict(response, (broken,), waits=broken.reason_code == CONNECTION_LOST.code)
    if not answer.ok:
        return _refused(answer, response, subject)
    if answer.is_html:
        return ChatVerdict(response, (_page(subject, answer),))
    if answer.is_stream:
        return _judge_stream(answer, request, response, subject)
    if request.get("stream"):
        text = "A stream was asked for and the answer is none."
        return ChatVerdict(response, (STREAM_BROKEN.finding("fail", subject, text, _quoted(answer)),))
    if isinstance(response, str):
        text = f"Answered {answer.status}, and the body is not JSON."
        return ChatVerdict(response, (NOT_JSON.finding("fail", subject, text, _quoted(answer)),))
    return ChatVerdict(response, _judge_completion(response, request, subject, answer, "chat.completion"))


def parsed_body(answer: HttpAnswer) -> Any:
    """Return the parsed body: JSON, the list of a stream's events, or the text where it is neither."""
    if answer.is_stream and answer.ok:
        return [data for _unused, data in stream_events(answer.text)]
    try:
        return answer.json()
    except ValueError:
        return answer.text or answer.error


def _broken(answer: HttpAnswer, subject: str) -> Finding | None:
    if answer.large:
        return BODY_TOO_LARGE.finding("fail", subject, f"The body is larger than {MAX_BODY} bytes.", _quoted(answer))
    if answer.timed_out:
        return CHAT_TIMEOUT.finding("fail", subject, _no_answer(answer), _quoted(answer))
    if not answer.status or answer.cut:
        return CONNECTION_LOST.finding("fail", subject, _no_answer(answer), _quoted(answer))
    return None


def _refused(answer: HttpAnswer, response: Any, subject: str) -> ChatVerdict:
    """Judge an answer whose status is not 2xx."""
    message = error_message(response)
    quoted = _quoted(answer)
    if answer.status == 400 and "direct routing" in answer.text.lower():
        text = "The sidecar routes directly and wants the worker's instance id."
        return ChatVerdict(response, (DIRECT_ROUTING.finding("fail", subject, text, quoted),), wants_header=True)
    if answer.is_html:
        return ChatVerdict(response, (_page(subject, answer),))
    if answer.status == 503:
        return ChatVerdict(response, (CHAT_UNAVAILABLE.finding("fail", subject, message, quoted),), waits=True)
    if answer.status == 404 and "model" in message.lower():
        return ChatVerdict(response, (MODEL_NOT_FOUND.finding("fail", subject, message, quoted),), waits=True)
    where = _redirected(answer)
    text = f"{CHAT_PATH} was answered {answer.status}" + (f"{where}." if where else f": {message}")
    return ChatVerdict(response, (CHAT_HTTP_ERROR.finding("fail", subject, text, quoted),))


def _redirected(answer: HttpAnswer) -> str:
    where = answer.headers.get("location") if 300 <= answer.status < 400 else None
    return f", a redirection to {_short(where)}" if where else ""


def _judge_stream(answer: HttpAnswer, request: Mapping[str, Any], response: Any, subject: str) -> ChatVerdict:
    if not request.get("stream"):
        text = "The request asked for no stream."
        return ChatVerdict(response, (STREAM_UNASKED.finding("fail", subject, text, _quoted(answer)),))
    events = list(stream_events(answer.text))
    wrong = [data for name, data in events if name == "error" or (isinstance(data, Mapping) and is_error(data))]
    chunks = [data for _unused, data in events if isinstance(data, Mapping) and isinstance(data.get("choices"), list)]
    if wrong or not chunks or not any(data == "[DONE]" for _unused, data in events):
        text = "An event tells an error." if wrong else "The stream has no chunk." if not chunks else "It has no end."
        return ChatVerdict(response, (STREAM_BROKEN.finding("fail", subject, text, _quoted(answer)),))
    whole = joined_chunks(chunks)
    return ChatVerdict(response, _judge_completion(whole, request, subject, answer, "chat.completion.chunk"))


def joined_chunks(chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Put a stream's chunks together to one completion."""
    made: dict[int, dict[str, Any]] = {}
    whole: dict[str, Any] = {}
    for chunk in chunks:
        whole = {**whole, **{key: value for key, value in chunk.items() if key != "choices" and value is not None}}
        for choice in chunk["choices"]:
            if not isinstance(choice, Mapping):
                continue
            index = choice.get("index", 0)
            message = made.setdefault(index if isinstance(index, int) else 0, {"message": {}})
            if choice.get("finish_reason"):
                message["finish_reason"] = choice["finish_reason"]
            delta = choice.get("delta")
            for key, value in delta.items() if isinstance(delta, Mapping) else ():
                there = message["message"].get(key)
                both_texts = isinstance(value, str) and isinstance(there, str) and key != "role"
                both_lists = isinstance(value, list) and isinstance(there, list)
                message["message"][key] = there + value if both_texts or both_lists else value
    return {**whole, "choices": [made[index] for index in sorted(made)]}


def _judge_completion(
    data: Any, request: Mapping[str, Any], subject: str, answer: HttpAnswer, wanted: str
) -> tuple[Finding, ...]:
    quoted = _quoted(answer)
    if not isinstance(data, Mapping):
        return (WRONG_OBJECT.finding("fail", subject, "The answer is JSON and no object.", quoted),)
    if is_error(data):
        return (ERROR_IN_BODY.finding("fail", subject, error_message(data), quoted),)
    if data.get("object") != wanted:
        return (WRONG_OBJECT.finding("fail", subject, f"object is {data.get('object')!r}, not {wanted}.", quoted),)
    choices = data.get("choices")
    with_message = [
        choice
        for choice in (choices if isinstance(choices, list) else ())
        if isinstance(choice, Mapping) and isinstance(choice.get("message"), Mapping)
    ]
    if not with_message:
        return (NO_CHOICES.finding("fail", subject, "The answer has no choice with a message.", quoted),)
    judged = [_judge_choice(choice, subject, quoted) for choice in with_message]
    best = min(judged, key=lambda finding: ("pass", "warn", "unknown", "fail").index(finding.outcome))
    return (best, *_other_model(data, request, subject))


def _judge_choice(choice: Mapping[str, Any], subject: str, quoted: list[str]) -> Finding:
    """Judge one choice; one that the engine broke off is no answer, whatever text it holds."""
    reason = choice.get("finish_reason")
    if isinstance(reason, str) and reason.lower() in _BROKEN_OFF:
        return ERROR_IN_BODY.finding(
            "fail", subject, f"The engine broke the answer off: finish_reason {reason}.", quoted
        )
    return _judge_message(choice["message"], subject, quoted)


def _judge_message(message: Mapping[str, Any], subject: str, quoted: list[str]) -> Finding:
    content = content_text(message.get("content"))
    reasoning = content_text(message.get("reasoning_content")) or content_text(message.get("reasoning"))
    final = _THINK.sub("", content)
    if _tells(final):
        return PASSED.finding("pass", subject, "The model answered.", [f"content: {_short(content)}"])
    if message.get("tool_calls"):
        return TOOL_CALL.finding("warn", subject, "The answer calls a tool.", quoted)
    if message.get("refusal"):
        return REFUSAL.finding("warn", subject, "The model refused.", [f"refusal: {_short(str(message['refusal']))}"])
    thoughts = reasoning + content[: len(content) - len(final)].replace("<think>", "").replace("</think>", "")
    if _tells(thoughts):
        text = "The answer holds reasoning and no final text yet."
        return REASONING_ONLY.finding("warn", subject, text, [f"reasoning: {_short(thoughts)}"])
    if content.strip() or reasoning.strip():
        return DEGENERATE_OUTPUT.finding("fail", subject, "The answer holds only special tokens.", quoted)
    return EMPTY_CONTENT.finding("fail", subject, "The answer is empty.", quoted)


def _tells(text: str) -> bool:
    """Whether a text holds anything to read besides special tokens: control and replacement characters are nothing."""
    return any(char.isprintable() and not char.isspace() and char != "\ufffd" for char in _SPECIAL.sub("", text))


def content_text(content: object) -> str:
    """Return a message's text; it may be a text, or a list of parts of which some are texts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    return "".join(part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str))


def _other_model(data: Mapping[str, Any], request: Mapping[str, Any], subject: str) -> tuple[Finding, ...]:
    named = data.get("model")
    if not isinstance(named, str) or not named or named == request.get("model"):
        return ()
    return (OTHER_MODEL_ANSWERED.finding("warn", subject, f"The answer names the model {named}."),)


def is_error(data: Mapping[str, Any]) -> bool:
    """Whether a body tells an error: whatever is there but null and false, an empty mapping as well."""
    return data.get("error") is not None and data["error"] is not False


def error_message(response: Any) -> str:
    """Return what an error body says: OpenAI's ``error.message``, a plain ``message`` or ``detail``, or its text."""
    if isinstance(response, Mapping):
        error = response.get("error")
        inner = error if isinstance(error, Mapping) else response
        for key in ("message", "detail", "error"):
            if inner.get(key):
                return _short(inner[key] if isinstance(inner[key], str) else json.dumps(inner[key]))
    return _short(response if isinstance(response, str) else json.dumps(response))


def _page(subject: str, answer: HttpAnswer) -> Finding:
    title = re.search(rb"<title[^>]*>\s*(.{0,120}?)\s*</title", answer.body, re.IGNORECASE | re.DOTALL)
    evidence = [f"title: {_short(title[1].decode('utf-8', 'replace'))}"] if title else _quoted(answer)
    return HTML_PAGE.finding("fail", subject, f"Answered {answer.status} with an HTML page.", evidence)


def _no_answer(answer: HttpAnswer) -> str:
    return answer.error or "The answer is not whole."


def _quoted(answer: HttpAnswer) -> list[str]:
    lines = [f"HTTP {answer.status}"] if answer.status else []
    text = _short(answer.text) if answer.body else answer.error
    return lines + ([text] if text else [])


def _short(text: str, limit: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def artifact(
    *,
    request: Mapping[str, Any],
    response: Any,
    success: bool,
    codes: tuple[int, int],
    findings: Iterable[Finding] = (),
    **more: Any,
) -> dict[str, Any]:
    """Return the artifact; ``codes`` are the HTTP status of the models and of the chat completion."""
    return {
        "schema": ARTIFACT_ID,
        "api_request": dict(request),
        "api_response": response,
        "success": 1 if success else 0,
        "models_code": codes[0],
        "api_code": codes[1],
        **more,
        "reason_codes": [finding.reason_code for finding in findings],
    }


def same_outcome(before: object, after: object) -> bool:
    """Whether an earlier artifact tells the same as this one, times and the answer's own words left aside."""
    compared = ("schema", "api_request", "success", "models_code", "api_code", "reason_codes")
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return False
    return all(before.get(key) == after.get(key) for key in compared)
