# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""URLs as Go's ``net/url`` reads them, for the operator and the kubelet both read registry names with it.

Python's own parser forgives what Go refuses (a port that is no number, a space in a host), and a refusal is what makes
a secret useless, so the rules are written out here. Only what those two programs look at is kept: host and path.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

#: Registries repeat: remembering as many as a large cluster has spares most of the work.
CACHED = 16384
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PORT = re.compile(r"(?::[0-9]*)?")
_USERINFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
#: ASCII characters that may stand in a host unescaped; anything beyond ASCII may too.
_HOST_CHARACTER = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:\[\]<>\"]|[^\x00-\x7f]")
#: What nearly all registries look like: nothing in it needs the rules below, only time when there are thousands.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([A-Za-z0-9.-]+(?::[0-9]*)?)((?:/[A-Za-z0-9._/-]*)?)", re.ASCII)
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")


class UrlError(ValueError):
    """What Go's parser refuses, in its words and without quoting the URL."""


@dataclass(frozen=True)
class Url:
    """Host with its port, and the unescaped path; a user name or password is dropped while parsing."""

    host: str
    path: str = ""


def parse_url(text: str) -> Url:
    """Parse ``text`` as ``url.Parse`` does; raise :class:`UrlError` where that fails."""
    plain = _PLAIN.fullmatch(text)
    return Url(plain[1], plain[2]) if plain else _parse_any(text)


def _parse_any(text: str) -> Url:
    if _CONTROL.search(text):
        raise UrlError("net/url: invalid control character in URL")
    text, _unused, fragment = text.partition("#")
    _unescape(fragment)
    scheme = _SCHEME.match(text)
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    rest = (text[scheme.end() :] if scheme else text).partition("?")[0]
    if not rest.startswith("/"):
        if scheme:
            return Url("")
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    host = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        host, rest = _authority(authority), slash + path
    return Url(host, _unescape(rest))


def _authority(authority: str) -> str:
    userinfo, at, host = authority.rpartition("@")
    result = _host(host)
    if at:
        if not _USERINFO.fullmatch(userinfo):
            raise UrlError("net/url: invalid userinfo")
        _unescape(userinfo)
    return result


def _host(host: str) -> str:
    if host.startswith("["):
        end = host.rfind("]")
        if end < 0:
            raise UrlError("missing ']' in host")
        _port(host[end + 1 :])
        zone = host.find("%25", 0, end)
        # A zone may escape anything, the address before it nothing below 0x80.
        if zone >= 0:
            return _host_characters(host[:zone]) + _unescape(host[zone:end]) + host[end:]
        return _host_characters(host[:end]) + host[end:]
    colon = host.rfind(":")
    if colon >= 0:
        _port(host[colon:])
    return _host_characters(host)


def _port(text: str) -> None:
    if not _PORT.fullmatch(text):
        raise UrlError(f'invalid port "{text}" after host')


def _host_characters(host: str) -> str:
    for escape in re.finditer("%.{0,2}", host):
        # RFC 6874: in a host only bytes beyond ASCII are escaped (and a zone's percent sign).
        if not _ESCAPE.fullmatch(escape[0]) or (escape[0][1] < "8" and escape[0] != "%25"):
            raise UrlError(f'invalid URL escape "{escape[0]}"')
    for character in _ESCAPE.sub("", host):
        if not _HOST_CHARACTER.fullmatch(character):
            raise UrlError(f'invalid character "{character}" in host name')
    return _decode(host)


def _unescape(text: str) -> str:
    for escape in re.finditer("%.{0,2}", text):
        if not _ESCAPE.fullmatch(escape[0]):
            raise UrlError(f'invalid URL escape "{escape[0]}"')
    return _decode(text)


def _decode(text: str) -> str:
    if "%" not in text:
        return text
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda match: bytes([int(match[1], 16)]), text.encode("utf-8", "replace"))
    return raw.decode("utf-8", "replace")


@functools.lru_cache(maxsize=CACHED)
def registry_host(name: str) -> str:
    """Return the host, with its port, of a registry key or an image as the Dynamo operator takes it.

    Source: the operator's ``internal/common/url.go``. It knows nothing of Docker Hub: ``nginx`` is the host ``nginx``,
    and ``nginx:1.2`` is refused since ``1.2`` is no port. Raises :class:`UrlError`.
    """
    host = parse_url(name if "://" in name else f"dummy://{name}").host
    if not host:
        raise UrlError("no host found in URL")
    return host


def split_host_port(host: str) -> tuple[str, str]:
    """Split as ``net.SplitHostPort`` does, with the whole as host where that fails (no port, bare IPv6)."""
    name, colon, port = host.rpartition(":")
    if not colon:
        return host, ""
    if host.startswith("["):
        end = host.find("]")
        if end < 0 or end + 1 != len(name):
            return host, ""
        return name[1:end], port
    return (host, "") if ":" in name or "[" in host or "]" in host else (name, port)
