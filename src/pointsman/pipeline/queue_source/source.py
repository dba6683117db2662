"""The class that Spark knows as the format ``pointsman``, and its options."""

# ruff: noqa: N802 (the names are Spark's)

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from pointsman.errors import InputError
from pointsman.pipeline.queue_source.reader import QueueReader, QueueStreamReader
from pointsman.pipeline.queue_source.rows import COLUMNS
from pointsman.pipeline.queue_source.writer import QueueStreamWriter, QueueWriter

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

NAMES = (
    "path", "subscription", "pattern", "start", "end", "maxRows", "partitions", "damaged", "query", "batch", "staging",
    "dialect", "dedupe",
)  # fmt: skip
KNOWN = {name.lower(): name for name in NAMES}
"""As they are compared, and as they are written."""
OF_SPARK = frozenset({"checkpointlocation", "queryname", "outputmode", "truncate"})
"""What Spark itself adds to the options of a source or sink."""
DEDUPE = 3600.0


class QueueSource(DataSource):
    """The durable queue, read and written, in batches and streams; docs/pipeline-queue.md has the options.

    Raises ``InputError`` (``bad-usage``) for invalid options.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "pointsman"

    def schema(self) -> str:
        """The columns that are read."""
        read_options(self.options)
        return COLUMNS

    def reader(self, schema: StructType) -> QueueReader:
        """For ``spark.read``."""
        return QueueReader(read_options(self.options), schema)

    def streamReader(self, schema: StructType) -> QueueStreamReader:
        """For ``spark.readStream``."""
        return QueueStreamReader(read_options(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> QueueWriter:
        """For ``DataFrame.write``."""
        return QueueWriter(read_options(self.options), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> QueueStreamWriter:
        """For ``DataFrame.writeStream``."""
        return QueueStreamWriter(read_options(self.options), schema, overwrite)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one read or write."""

    path: str
    """Of the queue's file, absolute."""
    subscription: str | None = None
    """None if none was named; the empty name is the queue itself."""
    pattern: str | None = None
    start: int | None = None
    """The number of the first message that is read."""
    end: int | None = None
    """The number of the last."""
    max_rows: int | None = None
    partitions: int | None = None
    skips_damaged: bool = False
    query: str | None = None
    batch: int | None = None
    staging: str = ""
    """The folder where tasks leave their files for the driver."""
    dialect: str | None = None
    dedupe: float = DEDUPE


def read_options(given: Mapping[str, str]) -> Options:
    """The options. Raises ``InputError`` (``bad-usage``) for one that is missing, unknown or invalid."""
    values = {name.lower(): value for name, value in given.items()}
    unknown = sorted(values.keys() - KNOWN.keys() - OF_SPARK)
    if unknown:
        raise InputError("bad-usage", f"there is no option {unknown[0]!r}; there are {', '.join(NAMES)}")
    path = values.get("path")
    if not path:
        raise InputError("bad-usage", "the option 'path' is missing: the file of the queue")
    if "://" in path or path.startswith("file:"):
        raise InputError("bad-usage", f"the path {path!r} is no path of this machine; the queue is one SQLite file")
    damaged = values.get("damaged", "fail")
    if damaged not in ("fail", "skip"):
        raise InputError("bad-usage", f"the option 'damaged' is {damaged!r}, not 'fail' or 'skip'")
    query, batch = values.get("query"), _number(values, "batch", 0)
    if (query is None) != (batch is None):
        raise InputError("bad-usage", "the options 'query' and 'batch' belong together: one of them is missing")
    absolute = os.path.abspath(path)  # noqa: PTH100, as the queue itself does
    return Options(
        path=absolute,
        subscription=values.get("subscription"),
        pattern=values.get("pattern"),
        start=_number(values, "start", 0),
        end=_number(values, "end", 0),
        max_rows=_number(values, "maxrows", 1),
        partitions=_number(values, "partitions", 1),
        skips_damaged=damaged == "skip",
        query=query,
        batch=batch,
        staging=values.get("staging") or f"{absolute}-staging",
        dialect=values.get("dialect"),
        dedupe=_seconds(values, "dedupe", DEDUPE),
    )


def _number(values: Mapping[str, str], name: str, least: int) -> int | None:
    text = values.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < least:
        raise InputError("bad-usage", f"the option {KNOWN[name]!r} is {text!r}, not a whole number from {least}")
    return int(text)


def _seconds(values: Mapping[str, str], name: str, default: float) -> float:
    text = values.get(name)
    try:
        seconds = default if text is None else float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise InputError("bad-usage", f"the option {KNOWN[name]!r} is {text!r}, not a number of seconds from 0")
    return seconds
