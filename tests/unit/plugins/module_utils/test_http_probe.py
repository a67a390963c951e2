# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One HTTP request against a server that says byte for byte what it is told to."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils import http_probe
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.http_answer import MAX_BODY

Serve = Callable[..., http_probe.Address]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return ``serve(raw, hold=False)``: a server that answers one connection with ``raw`` and closes, or holds on."""
    listener = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def start(raw: bytes, hold: bool = False, seen: list[bytes] | None = None) -> http_probe.Address:
        def answer() -> None:
            connection, _unused = listener.accept()
            read = connection.recv(65536)
            if seen is not None:
                seen.append(read)
            connection.sendall(raw)
            if hold:
                held.append(connection)
            else:
                connection.close()

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        threads.append(thread)
        return http_probe.Address("127.0.0.1", listener.getsockname()[1], prefix="/base")

    yield start
    for connection in held:
        connection.close()
    listener.close()


def head(status: str, *lines: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode()


def get(address: http_probe.Address, **more: Any) -> Any:
    return http_probe.send(address, "GET", "/v1/models", timeout=more.pop("timeout", 5), **more)


def test_status_and_body_are_kept_apart(serve: Serve) -> None:
    seen: list[bytes] = []
    address = serve(head("503 Busy", "Content-Type: text/plain", "Content-Length: 4") + b"wait", seen=seen)
    answer = get(address, headers={"X-A": "b"})
    assert (answer.status, answer.body, answer.headers["content-type"]) == (503, b"wait", "text/plain")
    assert seen[0].startswith(b"GET /base/v1/models HTTP/1.1\r\n")
    assert b"X-A: b" in seen[0]


def test_a_given_header_takes_the_place_of_ours(serve: Serve) -> None:
    seen: list[bytes] = []
    get(serve(head("200 OK"), seen=seen), headers={"accept": "text/plain"})
    assert seen[0].lower().count(b"accept:") == 1
    assert b"accept: text/plain" in seen[0]


def test_a_body_without_length_and_in_chunks(serve: Serve) -> None:
    assert get(serve(head("200 OK", "Connection: close") + b"all of it")).body == b"all of it"
    chunked = head("200 OK", "Transfer-Encoding: chunked") + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    assert get(serve(chunked)).body == b"abcde"


@pytest.mark.parametrize(
    "raw",
    [
        head("200 OK", "Content-Length: 10") + b"abc",
        head("200 OK", "Transfer-Encoding: chunked") + b"5\r\nab",
    ],
)
def test_a_body_that_is_cut(serve: Serve, raw: bytes) -> None:
    answer = get(serve(raw))
    assert (answer.status, answer.cut, answer.timed_out) == (200, True, False)
    assert answer.error


@pytest.mark.parametrize("raw", [b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 abc\r\n\r\n"])
def test_what_is_no_http(serve: Serve, raw: bytes) -> None:
    answer = get(serve(raw))
    assert answer.status == 0
    assert answer.error


def test_headers_that_never_end_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes in time for a single read, the answer as a whole does not."""
    monkeypatch.setattr(http_probe, "_GRACE", 0.0)
    stop = threading.Event()

    def drip() -> None:
        connection, _unused = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not stop.wait(0.01):
                connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        answer = get(http_probe.Address("127.0.0.1", listener.getsockname()[1]), timeout=0.05)
        thread.join(5)
    stop.set()
    assert (answer.timed_out, answer.error) == (True, "No whole answer within 0.05 s.")
    assert not thread.is_alive()


def test_a_silent_server_is_given_up(serve: Serve) -> None:
    answer = get(serve(b"", hold=True), timeout=0.05)
    assert (answer.status, answer.timed_out) == (0, True)
    answer = get(serve(head("200 OK", "Content-Length: 10") + b"abc", hold=True), timeout=0.05)
    assert (answer.status, answer.timed_out, answer.body) == (200, True, b"abc")


def test_the_bound_is_on_the_whole_answer(serve: Serve) -> None:
    ticks = iter(range(100))
    raw = head("200 OK", "Content-Length: 10") + b"abc"
    answer = get(serve(raw, hold=True), timeout=1, clock=lambda: float(next(ticks)))
    assert (answer.status, answer.timed_out) == (200, True)


def test_a_body_without_end_is_cut_off(serve: Serve) -> None:
    answer = get(serve(head("200 OK") + b"x" * (MAX_BODY + 70000)))
    assert answer.large
    assert len(answer.body) == MAX_BODY


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    answer = get(http_probe.Address("127.0.0.1", port))
    assert (answer.status, answer.timed_out) == (0, False)
    assert "refused" in answer.error


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://h:8000", ("h", 8000, "", False)),
        ("http://h:8000/v1", ("h", 8000, "", False)),
        ("https://h/base/v1/", ("h", 443, "/base", True)),
        ("http://[::1]", ("::1", 80, "", False)),
    ],
)
def test_addresses(url: str, address: tuple[str, int, str, bool]) -> None:
    made = http_probe.parse_url(url)
    assert (made.host, made.port, made.prefix, made.tls) == address


@pytest.mark.parametrize(
    "url",
    [
        *("", "h:8000", "ftp://h", "http://", "http://h:x", "http://h?a=b", "http://h?k=u:p", "http://u:p@h"),
        *("http://u:p@h:x", "http://u:p/w@h", "http://u:p@h?a"),
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(InputError, match="url") as raised:
        http_probe.parse_url(url)
    assert "u:p" not in str(raised.value)


def test_a_certificate_file_that_is_none(tmp_path: Any) -> None:
    address = http_probe.Address("127.0.0.1", 1, tls=True, ca_cert=str(tmp_path / "no.pem"))
    with pytest.raises(InputError, match="certificate file"):
        get(address)


def test_tls_without_checks_is_asked_for(serve: Serve) -> None:
    plain = serve(head("200 OK"))
    answer = get(http_probe.Address(plain.host, plain.port, tls=True, verify=False))
    assert "SSL" in answer.error
