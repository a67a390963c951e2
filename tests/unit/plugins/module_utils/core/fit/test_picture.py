# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The picture: what it shows at each size, and that nothing in it can break out."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.picture import node_rows, summary, svg, text
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.report import NodeRow

SVG = "{http://www.w3.org/2000/svg}"


def row(name: str = "n", total: int = 8, **more: Any) -> NodeRow:
    fields: dict[str, Any] = {
        "resource": "nvidia.com/gpu",
        "others": 2,
        "run": 1,
        "placed": (("decode", 4),),
        "free": 1,
    }
    return NodeRow(node=name, total=total, **{**fields, **more})


def drawn(rows: list[NodeRow], title: str = "t") -> ET.Element:
    return ET.fromstring(svg(rows, title))


def slots(root: ET.Element, kind: str) -> int:
    """Return how many slots of a kind are drawn, without the legend's."""
    return sum(1 for one in root.iter(f"{SVG}rect") if one.get("class") == kind) - 1


def test_each_gpu_is_a_slot() -> None:
    root = drawn([row(), row("m", placed=(), others=0, run=0, free=8, out="node(s) had untolerated taint(s)")])
    assert [slots(root, kind) for kind in ("others", "run", "p0", "free", "out")] == [2, 1, 4, 1, 8]
    words = " ".join(one.text or "" for one in root.iter(f"{SVG}text"))
    assert "untolerated taint" in words
    assert "decode" in words


def test_it_is_told_to_screen_readers() -> None:
    root = drawn([row()], "gpu-west")
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "gpu-fit-title gpu-fit-desc"
    assert root.findtext(f"{SVG}title") == "gpu-west"
    assert root.findtext(f"{SVG}desc") == summary([row()])
    assert summary([row()]) == (
        "8 GPUs on 1 nodes: 2 held by others, 1 held by this run, 4 placed, 1 free, 0 free but out of reach."
    )


def test_text_cannot_break_out() -> None:
    nasty = '"/><script>alert(1)</script>'
    root = drawn([row(nasty, placed=((nasty, 4),), out=nasty)], nasty)
    assert not [one for one in root.iter() if one.tag.endswith("script")]
    assert root.findtext(f"{SVG}title") == nasty


def test_many_gpus_become_a_bar() -> None:
    root = drawn([row(total=72, others=40, placed=(("decode", 20),), free=11)])
    assert [slots(root, kind) for kind in ("others", "run", "p0", "free")] == [1, 1, 1, 1]


def test_hundreds_of_nodes_become_a_grid_with_tooltips() -> None:
    rows = [row(f"n{number}") for number in range(499)]
    rows.append(row("out", placed=(), free=5, out="node(s) were unschedulable"))
    root = drawn(rows)
    assert sum(1 for _unused in root.iter(f"{SVG}g")) == 500
    assert float(root.get("height") or 0) < 800
    tips = [one.text or "" for one in root.iter(f"{SVG}title")]
    assert "n7: 8 nvidia.com/gpu; 2 held by others, 1 held by this run, 4 for decode, 1 free" in tips
    assert any(
        "1 nodes out of reach: node(s) were unschedulable" in (one.text or "") for one in root.iter(f"{SVG}text")
    )


def test_thousands_of_nodes_are_joined_where_they_are_alike() -> None:
    rows = [
        row(f"n{number}", placed=(("decode", 4),) if number % 2 else (), free=1 if number % 2 else 5)
        for number in range(2000)
    ]
    root = drawn(rows)
    words = [one.text or "" for one in root.iter(f"{SVG}text")]
    assert "1000 nodes like n1" in words
    assert "1000 nodes like n0" in words


def test_more_components_than_colours() -> None:
    rows = [row(f"n{number}", placed=((f"component-{number:02d}", 4),)) for number in range(12)]
    assert slots(drawn(rows), "p0") == 2 * 4 + 1  # two components share it, and one entry more of the legend


def test_no_gpus_at_all() -> None:
    assert summary([]) == "No node has GPUs."
    assert drawn([]).findtext(f"{SVG}desc") == "No node has GPUs."
    assert text([]) == "No node has GPUs."


def test_text() -> None:
    lines = text([row("node-a"), row("node-b", placed=(), free=5, out="node(s) were unschedulable")], 100).splitlines()
    assert lines[1:] == [
        "A decode   # held by others   + held by this run   . free   x out of reach",
        "node-a [##+AAAA.] 1 free",
        "node-b [##+xxxxx] 5 free (node(s) were unschedulable)",
    ]


def test_text_of_bars_other_resources_and_narrow_terminals() -> None:
    mig = row("a" * 60, total=56, others=40, placed=(("x", 10),), free=5, resource="nvidia.com/mig-1g.10gb")
    lines = text([mig], 60).splitlines()
    assert all(len(line) <= 60 for line in lines[1:])
    assert "[#40 +1 A10 .5]" in lines[-1]
    joined = text([row(f"n{number}") for number in range(50)], 80).splitlines()
    assert joined[-1].startswith("50 x n0 [##+AAAA.]")


@pytest.mark.parametrize("found", [None, {}, {"nodes": "x"}, {"nodes": [1]}, {"nodes": [{"node": "a"}]}])
def test_what_is_no_result_is_refused(found: Any) -> None:
    with pytest.raises(InputError, match="gpu_fit"):
        node_rows(found)


def test_rows_come_back_from_a_result() -> None:
    plain = {
        "node": "n", "resource": "nvidia.com/gpu", "total": 8, "others": 2, "run": 1,
        "placed": [{"component": "decode", "gpus": 4}], "free": 1, "out": "",
    }  # fmt: skip
    assert node_rows({"nodes": [plain]}) == (row(),)
