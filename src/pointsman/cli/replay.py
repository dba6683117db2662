"""``pointsman replay``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointsman.cli.output import AsJson, show_json
from pointsman.cli.spark import doing, session

if TYPE_CHECKING:
    from pointsman.pipeline.replay import Replayed


def replay(
    pipeline: Annotated[Path, typer.Argument(metavar="PIPELINE", help="The YAML file of the pipeline.")],
    destination: Annotated[
        str | None, typer.Option("--destination", "-d", metavar="NAME", help="Only those for this destination.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what is there, and deliver nothing.")] = False,
    environment: Annotated[
        str | None, typer.Option("--environment", "--env", "-e", metavar="NAME", help="Which environment of the table.")
    ] = None,
    master: Annotated[
        str | None, typer.Option("--master", metavar="URL", help="Where Spark runs; the file says it otherwise.")
    ] = None,
    json: AsJson = False,
) -> int:
    """Deliver the dead letters of a pipeline again, each under the same delivery id.

    Those that are delivered are dead no more; the rest stays, with the new reason. It can be repeated at any time. The
    exit code is 1 if dead letters are left.
    """
    from pointsman.pipeline.config import PipelineFile, destinations_of
    from pointsman.pipeline.queue_source import register
    from pointsman.pipeline.replay import Replayer
    from pointsman.table.routing_table import RoutingTable

    file = PipelineFile.load(pipeline)
    written = file.written
    table = RoutingTable.load(file.at(written.table), environment or written.environment)
    destinations_of(file).check(table)
    done: list[Replayed] = []
    with session("pointsman replay", master or written.master, **written.spark) as spark:
        register(spark)
        replayer = Replayer(spark, file, table, file.at(written.checkpoint))
        folders = replayer.folders(destination)
        for number, folder in enumerate(folders, 1):
            with doing(f"{number} of {len(folders)}: {folder.destination}, batch {folder.batch} …"):
                done.append(replayer.look(folder) if dry_run else replayer.replay(folder))
    left = sum(each.letters - each.delivered for each in done)
    if json:
        letters = sum(each.letters for each in done)
        batches = [each._asdict() for each in done]
        show_json(
            {"dry_run": dry_run, "letters": letters, "delivered": letters - left, "dead": left, "batches": batches}
        )
    else:
        _show(done, dry_run=dry_run)
    return 1 if left else 0


def _show(done: list[Replayed], *, dry_run: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not done:
        console.print("There are no dead letters.")
        return
    shown = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("destination", "letters", "delivered", "dead", "reason"):
        shown.add_column(heading, justify="right" if heading in ("letters", "delivered", "dead") else "left")
    for name in sorted({each.destination for each in done}):
        own = [each for each in done if each.destination == name]
        letters, delivered = sum(each.letters for each in own), sum(each.delivered for each in own)
        reason = next((each.reason for each in own if each.reason), "")
        shown.add_row(name, f"{letters:,}", f"{delivered:,}", f"{letters - delivered:,}", reason)
    console.print(shown)
    if dry_run:
        console.print("Nothing was delivered.")
