"""What must come of events: the pure functions threaded in Python, by a clock that misses nothing."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any, NamedTuple

from pointsman.broker.derived import derived_id
from pointsman.errors import PointsmanError
from pointsman.message import Message
from pointsman.routing.saga import machine
from pointsman.routing.saga.definition import SagaDefinition, SagaState
from pointsman.routing.saga.reader import definition_from_data
from pointsman.table.routing_table import RoutingTable
from tests.routing import order_saga as order

SAGA = definition_from_data(order.ORDER)
TABLE = RoutingTable.from_plain(
    {
        "sagas": {"order": {key: value for key, value in order.ORDER.items() if key != "name"}},
        "routes": [
            {
                "name": "prices",
                "pattern": "prices.ask",
                "strategy": "scatter-gather",
                "gather": {"timeout": 5, "aggregation": "min", "field": "price", "answers": "prices.answer"},
                "destinations": ["one", "two", "three"],
            },
            {
                "name": "stock",
                "pattern": "stock.ask",
                "strategy": "scatter-gather",
                "gather": {"timeout": 5, "quorum": 2, "answers": "stock.answer"},
                "destinations": ["one", "two", "three"],
            },
        ],
    }
)
SUBJECTS = [value for name, value in vars(order).items() if name.isupper() and str(value).count(".") == 3]
SUBJECTS = [subject for subject in SUBJECTS if ".events." in subject]
LIKELY = [
    order.CREATED,
    order.PAYMENT_RESERVED,
    order.AVAILABLE,
    order.DELIVERED,
    order.DELIVERY_FAILED,
    order.STOCK_RELEASED,
    order.PAYMENT_RELEASED,
]


class Sent(NamedTuple):
    """A command: its subject, its id where it follows from an event, and the event."""

    subject: str
    id: str | None
    cause: str | None


class Moved(NamedTuple):
    """What an event or a timeout did."""

    outcome: str
    path: tuple[str, ...]
    reason: str | None
    cause: str | None
    time: float


def random_events(source: random.Random, keys: int, most: int, start: float = 1_000_000.0) -> list[Message]:
    """Events of so many correlation ids by their times, within 1,300 seconds; some come twice, some out of place."""
    made: list[Message] = []
    for number in range(keys):
        time = start + source.randrange(0, 300)
        for step in range(source.randint(1, most)):
            subject = LIKELY[step] if step < len(LIKELY) and source.random() < 0.7 else source.choice(SUBJECTS)
            message = event(subject, f"{number}-{step}", f"order-{number}", time)
            made += [message] * (1 + (source.random() < 0.15))
            time += source.choice([0.25, 1, 5, 29, 30, 31, 61, 125])
    return sorted(made, key=lambda each: (seconds(each), each.id))


def event(subject: str, id: str, correlation_id: str, time: float, **fields: Any) -> Message:
    """A message of this time."""
    from datetime import UTC, datetime

    return Message(subject, id=id, correlation_id=correlation_id, time=datetime.fromtimestamp(time, UTC), **fields)


def seconds(message: Message) -> float:
    """The time of a message."""
    assert message.time is not None
    return message.time.timestamp()


def threaded(events: Iterable[Message], until: float, definition: SagaDefinition = SAGA) -> list[Sent | Moved]:
    """What comes of the events of one correlation id up to a time, each timeout taken when it is due."""
    state: SagaState | None = None
    undone = False
    found: list[Sent | Moved] = []

    def note(outcome: machine.Outcome, cause: Message | None, now: float) -> None:
        nonlocal undone
        kinds = [type(action) for action in outcome.actions]
        undone = undone or machine.Compensate in kinds
        commands = [command for action in outcome.actions if hasattr(action, "commands") for command in action.commands]
        for number, command in enumerate(commands):
            id = None if cause is None else derived_id(cause.id, f"order\0{number}\0{command.subject}")
            found.append(Sent(command.subject, id, None if cause is None else cause.id))
        ended = "compensated" if undone else "completed"
        what = "ignored" if not outcome.path else ended if machine.Complete in kinds else "moved"
        found.append(Moved(what, outcome.path, outcome.ignored, None if cause is None else cause.id, now))

    def wait(until: float) -> None:
        nonlocal state
        while state is not None and (due := machine.due(definition, state)) is not None and due <= until:
            outcome, state = machine.expire(definition, state, due)
            note(outcome, None, due)
        if state is not None and machine.is_forgettable(definition, state, until):
            state = None

    for message in events:
        now = seconds(message)
        wait(now)
        assert message.correlation_id is not None
        try:
            outcome, state = machine.handle(
                definition, state, machine.SagaEvent(message.correlation_id, message.id, message.subject), now
            )
        except PointsmanError as error:
            found.append(Moved("problem", (), error.problem, message.id, now))
        else:
            note(outcome, message, now)
    wait(until)
    return found
