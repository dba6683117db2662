"""Many subscriptions at once."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from pointsman.store.store import Store
from pointsman.store.transaction import Transaction
from pointsman.subscriptions import statements
from pointsman.subscriptions.limits import Limits
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.storing import Storing

if TYPE_CHECKING:
    from pointsman.subscriptions.bulk.preparing import Prepared

Progress = Callable[[int], None]
"""Is told how many more are done."""
PIECE = 10_000
"""After how many that is."""


class Imported(NamedTuple):
    """What an import has stored."""

    created: int = 0
    updated: int = 0

    @property
    def total(self) -> int:
        """All of it."""
        return self.created + self.updated


class Import:
    """An import, which goes on from one transaction to the next."""

    def __init__(self, store: Store, limits: Limits, *, replace: bool, progress: Progress | None) -> None:
        self._store = store
        self._limits = limits
        self._replace = replace
        self._progress = progress
        self.stored = Imported()
        """What is committed."""

    def store(self, subscriptions: Iterable[WildcardSubscription]) -> None:
        """Stores all of them in one transaction; if that cannot be, none of them."""
        created = updated = told = 0
        with self._store.exclusive() as transaction, _with_memory(transaction):
            storing = Storing(transaction, self._limits)
            for subscription in subscriptions:
                found = storing.find(subscription.id) if self._replace else None
                if found is None:
                    storing.add(subscription)
                    created += 1
                else:
                    storing.change(found, subscription)
                    updated += 1
                if self._progress is not None and created + updated - told == PIECE:
                    self._progress(PIECE)
                    told += PIECE
            storing.finish()
        self.stored = Imported(self.stored.created + created, self.stored.updated + updated)
        if self._progress is not None:
            self._progress(created + updated - told)

    def store_pieces(self, pieces: Iterable[Prepared]) -> None:
        """Stores all subscriptions of pieces of files, likewise; none that is there already is replaced."""
        from pointsman.subscriptions.bulk.adding import Adding
        from pointsman.subscriptions.bulk.compilation import announce

        announce()
        created = 0
        with self._store.exclusive() as transaction, _with_memory(transaction):
            storing = Storing(transaction, self._limits)
            adding = Adding(storing)
            for piece in pieces:
                with _without_collection():
                    count = adding.add(piece)
                created += count
                if self._progress is not None:
                    self._progress(count)
            adding.finish()
            storing.finish()
        self.stored = Imported(self.stored.created + created, self.stored.updated)


@contextmanager
def _with_memory(transaction: Transaction) -> Iterator[None]:
    """More pages are kept in memory meanwhile, as the rows go to many places of the file."""
    transaction.execute(statements.MORE_MEMORY)
    try:
        yield
    finally:
        transaction.execute(statements.USUAL_MEMORY)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Python looks for no garbage in cycles meanwhile: a piece makes many objects, and none that is in a cycle."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
