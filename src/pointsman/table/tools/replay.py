"""Messages decided one after the other, as the tools over a table do it."""

from __future__ import annotations

from pointsman.message import Message
from pointsman.table.decision import Decision
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, Value


class Replay:
    """Decides message after message, each with the balances and breakers that those before it left.

    The time stands still and the random source always gives 0, so that the same messages give the same decisions. What
    belongs to one correlation id (sagas, gatherers) is forgotten after each message: it has no part in who gets a
    message, and would grow with their number. Not safe between threads.
    """

    def __init__(self, table: RoutingTable) -> None:
        self.table = table
        self._state: dict[Key, Value] = {}

    def decide(self, message: Message, *, principal: str | None = None, trace: bool = False) -> Decision:
        """Who gets the message; raises what ``RoutingTable.decide`` raises."""
        decision = self.table.decide(
            message, self._state, now=0.0, random=lambda: 0.0, principal=principal, trace=trace
        )
        for key, value in decision.changes.items():
            if value is not None and not key.correlation_id:
                self._state[key] = value
        return decision
