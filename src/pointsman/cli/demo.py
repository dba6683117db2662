"""``pointsman demo``."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointsman.cli.output import AsJson, show_json
from pointsman.cli.spark_log import spark_log
from pointsman.errors import MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

    from pointsman.demo.play import Played

FOLDER = Path("pointsman-demo")
ORDERS = 3_000
LOG = "spark.log"
WIDTH = 120
"""Of what is printed elsewhere than on a terminal."""
BRIEF = {"spark.sql.adaptive.enabled": "false"}
"""Settings of Spark for a run of a minute: planning a query again as it runs takes longer than it saves."""


def demo(
    folder: Annotated[
        Path, typer.Option("--folder", metavar="PATH", help="Where it plays; an earlier demo there is removed.")
    ] = FOLDER,
    orders: Annotated[
        int, typer.Option("--orders", metavar="N", help="Number of orders; there are about 100 events for each.")
    ] = ORDERS,
    json: AsJson = False,
) -> int:
    """Play an hour of a shop: its events, streamed on Spark through a table with every strategy.

    Shows what became of them, and how fast. Asks RoutingTable.decide about a sample of the same messages, and exits
    with 1 if it disagrees. Spark runs on this machine and stops at the end.
    """
    from rich.console import Console

    from pointsman.cli.demo_progress import showing
    from pointsman.demo.events import make_events
    from pointsman.demo.folder import prepare
    from pointsman.demo.play import play
    from pointsman.pipeline.spark.java import find_java

    started = time.monotonic()
    if find_spec("pyspark") is None:
        raise MissingExtraError("spark", "pyspark")
    java = find_java()
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH
    console = Console(quiet=json, width=width)
    with _doing(console, "Making the events of an hour …"):
        prepared = prepare(folder)
        summary = make_events(prepared.events, orders=orders)
    console.print(f"{summary.messages:,} events of an hour in {len(summary.files)} files.", highlight=False)
    with _doing(console, f"Starting Spark on Java {java.version} …"):
        spark = _session(prepared.path / LOG)
    try:
        console.print(f"Spark {spark.version} on Java {java.version} ({java.origin}).", highlight=False)
        with showing(console, summary.messages) as (tell, watch):
            played = play(prepared, summary, spark, tell, watch)
    finally:
        spark.stop()
    if played is None:
        typer.echo(f"Stopped before its end. To continue: pointsman run {prepared.pipeline}", err=True)
        return 130
    _show(console, played, time.monotonic() - started, json)
    return 1 if played.checked.differences else 0


def _session(log: Path) -> SparkSession:
    """A session whose Java, and the workers that it starts, write their noise into a file."""
    from pointsman.pipeline import local_session
    from pointsman.pipeline.spark.session import QUICK_START

    with spark_log(log):
        return local_session("pointsman demo", **QUICK_START, **BRIEF)


@contextmanager
def _doing(console: Console, what: str) -> Iterator[None]:
    """Shows what is going on: on a terminal as long as it does, elsewhere as a line."""
    if console.is_terminal:
        with console.status(what):
            yield
    else:
        console.print(what, highlight=False)
        yield


def _show(console: Console, played: Played, seconds: float, as_json: bool) -> None:
    from pointsman.demo.folder import program_name
    from pointsman.demo.report import show

    commands = played.folder.next_commands(program_name(sys.argv[0]))
    files, counts, checked = played.folder.contents(), played.counts, played.checked
    if as_json:
        run = {"batches": played.batches, "seconds": round(played.seconds, 1), "table": played.table.hash}
        whole = {"whole_seconds": round(seconds, 1), "agrees": not checked.differences}
        where = {"files": {what: str(path) for what, path in files.items()}, "try_next": commands}
        show_json(counts.as_data() | run | whole | checked._asdict() | where)
        return
    ran = f"{played.seconds:.1f} s: {counts.messages / played.seconds:,.0f} messages a second, Spark still cold"
    took = f"{seconds:.1f} s: {counts.messages / seconds:,.0f} messages a second"
    console.print(f"The pipeline ran in {played.batches} batches, in {ran}.", highlight=False)
    console.print(f"The whole demo took {took}.\n", highlight=False)
    show(console, counts, played.table, checked, files=files, commands=commands)
