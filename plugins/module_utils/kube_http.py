# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to one API server: who asks, how long to wait, when to try again, and how many were sent.

Works on the connection pool and the configuration that ``kube.connect`` takes from the Kubernetes client.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from .kube_errors import Asked, KubeError, Unreachable, asked, error_from

with contextlib.suppress(ImportError):  # comes with the kubernetes package, whose absence connect() reports
    import urllib3

ATTEMPTS = 5
#: Seconds: first pause between attempts (doubling), and the longest that a server may ask us to wait.
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 60.0
#: Seconds, seconds, and a count: a peer that is silent for so long is asked for a sign of life, so often, and given up.
#: Without it a watch on a server whose machine died would hear nothing for an hour and not know.
_KEEPALIVE = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))


@dataclass(frozen=True)
class Answer:
    """One HTTP answer, its body unread: call ``close`` when done."""

    status: int
    headers: Mapping[str, str]
    raw: Any

    def close(self) -> None:
        """Give the connection back, or drop it where the body was not read to its end."""
        self.raw.close()
        self.raw.release_conn()


class Transport:
    """Sends requests and reads answers. Safe to use from several threads."""

    def __init__(
        self,
        configuration: Any,
        pool: Any,
        *,
        agent: str,
        context: str = "",
        impersonate: tuple[str, tuple[str, ...]] = ("", ()),
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.context = context
        self.host = str(configuration.host).rstrip("/")
        self.agent = f"inference_ops.dynamo/{agent}"
        self.configuration = configuration
        self._pool = pool
        self._impersonate = impersonate
        self._sleep = sleep
        self._clock = clock
        self._lock = threading.Lock()
        self._requests = 0

    @property
    def api_requests(self) -> int:
        """How many requests have been sent, retries included."""
        return self._requests

    # -- one request ------------------------------------------------------------------------------------------------

    def headers(self) -> list[tuple[str, str]]:
        """Return the headers that say who asks; an exec plugin's expired token is refreshed on the way."""
        with self._lock:
            settings = self.configuration.auth_settings()
        result = [("User-Agent", self.agent)]
        token = (settings.get("BearerToken") or {}).get("value")
        if token:
            result.append(("Authorization", token))
        elif self.configuration.username:
            result.append(("Authorization", self.configuration.get_basic_auth_token()))
        user, groups = self._impersonate
        if user:
            result.append(("Impersonate-User", user))
        return result + [("Impersonate-Group", group) for group in groups]

    def send(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        body: object = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        read_timeout: float = READ_TIMEOUT,
        what: Asked | None = None,
    ) -> Answer:
        """Send one request once and return its answer; raise :class:`KubeError` for any but a 2xx answer."""
        what = what or asked(method, path)
        url = self.host + quote(path, safe="/:@") + (f"?{urlencode(params)}" if params else "")
        headers = urllib3.HTTPHeaderDict([*self.headers(), ("Accept", accept), ("Accept-Encoding", "gzip")])
        data = None
        if body is not None:
            headers["Content-Type"] = content_type
            data = json.dumps(body).encode()
        self.count()
        try:
            raw = self._pool.request(
                method,
                url,
                body=data,
                headers=headers,
                preload_content=False,
                retries=False,
                redirect=False,
                timeout=urllib3.Timeout(connect=CONNECT_TIMEOUT, read=read_timeout),
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self.unreachable(error, what) from None
        answer = Answer(raw.status, raw.headers, raw)
        if 200 <= raw.status < 300:
            return answer
        text = self.read(answer, what)
        try:
            status_object = json.loads(text)
        except ValueError:
            status_object = text
        raise error_from(raw.status, status_object, what, _seconds(raw.headers.get("Retry-After")))

    def unreachable(self, error: Exception, what: Asked) -> Unreachable:
        text = " ".join(str(error).split())
        if _distrusts(error, text):
            return Unreachable(
                f"the certificate of {self.host} is not trusted: {text}", asked=what, reason="Certificate"
            )
        # urllib3 puts an object's address into its texts; the reason stands after the colon.
        cause = text.rsplit(">: ", 1)[-1].rsplit("): ", 1)[-1]
        return Unreachable(f"the API server at {self.host} gave no answer: {cause}", asked=what)

    def read(self, answer: Answer, what: Asked) -> bytes:
        try:
            return bytes(answer.raw.read(decode_content=True))
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self.unreachable(error, what) from None
        finally:
            answer.close()

    def request(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Any:
        """Send a request and return the decoded JSON answer.

        A read is tried again after an overload, a server error or a broken connection, with growing pauses and as long
        as ``Retry-After`` says; anything that changes something only after 429, which says that nothing was done.
        ``attempts`` bounds this; 1 is for who tries again by himself.
        """
        what = options.setdefault("what", asked(method, path))
        attempts = options.pop("attempts", ATTEMPTS)

        def once() -> Any:
            text = self.read(self.send(method, path, params, **options), what)
            try:
                return json.loads(text) if text else {}
            except ValueError:
                raise KubeError("the answer is not JSON; is this an API server?", asked=what, status=200) from None

        return self.with_retries(once, reading=method == "GET", attempts=attempts)

    def with_retries(self, once: Callable[[], Any], reading: bool, attempts: int = ATTEMPTS) -> Any:
        pause = FIRST_PAUSE
        for attempt in range(1, attempts + 1):
            try:
                return once()
            except KubeError as error:
                may_retry = error.retryable if reading else error.status == 429
                if not may_retry or attempt == attempts:
                    raise
                self._sleep(min(max(error.retry_after, pause), LONGEST_PAUSE))
                pause *= 2
        raise RuntimeError("unreachable")  # the loop returns or raises

    def lines(self, answer: Answer, what: Asked) -> Iterator[bytes]:
        buffer = b""
        try:
            for chunk in answer.raw.stream(65536, decode_content=True):
                buffer += chunk
                *lines, buffer = buffer.split(b"\n")
                yield from filter(None, lines)
        except urllib3.exceptions.ReadTimeoutError:
            return
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self.unreachable(error, what) from None

    def count(self) -> None:
        """Count a request that was sent in another way, such as a port-forward's."""
        with self._lock:
            self._requests += 1


def keepalive() -> list[tuple[int, int, int]]:
    """Return socket options by which a connection notices that its peer is dead, as far as the system has them."""
    options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    known = [(name, value) for name, value in _KEEPALIVE if hasattr(socket, name)]
    return options + [(socket.IPPROTO_TCP, getattr(socket, name), value) for name, value in known]


def _distrusts(error: Exception, text: str) -> bool:
    """Return whether TLS failed for what no later attempt betters; a server that stops breaks handshakes off too."""
    causes = [error, *error.args]
    return (
        any(isinstance(one, (ssl.SSLCertVerificationError, ssl.CertificateError)) for one in causes)
        or "CERTIFICATE_VERIFY_FAILED" in text
        or "WRONG_VERSION_NUMBER" in text
        or "doesn't match" in text
    )


def _seconds(text: str | None) -> float:
    """Read a ``Retry-After`` header; its date form is rare and answered with our own pause."""
    return float(text) if text and text.isdigit() else 0.0
