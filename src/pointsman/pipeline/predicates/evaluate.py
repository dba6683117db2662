"""Questions answered in Python for a batch of messages; what runs in Spark's workers, without anything of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pointsman.conditions import Condition
from pointsman.conditions.compile import compile_holds
from pointsman.conditions.nodes import Node
from pointsman.message import Message
from pointsman.pipeline.predicates.fields import EPOCH
from pointsman.pipeline.predicates.inputs import Inputs

if TYPE_CHECKING:
    import pyarrow as pa

Row = tuple[Any, ...]
Answer = TypeVar("Answer")

MOST_ANSWERS = 1 << 20
"""How many answers an array handed to Spark has at the most, or those to one message if these are more."""
MOST_ROWS = 1 << 12
"""How many rows are looked at together: so many bodies are in Python's memory at a time."""
TRIED_ROWS = 256
"""After so many of them it is decided whether rows repeat."""


class _Seen:
    """As much of a message as is asked for: what predicates read of a ``Message``, without its checks."""

    __slots__ = (
        "body",
        "causation_id",
        "content_type",
        "correlation_id",
        "id",
        "metadata",
        "original_subject",
        "source",
        "subject",
        "time",
    )

    body: bytes
    metadata: dict[str, str]
    time: datetime | None


class Evaluator:
    """Answers questions about messages that are rows of the columns of ``inputs``; equal rows nearby only once."""

    def __init__(self, inputs: Inputs, asked: Sequence[tuple[Condition | None, Node | None]]) -> None:
        self._inputs = inputs
        self._asked = [(condition, None if tree is None else compile_holds(tree)) for condition, tree in asked]

    def held(self, batch: pa.Array[Any]) -> Iterator[pa.Array[Any]]:
        """For each row of a column of structs the answers to all questions, in their order."""
        import numpy as np
        import pyarrow as pa

        width = len(self._asked)
        everything = range(1, width + 1)
        for piece in pieces_of(batch, MOST_ANSWERS // width):
            answers = remembered(lambda row: bytes(self._answers(row, everything)), rows_of(piece))
            flat = np.frombuffer(b"".join(answers), dtype=np.bool_)
            offsets = np.arange(0, (len(piece) + 1) * width, width, dtype=np.int32)
            yield pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat))

    def holding(self, batch: pa.Array[Any]) -> Iterator[pa.Array[Any]]:
        """For each row, whose last column has the numbers of questions from 1, those of them that hold."""
        import pyarrow as pa

        for piece in pieces_of(batch, MOST_ROWS):
            yield pa.array(list(remembered(self._holding, rows_of(piece))), pa.list_(pa.int32()))

    def _holding(self, row: Row) -> list[int]:
        numbers = row[-1]
        if not numbers:
            return []
        answers = self._answers(row[:-1], numbers)
        return [number for number, holds in zip(numbers, answers, strict=True) if holds]

    def _answers(self, row: Row, numbers: Iterable[int]) -> Iterator[bool]:
        message = cast(Message, self._seen(row))
        memory: list[Any] = []
        for number in numbers:
            condition, holds = self._asked[number - 1]
            fulfilled = condition is None or condition.holds(message.metadata)
            yield fulfilled and (holds is None or holds(message, memory))

    def _seen(self, row: Row) -> _Seen:
        seen = _Seen()
        roots, keys = self._inputs.roots, self._inputs.keys
        for root, value in zip(roots, row, strict=False):
            setattr(seen, root, value)
        if "time" in roots and seen.time is not None:
            seen.time = EPOCH + timedelta(microseconds=cast(int, seen.time))
        if "body" in roots and seen.body is None:
            seen.body = b""
        if self._inputs.whole:
            seen.metadata = dict(row[-1] or ())
        else:
            values = zip(keys, row[len(roots) :], strict=True)
            seen.metadata = {key: value for key, value in values if value is not None}
        return seen


def remembered(answer: Callable[[Row], Answer], rows: Iterator[Row]) -> Iterator[Answer]:
    """The answer for each row; that for an earlier equal row again, unless the first rows hardly repeat."""
    known: dict[Row, Answer] = {}
    for place, row in enumerate(rows):
        if row not in known:
            known[row] = answer(row)
        yield known[row]
        if place == TRIED_ROWS and len(known) > TRIED_ROWS * 3 // 4:
            break
    yield from map(answer, rows)


def pieces_of(batch: pa.Array[Any], most: int) -> Iterator[pa.Array[Any]]:
    """The batch in pieces of so many rows or less."""
    step = max(1, min(most, MOST_ROWS))
    return (batch.slice(start, step) for start in range(0, len(batch), step))


def rows_of(batch: pa.Array[Any]) -> Iterator[Row]:
    """The rows of a column of structs, as Python has them; a list and a map are tuples."""
    return zip(*(_values(batch.field(place)) for place in range(batch.type.num_fields)), strict=True)


def _values(column: pa.Array[Any]) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        return [None if value is None else tuple(value) for value in column.to_pylist()]
    if pa.types.is_integer(column.type):
        return list(column.to_pylist())
    # Several times as quick as ``to_pylist``; it would make floats of numbers where one is null.
    return list(column.to_numpy(zero_copy_only=False))
