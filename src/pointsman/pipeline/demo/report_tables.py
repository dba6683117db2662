"""Tables as the demo prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def new_table(title: str, *headings: str, right: tuple[str, ...] = ()) -> Table:
    """A table without lines; the columns named in ``right`` are aligned there."""
    from rich.table import Table

    table = Table(
        title=f"\n{title}",
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
    )
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left", header_style="dim")
    return table


def add_row(table: Table, *cells: str) -> None:
    """Adds a row whose texts are shown as they are, without markup."""
    from rich.text import Text

    table.add_row(*map(Text, cells))
