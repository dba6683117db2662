"""A condition on the metadata as a native expression of Spark."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from pointsman.conditions import (
    AllOf,
    AnyOf,
    Condition,
    ExactlyOneOf,
    Group,
    Matcher,
    Negated,
    NumberComparison,
    Subscription,
)
from pointsman.pipeline.predicates.fields import metadata_column, text_column
from pointsman.pipeline.predicates.fits import fits_column, glob_signs
from pointsman.pipeline.predicates.native import combined, compared, number_column

if TYPE_CHECKING:
    from pyspark.sql import Column

    from pointsman.pipeline.columns import MessageColumns


def condition_column(condition: Condition, columns: MessageColumns) -> Column:
    """Whether the condition holds: TRUE or FALSE. There is no partial matcher in it."""
    from pyspark.sql import functions as sf

    match condition:
        case Matcher(key, pattern):
            signs = glob_signs(pattern)
            return _some(key, lambda text: fits_column(text, signs), columns)
        case NumberComparison(key, sign, number):
            return _some(key, lambda text: compared(sign, number_column(text), sf.lit(number)), columns)
        case Subscription(includes, excludes):
            return _group(includes, columns) & ~_group(excludes, columns)
        case AllOf(parts):
            return combined(operator.and_, [condition_column(part, columns) for part in parts])
        case AnyOf(parts):
            return combined(operator.or_, [condition_column(part, columns) for part in parts])
        case ExactlyOneOf(parts):
            return combined(operator.add, [condition_column(part, columns).cast("int") for part in parts]) == 1
        case Negated(part):
            return ~condition_column(part, columns)


def _some(key: str | None, test: Callable[[Column], Column], columns: MessageColumns) -> Column:
    """Whether a value under the key, or under any key, passes the test."""
    from pyspark.sql import functions as sf

    no = sf.lit(False)
    if key is not None:
        return sf.coalesce(test(metadata_column(key, columns)), no)
    values = sf.map_values(columns.metadata)
    return sf.coalesce(sf.exists(values, lambda value: sf.coalesce(test(text_column(value)), no)), no)


def _group(group: Group, columns: MessageColumns) -> Column:
    from pyspark.sql import functions as sf

    if not group.matchers:
        return sf.lit(False)
    sign = operator.and_ if group.all else operator.or_
    return combined(sign, [condition_column(matcher, columns) for matcher in dict.fromkeys(group.matchers)])
