"""``pointsman conformance``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pointsman.cli.output import AsJson, show_json


def conformance(
    files: Annotated[list[Path], typer.Argument(help="Files of cases.", metavar="FILE...")],
    json: AsJson = False,
) -> int:
    """Judge cases taken from the behaviour of real servers.

    Prints each case that fails and a closing count. Ends with 1 when one failed, with 2 when a file is no use.
    """
    from pointsman.conformance import judge_file

    outcomes = [(file, outcome) for file in files for outcome in judge_file(file)]
    failed = [(file, outcome) for file, outcome in outcomes if not outcome.passed]
    if json:
        show_json(
            {
                "passed": len(outcomes) - len(failed),
                "failed": len(failed),
                "failures": [
                    {"file": str(file), "case": outcome.case, "expected": outcome.expected, "got": outcome.got}
                    for file, outcome in failed
                ],
            }
        )
    else:
        for file, outcome in failed:
            typer.echo(f"{file}: {outcome.case}\n    expected {outcome.expected!r}, got {outcome.got!r}")
        typer.echo(f"{len(outcomes) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0
