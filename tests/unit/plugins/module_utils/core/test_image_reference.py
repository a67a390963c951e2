# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Image names by the grammar of distribution/reference."""

from __future__ import annotations

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.image_reference import (
    Image,
    ImageNameError,
    parse_image,
)

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nginx", Image("docker.io", "library/nginx")),
        ("my-tag", Image("docker.io", "library/my-tag")),
        ("library/nginx:1", Image("docker.io", "library/nginx", "1")),
        ("org/x", Image("docker.io", "org/x")),
        ("docker.io/x", Image("docker.io", "library/x")),
        ("index.docker.io/org/x", Image("docker.io", "org/x")),
        ("localhost/x:1", Image("localhost", "x", "1")),
        ("reg:5000/a/b:v1", Image("reg:5000", "a/b", "v1")),
        ("Reg/x", Image("Reg", "x")),
        ("[::1]:5000/x", Image("[::1]:5000", "x")),
        (f"nvcr.io/a/b:1@{DIGEST}", Image("nvcr.io", "a/b", "1", DIGEST)),
        ("a__b/c.d-e_f", Image("docker.io", "a__b/c.d-e_f")),
    ],
)
def test_names_that_runtimes_accept(text: str, expected: Image) -> None:
    assert parse_image(text) == expected


def test_a_name_is_written_out_whole() -> None:
    assert str(parse_image(f"x:1@{DIGEST}")) == f"docker.io/library/x:1@{DIGEST}"
    assert parse_image("nvcr.io/a:1").name == "nvcr.io/a"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Acme/App", "repository name (App) must be lowercase"),
        ("acme/App", "repository name (acme/App) must be lowercase"),
        ("https://reg.example.com/x", "invalid reference format"),
        ("reg.example.com/x:", "invalid reference format"),
        ("<your-image>", "invalid reference format"),
        ("${IMAGE}", "repository name (library/${IMAGE}) must be lowercase"),
        ("/x", "invalid reference format"),
        ("", "invalid reference format"),
        ("x ", "invalid reference format"),
        ("user@nvcr.io/x:1", "invalid reference format"),
        ("a/b//c", "invalid reference format"),
        ("x:" + "t" * 129, "invalid reference format"),
        ("a" * 64, "64 hexadecimal"),
        ("x@sha256:" + "a" * 63, "invalid checksum digest"),
        ("x@sha256:" + "A" * 64, "invalid checksum digest"),
        ("x@md5:" + "a" * 32, "unsupported digest algorithm"),
        ("reg.example.com/" + "/".join(["a" * 100] * 3), "255 characters"),
    ],
)
def test_names_that_no_node_can_pull(text: str, reason: str) -> None:
    with pytest.raises(ImageNameError) as caught:
        parse_image(text)
    assert reason in str(caught.value)
