# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Image names by the grammar that container runtimes and the kubelet use.

Source: ``github.com/distribution/reference`` (grammar in ``regexp.go``, ``ParseNormalizedNamed``) and the kubelet's
``parsers.ParseImageName``. ``nginx`` becomes ``docker.io/library/nginx``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DEFAULT_REGISTRY = "docker.io"
_LEGACY_REGISTRY = "index.docker.io"
_OFFICIAL = "library/"
_LONGEST_REPOSITORY = 255

_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_REFERENCE = re.compile(
    rf"(?P<domain>{_DOMAIN})/(?P<repository>{_COMPONENT}(?:/{_COMPONENT})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
_IDENTIFIER = re.compile(r"[a-f0-9]{64}")
_DIGEST_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}


class ImageNameError(ValueError):
    """An image name that no runtime accepts (the kubelet's InvalidImageName)."""


@dataclass(frozen=True)
class Image:
    """A parsed image name. ``name`` is what the kubelet looks credentials up with: registry and repository."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def name(self) -> str:
        """Registry and repository, without tag and digest."""
        return f"{self.registry}/{self.repository}"

    def __str__(self) -> str:
        text = f"{self.name}:{self.tag}" if self.tag else self.name
        return f"{text}@{self.digest}" if self.digest else text


def parse_image(text: str) -> Image:
    """Parse and normalise an image name; raise :class:`ImageNameError` saying what is wrong with it."""
    if _IDENTIFIER.fullmatch(text):
        raise ImageNameError("invalid repository name, cannot be 64 hexadecimal characters")
    domain, remainder = _split_domain(text)
    repository = remainder.partition(":")[0]
    if repository.lower() != repository:
        raise ImageNameError(f"invalid reference format: repository name ({repository}) must be lowercase")
    match = _REFERENCE.fullmatch(f"{domain}/{remainder}")
    if match is None:
        raise ImageNameError("invalid reference format")
    if len(match["repository"]) > _LONGEST_REPOSITORY:
        raise ImageNameError(f"repository name must not be more than {_LONGEST_REPOSITORY} characters")
    digest = match["digest"] or ""
    if digest:
        _check_digest(digest)
    return Image(match["domain"], match["repository"], match["tag"] or "", digest)


def _split_domain(text: str) -> tuple[str, str]:
    first, slash, rest = text.partition("/")
    if not slash:
        return DEFAULT_REGISTRY, _OFFICIAL + text
    if first == _LEGACY_REGISTRY:
        first = DEFAULT_REGISTRY
    # A first element is a registry where it cannot be an organisation on Docker Hub.
    elif first != "localhost" and not set(".:") & set(first) and first.lower() == first:
        first, rest = DEFAULT_REGISTRY, text
    if first == DEFAULT_REGISTRY and "/" not in rest:
        rest = _OFFICIAL + rest
    return first, rest


def _check_digest(digest: str) -> None:
    algorithm, _unused, value = digest.partition(":")
    length = _DIGEST_LENGTHS.get(algorithm)
    if length is None:
        raise ImageNameError("unsupported digest algorithm")
    if len(value) != length or value.lower() != value:
        raise ImageNameError("invalid checksum digest length or format")
