"""``pointsman graph``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointsman.cli.explain import Environment, TableFile
from pointsman.errors import InputError

if TYPE_CHECKING:
    from pointsman.table.routing_table import RoutingTable
    from pointsman.table.tools.graph import Graph

TEXTS = (".mmd", ".mermaid", ".txt")


def graph(
    table: TableFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="A .mmd, .svg or .png file to write.")
    ] = None,
    saga: Annotated[
        str | None, typer.Option("--saga", metavar="NAME", help="The states of a saga, instead of the routes.")
    ] = None,
    route: Annotated[
        list[str] | None, typer.Option("--route", metavar="NAME", help="Only this route; may be given again.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many routes.")] = 100,
    environment: Environment = None,
) -> int:
    """Draw a routing table: from patterns to routes to destinations, as Mermaid text, SVG or PNG."""
    from pointsman.table.routing_table import RoutingTable
    from pointsman.table.tools.graph import graph_of_table

    loaded = RoutingTable.load(table, environment)
    made = graph_of_table(loaded, route or (), limit) if saga is None else _saga(loaded, saga)
    if output is not None and output.suffix.lower() not in TEXTS:
        from pointsman.table.tools.image import draw

        draw(made, output)
    else:
        _write(made, output, is_saga=saga is not None)
    if made.shown < made.total:
        typer.echo(f"{made.shown} of {made.total} routes are shown", err=True)
    return 0


def _saga(loaded: RoutingTable, name: str) -> Graph:
    from pointsman.table.tools.graph import graph_of_saga

    if name not in loaded.sagas:
        raise InputError("no-such-entry", f"there is no saga {name!r}; there are {', '.join(loaded.sagas) or 'none'}")
    return graph_of_saga(loaded.sagas[name])


def _write(made: Graph, output: Path | None, *, is_saga: bool) -> None:
    from pointsman.table.tools.mermaid import write_flowchart, write_state_diagram

    text = write_state_diagram(made) if is_saga else write_flowchart(made)
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError("no-file", f"it cannot be written: {error.strerror}", file=str(output)) from None
