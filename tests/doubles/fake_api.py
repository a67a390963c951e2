# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A test double of an API server: lists with paging, scripted failures, watches and port-forward, in this process.

It answers as a real one does where our client looks, and records what it was asked. It validates nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

Object = dict[str, Any]
_WEBSOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@dataclass
class Request:
    """One request as it arrived."""

    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: Any = None
    #: Repeated headers, which a dict would hide.
    header_items: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Answer:
    """A scripted answer; ``drop`` closes the connection without any."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False


def status(code: int, reason: str, message: str = "", **details: str) -> Answer:
    """A ``Status`` object as the API server sends it with an error."""
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reason}
    return Answer(code, {**body, "details": details, "code": code})


def forbidden(what: str) -> Answer:
    """What RBAC answers."""
    return status(403, "Forbidden", f'{what} is forbidden: User "test" cannot do that')


class FakeApi:
    """Start with ``with FakeApi() as api``; ``api.url`` is its host.

    ``lists`` maps a list's path to its items; ``scripts`` maps a path to answers given once each, before anything else;
    ``fixed`` maps a path to the answer it always gets; ``watches`` maps a path to the events of successive watches;
    ``ports`` maps a portforward path to a function from bytes received to bytes sent.
    """

    def __init__(self) -> None:
        self.lists: dict[str, list[Object]] = {}
        self.list_kinds: dict[str, tuple[str, str]] = {}
        self.scripts: dict[str, deque[Answer]] = {}
        self.fixed: dict[str, Answer] = {}
        self.watches: dict[str, deque[list[Object]]] = {}
        self.ports: dict[str, Callable[[bytes], bytes]] = {}
        self.requests: list[Request] = []
        self.url = ""

    def add_list(self, path: str, kind: str, items: Iterable[Object], api_version: str = "v1") -> None:
        """Serve ``items`` at ``path`` as a list of ``kind``, each one also under its own name."""
        self.lists[path] = list(items)
        self.list_kinds[path] = (kind, api_version)

    def script(self, path: str, *answers: Answer) -> None:
        """Give these answers, once each, to the next requests for ``path``."""
        self.scripts.setdefault(path, deque()).extend(answers)

    def asked(self, path: str) -> list[Request]:
        """Return the requests for ``path``."""
        return [request for request in self.requests if request.path == path]

    def __enter__(self) -> FakeApi:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.api = self  # type: ignore[attr-defined]  # how a handler finds its server's data
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: Request) -> Answer:
        """Decide the answer to one request."""
        self.requests.append(request)
        waiting = self.scripts.get(request.path)
        if waiting:
            return waiting.popleft()
        if request.path in self.fixed:
            return self.fixed[request.path]
        if request.path in self.lists:
            return self._page(request)
        parent, _unused, name = request.path.rpartition("/")
        for item in self.lists.get(parent, ()):
            if item["metadata"]["name"] == name:
                return Answer(body=item)
        if parent in self.lists:
            return status(404, "NotFound", f'"{name}" not found', name=name)
        return Answer(404, "404 page not found\n")

    def _page(self, request: Request) -> Answer:
        items = [item for item in self.lists[request.path] if _selected(item, request.params.get("fieldSelector", ""))]
        begin = int(request.params.get("continue", "0"))
        end = begin + int(request.params.get("limit", "1000000"))
        metadata = {"resourceVersion": "1000"}
        if end < len(items):
            metadata["continue"] = str(end)
        kind, version = self.list_kinds[request.path]
        if "as=Table" in request.headers.get("accept", ""):
            columns = [{"name": name} for name in ("Name", "Type")]
            rows = [{"cells": [item["metadata"]["name"], item.get("type", "")]} for item in items[begin:end]]
            return Answer(body={"kind": "Table", "columnDefinitions": columns, "rows": rows, "metadata": metadata})
        if "as=PartialObjectMetadataList" in request.headers.get("accept", ""):
            partial = [{"metadata": item["metadata"]} for item in items[begin:end]]
            body: Object = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "items": partial}
        else:
            body = {"kind": f"{kind}List", "apiVersion": version, "items": items[begin:end]}
        return Answer(body={**body, "metadata": metadata})


def _selected(item: Object, selector: str) -> bool:
    """Apply a field selector of the forms ``a.b=c`` and ``a.b!=c``."""
    for term in filter(None, selector.split(",")):
        field_path, operator, wanted = term.partition("!=") if "!=" in term else term.partition("=")
        value: Any = item
        for name in field_path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        if ((value or "") == wanted) == (operator == "!="):
            return False
    return True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Header and body in one packet: two small ones wait for each other's acknowledgement, 40 ms a request.
    wbufsize = -1

    @property
    def _api(self) -> FakeApi:
        return cast("FakeApi", self.server.api)  # type: ignore[attr-defined]  # set when the server starts

    def log_message(self, *_: object) -> None:
        """Say nothing: a test's output is pytest's."""

    def do_GET(self) -> None:
        request = self._request()
        if self.headers.get("Upgrade", "").lower() == "websocket":
            self._port_forward(request)
        elif request.params.get("watch") == "true" and request.path in self._api.watches:
            self._watch(request)
        else:
            self._send(self._api.answer(request))

    do_POST = do_PATCH = do_DELETE = do_GET

    def _request(self) -> Request:
        url = urlsplit(self.path)
        length = int(self.headers.get("Content-Length", "0"))
        raw = self.rfile.read(length) if length else b""
        return Request(
            self.command,
            url.path,
            dict(parse_qsl(url.query)),
            {key.lower(): value for key, value in self.headers.items()},
            json.loads(raw) if raw else None,
            list(self.headers.items()),
        )

    def _send(self, answer: Answer) -> None:
        if answer.drop:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        data = answer.body.encode() if isinstance(answer.body, str) else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _watch(self, request: Request) -> None:
        self._api.requests.append(request)
        scripted = self._api.watches[request.path]
        events = scripted.popleft() if scripted else []
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            data = json.dumps(event).encode() + b"\n"
            # Two chunks an event: a reader must not take a chunk for a line.
            for part in (data[:7], data[7:]):
                self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    # -- port-forward: just enough of RFC 6455 for one client ---------------------------------------------------------

    def _port_forward(self, request: Request) -> None:
        serve = self._api.ports.get(request.path)
        if serve is None:
            self._send(self._api.answer(request))
            return
        self._api.requests.append(request)
        accept = base64.b64encode(hashlib.sha1((self.headers["Sec-WebSocket-Key"] + _WEBSOCKET_GUID).encode()).digest())
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", accept.decode())
        self.send_header("Sec-WebSocket-Protocol", "v4.channel.k8s.io")
        self.end_headers()
        self.wfile.flush()
        port = int(request.params["ports"]).to_bytes(2, "little")
        for channel in (0, 1):
            self._frame(bytes([channel]) + port)
        for message in self._frames():
            reply = serve(message[1:])
            if reply:
                self._frame(b"\0" + reply)
        self.close_connection = True

    def _frame(self, payload: bytes) -> None:
        length = len(payload)
        size = bytes([length]) if length < 126 else b"\x7e" + length.to_bytes(2, "big")
        self.wfile.write(b"\x82" + size + payload)
        self.wfile.flush()

    def _frames(self) -> Iterator[bytes]:
        while True:
            head = self.rfile.read(2)
            if len(head) < 2 or head[0] & 0x0F == 8:
                return
            length = head[1] & 0x7F
            if length == 126:
                length = int.from_bytes(self.rfile.read(2), "big")
            mask = self.rfile.read(4)
            yield bytes(byte ^ mask[index % 4] for index, byte in enumerate(self.rfile.read(length)))
