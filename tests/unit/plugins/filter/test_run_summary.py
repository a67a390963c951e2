# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The face of core/summary.py for plays."""

from __future__ import annotations

import pytest

pytest.importorskip("ansible.errors")

from ansible.errors import AnsibleFilterError
from ansible_collections.inference_ops.dynamo.plugins.filter.run_summary import FilterModule

run_summary = FilterModule().filters()["run_summary"]


@pytest.mark.parametrize("placements", [{"a-0": "n1"}, [{"pod": "a-0", "node": "n1"}]])
def test_both_forms_of_placements_are_understood(placements: object) -> None:
    assert run_summary([], "fits", placements) == {
        "lines": ["Verdict: fits", "Placement:", "  n1: 1 pod", "Checks: 0 passed, 0 did not."],
        "outcome": "pass",
        "findings": [],
    }


def test_bad_input_is_named() -> None:
    with pytest.raises(AnsibleFilterError, match="expected a list of findings"):
        run_summary("text", "fits")
