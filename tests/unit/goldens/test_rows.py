# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recorded case that stops the comparison is told as a difference and does not hide the others."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.inference_ops.dynamo.tests.goldens.rows import Row, compared


def test_a_case_that_stops_is_a_difference() -> None:
    def rows(number: int) -> Iterator[Row]:
        yield Row("halves", str(10 // number), "equal")

    assert list(compared([5, 0, 2], str, rows)) == [
        Row("halves", "2", "equal"),
        Row("stopped", "0", "different", "ZeroDivisionError: integer division or modulo by zero"),
        Row("halves", "5", "equal"),
    ]
