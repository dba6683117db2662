"""Publishing: a message is made of what is given, decided by the table and stored, in one transaction."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pointsman._util import json_text
from pointsman.broker.derived import commands_of, new_id, result_of
from pointsman.broker.state import StoredState, keep_reply, take_reply, write_changes
from pointsman.broker.wildcards import Targets, Wildcards, bury, check_names, note_of
from pointsman.errors import AccessError, InputError, MessageError, RoutingError, StoreError
from pointsman.message import Message
from pointsman.store import statements
from pointsman.store.message import Draft, data_bytes, write_envelope
from pointsman.store.put import Putter, Target
from pointsman.store.settle import Random
from pointsman.store.store import Store
from pointsman.store.subscriptions import MAIN, add_subscription
from pointsman.store.transaction import SECOND, Transaction
from pointsman.subscriptions.output_adapter import ROUTE, SubscriptionDelivery
from pointsman.table.correlate import Followed, SagaMove
from pointsman.table.decision import Decision, Delivery, Problem
from pointsman.table.routing_table import RoutingTable

Body = bytes | str | Mapping[str, Any] | Sequence[Any]


def make_message(
    store: Store, subject: str | Sequence[str] | Message, body: Body, fields: Mapping[str, Any]
) -> Message:
    """The message; fields that are None count as not given.

    The subject may be given as its segments, or as a whole ``Message``, which has its body and fields already. A body
    that is no text and no bytes is written as JSON. Raises ``MessageError``, ``SubjectError`` and ``StoreError``.
    """
    given = {key: value for key, value in fields.items() if value is not None}
    if isinstance(subject, Message):
        if body or given:
            extra = ", ".join(["body"] * bool(body) + list(given))
            raise MessageError("bad-message", f"it is a whole message already, and {extra} cannot be given besides")
        return subject
    now = store.settings.clock()
    defaults: dict[str, Any] = {"id": new_id(now), "time": datetime.fromtimestamp(now, UTC)}
    if isinstance(body, bytes | str):
        content = data_bytes(body, store.settings.max_bytes)
    else:
        content = json_text.compact(body)
        defaults["content_type"] = "application/json"
    return Message(store.keys.text(subject), content, **defaults | given)


def read_table(
    table: RoutingTable | str | Path | None, environment: str | None, functions: Mapping[str, Callable[..., Any]]
) -> RoutingTable:
    """The table itself, or the one in a file; without any, one that has no routes.

    Raises as ``RoutingTable.load``, and ``InputError``: ``bad-setting`` for a name that the broker keeps for itself,
    ``function-not-given`` for a table that was loaded without its functions.
    """
    if table is None:
        return RoutingTable.parse("dialect: amqp")
    read = table if isinstance(table, RoutingTable) else RoutingTable.load(table, environment, functions)
    check_names(read)
    missing = [name for name, function in read.functions.items() if function is None]
    if missing:
        problem = f"the table needs the Python function {missing[0]!r}: load it with functions={{{missing[0]!r}: …}}"
        raise InputError("function-not-given", problem)
    return read


def check_handler(table: RoutingTable, destination: str) -> None:
    """Raises ``StoreError`` (``no-destination``) unless the table has such a destination, for a handler."""
    known = table.destinations.get(destination)
    if not table.has_destination(destination) or (known is not None and known.type != "handler"):
        raise StoreError("no-destination", f"the table has no destination {destination!r} of the type 'handler'")


# -- publishing: the stages receive, authorize, translate, resolve, select and deliver, in one transaction
#
# What a message moves besides (the commands of a saga, the result of a gathering) is published in the same transaction,
# so that the state and the deliveries that follow from it are there together or not at all.


LOG = logging.getLogger("pointsman.broker")
REPLY_TO = "reply-to"
INBOX = "inbox:"
"""Begins the names of the subscriptions that replies go to."""
TEMPORARY = "temporary:"
"""Begins the names of the subscriptions that end with their process."""
DESTINATION = "destination:"
"""Begins the names of the subscriptions of the table's destinations."""
MOST_FOLLOWING = 1000
"""Messages that may follow from one in its own transaction."""


class Order(NamedTuple):
    """How a message is to be put."""

    priority: int = 5
    delay: float | None = None
    expires: float | None = None
    principal: str | None = None
    inbox: str | None = None
    """The requester's own, where replies may go."""


class Published(NamedTuple):
    """What became of a message."""

    id: str
    subject: str
    """After translation."""
    deliveries: int
    """How many were written for it, to destinations and to subscriptions."""
    duplicate: bool = False
    """Whether it was published before, so that nothing was done."""


