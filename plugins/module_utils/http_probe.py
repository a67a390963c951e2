# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One HTTP request with a bound on the whole answer's time and size; no redirects, no proxies, nothing shared."""

from __future__ import annotations

import http.client
import re
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from .core.errors import InputError, shown
from .core.http_answer import MAX_BODY, HttpAnswer

_CHUNK = 65536


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
    status, known, read = 0, {}, bytearray()
    try:
        more = {"Content-Type": "application/json"} if body is not None else {}
        connection.request(
            method,
            address.prefix + path,
            body,
            {"Accept": "application/json", "Connection": "close", **more, **(headers or {})},
        )
        response = connection.getresponse()
        status = response.status
        known = {name.lower(): value for name, value in response.getheaders()}
        while True:
            left = end - clock()
            if left <= 0:
                raise TimeoutError
            if connection.sock is not None:
                connection.sock.settimeout(left)
            chunk = response.read1(_CHUNK)
            if not chunk:
                break
            read += chunk
            if len(read) > MAX_BODY:
                return HttpAnswer(status, bytes(read[:MAX_BODY]), known, large=True)
        cut = (response.length or 0) > 0
        error = "The connection was closed before the answer was whole." if cut else ""
        return HttpAnswer(status, bytes(read), known, error=error, cut=cut)
    except TimeoutError:
        text = f"No whole answer within {timeout:g} s."
        return HttpAnswer(status, bytes(read), known, error=text, timed_out=True, cut=bool(status))
    except (OSError, http.client.HTTPException, ValueError) as error:
        text = f"{type(error).__name__}: {error}".rstrip(": ")
        return HttpAnswer(status, bytes(read), known, error=text, cut=bool(status))
    finally:
        connection.close()


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
