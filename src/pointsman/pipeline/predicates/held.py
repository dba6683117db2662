"""Whether what routes ask of messages holds, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pointsman.conditions import Condition, Predicate
from pointsman.pipeline.predicates.arrow import answered_column, answered_of_asked_column
from pointsman.pipeline.predicates.inputs import Pair
from pointsman.pipeline.predicates.native import value_column
from pointsman.pipeline.predicates.native_condition import condition_column
from pointsman.pipeline.predicates.way import count_leaves, way

if TYPE_CHECKING:
    from pyspark.sql import Column

    from pointsman.pipeline.columns import MessageColumns

MOST_NATIVE_LEAVES = 256
"""Comparisons and matchers that are made native together; beyond, everything goes to Python."""


def holds_column(condition: Condition | None, predicate: Predicate | None, columns: MessageColumns) -> Column:
    """Whether the condition holds and the predicate is TRUE, as ``Route.takes`` says: TRUE or FALSE, never NULL.

    ``way`` says whether it is a native expression or one that crosses to Python. Several of the latter cross one by
    one; ``held_column`` is for them.
    """
    from pyspark.sql import functions as sf

    if way(condition, predicate).name == "arrow":
        return sf.get(answered_column([(condition, predicate)], columns), sf.lit(0))
    return _native((condition, predicate), columns)


def held_column(pairs: Sequence[Pair], columns: MessageColumns) -> Column:
    """``holds_column`` of each of the pairs, in their order, as array<boolean>.

    What cannot be native crosses to Python in one go. More native expressions than Spark can plan in good time cross
    as well.
    """
    from pyspark.sql import functions as sf

    crossing = _crossing(pairs)
    if len(crossing) == len(pairs) > 0:
        return answered_column(pairs, columns)
    answers = answered_column([pairs[place] for place in crossing], columns) if crossing else sf.array()
    found = {place: sf.get(answers, sf.lit(answer)) for answer, place in enumerate(crossing)}
    parts = [found[place] if place in found else _native(pair, columns) for place, pair in enumerate(pairs)]
    return sf.array(*parts).cast("array<boolean>")


def holding_column(pairs: Sequence[Pair], columns: MessageColumns, asked: Column) -> Column:
    """Those of the numbers in ``asked``, an array, whose pairs hold, each once and in no certain order, as array<int>.

    The first pair has the number 1. For many pairs of which each message is asked few: of those that cross to Python,
    only what is asked is evaluated, and a row that is asked none of them crosses empty. Numbers that are NULL or of no
    pair are left out; NULL for ``asked`` is nothing.
    """
    from pyspark.sql import functions as sf

    known = sf.filter(asked, lambda number: number.between(1, len(pairs)))
    known = sf.array_distinct(sf.coalesce(known, sf.array()).cast("array<int>"))
    crossing = set(_crossing(pairs))
    if len(crossing) == len(pairs) > 0:
        return answered_of_asked_column(pairs, columns, known)
    native = [place for place in range(len(pairs)) if place not in crossing]
    # Without a function of Spark's for arrays that takes an expression: it would evaluate all of this for each number.
    natively = [sf.when(_native(pairs[place], columns), sf.lit(place + 1)) for place in native]
    holding = sf.array_intersect(known, sf.array(*natively).cast("array<int>"))
    if not crossing:
        return holding
    # All keep their numbers, and what is native asks for no column.
    others = [pair if place in crossing else (None, None) for place, pair in enumerate(pairs)]
    wanted = sf.array_except(known, sf.array(*(sf.lit(place + 1) for place in native)))
    return sf.concat(holding, answered_of_asked_column(others, columns, wanted))


def _crossing(pairs: Sequence[Pair]) -> list[int]:
    """The places of those that go to Python; of all, if the others are too many to be native."""
    crossing = [place for place, pair in enumerate(pairs) if way(*pair).name == "arrow"]
    native = set(range(len(pairs))).difference(crossing)
    if sum(count_leaves(*pairs[place]) for place in native) > MOST_NATIVE_LEAVES:
        return list(range(len(pairs)))
    return crossing


def _native(pair: Pair, columns: MessageColumns) -> Column:
    from pyspark.sql import functions as sf

    condition, predicate = pair
    holds = sf.lit(True) if condition is None else condition_column(condition, columns)
    if predicate is None:
        return holds
    return holds & sf.coalesce(value_column(predicate.tree, columns), sf.lit(False))
