"""The broker decides as the table does: the same deliveries, and the same state afterwards."""

from __future__ import annotations

import asyncio
import random
from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from pointsman.broker.derived import commands_of
from pointsman.broker.publish import MOST_FOLLOWING
from pointsman.broker.state import StoredState, write_changes
from pointsman.errors import AccessError, RoutingError, SubjectError
from pointsman.message import Message
from pointsman.table.correlate import SagaMove
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State
from pointsman.testing import Clock, MemoryBroker
from tests.broker.tables import Sent, histories, states, tables

Row = tuple[str, str, str, str]
"""Message id, route, destination, subject."""
WRITTEN = """
SELECT m.id, coalesce(v.name, ''), s.name, k.text FROM
(SELECT subscription, sequence, via FROM ready UNION ALL SELECT subscription, sequence, via FROM delayed) AS r
JOIN message AS m ON m.sequence = r.sequence JOIN key AS k ON k.id = m.key
JOIN subscription AS s ON s.id = r.subscription LEFT JOIN via AS v ON v.id = r.via
"""


class Model:
    """What is to come out: ``table.decide`` with a state threaded through, and the commands that follow."""

    def __init__(self, table: RoutingTable, state: State, seed: int) -> None:
        self.table = table
        self.state = state
        self.random = random.Random(seed).random
        self.now = Clock().now
        self.rows: set[Row] = set()
        self.known: set[str] = set()

    def publish(self, sent: Sent) -> str:
        """What becomes of a message: ``published``, ``duplicate``, ``refused`` or ``endless``."""
        self.now += sent.after
        if sent.message.id in self.known:
            return "duplicate"
        state, rows, known = self.state, set[Row](), set[str]()
        waiting: deque[tuple[Message, str | None]] = deque([(sent.message, sent.principal)])
        count = 0
        while waiting:
            message, principal = waiting.popleft()
            if message.id in self.known | known:
                continue
            decision = self.table.decide(message, state, now=self.now, random=self.random, principal=principal)
            if decision.refused is not None:
                return "refused"
            state = decision.state
            known.add(message.id)
            rows |= {(message.id, each.route, each.destination, each.subject) for each in decision.deliveries}
            for moved in decision.followed:
                if isinstance(moved, SagaMove):
                    waiting.extend((command, None) for command in commands_of(moved, message))
            count += 1
            if count > MOST_FOLLOWING:
                return "endless"
        self.state, self.rows, self.known = state, self.rows | rows, self.known | known
        return "published"


async def run(table: RoutingTable, state: State, history: list[Sent], seed: int) -> tuple[list[str], set[Row], State]:
    """What becomes of the messages in a broker, what is then written, and the state that it is in."""
    outcomes = []
    async with MemoryBroker(table, random=random.Random(seed).random) as broker:
        broker.queue.store.write(lambda transaction: write_changes(transaction, table, dict(state)))
        for each in history:
            broker.clock.advance(each.after)
            try:
                published = await broker.publish(each.message, principal=each.principal)
                outcomes.append("duplicate" if published.duplicate else "published")
            except (AccessError, SubjectError):
                outcomes.append("refused")
            except RoutingError:
                outcomes.append("endless")
        with broker.queue.store.read() as connection:
            found = list(connection.execute(WRITTEN))
        rows = {(id, via.split("\0")[0], name.removeprefix("destination:"), key) for id, via, name, key in found}
        left = broker.queue.store.write(lambda transaction: State(StoredState(transaction)))
    return outcomes, rows, left


@given(tables(), states(), histories(), st.integers(0, 3))
def test_the_broker_writes_what_the_table_decides_and_keeps_the_state_that_it_leaves(
    table: RoutingTable, state: State, history: list[Sent], seed: int
) -> None:
    """For tables of all strategies with breakers, translations, access and sagas, and for any messages."""
    model = Model(table, state, seed)
    expected = [model.publish(each) for each in history]
    outcomes, rows, left = asyncio.run(run(table, state, history, seed))
    assert outcomes == expected
    assert rows == model.rows
    assert dict(left) == dict(model.state)


def test_the_model_can_say_no() -> None:
    """A broker on another table does not agree, so the comparison compares something."""
    table = RoutingTable.parse("{routes: [{name: r, pattern: a, destinations: [d]}], destinations: {d: {}, e: {}}}")
    other = RoutingTable.parse("{routes: [{name: r, pattern: a, destinations: [e]}], destinations: {d: {}, e: {}}}")
    history = [Sent(Message("a", id="m"), None, 0)]
    model = Model(table, State(), 0)
    assert [model.publish(each) for each in history] == ["published"]
    assert asyncio.run(run(table, State(), history, 0))[1] == model.rows == {("m", "r", "d", "a")}
    assert asyncio.run(run(other, State(), history, 0))[1] != model.rows
