"""Questions that Python answers: one crossing for all of them, with the columns they need and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pointsman.pipeline.predicates.inputs import Inputs, Pair

if TYPE_CHECKING:
    from pyspark.sql import Column

    from pointsman.pipeline.columns import MessageColumns


def answered_column(pairs: Sequence[Pair], columns: MessageColumns) -> Column:
    """The answers to all of these questions as array<boolean>, none of them NULL."""
    from pyspark.sql import functions as sf

    inputs = Inputs.of(pairs)
    return _crossing("held", "array<boolean>", inputs, pairs, sf.struct(*inputs.columns(columns)))


def answered_of_asked_column(pairs: Sequence[Pair], columns: MessageColumns, asked: Column) -> Column:
    """Those of the questions with the numbers ``asked``, from 1, that hold; where none is asked, nothing crosses."""
    from pyspark.sql import functions as sf

    inputs = Inputs.of(pairs)
    row = sf.struct(*inputs.columns(columns), asked.cast("array<int>").alias("asked"))
    return _crossing("holding", "array<int>", inputs, pairs, sf.when(sf.size(asked) > 0, row))


def _crossing(method: str, kind: str, inputs: Inputs, pairs: Sequence[Pair], row: Column) -> Column:
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so

    # Trees and not predicates, so that no worker has to read their texts.
    questions = [(condition, None if predicate is None else predicate.tree) for condition, predicate in pairs]

    def answers(batches: Iterator[Any]) -> Iterator[Any]:
        from pointsman.pipeline.predicates.evaluate import Evaluator

        answer = getattr(Evaluator(inputs, questions), method)
        for batch in batches:
            yield from answer(batch)

    # Spark reads from the types that it works on a stream of columns; as text it could not find them here.
    answers.__annotations__ = {"batches": Iterator[pa.Array], "return": Iterator[pa.Array]}
    udf: Any = arrow_udf(answers, kind)
    column: Column = udf(row)
    return column
