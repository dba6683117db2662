"""Replaying dead letters: each is delivered again, under the same delivery id.

For each folder of dead letters:

    1. all are attempted
    2. what is left is written beside the folder, with the new reasons, under a name that Spark overlooks
    3. the folder is removed
    4. what is left takes its place

A crash before 2 is done leaves the folder as it was, and all are attempted again: destinations that know the delivery
id have them once. After it, the next replay does what is missing of 3 and 4 before anything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from pointsman.errors import InputError
from pointsman.pipeline.config import PipelineFile, destinations_of, out_of
from pointsman.pipeline.destinations.choice import COMMANDS, claim_folders, names_of, owner_of
from pointsman.pipeline.destinations.dead_letters import DEAD, count
from pointsman.pipeline.destinations.deliverer import Failure, attempt, undelivered
from pointsman.pipeline.destinations.place import Turn, reason_of
from pointsman.pipeline.spark.errors import spark_errors
from pointsman.pipeline.spark.files import files_of
from pointsman.pipeline.state.batches import mounted
from pointsman.pipeline.versions import FOLLOW, ROUTE, known_identity, last_batch
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH = "batch="
DONE = "_SUCCESS"
"""The file that Spark writes when a folder is whole."""
LEFT = "_left-"
"""Begins the names of folders that hold what is left, until they take their places."""
BEFORE = "pointsman_before"


class Folder(NamedTuple):
    """Dead letters of one destination and one batch."""

    destination: str
    batch: int
    following: bool
    """Whether they are of the commands of sagas."""
    parent: str

    @property
    def path(self) -> str:
        """Where they are."""
        return f"{self.parent}/{BATCH}{self.batch}"

    @property
    def beside(self) -> str:
        """Where what is left of them is, until it takes their place."""
        return f"{self.parent}/{LEFT}{self.batch}"


class Replayed(NamedTuple):
    """What became of the dead letters of one destination and one batch."""

    destination: str
    batch: int
    following: bool
    letters: int
    delivered: int
    reason: str
    """Why the rest was not delivered."""


class Replayer:
    """Delivers the dead letters of a pipeline again, as its files say now.

    Raises ``InputError`` (``folder-taken``) if a folder of a destination holds batches of another run.
    """

    def __init__(self, spark: SparkSession, pipeline: PipelineFile, table: RoutingTable, checkpoint: str) -> None:
        self._spark = spark
        self._pipeline = pipeline
        self._table = table
        self._checkpoint = checkpoint
        self._files = files_of(spark)
        self._owner = owner_of(self._files, out_of(pipeline))
        """The run that the dead letters are of, which may not be that of the checkpoint any more."""
        if self._owner is not None:
            claim_folders(self._files, destinations_of(pipeline).claims, self._owner)

    def folders(self, destination: str | None = None) -> list[Folder]:
        """The dead letters that can be replayed; not those of a batch that is still to be repeated.

        Finishes first what a replay that was broken off has left. Raises ``InputError`` (``bad-usage``) for a
        destination that neither has dead letters nor is one of the table.
        """
        found = [*self._found(following=False), *self._found(following=True)]
        known = names_of(self._table) | {folder.destination for folder in found}
        if destination is not None and destination not in known:
            raise InputError("bad-usage", f"there is no destination {destination!r}, and no dead letter for one")
        return [folder for folder in found if destination in (None, folder.destination)]

    def look(self, folder: Folder) -> Replayed:
        """What is there, with nothing done."""
        dead = count(self._read(folder))
        return Replayed(folder.destination, folder.batch, folder.following, dead.letters, 0, dead.reason)

    def replay(self, folder: Folder) -> Replayed:
        """Delivers those of a folder."""
        from pyspark.sql import functions as sf

        letters = self._read(folder).persist()
        try:
            before = count(letters)
            attempts = letters.agg(sf.max(f"{DEAD}.attempts")).collect()[0][0] or 0
            failure = self._attempt(letters.drop(DEAD), folder, attempts)
            left = letters.where(sf.lit(False)) if failure is None else _left(letters, failure)
            left.write.mode("overwrite").parquet(folder.beside)
            after = count(self._spark.read.schema(letters.schema).parquet(folder.beside))
        finally:
            letters.unpersist()
        self._settle(folder)
        delivered = before.letters - after.letters
        return Replayed(folder.destination, folder.batch, folder.following, before.letters, delivered, after.reason)

    def _attempt(self, rows: DataFrame, folder: Folder, attempts: int) -> Failure | None:
        if folder.destination not in names_of(self._table):
            return Failure(f"the table has no destination {folder.destination!r} any more")
        try:
            destination = destinations_of(self._pipeline, following=folder.following).of(
                folder.destination, self._table
            )
        except Exception as error:
            return Failure(reason_of(error))
        owner = self._owner or self._checkpoint
        query = f"{owner}/{COMMANDS}" if folder.following else owner
        return attempt(destination, rows, Turn(folder.destination, folder.batch, query, folder.following, attempts))

    def _read(self, folder: Folder) -> DataFrame:
        with spark_errors(folder.path):
            return self._spark.read.parquet(folder.path)

    def _found(self, *, following: bool) -> Iterator[Folder]:
        base = f"{out_of(self._pipeline, following=following)}/{DEAD}"
        done = self._last_batch(following=following)
        for name in self._files.names(base):
            parent = f"{base}/{name}"
            for each in self._files.names(parent):
                if each.startswith(LEFT):
                    self._settle(Folder(unquote(name), int(each.removeprefix(LEFT)), following, parent))
            batches = [int(each.removeprefix(BATCH)) for each in self._files.names(parent) if each.startswith(BATCH)]
            for batch in sorted(batches):
                if done is None or batch <= done:
                    yield Folder(unquote(name), batch, following, parent)

    def _settle(self, folder: Folder) -> None:
        """Puts what is left of a folder in its place, if it is whole; and removes it otherwise."""
        files, beside = self._files, folder.beside
        if files.exists(f"{beside}/{DONE}"):
            files.remove(folder.path)
        if files.exists(folder.path) or self._spark.read.parquet(beside).isEmpty():
            files.remove(beside)
        else:
            files.rename(beside, folder.path)

    def _last_batch(self, *, following: bool) -> int | None:
        """The last batch that is done: one after it is repeated by the pipeline itself. None if none will be."""
        checkpoint = mounted(self._checkpoint)
        query = checkpoint / (FOLLOW if following else ROUTE)
        if self._owner != known_identity(checkpoint) or not query.exists():
            return None
        return last_batch(query / "commits")


def _left(letters: DataFrame, failure: Failure) -> DataFrame:
    """What of the letters was not delivered, with the new reasons, attempted once more than before."""
    from pyspark.sql import functions as sf

    before = letters.withColumnRenamed(DEAD, BEFORE)
    return undelivered(before, failure, sf.col(f"{BEFORE}.attempts") + 1).drop(BEFORE).select(*letters.columns)
