"""``pointsman queue``: a durable queue in a file."""

from __future__ import annotations

import typer

from pointsman.cli import queue_doctor, queue_import, queue_keep, queue_look, queue_put, queue_tail, queue_take

app = typer.Typer(help="Use a durable queue in a file.", no_args_is_help=True, rich_markup_mode=None)

app.command("put")(queue_put.put)
app.command("pop")(queue_take.pop)
app.command("ack")(queue_take.ack)
app.command("peek")(queue_look.peek)
app.command("tail")(queue_tail.tail)
app.command("size")(queue_look.size)
app.command("dead")(queue_look.dead)
app.command("requeue")(queue_keep.requeue)
app.command("prune")(queue_keep.prune)
app.command("import")(queue_import.import_database)
app.command("doctor")(queue_doctor.doctor)
