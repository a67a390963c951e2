# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The smoke test's course with a clock that only moves when somebody sleeps, and an endpoint made of answers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.endpoint import (
    NO_READY_POD,
    SERVICE_MISSING,
    Endpoint,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.findings import Finding
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.http_answer import HttpAnswer
from ansible_collections.inference_ops.dynamo.plugins.module_utils.http_probe import Address
from ansible_collections.inference_ops.dynamo.plugins.module_utils.kube_errors import Asked, Forbidden, NotFound
from ansible_collections.inference_ops.dynamo.plugins.module_utils.smoke_run import (
    SmokePlan,
    SmokeResult,
    SmokeRun,
    Tools,
    not_sent,
)

MODEL = "acme/x"
LISTED = HttpAnswer(200, json.dumps({"data": [{"id": MODEL}]}).encode())
EMPTY = HttpAnswer(200, b'{"data": []}')
CHOICE = {"message": {"content": "NVIDIA Dynamo"}}
GOOD = HttpAnswer(200, json.dumps({"object": "chat.completion", "choices": [CHOICE]}).encode())
BROKEN = HttpAnswer(0, error="ConnectionResetError")
BUSY = HttpAnswer(503, b'{"message": "no instances"}')
DIRECT = HttpAnswer(400, b'{"message": "Worker ID required in Direct routing mode"}')
POD = "agg-vllmdecodeworker-52db9486-545d6c44d9-rfxps"
HEADER = "x-dynamo-worker-instance-id"


class World:
    """Answers in turn (the last one stays), an endpoint per look, and what was sent."""

    def __init__(self, models: list[HttpAnswer], chats: list[HttpAnswer], found: list[Any] | None = None) -> None:
        self.answers = {"GET": list(models), "POST": list(chats)}
        self.found = list(found or [Endpoint("service", service="s", pod=POD, port=8000)])
        self.now = 0.0
        self.sent: list[tuple[str, Mapping[str, str], Any]] = []
        self.kept: list[tuple[str, bytes]] = []
        self.looks = 0
        self.opened: list[str] = []
        self.closed: list[str] = []

    def find(self) -> Endpoint | Finding:
        self.looks += 1
        item = self.found.pop(0) if len(self.found) > 1 else self.found[0]
        if isinstance(item, Exception):
            raise item  # pylint: disable=raising-non-exception  # it is one
        assert isinstance(item, (Endpoint, Finding))
        return item

    @contextlib.contextmanager
    def open(self, endpoint: Endpoint) -> Any:
        self.opened.append(endpoint.pod)
        yield Address("127.0.0.1", 1)
        self.closed.append(endpoint.pod)

    def send(self, address: Address, method: str, path: str, **more: Any) -> HttpAnswer:
        self.now += 0.5
        self.sent.append((method, more.get("headers") or {}, more.get("body")))
        turn = self.answers[method]
        return turn.pop(0) if len(turn) > 1 else turn[0]

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def run(self, **plan: Any) -> SmokeResult:
        tools = Tools(self, self.send, lambda: self.now, self.sleep, lambda name, body: self.kept.append((name, body)))
        return SmokeRun(SmokePlan(**{"model": MODEL, **plan}), tools).run()

    def headers(self) -> list[str]:
        return [headers.get(HEADER, "") for method, headers, _unused in self.sent if method == "POST"]


def codes(result: SmokeResult) -> list[str]:
    return [finding.reason_code for finding in result.findings]


def forbidden() -> Forbidden:
    return Forbidden("no", asked=Asked("create", "pods/portforward", "serving", POD), status=403)


def gone() -> NotFound:
    return NotFound("gone", asked=Asked("create", "pods/portforward", "serving", POD), status=404)


def test_the_good_way() -> None:
    world = World([LISTED], [GOOD])
    result = world.run()
    assert (result.success, result.stage, result.codes, codes(result)) == (True, "done", (200, 200), ["smoke_passed"])
    assert json.loads(world.sent[-1][2]) == result.request
    assert [name for name, _unused in world.kept] == ["models_body.json", "api_body.json"]
    assert result.response == json.loads(GOOD.body)
    assert world.opened == world.closed == [POD]
    assert set(result.timings) == {"endpoint", "reach", "models", "chat"}
    plain = result.to_result()
    assert plain["success"] is True
    assert plain["http_status"] == {"models": 200, "chat": 200}
    assert plain["msg"] == "Model/acme/x: The model answered."


def test_a_model_registers_late() -> None:
    world = World([BROKEN, BUSY, EMPTY, LISTED], [GOOD])
    result = world.run()
    assert result.success
    assert world.looks == 2  # the broken way was opened anew


def test_a_model_that_never_registers() -> None:
    world = World([EMPTY], [GOOD])
    result = world.run(model_timeout=300)
    assert (result.stage, codes(result), result.codes) == ("models", ["smoke_model_not_listed"], (200, 0))
    assert 300 <= world.now <= 310
    assert result.request == {}
    assert result.response == {"data": []}
    assert not any(method == "POST" for method, _unused, _unused in world.sent)


def test_the_last_answer_says_why_even_if_the_way_breaks_at_the_end() -> None:
    result = World([EMPTY, EMPTY, BROKEN], [GOOD]).run(model_timeout=10)
    assert codes(result) == ["smoke_model_not_listed"]


def test_response_and_reason_are_of_one_answer() -> None:
    result = World([EMPTY, EMPTY, BROKEN], [GOOD]).run(model_timeout=10)
    assert (result.response, result.codes) == ({"data": []}, (200, 0))


