# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster's GPUs as a picture: inline SVG for the report, text for terminals.

A GPU is a slot: held by others, held by this run, placed (a colour a component), free, or out of reach with the reason.
Up to :data:`NAMED` nodes each has a row with its name; up to :data:`GRID` each is a block in a grid with its name as
tooltip; beyond that nodes that look alike are one row with their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ..errors import InputError, shown
from .report import NodeRow

NAMED = 40
GRID = 600
#: More slots than this in one row become a bar.
MOST_SLOTS = 16
WIDTH = 960
SLOT = 18
GAP = 3
ROW = 26
SMALL_SLOT = 7
LEFT = 250
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

#: Slot kinds in drawing order: class, words, letter in text.
OTHERS, RUN, FREE, OUT = "others", "run", "free", "out"
WORDS: Mapping[str, str] = {
    OTHERS: "held by others",
    RUN: "held by this run",
    FREE: "free",
    OUT: "out of reach",
}
TEXT: Mapping[str, str] = {OTHERS: "#", RUN: "+", FREE: ".", OUT: "x"}
_PLACED = 8
_STYLE = """
.gpu-fit{font:13px system-ui,sans-serif;--line:#8a94a6;--ink:#1b2430;--soft:#5a6575;--others:#aab3c0;--run:#6b7a90;
--free:#fff;--out:#eef0f3;max-width:100%;height:auto}
.gpu-fit text{fill:var(--ink)}.gpu-fit .soft{fill:var(--soft);font-size:12px}
.gpu-fit .letter{font-size:11px;font-weight:600;fill:#fff;text-anchor:middle}
.gpu-fit rect{stroke:var(--line);stroke-width:1}.gpu-fit .others{fill:var(--others)}.gpu-fit .run{fill:var(--run)}
.gpu-fit .free{fill:var(--free)}.gpu-fit .out{fill:var(--out);stroke-dasharray:2 2}
.gpu-fit .p0{fill:#1f6feb}.gpu-fit .p1{fill:#1a7f37}.gpu-fit .p2{fill:#9a5b00}.gpu-fit .p3{fill:#8250df}
.gpu-fit .p4{fill:#bf3989}.gpu-fit .p5{fill:#0b7285}.gpu-fit .p6{fill:#a40e26}.gpu-fit .p7{fill:#4c5b1a}
@media (prefers-color-scheme:dark){.gpu-fit{--line:#6e7a8c;--ink:#e6eaf0;--soft:#a6b0be;--others:#4a5564;--run:#8fa0b8;
--free:#10151c;--out:#222a35}}
""".replace("\n", "")


@dataclass(frozen=True)
class _Slot:
    """Equal slots side by side."""

    kind: str
    count: int
    letter: str = ""
    words: str = ""


def node_rows(result: object) -> tuple[NodeRow, ...]:
    """Read the rows out of a module's result; raise :class:`InputError` where they are none."""
    source = result.get("nodes") if isinstance(result, Mapping) else None
    if not isinstance(source, Sequence) or isinstance(source, str):
        raise InputError("not a result of gpu_fit", field="nodes", found=shown(source))
    return tuple(_row(entry, number) for number, entry in enumerate(source))


