"""Questions answered in Python for a batch of messages; what runs in Spark's workers, without anything of Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from pointsman.conditions import Condition
from pointsman.conditions.compile import compile_holds
from pointsman.conditions.nodes import Node
from pointsman.message import Message
from pointsman.pipeline.predicates.fields import EPOCH
from pointsman.pipeline.predicates.inputs import Inputs

if TYPE_CHECKING:
    import pyarrow as pa

Row = tuple[Any, ...]

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
        self._conditions = [condition for condition, _ in asked]
        self._holds = [None if tree is None else compile_holds(tree) for _, tree in asked]

    def arrays(self, batch: pa.Array[Any]) -> Iterator[pa.Array[Any]]:
        """For each row of a column of structs the list of answers, in the order of the questions."""
        import numpy as np
        import pyarrow as pa

        width = len(self._holds)
        step = max(1, min(MOST_ROWS, MOST_ANSWERS // width))
        for start in range(0, len(batch), step):
            piece = batch.slice(start, step)
            flat = np.frombuffer(b"".join(self.answers(rows_of(piece))), dtype=np.bool_)
            offsets = np.arange(0, (len(piece) + 1) * width, width, dtype=np.int32)
            yield pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat))

    def answers(self, rows: Iterable[Row]) -> Iterator[bytes]:
        """The answers for each row: a byte for each question, 1 if it holds."""
        known: dict[Row, bytes] = {}
        rows = iter(rows)
        for place, row in enumerate(rows):
            found = known.get(row)
            if found is None:
                found = known[row] = self.answer(row)
            yield found
            if place == TRIED_ROWS and len(known) > TRIED_ROWS * 3 // 4:
                break
        yield from map(self.answer, rows)

    def answer(self, row: Row) -> bytes:
        """The answers for one row."""
        message = cast(Message, self._seen(row))
        memory: list[Any] = []
        return bytes(
            (condition is None or condition.holds(message.metadata)) and (holds is None or holds(message, memory))
            for condition, holds in zip(self._conditions, self._holds, strict=True)
        )

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


def rows_of(batch: pa.Array[Any]) -> Iterator[Row]:
    """The rows of a column of structs, as Python has them; a map is a tuple of its entries."""
    return zip(*(_values(batch.field(place)) for place in range(batch.type.num_fields)), strict=True)


def _values(column: pa.Array[Any]) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_map(column.type):
        return [None if entries is None else tuple(entries) for entries in column.to_pylist()]
    return column.to_pylist()
