"""Direct routing: one exact subject, one handler.

The pattern of a direct route has no wildcard, so an index finds at most the routes of this very subject. Of several
for one subject, the first in the table is taken.
"""

from __future__ import annotations

from collections.abc import Iterable

from pointsman.errors import InputError
from pointsman.patterns.pattern import Pattern
from pointsman.routing.selection import Rejection, Route, Selection, in_table_order


def check_direct(pattern: Pattern) -> None:
    """Raises ``InputError`` (``not-exact``) for a pattern with a wildcard, which no direct route can have."""
    if not pattern.is_literal:
        raise InputError("not-exact", f"{pattern.text!r} has a wildcard; a direct route has none", text=pattern.text)


def select(candidates: Iterable[Route]) -> Selection[Route]:
    """The first in the table; nothing when there is none."""
    ordered = in_table_order(candidates)
    return Selection(
        tuple(ordered[:1]),
        tuple(
            Rejection(each, f"{ordered[0].name!r} has the same subject and comes first in the table")
            for each in ordered[1:]
        ),
    )
