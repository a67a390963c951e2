# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which release's rules and which pathway apply, and on what evidence."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InputError
from .profiles import NEWEST, RELEASES
from .semver import Version, parse_version

AUTO = "auto"


@dataclass(frozen=True)
class Choice:
    """What was chosen and why. ``exact`` is false where the operator seen is of a release that has no rules here."""

    value: str
    evidence: str
    exact: bool = True


@dataclass(frozen=True)
class Gates:
    """Whether Grove and LeaderWorkerSets are switched on. ``exact`` is false where that is only assumed."""

    grove: bool
    lws: bool
    evidence: str
    exact: bool = True


def choose_release(wanted: str, seen: str = "", seen_evidence: str = "") -> Choice:
    """Return the release for ``wanted``: one of the known ones, or ``auto`` for that of the operator seen.

    ``seen`` is the operator's version as a snapshot has it (``1.5.2``), empty where nobody saw one. An operator
    between two known releases gets the rules of the older one: those of the newer one did not exist yet.
    """
    if wanted != AUTO:
        if wanted not in RELEASES:
            raise InputError(
                "unknown operator release",
                field="operator_release",
                found=wanted,
                remedy=f"There are {', '.join((AUTO, *RELEASES))}",
            )
        return Choice(wanted, "asked for")
    version = parse_version(seen) if seen else None
    if version is None:
        reason = seen_evidence or "no snapshot was given"
        return Choice(NEWEST, f"the newest, because the operator's release is not known ({reason})", exact=False)
    evidence = f"the operator is {seen}" + (f" ({seen_evidence})" if seen_evidence else "")
    known = sorted(_numbers())
    at_most = [release for numbers, release in known if numbers <= (version.major, version.minor)]
    release = at_most[-1] if at_most else known[0][1]
    exact = any(numbers == (version.major, version.minor) for numbers, _unused in known)
    return Choice(release, evidence if exact else f"{evidence}; the nearest release with rules is {release}", exact)


def _numbers() -> list[tuple[tuple[int, int], str]]:
    parsed: list[tuple[Version | None, str]] = [(parse_version(release), release) for release in RELEASES]
    return [((version.major, version.minor), release) for version, release in parsed if version is not None]


def choose_gates(
    pathway: str,
    *,
    asked: tuple[bool | None, bool | None] = (None, None),
    seen: tuple[bool | None, bool | None] = (None, None),
    multinode: bool = False,
) -> Gates:
    """Return whether Grove and LeaderWorkerSets are switched on, and on what evidence.

    ``asked`` is what the operator's configuration was said to be, ``seen`` whether the cluster offers the APIs. Where
    neither is known, a graph over several nodes is taken to find what it needs: Helm's setting would only refuse it.
    """
    if pathway != AUTO:
        return Gates(pathway == "grove", pathway == "lws", "asked for")
    if multinode and (*asked, *seen) == (None, None, None, None):
        evidence = "not known; Grove and LeaderWorkerSet are taken to be there, because the DGD spans several nodes"
        return Gates(True, True, evidence, exact=False)
    grove = asked[0] if asked[0] is not None else bool(seen[0])
    lws = asked[1] if asked[1] is not None else bool(seen[1])
    said = [
        f"{name} is {'on' if value else 'off'} ({'operator_config' if told is not None else _seen(known)})"
        for name, value, told, known in (
            ("Grove", grove, asked[0], seen[0]),
            ("LeaderWorkerSet", lws, asked[1], seen[1]),
        )
    ]
    return Gates(grove, lws, ", ".join(said))


def _seen(known: bool | None) -> str:
    if known is None:
        return "not known, as Helm leaves it"
    return "the cluster offers its API" if known else "the cluster does not offer its API"
