# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare what we judge with what the real programs did: ``python -m …tests.goldens.run FOLDER [PART ...]``.

Prints a table a part, the first difference of each group, and closes with
``goldens: <n> equal, <n> different, <n> not supported``. Exits 0 only when all are equal.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from ansible_collections.inference_ops.dynamo.tests.goldens.rows import STATUSES, Row

PACKAGE = "ansible_collections.inference_ops.dynamo.tests.goldens"
PARTS = ("render", "pull_secrets", "fit", "triage")
#: How much of a first difference is shown without --verbose.
DETAIL = 300


def main(argv: list[str]) -> int:
    """Run the parts asked for and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", default=[])
    parser.add_argument("--verbose", action="store_true", help="show every difference, whole")
    options = parser.parse_args(argv)
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if not options.folder.is_dir():
        print(f"goldens: skipped, there is no folder {options.folder}")
        return 0
    total: Counter[str] = Counter()
    for part in options.parts or PARTS:
        began = time.monotonic()
        rows: list[Row] = list(importlib.import_module(f"{PACKAGE}.{part}").run(options.folder))
        if not rows:
            print(f"{part}: nothing in {options.folder}")
            continue
        total.update(row.status for row in rows)
        print(f"\n{part}: {len(rows)} comparisons in {time.monotonic() - began:.1f} s")
        _table(rows, options.verbose)
    print(f"\ngoldens: {total['equal']} equal, {total['different']} different, {total['not supported']} not supported")
    return 0 if total["equal"] and set(total) == {"equal"} else 1


def _table(rows: Iterable[Row], verbose: bool) -> None:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    width = max(map(len, groups))
    print(f"  {'':{width}}  " + "  ".join(f"{status:>13}" for status in STATUSES))
    for group, members in sorted(groups.items()):
        counts = Counter(row.status for row in members)
        print(f"  {group:{width}}  " + "  ".join(f"{counts[status]:13}" for status in STATUSES))
    for group, members in sorted(groups.items()):
        wrong = [row for row in members if row.status != "equal"]
        for row in wrong if verbose else wrong[:1]:
            print(f"  {group}: {row.name}: {row.status}: {row.detail if verbose else row.detail[:DETAIL]}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
