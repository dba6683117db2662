"""Sagas in the broker: every edge of the order saga, each command delivered exactly once."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from pointsman import Broker, RoutingTable
from pointsman.broker.deliver import Received
from pointsman.broker.state import StoredState
from pointsman.errors import RoutingError
from pointsman.routing.saga.definition import SagaState
from pointsman.routing.saga.machine import Compensate, SendCommands
from pointsman.table.state import Key
from pointsman.testing import Clock, MemoryBroker
from tests.broker.running import in_loop
from tests.routing import order_saga as order
from tests.routing.test_saga_order import SAGA, TIMEOUT, WALKS, Step

SHOP = Path(__file__).parents[2] / "examples" / "shop.yaml"
KEY = Key("saga", "order", "order-7")
TABLE = RoutingTable.parse(
    json.dumps(
        {
            "dialect": "nats",
            "destinations": {"commands": {}},
            "routes": [{"name": "commands", "pattern": "*.commands.>", "destinations": ["commands"]}],
            "sagas": {"order": {key: value for key, value in order.ORDER.items() if key != "name"}},
        }
    )
)


def state_of(broker: Broker, key: Key = KEY) -> SagaState | None:
    """What the file says of the saga."""
    found = broker.queue.store.write(lambda transaction: StoredState(transaction).get(key))
    return found if isinstance(found, SagaState) else None


def commands_of(step: Step) -> list[str]:
    """The commands that a step of a walk is to send."""
    actions = [each for each in step[2] if isinstance(each, SendCommands | Compensate)]
    return [command.subject for action in actions for command in action.commands]


class Walk:
    """A walk along the edges of the saga, with every command that is delivered."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.delivered: list[tuple[str, str | None]] = []
        self.bodies: set[bytes] = set()

    def attach(self, broker: Broker) -> None:
        """Takes the commands of this broker."""

        @broker.handler("commands")
        def command(received: Received) -> None:
            message = received.message
            self.delivered.append((message.subject, message.correlation_id))
            self.bodies.add(message.body)

    async def step(self, broker: MemoryBroker, number: int, step: Step, *, twice: bool = False) -> None:
        """One step, and what it is to bring about."""
        self.delivered.clear()
        cause, path, _ = step
        if cause == TIMEOUT:
            state = state_of(broker)
            assert state is not None
            after = SAGA.states[state.state].timeout.after  # type: ignore[union-attr]
            left = state.entered_at + after - self.clock.now
            await broker.advance(left - 0.001)
            assert self.delivered == []
            await broker.advance(0.002)
        else:
            await broker.advance(1)
            for _ in range(1 + twice):
                await broker.publish(cause, b"the order", id=f"event-{number}", correlation_id="order-7")
            await broker.settle()
        now = state_of(broker)
        assert now is not None
        assert now.state == path[-1]
        assert self.delivered == [(subject, "order-7") for subject in commands_of(step)]


@pytest.mark.parametrize("name", WALKS)
@pytest.mark.parametrize("twice", [False, True])
def test_each_command_of_the_order_saga_is_delivered_once_for_each_transition(name: str, twice: bool) -> None:
    """Along every edge, timeouts by the clock included; also when each event is published twice."""

    @in_loop
    async def run() -> None:
        async with MemoryBroker(TABLE) as broker:
            walk = Walk(broker.clock)
            walk.attach(broker)
            for number, step in enumerate(WALKS[name]):
                await walk.step(broker, number, step, twice=twice)
            assert walk.bodies <= {b"the order", b""}
            await broker.advance(SAGA.forget_after + 1)
            assert state_of(broker) is None

    run()


class FileBroker(MemoryBroker):
    """The broker for tests, on a file."""

    def __init__(self, path: Path, clock: Clock) -> None:
        super().__init__(TABLE, clock=clock)
        self._path = path


@pytest.mark.parametrize("name", WALKS)
def test_a_saga_goes_on_where_it_was_when_the_broker_is_opened_again(name: str, tmp_path: Path) -> None:
    """Closed and opened between any two steps, on a real file."""

    @in_loop
    async def run() -> None:
        walk = Walk(Clock())
        for number, step in enumerate(WALKS[name]):
            broker = FileBroker(tmp_path / "app.db", walk.clock)
            walk.attach(broker)
            async with broker:
                await walk.step(broker, number, step)
        assert (tmp_path / "app.db").exists()

    run()


