# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write each role's README.md from its argument specification, or check that it is up to date.

The description and the options come from ``meta/argument_specs.yml``. Between the two stands what a specification
cannot hold (an example, what the role sets), which is kept as ``meta/readme.md`` beside it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

COLLECTION = "inference_ops.dynamo"


def paragraphs(value: object) -> list[str]:
    """Return a description, given as text or as a list of texts, as a list of paragraphs in Markdown."""
    texts = value if isinstance(value, list) else [value]
    return [markup(" ".join(str(text).split())) for text in texts if text]


def markup(text: str) -> str:
    """Turn Ansible's C(x), V(x), O(x), E(x) and M(x) into Markdown code."""
    for mark in "CVOEM":
        parts = text.split(f"{mark}(")
        text = parts[0] + "".join(f"`{part.replace(')', '`', 1)}" for part in parts[1:])
    return text


def shown(value: object) -> str:
    """Return a default as YAML in one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=10_000).replace("\n...", "").strip()


def option_rows(options: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield a table row for each option and, indented by its parent's name, each suboption."""
    for name, option in options.items():
        kind = option.get("type", "str")
        if "elements" in option:
            kind = f"{kind} of {option['elements']}"
        about = " ".join(paragraphs(option.get("description")))
        if "choices" in option:
            about += " One of " + ", ".join(f"`{choice}`" for choice in option["choices"]) + "."
        default = "**required**" if option.get("required") else ""
        if "default" in option:
            default = f"`{shown(option['default'])}`"
        cells = (f"`{prefix}{name}`", kind, default, about.replace("|", "\\|"))
        yield "| " + " | ".join(cells) + " |"
        yield from option_rows(option.get("options", {}), f"{prefix}{name}.")


def readme(role: Path) -> str:
    """Return the README of the role in the folder ``role``."""
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]
    main = specs["main"]
    notes = (role / "meta" / "readme.md").read_text(encoding="utf-8").strip()
    lines = [
        "<!-- Made by `make docs-roles` from meta/argument_specs.yml and meta/readme.md: change those. -->",
        f"# {COLLECTION}.{role.name}",
        "",
        markup(f"{main['short_description']}."),
        "",
    ]
    for paragraph in paragraphs(main.get("description")):
        lines += [paragraph, ""]
    lines += [notes, ""]
    for entry, spec in specs.items():
        title = "## Variables" if entry == "main" else f"## Variables of the entry point `{entry}`"
        lines += [title, ""]
        if entry != "main":
            lines += [markup(f"{spec['short_description']}."), ""]
        lines += [
            "| variable | type | default | meaning |",
            "| --- | --- | --- | --- |",
            *option_rows(spec["options"]),
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def stale_defaults(role: Path) -> Iterator[str]:
    """Yield each default that the specification and ``defaults/main.yml`` do not agree on."""
    file = role / "defaults" / "main.yml"
    defaults = (yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else None) or {}
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))["argument_specs"]
    options = {name: option for spec in specs.values() for name, option in spec["options"].items()}
    for name in sorted(set(defaults) - set(options)):
        yield f"{role.name}: {name} has a default and no specification"
    for name, option in sorted(options.items()):
        if ("default" in option) != (name in defaults):
            yield f"{role.name}: {name} has a default in one of defaults/main.yml and meta/argument_specs.yml only"
        elif "default" in option and option["default"] != defaults[name]:
            yield f"{role.name}: the default of {name} is {defaults[name]!r}, specified {option['default']!r}"


def main() -> int:
    """Write or check all READMEs; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("roles", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    problems: list[str] = []
    roles = sorted(path.parent.parent for path in arguments.roles.glob("*/meta/argument_specs.yml"))
    for role in roles:
        problems += stale_defaults(role)
        file, text = role / "README.md", readme(role)
        if not arguments.check:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            problems.append(f"{role.name}: README.md is not up to date, run `make docs-roles`")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(roles)} roles, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
