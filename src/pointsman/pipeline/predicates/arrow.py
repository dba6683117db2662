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
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so
    from pyspark.sql.types import ArrayType, BooleanType

    inputs = Inputs.of(pairs)
    # Trees and not predicates, so that no worker has to read their texts.
    asked = [(condition, None if predicate is None else predicate.tree) for condition, predicate in pairs]

    def answers(batches: Iterator[Any]) -> Iterator[Any]:
        from pointsman.pipeline.predicates.evaluate import Evaluator

        evaluator = Evaluator(inputs, asked)
        for batch in batches:
            yield from evaluator.arrays(batch)

    # Spark reads from the types that it works on a stream of columns; as text it could not find them here.
    answers.__annotations__ = {"batches": Iterator[pa.Array], "return": Iterator[pa.Array]}
    udf: Any = arrow_udf(answers, ArrayType(BooleanType(), containsNull=False))
    column: Column = udf(inputs.column(columns))
    return column
