"""Subscriptions for files, straight from what is stored: a page at a time, as columns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from pointsman.subscriptions import statements
from pointsman.subscriptions.condition_texts import ConditionTexts
from pointsman.subscriptions.control import Reader
from pointsman.subscriptions.registry import Registry

PAGE = 10_000
"""Subscriptions that are read together at most."""
MOST_CHARACTERS = 800_000
"""Of stored conditions that are written together; long ones have thousands of matchers."""


class Columns(NamedTuple):
    """The fields of subscriptions in the order in which they are written, each a column."""

    id: Sequence[str]
    owner: Sequence[str]
    destinations: Sequence[str]
    """JSON texts."""
    pattern: Sequence[str | None]
    dialect: Sequence[str | None]
    condition: Sequence[str | None]
    """JSON texts."""
    enabled: Sequence[int]
    expires: Sequence[float | None]
    description: Sequence[str | None]


def exported(registry: Registry, owner: str | None) -> Iterator[Columns]:
    """All subscriptions, or those of an owner, by ascending number; what is on a page is as of one instant."""
    texts, after = ConditionTexts(), 0
    while True:
        with registry.reading() as connection:
            if owner is None:
                rows = connection.execute(statements.SUBSCRIPTIONS_AFTER, (after, PAGE)).fetchall()
            else:
                rows = connection.execute(statements.SUBSCRIPTIONS_OF_OWNER, (owner, after, PAGE)).fetchall()
            if not rows:
                return
            rows = _not_too_long(rows)
            _, _, *fields = zip(*rows, strict=True)
            columns = Columns(*fields)
            columns = columns._replace(condition=_conditions(columns.condition, texts, connection))
        yield columns
        after = rows[-1][0]


def _conditions(trees: Sequence[str | None], texts: ConditionTexts, connection: Reader) -> Sequence[str | None]:
    known = texts.of([tree for tree in trees if tree is not None], connection)
    if len(known) == len(trees):
        return known
    coming = iter(known)
    return [None if tree is None else next(coming) for tree in trees]


def _not_too_long(rows: list[Any]) -> list[Any]:
    """The first of these rows, at least one, of whose conditions there is not too much."""
    place = Columns._fields.index("condition") + 2
    characters = list(accumulate(len(row[place] or "") for row in rows))
    return rows[: max(1, bisect_right(characters, MOST_CHARACTERS))]
