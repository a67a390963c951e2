# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one family of errors that the core raises; only a module's ``main()`` turns one into ``fail_json``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False)  # not frozen: Python sets __traceback__ on an exception that passes a context manager
class InputError(ValueError):
    """Input that cannot be used, told so that a person can mend it.

    ``where`` is the file (or ``definition``), ``component`` the DGD component where there is one, ``field`` the path
    inside the document (``spec.services.Worker.replicas``), ``found`` what stood there, ``remedy`` what to do.
    """

    problem: str
    where: str = ""
    component: str = ""
    field: str = ""
    found: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        place = ": ".join(
            part for part in (self.where, self.component and f"component {self.component}", self.field) if part
        )
        text = f"{place}: {self.problem}" if place else self.problem
        if self.found:
            text += f" (found {self.found})"
        if self.remedy:
            text += f". {self.remedy}"
        return text if text.endswith(".") else text + "."


def shown(value: object, limit: int = 80) -> str:
    """Return ``value`` as short one-line text for an error's ``found``."""
    text = " ".join(repr(value).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
