# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every part of the golden tests yields: one row a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

Status = Literal["equal", "different", "not supported"]
Case = TypeVar("Case")
STATUSES: tuple[Status, ...] = ("equal", "different", "not supported")


@dataclass(frozen=True)
class Row:
    """One comparison: ``group`` is its line in the table, ``detail`` the first difference."""

    group: str
    name: str
    status: Status
    detail: str = ""


def compared(
    cases: Iterable[Case], name: Callable[[Case], str], compare: Callable[[Case], Iterable[Row]]
) -> Iterator[Row]:
    """Yield the rows of each case; one that stops the comparison is a difference, and the others go on."""
    for case in cases:
        try:
            rows = list(compare(case))
        except Exception as error:  # whatever it is, it is what this case shows
            yield Row("stopped", name(case), "different", f"{type(error).__name__}: {error}")
        else:
            yield from rows
