"""``pointsman broker``: the embedded broker as a program of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pointsman.cli.explain import Environment, TableFile
from pointsman.cli.output import AsJson

app = typer.Typer(help="Run the embedded broker.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def broker() -> None:
    """Run the embedded broker."""


@app.command()
def run(
    table: TableFile,
    queue: Annotated[
        Path | None,
        typer.Option("--queue", "-q", metavar="FILE", help="The queue's file; beside the table, ending in .db."),
    ] = None,
    environment: Environment = None,
    handlers: Annotated[
        list[str] | None,
        typer.Option("--handlers", metavar="MODULE", help="A module whose register(broker) adds handlers; repeatable."),
    ] = None,
    messages: Annotated[
        Path | None,
        typer.Option("--messages", "-m", metavar="FILE", help="Publish these, as JSON Lines; - is the standard input."),
    ] = None,
    principal: Annotated[
        str | None,
        typer.Option("--principal", "-p", metavar="NAME", help="Who publishes them; without one, access is not asked."),
    ] = None,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="End when all is published and nothing is left to deliver here.")
    ] = False,
    retain: Annotated[
        str, typer.Option("--retain", metavar="TIME", help="How long messages that are done are kept.")
    ] = "7d",
    json: AsJson = False,
) -> int:
    """Run a routing table on a queue: deliver what is there, publish what is given, until SIGTERM or Ctrl-C."""
    import asyncio

    from pointsman.cli.broker_run import Order, run_broker
    from pointsman.cli.queue_open import read_duration

    chosen = queue if queue is not None else table.with_suffix(".db")
    kept = read_duration(retain, "--retain") or 0.0
    order = Order(table, chosen, environment, tuple(handlers or ()), messages, principal, until_idle, kept, json)
    return asyncio.run(run_broker(order))
