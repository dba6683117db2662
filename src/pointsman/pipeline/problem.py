"""What is wrong with a row: a column that each stage fills in, so that no row ever disappears."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pointsman.errors import InputError
from pointsman.pipeline.columns import find

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PROBLEM = "problem"
TYPE = "struct<stage:string,code:string,reason:string>"


def with_problems(frame: DataFrame) -> DataFrame:
    """The frame with the column ``problem``; NULL in all rows if it was not there.

    Raises ``InputError`` (``bad-usage``) if there is a column of this name that holds something else.
    """
    from pyspark.sql import functions as sf

    name = find(frame, PROBLEM)
    if name is None:
        return frame.withColumn(PROBLEM, sf.lit(None).cast(TYPE))
    kind = frame.schema[name].dataType.simpleString()
    if kind != TYPE:
        raise InputError("bad-usage", f"the column {name!r} of messages is {kind}, not {TYPE}; rename it first")
    return frame


def with_problem(frame: DataFrame, stage: str, code: Column | str, reason: Column, where: Column) -> DataFrame:
    """The frame with this problem in the rows where the condition is TRUE and that have none so far."""
    from pyspark.sql import functions as sf

    named = sf.lit(code) if isinstance(code, str) else code
    made = sf.struct(sf.lit(stage).alias("stage"), named.alias("code"), reason.alias("reason")).cast(TYPE)
    base = with_problems(frame)
    return base.withColumn(PROBLEM, sf.when(base[PROBLEM].isNull() & where, made).otherwise(base[PROBLEM]))


def is_fine(frame: DataFrame) -> Column:
    """Whether nothing is wrong with a row so far."""
    return frame[PROBLEM].isNull()
