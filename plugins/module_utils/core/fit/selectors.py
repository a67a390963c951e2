# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Label selectors, node selectors, taints and tolerations, matched as Kubernetes matches them.

Source: apimachinery ``labels``, component-helpers ``scheduling/corev1`` (1.36). A selector that cannot be parsed
matches nothing, as in the scheduler.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..demand import K8sObject

Labels = Mapping[str, str]
NO_LABELS: Labels = MappingProxyType({})
#: The taint that a cordoned node has or will have.
UNSCHEDULABLE_TAINT: Mapping[str, str] = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
#: Effects that keep a pod off a node; ``PreferNoSchedule`` only counts in scoring.
HARD_EFFECTS = ("NoSchedule", "NoExecute")

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,18}")
_INT64 = 2**63


def integer(text: object) -> int | None:
    """Return ``text`` as Go's ``strconv.ParseInt`` reads it (64 bits), or None."""
    if not isinstance(text, str) or not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if -_INT64 <= value < _INT64 else None


@dataclass(frozen=True)
class Requirement:
    """One expression over a label set; ``In`` with one value stands for ``matchLabels``."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Labels) -> bool:
        """Return whether ``labels`` meet the expression; an unknown operator is met by none."""
        value = labels.get(self.key)
        if self.operator == "In":
            return value is not None and value in self.values
        if self.operator == "NotIn":
            return value is None or value not in self.values
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        if self.operator in ("Gt", "Lt") and len(self.values) == 1:
            have, bound = integer(value), integer(next(iter(self.values)))
            if have is None or bound is None:
                return False
            return have > bound if self.operator == "Gt" else have < bound
        return False


@dataclass(frozen=True)
class Selector:
    """A label selector. ``nothing`` is the absent one: it matches no object; one without requirements matches all."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def empty(self) -> bool:
        """Whether it is ``{}``."""
        return not self.nothing and not self.requirements

    @property
    def keys(self) -> frozenset[str]:
        """The label keys it looks at."""
        return frozenset(requirement.key for requirement in self.requirements)

    def matches(self, labels: Labels) -> bool:
        """Return whether ``labels`` meet every requirement."""
        if self.nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)


NOTHING = Selector(nothing=True)
EVERYTHING = Selector()


def _requirements(expressions: object) -> list[Requirement]:
    return [
        Requirement(str(entry.get("key")), str(entry.get("operator")), frozenset(map(str, entry.get("values") or ())))
        for entry in expressions or ()  # type: ignore[attr-defined]  # the API server has checked the shape
        if isinstance(entry, Mapping)
    ]


def label_selector(source: object) -> Selector:
    """Compile a LabelSelector; the absent one matches nothing."""
    if not isinstance(source, Mapping):
        return NOTHING
    found = [
        Requirement(str(key), "In", frozenset((str(value),)))
        for key, value in sorted((source.get("matchLabels") or {}).items())
    ]
    return Selector(tuple(found + _requirements(source.get("matchExpressions"))))


def with_label_values(selector: Selector, keys: Iterable[str], labels: Labels) -> Selector:
    """Add ``key = the pod's own value`` for each of ``keys`` the pod has (``matchLabelKeys``)."""
    if selector.nothing:
        return selector
    added = tuple(Requirement(key, "In", frozenset((labels[key],))) for key in keys if key in labels)
    return Selector(selector.requirements + tuple(one for one in added if one not in selector.requirements))


@dataclass(frozen=True)
class NodeTerm:
    """One term of a node selector: its expressions and fields must all hold; a term without any matches nothing."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]

    def matches(self, labels: Labels, name: str) -> bool:
        """Return whether the node named ``name`` with ``labels`` meets the term."""
        if not self.labels and not self.fields:
            return False
        if not all(requirement.matches(labels) for requirement in self.labels):
            return False
        return all(
            requirement.key == "metadata.name"
            and requirement.operator in ("In", "NotIn")
            and len(requirement.values) == 1
            and requirement.matches({"metadata.name": name})
            for requirement in self.fields
        )


def node_term(source: Mapping[str, Any]) -> NodeTerm:
    """Compile one NodeSelectorTerm."""
    return NodeTerm(
        tuple(_requirements(source.get("matchExpressions"))), tuple(_requirements(source.get("matchFields")))
    )


def node_terms(source: object) -> tuple[NodeTerm, ...] | None:
    """Compile a NodeSelector's terms (any of them must hold); None where there is no node selector."""
    if not isinstance(source, Mapping):
        return None
    return tuple(node_term(term) for term in source.get("nodeSelectorTerms") or ())


def any_term(terms: tuple[NodeTerm, ...], labels: Labels, name: str) -> bool:
    """Return whether the node meets one of ``terms``."""
    return any(term.matches(labels, name) for term in terms)


def named_nodes(terms: tuple[NodeTerm, ...] | None) -> frozenset[str] | None:
    """Return the only nodes the terms name by ``matchFields`` with ``In``, or None where some term names none."""
    if not terms:
        return None
    names: set[str] = set()
    for term in terms:
        found: frozenset[str] | None = None
        for requirement in term.fields:
            if requirement.key == "metadata.name" and requirement.operator == "In":
                found = requirement.values if found is None else found & requirement.values
        if found is None:
            return None
        names |= found
    return frozenset(names)


def tolerates(tolerations: Iterable[K8sObject], taint: K8sObject) -> bool:
    """Return whether one of ``tolerations`` covers ``taint``, comparison operators included."""
    return any(_covers(toleration, taint) for toleration in tolerations)


def _covers(toleration: K8sObject, taint: K8sObject) -> bool:
    if toleration.get("effect") and toleration.get("effect") != taint.get("effect"):
        return False
    if toleration.get("key") and toleration.get("key") != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    wanted, value = toleration.get("value") or "", taint.get("value") or ""
    if operator == "Equal":
        return bool(wanted == value)
    if operator in ("Gt", "Lt"):
        # Alpha from 1.35: the API server refuses such a toleration where the feature is off.
        if not _DECIMAL.fullmatch(str(wanted)) or not _DECIMAL.fullmatch(str(value)):
            return False
        bound, have = integer(wanted), integer(value)
        if bound is None or have is None:
            return False
        return have > bound if operator == "Gt" else have < bound
    return operator == "Exists"


def untolerated(taints: Iterable[K8sObject], tolerations: Iterable[K8sObject]) -> K8sObject | None:
    """Return the first taint that keeps the pod off the node, or None."""
    for taint in taints:
        if taint.get("effect") in HARD_EFFECTS and not tolerates(tolerations, taint):
            return taint
    return None