def _row(entry: Any, number: int) -> NodeRow:
    try:
        return NodeRow(
            node=str(entry["node"]),
            resource=str(entry["resource"]),
            total=int(entry["total"]),
            others=int(entry["others"]),
            run=int(entry["run"]),
            placed=tuple((str(one["component"]), int(one["gpus"])) for one in entry["placed"]),
            free=int(entry["free"]),
            out=str(entry.get("out") or ""),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError("not a row of gpu_fit's nodes", field=f"nodes[{number}]", found=shown(entry)) from None


def _components(rows: Sequence[NodeRow]) -> list[str]:
    return sorted({name for row in rows for name, _count in row.placed})


def _slots(row: NodeRow, components: Sequence[str]) -> list[_Slot]:
    found = [_Slot(OTHERS, min(row.others, row.total)), _Slot(RUN, row.run)]
    for name, count in row.placed:
        number = components.index(name)
        found.append(_Slot(f"p{number % _PLACED}", count, LETTERS[number % len(LETTERS)], name))
    found.append(_Slot(OUT if row.out else FREE, row.free))
    return [slot for slot in found if slot.count > 0]


def _told(row: NodeRow) -> str:
    """Return the row in words."""
    parts = [f"{row.others} held by others" if row.others else "", f"{row.run} held by this run" if row.run else ""]
    parts += [f"{count} for {name}" for name, count in row.placed]
    parts.append(f"{row.free} {'out of reach: ' + row.out if row.out else 'free'}" if row.free or row.out else "")
    return f"{row.node}: {row.total} {row.resource}; " + ", ".join(part for part in parts if part)


def _alike(row: NodeRow) -> tuple[object, ...]:
    return (row.resource, row.total, row.others, row.run, row.placed, row.free, row.out)


def _grouped(rows: Sequence[NodeRow]) -> list[tuple[NodeRow, int]]:
    """Join rows that look alike, the most interesting first: with placed pods, then by number."""
    counts = Counter(_alike(row) for row in rows)
    first: dict[tuple[object, ...], NodeRow] = {}
    for row in rows:
        first.setdefault(_alike(row), row)
    joined = [(row, counts[identity]) for identity, row in first.items()]
    return sorted(joined, key=lambda one: (not one[0].placed, bool(one[0].out), -one[1]))


def summary(rows: Sequence[NodeRow]) -> str:
    """Return the totals in a sentence."""
    if not rows:
        return "No node has GPUs."
    taken = sum(row.others for row in rows)
    run = sum(row.run for row in rows)
    placed = sum(count for row in rows for _name, count in row.placed)
    free = sum(row.free for row in rows if not row.out)
    out = sum(row.free for row in rows if row.out)
    nodes = len({row.node for row in rows})
    return (
        f"{sum(row.total for row in rows)} GPUs on {nodes} nodes: {taken} held by others, {run} held by this run,"
        f" {placed} placed, {free} free, {out} free but out of reach."
    )


# --- SVG --------------------------------------------------------------------------------------------------------------


def svg(rows: Sequence[NodeRow], title: str = "GPU capacity") -> str:
    """Draw the rows as one inline SVG element, with a title and a description for screen readers."""
    components = _components(rows)
    legend, top = _legend(components, bool(rows))
    legend += f'<text class="soft" x="0" y="{top + 4}">{escape(summary(rows))}</text>'
    top += 20
    if len(rows) <= NAMED:
        body, height = _named([(row, 1) for row in rows], components, top)
    elif len(rows) <= GRID:
        body, height = _grid(rows, components, top)
    else:
        body, height = _named(_grouped(rows), components, top)
    return (
        f'<svg class="gpu-fit" xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {height}"'
        f' width="{WIDTH}" height="{height}" aria-labelledby="gpu-fit-title gpu-fit-desc">'
        f'<title id="gpu-fit-title">{escape(title)}</title><desc id="gpu-fit-desc">{escape(summary(rows))}</desc>'
        f"<style>{_STYLE}</style>{legend}{''.join(body)}</svg>"
    )


def _legend(components: Sequence[str], any_rows: bool) -> tuple[str, int]:
    """Draw what the colours mean; wraps where it is long."""
    entries = [(f"p{number % _PLACED}", name) for number, name in enumerate(components)]
    entries += list(WORDS.items()) if any_rows else []
    parts, x, y = [], 0, 6
    for kind, words in entries:
        wide = 40 + int(7.4 * len(words))
        if x and x + wide > WIDTH:
            x, y = 0, y + 22
        letter = LETTERS[components.index(words) % len(LETTERS)] if words in components and kind[0] == "p" else ""
        parts.append(_rect(x, y, 14, 14, kind) + _letter(x + 7, y + 11, letter))
        parts.append(f'<text x="{x + 20}" y="{y + 12}">{escape(words)}</text>')
        x += wide
    return "".join(parts), y + 32


def _rect(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="2"/>'


def _letter(x: float, y: float, letter: str) -> str:
    return f'<text class="letter" x="{x:g}" y="{y:g}">{escape(letter)}</text>' if letter else ""


def _named(rows: Sequence[tuple[NodeRow, int]], components: Sequence[str], top: int) -> tuple[list[str], int]:
    body = []
    for number, (row, count) in enumerate(rows):
        y = top + number * ROW
        name = row.node if count == 1 else f"{count} nodes like {row.node}"
        parts = [f"<g><title>{escape(_told(row))}</title>"]
        parts.append(f'<text x="0" y="{y + 14}">{escape(_short(name, 34))}</text>')
        end = _draw(parts, row, components, y)
        note = _short(f"{row.free} free" + (f", {row.out}" if row.out else ""), (WIDTH - end) // 7)
        parts.append(f'<text class="soft" x="{end + 8:g}" y="{y + 14}">{escape(note)}</text></g>')
        body.append("".join(parts))
    return body, top + max(len(rows), 1) * ROW


def _draw(parts: list[str], row: NodeRow, components: Sequence[str], y: int) -> int:
    """Draw one row's slots, or a bar where they are many; return where it ends."""
    x: float = LEFT
    if row.total > MOST_SLOTS:
        scale = MOST_SLOTS * (SLOT + GAP) / row.total
        for slot in _slots(row, components):
            wide = slot.count * scale
            parts.append(_rect(x, y, wide, SLOT, slot.kind))
            if wide > 26:
                label = str(slot.count) if slot.kind in WORDS else f"{slot.letter}{slot.count}"
                style = "letter" if slot.kind not in WORDS else "soft"
                anchor = ' text-anchor="middle"'
                parts.append(f'<text class="{style}" x="{x + wide / 2:g}" y="{y + 13}"{anchor}>{label}</text>')
            x += wide
        return int(x)
    for slot in _slots(row, components):
        for _unused in range(slot.count):
            parts.append(_rect(x, y, SLOT, SLOT, slot.kind) + _letter(x + SLOT / 2, y + 13, slot.letter))
            x += SLOT + GAP
    return int(x)


def _grid(rows: Sequence[NodeRow], components: Sequence[str], top: int) -> tuple[list[str], int]:
    """Draw each node as a strip of small slots, strips side by side, tooltips for names."""
    widest = min(max(row.total for row in rows), MOST_SLOTS)
    strip = widest * SMALL_SLOT + 8
    columns = max(WIDTH // strip, 1)
    line = SMALL_SLOT + 7
    body = []
    for number, row in enumerate(rows):
        x, y = number % columns * strip, top + number // columns * line
        parts = [f"<g><title>{escape(_told(row))}</title>"]
        scale = min(1.0, widest / row.total)
        at: float = x
        for slot in _slots(row, components):
            pieces = slot.count if scale == 1 else 1
            wide = SMALL_SLOT if scale == 1 else slot.count * scale * SMALL_SLOT
            for _unused in range(pieces):
                parts.append(_rect(at, y, wide, SMALL_SLOT + 2, slot.kind))
                at += wide
        body.append("".join(parts) + "</g>")
    reasons = Counter(row.out for row in rows if row.out)
    bottom = top + (len(rows) + columns - 1) // columns * line + 14
    for reason, count in reasons.most_common(6):
        body.append(f'<text class="soft" x="0" y="{bottom}">{count} nodes out of reach: {escape(reason)}</text>')
        bottom += 18
    return body, bottom


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(limit - 1, 1)] + "…"


# --- text -------------------------------------------------------------------------------------------------------------


def text(rows: Sequence[NodeRow], width: int = 100) -> str:
    """Write the rows as lines of at most ``width`` characters; alike nodes are joined where there are many."""
    components = _components(rows)
    shown_rows = _grouped(rows) if len(rows) > NAMED else [(row, 1) for row in rows]
    names = [row.node if count == 1 else f"{count} x {row.node}" for row, count in shown_rows]
    column = min(max(map(len, names), default=0), max(width // 3, 12))
    lines = [summary(rows)]
    keys = [f"{LETTERS[number % len(LETTERS)]} {name}" for number, name in enumerate(components)]
    keys += [f"{TEXT[kind]} {words}" for kind, words in WORDS.items()]
    lines.extend(_wrapped(keys, width) if rows else ())
    for (row, _count), name in zip(shown_rows, names, strict=True):
        line = f"{_short(name, column):{column}} [{_bar(row, components)}] {row.free} free"
        line += f" ({row.out})" if row.out else ""
        line += f" {row.resource}" if row.resource != "nvidia.com/gpu" else ""
        lines.append(_short(line, width))
    return "\n".join(lines)


def _bar(row: NodeRow, components: Sequence[str]) -> str:
    marks = [(TEXT.get(slot.kind, slot.letter), slot.count) for slot in _slots(row, components)]
    if row.total > MOST_SLOTS:
        return " ".join(f"{mark}{count}" for mark, count in marks)
    return "".join(mark * count for mark, count in marks)


def _wrapped(keys: Sequence[str], width: int) -> Iterator[str]:
    line = ""
    for key in keys:
        if line and len(line) + 3 + len(key) > width:
            yield line
            line = ""
        line += ("   " if line else "") + key
    if line:
        yield line
