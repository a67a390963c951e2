# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write docs/reason_codes.md from the REASONS that the core declares; ``--check`` only compares.

``python -m …tests.tools.reason_codes [--check]``
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

from ansible_collections.inference_ops.dynamo.plugins.module_utils import core
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.findings import Reason

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reason_codes.md"
HEAD = """# Reason codes

Every finding carries a `reason_code`. Codes are stable: automation may branch on them; a change of meaning gets a new
code. The outcome (`pass`, `warn`, `fail`, `unknown`) depends on what was found and is told in the finding.

This page is written by `make docs` from the code.
"""


def reasons() -> dict[str, list[Reason]]:
    """Return the reasons of every core module, by check."""
    found: dict[str, dict[str, Reason]] = {}
    for module in pkgutil.walk_packages(core.__path__, core.__name__ + "."):
        for reason in getattr(importlib.import_module(module.name), "REASONS", ()):
            found.setdefault(reason.check, {})[reason.code] = reason
    return {check: sorted(found[check].values(), key=lambda reason: reason.code) for check in sorted(found)}


def page() -> str:
    """Return the page's text."""
    lines = [HEAD]
    for check, members in reasons().items():
        lines += [f"## {check}\n", "| code | meaning | usual remedy |", "| --- | --- | --- |"]
        lines += [f"| `{reason.code}` | {_cell(reason.meaning)} | {_cell(reason.remedy)} |" for reason in members]
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main(argv: list[str]) -> int:
    """Write or check the page."""
    text = page()
    if argv == ["--check"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            print(f"{PAGE.name} does not say what the code says: run `make docs`")
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
