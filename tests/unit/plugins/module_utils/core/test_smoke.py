# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each way in which an endpoint can answer a smoke test, and what it is called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import http_answer, schema, smoke
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.dgdview import view_dgd
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.http_answer import HttpAnswer
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.smoke import (
    judge_chat,
    judge_models,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.smoke_reasons import ARTIFACT_SCHEMA, REASONS
from hypothesis import given
from hypothesis import strategies as st

MODEL = "acme/x"
REQUEST = smoke.chat_request(MODEL)
HTML = b"<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>"


def answer(body: object, status: int = 200, kind: str = "application/json", **more: Any) -> HttpAnswer:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HttpAnswer(status, raw, {"content-type": kind}, **more)


def listing(*ids: str, **more: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": name, "object": "model", **more} for name in ids]}


def completion(message: object, finish: str = "stop", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"id": "1", "object": "chat.completion", "model": MODEL, "choices": [choice], **more}


def stream(*events: object, end: bool = True) -> HttpAnswer:
    lines = [f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n" for event in events]
    return answer(
        "".join([*lines, "data: [DONE]\n\n" if end else ""]).encode(), kind="text/event-stream; charset=utf-8"
    )


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "model": MODEL, "choices": [choice]}


def codes(verdict: smoke.ChatVerdict) -> list[tuple[str, str]]:
    return [(finding.outcome, finding.reason_code) for finding in verdict.findings]


# -- the list of models ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "body", "model"),
    [
        (MODEL, listing(MODEL, "acme/x-lora"), MODEL),
        ("", listing(MODEL), MODEL),
        ("", {"data": [{"id": MODEL}, {"id": "acme/x-lora", "parent": MODEL}]}, MODEL),
        ("", listing(MODEL, MODEL), MODEL),
        ("", listing("/models/tiny"), "/models/tiny"),
    ],
)
def test_the_model_to_ask(wanted: str, body: dict[str, Any], model: str) -> None:
    verdict = judge_models(answer(body), wanted)
    assert (verdict.model, verdict.finding) == (model, None)


@pytest.mark.parametrize(
    ("got", "wanted", "code", "waits"),
    [
        (answer(listing()), MODEL, "smoke_model_not_listed", True),
        (answer(listing("other")), MODEL, "smoke_wrong_model_listed", True),
        (answer(listing("a", "b")), "", "smoke_model_ambiguous", False),
        (answer({"data": "x"}), MODEL, "smoke_models_malformed", False),
        (answer(b"{"), MODEL, "smoke_models_malformed", False),
        (answer([MODEL]), MODEL, "smoke_models_malformed", False),
        (answer(b"loading", 503, "text/plain"), MODEL, "smoke_loading", True),
        (answer(HTML, 200, "text/html"), MODEL, "smoke_html_page", False),
        (answer(HTML, 502, ""), MODEL, "smoke_html_page", True),
        (answer({"detail": "no"}, 404), MODEL, "smoke_models_http_error", True),
        (answer({"detail": "no"}, 401), MODEL, "smoke_models_http_error", False),
        (HttpAnswer(0, error="refused"), MODEL, "smoke_unreachable", True),
        (answer(b'{"data": [{"id"', cut=True), MODEL, "smoke_connection_lost", True),
        (answer(b'{"data"', timed_out=True, cut=True), MODEL, "smoke_unreachable", True),
        (answer(b"a", large=True), MODEL, "smoke_body_too_large", False),
        (answer(b"", 302, ""), MODEL, "smoke_models_http_error", False),
    ],
)
def test_why_there_is_no_model(got: HttpAnswer, wanted: str, code: str, waits: bool) -> None:
    verdict = judge_models(got, wanted)
    assert verdict.finding is not None
    assert (verdict.model, verdict.finding.reason_code, verdict.finding.outcome) == ("", code, "fail")
    assert verdict.waits is waits
    assert verdict.finding.remedy


def test_case_counts_and_is_said() -> None:
    finding = judge_models(answer(listing("Acme/X")), MODEL).finding
    assert finding is not None
    assert "Acme/X is, and upper and lower case count" in finding.message


# -- the chat completion ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "outcome", "code"),
    [
        ({"role": "assistant", "content": "NVIDIA Dynamo"}, "pass", "smoke_passed"),
        ({"content": [{"type": "text", "text": "NVIDIA"}]}, "pass", "smoke_passed"),
        ({"content": "<think>hm</think>NVIDIA Dynamo<|im_end|>"}, "pass", "smoke_passed"),
        ({"content": "a < b"}, "pass", "smoke_passed"),
        ({"content": None, "reasoning_content": "We must"}, "warn", "smoke_reasoning_only"),
        ({"reasoning": "We must"}, "warn", "smoke_reasoning_only"),
        ({"content": "<think>We must"}, "warn", "smoke_reasoning_only"),
        ({"content": "<think>We</think>\n"}, "warn", "smoke_reasoning_only"),
        ({"content": "We must</think>\n\n"}, "warn", "smoke_reasoning_only"),
        ({"content": "We must</think>NVIDIA Dynamo"}, "pass", "smoke_passed"),
        ({"content": None, "tool_calls": [{"id": "1"}]}, "warn", "smoke_tool_call"),
        ({"content": None, "refusal": "I will not"}, "warn", "smoke_refusal"),
        ({"content": ""}, "fail", "smoke_empty_content"),
        ({"content": None}, "fail", "smoke_empty_content"),
        ({"content": " \n", "tool_calls": []}, "fail", "smoke_empty_content"),
        ({"content": "<think></think>"}, "fail", "smoke_degenerate_output"),
        ({"reasoning_content": "<|endoftext|>"}, "fail", "smoke_degenerate_output"),
        ({"content": "</s></s>"}, "fail", "smoke_degenerate_output"),
        ({"content": "<｜end▁of▁sentence｜>"}, "fail", "smoke_degenerate_output"),
        ({"content": "[EOS]"}, "fail", "smoke_degenerate_output"),
        ({"content": "\u0000\u0000"}, "fail", "smoke_degenerate_output"),
        ({"content": "\ufffd \u200b"}, "fail", "smoke_degenerate_output"),
        ({"content": "d\u00e9j\u00e0"}, "pass", "smoke_passed"),
    ],
)
def test_what_a_message_holds(message: dict[str, Any], outcome: str, code: str) -> None:
    verdict = judge_chat(answer(completion(message)), REQUEST)
    assert codes(verdict) == [(outcome, code)]
    assert verdict.success is (outcome != "fail")


