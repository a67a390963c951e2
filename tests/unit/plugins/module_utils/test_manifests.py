# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifests are read strictly, scalars mean what they mean to kubectl, and every refusal is one clear message."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from collections import UserDict
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="manifests are read with PyYAML")

from ansible_collections.inference_ops.dynamo.plugins.module_utils import manifests  # noqa: E402
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError  # noqa: E402
from ansible_collections.inference_ops.dynamo.plugins.module_utils.plain import to_plain  # noqa: E402


@pytest.fixture(params=["c", "python"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test with libyaml's parser and with PyYAML's own."""
    if request.param == "python":
        monkeypatch.setattr(manifests, "_loader", lambda: yaml.SafeLoader)
    return str(request.param)


def values(text: str) -> Any:
    return manifests.load_yaml(text, "m.yaml")


@pytest.mark.usefixtures("loader")
def test_scalars_mean_what_they_mean_to_kubectl() -> None:
    text = (
        "{date: 2024-01-01, time: 22:22, on: off, 8: 0x10, oct: 010, exp: 1e3, big: 18446744073709551615,"
        " huge: 99999999999999999999, str: !!str 5, tilde: ~, empty: , quoted: '5', under: 1_000, ver: 1.2.3}"
    )
    assert values(text) == [
        {
            "date": "2024-01-01",
            "time": "22:22",
            "true": False,
            "8": 16,
            "oct": 8,
            "exp": 1000.0,
            "big": 18446744073709551615,
            "huge": 1e20,
            "str": "5",
            "tilde": None,
            "empty": None,
            "quoted": "5",
            "under": 1000,
            "ver": "1.2.3",
        }
    ]


@pytest.mark.usefixtures("loader")
def test_merge_keys_and_aliases_are_resolved_to_copies() -> None:
    (loaded,) = values("base: &b {a: 1, b: [x]}\none: {<<: *b, a: 2}\ntwo: *b\nthree: {<<: [{a: 9}, *b]}")
    assert loaded["one"] == {"a": 2, "b": ["x"]}
    assert loaded["three"] == {"a": 9, "b": ["x"]}
    loaded["two"]["b"].append("y")
    assert loaded["base"]["b"] == ["x"]


BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{level}: &a{level} [{','.join(10 * [f'*a{level - 1}'])}]\n" for level in range(1, 12)
)


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: {c: 1,\n  c: 2}", "m.yaml: b.c: key given twice (found lines 2 and 3)."),
        ("1: a\n'1': b", "m.yaml: 1: key given twice (found lines 1 and 2)."),
        ("a: [1", "m.yaml: not YAML: "),
        ("a: b: c", "m.yaml: not YAML: "),
        ("a: \x01", "m.yaml: not YAML: "),
        (BOMB, "more than 200000 values, aliases counted as what they stand for in line "),
        ("a: &a [*a]", "m.yaml: a[0]: alias *a stands inside its own anchor in line 1."),
        ("a: *b", "m.yaml: a: alias *b has no anchor in line 1."),
        ("[" * 300, "nested deeper than 100 levels in line 1."),
        ("a: !vault x", "m.yaml: a: unknown tag !vault in line 1."),
        (
            "a: !!python/object/apply:os.system [ls]",
            "m.yaml: a: unknown tag !!python/object/apply:os.system in line 1.",
        ),
        ("a: !!int x", "m.yaml: a: the value does not fit its tag !!int in line 1 (found 'x')."),
        ("? [a]\n: b", "m.yaml: a key must be text in line 1 (found ['a'])."),
        ("~: b", "m.yaml: a key must be text in line 1 (found None)."),
        ("a: .inf", "m.yaml: a: not a finite number in line 1 (found '.inf')."),
        ("a: {<<: 5}", "m.yaml: a: << merges only mappings in line 1."),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        values(text)
    told = str(raised.value)
    assert told.startswith("m.yaml")
    assert "\n" not in told
    assert message in told


def test_many_values_are_refused_before_they_cost_memory() -> None:
    with pytest.raises(InputError, match="more than 200000 values"):
        values(BOMB)
    with pytest.raises(InputError, match="more than 200000 values"):
        values("[" + "x," * 200_001 + "]")


def test_json_is_read_as_json(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_text('{\n\t"apiVersion": "v1",\n\t"kind": "List", "items": [{"kind": "A"}, {"kind": "B"}]}')
    assert [document.kind for document in manifests.load_file(str(file))] == ["A", "B"]
    with pytest.raises(InputError, match=r"m: a: key given twice"):
        manifests.load_text('{"a": 1, "a": 2}', "m")
    with pytest.raises(InputError, match="nested deeper"):
        manifests.load_text('{"a":' * 200 + "1" + "}" * 200, "m")
    with pytest.raises(InputError, match="nested deeper"):
        manifests.load_text("[" * 200_000, "m")
    with pytest.raises(InputError, match="not valid Unicode"):
        manifests.load_text('{"a": "\\ud800"}', "m")
    assert manifests.load_text("{a: 1}", "m")[0].data == {"a": 1}


def test_documents_know_their_place() -> None:
    documents = manifests.load_text("kind: A\n---\n---\nkind: B\nmetadata: {name: b, namespace: ns}\n", "m.yaml")
    assert [(document.index, document.of) for document in documents] == [(1, 2), (2, 2)]
    assert documents[1].place == "m.yaml (document 2)"
    assert documents[1].to_result() == {"apiVersion": "", "kind": "B", "name": "b", "namespace": "ns"}
    with pytest.raises(InputError, match=r"m.yaml \(document 2\): not a Kubernetes object"):
        manifests.load_text("kind: A\n--- text\n", "m.yaml")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / "missing.yaml"
    with pytest.raises(InputError, match=f"{missing}: no such file"):
        manifests.load_file(str(missing))
    with pytest.raises(InputError, match=r"not a regular file|a folder"):
        manifests.load_file(str(tmp_path))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="not a regular file"):
        manifests.load_file(str(pipe))
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("a: é".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8 text at byte 3"):
        manifests.load_file(str(latin))
    large = tmp_path / "large.yaml"
    with large.open("wb") as file:
        file.truncate(manifests.MAX_BYTES + 1)
    with pytest.raises(InputError, match="larger than"):
        manifests.load_file(str(large))
    with pytest.raises(InputError, match="cannot be read"):
        manifests.load_file("a\0b")
    bom = tmp_path / "bom.yaml"
    bom.write_bytes(b"\xef\xbb\xbfkind: A\n")
    assert manifests.load_file(str(bom))[0].kind == "A"
    assert manifests.sha256_of_file(str(bom)) == hashlib.sha256(b"\xef\xbb\xbfkind: A\n").hexdigest()


class TaggedText(str):
    """Stands for ansible-core's tagged text."""


class TaggedInt(int):
    """Stands for ansible-core's tagged number."""


def test_to_plain_gives_exact_types() -> None:
    plain = to_plain(
        UserDict({TaggedText("a"): (TaggedText("b"), TaggedInt(3), 1.5, None, True), 4: datetime.date(2024, 1, 2)})
    )
    assert plain == {"a": ["b", 3, 1.5, None, True], "4": "2024-01-02"}
    assert plain.__class__ is dict
    assert [type(item) for item in plain["a"][:2]] == [str, int]
    assert {type(key) for key in plain} == {str}
    assert json.loads(json.dumps(plain)) == plain
    assert yaml.safe_load(yaml.safe_dump(plain)) == plain


def test_to_plain_refuses_what_has_no_plain_form() -> None:
    with pytest.raises(InputError, match=r"pods: a value of a kind that has no plain form \(found 'object'\)"):
        to_plain([object()], "pods")
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(InputError, match="nested deeper than"):
        to_plain(endless)


def test_settings_in_a_config_map_count_by_their_meaning() -> None:
    text = (
        "kind: ConfigMap\nmetadata: {name: c}\ndata:\n  a.yaml: |\n    # why\n    b: 0x10\n    a: [1]\n"
        "  b.sh: 'x: y: z'\n  c: plain\n  d: '[a: 1]'\n  e: 7\n---\nkind: Job\nmetadata: {name: j}\n"
    )
    assert manifests.config_maps(manifests.load_text(text, "m.yaml")) == {
        "c": {"a.yaml": '{"b": 16, "a": [1]}', "b.sh": "x: y: z", "c": "plain", "d": "[a: 1]", "e": "7"}
    }
