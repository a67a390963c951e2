# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes ``docs/schemas`` from the rules in the core, or checks with ``--check`` that they agree."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.ledger import LEDGER_SCHEMA
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.smoke_reasons import ARTIFACT_SCHEMA
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.snapshot_schema import SNAPSHOT_SCHEMA

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "schemas"
SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "deployment_ledger.schema.json": LEDGER_SCHEMA,
    "smoke_test_artifact.schema.json": ARTIFACT_SCHEMA,
    "snapshot.schema.json": SNAPSHOT_SCHEMA,
}


def text_of(schema: Mapping[str, Any]) -> str:
    """Return the schema as the file's text."""
    return json.dumps(schema, indent=2) + "\n"


def main(arguments: list[str]) -> int:
    """Write or check the files; the exit code says whether they agree."""
    stale = [name for name, schema in SCHEMAS.items() if _read(FOLDER / name) != text_of(schema)]
    if "--check" in arguments:
        for name in stale:
            sys.stderr.write(f"docs/schemas/{name} is not what the core says: run make schemas\n")
        return 1 if stale else 0
    for name in stale:
        FOLDER.mkdir(parents=True, exist_ok=True)
        (FOLDER / name).write_text(text_of(SCHEMAS[name]), encoding="utf-8")
    return 0


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
