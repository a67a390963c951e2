# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The small schema check, against the real library wherever that is installed."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.schema import check
from hypothesis import given
from hypothesis import strategies as st

HAS_LIBRARY = importlib.util.find_spec("jsonschema") is not None
THING: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 1, "pattern": "^[a-z]+$"},
        "count": {"type": ["integer", "null"], "minimum": 0},
        "flag": {"enum": [0, 1]},
        "kind": {"const": "x"},
        "list": {"type": "array", "items": {"type": "number"}, "uniqueItems": True},
        "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
    },
}


def test_what_holds_the_schema_passes() -> None:
    check({"name": "a", "count": None, "flag": 1, "kind": "x", "list": [1, 2.5], "map": {"b": True}}, THING, "f")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "f: must be a mapping"),
        ({}, "f: name: is missing"),
        ({"name": ""}, "f: name: must not be empty"),
        ({"name": "A"}, "f: name: must be text that matches"),
        ({"name": 1}, "f: name: must be text"),
        ({"name": "a", "count": -1}, "f: count: must be at least 0"),
        ({"name": "a", "count": True}, "f: count: must be a whole number or null"),
        ({"name": "a", "count": 1.5}, "f: count: must be a whole number or null"),
        ({"name": "a", "flag": 2}, "f: flag: must be one of 0, 1"),
        ({"name": "a", "flag": True}, "f: flag: must be one of 0, 1"),
        ({"name": "a", "kind": "y"}, "f: kind: must be x"),
        ({"name": "a", "list": [1, "b"]}, r"f: list\[1\]: must be a number"),
        ({"name": "a", "list": [1, 1]}, r"f: list\[1\]: stands in the list twice"),
        ({"name": "a", "map": {"b": 1}}, r"f: map\.b: must be true or false"),
        ({"name": "a", "other": 1}, "f: other: unknown field.*Known are name, count"),
    ],
)
def test_what_breaks_it_is_named(value: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check(value, THING, "f")


def test_a_schema_that_asks_for_more_than_is_known_is_refused() -> None:
    with pytest.raises(InputError, match="unknown keywords"):
        check(1, {"oneOf": []}, "f")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "A", "x"]) | st.just(1.5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "count", "flag", "kind", "list", "map"]), inner, max_size=4)
    ),
    max_leaves=8,
)


if HAS_LIBRARY:  # a machine that runs modules need not have it
    import jsonschema

    @given(_VALUES)
    def test_it_agrees_with_the_library(value: object) -> None:
        try:
            check(value, THING, "f")
            ours = True
        except InputError:
            ours = False
        # Python takes true for 1 where the library compares items; only such lists may be judged differently.
        if not (isinstance(value, dict) and isinstance(value.get("list"), list)):
            assert ours == jsonschema.Draft202012Validator(THING).is_valid(value)
