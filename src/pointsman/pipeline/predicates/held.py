"""Whether what routes ask of messages holds, as columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pointsman.conditions import Condition, Predicate
from pointsman.pipeline.predicates.arrow import answered_column
from pointsman.pipeline.predicates.inputs import Pair
from pointsman.pipeline.predicates.native import value_column
from pointsman.pipeline.predicates.native_condition import condition_column
from pointsman.pipeline.predicates.way import count_leaves, way

if TYPE_CHECKING:
    from pyspark.sql import Column

    from pointsman.pipeline.columns import MessageColumns

MOST_NATIVE_LEAVES = 512
"""Comparisons and matchers that ``held_column`` makes native in all; beyond, everything goes to Python."""


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

    What cannot be native crosses to Python in one go, and each row crosses once. More native expressions than Spark
    can plan in good time cross as well.
    """
    from pyspark.sql import functions as sf

    crosses = [way(*pair).name == "arrow" for pair in pairs]
    native_leaves = sum(count_leaves(*pair) for pair, crossing in zip(pairs, crosses, strict=True) if not crossing)
    if native_leaves > MOST_NATIVE_LEAVES:
        return answered_column(pairs, columns)
    crossing_pairs = [pair for pair, crossing in zip(pairs, crosses, strict=True) if crossing]
    if len(crossing_pairs) == len(pairs) > 0:
        return answered_column(pairs, columns)
    answers = answered_column(crossing_pairs, columns) if crossing_pairs else None
    parts = []
    place = 0
    for pair, crossing in zip(pairs, crosses, strict=True):
        if crossing and answers is not None:
            parts.append(sf.get(answers, sf.lit(place)))
            place += 1
        else:
            parts.append(_native(pair, columns))
    return sf.array(*parts).cast("array<boolean>")


def _native(pair: Pair, columns: MessageColumns) -> Column:
    from pyspark.sql import functions as sf

    condition, predicate = pair
    holds = sf.lit(True) if condition is None else condition_column(condition, columns)
    if predicate is None:
        return holds
    return holds & sf.coalesce(value_column(predicate.tree, columns), sf.lit(False))