@pytest.mark.parametrize(
    ("got", "code"),
    [
        (answer({"error": {"message": "engine died"}}), "smoke_error_in_body"),
        (answer({"object": "chat.completion", "error": "x", "choices": [1]}), "smoke_error_in_body"),
        (answer({**completion({"content": "a"}), "error": {}}), "smoke_error_in_body"),
        (answer({**completion({"content": "a"}), "error": ""}), "smoke_error_in_body"),
        (answer(completion({"content": "NVIDIA"}, "error")), "smoke_error_in_body"),
        (answer(completion({"content": "NVIDIA"}, "abort")), "smoke_error_in_body"),
        (
            answer(b'{"object": "chat.completion", "x": NaN, "choices": [{"message": {"content": "a"}}]}'),
            "smoke_not_json",
        ),
        (answer(b'{"choices": ' + b"[" * 150 + b"]" * 150 + b"}"), "smoke_not_json"),
        (answer(b"event loop closed", kind="text/plain"), "smoke_not_json"),
        (answer(b": hello\n" * 40 + b": \n\nid: 1\ndata: {}\n\n", kind=""), "smoke_stream_unasked"),
        (answer({"object": "text_completion", "choices": []}), "smoke_wrong_object"),
        (answer(["a"]), "smoke_wrong_object"),
        (answer({"object": "chat.completion", "choices": []}), "smoke_no_choices"),
        (answer({"object": "chat.completion", "choices": {"a": 1}}), "smoke_no_choices"),
        (answer({"object": "chat.completion", "choices": [{"text": "a"}]}), "smoke_no_choices"),
        (answer(b"NVIDIA Dynamo", kind="text/plain"), "smoke_not_json"),
        (answer(b"", kind=""), "smoke_not_json"),
        (answer(b"\xff\xfe", kind=""), "smoke_not_json"),
        (answer(HTML, 200, "text/html"), "smoke_html_page"),
        (answer(HTML, 504), "smoke_html_page"),
        (stream(chunk(content="a")), "smoke_stream_unasked"),
        (answer(b'data: {"x": 1}\n\n', kind="text/plain"), "smoke_stream_unasked"),
        (answer({"message": "no worker"}, 503), "smoke_chat_unavailable"),
        (answer({"error": {"message": "Model not found"}}, 404), "smoke_model_not_found"),
        (answer({"detail": "Not Found"}, 404), "smoke_chat_http_error"),
        (answer({"error": "oom"}, 500), "smoke_chat_http_error"),
        (HttpAnswer(302, headers={"location": "/login"}), "smoke_chat_http_error"),
        (answer(b"{", 200, timed_out=True, error="No whole answer within 1 s."), "smoke_chat_timeout"),
        (HttpAnswer(0, error="no answer", timed_out=True), "smoke_chat_timeout"),
        (HttpAnswer(0, error="ConnectionResetError"), "smoke_connection_lost"),
        (answer(b'{"object"', 200, cut=True), "smoke_connection_lost"),
        (answer(b"a", 200, large=True), "smoke_body_too_large"),
    ],
)
def test_what_does_not_pass(got: HttpAnswer, code: str) -> None:
    verdict = judge_chat(got, REQUEST)
    assert codes(verdict) == [("fail", code)]
    assert verdict.success is False
    assert verdict.findings[0].remedy


