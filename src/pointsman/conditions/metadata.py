"""Conditions on the metadata of a message, as a tree.

    Condition ─┬─ Matcher, NumberComparison          a value under a key, or under any key
               ├─ Subscription                       includes and excludes groups of matchers
               └─ AllOf, AnyOf, ExactlyOneOf, Negated   and, or, xor, not

A condition holds or it does not: there is no NULL here, and a key that is missing fulfils no matcher and no comparison.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pointsman.conditions.compiler import OPERATORS, number_of
from pointsman.conditions.nodes import Operator
from pointsman.errors import InputError
from pointsman.matching.terms.reference import Matcher, Subscription


@dataclass(frozen=True, slots=True)
class NumberComparison:
    """The number under a key, or under any key (``None``), against a number.

    A value is a number if it is exactly one as JSON writes it; numbers are 64-bit floats, as in predicates. Raises
    ``InputError`` (``bad-condition``) for an unknown operator or a number that is not finite.

    >>> NumberComparison("size", ">", 5).holds({"size": "10"}), NumberComparison("size", ">", 5).holds({"size": "big"})
    (True, False)
    """

    key: str | None
    operator: Operator
    number: float

    def __post_init__(self) -> None:
        if self.operator not in OPERATORS:
            raise InputError("bad-condition", f"{self.operator!r} is no operator; there are {', '.join(OPERATORS)}")
        try:
            object.__setattr__(self, "number", float(self.number))
        except OverflowError:
            object.__setattr__(self, "number", math.inf)
        if not math.isfinite(self.number):
            raise InputError("bad-condition", "the number is not one that a 64-bit float can hold")

    def holds(self, metadata: Mapping[str, str]) -> bool:
        """Whether some value under the key is such a number."""
        values = metadata.values() if self.key is None else [metadata[self.key]] if self.key in metadata else []
        numbers = [number for value in values if (number := number_of(value)) is not None]
        return any(OPERATORS[self.operator](number, self.number) for number in numbers)


@dataclass(frozen=True, slots=True)
class AllOf:
    """Holds when every one of the conditions does. Raises ``InputError`` (``bad-condition``) when there is none."""

    conditions: tuple[Condition, ...]

    def __post_init__(self) -> None:
        _check_count("and", self.conditions, 1)

    def holds(self, metadata: Mapping[str, str]) -> bool:
        """Whether every one holds."""
        return all(condition.holds(metadata) for condition in self.conditions)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Holds when at least one of the conditions does. Raises ``InputError`` (``bad-condition``) when there is none."""

    conditions: tuple[Condition, ...]

    def __post_init__(self) -> None:
        _check_count("or", self.conditions, 1)

    def holds(self, metadata: Mapping[str, str]) -> bool:
        """Whether at least one holds."""
        return any(condition.holds(metadata) for condition in self.conditions)


@dataclass(frozen=True, slots=True)
class ExactlyOneOf:
    """Holds when one of the conditions does and no other. Raises ``InputError`` (``bad-condition``) for less than two.

    For two conditions this is the usual exclusive or; for more it is not the parity of those that hold.
    """

    conditions: tuple[Condition, ...]

    def __post_init__(self) -> None:
        _check_count("xor", self.conditions, 2)

    def holds(self, metadata: Mapping[str, str]) -> bool:
        """Whether exactly one holds."""
        holding = 0
        for condition in self.conditions:
            holding += condition.holds(metadata)
            if holding > 1:
                return False
        return holding == 1


@dataclass(frozen=True, slots=True)
class Negated:
    """Holds when the condition does not; so it does when the key is missing that the condition asks for."""

    condition: Condition

    def holds(self, metadata: Mapping[str, str]) -> bool:
        """Whether the condition does not hold."""
        return not self.condition.holds(metadata)


Condition = Matcher | NumberComparison | Subscription | AllOf | AnyOf | ExactlyOneOf | Negated


def _check_count(name: str, conditions: tuple[Condition, ...], least: int) -> None:
    if len(conditions) < least:
        raise InputError("bad-condition", f"{name} takes {least} or more conditions, not {len(conditions)}")
