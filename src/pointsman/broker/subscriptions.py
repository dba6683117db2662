"""The wildcard subscriptions of a broker: ``broker.subscriptions``."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pointsman.conditions import Condition, read_condition
from pointsman.errors import AccessError, StoreError
from pointsman.patterns.pattern import Pattern
from pointsman.store.store import Store
from pointsman.subscriptions.gates import Leaf
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.registry import PAGE, Change, Registry
from pointsman.subscriptions.rows import StoredSubscription
from pointsman.table.routing_table import RoutingTable

LOG = logging.getLogger("pointsman.broker")
EVERYTHING = {"nats": ">", "amqp": "#", "zato": "**", "mqtt": "#"}
"""The widest pattern of each dialect."""
Result = TypeVar("Result")


class BrokerSubscriptions:
    """Makes, reads, changes and deletes wildcard subscriptions; each change takes effect on the next message.

    A message that matches goes to the destinations of the subscription, which are those of the routing table, as far as
    its owner may read the subject; to each of them once for each owner, however many of the owner's subscriptions
    match. Belongs to one event loop, as the broker does. Calls raise ``StoreError`` as those of ``Registry`` do.
    """

    def __init__(self, table: RoutingTable, store: Callable[[], Store]) -> None:
        self._table = table
        self._store = store

    async def create(self, subscription: WildcardSubscription | None = None, /, **fields: Any) -> int:
        """Stores a new subscription, given as such or by its fields, and gives its number.

        As fields, the ``pattern`` may be a text in the ``dialect`` of the table or another, and the ``condition`` the
        data of ``docs/conditions.md``. Raises ``InputError`` (``bad-subscription``, ``bad-condition``),
        ``PatternError``, and ``StoreError``: ``subscription-exists``, and ``no-destination`` for a destination that the
        table has not; ``AccessError`` (``subscribe-refused``) when the owner may read nothing of it. When it is
        narrowed to less than it asks for, the log of the broker says so.
        """
        made = self._checked(subscription, fields)
        return await self._run(lambda registry: registry.create(made))

    async def update(self, subscription: WildcardSubscription | None = None, /, **fields: Any) -> None:
        """Makes the subscription of this id what is given.

        Raises as ``create``, and ``StoreError`` (``no-wildcard-subscription``).
        """
        made = self._checked(subscription, fields)
        await self._run(lambda registry: registry.update(made))

    async def get(self, id: str) -> StoredSubscription | None:
        """The subscription of this id; None if there is none."""
        return await self._run(lambda registry: registry.get(id))

    async def delete(self, id: str) -> bool:
        """Deletes the subscription of this id; False if there was none."""
        return await self._run(lambda registry: registry.delete(id))

    async def enable(self, id: str, enabled: bool = True) -> None:
        """Enables or disables the subscription of this id. Raises ``StoreError`` (``no-wildcard-subscription``)."""
        await self._run(lambda registry: registry.enable(id, enabled))

    async def count(self) -> int:
        """How many there are."""
        return await self._run(lambda registry: registry.count())

    async def list(self, limit: int = PAGE, after: int = 0) -> Sequence[StoredSubscription]:
        """A page of all, by ascending number; ``after`` is that of the last one of the page before."""
        return await self._run(lambda registry: registry.list(limit, after))

    async def by_owner(self, owner: str, limit: int = PAGE, after: int = 0) -> Sequence[StoredSubscription]:
        """A page of those of an owner."""
        return await self._run(lambda registry: registry.by_owner(owner, limit, after))

    async def by_matcher(self, matcher: Leaf, limit: int = PAGE, after: int = 0) -> Sequence[StoredSubscription]:
        """A page of those in whose condition this very matcher, or number comparison, stands."""
        return await self._run(lambda registry: registry.by_matcher(matcher, limit, after))

    async def changes(self, after: int = 0, limit: int = PAGE) -> Sequence[Change]:
        """A page of changes, by ascending version."""
        return await self._run(lambda registry: registry.changes(after, limit))

    async def _run(self, call: Callable[[Registry], Result]) -> Result:
        return await asyncio.to_thread(call, Registry(self._store()))

    def _checked(self, subscription: WildcardSubscription | None, fields: dict[str, Any]) -> WildcardSubscription:
        made = _made(self._table, fields) if subscription is None else subscription
        for name in made.destinations:
            if name not in self._table.destinations:
                raise StoreError("no-destination", f"the table has no destination {name!r}")
        self._check_owner(made)
        return made

    def _check_owner(self, subscription: WildcardSubscription) -> None:
        """Raises ``AccessError`` if the owner may read nothing of it, as far as that can be told from the pattern."""
        access, dialect = self._table.access, self._table.dialect
        pattern = subscription.pattern
        if access is None:
            return
        if pattern is None or pattern.dialect != dialect:
            # Rules of another dialect say nothing about the pattern; each message is checked by its subject.
            pattern = Pattern(EVERYTHING[dialect.name], dialect)
        narrowing = access.narrow(subscription.owner, pattern)
        if narrowing.nothing:
            raise AccessError("subscribe-refused", narrowing.reason, text=pattern.text)
        LOG.info("%s: %s", subscription.id, narrowing.reason)


def _made(table: RoutingTable, fields: dict[str, Any]) -> WildcardSubscription:
    dialect = fields.pop("dialect", None) or table.dialect
    pattern: Pattern | str | None = fields.pop("pattern", None)
    condition: Condition | Mapping[str, Any] | None = fields.pop("condition", None)
    if isinstance(pattern, str):
        pattern = Pattern(pattern, dialect)
    if isinstance(condition, Mapping):
        condition = read_condition(condition)
    return WildcardSubscription(**fields, pattern=pattern, condition=condition)