def test_a_list_that_breaks_off_is_asked_for_again() -> None:
    assert World([HttpAnswer(200, b'{"data"', cut=True, error="reset"), LISTED], [GOOD]).run().success


def test_a_repeated_credential_is_written_nowhere() -> None:
    world = World([LISTED], [HttpAnswer(401, b'{"message": "bad key sk-0123456789"}')])
    result = world.run(headers={"Authorization": "Bearer sk-0123456789"})
    assert result.response == {"message": "bad key (hidden)"}
    assert "sk-0123456789" not in repr((result.to_result(), world.kept))


def test_what_waiting_cannot_mend_ends_at_once() -> None:
    world = World([HttpAnswer(200, b"<html><body>login</body></html>")], [GOOD])
    assert codes(world.run()) == ["smoke_html_page"]
    assert world.now < 5


def test_nothing_answers() -> None:
    world = World([BROKEN], [GOOD])
    result = world.run(reach_timeout=60)
    assert (result.stage, codes(result)) == ("reach", ["smoke_unreachable"])
    assert 60 <= world.now <= 62


def test_a_pod_becomes_ready_while_we_wait() -> None:
    unready = NO_READY_POD.finding("fail", "Service/s", "not yet")
    world = World([LISTED], [GOOD], [unready, unready, Endpoint("service", pod="b", port=8000)])
    assert world.run().success
    assert world.opened == ["b"]


@pytest.mark.parametrize("reason", [NO_READY_POD, SERVICE_MISSING])
def test_no_endpoint_in_time(reason: Any) -> None:
    world = World([LISTED], [GOOD], [reason.finding("fail", "Service/s", "never")])
    result = world.run(reach_timeout=20)
    assert (result.stage, codes(result), world.sent) == ("endpoint", [reason.code], [])
    assert 20 <= world.now <= 22


def test_a_missing_permission_is_unknown_at_once() -> None:
    world = World([LISTED], [GOOD], [forbidden()])
    result = world.run()
    assert (codes(result), result.findings[0].outcome, world.now) == (["smoke_endpoint_unknown"], "unknown", 0.0)
    assert "pods/portforward" in result.findings[0].message
    assert result.success is False


def test_a_pod_that_goes_away_is_replaced() -> None:
    a, b = Endpoint("service", pod="a", port=8000), Endpoint("service", pod="b", port=8000)
    world = World([LISTED], [BROKEN, GOOD], [a, gone(), b])
    result = world.run()
    assert result.success
    assert world.opened == ["a", "b"]
    assert result.endpoint == b


def test_a_busy_worker_is_asked_again() -> None:
    assert World([LISTED], [BUSY, BUSY, GOOD]).run().success
    result = World([LISTED], [BUSY]).run(request_timeout=20)
    assert (result.stage, codes(result), result.codes) == ("chat", ["smoke_chat_unavailable"], (200, 503))
    assert result.response == {"message": "no instances"}


def test_a_sidecar_that_asks_for_a_worker_is_told() -> None:
    world = World([LISTED], [DIRECT, GOOD], [Endpoint("pod", pod=POD, port=8000, direct=None)])
    result = world.run()
    assert result.success
    assert world.headers() == ["", "582010010309664"]
    assert codes(result) == ["smoke_passed", "smoke_header_added"]


def test_a_frontend_that_routes_directly_is_told_a_workers_id_and_not_its_own() -> None:
    world = World([LISTED], [DIRECT, GOOD], [Endpoint("service", service="s", pod="front", port=8000, worker=POD)])
    assert world.run().success
    assert world.headers() == ["", "582010010309664"]
    nobody = World([LISTED], [DIRECT], [Endpoint("service", service="s", pod="front", port=8000, worker="")])
    assert codes(nobody.run()) == ["smoke_direct_routing"]
    assert nobody.headers() == [""]


def test_a_sidecar_known_to_route_directly_is_told_at_once() -> None:
    world = World([LISTED], [GOOD], [Endpoint("pod", pod=POD, port=8000, direct=True)])
    assert world.run().success
    assert world.headers() == ["582010010309664"]


@pytest.mark.parametrize(
    ("plan", "headers"),
    [
        ({"instance_id": "none"}, [""]),
        ({"instance_id": "42"}, ["42"]),
        ({"headers": {HEADER: "7"}}, ["7", "7"]),
    ],
)
def test_the_header_is_the_users_choice(plan: dict[str, Any], headers: list[str]) -> None:
    world = World([LISTED], [DIRECT], [Endpoint("pod", pod=POD, port=8000, direct=None)])
    result = world.run(**plan)
    assert "smoke_direct_routing" in codes(result)
    assert world.headers() == headers


def test_a_url_has_no_pod_to_compute_from() -> None:
    world = World([LISTED], [DIRECT], [Endpoint("url", url="http://x")])
    assert codes(world.run()) == ["smoke_direct_routing"]
    assert world.headers() == [""]


def test_check_mode_sends_nothing() -> None:
    world = World([LISTED], [GOOD])
    result = not_sent(SmokePlan(model=MODEL), world)
    assert (result.stage, codes(result), world.sent, result.success) == ("skipped", ["smoke_not_sent"], [], False)
    assert result.endpoint is not None
    refused = not_sent(SmokePlan(), World([LISTED], [GOOD], [forbidden()]))
    assert codes(refused) == ["smoke_endpoint_unknown"]
    missing = not_sent(SmokePlan(), World([LISTED], [GOOD], [SERVICE_MISSING.finding("fail", "s", "no")]))
    assert codes(missing) == ["smoke_service_missing"]
