# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of the house that a machine can hold: imports point one way, the core is pure, modules stay thin."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "plugins"
CORE = PLUGINS / "module_utils" / "core"

#: What the core may import besides itself: libraries that compute and touch nothing outside.
PURE = frozenset(
    {
        "__future__",
        "abc",
        "base64",
        "binascii",
        "bisect",
        "collections",
        "colorsys",
        "copy",
        "dataclasses",
        "datetime",
        "decimal",
        "difflib",
        "enum",
        "fractions",
        "functools",
        "hashlib",
        "heapq",
        "html",
        "ipaddress",
        "itertools",
        "json",
        "keyword",
        "math",
        "operator",
        "re",
        "shlex",
        "string",
        "struct",
        "textwrap",
        "types",
        "typing",
        "unicodedata",
    }
)
#: Names of pure libraries that reach for a clock.
IMPURE_CALLS = frozenset({"now", "utcnow", "today"})
MODULE_LINES = 120
MAIN_LINES = 40
DOCUMENTATION = frozenset({"DOCUMENTATION", "EXAMPLES", "RETURN"})


def python_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield (relative level, dotted name) of each import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.level, node.module or ""


def target_of(path: Path, level: int, name: str) -> str | None:
    """Return the imported file or package relative to plugins, or None for what is not ours."""
    prefix = "ansible_collections.inference_ops.dynamo.plugins."
    if level == 0:
        return name.removeprefix(prefix).replace(".", "/") if name.startswith(prefix) else None
    base = path.parent
    for _unused in range(level - 1):
        base = base.parent
    return str((base / name.replace(".", "/")).relative_to(PLUGINS))


@pytest.mark.parametrize("path", python_files(CORE), ids=name_of)
def test_the_core_is_pure(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    outside = [name for level, name in imports(tree) if level == 0 and name.split(".")[0] not in PURE]
    assert outside == [], "the core collects nothing: hand it data instead"
    escaping = [
        target
        for level, name in imports(tree)
        if (target := target_of(path, level, name)) is not None and not target.startswith("module_utils/core")
    ]
    assert escaping == [], "inside the core, imports stay inside the core"
    clocks = [
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in IMPURE_CALLS
    ]
    assert clocks == [], "a clock's value comes in as an argument"
    builtins = [
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"open", "print", "input", "exec", "eval"}
    ]
    assert builtins == []


#: Who may import whom (folders and files below plugins); the core is checked above.
ALLOWED = {
    "modules": ("module_utils",),
    "filter": ("module_utils",),
    "action": ("module_utils",),
    "module_utils": ("module_utils",),
    "doc_fragments": (),
}


@pytest.mark.parametrize("path", python_files(PLUGINS), ids=name_of)
def test_imports_point_one_way(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    where = path.relative_to(PLUGINS).parts[0]
    targets = [target for level, name in imports(tree) if (target := target_of(path, level, name)) is not None]
    assert [target for target in targets if not target.startswith(ALLOWED[where])] == []
    foreign = [
        name
        for _level, name in imports(tree)
        if name.startswith("ansible_collections.") and not name.startswith("ansible_collections.inference_ops.dynamo")
    ]
    assert foreign == [], "other collections are called by their modules' names, never imported"
    if path != PLUGINS / "module_utils" / "kube.py":
        assert [name for _level, name in imports(tree) if name.split(".")[0] == "kubernetes"] == [], (
            "kube.py holds the client"
        )


def code_lines(tree: ast.Module, text: str) -> int:
    documented = sum(
        (node.end_lineno or 0) - node.lineno + 1
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id in DOCUMENTATION
    )
    return len(text.splitlines()) - documented


@pytest.mark.parametrize(
    "path", [path for path in python_files(PLUGINS / "modules") if path.name != "__init__.py"], ids=name_of
)
def test_modules_are_thin(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert code_lines(tree, text) <= MODULE_LINES, "its logic belongs in the core"
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    main = functions["main"]
    assert (main.end_lineno or 0) - main.lineno + 1 <= MAIN_LINES
    failing = [
        name
        for name, function in functions.items()
        if name != "main"
        and any(isinstance(node, ast.Attribute) and node.attr == "fail_json" for node in ast.walk(function))
    ]
    assert failing == [], "only main() ends a module"


def action_group() -> list[str]:
    """Return the members of the action group; read without yaml, which bare pytest may lack."""
    lines = (ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8").splitlines()
    return [
        line.strip().removeprefix("- ")
        for line in lines[lines.index("  dynamo:") + 1 :]
        if line.strip().startswith("- ")
    ]


def test_the_action_group_holds_every_module() -> None:
    modules = [path.stem for path in python_files(PLUGINS / "modules") if path.name != "__init__.py"]
    assert sorted(action_group()) == action_group()
    assert set(modules) == set(action_group())


def reason_codes() -> dict[str, Path]:
    """Return each reason code with the file that declares it, read from the source: ``Reason("code", ...)``."""
    found: dict[str, Path] = {}
    for path in python_files(CORE):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Reason":
                values = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "code")]
                for value in values:
                    assert isinstance(value, ast.Constant), f"{name_of(path)}: a reason code is a literal"
                    assert value.value not in found, f"{value.value} is declared twice"
                    found[str(value.value)] = path
    return found


def test_every_reason_code_has_a_test() -> None:
    tests = "\n".join(
        path.read_text(encoding="utf-8") for path in python_files(ROOT / "tests") if path != Path(__file__)
    )
    untested = [f"{code} ({name_of(path)})" for code, path in reason_codes().items() if f'"{code}"' not in tests]
    assert untested == []


@pytest.mark.parametrize("path", python_files(PLUGINS), ids=name_of)
def test_every_file_says_its_licence(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if text:
        assert "SPDX-License-Identifier: GPL-3.0-or-later" in "\n".join(text.splitlines()[:8])
