"""What the source sends to SQLite uses the index that it is meant to use."""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import pytest

from pointsman import Queue
from pointsman.pipeline.queue_source import sql

TEXTS = {name: text for name, text in vars(sql).items() if name.isupper() and isinstance(text, str)}
MESSAGE = ("SEARCH m USING INTEGER PRIMARY KEY (rowid=?)",)
KEY = ("SEARCH k USING INTEGER PRIMARY KEY (rowid=?)",)
PLANS: dict[str, tuple[str, ...]] = {
    "BOUNDS": (
        "SCAN CONSTANT ROW", "SCALAR SUBQUERY 1", "SEARCH message", "SCALAR SUBQUERY 2", "SEARCH message",
    ),
    "MESSAGES": ("SEARCH m USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)", *KEY),
    "READY": (
        "SEARCH r USING PRIMARY KEY (subscription=? AND priority=? AND (sequence,via)>(?,?) AND sequence<?)",
        *MESSAGE, *KEY,
    ),
    "TAKEN": ("SEARCH l USING PRIMARY KEY (until>? AND until<?)", *MESSAGE, *KEY),
    "SUBSCRIPTION": ("SEARCH subscription USING INDEX sqlite_autoindex_subscription_1 (name=?)",),
    "READY_ANY": ("SEARCH ready USING PRIMARY KEY (subscription=?)",),
    "DELAYED_ANY": ("SEARCH delayed USING PRIMARY KEY (due<?)",),
    "LEASED_ANY": ("SEARCH leased USING PRIMARY KEY (until<?)",),
    # The rows come in their order, and are counted as they come: nothing is sorted.
    "TAKE": (
        "CO-ROUTINE (subquery-3)", "CO-ROUTINE (subquery-1)", "SEARCH ready USING PRIMARY KEY (subscription=?)",
        "SCAN (subquery-1)", "SCAN (subquery-3)",
    ),
    "TAKEN_LAST": ("SEARCH leased USING PRIMARY KEY (until>? AND until<?)",),
    "READY_DELETE": (
        "SEARCH ready USING PRIMARY KEY (subscription=? AND priority=? AND sequence=? AND via=?)",
        "LIST SUBQUERY 2",
        "SEARCH leased USING PRIMARY KEY (until>? AND until<?)",
    ),
    "TAKEN_EXPIRED": ("SEARCH l USING PRIMARY KEY (until>? AND until<?)", *MESSAGE),
    "TAKEN_END": ("SEARCH leased USING PRIMARY KEY (until>? AND until<?)",),
    "TAKEN_BACK": ("SEARCH leased USING PRIMARY KEY (until>? AND until<?)",),
    "TAKEN_FORGET_TEXTS": (
        "SEARCH leased USING PRIMARY KEY (until=? AND subscription=? AND sequence=? AND via=?)",
    ),
    "UNFINISHED": ("SEARCH state USING PRIMARY KEY (kind=?)",),
}  # fmt: skip


@pytest.fixture(scope="module")
def connection() -> Iterator[apsw.Connection]:
    """The tables of a queue."""
    with Queue(":memory:") as queue:
        yield queue.store.writer.connection


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_statement_uses_its_index(connection: apsw.Connection, name: str) -> None:
    """As SQLite explains it."""
    count = max([int(part[0]) for part in TEXTS[name].split("?")[1:] if part[:1].isdigit()] or [TEXTS[name].count("?")])
    rows = connection.execute(f"EXPLAIN QUERY PLAN {TEXTS[name]}", (1,) * count)
    assert tuple(row[3].removesuffix(" LEFT-JOIN") for row in rows) == PLANS[name]
