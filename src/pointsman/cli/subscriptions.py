"""``pointsman subscriptions``: wildcard subscriptions in the file of a queue."""

from __future__ import annotations

import typer

from pointsman.cli import subscriptions_change, subscriptions_files, subscriptions_look

app = typer.Typer(help="Keep wildcard subscriptions in a queue's file.", no_args_is_help=True, rich_markup_mode=None)

app.command("create")(subscriptions_change.create)
app.command("get")(subscriptions_look.get)
app.command("list")(subscriptions_look.list_all)
app.command("update")(subscriptions_change.update)
app.command("delete")(subscriptions_change.delete)
app.command("enable")(subscriptions_change.enable)
app.command("disable")(subscriptions_change.disable)
app.command("changes")(subscriptions_look.changes)
app.command("resolve")(subscriptions_look.resolve)
app.command("import")(subscriptions_files.import_from)
app.command("export")(subscriptions_files.export_to)
