"""A pipeline from its file to its end: the session, the queries, and a clean stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointsman._util.secrets import reveal
from pointsman.broker.wildcards import check_names
from pointsman.columns.balance import COUNTED
from pointsman.errors import InputError
from pointsman.pipeline.bad_files import BadFiles, find_bad_file
from pointsman.pipeline.batch import BatchRunner
from pointsman.pipeline.columns import with_problems
from pointsman.pipeline.config import PipelineFile, destinations_of, source_of_followers
from pointsman.pipeline.counts import Totals
from pointsman.pipeline.destinations.choice import COMMANDS, claim_folders, names_of
from pointsman.pipeline.follow import Follower
from pointsman.pipeline.formats import stream_messages
from pointsman.pipeline.json_lines import local_path, stream_texts
from pointsman.pipeline.queue_source import register
from pointsman.pipeline.shared_folder import check_shared
from pointsman.pipeline.spark.errors import spark_errors, while_java_lives
from pointsman.pipeline.spark.files import files_of
from pointsman.pipeline.spark.kind import refuse_connect
from pointsman.pipeline.spark.lock import alone
from pointsman.pipeline.spark.session import HEAP, local_session
from pointsman.pipeline.state.batches import mounted
from pointsman.pipeline.subscriptions.versions import SubscriptionVersions, versions_of_pipeline
from pointsman.pipeline.versions import FOLLOW, ROUTE, SUBSCRIPTIONS, Tables, Tell, identity_of
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

PATIENCE = 60.0
"""Seconds that another run is waited for; it may be what is left of one that was killed."""
MORE_MEMORY = f"If it ran out of memory, give it more in the pipeline's file: 'spark: {{{HEAP}: 4g}}'"
WHY_CLASSIC = (
    "its batches are counted, recorded and locked by the process that runs it, and Spark Connect runs foreachBatch in "
    "another one. Use route and deliver in a foreachBatch of your own, or a session without spark.remote"
)
WATCH = 0.5
"""Seconds between two looks at the queries."""


def run(
    pipeline: PipelineFile,
    tell: Tell,
    *,
    master: str | None = None,
    spark: SparkSession | None = None,
    watch: Callable[[Totals, list[Any]], None] | None = None,
) -> Totals:
    """Runs a pipeline until its source is at its end, or it is told to stop; gives what came of it.

    ``tell`` is called with each thing that happened, ``watch`` now and then with the totals and the queries. SIGTERM
    and SIGINT let the batch that is under way finish. A session that is given is not ended. Raises what a query failed
    with, as ``InputError`` (``query-failed``), and before that ``folder-elsewhere`` if the workers of a cluster do not
    share the folders that are written to, ``checkpoint-in-use`` if another run does not end,
    ``checkpoint-incomplete`` if a part of the checkpoint is gone, and ``folder-taken`` if a folder that is written to
    holds batches of another run, ``classic-session-needed`` on Spark Connect; at any time ``java-ended``.
    """
    written = pipeline.written
    checkpoint = mounted(pipeline.at(written.checkpoint))
    destinations = destinations_of(pipeline)

    def check(table: RoutingTable) -> None:
        destinations.check(table)
        if written.subscriptions is not None:
            check_names(table)

    tables = Tables(Path(pipeline.at(written.table)), written.environment, checkpoint, tell, check)
    check_real_time(pipeline, tables.table)
    totals = Totals()
    with _stopping() as stop:
        session = spark or _session(pipeline, master)
        try:
            with while_java_lives(MORE_MEMORY):
                refuse_connect(session, "a pipeline file", WHY_CLASSIC)
                register(session)
                check_shared(session, pipeline.at(written.out), str(checkpoint))
                with alone(session, checkpoint, PATIENCE):
                    identity = identity_of(checkpoint)
                    claim_folders(files_of(session), destinations.claims, identity)
                    subscribed = _subscribed(session, pipeline, tables, checkpoint, tell)
                    bad = BadFiles(checkpoint)
                    runner = BatchRunner(
                        pipeline, tables, checkpoint, identity, tell, subscribed=subscribed, bad_files=bad
                    )
                    totals = runner.totals
                    failed = True
                    while failed:
                        queries = _start(session, pipeline, tables, runner, checkpoint, identity, bad, tell)
                        failed = _watch(queries, totals, stop, watch) and _set_aside(
                            session, pipeline, queries, bad, tell
                        )
        except InputError as error:
            # Java may have got the same signal, and be quicker.
            if error.code != "java-ended" or not stop.is_set():
                raise
        finally:
            if spark is None:
                with suppress(InputError), while_java_lives(MORE_MEMORY):
                    session.stop()
    return totals


def _session(pipeline: PipelineFile, master: str | None) -> SparkSession:
    """A session of which Java overlooks SIGTERM: who stops all processes of a service lets Java end with the driver.

    A signal that comes meanwhile is handled after it.
    """
    written = pipeline.written
    name, where = "pointsman", master or written.master
    if threading.current_thread() is not threading.main_thread():
        return local_session(name, where, **written.spark)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    # A program that is started inherits what is ignored, and Java leaves it so.
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        return local_session(name, where, **written.spark)
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _start(
    spark: SparkSession,
    pipeline: PipelineFile,
    tables: Tables,
    runner: BatchRunner,
    checkpoint: Path,
    identity: str,
    bad_files: BadFiles,
    tell: Tell,
) -> list[StreamingQuery]:
    """The query that routes, and if the table has sagas or gatherings, the one that follows them."""
    made: list[tuple[str, DataFrame, Callable[[DataFrame, int], None]]] = []
    made.append((ROUTE, open_source(spark, pipeline, lines=True, without=bad_files.names), runner))
    table = tables.table
    if table.sagas or any(route.gather is not None for route in table.routes):
        own = checkpoint / COMMANDS
        subscribed = _subscribed(spark, pipeline, tables, own, tell)
        sender = BatchRunner(
            pipeline, tables, own, f"{identity}/{COMMANDS}", tell, following=True, subscribed=subscribed
        )
        # Those of queries that were begun before, in the same run, are counted on.
        sender.totals = runner.totals.commands = runner.totals.commands or sender.totals
        follower = Follower(pipeline, table, tell, sender)
        source = open_source(spark, source_of_followers(pipeline), placed=True, without=bad_files.names)
        events = follower.events(source)
        made.append((FOLLOW, events, follower))
    queries = [_query(stream, pipeline, name, checkpoint / name, act) for name, stream, act in made]
    tell("started", table=table.hash, queries=[query.name for query in queries], heap=spark.conf.get(HEAP, None))
    return queries


def _subscribed(
    spark: SparkSession, pipeline: PipelineFile, tables: Tables, checkpoint: Path, tell: Tell
) -> SubscriptionVersions | None:
    path = pipeline.written.subscriptions
    if path is None:
        return None
    return versions_of_pipeline(spark, pipeline.at(path), tables, checkpoint / SUBSCRIPTIONS, tell)


def _query(
    stream: DataFrame, pipeline: PipelineFile, name: str, checkpoint: Path, act: Callable[[DataFrame, int], None]
) -> StreamingQuery:
    writer = stream.writeStream.queryName(name).option("checkpointLocation", str(checkpoint)).foreachBatch(act)
    trigger = pipeline.written.trigger
    if trigger.kind == "interval":
        writer = writer.trigger(processingTime=f"{trigger.every} seconds")
    elif trigger.kind == "once":
        writer = writer.trigger(once=True)
    else:
        writer = writer.trigger(availableNow=True)
    return writer.start()


def _watch(
    queries: list[StreamingQuery],
    totals: Totals,
    stop: threading.Event,
    watch: Callable[[Totals, list[Any]], None] | None,
) -> bool:
    """Waits for the end of the queries; whether one has failed, and the others were stopped for it."""
    while any(query.isActive for query in queries):
        if watch is not None:
            watch(totals, queries)
        if stop.wait(WATCH) or any(query.exception() is not None for query in queries):
            _finish(queries)
            break
    return not stop.is_set() and any(query.exception() is not None for query in queries)


def _set_aside(
    spark: SparkSession, pipeline: PipelineFile, queries: list[StreamingQuery], bad_files: BadFiles, tell: Tell
) -> bool:
    """Sets the files aside that queries have failed for; raises ``InputError`` if one has failed for something else."""
    for query in queries:
        error = query.exception()
        if error is None:
            continue
        bad = find_bad_file(spark, error, pipeline.written.source.format)
        if bad is None:
            hint = f". {MORE_MEMORY}" if "OutOfMemoryError" in str(error) else ""
            raise InputError("query-failed", f"the query {query.name!r} failed: {_cause(error)}{hint}")
        if bad.file not in bad_files.names:
            bad_files.add(bad)
            tell("file-quarantined", file=local_path(bad.file), reason=bad.reason)
    return True


def _finish(queries: list[StreamingQuery]) -> None:
    """Stops each query between two batches, as far as Spark lets one; also those that fail meanwhile."""
    from pyspark.errors import StreamingQueryException

    for query in queries:
        while query.isActive and query.status["isTriggerActive"] and query.status["isDataAvailable"]:
            with suppress(StreamingQueryException):
                query.awaitTermination(1)
        query.stop()


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """Set by SIGTERM and SIGINT, while the main thread is within."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _cause(error: Exception) -> str:
    """The last line that names an error, of all that Spark says; the places in the code of Java do not."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("at ")]
    return next((line for line in reversed(said) if "Error" in line or "Exception" in line), said[0] if said else "")


OF_FILES = ("json", "csv", "parquet", "orc", "avro", "text")
BOUNDS = ("maxbytespertrigger", "maxfilespertrigger")
"""Options of file sources that bound a batch; Spark takes one of them, in any case."""
BATCH_BYTES = str(256 << 20)
"""What the files of a batch have together, unless the options say otherwise; at least one file."""
BATCH_ROWS = "100000"
"""How many messages of a queue a batch has at most, unless the options say otherwise."""


def open_source(
    spark: SparkSession,
    pipeline: PipelineFile,
    *,
    placed: bool = False,
    lines: bool = False,
    without: Sequence[str] = (),
) -> DataFrame:
    """The stream. What is no message of its format has a problem, of the stage ``receive``.

    With ``lines``, JSON without further columns is not read yet: the stream has the column ``line`` alone, for
    ``stages.code_lines``. With ``placed`` the messages have their places in it; the files ``without`` are not read. All
    this, and what is raised, is as for ``stream_messages``.
    """
    source = pipeline.written.source
    path = None if source.path is None else pipeline.at(source.path)
    names = {column: field for field, column in source.columns.items()}
    options = reveal(source.options, Path(pipeline.at(".")))
    if source.format in OF_FILES and not any(name.lower() in BOUNDS for name in options):
        options["maxBytesPerTrigger"] = BATCH_BYTES
    if source.format == "pointsman" and not any(name.lower() == "maxrows" for name in options):
        options["maxRows"] = BATCH_ROWS
    if lines and source.format == "json" and "schema" not in options:
        with spark_errors(path or source.format):
            return stream_texts(spark, path, options, without)
    return with_problems(stream_messages(spark, path, source.format, options, names, placed=placed, without=without))


KAFKA = "kafka"


def check_real_time(pipeline: PipelineFile, table: RoutingTable) -> None:
    """Raises ``InputError`` (``bad-usage``) that names each stage which Spark cannot run in real time, and why."""
    if pipeline.written.trigger.kind == "real-time":
        stages = "; ".join(f"{stage}: {why}" for stage, why in _obstacles(pipeline, table))
        problem = f"the trigger 'real-time' cannot be used with this pipeline: {stages}"
        raise InputError("bad-usage", problem, file=str(pipeline.path))


def _obstacles(pipeline: PipelineFile, table: RoutingTable) -> Iterator[tuple[str, str]]:
    source = pipeline.written.source.format
    if source != KAFKA:
        yield "receive", f"Spark reads {source!r} in batches alone, and Kafka in real time"
    yield (
        "resolve",
        "it asks Python which routes match, and Spark runs nothing in real time that does (ArrowEvalPython)",
    )
    counting = [route.name for route in table.routes if route.balance in COUNTED]
    if counting:
        yield "select", f"the route {counting[0]!r} counts its messages, which needs batches"
    broken = [each.name for each in table.destinations.values() if each.breaker is not None]
    if broken:
        yield "select", f"the breaker of {broken[0]!r} is told what became of a batch"
    if table.sagas or any(route.gather is not None for route in table.routes):
        yield "follow", "sagas and gatherings have their states in Python (transformWithState)"
    sinks = pipeline.written.destinations
    others = sorted(name for name in names_of(table) if name not in sinks or sinks[name].format != KAFKA)
    if others:
        yield "deliver", f"{others[0]!r} is written batch by batch (foreachBatch), and Kafka alone in real time"
