# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what schedulers say about a pod that they cannot place.

Sources: kube-scheduler ``framework/types.go :: FitError`` and the plugins of 1.28 to 1.37, KAI
``common_info/job_errors.go`` and ``FitError``, Volcano ``api/unschedule_info.go`` and the gang plugin, Kueue's flavor
assigner and TAS snapshot, Grove's scheduling gate. A text that matches nothing is kept whole as ``unknown``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .categories import CATEGORIES, Way
from .phrases import (
    GPU_ALIASES,
    KAI_GANG,
    KAI_QUOTA,
    KAI_QUOTA_DETAIL,
    KUEUE_BLOCKS,
    KUEUE_SET,
    PHRASES,
    PLUGINS,
    RUNNING_PLUGIN,
    TAIL,
    TAS_EXCLUDED,
    TAS_TOPOLOGY,
    VOLCANO_GANG,
)

#: Event notes are cut at 1,024 characters and then end in " ..." (client-go ``events``); conditions never.
EVENT_LIMIT = 1024
_CUT = " ..."
_FRAME = re.compile(r"^(?P<free>\d+)/(?P<nodes>\d+) nodes are (?:un)?available(?:: ?|\.|$)")
_COUNTED = re.compile(r"^(?P<count>\d+) (?P<text>.+)$", re.DOTALL)
_KAI = re.compile(r"no nodes with enough resources were found(?:: ?)?", re.IGNORECASE)
_KAI_NODE = re.compile(r"^<(?P<node>[^>]+)>: (?P<text>.+)$", re.DOTALL)


@dataclass(frozen=True)
class Blocker:
    """One reason. ``nodes`` is how many nodes it holds for, 0 where it holds for the pod as a whole."""

    category: str
    nodes: int
    text: str
    resource: str = ""
    subject: str = ""
    #: What to do, where the text says more than the category does.
    way: Way | None = None

    def to_result(self) -> dict[str, Any]:
        """Return the reason as plain data."""
        return {
            "category": self.category,
            "count": self.nodes,
            "text": self.text,
            "resource": self.resource,
            "subject": self.subject,
        }


@dataclass(frozen=True)
class SchedulerMessage:
    """What a scheduler said, read. ``nodes`` is the number of nodes it looked at, where it says so."""

    scheduler: str
    text: str
    nodes: int | None = None
    blockers: tuple[Blocker, ...] = ()
    ignored: tuple[str, ...] = ()
    truncated: bool = False

    @property
    def primary(self) -> Blocker | None:
        """The reason to act on; see :func:`rank`."""
        return min(self.blockers, key=rank, default=None)

    @property
    def way(self) -> Way:
        """What to do, judged by the text alone (what the nodes hold is not known here)."""
        blocker = self.primary
        if blocker is None:
            return "wait"
        return blocker.way or way_of(blocker.category)

    def to_result(self) -> dict[str, Any]:
        """Return the reading as plain data for the filter ``scheduling_triage``."""
        blocker = self.primary
        return {
            "scheduler": self.scheduler,
            "nodes": self.nodes,
            "reasons": [one.to_result() for one in self.blockers],
            "primary": blocker.category if blocker else "",
            "resource": blocker.resource if blocker else "",
            "way": self.way,
            "ignored": list(self.ignored),
            "truncated": self.truncated,
            "text": self.text,
        }


#: Which reason to act on. The scheduler's filters run in a fixed order and a node is counted at the first that refuses
#: it. So "Insufficient" says that the node took the pod in every other way and is merely full: that can change by
#: itself, and waiting is right. Without it, what the manifest or a dependency must change comes first; an unknown
#: text never outranks a known one, and a gang is the consequence of what its pods lack.
_RANKS = (
    ("insufficient_resource",),
    ("host_port",),
    ("pvc", "dra_claim", "quota", "admission", "scheduling_gated", "config_missing"),
    ("taint", "node_affinity", "pod_affinity", "topology_spread", "node_unschedulable"),
    ("scheduler_error",),
    ("gang",),
    ("unknown",),
)
_RANK = {category: position for position, group in enumerate(_RANKS) for category in group}
#: Taints that only say "not for workloads": the rest of the reasons says more.
_ROUTINE_TAINTS = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


def rank(blocker: Blocker) -> tuple[int, bool, int, bool, str]:
    """Return the sort key of a reason: the smallest is the one to act on."""
    whole_pod = blocker.nodes == 0 and blocker.category in {
        "pvc",
        "dra_claim",
        "quota",
        "scheduling_gated",
        "node_affinity",
    }
    routine = blocker.category == "taint" and blocker.subject.startswith(_ROUTINE_TAINTS)
    position = -1 if whole_pod else _RANK.get(blocker.category, len(_RANKS))
    return (position, routine, -blocker.nodes, "/" not in blocker.resource, blocker.text)


def way_of(category: str) -> Way:
    """Return the usual way of a category; ``investigate`` for one that we do not know."""
    return CATEGORIES[category].way if category in CATEGORIES else "investigate"


