"""The crossing to Python: one Arrow function that takes the columns a table reads and gives small codes back.

The table travels inside the function, so that nothing has to be shipped to a worker or found there, and it is made
ready once in the life of a worker process. Nothing here needs a ``SparkContext``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.errors import InputError
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column

    from pointsman.columns.batch import Batch, Decider, Found

FIELDS = {
    "codes": "array<int>",
    "routes": "array<int>",
    "subject": "string",
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


def cross(table: RoutingTable, columns: Mapping[str, Column], fields: Sequence[str], told: Told) -> Column:
    """A struct of ``fields`` for each row, as the table decides about these columns of messages, by their names.

    With a column ``routes`` only the stage select is left to do. Raises ``InputError`` (``function-on-spark``) for a
    table that names Python functions.
    """
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so

    if table.functions:
        named = ", ".join(map(repr, table.functions))
        problem = f"the table calls {named}, and Spark's workers have no Python functions of yours"
        raise InputError("function-on-spark", problem)
    text, digest, names = json.dumps(table.plain, ensure_ascii=False), table.hash, tuple(columns)

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        task = TaskContext.get()
        partition = 0 if task is None else task.partitionId()
        yield from decided(decider_of(digest, text), batches, names, fields, told, partition)

    # Spark reads from the types that it works on a stream of columns; as text it could not find them here.
    given: Any = pa.Array if len(names) == 1 else tuple[(pa.Array,) * len(names)]  # type: ignore[misc]
    work.__annotations__ = {"batches": Iterator[given], "return": Iterator[pa.Array]}
    kind = ",".join(f"{name}:{FIELDS[name]}" for name in fields)
    made: Column = arrow_udf(work, f"struct<{kind}>")(*columns.values())
    return made


@lru_cache(maxsize=16)
def part_of(table: RoutingTable, *sections: str) -> RoutingTable:
    """The table with these of the sections ``DECIDING`` alone; without any named, all of them."""
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
    how: dict[str, Any] = {"state": State.from_data(list(told.state)), "now": told.now, "turns": turns}
    for number, arrays in enumerate(batches):
        given = arrays if isinstance(arrays, tuple) else (arrays,)
        messages = pa.Table.from_arrays(list(given), list(names))
        how["seed"] = (told.seed, partition, number)
        if "routes" in names:
            batch = decider.select(messages, messages["routes"].combine_chunks(), **how)
        else:
            batch = decider.decide(messages, principal=told.principal, **how)
        made = {"codes": _codes, "routes": _routes, "subject": _subjects, "problem": _problems}
        yield pa.StructArray.from_arrays([made[name](decider, batch) for name in fields], list(fields))


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
