"""Tables as the demo prints them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.table import Table


Counted = TypeVar("Counted", bound=Any)


def largest_first(counts: Counter[Counted]) -> list[tuple[Counted, int]]:
    """What was counted, the most first; what is there as often as another, by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


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
