"""``pointsman demo``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from rich.console import Console

EVENTS = 200_000
SHOWN = 12


def demo() -> None:
    """Show who gets which message: 200,000 shop events and a few hundred subscriptions, on Spark.

    Spark runs in this process alone, and ends with it.
    """
    from rich.console import Console

    from pointsman.pipeline import local_session, resolve, shop
    from pointsman.pipeline.java import find_java
    from pointsman.pipeline.session import QUICK_START

    console = Console()
    java = find_java()
    started = time.monotonic()
    with _doing(console, f"Starting Spark on Java {java.version} …"):
        spark = local_session("pointsman demo", **QUICK_START)
    try:
        seconds = time.monotonic() - started
        console.print(f"Spark {spark.version} on Java {java.version} ({java.origin}), started in {seconds:.1f} s.")
        with _doing(console, f"Making {EVENTS:,} shop events …"):
            messages = shop.events(spark, EVENTS).cache()
            count = messages.count()
            subscriptions = shop.subscriptions(spark)
        with _doing(console, "Resolving them …"):
            deliveries = resolve(messages, subscriptions)
            _show(console, count, deliveries, {row.subscription_id: row.pattern for row in subscriptions.collect()})
        with _doing(console, "Measuring …"):
            started = time.monotonic()
            deliveries.write.format("noop").mode("overwrite").save()
            seconds = time.monotonic() - started
        console.print(f"Once more, now that Spark is warm: {count / seconds:,.0f} messages a second.", highlight=False)
    finally:
        spark.stop()
    _show_next(console)


@contextmanager
def _doing(console: Console, what: str) -> Iterator[None]:
    """Shows what is going on: on a terminal as long as it does, elsewhere as a line."""
    if console.is_terminal:
        with console.status(what):
            yield
    else:
        console.print(what)
        yield


def _show(console: Console, messages: int, deliveries: DataFrame, patterns: dict[str, str]) -> None:
    """Runs the pipeline and prints who got how many messages, and the shortest subject of them."""
    from pyspark.sql import functions as sf
    from rich.table import Table

    shortest = sf.min_by("subject", sf.struct(sf.length("subject"), "subject"))
    received = (
        deliveries.groupBy("subscription_id")
        .agg(sf.count("*").alias("deliveries"), shortest.alias("example"))
        .orderBy(sf.desc("deliveries"), "subscription_id")
        .collect()
    )
    total = sum(row.deliveries for row in received)
    console.print(
        f"{messages:,} messages gave {total:,} deliveries to {len(received)} of {len(patterns)} subscriptions.\n",
        highlight=False,
    )
    table = Table(title="Who got what", title_justify="left", box=None, padding=(0, 2, 0, 0))
    for heading in ("subscription", "pattern", "received", "for example"):
        table.add_column(heading, justify="right" if heading == "received" else "left", no_wrap=True)
    for row in received[:SHOWN]:
        table.add_row(row.subscription_id, patterns[row.subscription_id], f"{row.deliveries:,}", row.example)
    console.print(table)
    others = received[SHOWN:]
    console.print(f"… and {len(others)} more, with {sum(row.deliveries for row in others):,} deliveries.\n")


def _show_next(console: Console) -> None:
    console.print("\nThis was resolve. Still to come: authorize, translate, select and deliver.")
    console.print("To try next:")
    typer.echo("  .venv/bin/pointsman match 'payments.*.*.declined' payments.eu.card.declined")
    typer.echo("  .venv/bin/pointsman pattern compare 'orders.>' '*.eu.*'")
    typer.echo("  .venv/bin/pointsman explain examples/shop.yaml alerts.critical.fire")
    typer.echo("  .venv/bin/pointsman check examples/shop.yaml")
