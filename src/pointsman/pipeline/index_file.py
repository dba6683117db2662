"""The compiled subscriptions as one file that the driver ships and the Python workers of a host map and share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from pointsman.errors import LimitError, PatternError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import SparkContext

    from pointsman.matching.compiled import CompiledIndex
    from pointsman.matching.remembered import RememberingIndex

FIRST_ROWS = 1 << 6
MOST_ROWS = 1 << 16
MOST_IDS = 1 << 20
"""How many ids an array handed to Spark should have at the most; a subject that matches more is alone in its array."""

_shipping = Lock()


def ship(context: SparkContext, subscriptions: pa.Table, dialect: str | None) -> str:
    """The name under which every worker finds the index of these subscriptions, ``SparkFiles.get(name)``.

    The table has the columns ``subscription_id`` and ``pattern`` and may have ``dialect``. The name comes from the
    content: the same subscriptions in the same order are compiled and shipped once in the life of the context, which
    removes the file when it ends. Safe between threads. Raises ``InvalidPatternsError``, whose failures are counted
    by the rows of the table and name the subscription.
    """
    from pyspark import SparkFiles

    name = f"pointsman-{_digest(subscriptions, dialect)}.index"
    # Written where Spark keeps the files it ships, so that shipping on this host copies nothing.
    path = Path(SparkFiles.getRootDirectory(), name)
    with _shipping:
        if not path.exists():
            _compile(subscriptions, dialect).save(path)
            _warm(path)
            context.addFile(str(path))
    return name


@lru_cache(maxsize=4)
def opened(path: str) -> RememberingIndex:
    """The index in a file, mapped once in the life of a process; the driver has verified it.

    It remembers the subjects of all batches and tasks that the process gets.
    """
    from pointsman.matching.compiled import CompiledIndex
    from pointsman.matching.remembered import RememberingIndex

    return RememberingIndex(CompiledIndex.open(path, verify=False))


def lists(index: CompiledIndex | RememberingIndex, columns: Iterator[pa.Array[Any]]) -> Iterator[pa.Array[Any]]:
    """The lists of ids for columns of subjects, row by row, in arrays of about ``MOST_IDS`` ids or less.

    It looks at few rows first and at more as long as few of them match, so that memory stays flat.
    """
    rows = FIRST_ROWS
    for column in columns:
        start = 0
        while start < len(column):
            try:
                found = index.match(column.slice(start, rows))
            except LimitError:
                if rows == 1:
                    raise
                rows = rows // 2
                continue
            yield found
            start += len(found)
            fitting = len(found) * MOST_IDS // max(len(found.values), 1)
            rows = max(1, min(fitting, 8 * rows, MOST_ROWS))


def _digest(subscriptions: pa.Table, dialect: str | None) -> str:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, subscriptions.schema) as writer:
        writer.write_table(subscriptions.combine_chunks())
    digest = hashlib.sha256(sink.getvalue())
    # Patterns that were compiled because their dialect was chosen are not to be found where it was not.
    digest.update((dialect or "").encode())
    return digest.hexdigest()[:32]


def _compile(subscriptions: pa.Table, dialect: str | None) -> CompiledIndex:
    import pyarrow as pa

    from pointsman.matching.compiled import CompiledIndex
    from pointsman.matching.invalid import InvalidPatternsError

    patterns, ids = subscriptions["pattern"], subscriptions["subscription_id"]
    rows = _rows_by_dialect(subscriptions, dialect)
    order = pa.concat_arrays(rows.values())
    columns = {name: patterns.take(chosen) for name, chosen in rows.items()}
    try:
        return CompiledIndex.build(columns, ids=ids.take(order))
    except InvalidPatternsError as error:
        failures = []
        for number, failure in error.failures:
            row = order[number].as_py()
            problem = f"of subscription {ids[row].as_py()!r}: {failure.problem}"
            failures.append((row, PatternError(failure.code, problem, text=failure.text, column=failure.column)))
        raise InvalidPatternsError(sorted(failures, key=lambda failure: failure[0])) from None


def _rows_by_dialect(subscriptions: pa.Table, dialect: str | None) -> dict[str | None, pa.Array[Any]]:
    """The numbers of the rows whose patterns are of each dialect; None is one that nobody chose."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if "dialect" not in subscriptions.column_names or not len(subscriptions):
        return {dialect: pa.array(range(len(subscriptions)), pa.int64())}
    names = subscriptions["dialect"].combine_chunks()
    chosen = names if dialect is None else names.fill_null(dialect)
    return {
        name: pc.indices_nonzero(chosen.is_null() if name is None else pc.equal(chosen, name))
        for name in chosen.unique().to_pylist()
    }


def _warm(path: Path) -> None:
    """Verifies the file, and has compiled all that workers will run of the kernels before they are there to do it."""
    import pyarrow as pa

    from pointsman.matching.compiled import CompiledIndex
    from pointsman.matching.remembered import RememberingIndex

    index = CompiledIndex.open(path)
    # Through a stream, as the workers get it: compiled code tells buffers that can be written from those that cannot.
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([pa.array(["a", None])], ["subject"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    column = pa.ipc.open_stream(sink.getvalue()).read_next_batch().column(0)
    index.match(column)
    index.match(column.dictionary_encode())
    RememberingIndex(index).match(column)
