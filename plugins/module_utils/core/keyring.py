# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who finds which pull secret for an image: the Dynamo operator's index and the kubelet's keyring.

Sources: the operator's ``internal/secrets/docker.go`` of releases 1.1 and 1.5; the kubelet 1.34's
``pkg/credentialprovider/keyring.go``. Both indexes are built once and answer each image from a few candidates.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .docker_secrets import DATA_KEYS, DOCKER_CONFIG_JSON, SecretEntry, kubelet_url
from .go_url import CACHED, UrlError, parse_url, registry_host, split_host_port

_DEFAULT_REGISTRY_KEY = "index.docker.io"
_GLOB = re.compile(r"[*?\[\\]")


# -- the operator -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OperatorIndex:
    """Registry host (with port) to secret names, per namespace.

    ``blocked_by`` names the secrets that made release 1.1 give up the refresh: it then keeps the index it had, which
    nobody can see from outside. ``skipped`` names those that 1.5 left out, wholly or in part.
    """

    hosts: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    blocked_by: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    def lookup(self, image: str, namespace: str) -> tuple[str, ...]:
        """Return the names the operator finds for an image, in its order, with 1.1's duplicates.

        Empty too for an image that its URL parser refuses, such as ``nginx:latest``: it swallows that error.
        """
        try:
            return self.hosts.get((namespace, registry_host(image)), ())
        except UrlError:
            return ()

    def attach(self, images: Iterable[str], namespace: str, declared: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the pod's ``imagePullSecrets``: what the user declared, then what is found, each name once."""
        found = [name for image in images for name in self.lookup(image, namespace)]
        return tuple(dict.fromkeys([*declared, *found]))


def operator_index(secrets: Iterable[SecretEntry], release: str) -> OperatorIndex:
    """Build the operator's index from the secrets in the order in which the API lists them.

    Release 1.1 keeps that order and one malformed secret, in any namespace, spoils the whole refresh; later ones sort
    by name and skip what is malformed.
    """
    docker = [secret for secret in secrets if secret.type == DOCKER_CONFIG_JSON]
    strict = is_strict(release)
    malformed = tuple(
        f"{secret.namespace}/{secret.name}"
        for secret in docker
        if secret.operator_problem or any(problem.code == "bad_registry" for problem in secret.problems)
    )
    if strict and malformed:
        return OperatorIndex(blocked_by=malformed)
    if not strict:
        docker.sort(key=lambda secret: (secret.namespace, secret.name))
    found: dict[tuple[str, str], list[str]] = {}
    for secret in docker:
        for host in _hosts(secret):
            found.setdefault((secret.namespace, host), []).append(secret.name)
    return OperatorIndex(
        {key: tuple(names if strict else sorted(set(names))) for key, names in found.items()}, skipped=malformed
    )


def is_strict(release: str) -> bool:
    """Whether this operator release gives up its whole index over one malformed secret."""
    return release == "1.1" or release.startswith("1.1.")


def _hosts(secret: SecretEntry) -> list[str]:
    hosts = []
    for key in () if secret.operator_problem else secret.registries:
        try:
            hosts.append(registry_host(key))
        except UrlError:
            continue
    return hosts


# -- the kubelet ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Match:
    """A credential that the kubelet would try: of which secret, found under which of its registry keys."""

    secret: str
    registry: str


@dataclass(frozen=True)
class _Pattern:
    """A key of the keyring, taken apart: ``key`` sorts it, the rest is compared with an image."""

    key: str
    labels: tuple[str, ...]
    port: str
    path: str

    def fits(self, labels: tuple[str, ...], path: str) -> bool:
        # A path is a plain prefix, so reg.example/a also covers reg.example/ab.
        return path.startswith(self.path) and all(
            glob_match(pattern, label) for pattern, label in zip(self.labels, labels, strict=True)
        )


class Keyring:
    """The kubelet's keyring over the secrets given, in their order. ``broken`` are those that would spoil it whole.

    A pod's keyring must be built of that pod's secrets alone, and finds nothing when one of them is broken.
    """

    def __init__(self, secrets: Iterable[SecretEntry]) -> None:
        self.broken: tuple[str, ...] = ()
        self._credentials: dict[str, list[Match]] = {}
        self._exact: dict[tuple[tuple[str, ...], str], list[_Pattern]] = {}
        self._globs: dict[tuple[int, str], list[_Pattern]] = {}
        for secret in secrets:
            if secret.kubelet_problem:
                self.broken += (secret.name,)
            elif secret.type in DATA_KEYS:
                for registry in secret.registries:
                    self._add(secret.name, registry)

    def _add(self, secret: str, registry: str) -> None:
        key = keyring_key(registry)
        if key is None:
            return
        known = self._credentials.setdefault(key, [])
        known.append(Match(secret, registry))
        if len(known) > 1:
            return
        pattern = _pattern(key)
        if pattern is None:
            return
        if _GLOB.search(".".join(pattern.labels)):
            self._globs.setdefault((len(pattern.labels), pattern.port), []).append(pattern)
        else:
            self._exact.setdefault((pattern.labels, pattern.port), []).append(pattern)

    def lookup(self, name: str) -> tuple[Match, ...]:
        """Return the credentials for an image's registry and repository, in the order of the kubelet's tries.

        Longer keys come first, since keys are sorted backwards; Docker Hub's own key is the last resort for its images.
        """
        target = _pattern(name)
        if target is None:
            return ()
        candidates = [
            *self._exact.get((target.labels, target.port), ()),
            *self._globs.get((len(target.labels), target.port), ()),
        ]
        keys = sorted((item.key for item in candidates if item.fits(target.labels, target.path)), reverse=True)
        found = [match for key in keys for match in self._credentials[key]]
        if not found and _is_docker_hub(name):
            found = self._credentials.get(_DEFAULT_REGISTRY_KEY, [])
        return tuple(found)


@functools.lru_cache(maxsize=CACHED)
def keyring_key(registry: str) -> str | None:
    """Return the key under which the kubelet files a registry: host and path, ``/v1/`` and ``/v2/`` taken for the host.

    ``https://index.docker.io/v1`` without its last slash keeps its path, and so fits no image of Docker Hub.
    """
    url = kubelet_url(registry)
    if url is None:
        return None
    path = url.path[3:] if url.path.startswith(("/v1/", "/v2/")) else url.path
    return url.host if path in ("", "/") else url.host + path


@functools.lru_cache(maxsize=CACHED)
def _pattern(key: str) -> _Pattern | None:
    try:
        url = parse_url(f"https://{key}")
    except UrlError:
        return None
    host, port = split_host_port(url.host)
    return _Pattern(key, tuple(host.split(".")), port, url.path)


def _is_docker_hub(name: str) -> bool:
    first, slash, _rest = name.partition("/")
    if not first:
        return False
    return not slash or first in ("docker.io", "index.docker.io") or not set(".:") & set(first)


def glob_match(pattern: str, text: str) -> bool:
    """Match one label of a host as Go's ``filepath.Match`` does; a malformed pattern matches nothing."""
    if not _GLOB.search(pattern):
        return pattern == text
    compiled = _compiled(pattern)
    return compiled is not None and compiled.fullmatch(text) is not None


@functools.lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    result, rest = "", pattern
    while rest:
        character, rest = rest[0], rest[1:]
        if character == "*":
            result += "[^/]*"
        elif character == "?":
            result += "[^/]"
        elif character == "[":
            match = re.match(r"(\^?)((?:[^\]\-\\^](?:-[^\]\-\\])?)+)\]", rest)
            if match is None:
                return None
            members = re.sub(r"([&~|\[^])", r"\\\1", match[2])
            result += f"[{match[1]}{members}]"
            rest = rest[match.end() :]
        elif character == "\\":
            if not rest:
                return None
            result, rest = result + re.escape(rest[0]), rest[1:]
        else:
            result += re.escape(character)
    try:
        return re.compile(result, re.DOTALL)
    except re.error:  # a range written backwards
        return None


def why_not(registry: str, name: str) -> str:
    """Say why a registry key does not fit an image's registry and repository."""
    key = keyring_key(registry)
    pattern, target = (None if key is None else _pattern(key)), _pattern(name)
    if pattern is None or target is None:
        return f"its key {registry} cannot be parsed"
    if pattern.port != target.port:
        return f"its key {registry} has {_port_text(pattern)}, the image {_port_text(target)}"
    if len(pattern.labels) != len(target.labels) or not all(map(glob_match, pattern.labels, target.labels)):
        if [label.lower() for label in pattern.labels] == [label.lower() for label in target.labels]:
            return f"its key {registry} differs in upper and lower case"
        return f"its key {registry} names another host"
    return f"the path of its key {registry} is not the beginning of the image's"


def _port_text(pattern: _Pattern) -> str:
    return f"port {pattern.port}" if pattern.port else "no port"
