"""The class that Spark knows as the format ``pointsman``."""

# ruff: noqa: N802 (the names are Spark's)

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from pointsman.pipeline.queue_source.options import read_options
from pointsman.pipeline.queue_source.reading import QueueReader
from pointsman.pipeline.queue_source.rows import COLUMNS
from pointsman.pipeline.queue_source.stream_reading import QueueStreamReader
from pointsman.pipeline.queue_source.writing import QueueStreamWriter, QueueWriter

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class QueueSource(DataSource):
    """The durable queue, read and written, in batches and streams; docs/pipeline-queue.md has the options.

    Raises ``InputError`` (``bad-usage``) for options that cannot be.
    """

    @classmethod
    def name(cls) -> str:
        """What ``format`` is given."""
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
