"""``pointsman table``: what is about tables as such."""

from __future__ import annotations

import typer

from pointsman.cli import table_diff
from pointsman.cli.output import show_json

app = typer.Typer(help="Compare routing tables, and show their schema.", no_args_is_help=True, rich_markup_mode=None)

app.command("diff")(table_diff.diff)


@app.command()
def schema() -> None:
    """Print the JSON Schema of routing tables, for editors."""
    from pointsman.table.loading.schema import Document

    show_json({"$schema": "https://json-schema.org/draft/2020-12/schema", **Document.model_json_schema()})