def test_direct_routing_is_told_apart() -> None:
    body = {"message": "Worker ID required for exact dispatch in Direct routing mode", "code": 400}
    verdict = judge_chat(answer(body, 400), REQUEST)
    assert (codes(verdict), verdict.wants_header) == ([("fail", "smoke_direct_routing")], True)
    assert "x-dynamo-worker-instance-id" in verdict.findings[0].remedy
    other = judge_chat(answer({"message": "max_tokens is too large"}, 400), REQUEST)
    assert (codes(other), other.wants_header) == ([("fail", "smoke_chat_http_error")], False)


def test_direct_routing_may_be_named_anywhere_in_the_body() -> None:
    for body in (
        {"code": 400, "errors": [{"message": "x" * 400 + " Direct routing mode"}]},
        {"error": {"message": "Bad Request", "detail": "no worker id in Direct Routing mode"}},
        b"Direct routing mode wants a worker id",
    ):
        assert judge_chat(answer(body, 400), REQUEST).wants_header


@pytest.mark.parametrize("finish", ["stop", "length", "content_filter", "tool_calls", None])
def test_an_answer_that_was_served_to_its_end(finish: Any) -> None:
    assert codes(judge_chat(answer(completion({"content": "NVIDIA"}, finish)), REQUEST)) == [("pass", "smoke_passed")]


@pytest.mark.parametrize("kind", ["text/html", "text/event-stream", "text/plain", "application/octet-stream", ""])
def test_json_under_a_wrong_type_is_json(kind: str) -> None:
    for more in ({}, {"error": None}, {"error": False}):
        verdict = judge_chat(answer({**completion({"content": "a"}), **more}, kind=kind), REQUEST)
        assert codes(verdict) == [("pass", "smoke_passed")]
    assert judge_models(answer(listing(MODEL), kind=kind), MODEL).model == MODEL


def test_where_a_redirection_leads_is_told() -> None:
    got = HttpAnswer(307, headers={"location": "https://sso/login"})
    finding = judge_models(got, MODEL).finding
    assert finding is not None
    assert finding.message == "/v1/models was answered 307, a redirection to https://sso/login."
    assert "a redirection to https://sso/login" in judge_chat(got, REQUEST).findings[0].message


