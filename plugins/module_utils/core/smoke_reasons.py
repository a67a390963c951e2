# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The smoke test's reason codes, and the form of the artifact that it leaves."""

from __future__ import annotations

from typing import Any

from .findings import Reason

ARTIFACT_ID = "inference_ops.dynamo/smoke_test_artifact/v1"
INSTANCE_HEADER = "x-dynamo-worker-instance-id"

CHECK = "smoke"


PASSED = Reason("smoke_passed", CHECK, "The model is listed and answers a chat completion in the right form.")
NOT_SENT = Reason("smoke_not_sent", CHECK, "Nothing was sent, because the run only checks.", "Run without check mode.")
UNREACHABLE = Reason(
    "smoke_unreachable",
    CHECK,
    "The endpoint gave no HTTP answer within the bound.",
    "Look at the pod's log and whether the port is the frontend's; check the permission to forward ports.",
)
LOADING = Reason(
    "smoke_loading",
    CHECK,
    "The endpoint answered 503 for the whole bound: it is still loading, or has no worker.",
    "Look at the workers' logs; raise the bound where loading takes longer.",
)
MODELS_HTTP_ERROR = Reason(
    "smoke_models_http_error",
    CHECK,
    "The list of models was answered with an error status.",
    "Look at the frontend's log; check that the port is the frontend's.",
)
MODELS_MALFORMED = Reason(
    "smoke_models_malformed",
    CHECK,
    "The list of models is no OpenAI list.",
    "Check that the endpoint is the Dynamo frontend and not another server.",
)
MODEL_NOT_LISTED = Reason(
    "smoke_model_not_listed",
    CHECK,
    "No model was listed within the bound. A healthy frontend lists nothing until a worker has registered.",
    "Check discovery: the workers' registration (DynamoWorkerMetadata), their readiness and their Dynamo namespace.",
)
WRONG_MODEL_LISTED = Reason(
    "smoke_wrong_model_listed",
    CHECK,
    "Models are listed, and the wanted one is not among them.",
    "Use the name exactly as it is listed, or correct --served-model-name.",
)
MODEL_AMBIGUOUS = Reason(
    "smoke_model_ambiguous", CHECK, "Several models are listed and none was asked for.", "Say which model to ask."
)
HTML_PAGE = Reason(
    "smoke_html_page",
    CHECK,
    "The answer is an HTML page: a proxy, a gateway or a login page answered instead of the model server.",
    "Check the URL, the proxy settings and what stands in front of the frontend.",
)
NOT_JSON = Reason("smoke_not_json", CHECK, "The answer is not JSON.", "Check that the endpoint is the Dynamo frontend.")
DIRECT_ROUTING = Reason(
    "smoke_direct_routing",
    CHECK,
    "The sidecar routes directly and was not told a worker; the deployment itself is not broken.",
    f"Send the header {INSTANCE_HEADER} with the worker's decimal instance id, as the gateway would.",
)
CHAT_HTTP_ERROR = Reason(
    "smoke_chat_http_error",
    CHECK,
    "The chat completion was answered with an error status.",
    "Read the error and the worker's log.",
)
CHAT_UNAVAILABLE = Reason(
    "smoke_chat_unavailable",
    CHECK,
    "The chat completion was answered 503 although the model is listed: no worker takes the request yet.",
    "Look at the workers' logs; wait until generation is ready, then test again.",
)
MODEL_NOT_FOUND = Reason(
    "smoke_model_not_found",
    CHECK,
    "The chat completion was answered that the model does not exist, although it is listed.",
    "The worker may have gone in between: look at its log and at discovery, then test again.",
)
CHAT_TIMEOUT = Reason(
    "smoke_chat_timeout",
    CHECK,
    "The chat completion gave no whole answer within the bound.",
    "Look at the worker's log; the first request may compile. Raise the bound where that is expected.",
)
CONNECTION_LOST = Reason(
    "smoke_connection_lost",
    CHECK,
    "The connection broke before the answer was whole.",
    "Look for restarts of the frontend and worker pods.",
)
BODY_TOO_LARGE = Reason(
    "smoke_body_too_large",
    CHECK,
    "The answer is far larger than a chat completion.",
    "Check that the endpoint is a model server.",
)
STREAM_UNASKED = Reason(
    "smoke_stream_unasked",
    CHECK,
    "A plain request was answered with a stream of events.",
    "Look for a proxy or a frontend setting that forces streaming; clients that ask plainly would fail.",
)
STREAM_BROKEN = Reason(
    "smoke_stream_broken",
    CHECK,
    "The stream of events carries an error, is not whole, or is none.",
    "Read the error event and the worker's log.",
)
ERROR_IN_BODY = Reason(
    "smoke_error_in_body", CHECK, "The status is good and the body is an error.", "Read the error and the worker's log."
)
WRONG_OBJECT = Reason(
    "smoke_wrong_object",
    CHECK,
    "The answer is JSON and no chat completion.",
    "Check that the endpoint is the Dynamo frontend.",
)
NO_CHOICES = Reason(
    "smoke_no_choices", CHECK, "The chat completion holds no choice with a message.", "Look at the worker's log."
)
EMPTY_CONTENT = Reason(
    "smoke_empty_content",
    CHECK,
    "The answer holds no text, no reasoning and no tool call.",
    "Look at the chat template, the stop tokens and the worker's log.",
)
DEGENERATE_OUTPUT = Reason(
    "smoke_degenerate_output",
    CHECK,
    "The answer holds nothing but special tokens: the model stopped at once.",
    "Check the weights, the chat template and the precision; look for load errors in the worker's log.",
)
REASONING_ONLY = Reason(
    "smoke_reasoning_only",
    CHECK,
    "The answer holds reasoning and no final text, as reasoning models give within few tokens.",
    "Raise max_tokens to see the final text; the model is served.",
)
TOOL_CALL = Reason(
    "smoke_tool_call",
    CHECK,
    "The answer is a call of a tool although none was offered.",
    "Check the tool-call parser of the worker; the model is served.",
)
REFUSAL = Reason("smoke_refusal", CHECK, "The model refused to answer.", "Try another prompt; the model is served.")
OTHER_MODEL_ANSWERED = Reason(
    "smoke_other_model_answered",
    CHECK,
    "The answer names another model than the one asked for.",
    "Check the frontend's aliases and what stands in front of it.",
)
HEADER_ADDED = Reason(
    "smoke_header_added",
    CHECK,
    "The sidecar asked for a worker's instance id, and the request was repeated with the computed one.",
    "None needed for the test. Clients go through the gateway, which adds the header.",
)
REASONS: tuple[Reason, ...] = (
    PASSED,
    NOT_SENT,
    UNREACHABLE,
    LOADING,
    MODELS_HTTP_ERROR,
    MODELS_MALFORMED,
    MODEL_NOT_LISTED,
    WRONG_MODEL_LISTED,
    MODEL_AMBIGUOUS,
    HTML_PAGE,
    NOT_JSON,
    DIRECT_ROUTING,
    CHAT_HTTP_ERROR,
    CHAT_UNAVAILABLE,
    MODEL_NOT_FOUND,
    CHAT_TIMEOUT,
    CONNECTION_LOST,
    BODY_TOO_LARGE,
    STREAM_UNASKED,
    STREAM_BROKEN,
    ERROR_IN_BODY,
    WRONG_OBJECT,
    NO_CHOICES,
    EMPTY_CONTENT,
    DEGENERATE_OUTPUT,
    REASONING_ONLY,
    TOOL_CALL,
    REFUSAL,
    OTHER_MODEL_ANSWERED,
    HEADER_ADDED,
)

ARTIFACT_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": ARTIFACT_ID,
    "title": "Smoke test artifact",
    "description": "What was asked of a deployed model, and what it answered.",
    "type": "object",
    "required": ["api_request", "api_response", "success", "models_code", "api_code"],
    "additionalProperties": False,
    "properties": {
        "schema": {"const": ARTIFACT_ID},
        "api_request": {"type": "object", "title": "The full body that was sent; empty where none was"},
        "api_response": {"title": "The full parsed answer, or the error body as text where it is no JSON"},
        "success": {"enum": [0, 1]},
        "models_code": {
            "type": "integer",
            "minimum": 0,
            "title": "HTTP status of the models, 0 without answer",
        },
        "api_code": {"type": "integer", "minimum": 0, "title": "HTTP status of the chat completion, 0 without answer"},
        "model": {"type": "string"},
        "stage": {"enum": ["endpoint", "reach", "models", "chat", "done"]},
        "reason_codes": {"type": "array", "items": {"type": "string"}},
        "endpoint": {"type": "object"},
        "at": {"type": "string"},
        "timings": {"type": "object", "additionalProperties": {"type": "number"}},
    },
}
