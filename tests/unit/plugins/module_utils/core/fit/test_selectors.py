# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Selectors, taints and terms, matched as Kubernetes matches them."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.selectors import (
    Selector,
    any_term,
    integer,
    label_selector,
    named_nodes,
    node_terms,
    tolerates,
    untolerated,
    with_label_values,
)

H100 = {"gpu": "h100", "memory": "143771", "text": "143771MiB"}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (expression("gpu", "In", "h100", "h200"), True),
        (expression("gpu", "In", "a100"), False),
        (expression("none", "In", "x"), False),
        (expression("none", "NotIn", "x"), True),
        (expression("gpu", "NotIn", "h100"), False),
        (expression("gpu", "Exists"), True),
        (expression("none", "DoesNotExist"), True),
        (expression("memory", "Gt", "80000"), True),
        (expression("memory", "Lt", "80000"), False),
        (expression("text", "Gt", "80000"), False),
        (expression("memory", "Gt", "many"), False),
        (expression("memory", "Gt", "1", "2"), False),
        (expression("memory", "Near", "1"), False),
    ],
)
def test_expressions(found: dict[str, Any], expected: bool) -> None:
    terms = node_terms({"nodeSelectorTerms": [{"matchExpressions": [found]}]})
    assert terms is not None
    assert any_term(terms, H100, "n") is expected


def test_terms_are_alternatives_and_their_parts_are_not() -> None:
    h200 = {"matchExpressions": [expression("gpu", "In", "h200")]}
    both = {"matchExpressions": [expression("gpu", "In", "h100"), expression("memory", "Lt", "1")]}
    named = {"matchFields": [expression("metadata.name", "In", "n")]}
    for terms, expected in (([h200, both], False), ([h200, named], True), ([{}], False), ([], False)):
        compiled = node_terms({"nodeSelectorTerms": terms})
        assert compiled is not None
        assert any_term(compiled, H100, "n") is expected
    assert node_terms(None) is None


def test_fields_know_only_one_name() -> None:
    two = node_terms({"nodeSelectorTerms": [{"matchFields": [expression("metadata.name", "In", "a", "b")]}]})
    other = node_terms({"nodeSelectorTerms": [{"matchFields": [expression("metadata.uid", "In", "a")]}]})
    out = node_terms({"nodeSelectorTerms": [{"matchFields": [expression("metadata.name", "NotIn", "a")]}]})
    assert two is not None
    assert other is not None
    assert out is not None
    assert not any_term(two, {}, "a")
    assert not any_term(other, {}, "a")
    assert any_term(out, {}, "b")


def test_named_nodes_are_all_the_scheduler_looks_at() -> None:
    def named(*names: str) -> dict[str, Any]:
        return {"matchFields": [expression("metadata.name", "In", one) for one in names]}

    assert named_nodes(node_terms({"nodeSelectorTerms": [named("a"), named("b")]})) == frozenset({"a", "b"})
    assert named_nodes(node_terms({"nodeSelectorTerms": [named("a", "b")]})) == frozenset()
    assert named_nodes(node_terms({"nodeSelectorTerms": [named("a"), {"matchExpressions": []}]})) is None
    assert named_nodes(None) is None


def test_an_absent_selector_means_none_and_an_empty_one_all() -> None:
    assert not label_selector(None).matches({"a": "b"})
    assert label_selector({}).matches({})
    assert label_selector({}).empty
    assert not label_selector(None).empty
    wanted = label_selector({"matchLabels": {"a": "b"}, "matchExpressions": [expression("c", "Exists")]})
    assert wanted.matches({"a": "b", "c": ""})
    assert not wanted.matches({"a": "b"})
    assert wanted.keys == {"a", "c"}


def test_label_keys_add_the_pods_own_values_once() -> None:
    selector = label_selector({"matchLabels": {"a": "b"}})
    merged = with_label_values(selector, ["hash", "absent"], {"hash": "1"})
    assert merged.keys == {"a", "hash"}
    assert with_label_values(merged, ["hash"], {"hash": "1"}) == merged
    assert with_label_values(label_selector(None), ["hash"], {"hash": "1"}).nothing
    assert with_label_values(Selector(), ["hash"], {"hash": "1"}).keys == {"hash"}


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({"key": "team", "operator": "Equal", "value": "red", "effect": "NoSchedule"}, True),
        ({"key": "team", "value": "red"}, True),
        ({"key": "team", "value": "blue"}, False),
        ({"key": "team"}, False),
        ({"key": "team", "operator": "Exists"}, True),
        ({"key": "team", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "team", "operator": "Like"}, False),
    ],
)
def test_tolerations(toleration: dict[str, Any], expected: bool) -> None:
    assert tolerates([toleration], {"key": "team", "value": "red", "effect": "NoSchedule"}) is expected


@pytest.mark.parametrize(
    ("operator", "value", "taint", "expected"),
    [
        ("Gt", "5", "6", True),
        ("Gt", "6", "6", False),
        ("Lt", "5", "4", True),
        ("Lt", "-3", "-4", True),
        ("Gt", "05", "6", False),
        ("Gt", "5", "six", False),
        ("Gt", "5", "9" * 19, False),
    ],
)
def test_tolerations_compare_numbers(operator: str, value: str, taint: str, expected: bool) -> None:
    toleration = {"key": "sla", "operator": operator, "value": value}
    assert tolerates([toleration], {"key": "sla", "value": taint, "effect": "NoSchedule"}) is expected


def test_only_hard_taints_keep_a_pod_off() -> None:
    soft = {"key": "a", "effect": "PreferNoSchedule"}
    hard = {"key": "b", "effect": "NoExecute"}
    assert untolerated([soft], []) is None
    assert untolerated([soft, hard], []) == hard
    assert untolerated([hard], [{"key": "b", "operator": "Exists"}]) is None


@pytest.mark.parametrize(
    ("text", "expected"), [("7", 7), ("-7", -7), ("7a", None), ("", None), (None, None), ("9" * 19, None), (" 7", None)]
)
def test_integers_are_those_of_64_bits(text: str | None, expected: int | None) -> None:
    assert integer(text) == expected
