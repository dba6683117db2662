"""What the outcome of a delivery changes, in the transaction that settles it: breakers, balances, answers, sagas."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from pointsman.broker.derived import derived_id
from pointsman.broker.publish import DESTINATION, Order, Publisher, route_of, via
from pointsman.broker.state import StoredState, write_changes
from pointsman.errors import PointsmanError
from pointsman.message import Message
from pointsman.routing import breaker, gather
from pointsman.routing.breaker import BreakerSettings, BreakerState, Permit, Way
from pointsman.routing.gather import GatherState
from pointsman.store import statements
from pointsman.store.message import StoredMessage
from pointsman.store.settle import Leased
from pointsman.store.store import Store
from pointsman.store.transaction import SECOND, Transaction
from pointsman.table.correlate import Gathering
from pointsman.table.decision import Decision, Delivery
from pointsman.table.loading.compile import Destination
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, Working


class Attempt(NamedTuple):
    """A delivery that is to be made now."""

    stored: StoredMessage
    route: str
    """Empty for one that no route made."""
    destination: str
    """Empty for one of a subscription."""
    permit: Permit | None = None

    @property
    def delivery(self) -> Delivery:
        """What the table decided, to be told what became of it."""
        instead_of = _note(self.stored.note).get("instead_of")
        return Delivery(self.route, self.destination, self.stored.message.subject, self.permit, instead_of)

    @property
    def owner(self) -> str | None:
        """Whose wildcard subscriptions made it; None for one that they did not."""
        owner: str | None = _note(self.stored.note).get("owner")
        return owner

    @property
    def subscriptions(self) -> tuple[str, ...]:
        """The ids of the wildcard subscriptions that matched, the first of them if they are many."""
        return tuple(_note(self.stored.note).get("subscriptions", ()))


class Outcomes:
    """Settles deliveries. Safe between threads as far as each transaction is."""

    def __init__(self, store: Store, table: RoutingTable, publisher: Publisher) -> None:
        self._store = store
        self._table = table
        self._publisher = publisher
        self._routes = {route.name: route for route in table.routes}
        store.settler.given_up = self._given_up

    def begin(self, transaction: Transaction, stored: StoredMessage, destination: str) -> Attempt | None:
        """The attempt that may be made; None if the breaker does not let it through, and it was put elsewhere."""
        route = route_of(transaction, stored.via)
        guarded = self._table.destinations.get(destination)
        if guarded is None or guarded.breaker is None:
            return Attempt(stored, route, destination)
        permit = self._permit(transaction, stored, guarded.name, guarded.breaker)
        if permit.way is not Way.FALLBACK:
            return Attempt(stored, route, destination, permit)
        self._turn_away(transaction, stored, guarded, guarded.breaker, route)
        return None

    def succeeded(self, transaction: Transaction, attempt: Attempt, answer: bytes | None) -> bool:
        """The delivery is done; False if its lease was lost, and then nothing is changed."""
        leased = self._take(transaction, attempt.stored)
        if leased is None:
            return False
        self._store.settler.done(transaction, leased.sequence)
        self._tell(transaction, lambda state, now: self._table.succeeded(attempt.delivery, state, now))
        if answer is not None:
            self._answer(transaction, attempt, answer)
        return True

    def failed(
        self, transaction: Transaction, attempt: Attempt, error: str, *, retry: bool = True, after: float | None = None
    ) -> bool:
        """The delivery failed: it is tried again, or given up; False if its lease was lost."""
        leased = self._take(transaction, attempt.stored)
        if leased is None:
            return False
        self._tell(transaction, lambda state, now: self._table.failed(attempt.delivery, state, now))
        if not retry:
            self._store.settler.give_up(transaction, leased._replace(error=error), "it cannot succeed")
        else:
            self._store.settler.give_back(transaction, leased, after, error)
        return True

    def gave_back(self, transaction: Transaction, attempt: Attempt) -> bool:
        """The delivery was not tried to its end, as when the broker stops: it is ready at once, as if never taken."""
        leased = self._take(transaction, attempt.stored)
        if leased is None:
            return False
        self._store.settler.make_ready(transaction, leased._replace(attempts=leased.attempts - 1))
        return True

    def extended(self, transaction: Transaction, attempt: Attempt, length: int) -> Attempt | None:
        """The same attempt with a lease from now on; None if it was lost."""
        leased = self._take(transaction, attempt.stored)
        if leased is None:
            return None
        until = transaction.now + length
        transaction.execute(statements.LEASED_ADD, (until, *leased[:3], attempt.stored.token, *leased[3:]))
        return attempt._replace(stored=attempt.stored._replace(until=until))

    def _take(self, transaction: Transaction, stored: StoredMessage) -> Leased | None:
        self._store.subscriptions.refresh(transaction)
        receipt = (stored.until, stored.subscription, stored.sequence, stored.via, stored.token)
        return self._store.settler.take(transaction, receipt)

    def _permit(self, transaction: Transaction, stored: StoredMessage, name: str, settings: BreakerSettings) -> Permit:
        """The permit that the decision gave, if it is still good; otherwise a new one."""
        key = Key("breaker", name)
        working = Working(StoredState(transaction))
        before = working.get(key, BreakerState())
        given = _note(stored.note).get("permit")
        if given is not None and stored.attempts == 1:
            permit = Permit.from_data(given)
            if permit.way is not Way.FALLBACK and permit.generation == before.generation:
                return permit
        permit, after = breaker.ask(settings, before, transaction.now / SECOND)
        if after is not before:
            working.put(key, after)
            write_changes(transaction, self._table, working.changes)
        return permit

    def _turn_away(
        self,
        transaction: Transaction,
        stored: StoredMessage,
        guarded: Destination,
        settings: BreakerSettings,
        route: str,
    ) -> None:
        """The breaker is open: to the fallback, or later."""
        leased = self._take(transaction, stored)
        if leased is None:
            return
        if guarded.fallback is not None:
            number = self._publisher.destination(transaction, guarded.fallback)
            before = _note(leased.note)
            before.pop("permit", None)
            note = json.dumps({"instead_of": guarded.name} | before, ensure_ascii=False)
            instead = via(transaction, route, guarded.name)
            moved = leased._replace(subscription=number, via=instead, attempts=0, note=note)
            self._store.settler.make_ready(transaction, moved)
            return
        state = Working(StoredState(transaction)).get(Key("breaker", guarded.name), BreakerState())
        due = breaker.due(settings, state) or 0.0
        wait = max(int(due * SECOND) - transaction.now, SECOND // 10)
        self._store.settler.put_off(transaction, leased._replace(attempts=leased.attempts - 1), wait)

    def _given_up(self, transaction: Transaction, leased: Leased) -> None:
        """A delivery became a dead letter, for whatever reason."""
        found = self._store.subscriptions.by_id.get(leased.subscription)
        if leased.via and found is not None and found.name.startswith(DESTINATION):
            given_up = Delivery(
                route_of(transaction, leased.via),
                found.name.removeprefix(DESTINATION),
                "",
                instead_of=_note(leased.note).get("instead_of"),
            )
            self._tell(transaction, lambda state, _: self._table.finished(given_up, state))

    def _tell(self, transaction: Transaction, what: Callable[[StoredState, float], Decision]) -> None:
        """Writes what the outcome of a delivery changes in the state of the table."""
        write_changes(transaction, self._table, what(StoredState(transaction), transaction.now / SECOND).changes)

    def _answer(self, transaction: Transaction, attempt: Attempt, answer: bytes) -> None:
        """What a handler returned: its part of a gathering, or a reply to whoever asked for one."""
        message = attempt.stored.message
        route = self._routes.get(attempt.route)
        if route is not None and route.gather is not None:
            target = _note(attempt.stored.note).get("instead_of", attempt.destination)
            self._gather(transaction, attempt.route, target, message, answer)
        elif "reply-to" in message.metadata:
            who = f"{attempt.route}\0{attempt.destination or attempt.stored.subscription}"
            reply = message.reply(answer, id=derived_id(message.id, f"reply\0{who}"))
            self._publisher.publish(transaction, reply, Order())

    def _gather(self, transaction: Transaction, route_name: str, target: str, message: Message, answer: bytes) -> None:
        from pointsman.conditions.compiler import read_body

        route = self._routes[route_name]
        correlation = message.correlation_id or message.id
        key = Key("gather", route_name, correlation)
        working = Working(StoredState(transaction))
        before = working.find(key)
        if not isinstance(before, GatherState) or route.gather is None:
            return
        try:
            outcome, after = gather.answer(route.gather, before, target, read_body(answer), transaction.now / SECOND)
        except PointsmanError as error:
            moved = Gathering(route_name, correlation, gather.Outcome(), error.problem)
        else:
            working.put(key, after)
            write_changes(transaction, self._table, working.changes)
            moved = Gathering(route_name, correlation, outcome)
        self._publisher.follow(transaction, [moved], message)


def _note(text: str | None) -> dict[str, Any]:
    """What is known about a delivery besides its message."""
    note: dict[str, Any] = json.loads(text) if text else {}
    return note