@lru_cache(maxsize=4096)
def parse(text: str, *, event: bool = False) -> SchedulerMessage:
    """Read a scheduler's text: a condition's message, or with ``event`` an event's note, which may have been cut."""
    source = text.strip()
    cut = event and source.endswith(_CUT.strip()) and len(text) >= EVENT_LIMIT - 64
    if cut:
        source = source[: -len(_CUT.strip())].rstrip()
    if source.startswith("skip schedule deleting pod"):
        return SchedulerMessage("kube-scheduler", text, ignored=(source,))
    for reader in (_kueue, _gang, _kai, _kube, _quota):
        found = reader(source, cut)
        if found is not None:
            return SchedulerMessage(
                found.scheduler, text, found.nodes, found.blockers, found.ignored, found.truncated or cut
            )
    blocker = classify(source)
    return SchedulerMessage("", text, None, (blocker,), truncated=cut)


def classify(text: str, nodes: int = 0) -> Blocker:
    """Return the reason that one phrase stands for; ``unknown`` with the text where it is none of ours."""
    phrase = text.strip().rstrip(".")
    plugin = RUNNING_PLUGIN.match(phrase)
    if plugin:
        return Blocker(PLUGINS.get(plugin["plugin"] or plugin["scoring"] or "", "scheduler_error"), nodes, phrase)
    for pattern, category in PHRASES:
        match = pattern.search(phrase)
        if match:
            groups = match.groupdict()
            subject = groups.get("subject") or ""
            if category == "by_plugin":
                names = re.split(r"[ ,]+", subject.strip("[]"))
                category = next((PLUGINS[name] for name in names if name in PLUGINS), "unknown")
            resource = groups.get("resource") or ("pods" if groups.get("pods") else "")
            return Blocker(category, nodes, phrase, GPU_ALIASES.get(resource, resource), subject)
    return Blocker("unknown", nodes, phrase)


# --- kube-scheduler -------------------------------------------------------------------------------------------------


def _kube(source: str, cut: bool) -> SchedulerMessage | None:
    hyper = re.match(r"^In hyperNode [^:]+: ", source)
    scheduler = "volcano" if hyper else "kube-scheduler"
    body = source[hyper.end() :] if hyper else source
    if body.startswith("no nodes available to schedule pods"):
        return SchedulerMessage(scheduler, source, 0, (Blocker("node_unschedulable", 0, body.rstrip(".")),))
    frame = _FRAME.match(body)
    if frame is None:
        unavailable = re.match(r"^all nodes are unavailable:? ?", body)
        if unavailable is None:
            return None
        blockers, ignored = _reasons(body[unavailable.end() :], cut)
        return SchedulerMessage("volcano", source, None, blockers, ignored)
    if "nodes are unavailable" in frame[0]:
        scheduler = "volcano"
    blockers, ignored = _reasons(body[frame.end() :], cut)
    return SchedulerMessage(scheduler, source, int(frame["nodes"]), blockers, ignored)


def _reasons(body: str, cut: bool) -> tuple[tuple[Blocker, ...], tuple[str, ...]]:
    """Read "<n> reason, <n> reason. tail": the counted reasons and a pod-wide one, and what is no cause."""
    blockers: list[Blocker] = []
    ignored: list[str] = []
    pieces = list(_pieces(body))
    if cut and pieces:
        pieces.pop()  # the last one ends in the middle of a word
    for position, piece in enumerate(pieces):
        if TAIL.match(piece):
            ignored.extend(pieces[position:])
            break
        counted = _COUNTED.match(piece)
        if counted is None and any(blocker.nodes for blocker in blockers):
            ignored.append(piece)  # what follows the counted reasons is a PostFilter plugin's remark
            continue
        text, nodes = (counted["text"], int(counted["count"])) if counted else (piece, 0)
        if TAIL.match(text):
            ignored.append(piece)
        else:
            blockers.extend(_several(text, nodes))
    return tuple(blockers), tuple(ignored)


def _several(text: str, nodes: int) -> Iterator[Blocker]:
    """KAI names several resources in one phrase; every other phrase is one reason."""
    several = re.match(r"^(node\(s\) didn't have enough resources: )(?P<list>[^.]+(?:, [^.]+)+)$", text)
    if several is None:
        yield classify(text, nodes)
        return
    for name in several["list"].split(", "):
        yield classify(several[1] + name, nodes)


def _pieces(body: str) -> Iterator[str]:
    """Split at ", <digit>" and at sentence ends, but not inside braces, brackets or quotes."""
    depth, quoted, start = 0, False, 0
    for position, letter in enumerate(body):
        if letter == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif letter in "{[":
            depth += 1
        elif letter in "}]":
            depth = max(0, depth - 1)
        elif depth == 0 and _ends(body, position, letter):
            piece = body[start:position].strip(" .\n,")
            if piece:
                yield piece
            start = position + 1
    piece = body[start:].strip(" .\n,")
    if piece:
        yield piece


