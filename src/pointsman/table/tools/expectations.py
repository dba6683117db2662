"""Expectations: messages in the table, each with the deliveries it must have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pointsman.errors import PointsmanError
from pointsman.message import Message
from pointsman.table.decision import Decision, Delivery
from pointsman.table.loading import schema
from pointsman.table.routing_table import RoutingTable
from pointsman.table.tools.replay import Replay


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an expectation; ``problems`` says what is not as expected, and nothing when all is."""

    number: int
    """Counted from 0."""
    expectation: schema.Expectation
    decision: Decision | None
    """None when the message could not be decided at all."""
    problems: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether all is as expected."""
        return not self.problems

    @property
    def name(self) -> str:
        """What it is called; without a name, by its number and subject."""
        return self.expectation.name or f"expectation {self.number + 1} ({self.expectation.message.subject})"

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "name": self.name,
            "subject": self.expectation.message.subject,
            "passed": self.passed,
            "problems": list(self.problems),
            "decision": None if self.decision is None else self.decision.as_dict(),
        }


def message_of(sample: schema.Sample) -> Message:
    """The message of a sample: a body that is no text becomes JSON, and there is no time.

    Raises ``MessageError`` for a body that JSON cannot hold.
    """
    fields = {key: value for key, value in sample.model_dump().items() if value is not None}
    return Message.from_dict(fields | {"time": None})


def run_expectations(table: RoutingTable, record: Callable[[Decision, str], None] | None = None) -> Iterator[Outcome]:
    """The outcomes in the order of the table, but for expectations of other environments.

    The balances of routes are carried on from one expectation to the next, so that the order in which a balanced route
    chooses can be expected; see ``Replay``. ``record`` is called with each decision and the subject that was sent.
    """
    replay = Replay(table)
    for number, expectation in enumerate(table.written.expectations):
        if expectation.environments and table.environment not in expectation.environments:
            continue
        try:
            message = message_of(expectation.message)
            decision = replay.decide(message, principal=expectation.principal, trace=True)
        except PointsmanError as error:
            yield Outcome(number, expectation, None, (error.problem,))
            continue
        if record is not None:
            record(decision, message.subject)
        yield Outcome(number, expectation, decision, tuple(_problems(expectation, decision)))


def _problems(expectation: schema.Expectation, decision: Decision) -> Iterator[str]:
    by_access = decision.refused is not None and decision.trace[-1].stage == "authorize"
    if expectation.refused and not by_access:
        yield "access must refuse it, and does not"
    if decision.refused is not None and not (expectation.refused and by_access):
        yield f"it is refused: {decision.refused}"
    missing, surplus = _unmatched(expectation.deliveries, decision.deliveries)
    for expected in missing:
        yield f"missing: {_written(expected)}"
    for delivery in surplus:
        yield f"not expected: {delivery.route} -> {delivery.destination}, {delivery.subject}"


def _unmatched(
    expected: list[str | schema.Expected], deliveries: tuple[Delivery, ...]
) -> tuple[list[str | schema.Expected], list[Delivery]]:
    """The expected deliveries that no delivery is left for, and the deliveries that nothing is left to expect."""
    missing = list(expected)
    surplus = list(deliveries)
    for number, found in sorted(_pairs(expected, deliveries).items(), reverse=True):
        del missing[number]
        surplus.remove(deliveries[found])
    return missing, surplus


def _pairs(expected: list[str | schema.Expected], deliveries: tuple[Delivery, ...]) -> dict[int, int]:
    """Which delivery each expected one is: as many pairs as can be made, found by augmenting paths."""
    taken: dict[int, int] = {}

    def place(number: int, tried: set[int]) -> bool:
        for found, delivery in enumerate(deliveries):
            if found in tried or not _fits(expected[number], delivery):
                continue
            tried.add(found)
            if found not in taken or place(taken[found], tried):
                taken[found] = number
                return True
        return False

    for number in range(len(expected)):
        place(number, set())
    return {number: found for found, number in taken.items()}


def _fits(expected: str | schema.Expected, delivery: Delivery) -> bool:
    if isinstance(expected, str):
        return expected == delivery.destination
    return (
        expected.destination == delivery.destination
        and expected.route in (None, delivery.route)
        and expected.subject in (None, delivery.subject)
    )


def _written(expected: str | schema.Expected) -> str:
    if isinstance(expected, str):
        return expected
    route = f"{expected.route} -> " if expected.route else ""
    return f"{route}{expected.destination}{f', {expected.subject}' if expected.subject else ''}"