class Publisher:
    """Publishes messages in transactions. Safe between threads as far as each transaction is."""

    def __init__(self, store: Store, table: RoutingTable, random: Random) -> None:
        self._store = store
        self._table = table
        self._random = random
        self._routes = {route.name: route for route in table.routes}
        self._wildcards = Wildcards(store, table)

    def close(self) -> None:
        """Gives back what is held; nothing is published afterwards."""
        self._wildcards.close()

    def publish(self, transaction: Transaction, message: Message, order: Order) -> Published:
        """Publishes a message and what follows from it.

        Raises ``AccessError`` (``publish-refused``) when it is not allowed, ``SubjectError`` for a subject that cannot
        be stored, ``RoutingError`` (``endless-saga``) when more follows than may; then nothing is left of it.
        """
        putter = self._store.putter(transaction)
        if putter.is_known(message.id):
            return Published(message.id, message.subject, 0, duplicate=True)
        waiting: deque[Message] = deque()
        result = self._publish_one(transaction, putter, message, order, waiting)
        self._publish_all(transaction, putter, waiting)
        return result

    def follow(self, transaction: Transaction, followed: Iterable[Followed], cause: Message | None) -> None:
        """Publishes what follows from something that is no message: an answer, or the time."""
        waiting = deque(self._following(transaction, followed, cause))
        self._publish_all(transaction, self._store.putter(transaction), waiting)

    def _publish_all(self, transaction: Transaction, putter: Putter, waiting: deque[Message]) -> None:
        count = 0
        while waiting:
            count += 1
            if count > MOST_FOLLOWING:
                problem = f"more than {MOST_FOLLOWING} messages follow from one; the last is {waiting[0].subject!r}"
                raise RoutingError("endless-saga", problem)
            following = waiting.popleft()
            if not putter.is_known(following.id):
                self._publish_one(transaction, putter, following, Order(), waiting)
        putter.finish()

    def _publish_one(
        self, transaction: Transaction, putter: Putter, message: Message, order: Order, waiting: deque[Message]
    ) -> Published:
        if message.subject.startswith(INBOX):
            self._check_inbox(message.subject, order.principal)
            asked = self._inbox(transaction, message.subject)
            self._put(putter, message, message.subject, order, asked)
            return Published(message.id, message.subject, len(asked))
        now = transaction.now / SECOND
        decision = self._table.decide(
            message, StoredState(transaction), now=now, random=self._random, principal=order.principal
        )
        if decision.error is not None:
            raise decision.error
        self._check_reply(message, order)
        write_changes(transaction, self._table, decision.changes)
        self._keep_replies(transaction, message, decision)
        known = [self.target(transaction, each) for each in decision.deliveries]
        known = [*dict.fromkeys(known), *self._subscribers(decision.subject)]
        count = self._deliver(transaction, putter, message, decision, order, known)
        waiting.extend(self._following(transaction, decision.followed, message))
        return Published(message.id, decision.subject, count)

    def _deliver(
        self,
        transaction: Transaction,
        putter: Putter,
        message: Message,
        decision: Decision,
        order: Order,
        known: list[Target],
    ) -> int:
        """Puts a message for those who are known and for the wildcard subscriptions; gives how many get it.

        A route that could not choose a destination leaves a dead letter at its first one.
        """
        subject = decision.subject
        stuck = [self._stuck(transaction, each) for each in decision.problems]
        known = [*known, *(target for target, _ in stuck)]
        renamed = message if message.subject == subject else message.replace(subject=subject)
        gathered = self._wildcards.gather(transaction, renamed)
        try:
            targets: Collection[Target] = Targets(transaction, known, gathered, self._aim)
            if not targets and self._store.settings.main == "unclaimed":
                targets = [Target(MAIN)]
            self._put(putter, message, subject, order, targets)
            if gathered or stuck:
                putter.flush()
            for target, reason in stuck:
                bury(self._store, transaction, target, reason, order.priority, order.delay or 0)
            if gathered:
                self._wildcards.bury(transaction, gathered, self._aim, order.priority, order.delay or 0)
            return len(targets) - len(stuck)
        finally:
            if gathered is not None:
                gathered.forget()

    def _stuck(self, transaction: Transaction, problem: Problem) -> tuple[Target, str]:
        """Where the dead letter of a route that could not choose goes, and what it says."""
        route = self._routes[problem.route]
        number = self.destination(transaction, route.names[0])
        return Target(number, via(transaction, route.name)), f"the route {route.name!r} cannot choose: {problem.reason}"

    def _aim(self, transaction: Transaction, delivery: SubscriptionDelivery) -> Target:
        """The subscription of the destination of a delivery that wildcard subscriptions asked for."""
        subscription = self.destination(transaction, delivery.destination)
        return Target(subscription, via(transaction, f"{ROUTE}{delivery.owner}"), note_of(delivery))

    def target(self, transaction: Transaction, delivery: Delivery) -> Target:
        """The subscription of the destination of a delivery, and what is to be known when it is made."""
        subscription = self.destination(transaction, delivery.destination)
        note: dict[str, Any] = {}
        if delivery.permit is not None:
            note["permit"] = delivery.permit.as_data()
        if delivery.instead_of is not None:
            note["instead_of"] = delivery.instead_of
        number = via(transaction, delivery.route, delivery.instead_of)
        return Target(subscription, number, json.dumps(note) if note else None)

    def destination(self, transaction: Transaction, name: str) -> int:
        """The number of the subscription of a destination."""
        known = self._store.subscriptions
        known.refresh(transaction)
        found = known.by_name.get(f"{DESTINATION}{name}")
        if found is not None:
            return found.id
        return add_subscription(transaction, f"{DESTINATION}{name}", None, self._store.dialect.name)

    def _subscribers(self, subject: str) -> list[Target]:
        """The durable subscriptions that match, as far as their owners may read the subject."""
        known, access = self._store.subscriptions, self._table.access
        found = []
        for number in known.matching(subject):
            owner = known.by_id[number].owner
            if owner is None or access is None or access.check(owner, "subscribe", subject).allowed:
                found.append(Target(number))
        return found

    def _check_reply(self, message: Message, order: Order) -> None:
        """A reply goes to an inbox of the requester's own, or where it may publish itself.

        Raises ``AccessError`` (``reply-refused``).
        """
        to, access = message.metadata.get(REPLY_TO), self._table.access
        if to is None or order.principal is None or access is None or to == order.inbox:
            return
        verdict = access.check(order.principal, "publish", to)
        if to.startswith(INBOX) or not verdict.allowed:
            why = "it is the inbox of another" if to.startswith(INBOX) else verdict.reason
            raise AccessError("reply-refused", f"a reply may not go to {to!r}: {why}", text=to)

    def _check_inbox(self, subject: str, principal: str | None) -> None:
        """Replies are authorized as all that is published."""
        access = self._table.access
        if principal is not None and access is not None:
            verdict = access.check(principal, "publish", subject)
            if not verdict.allowed:
                raise AccessError("publish-refused", verdict.reason, text=subject)

    def _inbox(self, transaction: Transaction, subject: str) -> list[Target]:
        """Who asked, unless they are gone."""
        self._store.subscriptions.refresh(transaction)
        found = self._store.subscriptions.by_name.get(subject)
        return [] if found is None else [Target(found.id)]

    @staticmethod
    def _put(putter: Putter, message: Message, subject: str, order: Order, targets: Collection[Target]) -> None:
        draft = Draft(
            message.body, subject, order.priority, order.delay, order.expires, message.id, message.metadata or None
        )
        putter.put(draft, targets, write_envelope(message))

    def _keep_replies(self, transaction: Transaction, message: Message, decision: Decision) -> None:
        to = message.metadata.get(REPLY_TO)
        if to is None:
            return
        for key in decision.changes:
            if key.kind == "gather":
                keep_reply(transaction, key.name, key.correlation_id, to)

    def _following(
        self, transaction: Transaction, followed: Iterable[Followed], cause: Message | None
    ) -> Iterable[Message]:
        """The messages that follow from what was moved."""
        made: list[Message] = []
        for moved in followed:
            if moved.problem is not None:
                LOG.warning("%s: %s", moved.saga if isinstance(moved, SagaMove) else moved.route, moved.problem)
            if isinstance(moved, SagaMove):
                made += commands_of(moved, cause)
            elif moved.gathered is not None:
                to = take_reply(transaction, moved.route, moved.correlation_id)
                if to is not None:
                    made.append(result_of(to, moved.route, moved.correlation_id, moved.gathered))
        return made


def via(transaction: Transaction, route: str, instead_of: str | None = None) -> int:
    """The number of a route, or of a route by way of a fallback: one message may get there by both."""
    name = route if instead_of is None else f"{route}\0{instead_of}"
    row = transaction.first(statements.VIA_FIND, (name,))
    return int((row or transaction.first(statements.VIA_ADD, (name,)))[0])


def route_of(transaction: Transaction, number: int) -> str:
    """The name of the route of this number; empty for 0."""
    row = transaction.first(statements.VIA_NAME, (number,)) if number else None
    return "" if row is None else str(row[0]).partition("\0")[0]