def test_a_number_beyond_all_can_be_written_down() -> None:
    body = b'{"object": "chat.completion", "x": [1e999, -1e999, 0.5], "choices": [{"message": {"content": "a"}}]}'
    verdict = judge_chat(answer(body), REQUEST)
    assert verdict.success
    assert json.loads(json.dumps(verdict.response, allow_nan=False))["x"][2] == 0.5


def test_half_a_character_can_be_written_down() -> None:
    body = b'{"object": "chat.completion", "choices": [{"message": {"content": "a \\ud83d \\ud83d\\ude00"}}]}'
    response = judge_chat(answer(body), REQUEST).response
    assert response["choices"][0]["message"]["content"] == "a \ufffd \U0001f600"
    json.dumps(response, ensure_ascii=False).encode()


def test_credentials_are_hidden_wherever_an_answer_repeats_them() -> None:
    sent = {"Authorization": 'Bearer sk-"0123456789', "X-Api-Key": "k" * 20, "X-Trace": "visible-trace"}
    told = {"error": {"message": f'Bad key sk-"0123456789 or {"k" * 20}, visible-trace'}}
    got = HttpAnswer(401, json.dumps(told).encode(), {"location": "/?key=" + "k" * 20}, error='got sk-"0123456789')
    hidden = http_answer.without_secrets(got, sent)
    assert hidden.json() == {"error": {"message": "Bad key (hidden) or (hidden), visible-trace"}}
    assert (hidden.headers["location"], hidden.error) == ("/?key=(hidden)", "got (hidden)")
    assert http_answer.without_secrets(answer({"a": "Bearer"}), {"Authorization": "Bearer"}).json() == {"a": "Bearer"}


@pytest.mark.parametrize(
    "headers",
    [
        {"A b": "c"},
        {"": "c"},
        {1: "c"},
        {"A": None},
        {"A": ["c"]},
        {"A": True},
        {"A": "s3cret\nX: y"},
        {"A": "s3cr\u00e9t"},
    ],
)
def test_headers_that_cannot_be_sent(headers: dict[Any, Any]) -> None:
    with pytest.raises(InputError) as caught:
        http_answer.check_headers(headers)
    assert str(caught.value).startswith("headers")
    assert "s3cr" not in str(caught.value)


def test_headers_become_text() -> None:
    assert http_answer.check_headers({"X-A": 1, "X-B": "c \n"}) == {"X-A": "1", "X-B": "c"}


@pytest.mark.parametrize(("status", "waits"), [(503, True), (404, True), (500, False), (400, False)])
def test_what_may_answer_later(status: int, waits: bool) -> None:
    assert judge_chat(answer({"error": "model is not ready"}, status), REQUEST).waits is waits


def test_another_models_answer_is_noted() -> None:
    verdict = judge_chat(answer({**completion({"content": "a"}), "model": "acme/y"}), REQUEST)
    assert codes(verdict) == [("pass", "smoke_passed"), ("warn", "smoke_other_model_answered")]


def test_one_good_choice_of_several_is_enough() -> None:
    body = completion({"content": ""})
    body["choices"].append({"index": 1, "message": {"content": "a"}})
    assert codes(judge_chat(answer(body), REQUEST)) == [("pass", "smoke_passed")]


# -- streams ---------------------------------------------------------------------------------------------------------

ASKED = smoke.chat_request(MODEL, stream=True)


def test_a_stream_is_put_together() -> None:
    got = stream(chunk(role="assistant"), chunk(content="NVIDIA "), chunk(content="Dynamo"), chunk(finish="stop"))
    verdict = judge_chat(got, ASKED)
    assert codes(verdict) == [("pass", "smoke_passed")]
    assert verdict.findings[0].evidence == ("content: NVIDIA Dynamo",)
    assert len(verdict.response) == 5


