"""The crossing to Python: one Arrow function that takes the columns a table reads and gives small codes back.

The table travels inside the function, so that nothing has to be shipped to a worker or found there, and it is made
ready once in the life of a worker process. Nothing here needs a ``SparkContext``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.errors import InputError
from pointsman.pipeline.columns import arrow_column
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

    from pointsman.columns.batch import Batch, Decider, Found

RECEIVED = (
    "subject",
    "id",
    "source",
    "correlation_id",
    "causation_id",
    "content_type",
    "metadata",
    "time",
    "principal",
    "position",
    "body",
    "problem",
)
"""The columns of messages that were read from lines."""
FIELDS = {
    **dict.fromkeys(RECEIVED, "string"),
    "metadata": "map<string,string>",
    "time": "timestamp",
    "position": "bigint",
    "body": "binary",
    "original_subject": "string",
    "codes": "array<int>",
    "routes": "array<int>",
    "problem": "struct<stage:string,code:string,reason:string>",
}
"""What can be asked for: the codes of what becomes of a row, the numbers of the routes that may take it, its subject
where the table changes it, and what is wrong with it."""
DECIDING = ("version", "dialect", "routes", "translations", "naming", "standards", "access", "unrouted")
"""The sections of a table that decide, besides destinations."""
GUARDING = ("breaker", "fallback")
"""What a destination says that decides; its options, which may name secrets, stay behind."""
MOST_DECIDERS = 8


class Told(NamedTuple):
    """What a worker is told besides the table and the columns."""

    principal: str | None = None
    state: tuple[Any, ...] = ()
    """As ``State.as_data`` gives it."""
    now: float = 0.0
    seed: int = 0
    probers: Mapping[str, int] | None = None
    """The only partition that may try a destination again, by the destination; None lets each partition try."""
    subscribed: bool = False
    """Whether each row that is fine gets the code ``asking`` besides."""
    keys: tuple[tuple[str, str], ...] = ()
    """For lines: the fields of a message by the keys that lines have for them."""


def cross(table: RoutingTable, columns: Mapping[str, Column], fields: Sequence[str], told: Told) -> Column:
    """A struct of ``fields`` for each row, as the table decides about these columns of messages, by their names.

    The table is one that ``part_of`` gave. With a column ``routes`` only the stage select is left to do.
    """
    text, digest, names = json.dumps(table.plain, ensure_ascii=False), table.hash, tuple(columns)

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        task = TaskContext.get()
        partition = 0 if task is None else task.partitionId()
        yield from decided(decider_of(digest, text), batches, names, fields, told, partition)

    kind = ",".join(f"{name}:{FIELDS[name]}" for name in fields)
    return arrow_column(work, f"struct<{kind}>", *columns.values())


@lru_cache(maxsize=16)
def part_of(table: RoutingTable, *sections: str) -> RoutingTable:
    """The table with these of the sections ``DECIDING`` alone; without any named, all of them.

    Raises ``InputError`` (``function-on-spark``) for a table that names Python functions.
    """
    if table.functions:
        named = ", ".join(map(repr, table.functions))
        problem = f"the table calls {named}, and Spark's workers have no Python functions of yours"
        raise InputError("function-on-spark", problem)
    kept = ("version", "dialect", *(sections or DECIDING))
    plain = {key: value for key, value in table.plain.items() if key in kept}
    if "routes" in kept:
        plain["destinations"] = {
            name: {key: value for key, value in (each or {}).items() if key in GUARDING}
            for name, each in (table.plain.get("destinations") or {}).items()
        }
    return RoutingTable.from_plain(plain)


_deciders: dict[str, Decider] = {}


def decider_of(digest: str, text: str) -> Decider:
    """The table of this hash made ready, once in the life of a worker process; ``text`` is its plain data as JSON."""
    from pointsman.columns.batch import Decider

    found = _deciders.get(digest)
    if found is None:
        if len(_deciders) >= MOST_DECIDERS:
            _deciders.pop(next(iter(_deciders)))
        found = _deciders[digest] = Decider(RoutingTable.from_plain(json.loads(text)))
    return found


def decided(
    decider: Decider,
    batches: Iterator[Any],
    names: Sequence[str],
    fields: Sequence[str],
    told: Told,
    partition: int,
) -> Iterator[pa.Array[Any]]:
    """What a worker gives back for the Arrow batches of a task."""
    import pyarrow as pa

    from pointsman.columns.batch import Turns

    barred = {name for name, chosen in (told.probers or {}).items() if chosen != partition}
    turns = Turns(task=partition, probed=barred)
    seen = 0
    how: dict[str, Any] = {"state": State.from_data(list(told.state)), "now": told.now, "turns": turns}
    for number, arrays in enumerate(batches):
        given = arrays if isinstance(arrays, tuple) else (arrays,)
        messages = pa.Table.from_arrays(list(given), list(names))
        how["seed"] = (told.seed, partition, number)
        if names[0] == "line":
            messages = received(messages["line"].combine_chunks(), told, partition, seen)
            seen += len(messages)
        if "routes" in names:
            batch = decider.select(messages, messages["routes"].combine_chunks(), **how)
        else:
            batch = decider.decide(messages, principal=told.principal, **how)
        if told.subscribed:
            batch = _asking(decider, batch)
        made = {"codes": _codes, "routes": _routes, "subject": _subjects, "problem": _problems}
        columns = [made[name](decider, batch) if name in made else None for name in fields]
        if names[0] == "line":
            columns = [_of_line(messages, name, made) for name, made in zip(fields, columns, strict=True)]
        yield pa.StructArray.from_arrays(columns, list(fields))


def received(lines: Any, told: Told, partition: int, first: int) -> pa.Table:
    """The messages of lines, each with an id: one that is made is the same when the batch is repeated."""
    import pyarrow as pa

    from pointsman.columns.receive import receive

    messages = receive(lines, keys=dict(told.keys))
    ids = messages["id"].combine_chunks()
    if not ids.null_count:
        return messages
    named = ids.to_pylist()
    for row in [row for row, id in enumerate(named) if id is None]:
        content = blake2b(lines[row].as_py() or b"", digest_size=8).hexdigest()
        named[row] = f"{content}-{told.seed}-{partition}-{first + row}"
    return messages.set_column(messages.column_names.index("id"), "id", pa.array(named, pa.string()))


def _of_line(messages: pa.Table, name: str, made: Any) -> Any:
    """A column of what a line holds; what receiving it has found wrong comes first."""
    import pyarrow.compute as pc

    if name == "original_subject":
        return messages["subject"].combine_chunks()
    if name in ("codes", "routes"):
        return made
    own = messages[name].combine_chunks()
    if name == "problem":
        return own if made.null_count == len(made) else pc.if_else(own.is_valid(), own, made)
    return own if made is None else pc.coalesce(made, own)


def _asking(decider: Decider, batch: Batch) -> Batch:
    """The batch with one more code, the last, for each row that is fine."""
    import numpy as np

    from pointsman.columns.batch import with_code

    fine = np.flatnonzero(batch.found.problem_numbers < 0)
    rows, codes = with_code(batch.rows, batch.codes, fine, decider.codes.asking)
    return replace(batch, rows=rows, codes=codes)


def _codes(_: Decider, batch: Batch) -> Any:
    import numpy as np
    import pyarrow as pa

    size = len(batch.found.plans)
    offsets = np.zeros(size + 1, np.int32)
    np.cumsum(np.bincount(batch.rows, minlength=size), out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(batch.codes, pa.int32()))


def _routes(decider: Decider, batch: Batch) -> Any:
    return decider.routes(batch.found)


def _subjects(_: Decider, batch: Batch) -> Any:
    """The new subjects; null where something is wrong, for what is refused keeps its own."""
    import pyarrow as pa

    found = batch.found
    return batch.translated.take(pa.array(found.subject_numbers, mask=found.problem_numbers >= 0))


def _problems(_: Decider, batch: Batch) -> Any:
    import pyarrow as pa

    return problem_array(batch.found).take(pa.array(batch.found.problem_numbers, mask=batch.found.problem_numbers < 0))


def problem_array(found: Found) -> Any:
    """The different problems of a batch as an Arrow array."""
    import pyarrow as pa

    kind = pa.struct([("stage", pa.string()), ("code", pa.string()), ("reason", pa.string())])
    return pa.array([each._asdict() for each in found.problems], kind)
