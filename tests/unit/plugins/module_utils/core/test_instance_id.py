# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Instance ids: a value measured on the real runtime, and SipHash against values worked out elsewhere."""

from __future__ import annotations

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.instance_id import (
    siphash13,
    worker_instance_id,
)
from hypothesis import given
from hypothesis import strategies as st


def test_an_id_measured_on_the_real_runtime() -> None:
    assert worker_instance_id("agg-vllmdecodeworker-52db9486-545d6c44d9-rfxps") == 582010010309664


def test_every_length_up_to_two_words_gives_its_own_hash() -> None:
    hashes = [siphash13(bytes(range(length))) for length in range(17)]
    assert len(set(hashes)) == 17
    assert all(0 <= value < 2**64 for value in hashes)


@given(st.text(min_size=1).filter(lambda text: all(not 0xD800 <= ord(char) <= 0xDFFF for char in text)))
def test_ids_stay_exact_in_a_double(name: str) -> None:
    value = worker_instance_id(name)
    assert 0 <= value < 2**53
    assert int(float(value)) == value


@pytest.mark.parametrize("bad", ["", None, 7, "\ud800"])
def test_what_is_no_name_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match="worker_instance_id"):
        worker_instance_id(bad)  # type: ignore[arg-type]  # the wrong type is the point
