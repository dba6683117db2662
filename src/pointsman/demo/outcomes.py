"""What became of deliveries after they were decided, as breakers and balances are told it after a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pointsman.routing import balance, breaker
from pointsman.routing.balance_state import BalanceState
from pointsman.routing.breaker import BreakerState
from pointsman.table.decision import Delivery
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, Value, Working


class Outage(NamedTuple):
    """A time in which every delivery to a destination fails, from ``begins`` up to ``ends``, in seconds."""

    destination: str
    begins: float
    ends: float


class Outcomes:
    """The deliveries of a batch, and how each of them ends. Not safe between threads."""

    def __init__(self, table: RoutingTable, outages: Sequence[Outage]) -> None:
        self._breakers = {name: each.breaker for name, each in table.destinations.items() if each.breaker is not None}
        counting = (route.name for route in table.routes if route.balance is balance.Kind.LEAST_CONNECTIONS)
        self._counting = set(counting)
        self._outages = outages
        self._batch: list[tuple[Delivery, bool]] = []
        self.failed: Counter[str] = Counter()

    def add(self, delivery: Delivery, now: float) -> None:
        """Makes a delivery of the batch that is under way."""
        name = delivery.destination
        fails = any(each.destination == name and each.begins <= now < each.ends for each in self._outages)
        if fails:
            self.failed[name] += 1
        if delivery.permit is not None or delivery.route in self._counting:
            self._batch.append((delivery, fails))

    def tell(self, state: Mapping[Key, Value], now: float) -> Mapping[Key, Value | None]:
        """Ends the batch; gives what its outcomes change: those that succeeded are told first, then the others."""
        working = Working(state)
        for delivery, fails in sorted(self._batch, key=lambda each: each[1]):
            settings = self._breakers.get(delivery.destination)
            if delivery.permit is not None and settings is not None:
                key = Key("breaker", delivery.destination)
                report = breaker.failed if fails else breaker.succeeded
                before = working.get(key, BreakerState())
                working.put(key, report(settings, before, delivery.permit, now))
            if delivery.route in self._counting:
                key = Key("balance", delivery.route)
                chosen = delivery.instead_of or delivery.destination
                working.put(key, balance.finished(working.get(key, BalanceState()), chosen))
        self._batch.clear()
        return working.changes
