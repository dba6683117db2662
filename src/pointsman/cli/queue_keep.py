"""``pointsman queue requeue`` and ``prune``: upkeep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pointsman.cli.queue_open import QueueFile, SubscriptionName, open_queue, read_duration
from pointsman.cli.queue_progress import shown
from pointsman.cli.queue_show import visible
from pointsman.errors import InputError


def requeue(
    file: QueueFile,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Those of these messages.", show_default=False)
    ] = None,
    subscription: SubscriptionName = None,
    everything: Annotated[bool, typer.Option("--all", help="All dead letters.")] = False,
) -> int:
    """Make dead letters ready again, with all their attempts before them.

    Ends with 1 when a message that is named has none.
    """
    from pointsman.store import maintenance

    if bool(ids) == everything:
        raise InputError("bad-usage", "name the ids of messages, or give --all, and not both")
    without: list[str] = []
    with open_queue(file) as queue, shown("requeue") as advance:
        if everything:
            count = maintenance.requeue(queue.store, None, subscription, advance)
        else:
            count = 0
            for id in ids or ():
                moved = queue.requeue([id], subscription=subscription)
                count += moved
                advance(1)
                without += [] if moved else [id]
    typer.echo(f"{count:,} dead {_letters(count)} ready again")
    for id in without:
        typer.echo(f"{visible(id)}: no dead letter has this id", err=True)
    return 1 if without else 0


def prune(
    file: QueueFile,
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="TIME", help="Only what was done so long ago: 12h, 7d.")
    ] = "0s",
    archive: Annotated[bool, typer.Option("--archive", help="Keep it as archived, instead of deleting it.")] = False,
    vacuum: Annotated[bool, typer.Option("--vacuum", help="Then give unused room back to the disk.")] = False,
) -> None:
    """Delete the messages that are done, or archive them."""
    from pointsman.store import maintenance
    from pointsman.store.message import microseconds

    age = microseconds(read_duration(older_than, "--older-than"), "--older-than")
    with open_queue(file) as queue:
        with shown("prune") as advance:
            count = maintenance.prune(queue.store, age, archive=archive, progress=advance)
        typer.echo(f"{count:,} {'message' if count == 1 else 'messages'} {'archived' if archive else 'deleted'}")
        if vacuum:
            before = _bytes(file)
            with shown("vacuum"):
                queue.vacuum()
            typer.echo(f"{before:,} bytes before the vacuum, {_bytes(file):,} after it")


def _letters(count: int) -> str:
    return "letter is" if count == 1 else "letters are"


def _bytes(file: Path) -> int:
    """The file, and what SQLite has not yet written into it."""
    log = Path(f"{file}-wal")
    return file.stat().st_size + (log.stat().st_size if log.exists() else 0)
