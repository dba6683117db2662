"""What a message moves besides its deliveries: the sagas it is an event of, and the gatherers it is an answer to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pointsman.conditions.compiler import read_body
from pointsman.errors import PointsmanError, SubjectError
from pointsman.matching.live import SubjectIndex
from pointsman.message import Message
from pointsman.patterns import Dialect, Pattern
from pointsman.routing import gather
from pointsman.routing.gather import Gathered, GatherState
from pointsman.routing.saga import machine as saga_machine
from pointsman.routing.saga.definition import SagaDefinition, SagaState
from pointsman.table.decision import Step
from pointsman.table.route import Route
from pointsman.table.state import Key, Value, Working

EVENT = "event"
"""The metadata that names an event, for edges of a saga that go by its name and not by a pattern."""


class SagaMove(NamedTuple):
    """What a message, or the time, did to a saga; ``problem`` says why it could do nothing."""

    saga: str
    correlation_id: str
    outcome: saga_machine.Outcome
    problem: str | None = None


class Gathering(NamedTuple):
    """What an answer, or the time, did to a gatherer."""

    route: str
    correlation_id: str
    outcome: gather.Outcome
    problem: str | None = None

    @property
    def gathered(self) -> Gathered | None:
        """The result, once it is complete."""
        return self.outcome.gathered


Followed = SagaMove | Gathering


class Followers:
    """The sagas and gathering routes of a table, found by the subjects of their events and answers."""

    def __init__(self, sagas: Mapping[str, SagaDefinition], routes: Iterable[Route], dialect: Dialect) -> None:
        self.sagas = sagas
        self.routes = {route.name: route for route in routes if route.gather is not None}
        self._index: SubjectIndex[tuple[str, str]] = SubjectIndex(dialect)
        self._by_name: set[str] = set()
        for name, definition in sagas.items():
            for edge in definition.edges:
                if isinstance(edge.trigger, Pattern):
                    self._index.add(edge.trigger, ("saga", name))
                else:
                    self._by_name.add(name)
        for route in self.routes.values():
            if route.answers is not None:
                self._index.add(route.answers, ("gather", route.name))
        self.any = bool(sagas) or any(route.answers is not None for route in self.routes.values())

    def concerned(self, subject: str, *, named: bool) -> list[tuple[str, str]]:
        """The kinds and names of what a message may move; ``named`` says that it has the metadata ``EVENT``."""
        try:
            found = set(self._index.match(subject))
        except SubjectError:
            found = set()
        if named:
            found |= {("saga", name) for name in self._by_name}
        return sorted(found)

    def follow(self, message: Message, subject: str, working: Working, now: float) -> list[Followed]:
        """Moves what the message moves."""
        moved: list[Followed] = []
        for kind, name in self.concerned(subject, named=EVENT in message.metadata):
            correlation = message.correlation_id or message.id
            if kind == "saga":
                moved.append(self._saga(name, correlation, message, subject, working, now))
            else:
                moved.append(self._answer(name, correlation, message, working, now))
        return moved

    def expire(self, state: Mapping[Key, Value], working: Working, now: float) -> list[Followed]:
        """Moves what only waits for the time."""
        moved: list[Followed] = []
        for key, value in state.items():
            if isinstance(value, SagaState) and key.name in self.sagas:
                outcome, after = saga_machine.expire(self.sagas[key.name], value, now)
                if after is not value:
                    moved.append(SagaMove(key.name, key.correlation_id, outcome))
                    working.put(key, after)
                elif saga_machine.is_forgettable(self.sagas[key.name], value, now):
                    working.put(key, None)
            elif isinstance(value, GatherState) and key.name in self.routes:
                settings = self.routes[key.name].gather
                if settings is not None and not value.complete and now >= value.deadline:
                    result, changed = gather.expire(settings, value, now)
                    moved.append(Gathering(key.name, key.correlation_id, result))
                    working.put(key, changed)
        return moved

    def due(self, state: Mapping[Key, Value]) -> float | None:
        """The next time at which ``expire`` has something to do; None if it never has."""
        times: list[float | None] = []
        for key, value in state.items():
            if isinstance(value, SagaState) and key.name in self.sagas:
                times.append(saga_machine.due(self.sagas[key.name], value))
            elif isinstance(value, GatherState):
                times.append(gather.due(value))
        return min((time for time in times if time is not None), default=None)

    def _saga(
        self, name: str, correlation: str, message: Message, subject: str, working: Working, now: float
    ) -> SagaMove:
        key = Key("saga", name, correlation)
        before = working.find(key)
        event = saga_machine.SagaEvent(correlation, message.id, subject, message.metadata.get(EVENT))
        known = before if isinstance(before, SagaState) else None
        try:
            outcome, after = saga_machine.handle(self.sagas[name], known, event, now)
        except PointsmanError as error:
            return SagaMove(name, correlation, saga_machine.Outcome(), error.problem)
        working.put(key, after)
        return SagaMove(name, correlation, outcome)

    def _answer(self, name: str, correlation: str, message: Message, working: Working, now: float) -> Gathering:
        key = Key("gather", name, correlation)
        moved, after = self.answer(key, working.find(key), message, now)
        if after is not None:
            working.put(key, after)
        return moved

    def answer(
        self, key: Key, before: Value | None, message: Message, now: float
    ) -> tuple[Gathering, GatherState | None]:
        """What a message does to the gathering of a route that it is an answer to; and its state, if it is another."""
        _, name, correlation = key
        route = self.routes[name]
        if not isinstance(before, GatherState) or route.gather is None or route.target is None:
            return Gathering(name, correlation, gather.NOTHING, f"nothing was asked for {correlation!r}"), None
        value: Any = read_body(message.body)
        try:
            outcome, after = gather.answer(route.gather, before, route.target(message) or "", value, now)
        except PointsmanError as error:
            return Gathering(name, correlation, gather.NOTHING, error.problem), None
        return Gathering(name, correlation, outcome), after


def explain(moved: Iterable[Followed]) -> list[Step]:
    """What was moved, for people."""
    steps = []
    for each in moved:
        name = each.saga if isinstance(each, SagaMove) else each.route
        if each.problem is not None:
            what = each.problem
        elif isinstance(each, SagaMove):
            ignored = each.outcome.ignored
            what = f"ignored: {ignored}" if ignored else f"moves to {' -> '.join(each.outcome.path) or 'nowhere'}"
        elif each.gathered is not None:
            what = f"complete ({each.gathered.reason}): {each.gathered.result!r}"
        else:
            what = f"dropped: {each.outcome.dropped}" if each.outcome.dropped else "one more answer"
        steps.append(Step(name, what))
    return steps
