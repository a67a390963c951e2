# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pod's port on a free local port, through the API server, in threads of this process.

Source of the protocol: Kubernetes' portforward subresource over WebSocket, subprotocol ``v4.channel.k8s.io``: each
message's first byte is its channel, 0 for data and 1 for errors; the first message of a channel is the port in two
bytes. One WebSocket carries one connection, so each local connection opens its own.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .kube_errors import Asked, KubeError, Unreachable, error_from

with contextlib.suppress(ImportError):  # comes with the kubernetes package, whose absence connect() reports
    import websocket

_PROTOCOL = "v4.channel.k8s.io"
_DATA, _ERROR = 0, 1
_CONNECT_TIMEOUT = 15.0
_CHUNK = 65536


@dataclass(frozen=True)
class Target:
    """Where to, and with what credentials; ``headers`` is asked anew for each connection, as a token may expire."""

    url: str
    headers: Callable[[], list[tuple[str, str]]]
    what: Asked
    ca_cert: str | None
    client_cert: str | None
    client_key: str | None
    verify: bool
    server_name: str | None
    proxy: str | None
    no_proxy: str | None
    on_request: Callable[[], None]


class PortForward:
    """Listens on ``127.0.0.1:local_port`` while the ``with`` block runs; ``last_error`` is what the pod's side said."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._listener: socket.socket | None = None
        self._open: set[Any] = set()
        self._lock = threading.Lock()
        self._closed = False
        self.local_port = 0
        self.last_error = ""

    def __enter__(self) -> PortForward:
        # The first connection is made at once, so that a missing pod or permission is told here and not as a reset.
        first = self._dial()
        first.close()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.local_port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="port-forward", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._closed = True
            connections = list(self._open)
        if self._listener is not None:
            # A bare close does not wake a thread that waits in accept.
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        for connection in connections:
            with contextlib.suppress(Exception):
                connection.close()

    def connect(self, timeout: float | None = None) -> socket.socket:
        """Return a new connection to the pod's port."""
        return socket.create_connection(("127.0.0.1", self.local_port), timeout)

    def _dial(self) -> Any:
        target = self._target
        target.on_request()
        try:
            return websocket.create_connection(
                target.url,
                timeout=_CONNECT_TIMEOUT,
                header=[f"{name}: {value}" for name, value in target.headers()],
                subprotocols=[_PROTOCOL],
                sslopt=_tls(target),
                suppress_origin=True,
                **_proxy(target),
            )
        except websocket.WebSocketBadStatusException as error:
            body = error.resp_body or b""
            raise error_from(error.status_code, _json(body), target.what) from None
        except (websocket.WebSocketException, OSError) as error:
            raise Unreachable(f"the port-forward gave no answer: {error}", asked=target.what) from None

    def _accept(self) -> None:
        while self._listener is not None:
            try:
                local, _address = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(local,), name="port-forward", daemon=True).start()

    def _serve(self, local: socket.socket) -> None:
        """Carry one local connection to the pod and back until either side closes."""
        try:
            remote = self._dial()
        except KubeError as error:
            self.last_error = str(error)
            local.close()
            return
        with self._lock:
            if self._closed:
                remote.close()
                local.close()
                return
            self._open |= {local, remote}
        remote.settimeout(None)
        upward = threading.Thread(target=self._upward, args=(local, remote), name="port-forward", daemon=True)
        upward.start()
        try:
            self._downward(local, remote)
        finally:
            for connection in (local, remote):
                with contextlib.suppress(Exception):
                    connection.close()
            with self._lock:
                self._open -= {local, remote}

    def _upward(self, local: socket.socket, remote: Any) -> None:
        # The protocol has no half-close: what the client has sent is sent, and the answer may still be under way.
        with contextlib.suppress(OSError, websocket.WebSocketException):
            while data := local.recv(_CHUNK):
                remote.send_binary(bytes([_DATA]) + data)

    def _downward(self, local: socket.socket, remote: Any) -> None:
        announced: set[int] = set()
        with contextlib.suppress(OSError, websocket.WebSocketException):
            while True:
                message = remote.recv()
                if not message:
                    return
                data = message.encode() if isinstance(message, str) else message
                channel, payload = data[0], data[1:]
                if channel not in announced:
                    announced.add(channel)  # the port's number in two bytes
                elif channel == _DATA:
                    local.sendall(payload)
                elif channel == _ERROR and payload:
                    self.last_error = payload.decode("utf-8", "replace").strip()
                    return


def _tls(target: Target) -> dict[str, Any]:
    if not target.url.startswith("wss:"):
        return {}
    options: dict[str, Any] = {"cert_reqs": ssl.CERT_REQUIRED if target.verify else ssl.CERT_NONE}
    if not target.verify:
        options["check_hostname"] = False
    for key, value in (
        ("ca_certs", target.ca_cert),
        ("certfile", target.client_cert),
        ("keyfile", target.client_key),
        ("server_hostname", target.server_name),
    ):
        if value:
            options[key] = value
    return options


def _proxy(target: Target) -> dict[str, Any]:
    if not target.proxy:
        return {}
    proxy = urlsplit(target.proxy)
    options: dict[str, Any] = {
        "http_proxy_host": proxy.hostname,
        "http_proxy_port": proxy.port,
        "proxy_type": proxy.scheme,
    }
    if target.no_proxy:
        options["http_no_proxy"] = target.no_proxy.split(",")
    if proxy.username:
        options["http_proxy_auth"] = (proxy.username, proxy.password or "")
    return options


def _json(body: bytes) -> object:
    try:
        return json.loads(body)
    except ValueError:
        return body
