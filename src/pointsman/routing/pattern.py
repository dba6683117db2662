"""Pattern routing: every route whose pattern matches."""

from __future__ import annotations

from collections.abc import Iterable

from pointsman.routing.selection import Route, Selection, in_table_order


def select(candidates: Iterable[Route]) -> Selection[Route]:
    """All of them, in the order of the table."""
    return Selection(tuple(in_table_order(candidates)))
