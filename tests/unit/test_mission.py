# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of the mission names only tests that are there, and every point of the workflow has its row."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MISSION = (ROOT / "docs" / "mission.md").read_text(encoding="utf-8")
POINTS = {path.name[:2] for path in (ROOT / "tests/integration/playbooks/points").glob("[0-9][0-9]_*.yml")}


def test_each_test_that_is_named_exists() -> None:
    there = {path.stem for path in (ROOT / "tests").rglob("test_*.py")}
    named = set(re.findall(r"`(test_\w+)`", MISSION))
    assert named
    assert named - there == set()


def test_each_point_is_named_and_exists() -> None:
    assert set(re.findall(r"points/(\d\d)", MISSION)) == POINTS