@in_loop
async def test_a_timeout_that_fell_due_while_no_broker_was_open_is_taken_when_one_is(tmp_path: Path) -> None:
    """Once, however often it is opened."""
    walk = Walk(Clock())
    async with FileBroker(tmp_path / "app.db", walk.clock) as broker:
        await broker.publish(order.CREATED, correlation_id="order-7")
    walk.clock.advance(1000)
    for _ in range(3):
        async with FileBroker(tmp_path / "app.db", walk.clock) as broker:
            await broker.settle()
    async with FileBroker(tmp_path / "app.db", walk.clock) as broker:
        walk.attach(broker)
        await broker.settle()
    assert [subject for subject, _ in walk.delivered] == [order.RESERVE_PAYMENT, order.RELEASE_PAYMENT]


@in_loop
async def test_the_sagas_of_two_orders_do_not_concern_each_other() -> None:
    """One is paid, the other times out."""
    async with MemoryBroker(TABLE) as broker:
        for name in ("order-7", "order-8"):
            await broker.publish(order.CREATED, correlation_id=name)
        await broker.publish(order.PAYMENT_RESERVED, correlation_id="order-7")
        await broker.advance(31)
        seven, eight = state_of(broker), state_of(broker, Key("saga", "order", "order-8"))
        assert seven is not None
        assert eight is not None
        assert (seven.state, eight.state) == ("inventory_checking", "compensation_completed")


@in_loop
async def test_an_event_of_an_unknown_saga_is_logged_and_delivered_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is an error of whoever sent it, not of the broker."""
    async with MemoryBroker(TABLE) as broker, broker.subscribe("payments.events.>") as events:
        with caplog.at_level(logging.WARNING, "pointsman.broker"):
            await broker.publish(order.PAYMENT_RESERVED, correlation_id="nobody")
        assert "has no saga 'nobody'" in caplog.text
        assert (await anext(events)).subject == order.PAYMENT_RESERVED


@in_loop
async def test_the_saga_of_the_example_runs(tmp_path: Path) -> None:
    """The table of the examples as it is, its commands as a subscription gets them."""
    async with MemoryBroker(SHOP, folder=tmp_path) as broker, broker.subscribe("*.commands.>") as commands:
        await broker.publish(order.CREATED, {"amount": 5}, id="created", correlation_id="order-7")
        command = (await anext(commands)).message
        await broker.settle()
        assert (command.subject, command.body) == (order.RESERVE_PAYMENT, b'{"amount":5}')
        assert (command.correlation_id, command.causation_id) == ("order-7", "created")
        assert command.metadata == {"saga": "order"}
    assert len(list((tmp_path / "audit").iterdir())) == 2


ENDLESS = RoutingTable.parse(
    """
dialect: nats
sagas:
  loop:
    starts: [{on: begin, to: waiting}]
    states:
      waiting:
        edges: [{on: again, to: waiting, send: [again]}]
        timeout: {after: 10, to: waiting, send: [again]}
      over: {final: true}
"""
)


@in_loop
async def test_a_saga_whose_command_is_its_own_event_is_stopped_and_nothing_is_left() -> None:
    """With its code; the saga stays where it was."""
    async with MemoryBroker(ENDLESS) as broker, broker.subscribe(">", name="all", prefetch=100):
        await broker.publish("begin", correlation_id="c")
        before = (broker.queue.messages(), state_of(broker, Key("saga", "loop", "c")))
        with pytest.raises(RoutingError) as caught:
            await broker.publish("again", correlation_id="c")
        assert caught.value.code == "endless-saga"
        assert (broker.queue.messages(), state_of(broker, Key("saga", "loop", "c"))) == before


@in_loop
async def test_a_timeout_that_cannot_be_taken_keeps_nothing_else_from_going_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is logged and put off; messages are delivered meanwhile."""
    async with MemoryBroker(ENDLESS) as broker:
        seen: list[str] = []
        broker.on("news", name="news")(lambda message: seen.append(message.subject))
        await broker.publish("begin", correlation_id="c")
        await broker.advance(10)
        assert "the timeout of saga 'c' is put off" in caplog.text
        await broker.publish("news")
        await broker.settle()
        assert seen == ["news"]


@in_loop
async def test_a_full_queue_is_emptied_though_a_timeout_has_something_to_send() -> None:
    """The command is sent once there is room."""
    async with MemoryBroker(TABLE, maxsize=2) as broker:
        await broker.publish(order.CREATED, correlation_id="order-7")
        async with broker.subscribe("news", name="news"):
            pass
        await broker.publish("news")
        await broker.advance(30)
        walk = Walk(broker.clock)
        walk.attach(broker)
        broker.on("news", name="news")(lambda _: None)
        await broker.settle()
        assert [subject for subject, _ in walk.delivered] == [order.RESERVE_PAYMENT]
        await broker.advance(10)
        assert [subject for subject, _ in walk.delivered] == [order.RESERVE_PAYMENT, order.RELEASE_PAYMENT]
