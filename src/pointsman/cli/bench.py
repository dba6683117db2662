"""``pointsman bench``: speed, measured against what one would use otherwise, in one run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointsman.cli import bench_tables
from pointsman.cli.output import AsJson, show_json

if TYPE_CHECKING:
    from collections.abc import Iterator

app = typer.Typer(help="Measure speed against peers.", no_args_is_help=False, rich_markup_mode=None)

Quick = Annotated[bool, typer.Option("--quick", help="Fewer patterns and messages: seconds instead of minutes.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE.png", help="Draw the measurements, as a PNG file.")]

Directory = Annotated[
    Path | None,
    typer.Option(
        "--directory", metavar="DIRECTORY", help="Where the files are made; by default, among temporary ones."
    ),
]


@app.callback(invoke_without_command=True)
def bench(context: typer.Context, quick: Quick = False, json: AsJson = False) -> None:
    """Measure speed against peers; without a name, all of it."""
    if context.invoked_subcommand is not None:
        return
    measured = {}
    for name, measure in ALL.items():
        results = measure(quick)
        measured[name] = results
        if not json:
            bench_tables.SHOW[name](results)
    if json:
        show_json({name: _plain(results) for name, results in measured.items()})


@app.command()
def patterns(json: AsJson = False) -> None:
    """One pattern against one subject: Pattern.matches and Python's re, on ordinary and on hostile patterns."""
    _show("patterns", _patterns(False), json)


@app.command()
def match(quick: Quick = False, json: AsJson = False, plot: Plot = None) -> None:
    """One subject against up to a million patterns: the indexes, paho-mqtt's matcher, regular expressions."""
    _check(plot)
    results = _match(quick)
    _show("match", results, json)
    if plot:
        from pointsman.bench.plot import draw, match_lines

        draw(match_lines(results["rows"]), plot, "From a subject to all patterns that match it", "patterns")


@app.command()
def terms(quick: Quick = False, json: AsJson = False, plot: Plot = None) -> None:
    """The metadata of a message against up to a million matchers: the index of terms, a dict, regular expressions."""
    _check(plot)
    results = _terms(quick)
    _show("terms", results, json)
    if plot:
        from pointsman.bench.plot import draw, term_lines

        draw(term_lines(results), plot, "From the metadata of a message to all matchers that fit", "matchers")


@app.command()
def startup(json: AsJson = False) -> None:
    """A new process until it has its first answer, with the compiled code on disk."""
    _show("startup", _startup(False), json)


@app.command()
def table(quick: Quick = False, json: AsJson = False) -> None:
    """Loading a routing table of 100,000 routes, and a decision beside the index's own match."""
    _show("table", _table(quick), json)


@app.command()
def queue(quick: Quick = False, json: AsJson = False, plot: Plot = None, directory: Directory = None) -> None:
    """The durable queue: other queues on SQLite, and the same inserts by hand; patterns, threads, subscriptions."""
    _check(plot)
    results = _queue(quick, directory)
    _show("queue", results, json)
    if plot:
        from pointsman.bench.queue_plot import draw_queue

        draw_queue(results, plot)


@app.command()
def pipeline(quick: Quick = False, json: AsJson = False, plot: Plot = None) -> None:
    """The pipeline on Spark, on two cores: resolve, route, streams, sagas; beside Spark itself on the same rows."""
    _check(plot)
    results = _pipeline(quick)
    _show("pipeline", results, json)
    if plot:
        from pointsman.bench.pipeline_plot import draw_pipeline

        draw_pipeline(results, plot)


@app.command()
def subscriptions(quick: Quick = False, json: AsJson = False, plot: Plot = None) -> None:
    """Up to a million wildcard subscriptions: columns, Spark and live; a loop in Python and a join with rlike."""
    _check(plot)
    results = _subscriptions(quick)
    _show("subscriptions", results, json)
    if plot:
        from pointsman.bench.subscriptions_plot import draw_subscriptions

        draw_subscriptions(results, plot)


@app.command()
def memory(
    messages: Annotated[
        int, typer.Option("--messages", metavar="N", min=1_000, help="How many messages go through.")
    ] = 10_000_000,
    quick: Quick = False,
    json: AsJson = False,
) -> None:
    """A local run of many messages with a driver of 2 GB: what its processes hold meanwhile."""
    _show("memory", _memory(quick, messages), json)


def _patterns(_quick: bool) -> list[Any]:
    from pointsman.bench.patterns import run

    return run()


def _match(quick: bool) -> dict[str, list[Any]]:
    from pointsman.bench.match import run
    from pointsman.bench.required import required

    with _progress("match") as progress:
        rows = run(quick, progress)
    return {"rows": rows, "required": required(rows)}


def _terms(quick: bool) -> list[Any]:
    from pointsman.bench.terms import run

    with _progress("terms") as progress:
        progress("measuring")
        return run(quick)


def _startup(_quick: bool) -> list[Any]:
    from pointsman.bench.startup import run

    with _progress("startup") as progress:
        progress("starting processes")
        return run()


def _table(quick: bool) -> list[Any]:
    from pointsman.bench.table import run

    with _progress("table") as progress:
        progress("loading and deciding")
        return run(quick)


def _queue(quick: bool, directory: Path | None = None) -> dict[str, Any]:
    from pointsman.bench.queue import run

    with _progress("queue") as progress:
        return run(quick, directory, progress)


def _pipeline(quick: bool) -> dict[str, Any]:
    from pointsman.bench.pipeline import run

    with _progress("pipeline") as progress:
        return run(quick, progress)


def _subscriptions(quick: bool) -> dict[str, Any]:
    from pointsman.bench.subscriptions import run

    with _progress("subscriptions") as progress:
        return run(quick, progress)


def _memory(quick: bool, messages: int | None = None) -> dict[str, Any]:
    from pointsman.bench.pipeline_memory import FULL, QUICK, run

    with _progress("memory") as progress:
        return run(QUICK if quick else messages or FULL, progress)


ALL: dict[str, Callable[[bool], Any]] = {
    "patterns": _patterns,
    "match": _match,
    "terms": _terms,
    "startup": _startup,
    "table": _table,
    "queue": _queue,
    "pipeline": _pipeline,
    "subscriptions": _subscriptions,
    "memory": _memory,
}


@contextmanager
def _progress(name: str) -> Iterator[Callable[[str], object]]:
    """Says on the standard error stream what is being measured, if somebody looks at it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(name) as status:
        yield lambda text: status.update(f"{name}: {text}")


def _check(plot: Path | None) -> None:
    if plot:
        from pointsman.bench.plot import check

        check(plot)


def _show(name: str, results: Any, json: bool) -> None:
    if json:
        show_json(_plain(results))
    else:
        bench_tables.SHOW[name](results)


def _plain(results: Any) -> Any:
    if isinstance(results, dict):
        return {name: _plain(rows) for name, rows in results.items()}
    return [row.as_dict() for row in results]
