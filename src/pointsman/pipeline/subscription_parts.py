"""Compiling a table of subscriptions into the files that workers map: here, or by the workers themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pointsman.errors import InputError, PatternError, PointsmanError
from pointsman.pipeline.subscription_frame import ID

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PART = "pointsman_part"
CHUNK = 1 << 24
"""Bytes of an index that go to the driver in one piece."""
BUILT = "part int, data binary, problem string"


def compile_here(rows: DataFrame, dialect: str | None, path: Path) -> None:
    """Collects the rows and writes their index. Raises as ``raise_problem``."""
    problem = _compile(rows.toArrow(), dialect, path)
    if problem is not None:
        raise_problem(problem)


def compile_on_workers(rows: DataFrame, dialect: str | None, paths: Mapping[int, Path]) -> set[int]:
    """Writes an index for each part: the rows whose column ``PART`` has its number. A task compiles a part.

    The files come to the driver piece by piece, so that it never holds one of them. Returns the parts that have rows;
    the others have no file. Raises as ``raise_problem``; then no file is left.
    """
    from pyspark import StorageLevel

    def compile_part(batches: Iterator[Any]) -> Iterator[Any]:
        yield from part_rows(batches, dialect)

    parted = rows.repartitionById(max(paths) + 1, PART)
    built = parted.mapInArrow(compile_part, BUILT).persist(StorageLevel.DISK_ONLY)
    written: set[int] = set()
    try:
        # All parts at once; to read them one after the other would compile them one after the other.
        built.count()
        problems = built.where("problem IS NOT NULL").select("problem").take(1)
        if problems:
            raise_problem(problems[0]["problem"])
        for row in built.toLocalIterator():
            path = paths[row["part"]]
            with path.open("ab" if row["part"] in written else "wb") as file:
                file.write(row["data"])
            written.add(row["part"])
    except BaseException:
        for part in written:
            paths[part].unlink(missing_ok=True)
        raise
    finally:
        built.unpersist()
    return written


def part_rows(batches: Iterator[Any], dialect: str | None) -> Iterator[Any]:
    """The index of the rows of one part, as rows of ``BUILT``; or what is wrong with them."""
    import pyarrow as pa

    found = [batch for batch in batches if batch.num_rows]
    if not found:
        return
    table = pa.Table.from_batches(found)
    part = table[PART][0].as_py()
    with TemporaryDirectory(prefix="pointsman-") as folder:
        path = Path(folder, "part")
        problem = _compile(table.drop_columns([PART]), dialect, path)
        for piece in _pieces(path) if problem is None else [None]:
            yield pa.RecordBatch.from_arrays(
                [pa.array([part], pa.int32()), pa.array([piece], pa.binary()), pa.array([problem], pa.string())],
                ["part", "data", "problem"],
            )


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            yield piece


def _compile(table: Any, dialect: str | None, path: Path) -> str | None:
    """Writes the index of a table; or says, as JSON, what is wrong with which subscription."""
    from pointsman.matching.invalid import InvalidPatternsError
    from pointsman.subscriptions.columns import SubscriptionIndex

    ids = table[ID]
    try:
        SubscriptionIndex.build(table, dialect, ids=ids).save(path)
    except InvalidPatternsError as error:
        row, failure = error.failures[0]
        more = f" (and {len(error.failures) - 1} more invalid patterns)" if len(error.failures) > 1 else ""
        problem = f"of subscription {ids[row].as_py()!r}: {failure.problem}{more}"
        return json.dumps({"kind": "pattern", "code": failure.code, "problem": problem, "text": failure.text})
    except PointsmanError as error:
        problem = error.problem
        if error.code == "bad-subscription" and error.text is not None:
            problem = problem.replace(f"subscription {error.text}", f"subscription {ids[int(error.text)].as_py()!r}", 1)
        kind = "pattern" if isinstance(error, PatternError) else "input"
        return json.dumps({"kind": kind, "code": error.code, "problem": problem, "text": None})
    return None


def raise_problem(problem: str) -> None:
    """Raises what ``_compile`` told: ``PatternError`` or ``InputError``, which name the subscription."""
    told = json.loads(problem)
    if told["kind"] == "pattern":
        raise PatternError(told["code"], told["problem"], text=told["text"])
    raise InputError(told["code"], told["problem"])
