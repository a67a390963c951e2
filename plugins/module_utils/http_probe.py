# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One HTTP request with a bound on the whole answer's time and size; no redirects, no proxies, nothing shared."""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from .core.errors import InputError, shown
from .core.http_answer import MAX_BODY, HttpAnswer

_CHUNK = 65536
#: Seconds by which the hard bound comes after those of single reads, which say more.
_GRACE = 0.2


@dataclass(frozen=True)
class Address:
    """Where an endpoint listens; ``prefix`` is the path before the API's own."""

    host: str
    port: int
    prefix: str = ""
    tls: bool = False
    verify: bool = True
    ca_cert: str = ""


def parse_url(url: str, verify: bool = True, ca_cert: str = "") -> Address:
    """Return the address in ``url``; raise :class:`InputError` unless it is a plain http or https address."""
    if "@" in re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0]:
        raise InputError("a URL must not hold credentials", field="url", remedy="Use the option headers")
    # What stands behind a question mark or around an @ may be a credential, so it is not shown.
    told = "" if "@" in url else shown(url.partition("?")[0])
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError("not a URL", field="url", found=told) from error
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InputError("not an endpoint's URL", field="url", found=told, remedy="Write it as http://host:port")
    tls = parts.scheme == "https"
    prefix = parts.path.rstrip("/").removesuffix("/v1")
    return Address(parts.hostname, port or (443 if tls else 80), prefix, tls, verify, ca_cert)


def send(
    address: Address,
    method: str,
    path: str,
    *,
    timeout: float,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> HttpAnswer:
    """Send one request and return what came back within ``timeout`` seconds, which bounds the whole answer."""
    end = clock() + timeout
    connection = _connection(address, timeout)
    status, read = 0, bytearray()
    known: dict[str, str] = {}
    late = threading.Event()

    def answer(**more: Any) -> HttpAnswer:
        return HttpAnswer(status, bytes(read[:MAX_BODY]), known, **more)

    def broken(problem: Exception | None) -> HttpAnswer:
        if late.is_set() or isinstance(problem, TimeoutError):
            return answer(error=f"No whole answer within {timeout:g} s.", timed_out=True, cut=bool(status))
        text = f"{type(problem).__name__}: {problem}".rstrip(": ")
        return answer(error=text if problem else "The connection was closed before the answer was whole.", cut=True)

    try:
        connection.connect()
        # The connection gives its socket away once the answer begins.
        wire = connection.sock
        with _bounded(wire, timeout, late):
            connection.request(method, address.prefix + path, body, _headers(headers or {}, body is not None))
            response = connection.getresponse()
            status = response.status
            known = {name.lower(): value for name, value in response.getheaders()}
            while True:
                left = end - clock()
                if left <= 0:
                    raise TimeoutError
                wire.settimeout(left)
                chunk = response.read1(_CHUNK)
                if not chunk:
                    break
                read += chunk
                if len(read) > MAX_BODY:
                    return answer(large=True)
        return broken(None) if late.is_set() or (response.length or 0) > 0 else answer()
    except (OSError, http.client.HTTPException, ValueError) as error:
        return broken(error) if status else replace(broken(error), cut=False)
    finally:
        connection.close()


@contextlib.contextmanager
def _bounded(wire: socket.socket, timeout: float, late: threading.Event) -> Iterator[None]:
    """End the connection once its time is over: a byte now and then keeps every single read in time."""

    def hang_up() -> None:
        late.set()
        with contextlib.suppress(OSError):
            wire.shutdown(socket.SHUT_RDWR)

    watch = threading.Timer(timeout + _GRACE, hang_up)
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _headers(given: Mapping[str, str], has_body: bool) -> dict[str, str]:
    """Return the headers to send; a given one takes the place of ours in whichever case its name is written."""
    ours = {"Accept": "application/json", "Connection": "close"}
    if has_body:
        ours["Content-Type"] = "application/json"
    names = {name.lower() for name in given}
    return {**{name: value for name, value in ours.items() if name.lower() not in names}, **given}


def _connection(address: Address, timeout: float) -> http.client.HTTPConnection:
    if not address.tls:
        return http.client.HTTPConnection(address.host, address.port, timeout=timeout)
    try:
        context = ssl.create_default_context(cafile=address.ca_cert or None)
    except (OSError, ValueError) as error:
        raise InputError(f"the certificate file cannot be used: {error}", where=address.ca_cert) from error
    if not address.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(address.host, address.port, timeout=timeout, context=context)
