"""Wildcard subscriptions as a process resolves them: matchers in memory, subscriptions in the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pointsman.store.connection import MEMORY
from pointsman.store.store import Store
from pointsman.store.transaction import SECOND, Transaction
from pointsman.subscriptions.candidates import Subscriptions
from pointsman.subscriptions.control import Control
from pointsman.subscriptions.matchers import Matchers
from pointsman.subscriptions.matches import Spill
from pointsman.subscriptions.registry import Registry
from pointsman.subscriptions.resolver import PAGE, Resolver


class LiveSubscriptions:
    """The live form: whatever is changed, by any process, takes effect on the next message that is resolved.

    Not safe between threads, but for those that take turns within the transactions of a store.
    """

    def __init__(self, store: Store, page: int = PAGE) -> None:
        self._store = store
        self._registry = Registry(store)
        self._page = page
        self._matchers = Matchers()
        self._unsure: tuple[Transaction, int] | None = None
        self.spill = Spill()

    def resolver(self, transaction: Transaction) -> Resolver | None:
        """What resolves messages in this transaction; None if there are no subscriptions at all."""
        control = Control.read(transaction)
        if not control.subscriptions:
            return None
        self._check_undone(transaction)
        if control.version != self._matchers.version:
            self._refresh(transaction, control)
        return self._resolver(Subscriptions(transaction, transaction.now / SECOND))

    @contextmanager
    def reading(self) -> Iterator[Resolver]:
        """What resolves messages as of one instant, outside of any transaction."""
        with self._registry.reading() as connection:
            self._matchers.refresh(connection)
            yield self._resolver(Subscriptions(connection, self._store.settings.clock()))

    def close(self) -> None:
        """Gives back what is held."""
        self.spill.close()
        self._matchers.forget()

    def _resolver(self, subscriptions: Subscriptions) -> Resolver:
        return Resolver(self._matchers, subscriptions, self.spill, self._page)

    def _refresh(self, transaction: Transaction, control: Control) -> None:
        """Takes up what is committed: what this transaction has changed itself may still be undone."""
        if transaction.is_unchanged:
            self._matchers.refresh(transaction, control)
        elif self._store.path == MEMORY:
            # There is no second connection to it, so that it must be found out afterwards what was undone.
            self._unsure = (transaction, transaction.commits)
            self._matchers.refresh(transaction, control)
        else:
            with self._registry.reading() as connection:
                self._matchers.refresh(connection)

    def _check_undone(self, transaction: Transaction) -> None:
        """A transaction whose changes were taken up may not have come to its end."""
        if self._unsure is None or self._unsure[0] is transaction:
            return
        unsure, commits = self._unsure
        self._unsure = None
        if unsure.commits == commits:
            self._matchers.forget()
