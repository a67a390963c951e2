# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The roles' READMEs say what the specification says, and a default that is told twice is told alike."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SPEC = """
argument_specs:
  main:
    short_description: Do a thing
    description: [It uses C(kubectl) | and V(x).]
    options:
      thing_mode:
        description: How.
        type: str
        choices: [slow, fast]
        default: slow
      thing_parts:
        description: What of.
        type: list
        elements: dict
        required: true
        options:
          name: {description: Its name., type: str}
"""


def run(roles: Path, *options: str) -> subprocess.CompletedProcess[str]:
    script = ROOT / "tests" / "tools" / "role_readmes.py"
    return subprocess.run(
        [sys.executable, str(script), str(roles), *options], capture_output=True, text=True, check=False
    )


def role(tmp_path: Path, default: str) -> Path:
    folder = tmp_path / "thing"
    for name, text in (
        ("meta/argument_specs.yml", SPEC),
        ("meta/readme.md", "## Use\n\nLike this.\n"),
        ("defaults/main.yml", f"thing_mode: {default}\n"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_options_suboptions_and_markup_are_shown(tmp_path: Path) -> None:
    folder = role(tmp_path, "slow")
    assert run(tmp_path).returncode == 0
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "It uses `kubectl` | and `x`." in text
    assert "Like this." in text
    assert "| `thing_mode` | str | `slow` | How. One of `slow`, `fast`. |" in text
    assert "| `thing_parts` | list of dict | **required** | What of. |" in text
    assert "| `thing_parts.name` | str |  | Its name. |" in text
    assert run(tmp_path, "--check").returncode == 0


def test_a_readme_that_is_out_of_date_is_named(tmp_path: Path) -> None:
    folder = role(tmp_path, "slow")
    run(tmp_path)
    (folder / "README.md").write_text("old", encoding="utf-8")
    done = run(tmp_path, "--check")
    assert done.returncode == 1
    assert "thing: README.md is not up to date" in done.stderr


def test_a_default_that_differs_is_named(tmp_path: Path) -> None:
    role(tmp_path, "fast")
    done = run(tmp_path)
    assert done.returncode == 1
    assert "the default of thing_mode is 'fast', specified 'slow'" in done.stderr
