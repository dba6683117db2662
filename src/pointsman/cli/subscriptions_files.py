"""``pointsman subscriptions import`` and ``export``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from pointsman.cli.output import AsJson, show_json
from pointsman.cli.queue_open import QueueFile, open_queue
from pointsman.cli.queue_progress import shown

Form = Annotated[
    str | None,
    typer.Option("--format", metavar="FORMAT", help="jsonl or parquet; by the name of the file unless given."),
]


def import_from(
    file: QueueFile,
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="The file to read; - is standard input.", show_default=False)
    ],
    form: Form = None,
    replace: Annotated[bool, typer.Option("--replace", help="Change those whose ids are there already.")] = False,
    batch: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Store up to so many at a time, and keep what was stored before an error."
        ),
    ] = None,
    skip: Annotated[int, typer.Option(min=0, metavar="N", help="Leave out so many lines or rows.")] = 0,
    json: AsJson = False,
) -> None:
    """Store the subscriptions of a file, all or none of them; the queue's file is made if there is none."""
    from pointsman.subscriptions.files import count_entries, import_file
    from pointsman.subscriptions.registry import Registry

    chosen = cast("Any", form)
    total = count_entries(source, chosen) if sys.stderr.isatty() else None
    with open_queue(file, new=True) as queue, shown(source.name, total) as advance:
        stored = import_file(
            Registry(queue.store), source, form=chosen, replace=replace, batch=batch, skip=skip, progress=advance
        )
    if json:
        show_json(stored._asdict())
    else:
        changed = f", {stored.updated:,} changed" if replace else ""
        typer.echo(f"{stored.created:,} subscriptions created{changed}")


def export_to(
    file: QueueFile,
    target: Annotated[
        Path, typer.Argument(metavar="TARGET", help="The file to write; - is standard output.", show_default=False)
    ],
    form: Form = None,
    owner: Annotated[str | None, typer.Option(metavar="NAME", help="Only those of this owner.")] = None,
) -> None:
    """Write all subscriptions to a file, which appears when it is whole."""
    from pointsman.subscriptions.files import STANDARD, export_file
    from pointsman.subscriptions.registry import Registry

    with open_queue(file) as queue:
        registry = Registry(queue.store)
        with shown(target.name, registry.count() if owner is None else None) as advance:
            count = export_file(registry, target, form=cast("Any", form), owner=owner, progress=advance)
    if target != STANDARD:
        typer.echo(f"{count:,} subscriptions written to {target}")
