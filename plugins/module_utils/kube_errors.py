# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong between us and an API server: one family of errors, each saying what was asked and what is missing.

No error carries a request's headers or body, so none can carry a credential.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Answers that another attempt may better: overload, a leader election, a gateway in between.
RETRYABLE_STATUS = frozenset({429, 500, 502, 503, 504})
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True)
class Asked:
    """What a request was about, in RBAC's words."""

    verb: str
    resource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    def __str__(self) -> str:
        if not self.resource:
            return f"{self.verb} {self.path}"
        what = f"{self.verb} {self.resource}" + (f" {self.name}" if self.name else "")
        return f"{what} in namespace {self.namespace}" if self.namespace else f"{what} in the whole cluster"

    @property
    def permission(self) -> str:
        """The permission that the request needs, for the person who grants it."""
        where = f"in namespace {self.namespace}" if self.namespace else "in the whole cluster (ClusterRole)"
        return f'verb "{self.verb}" on {self.resource} {where}' if self.resource else f"{self.verb} {self.path}"


def asked(method: str, path: str, watch: bool = False) -> Asked:
    """Read a request's verb, resource, namespace and name from its URL path."""
    parts = [part for part in path.split("?")[0].split("/") if part]
    group = ""
    rest: list[str] = []
    if parts[:1] == ["api"]:
        rest = parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 2:
        group, rest = parts[1], parts[3:]
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    if not rest:
        return Asked(_VERBS.get(method, "get"), path="/" + "/".join(parts))
    plural, name, subresource = [*rest, "", ""][:3]
    resource = "/".join(filter(None, (f"{plural}.{group}" if group else plural, subresource)))
    verb = _VERBS.get(method) or ("watch" if watch else "get" if name else "list")
    return Asked(verb, resource, namespace, name, "/" + "/".join(parts))


class KubeError(Exception):
    """A request that did not succeed.

    ``status`` is the HTTP status, 0 where no answer came; ``reason`` the API's own word (``Forbidden``, ``NotFound``,
    ``Conflict``, ``Invalid``…); ``message`` the server's text; ``asked`` what the request was about.
    """

    def __init__(
        self, message: str, *, asked: Asked, status: int = 0, reason: str = "", retry_after: float = 0
    ) -> None:
        super().__init__(message)
        self.message = message
        self.asked = asked
        self.status = status
        self.reason = reason
        self.retry_after = retry_after

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.status in RETRYABLE_STATUS

    def __str__(self) -> str:
        code = f" (HTTP {self.status}{' ' + self.reason if self.reason else ''})" if self.status else ""
        return f"Could not {self.asked}: {self.message}{code}"


class Unreachable(KubeError):
    """No answer: the connection was refused, broke, timed out, or the server's certificate was not trusted."""

    @property
    def retryable(self) -> bool:
        return self.reason != "Certificate"


class Unauthorized(KubeError):
    """The credentials were not accepted (401)."""


class Forbidden(KubeError):
    """The credentials are good and the permission is missing (403)."""

    @property
    def permission(self) -> str:
        """The missing permission."""
        return self.asked.permission

    def __str__(self) -> str:
        return f"Could not {self.asked}: forbidden, needs {self.permission}"


class NotFound(KubeError):
    """The object does not exist (404)."""


class Absent(NotFound):
    """The kind itself does not exist on this server: its CRD or API version is not installed (404)."""


class Conflict(KubeError):
    """The object has changed, exists already, or another field manager owns the field (409)."""


class Gone(KubeError):
    """The resource version or the list's continuation is too old (410): list anew."""


_BY_STATUS: Mapping[int, type[KubeError]] = {401: Unauthorized, 403: Forbidden, 404: NotFound, 409: Conflict, 410: Gone}


def error_from(status: int, body: object, what: Asked, retry_after: float = 0) -> KubeError:
    """Make the error of an answer: ``body`` is the Status object, or the text of what is no Status."""
    reason, message = "", ""
    details: Mapping[str, Any] = {}
    if isinstance(body, Mapping) and body.get("kind") == "Status":
        reason = str(body.get("reason") or "")
        message = str(body.get("message") or "")
        details = body.get("details") or {}
    elif isinstance(body, (str, bytes)):
        text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
        message = " ".join(text.split())[:200]
    cls = _BY_STATUS.get(status, KubeError)
    # An object's absence names the object; a kind's absence is the router's bare answer.
    if cls is NotFound and not details.get("name"):
        cls = Absent
    return cls(
        message or f"the server answered {status}", asked=what, status=status, reason=reason, retry_after=retry_after
    )
