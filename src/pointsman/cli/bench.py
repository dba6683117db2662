"""``pointsman bench``: speed, measured against what one would use otherwise, in one run."""

from __future__ import annotations

import typer

from pointsman.cli.output import AsJson, show_json

app = typer.Typer(help="Measure speed against peers.", no_args_is_help=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def bench(context: typer.Context, json: AsJson = False) -> None:
    """Measure speed against peers; without a name, all of it."""
    if context.invoked_subcommand is None:
        patterns(json=json)


@app.command()
def patterns(json: AsJson = False) -> None:
    """One pattern against one subject: Pattern.matches and Python's re, on ordinary and on hostile patterns."""
    from pointsman.bench.patterns import run

    rows = run()
    if json:
        show_json([row.as_dict() for row in rows])
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Microseconds a match (CPU, best of 5)", title_justify="left")
    for heading in ("case", "pattern", "Pattern", "re", "re / Pattern"):
        table.add_column(heading, justify="left" if heading in ("case", "pattern") else "right")
    for row in rows:
        table.add_row(row.name, row.shown, f"{row.pattern:.2f}", f"{row.regex:.2f}", f"{row.regex / row.pattern:.1f}")
    Console().print(table)
