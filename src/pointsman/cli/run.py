"""``pointsman run``: a pipeline on Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointsman.cli.output import AsJson
from pointsman.cli.spark_log import spark_log

if TYPE_CHECKING:
    from pointsman.pipeline.counts import Totals


def run(
    pipeline: Annotated[Path, typer.Argument(metavar="PIPELINE", help="The YAML file of the pipeline.")],
    master: Annotated[
        str | None, typer.Option("--master", metavar="URL", help="Where Spark runs; the file says it otherwise.")
    ] = None,
    environment: Annotated[
        str | None, typer.Option("--environment", "--env", "-e", metavar="NAME", help="Which environment of the table.")
    ] = None,
    trigger: Annotated[
        str | None,
        typer.Option("--trigger", metavar="KIND", help="once, available-now, real-time, or a time such as 10s."),
    ] = None,
    json: AsJson = False,
) -> int:
    """Run a pipeline: messages from a source, routed by a table, to their destinations, on Spark.

    It goes on where it stopped, after a crash too. SIGTERM and Ctrl-C end it after the batch that is under way.
    """
    from pointsman.pipeline.config import PipelineFile
    from pointsman.pipeline.run import run as run_pipeline

    file = PipelineFile.load(pipeline)
    changes: dict[str, Any] = {} if environment is None else {"environment": environment}
    if trigger is not None:
        changes["trigger"] = _trigger(trigger)
    file.written = file.written.model_copy(update=changes)
    with spark_log(), _telling(json) as (tell, watch):
        totals = run_pipeline(file, tell, master=master, watch=watch)
    _show(totals, json)
    return 0 if not totals.dead else 1


def _trigger(text: str) -> Any:
    from pointsman.cli.queue_open import read_duration
    from pointsman.pipeline.config import Trigger

    if text in ("once", "available-now", "real-time"):
        return Trigger(kind=text)  # type: ignore[arg-type]  # it is one of them
    return Trigger(kind="interval", every=read_duration(text, "--trigger") or 10.0)


@contextmanager
def _telling(as_json: bool) -> Iterator[tuple[Callable[..., None], Callable[[Totals, list[Any]], None] | None]]:
    """What is told of a running pipeline: a table that is kept up on a terminal, otherwise a line of JSON each time."""
    import json

    def tell(what: str, **fields: Any) -> None:
        typer.echo(json.dumps({"event": what, **fields}, ensure_ascii=False))

    if as_json or not sys.stdout.isatty():
        yield tell, None
        return
    from rich.console import Console
    from rich.live import Live

    console = Console()

    def say(what: str, **fields: Any) -> None:
        if what != "batch":
            console.print(f"{what}: " + ", ".join(f"{name} {value}" for name, value in fields.items()), highlight=False)

    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield say, lambda totals, queries: live.update(_table(totals, queries), refresh=True)


def _table(totals: Totals, queries: list[Any]) -> Any:
    from rich.table import Table

    progress = [query.lastProgress for query in queries if query.lastProgress]
    rate = progress[0]["processedRowsPerSecond"] if progress else 0.0
    counts = f"batches {totals.batches:,}   messages {totals.messages:,}   {rate or 0:,.0f} a second"
    title = f"table {totals.table[:12]}   {counts}"
    table = Table(title=title, title_justify="left")
    for heading in ("route", "destination", "deliveries"):
        table.add_column(heading, justify="right" if heading == "deliveries" else "left")
    for (route, destination), count in sorted(totals.deliveries.items()):
        table.add_row(route, destination, f"{count:,}")
    for (stage, code), count in sorted(totals.quarantined.items()):
        table.add_row(f"quarantined by {stage}", code, f"{count:,}")
    table.add_row("unrouted", "", f"{totals.unrouted:,}")
    return table


def _show(totals: Totals, as_json: bool) -> None:
    import json

    if as_json or not sys.stdout.isatty():
        typer.echo(json.dumps({"event": "stopped", **totals.as_dict()}, ensure_ascii=False))
        return
    from rich.console import Console

    Console().print(_table(totals, []))
