# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes resource quantities, exact, and in Kubernetes' canonical spelling.

Source: apimachinery ``pkg/api/resource/quantity.go`` (grammar, ``CanonicalizeBytes``): ``1000m`` is written ``1``,
``1024Mi`` is ``1Gi``, ``0.5`` is ``500m``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from .errors import InputError, shown

Format = Literal["decimal", "binary", "exponent"]

_GRAMMAR = re.compile(
    r"(?P<sign>[+-]?)(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?"
)
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_BY_EXPONENT = {exponent: suffix for suffix, exponent in _DECIMAL.items()}

#: Longer texts are refused before any arithmetic: 2^63 has 19 digits, a nano fraction 9 more.
MAX_LENGTH = 64
_MAX_EXPONENT = 40
_NANO = Fraction(1, 10**9)
_CAP = Fraction(2**63 - 1)


@dataclass(frozen=True)
class Quantity:
    """An amount: its exact value in base units (cores, bytes, devices) and the family of suffixes it was written in."""

    value: Fraction
    format: Format = "decimal"

    @property
    def milli(self) -> int:
        """The value in thousandths, rounded up as the scheduler does for CPU."""
        return -((-self.value * 1000) // 1)

    @property
    def units(self) -> int:
        """The value in whole units, rounded up as ``Quantity.Value()`` does."""
        return -((-self.value) // 1)

    def __str__(self) -> str:
        return _canonical(self)


def parse_quantity(text: object, *, where: str = "", field: str = "") -> Quantity:
    """Parse ``text`` (a string, or a number as YAML gives it); raise :class:`InputError` where it is no quantity."""
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise InputError("not a resource quantity", where=where, field=field, found=shown(text))
    quantity = _read(str(text))
    if quantity is None:
        raise InputError(
            "not a resource quantity",
            where=where,
            field=field,
            found=shown(text),
            remedy="Write it as Kubernetes does, such as 500m, 4, 16Gi or 1e3",
        )
    return quantity


@lru_cache(maxsize=4096)
def _read(source: str) -> Quantity | None:
    match = _GRAMMAR.fullmatch(source) if len(source) <= MAX_LENGTH else None
    if match is None:
        return None
    number = Fraction(match["number"] if not match["number"].endswith(".") else match["number"] + "0")
    suffix = match["suffix"] or ""
    form: Format = "decimal"
    if suffix in _BINARY:
        number *= 1024 ** _BINARY[suffix]
        form = "binary"
    elif suffix in _DECIMAL:
        number *= Fraction(10) ** _DECIMAL[suffix]
    else:
        exponent = int(suffix[1:])
        if abs(exponent) > _MAX_EXPONENT:
            return None
        number *= Fraction(10) ** exponent
        form = "exponent"
    # Amounts are kept to a nano, rounded up, and capped at what an int64 holds, as the API server does.
    number = min(-((-number / _NANO) // 1) * _NANO, _CAP)
    return Quantity(-number if match["sign"] == "-" else number, form)


@lru_cache(maxsize=4096)
def _canonical(quantity: Quantity) -> str:
    value = abs(quantity.value)
    sign = "-" if quantity.value < 0 else ""
    if value == 0:
        return "0"
    if quantity.format == "binary" and value >= 1024 and value.denominator == 1:
        number, power = value.numerator, 0
        while number % 1024 == 0 and power < 6:
            number //= 1024
            power += 1
        return f"{sign}{number}{('', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei')[power]}"
    exponent = -9
    scaled = value / Fraction(10) ** -9
    mantissa = scaled.numerator
    while mantissa % 1000 == 0 and exponent < 18:
        mantissa //= 1000
        exponent += 3
    if quantity.format == "exponent":
        return f"{sign}{mantissa}" + (f"e{exponent}" if exponent else "")
    return f"{sign}{mantissa}{_DECIMAL_BY_EXPONENT[exponent]}"


def canonical(text: object) -> str:
    """Return ``text`` in the spelling in which the API server gives it back."""
    return str(parse_quantity(text))
