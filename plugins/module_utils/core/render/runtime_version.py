# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Dynamo runtime an image holds, as release 1.5 reads it from the tag (``internal/runtimeversion``)."""

from __future__ import annotations

import re

from .semver import Version

_NUMBER = r"(?:0|[1-9][0-9]*)"
_WORD = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_TAG = re.compile(
    rf"[vV]?({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-{_WORD}(?:\.{_WORD})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
#: Go holds each part in 64 bits.
_MAX = 2**64 - 1


def image_tag(image: str) -> str:
    """Return an image reference's tag, or an empty string; a digest is no tag, a registry's port neither."""
    reference = image.strip().partition("@")[0]
    slash, colon = reference.rfind("/"), reference.rfind(":")
    return reference[colon + 1 :].strip() if colon > slash else ""


def image_version(image: str) -> Version | None:
    """Return the version in the image's tag; pre-release and build parts do not count."""
    match = _TAG.fullmatch(image_tag(image))
    if match is None:
        return None
    major, minor, patch = (int(part) if len(part) <= 20 else _MAX + 1 for part in match.groups())
    return Version(major, minor, patch) if max(major, minor, patch) <= _MAX else None
