# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.quantity import canonical, parse_quantity


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("0.5", "500m"),
        ("1.5Gi", "1536Mi"),
        ("0", "0"),
        ("0Gi", "0"),
        ("100", "100"),
        ("1500", "1500"),
        ("2000", "2k"),
        ("1e3", "1e3"),
        ("1E", "1E"),
        ("512", "512"),
        ("-1", "-1"),
        (8, "8"),
        (0.5, "500m"),
        ("1Ki", "1Ki"),
        ("0.5Mi", "512Ki"),
        (".5", "500m"),
        ("5.", "5"),
    ],
)
def test_canonical_is_the_api_servers_spelling(text: object, expected: str) -> None:
    assert canonical(text) == expected


@pytest.mark.parametrize("text", ["", "two", "1 Gi", "1gi", "0x10", "--1", "1e999999999", True, None, [], "9" * 65])
def test_what_is_no_quantity_is_refused(text: object) -> None:
    with pytest.raises(InputError):
        parse_quantity(text, where="deploy.yaml", field="limits.cpu")


def test_rounding_is_up_as_in_the_scheduler() -> None:
    assert parse_quantity("1.0001").milli == 1001
    assert parse_quantity("1500m").units == 2
    assert parse_quantity("1n").milli == 1
    assert parse_quantity("1Gi").units == 1024**3
