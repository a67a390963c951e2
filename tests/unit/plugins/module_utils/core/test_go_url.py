# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""URLs as Go reads them; the answers are those of Go's net/url and net.SplitHostPort."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import go_url
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.go_url import (
    Url,
    UrlError,
    parse_url,
    registry_host,
    split_host_port,
)
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://nvcr.io/v2/", Url("nvcr.io", "/v2/")),
        ("https://user:pw@nvcr.io/x", Url("nvcr.io", "/x")),
        ("https://a@b@nvcr.io", Url("nvcr.io")),
        ("https://nvcr.io/a%20b?q=1#f", Url("nvcr.io", "/a b")),
        ("https://[::1]:5000/x", Url("[::1]:5000", "/x")),
        ("https://[fe80::1%25en0]/x", Url("[fe80::1%en0]", "/x")),
        ("https://b%C3%BCcher.example", Url("bücher.example")),
        ("https://*.example.com", Url("*.example.com")),
        ("nvcr.io/x", Url("", "nvcr.io/x")),
        ("//nvcr.io/x", Url("nvcr.io", "/x")),
        ("///x", Url("", "///x")),
        ("mailto:someone", Url("")),
        ("dummy://host:", Url("host:")),
        ("1a/b", Url("", "1a/b")),
    ],
)
def test_what_go_accepts(text: str, expected: Url) -> None:
    assert parse_url(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("http://[::1", "missing ']' in host"),
        ("http://[::1]x", 'invalid port "x" after host'),
        ("dummy://nv cr.io", 'invalid character " " in host name'),
        ("dummy://nginx:latest", 'invalid port ":latest" after host'),
        ("dummy://${IMAGE}", 'invalid character "{" in host name'),
        ("dummy://a%41b", 'invalid URL escape "%41"'),
        ("dummy://a%zz", 'invalid URL escape "%zz"'),
        ("dummy://a/b%2", 'invalid URL escape "%2"'),
        ("dummy://a#%zz", 'invalid URL escape "%zz"'),
        ("dummy://us er@host", "net/url: invalid userinfo"),
        ("dummy://a\nb", "net/url: invalid control character in URL"),
        (":x", "missing protocol scheme"),
        ("1.2.3.4:80/x", "first path segment in URL cannot contain colon"),
    ],
)
def test_what_go_refuses(text: str, reason: str) -> None:
    with pytest.raises(UrlError) as caught:
        parse_url(text)
    assert str(caught.value) == reason


@given(st.from_regex(r"[a-z]{0,4}(://)?[a-z0-9.:@\\[\\]%-]{0,12}/?[a-z0-9._/%-]{0,8}", fullmatch=True))
def test_the_short_way_gives_the_same_answer(text: str) -> None:
    def answer(parse: Callable[[str], Url]) -> Url | str:
        try:
            return parse(text)
        except UrlError as error:
            return str(error)

    assert answer(parse_url) == answer(go_url._parse_any)


def test_a_refusal_never_quotes_the_whole() -> None:
    with pytest.raises(UrlError) as caught:
        parse_url("dummy://us er:planted@host")
    assert "planted" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("nvcr.io/a/b:1", "nvcr.io"),
        ("myreg:5000/x", "myreg:5000"),
        ("nginx", "nginx"),
        ("library/nginx:1", "library"),
        ("https://index.docker.io/v1/", "index.docker.io"),
        ("NVCR.IO", "NVCR.IO"),
    ],
)
def test_the_operators_host(name: str, host: str) -> None:
    assert registry_host(name) == host


def test_the_operator_needs_a_host() -> None:
    with pytest.raises(UrlError, match="no host found in URL"):
        registry_host("/nvcr.io/x:1")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("a:1", ("a", "1")),
        ("a", ("a", "")),
        ("a:", ("a", "")),
        ("[::1]:5", ("::1", "5")),
        ("[::1]", ("[::1]", "")),
        ("::1", ("::1", "")),
        ("[::1]x:5", ("[::1]x:5", "")),
        ("[::1:5", ("[::1:5", "")),
        ("a[b:5", ("a[b:5", "")),
    ],
)
def test_ports_split_off(host: str, expected: tuple[str, str]) -> None:
    assert split_host_port(host) == expected
