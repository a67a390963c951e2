# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The releases that can be rendered."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import InputError
from . import documented, main_branch, release_1_1, release_1_5
from .model import Profile

PROFILES: Mapping[str, Profile] = {
    profile.release: profile
    for profile in (documented.PROFILE, release_1_1.PROFILE, release_1_5.PROFILE, main_branch.PROFILE)
}
RELEASES: tuple[str, ...] = tuple(PROFILES)
#: What ``auto`` means where no operator was seen.
NEWEST = release_1_5.PROFILE.release


def profile_of(release: str) -> Profile:
    """Return the profile of ``release``; raise :class:`InputError` naming the ones there are."""
    try:
        return PROFILES[release]
    except KeyError:
        raise InputError(
            "unknown operator release",
            field="operator_release",
            found=release,
            remedy=f"There are {', '.join(RELEASES)}",
        ) from None
