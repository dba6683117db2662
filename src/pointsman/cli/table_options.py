"""Arguments and options that the commands about routing tables share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TableFile = Annotated[
    Path, typer.Argument(metavar="TABLE", help="The YAML file of the routing table.", show_default=False)
]
Environment = Annotated[
    str | None, typer.Option("--environment", "-e", metavar="NAME", help="Which environment of the table.")
]
Messages = Annotated[
    Path | None, typer.Option("--messages", "-m", metavar="FILE", help="Messages as JSON Lines, one in each line.")
]
