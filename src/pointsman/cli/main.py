"""The ``pointsman`` command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from pointsman import _version
from pointsman._util.extras import as_missing_extra
from pointsman.cli.commands import Commands
from pointsman.cli.output import show_error
from pointsman.cli.spark_log import error_stream
from pointsman.errors import InputError, PointsmanError

app = typer.Typer(
    name="pointsman",
    cls=Commands,
    help="Decides who gets which message: routing by hierarchical subject.",
    no_args_is_help=True,
    add_completion=False,
    # Plain help: drawing it with rich costs half of the time a short command takes.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pointsman {_version.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line and ends the process: 0 done, 1 the answer is no, 2 bad input, 130 interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(_run(given))


def _run(arguments: list[str]) -> int:
    as_json = "--json" in arguments
    try:
        result = app(arguments, prog_name="pointsman", standalone_mode=False)
    except PointsmanError as error:
        show_error(error, as_json=as_json, file=error_stream())
        return 2
    except ModuleNotFoundError as error:
        missing = as_missing_extra(error)
        if missing is None:
            raise
        show_error(missing, as_json=as_json, file=error_stream())
        return 2
    except typer.Abort:
        return 130
    except Exception as error:
        # typer's own errors about the arguments; it gives them no public base class.
        if not hasattr(error, "format_message"):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(error.format_message())
            return 0
        show_error(InputError("bad-usage", error.format_message()), as_json=as_json)
        return 2
    return result if isinstance(result, int) else 0
