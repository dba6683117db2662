"""``pointsman demo``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointsman.cli.output import AsJson, show_json
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
SMALL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings of Spark that are better for few rows: what it would do to go fast takes longer than it saves."""


def demo(
    folder: Annotated[
        Path, typer.Option("--folder", metavar="PATH", help="Where it plays; what an earlier demo left is removed.")
    ] = FOLDER,
    orders: Annotated[
        int, typer.Option("--orders", metavar="N", help="Of how many orders; some 16 events each.")
    ] = ORDERS,
    json: AsJson = False,
) -> int:
    """Play an hour of a shop: its events, streamed on Spark through a table with every strategy.

    Shows what became of them. Spark runs in this process alone, and ends with it. Ends with 1 if the counts are not
    those of RoutingTable.decide.
    """
    from rich.console import Console

    from pointsman.cli.demo_progress import showing
    from pointsman.demo.play import play, prepare_hour
    from pointsman.pipeline.spark.java import find_java

    if find_spec("pyspark") is None:
        raise MissingExtraError("spark", "pyspark")
    java = find_java()
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH
    console = Console(quiet=json, width=width)
    with _doing(console, "Making the events of an hour …"):
        place, summary = prepare_hour(folder, orders=orders)
    console.print(f"{summary.messages:,} events of an hour in {len(summary.files)} files.", highlight=False)
    with _doing(console, f"Starting Spark on Java {java.version} …"):
        spark = _session(place.folder / LOG)
    try:
        console.print(f"Spark {spark.version} on Java {java.version} ({java.origin}).", highlight=False)
        with showing(console, summary.messages) as (tell, watch):
            played = play(place, summary, spark, tell, watch)
    finally:
        spark.stop()
    if played is None:
        typer.echo(f"Stopped before its end. pointsman run {place.pipeline} would go on.", err=True)
        return 130
    _show(console, played, json)
    return 1 if played.differences else 0


def _session(log: Path) -> SparkSession:
    """A session whose Java, and the workers that it starts, write their noise into a file."""
    from pointsman.pipeline import local_session
    from pointsman.pipeline.spark.session import QUICK_START

    sys.stderr.flush()
    before = os.dup(2)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)
        try:
            return local_session("pointsman demo", **QUICK_START, **SMALL)
        finally:
            os.dup2(before, 2)
            os.close(before)


@contextmanager
def _doing(console: Console, what: str) -> Iterator[None]:
    """Shows what is going on: on a terminal as long as it does, elsewhere as a line."""
    if console.is_terminal:
        with console.status(what):
            yield
    else:
        console.print(what, highlight=False)
        yield


def _show(console: Console, played: Played, as_json: bool) -> None:
    from pointsman.demo.as_data import as_data
    from pointsman.demo.report import show
    from pointsman.demo.trying import next_commands, program_name

    commands = next_commands(played.place, program_name(sys.argv[0]))
    files = played.place.what_is_where()
    if as_json:
        run = {"batches": played.batches, "seconds": round(played.seconds, 1), "table": played.table.hash}
        checked = {"agrees": not played.differences, "differences": played.differences}
        where = {"files": {what: str(path) for what, path in files.items()}, "try_next": commands}
        show_json(as_data(played.counts) | run | checked | where)
        return
    rate = f"{played.counts.messages / played.seconds:,.0f} messages a second"
    console.print(
        f"Ran in {played.batches} batches, in {played.seconds:.1f} s: {rate}, Spark still cold.\n", highlight=False
    )
    show(console, played.counts, played.table, differences=played.differences, files=files, commands=commands)
