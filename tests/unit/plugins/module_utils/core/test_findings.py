# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings survive the way through a play."""

from __future__ import annotations

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.findings import Finding, by_severity, worst

WARNING = Finding("check", "warn", "code", "Kind/name", "message", ("line",), "remedy")


def test_a_finding_is_read_back() -> None:
    assert Finding.from_result(WARNING.to_result()) == WARNING


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("x", "a finding must be a mapping"),
        ({"outcome": "odd"}, "outcome: must be one of pass, warn, unknown, fail"),
        ({"outcome": "pass", "evidence": "line"}, "evidence: must be a list"),
    ],
)
def test_what_is_no_finding_is_told(data: object, text: str) -> None:
    with pytest.raises(InputError) as caught:
        Finding.from_result(data)
    assert text in str(caught.value)


def test_certain_failure_outranks_not_knowing() -> None:
    unknown = Finding("check", "unknown", "code", "s", "m")
    failure = Finding("check", "fail", "code", "s", "m")
    assert worst([WARNING, failure, unknown]) == "fail"
    assert by_severity([WARNING, unknown, failure]) == (failure, unknown, WARNING)
    assert worst([]) == "pass"
