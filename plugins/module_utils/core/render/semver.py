# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions as the operator reads them: loosely, with or without ``v``, minor and patch."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LOOSE = re.compile(
    r"v?(?P<major>[0-9]+)(?:\.(?P<minor>[0-9]+))?(?:\.(?P<patch>[0-9]+))?"
    r"(?:-(?P<pre>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_MAX_LENGTH = 256


@dataclass(frozen=True)
class Version:
    """A semantic version; with ``pre`` it is a pre-release, which comes before the release."""

    major: int
    minor: int
    patch: int
    pre: str = ""

    def at_least(self, major: int, minor: int, patch: int) -> bool:
        """Return whether this version is the given release or a later one."""
        mine, other = (self.major, self.minor, self.patch), (major, minor, patch)
        return mine > other or (mine == other and not self.pre)


def parse_version(text: str) -> Version | None:
    """Parse ``text``; ``None`` where it is no version."""
    match = _LOOSE.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if match is None:
        return None
    return Version(int(match["major"]), int(match["minor"] or 0), int(match["patch"] or 0), match["pre"] or "")
