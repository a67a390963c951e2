# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What leaves a Secret: names, types, registries and problems, and nothing else."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.docker_secrets import (
    PROBLEMS,
    Problem,
    SecretEntry,
    collect_secret,
    go_base64,
    public_key,
)
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from hypothesis import given
from hypothesis import strategies as st

PLANTED = "plantedPASSWORD"
AUTH = base64.b64encode(f"plantedUSER:{PLANTED}".encode()).decode()


def secret(config: object, kind: str = "kubernetes.io/dockerconfigjson") -> dict[str, Any]:
    text = config if isinstance(config, str) else json.dumps(config)
    key = ".dockercfg" if kind.endswith("dockercfg") else ".dockerconfigjson"
    data = {key: base64.b64encode(text.encode()).decode()}
    return {"metadata": {"name": "s", "namespace": "ml"}, "type": kind, "data": data}


def codes(config: object, kind: str = "kubernetes.io/dockerconfigjson") -> list[str]:
    return [problem.code for problem in collect_secret(secret(config, kind)).problems]


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ("", "no_data"),
        ("{not json", "not_json"),
        ('{"auths": {"a": NaN}}', "not_json"),
        ("[" * 200_000, "not_json"),
        ("[]", "not_an_object"),
        ('"text"', "not_an_object"),
        ({"auths": []}, "auths_not_an_object"),
        ({"HttpHeaders": {"a": 1}, "auths": {"nvcr.io": {"auth": AUTH}}}, "headers_not_strings"),
        ({"auths": {"nv cr.io": {"auth": AUTH}}}, "bad_registry"),
        ({"auths": {"": {"auth": AUTH}}}, "bad_registry"),
        ({"auths": {"nvcr.io": "text"}}, "entry_not_an_object"),
        ({"auths": {"nvcr.io": {"username": 1}}}, "field_not_a_string"),
        ({"auths": {"nvcr.io": {"auth": "%%%"}}}, "auth_not_base64"),
        ({"auths": {"nvcr.io": {"auth": "bm9jb2xvbg=="}}}, "auth_without_colon"),
        ({"auths": {}}, "no_registries"),
        ({"auths": None}, "no_registries"),
        ("null", "no_registries"),
        ({"auths": {"nvcr.io": {}}}, "no_credentials"),
        ({"auths": {"nvcr.io": None}}, "no_credentials"),
        ({"auths": {"ftp://u:p@nvcr.io": {"auth": AUTH}}}, "registry_not_shown"),
    ],
)
def test_each_malformation_has_its_own_problem(config: object, code: str) -> None:
    assert codes(config) == [code]
    assert code in PROBLEMS


def test_a_sound_secret_has_none() -> None:
    entry = collect_secret(
        secret({"auths": {"nvcr.io": {"auth": AUTH}, "ghcr.io": {"username": "u", "password": "p"}}})
    )
    assert entry == SecretEntry("s", "ml", "kubernetes.io/dockerconfigjson", ("nvcr.io", "ghcr.io"))


def test_go_reads_field_names_in_any_case_and_merges_maps() -> None:
    entry = collect_secret(secret('{"AUTHS": {"a.io": {"Auth": "YTpi"}}, "auths": {"b.io": {"AUTH": "YTpi"}}}'))
    assert entry.registries == ("a.io", "b.io")
    assert entry.problems == ()


def test_legacy_secrets_and_other_types() -> None:
    assert collect_secret(secret({"nvcr.io": {"auth": AUTH}}, "kubernetes.io/dockercfg")).registries == ("nvcr.io",)
    opaque = collect_secret({**secret({"auths": {"nvcr.io": {}}}), "type": "Opaque"}, with_keys=True)
    assert (opaque.registries, opaque.keys) == ((), (".dockerconfigjson",))
    assert collect_secret({"metadata": {"name": "s"}, "type": "kubernetes.io/dockerconfigjson"}).problems == (
        Problem("no_data"),
    )


def test_nothing_of_the_credentials_leaves() -> None:
    config = {
        "auths": {
            f"https://plantedUSER:{PLANTED}@nvcr.io/v2/?token={PLANTED}#{PLANTED}": {
                "auth": AUTH,
                "username": "plantedUSER",
                "password": PLANTED,
                "email": "planted@example.com",
                "identitytoken": PLANTED,
            },
            f"bad host:{PLANTED}@x": {"auth": PLANTED},
        },
        "credsStore": PLANTED,
    }
    entry = collect_secret(secret(config), with_keys=True)
    told = json.dumps(entry.to_snapshot()) + repr(entry) + "".join(map(str, entry.problems))
    assert "planted" not in told
    assert AUTH not in told
    assert entry.registries == ("https://nvcr.io/v2/",)
    assert SecretEntry.from_snapshot(entry.to_snapshot()) == entry


@pytest.mark.parametrize(
    ("key", "public"),
    [
        ("nvcr.io", "nvcr.io"),
        ("https://u:p@nvcr.io/x", "https://nvcr.io/x"),
        ("u:p@nvcr.io:5000", "nvcr.io:5000"),
        ("https://nvcr.io?x=1", "https://nvcr.io"),
        ("nvcr.io/a@b", "nvcr.io/a@b"),
        ("nvcr.io/u:p@b", None),
        ("https://x@nvcr.io/a@b", "https://nvcr.io/a@b"),
        ("ftp://u:p@nvcr.io", None),
        ("//u:p@nvcr.io", None),
        ("u p@host", None),
        ("u p@host name", "host name"),
    ],
)
def test_registry_keys_lose_what_neither_program_reads(key: str, public: str | None) -> None:
    assert public_key(key) == public


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("YTpi", b"a:b"),
        ("YTpiYw==", b"a:bc"),
        ("YTpiYw", b"a:bc"),
        ("YTpi\n", b"a:b"),
        ("YTpiY", None),
        ("YT pi", None),
    ],
)
def test_base64_as_the_kubelet_reads_it(text: str, decoded: bytes | None) -> None:
    assert go_base64(text) == decoded


@given(st.binary(max_size=300))
def test_any_data_gives_an_entry(data: bytes) -> None:
    item = {
        "metadata": {"name": "s"},
        "type": "kubernetes.io/dockerconfigjson",
        "data": {".dockerconfigjson": base64.b64encode(data).decode()},
    }
    entry = collect_secret(item)
    assert entry.problems or entry.registries


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["auths", "a.io", "auth", "x@y"]), inner)
    ),
    max_leaves=8,
)


@given(json_values)
def test_any_json_gives_an_entry(value: Any) -> None:
    entry = collect_secret(secret(json.dumps(value)))
    assert SecretEntry.from_snapshot(entry.to_snapshot()) == entry


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("x", "must be a mapping with a name"),
        ({"name": ""}, "must be a mapping with a name"),
        ({"name": "s", "data": {"a": PLANTED}}, "s.data: only name, namespace"),
        ({"name": "s", "registries": "nvcr.io"}, "s.registries: must be a list"),
        ({"name": "s", "problems": ["odd"]}, "unknown problem"),
    ],
)
def test_an_entry_that_cannot_be_read_is_told_without_its_content(data: object, text: str) -> None:
    with pytest.raises(InputError) as caught:
        SecretEntry.from_snapshot(data)
    assert text in str(caught.value)
    assert PLANTED not in str(caught.value)


def test_a_problem_may_be_written_as_its_code() -> None:
    assert SecretEntry.from_snapshot({"name": "s", "problems": ["not_json"]}).problems == (Problem("not_json"),)
