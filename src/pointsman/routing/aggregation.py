"""What is made of the answers to a scattered request.

    collect    the answers in a list, in the order of their arrival
    first      the answer that came first
    min, max   the answer with the smallest or largest number; of equal ones, the one that came first
    count      how many have answered
    callable   what it gives for a dict of target and answer, in the order of their arrival

An answer whose number is missing or is none (a text, a truth value, NaN) takes no part in ``min`` and ``max``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pointsman.routing.plain import is_finite_number

NAMES = ("collect", "first", "min", "max", "count")

Answers = tuple[tuple[str, object], ...]
Aggregation = str | Callable[[Mapping[str, object]], object]
"""One of the names above, or a callable."""
Extraction = Callable[[object], object]
"""Gives the number in an answer; None if there is none."""


class Aggregated(NamedTuple):
    """A result, and the target whose answer it is, if it is the answer of one."""

    result: object
    source: str | None = None


def whole_answer(value: object) -> object:
    """The answer itself, for answers that are numbers."""
    return value


def aggregate(aggregation: Aggregation, answers: Answers, extract: Extraction = whole_answer) -> Aggregated:
    """What the aggregation makes of the answers; None for first, min and max of nothing.

    >>> aggregate("min", (("one", {"price": 100}), ("two", {"price": 95})), lambda answer: answer["price"])
    Aggregated(result={'price': 95}, source='two')

    The name must be one of ``NAMES``. Raises what the callables raise.
    """
    if callable(aggregation):
        return Aggregated(aggregation(dict(answers)))
    if aggregation == "collect":
        return Aggregated([value for _, value in answers])
    if aggregation == "count":
        return Aggregated(len(answers))
    if aggregation == "first":
        return _one(answers[:1])
    numbered: list[tuple[Any, tuple[str, object]]] = [(extract(pair[1]), pair) for pair in answers]
    fit = [each for each in numbered if is_finite_number(each[0])]
    choose = {"min": min, "max": max}[aggregation]
    return _one((choose(fit, key=lambda each: each[0])[1],) if fit else ())


def _one(answers: Answers) -> Aggregated:
    return Aggregated(answers[0][1], answers[0][0]) if answers else Aggregated(None)