@pytest.mark.parametrize(
    "got",
    [
        stream(chunk(content="a"), end=False),
        stream(),
        stream(chunk(content="a"), {"error": {"message": "engine died"}}),
        answer(b'event: error\ndata: {"message": "x"}\n\ndata: [DONE]\n\n', kind="text/event-stream"),
        answer(completion({"content": "a"})),
    ],
)
def test_a_broken_stream(got: HttpAnswer) -> None:
    assert codes(judge_chat(got, ASKED)) == [("fail", "smoke_stream_broken")]


def test_an_empty_stream_is_empty_content() -> None:
    assert codes(judge_chat(stream(chunk(role="assistant")), ASKED)) == [("fail", "smoke_empty_content")]


def test_events_by_the_standard() -> None:
    text = ': hello\r\nevent: x\r\ndata: {"a":\r\ndata: 1}\r\n\r\ndata:b\n\nid: 3\n\ndata: end'
    assert list(http_answer.stream_events(text)) == [("x", {"a": 1}), ("", "b"), ("", "end")]


@given(st.binary(max_size=200), st.sampled_from([0, 200, 204, 302, 400, 404, 500, 503]), st.booleans())
def test_no_answer_breaks_the_judge(body: bytes, status: int, asked: bool) -> None:
    got = HttpAnswer(status, body)
    verdict = judge_chat(got, ASKED if asked else REQUEST)
    assert len(verdict.findings) >= 1
    assert verdict.success is False
    assert judge_models(got, MODEL).finding is not None


_KEYS = ["object", "choices", "message", "content", "error", "data", "id", "delta"]
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "chat.completion", "<|x|>"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=3),
    max_leaves=12,
)


@given(_JSON, st.booleans())
def test_no_json_breaks_the_judge(body: object, asked: bool) -> None:
    for got in (answer(body), stream(body)):
        judge_chat(got, ASKED if asked else REQUEST)
        judge_models(got, MODEL)


# -- request, name, artifact -----------------------------------------------------------------------------------------


def test_the_request_is_the_documents() -> None:
    assert REQUEST == {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Simply output the phrase: NVIDIA Dynamo"}],
        "max_tokens": 100,
        "temperature": 0,
    }
    assert json.dumps(REQUEST["temperature"]) == "0"
    assert smoke.chat_request(MODEL, temperature=0.5)["temperature"] == 0.5


@pytest.mark.parametrize(
    ("args", "name"),
    [
        (["--model", "/models/x", "--served-model-name", MODEL], MODEL),
        (["--model", MODEL], MODEL),
        (["--model-path", "/models/x"], ""),
        (["--model=$MODEL"], ""),
        ([], ""),
    ],
)
def test_the_name_in_the_manifest(args: list[str], name: str) -> None:
    main = {"command": ["python3", "-m", "dynamo.vllm"], "args": args}
    worker = {"componentType": "worker", "extraPodSpec": {"mainContainer": main}}
    dgd = {"apiVersion": "nvidia.com/v1alpha1", "spec": {"services": {"W": worker}}}
    assert smoke.served_model(view_dgd(dgd)) == name


def test_the_artifact_holds_its_schema() -> None:
    verdict = judge_chat(answer(completion({"content": "a"})), REQUEST)
    made = smoke.artifact(
        request=REQUEST, response=verdict.response, success=True, codes=(200, 200), findings=verdict.findings
    )
    schema.check(made, ARTIFACT_SCHEMA, "artifact")
    assert (made["success"], made["models_code"], made["api_code"]) == (1, 200, 200)
    assert smoke.same_outcome({**made, "at": "x"}, made)
    assert not smoke.same_outcome(None, made)
    assert not smoke.same_outcome({**made, "success": 0}, made)


def test_the_published_schema_is_the_cores() -> None:
    published = Path(__file__).resolve().parents[5] / "docs" / "schemas" / "smoke_test_artifact.schema.json"
    if published.parent.is_dir():  # ansible-test runs a copy without the documentation
        assert json.loads(published.read_text(encoding="utf-8")) == ARTIFACT_SCHEMA


def test_codes_are_unique_and_say_what_to_do() -> None:
    assert len({reason.code for reason in REASONS}) == len(REASONS)
    assert all(reason.remedy for reason in REASONS if reason.code != "smoke_passed")
