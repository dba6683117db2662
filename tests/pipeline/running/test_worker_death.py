"""A worker of Spark that dies while it delivers."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pointsman.pipeline.destinations.deliverer import attempt
from pointsman.pipeline.destinations.place import Turn

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark, too")]


class Deadly:
    """A place whose workers die until a number of them have."""

    def __init__(self, folder: Path, deaths: int) -> None:
        self.folder = folder
        self._deaths = deaths

    def deliver(self, rows: DataFrame, turn: Turn) -> DataFrame | None:
        """Writes files, if nobody dies of it."""
        notes, deaths = self.folder / "deaths", self._deaths
        notes.mkdir(exist_ok=True)

        def pass_on(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                if len(list(notes.iterdir())) < deaths:
                    (notes / str(os.getpid())).touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                yield batch

        made = rows.coalesce(1).mapInArrow(pass_on, rows.schema)
        made.write.mode("overwrite").json(str(self.folder / f"batch={turn.batch}"))
        return None


def test_a_worker_that_dies_is_no_failure_of_its_destination(tmp_path: Path, spark: SparkSession) -> None:
    """The deliveries are attempted once more, and only then become dead letters."""
    rows = spark.createDataFrame([("1", "a.b")], "delivery_id string, subject string")
    for name in ("once", "always"):
        (tmp_path / name).mkdir()
    assert attempt(Deadly(tmp_path / "once", 1), rows, Turn("desk", 0, "query")) is None
    assert [path.read_text() for path in (tmp_path / "once").glob("batch=0/part-*")] == [
        '{"delivery_id":"1","subject":"a.b"}\n'
    ]
    always = Deadly(tmp_path / "always", 1000)
    failure = attempt(always, rows, Turn("desk", 0, "query"))
    assert failure is not None
    assert failure.undelivered is None
    assert len(list((tmp_path / "always" / "deaths").iterdir())) == 2
