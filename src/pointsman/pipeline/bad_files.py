"""Files of a source that cannot be read, such as a compressed one that was cut off: set aside by their names.

Spark fails the batch that has one. Its name is kept in the checkpoint, the queries begin again without the file, and
the batch has a row in the quarantine for it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from pointsman.errors import InputError
from pointsman.pipeline.columns import PROBLEM, TYPE
from pointsman.pipeline.json_lines import STAGE, local_path
from pointsman.pipeline.spark.errors import origin_of, spark_errors
from pointsman.pipeline.spark.files import write_whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CODE = "unreadable-file"
READING = re.compile(r"\[FAILED_READ_FILE\.[A-Z_]+\] Encountered error while reading file (\S+?)\.\s")
"""How Spark names a file that it cannot read."""
ELSEWHERE = ("FILE_NOT_EXIST", "FileNotFound", "AccessControl", "Permission denied", "Connect", "Socket", "UnknownHost")
"""In the reasons that say nothing of the file: it can be read another time."""


class BadFile(NamedTuple):
    """A file that cannot be read."""

    file: str
    """As Spark names it."""
    reason: str
    batch: int | None = None
    """The batch that tells of it; None until there is one."""


class BadFiles:
    """The files of the source of a pipeline that cannot be read."""

    def __init__(self, checkpoint: Path) -> None:
        self._path = checkpoint / "pointsman" / "bad-files.json"
        self._known: list[BadFile] = []
        if self._path.exists():
            self._known = [BadFile(*each) for each in json.loads(self._path.read_bytes())]

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [each.file for each in self._known]

    def add(self, bad: BadFile) -> None:
        """Keeps one more; it is on disk when this returns."""
        self._keep([*self._known, bad])

    def with_rows(self, messages: DataFrame, batch: int) -> DataFrame:
        """The rows of a batch, and one with a problem for each file that it tells of; the same when repeated."""
        if any(each.batch is None for each in self._known):
            self._keep([each._replace(batch=batch) if each.batch is None else each for each in self._known])
        told = [each for each in self._known if each.batch == batch]
        if not told:
            return messages
        rows = [((STAGE, CODE, f"{local_path(each.file)}: {each.reason}"),) for each in told]
        made = messages.sparkSession.createDataFrame(rows, f"{PROBLEM} {TYPE}")
        return messages.unionByName(made, allowMissingColumns=True)

    def _keep(self, known: list[BadFile]) -> None:
        write_whole(self._path, json.dumps(known).encode())
        self._known = known


def find_bad_file(spark: SparkSession, error: Exception, form: str) -> BadFile | None:
    """The file that a query failed for, if it cannot be read a second time either."""
    found = READING.search(str(error))
    if found is None:
        return None
    file = found[1]
    path = unquote(file) if "://" in file and not file.startswith("file:") else local_path(file)
    try:
        with spark_errors(file):
            reader: Any = spark.read.format("text" if form == "json" else form)
            reader.load(path).write.format("noop").mode("overwrite").save()
    except InputError as again:
        cause = again.__cause__
        reason = origin_of(cause) if cause is not None else again.problem
        return None if any(each in f"{again} {reason}" for each in ELSEWHERE) else BadFile(file, reason)
    return None
