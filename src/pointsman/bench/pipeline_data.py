"""The messages and subscriptions that the pipeline is measured with: the subjects and patterns of ``bench match``.

A message has what messages have: an id, a subject, metadata, a body of some 300 bytes and a time. No two bodies or ids
are alike, so that no file format can be clever about them.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pointsman.bench.subjects import Texts, patterns
from pointsman.matching.compiled import CompiledIndex

DIALECT = "mqtt"
REGIONS = ("EU", "US", "APAC", "LATAM")
TENANTS = 500
NOTES = 1_000
NOTE_LENGTH = 190
FIRST_TIME = 1_780_000_000_000_000
"""In microseconds; a message follows each millisecond."""
FILES = 8
WANTED = 10.0
"""Matches a message."""


def write_messages(folder: Path, subjects: Texts, files: int = FILES) -> None:
    """Writes a message for each subject, as Parquet files of the same size.

    Raises ``ValueError`` when there are fewer subjects than files. The folder must not exist.
    """
    import pyarrow.parquet as pq

    if len(subjects) < files:
        raise ValueError(f"{len(subjects)} messages do not fill {files} files")
    folder.mkdir(parents=True)
    edges = np.linspace(0, len(subjects), files + 1).astype(int).tolist()
    for number, (start, end) in enumerate(pairwise(edges)):
        pq.write_table(message_table(subjects.slice(start, end - start), start), folder / f"{number:04}.parquet")


def message_table(subjects: Texts, first: int) -> Any:
    """The messages of these subjects as an Arrow table; they are numbered from ``first``."""
    import pyarrow as pa

    numbers = np.arange(first, first + len(subjects))
    source = np.random.default_rng((7, first))
    traces = _hexadecimal(source, len(subjects))
    tenants = pa.array([f"tenant-{number}" for number in range(TENANTS)]).take(_choice(source, TENANTS, len(subjects)))
    columns = {
        "id": _joined(["m-", traces, "-", _text(numbers)]),
        "subject": subjects,
        "metadata": _metadata(source, tenants, traces),
        "body": _bodies(source, numbers),
        "time": pa.array(FIRST_TIME + 1_000 * numbers, pa.timestamp("us", "UTC")),
    }
    return pa.table(columns)


def subscription_patterns(count: int, subjects: Texts) -> Texts:
    """The patterns of so many subscriptions, of which about ten match a subject.

    They are those of ``bench match``. Of a thousand, six match; where it is fewer than ten, some of those that have no
    wildcard, which hardly match anything, give way to second subscriptions to those that have one.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = patterns(count)
    average = float(CompiledIndex.build(column, DIALECT).count(subjects).to_numpy().mean())
    wild = pc.match_substring_regex(column, "[+#]")
    wide, plain = column.filter(wild), column.filter(pc.invert(wild))
    more = min(max(round(len(wide) * (WANTED / average - 1)), 0), len(plain))
    again = wide.take(pa.array(np.arange(more) % len(wide)))
    return pa.concat_arrays([wide, again, plain.slice(more)])


def _bodies(source: np.random.Generator, numbers: npt.NDArray[np.int64]) -> Any:
    """Readings as JSON, each with a number, a value and a note of its own choice."""
    import pyarrow as pa

    letters = source.integers(97, 123, size=(NOTES, NOTE_LENGTH), dtype=np.uint8)
    notes = pa.array([bytes(row).decode() for row in letters]).take(_choice(source, NOTES, len(numbers)))
    values = _text(source.integers(0, 1_000_000, len(numbers)))
    serials = _hexadecimal(source, len(numbers))
    parts = ['{"reading": ', _text(numbers), ', "amount": ', values, ', "serial": "', serials, '", "note": "', notes]
    return _joined([*parts, '", "unit": "celsius"}']).cast(pa.binary())


def _metadata(source: np.random.Generator, tenants: Any, traces: Any) -> Any:
    """Three pairs a message: where it comes from, whose it is, and a trace that no other has."""
    import pyarrow as pa

    count = len(tenants)
    regions = pa.array(REGIONS).take(_choice(source, len(REGIONS), count))
    keys = pa.array(["region", "tenant", "trace"]).take(pa.array(np.tile(np.arange(3), count)))
    order = np.arange(3 * count).reshape(3, count).T.ravel()
    values = pa.concat_arrays([regions, tenants, traces]).take(pa.array(order))
    return pa.MapArray.from_arrays(pa.array(np.arange(0, 3 * count + 1, 3), pa.int32()), keys, values)


def _choice(source: np.random.Generator, below: int, count: int) -> Any:
    import pyarrow as pa

    return pa.array(source.integers(0, below, count))


def _hexadecimal(source: np.random.Generator, count: int) -> Any:
    import pyarrow as pa

    text = source.bytes(8 * count).hex()
    return pa.array([text[start : start + 16] for start in range(0, 16 * count, 16)])


def _text(numbers: npt.NDArray[np.int64]) -> Any:
    import pyarrow as pa

    return pa.array(numbers).cast(pa.string())


def _joined(parts: list[Any]) -> Any:
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*parts, "")
