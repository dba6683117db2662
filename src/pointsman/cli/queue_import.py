"""``pointsman queue import``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointsman.cli.output import AsJson, show_json
from pointsman.cli.queue_open import open_queue
from pointsman.cli.queue_progress import shown
from pointsman.errors import InputError

if TYPE_CHECKING:
    from pointsman.store.migrate.patterns import LegacyTranslation, Usage
    from pointsman.store.migrate.run import ImportReport


def import_database(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The database of MiniQ or litequeue.")],
    queue: Annotated[Path, typer.Argument(metavar="QUEUE", help="The queue's file; made if there is none.")],
    table: Annotated[str | None, typer.Option(metavar="NAME", help="The table, if several hold messages.")] = None,
    kind: Annotated[str, typer.Option(metavar="KIND", help="miniq, litequeue, or auto to go by the columns.")] = "auto",
    dialect: Annotated[
        str | None,
        typer.Option("--dialect", "-d", metavar="NAME", help="The dialect of a new queue's keys; amqp if not given."),
    ] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY", help="The key of messages without a topic.")] = None,
    pattern: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="A pattern of the old consumers' to translate; any number of times."),
    ] = None,
    patterns: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file of such patterns, one in each line.")
    ] = None,
    json: AsJson = False,
) -> int:
    """Take over the messages of a MiniQ or litequeue database, and translate the patterns of its consumers.

    SOURCE is only read. An import that was broken off goes on where it was when it is started again. Ends with 0, or
    with 1 if what was taken over does not add up with what SOURCE holds.
    """
    from pointsman.store.migrate.run import import_database as run

    translations, used, segmented, total = _translated(source, table, kind, [*(pattern or ()), *_lines(patterns)])
    reached = 0
    with open_queue(queue, new=True, dialect=dialect) as taking, shown(source.name, total) as advance:

        def progress(done: int, _: int) -> None:
            nonlocal reached
            advance(done - reached)
            reached = done

        report = run(taking, source, table=table, kind=kind, key=key, progress=progress)
    if json:
        each = [translation.as_dict() | usage.as_dict() for translation, usage in zip(translations, used, strict=True)]
        show_json({**report.as_dict(), "queue": str(queue), "patterns": each, "word_by_word": segmented})
    else:
        _show(report, queue)
        _show_patterns(translations, used, segmented)
    return 0 if report.adds_up else 1


def _lines(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        return [line for line in path.read_text(encoding="utf-8").splitlines() if line]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("no-file", f"the patterns cannot be read: {error}", file=str(path)) from error


def _translated(
    source: Path, table: str | None, kind: str, patterns: list[str]
) -> tuple[list[LegacyTranslation], list[Usage], bool, int]:
    """What each pattern is now, and what it takes; whether the old queue matched word by word; how many messages."""
    from pointsman.store.migrate.patterns import translate_all, usage
    from pointsman.store.migrate.source import Source, opened

    with opened(source) as database:
        found = Source(database, table, kind)
        translations = translate_all(patterns, segmented=found.segmented)
        used = usage(translations, found.topics(), segmented=found.segmented) if translations else []
        return translations, used, found.segmented, sum(found.counts().values())


def _show(report: ImportReport, queue: Path) -> None:
    typer.echo(f"{report.source}, table {report.table} of {report.kind} -> {queue}")
    already = f", {report.already:,} of them by an earlier run" if report.already else ""
    typer.echo(f"{report.already + report.read:,} of {report.rows:,} messages taken over{already}")
    was = ", ".join(f"{count:,} {status}" for status, count in report.statuses.items())
    became = ", ".join(f"{count:,} {state}" for state, count in report.states.items())
    typer.echo(f"  they were   {was or 'none'}")
    typer.echo(f"  they are    {became or 'none'}")
    for each in report.changed:
        typer.echo(f"  {each.messages:>9,}   {each.change}: {', '.join(each.samples)}")
    if report.adds_up:
        typer.echo("the counts of both sides agree")
    else:
        typer.echo(f"{typer.style('error', fg='red', bold=True)}: the counts of both sides do not agree", err=True)


def _show_patterns(translations: list[LegacyTranslation], used: list[Usage], segmented: bool) -> None:
    from pointsman.store.migrate.convert import shown as quoted

    widest_old = max((len(each.old) for each in translations), default=0)
    widest_new = max((len(" ".join(each.new)) for each in translations), default=0)
    for each, usage in zip(translations, used, strict=True):
        fit = typer.style(each.fit, fg="yellow" if each.differences else "green")
        new = " ".join(each.new)
        typer.echo(f"\n{each.old:<{widest_old}}  ->  {new:<{widest_new}}  {fit}: {each.meaning}")
        typer.echo(f"    messages here: {usage.before:,} before, {usage.now:,} now")
        for label, topics in (("only before", usage.lost), ("only now", usage.gained)):
            if topics:
                typer.echo(f"    {label}: {', '.join(map(quoted, topics))}")
        for difference in filter(None, each.differences.split("; ")):
            typer.echo(f"    {difference}")
        if each.zato is not None and each.differences:
            typer.echo(f"    just the old meaning, in the dialect zato: {each.zato}")
    if translations and segmented:
        typer.echo("\nThis MiniQ matched word by word: its patterns are amqp already, and stay as they are.")
