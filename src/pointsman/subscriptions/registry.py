"""The wildcard subscriptions of a queue's file: made, read, changed, deleted and searched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from pointsman.errors import InputError, StoreError
from pointsman.store import statements as store_statements
from pointsman.store.store import Store
from pointsman.store.transaction import Transaction
from pointsman.subscriptions import pages, statements
from pointsman.subscriptions.control import Control, Reader
from pointsman.subscriptions.gates import Leaf
from pointsman.subscriptions.importing import Import, Imported, Progress
from pointsman.subscriptions.leaf_rows import leaf_row
from pointsman.subscriptions.limits import LIMITS, Limits
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.rows import StoredSubscription, SubscriptionReader
from pointsman.subscriptions.storing import Storing

PAGE = 100
"""Entries of a page, unless the caller says otherwise."""
Result = TypeVar("Result")


class Change(NamedTuple):
    """The last change of a subscription."""

    version: int
    kind: str
    """``created``, ``updated``, ``deleted``, or ``forgotten``, which is no change of a subscription: deletions up to
    this version are not listed any more. Of what was known before, only what ``list`` has now is still there.
    """
    number: int
    id: str


class Registry:
    """The wildcard subscriptions in the file of a queue: ``Registry(queue.store)``.

    Safe between threads and processes; every change is a transaction. Listings come in pages, by ascending number:
    ``after`` is the number of the last one of the page before, and an empty page ends them. Calls raise ``StoreError``
    as those of the queue do; then nothing of the call is stored.
    """

    def __init__(self, store: Store, limits: Limits = LIMITS) -> None:
        self._store = store
        self.limits = limits
        """How large conditions may be, and how many deletions are kept."""

    def create(self, subscription: WildcardSubscription) -> int:
        """Stores a new subscription, and gives its number.

        Raises ``StoreError`` (``subscription-exists``) and ``InputError`` (``bad-subscription``) beyond the limits.
        """
        return self._change(lambda storing: storing.add(subscription))

    def get(self, id: str) -> StoredSubscription | None:
        """The subscription of this id; None if there is none."""
        found = self._read(statements.SUBSCRIPTION_BY_ID, (id,))
        return found[0] if found else None

    def update(self, subscription: WildcardSubscription) -> None:
        """Makes the subscription of this id what is given; it keeps its number.

        Raises ``StoreError`` (``no-wildcard-subscription``) and ``InputError`` (``bad-subscription``).
        """
        self._change(lambda storing: storing.change(_found(storing, subscription.id), subscription))

    def delete(self, id: str) -> bool:
        """Deletes the subscription of this id, and matchers that nobody else has; False if there was none."""

        def delete(storing: Storing) -> bool:
            found = storing.find(id)
            if found is not None:
                storing.remove(found, id)
            return found is not None

        return self._change(delete)

    def enable(self, id: str, enabled: bool = True) -> None:
        """Enables or disables the subscription of this id. Raises ``StoreError`` (``no-wildcard-subscription``)."""

        def enable(transaction: Transaction) -> None:
            rows = SubscriptionReader(transaction).read(transaction.execute(statements.SUBSCRIPTION_BY_ID, (id,)))
            if not rows:
                raise _missing(id)
            if rows[0].subscription.enabled != enabled:
                storing = Storing(transaction, self.limits, noting=True)
                storing.change(_found(storing, id), replace(rows[0].subscription, enabled=enabled))
                storing.finish()

        self._store.write(enable)

    def import_many(
        self, subscriptions: Iterable[WildcardSubscription], *, batch: int | None = None, replace: bool = False
    ) -> Imported:
        """Stores many at once: all in one transaction, or nothing if one of them cannot be.

        With ``replace``, those whose ids are there already are changed; else they are an error
        (``subscription-exists``). With ``batch``, that many share a transaction: others may write between them, and
        what was stored before an error stays.
        """
        running = self.importing(replace=replace)
        if batch is None:
            running.store(subscriptions)
            return running.stored
        source = iter(subscriptions)
        while piece := [*islice(source, _checked(batch))]:
            running.store(piece)
        return running.stored

    def importing(self, *, replace: bool = False, progress: Progress | None = None) -> Import:
        """An import of several transactions, each by a call of ``store``."""
        return Import(self._store, self.limits, replace=replace, progress=progress)

    def count(self) -> int:
        """How many there are."""
        with self.reading() as connection:
            return Control.read(connection).subscriptions

    def list(self, limit: int = PAGE, after: int = 0) -> Sequence[StoredSubscription]:
        """A page of all."""
        return self._read(statements.SUBSCRIPTIONS_AFTER, (after, _checked(limit)))

    def by_owner(self, owner: str, limit: int = PAGE, after: int = 0) -> Sequence[StoredSubscription]:
        """A page of those of an owner."""
        return self._read(statements.SUBSCRIPTIONS_OF_OWNER, (owner, after, _checked(limit)))

    def by_matcher(self, matcher: Leaf, limit: int = PAGE, after: int = 0) -> Sequence[StoredSubscription]:
        """A page of those in whose condition this very matcher, or number comparison, stands."""
        with self.reading() as connection:
            found = next(iter(connection.execute(statements.MATCHER_FIND, leaf_row(matcher))), None)
            if found is None:
                return []
            rows = connection.execute(statements.SUBSCRIPTIONS_OF_MATCHER, (found[0], after, _checked(limit)))
            return pages.subscription_rows(connection, [row[0] for row in rows])

    def changes(self, after: int = 0, limit: int = PAGE) -> Sequence[Change]:
        """A page of changes, by ascending version, ``after`` that of the last one known.

        Each subscription is there once, with its last change, so that who follows them to the end knows what there is.
        So many deletions are kept as the limits say; who is further behind is told so by a change ``forgotten``.
        """
        with self.reading() as connection:
            rows = connection.execute(statements.CHANGES_AFTER, (after, _checked(limit)))
            return [Change(*row) for row in rows]

    def matchers(self, after: int = 0, limit: int = PAGE) -> Sequence[pages.NumberedLeaf]:
        """A page of the distinct matchers and number comparisons of all."""
        with self.reading() as connection:
            return pages.matcher_page(connection, after, _checked(limit))

    def patterns(self, after: int = 0, limit: int = PAGE) -> Sequence[pages.NumberedPattern]:
        """A page of the distinct subject patterns of all."""
        with self.reading() as connection:
            return pages.pattern_page(connection, after, _checked(limit))

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """What is committed, as of one instant, for as many statements as there are in the block."""
        with self._store.read() as connection:
            connection.execute(store_statements.BEGIN_READ)
            try:
                yield connection
            finally:
                connection.execute(store_statements.ROLLBACK)

    def _read(self, statement: str, parameters: tuple[Any, ...]) -> Sequence[StoredSubscription]:
        with self.reading() as connection:
            return SubscriptionReader(connection).read(connection.execute(statement, parameters))

    def _change(self, change: Callable[[Storing], Result]) -> Result:
        def operation(transaction: Transaction) -> Result:
            storing = Storing(transaction, self.limits, noting=True)
            result = change(storing)
            storing.finish()
            return result

        return self._store.write(operation)


def _found(storing: Storing, id: str) -> tuple[int, int | None, str | None]:
    found = storing.find(id)
    if found is None:
        raise _missing(id)
    return found


def _missing(id: str) -> StoreError:
    return StoreError("no-wildcard-subscription", f"there is no subscription {id!r}")


def _checked(limit: int) -> int:
    if limit < 1:
        raise InputError("bad-usage", f"a page has at least one entry, not {limit}")
    return limit
