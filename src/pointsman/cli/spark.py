"""What the commands that run on Spark have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from pointsman.cli.spark_log import error_stream, spark_log
from pointsman.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Format = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="The format of the messages: json, csv, parquet, pointsman, …"),
]
Options = Annotated[
    list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of that format; any number.")
]
Master = Annotated[str, typer.Option("--master", metavar="URL", help="Where Spark runs; on this machine by default.")]
LOCAL = "local[*]"
MORE_MEMORY = "If it ran out of memory, run it where there is more"


def read_options(given: list[str] | None) -> dict[str, str]:
    """The options by their names. Raises ``InputError`` (``bad-usage``) for one without a value."""
    pairs = [text.partition("=") for text in given or ()]
    for name, equals, _ in pairs:
        if not (name and equals):
            raise InputError("bad-usage", f"an option is NAME=VALUE, not {name!r}")
    return {name: value for name, _, value in pairs}


@contextmanager
def session(name: str, master: str, **config: object) -> Iterator[SparkSession]:
    """A session of Spark that ends with the block, unless this process had one before. Raises as ``local_session``."""
    from pointsman.pipeline import local_session
    from pointsman.pipeline.spark.errors import while_java_lives

    if _running():
        yield local_session(name, master, **config)
        return
    with spark_log(), while_java_lives(MORE_MEMORY):
        with doing("Starting Spark …"):
            spark = local_session(name, master, **config)
        try:
            yield spark
        finally:
            spark.stop()


def _running() -> bool:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        return False
    return SparkSession.getActiveSession() is not None


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Shows on the standard error stream what is going on, as long as it does, if that is a terminal."""
    stream = error_stream()
    if not stream.isatty():
        yield
        return
    from rich.console import Console

    with Console(file=stream).status(what):
        yield