def _ends(body: str, position: int, letter: str) -> bool:
    if letter == "\n":
        return True
    if letter == ".":
        return position + 1 == len(body) or body[position + 1] in " \n."
    return letter == "," and re.match(r", \d+ ", body[position : position + 8]) is not None


# --- KAI, Volcano ---------------------------------------------------------------------------------------------------


def _gang(source: str, cut: bool) -> SchedulerMessage | None:
    kai = KAI_GANG.match(source)
    if kai:
        inner = parse(kai["inner"], event=cut)
        gang: tuple[Blocker, ...] = ()
        if kai["found"] is not None:
            gang = (
                Blocker("gang", 0, source[: kai.start("inner")].strip(), subject=f"{kai['found']} of {kai['needed']}"),
            )
        return SchedulerMessage("kai", source, inner.nodes, gang + inner.blockers, inner.ignored, inner.truncated)
    volcano = VOLCANO_GANG.match(source)
    if volcano is None:
        return None
    blocker = Blocker("gang", 0, source.rstrip("."), subject=f"{volcano['waiting']} of {volcano['all']}")
    inner_blockers: tuple[Blocker, ...] = ()
    inner_text = re.search(r"(?:\d+/\d+ nodes are unavailable|all nodes are unavailable): .+", source, re.DOTALL)
    if inner_text:
        inner_blockers = parse(inner_text[0]).blockers
    return SchedulerMessage("volcano", source, None, (blocker, *inner_blockers))


def _kai(source: str, cut: bool) -> SchedulerMessage | None:
    start = _KAI.search(source)
    if start is None:
        return None
    body = source[start.end() :]
    listed = [match for piece in body.split("\n") if (match := _KAI_NODE.match(piece.strip()))]
    if listed:
        blockers = tuple(classify(match["text"], 1) for match in listed)
        return SchedulerMessage("kai", source, len(listed), blockers)
    found, ignored = _reasons(body, cut)
    return SchedulerMessage("kai", source, None, found, ignored)


def _quota(source: str, cut: bool) -> SchedulerMessage | None:
    if KAI_QUOTA.search(source) is None:
        return None
    named = KAI_QUOTA_DETAIL.search(source)
    resource, queue = (named["resource"] or "", named["queue"] or "") if named else ("", "")
    blocker = Blocker("quota", 0, source.rstrip("."), GPU_ALIASES.get(resource, resource), queue)
    return SchedulerMessage("kai", source, None, (blocker,), truncated=cut)


# --- Kueue ----------------------------------------------------------------------------------------------------------


def _kueue(source: str, cut: bool) -> SchedulerMessage | None:
    if KUEUE_SET.search(source):
        blockers = _unique(_kueue_flavors(source))
        return SchedulerMessage("kueue", source, None, blockers or (Blocker("unknown", 0, source),))
    for pattern, category in KUEUE_BLOCKS:
        match = pattern.search(source)
        if match:
            return SchedulerMessage(
                "kueue",
                source,
                None,
                (Blocker(category, 0, source.rstrip("."), subject=match.groupdict().get("subject") or ""),),
            )
    return None


def _kueue_flavors(source: str) -> Iterator[Blocker]:
    for match in re.finditer(
        r"insufficient (?P<unused>unused )?quota for (?P<resource>\S+) in flavor (?P<flavor>[^\s,;]+)", source
    ):
        # Unused quota comes free when others finish; over the most that the queue could ever lend, no wait helps.
        way: Way = "contention" if match["unused"] else "failed_deploy"
        yield Blocker("quota", 0, match[0], match["resource"], match["flavor"], way)
    for match in re.finditer(r"untolerated taint (?P<taint>\{[^}]*\}|\S+) in flavor (?P<flavor>[^\s,;]+)", source):
        yield Blocker("taint", 0, match[0], subject=match["taint"])
    for match in re.finditer(r"flavor (?P<flavor>\S+) doesn't match node affinity", source):
        yield Blocker("node_affinity", 0, match[0], subject=match["flavor"])
    for match in re.finditer(
        r"resource (?P<resource>\S+) unavailable in ClusterQueue|flavor (?P<flavor>\S+) not found", source
    ):
        yield Blocker("quota", 0, match[0], match["resource"] or "", match["flavor"] or "", "fix_dependency")
    topology = TAS_TOPOLOGY.search(source)
    if topology:
        excluded = list(TAS_EXCLUDED.finditer(source))
        for match in excluded:
            kind = {"resource": "insufficient_resource", "taint": "taint"}.get(match["kind"], "node_affinity")
            subject = match["name"] or ""
            resource = subject if kind == "insufficient_resource" else ""
            yield Blocker(kind, int(match["count"]), match[0], GPU_ALIASES.get(resource, resource), subject)
        if not excluded:
            yield Blocker("topology_spread", 0, topology[0], subject=topology["topology"])


def _unique(blockers: Iterable[Blocker]) -> tuple[Blocker, ...]:
    return tuple(dict.fromkeys(blockers))
