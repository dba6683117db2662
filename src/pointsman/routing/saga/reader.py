"""Saga definitions from plain data, as a YAML or JSON file gives it; every problem is found, not only the first.

name: order                     needed
dialect: nats                   of the patterns and commands
remember: 100                   see SagaDefinition
forget_after: 3600
starts: [edge, …]               at least one
states: {name: state, …}        at least one

state      edges: [edge, …] and timeout: {after: seconds, move…}, or then: {move…}, or final: true
edge       on: pattern, or event: name; and the move
move       to: state; send: [command, …], undo: [command, …], compensate: all or last
command    subject, or {subject: …, metadata: {key: value, …}}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pointsman.errors import InputError, PatternError, PointsmanError
from pointsman.patterns.dialect import DIALECTS, NATS, Dialect
from pointsman.patterns.pattern import Pattern
from pointsman.patterns.subject import Subject
from pointsman.routing.saga.definition import (
    FORGET_AFTER,
    MOST_REMEMBERED,
    REMEMBER,
    Command,
    Edge,
    Move,
    SagaDefinition,
    Scope,
    State,
    Timeout,
)
from pointsman.routing.saga.lint import Path, Problem, Problems
from pointsman.routing.state_codec import shown

DEFINITION_FIELDS = ("name", "dialect", "remember", "forget_after", "starts", "states")
STATE_FIELDS = ("edges", "timeout", "then", "final")
MOVE_FIELDS = ("to", "send", "undo", "compensate")


def definition_from_data(data: object) -> SagaDefinition:
    """The definition that the data holds.

    Raises ``InputError`` (``bad-saga``) with the first problem and the number of the others.
    """
    definition, problems = read_definition(data)
    if definition is None:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise InputError("bad-saga", f"{problems[0]}{more}")
    return definition


def read_definition(data: object) -> tuple[SagaDefinition | None, tuple[Problem, ...]]:
    """The definition and no problems, or no definition and all problems that could be found; never raises."""
    problems = Problems()
    fields = problems.fields(data, (), DEFINITION_FIELDS)
    name = problems.name(fields.get("name"), ("name",))
    remember = problems.whole(fields.get("remember", REMEMBER), ("remember",), MOST_REMEMBERED)
    forget_after = problems.seconds(fields.get("forget_after", FORGET_AFTER), ("forget_after",))
    dialect = _dialect(fields.get("dialect", NATS.name), problems)
    raw_states = fields.get("states")
    if not isinstance(raw_states, dict) or not raw_states:
        problems.note(("states",), "there must be at least one state: an object of names and states")
        raw_states = {}
    reader = _Reader(problems, dialect, raw_states)
    starts = reader.edges(fields.get("starts", []), ("starts",))
    if not starts:
        problems.note(("starts",), "there must be at least one edge that starts the saga")
    states = {each.name: each for each in (reader.state(key, value) for key, value in raw_states.items())}
    _refuse_circles(states, problems)
    if problems.found:
        return None, tuple(problems.found)
    return SagaDefinition(name, starts, states, dialect, remember, forget_after), ()


class _Reader:
    """Reads the parts of a definition whose dialect and names of states are known."""

    def __init__(self, problems: Problems, dialect: Dialect, names: Collection[object]) -> None:
        self.problems = problems
        self.dialect = dialect
        self.names = names

    def state(self, key: object, data: object) -> State:
        name = key if isinstance(key, str) else shown(key)
        path = ("states", name)
        self.problems.name(key, path)
        fields = self.problems.fields(data, path, STATE_FIELDS)
        final = self.problems.flag(fields.get("final", False), (*path, "final"))
        waits = "edges" in fields or "timeout" in fields
        if waits + ("then" in fields) + final != 1:
            self.problems.note(path, "a state either waits (edges, timeout), or leads on at once (then), or is final")
        return State(
            name,
            self.edges(fields.get("edges", []), (*path, "edges")),
            self.timeout(fields["timeout"], (*path, "timeout")) if "timeout" in fields else None,
            self.move(fields["then"], (*path, "then")) if "then" in fields else None,
            final,
        )

    def timeout(self, data: object, path: Path) -> Timeout:
        move = self.move(data, path, "after")
        after = data.get("after") if isinstance(data, dict) else None
        return Timeout(self.problems.seconds(after, (*path, "after")), move)

    def edges(self, data: object, path: Path) -> tuple[Edge, ...]:
        items = self.problems.items(data, path)
        return tuple(self.edge(each, (*path, number)) for number, each in enumerate(items))

    def edge(self, data: object, path: Path) -> Edge:
        move = self.move(data, path, "on", "event")
        fields = data if isinstance(data, dict) else {}
        if ("on" in fields) == ("event" in fields):
            self.problems.note(path, "an edge has either 'on', a pattern, or 'event', a name")
            return Edge("", move)
        if "event" in fields:
            return Edge(self.problems.name(fields["event"], (*path, "event")), move)
        try:
            return Edge(Pattern(fields["on"], self.dialect), move)
        except PatternError as error:
            self.problems.note((*path, "on"), error.problem)
            return Edge("", move)

    def move(self, data: object, path: Path, *others: str) -> Move:
        fields = self.problems.fields(data, path, (*others, *MOVE_FIELDS))
        to = self.problems.name(fields.get("to"), (*path, "to"))
        if to and to not in self.names:
            self.problems.note((*path, "to"), f"there is no state {shown(to)}")
        scope = fields.get("compensate")
        if scope is not None and scope not in list(Scope):
            self.problems.note((*path, "compensate"), f"{shown(scope)} is neither 'all' nor 'last'")
        return Move(
            to,
            self.commands(fields.get("send", []), (*path, "send")),
            self.commands(fields.get("undo", []), (*path, "undo")),
            next((each for each in Scope if each == scope), None),
        )

    def commands(self, data: object, path: Path) -> tuple[Command, ...]:
        items = self.problems.items(data, path)
        return tuple(self.command(each, (*path, number)) for number, each in enumerate(items))

    def command(self, data: object, path: Path) -> Command:
        if isinstance(data, str):
            return Command(self.subject(data, path))
        fields = self.problems.fields(data, path, ("subject", "metadata"))
        metadata = self.problems.texts(fields.get("metadata", {}), (*path, "metadata"))
        return Command(self.subject(fields.get("subject"), (*path, "subject")), metadata)

    def subject(self, value: object, path: Path) -> str:
        text = self.problems.name(value, path)
        try:
            return text and Subject(text, self.dialect).text
        except PointsmanError as error:
            self.problems.note(path, error.problem)
            return ""


def _dialect(value: object, problems: Problems) -> Dialect:
    name = problems.name(value, ("dialect",))
    if name and name not in DIALECTS:
        problems.note(("dialect",), f"there is no dialect {shown(name)}, only {', '.join(DIALECTS)}")
    return DIALECTS.get(name, NATS)


def _refuse_circles(states: Mapping[str, State], problems: Problems) -> None:
    settled: set[str] = set()
    for name in states:
        passed: list[str] = []
        at = name
        while at in states and at not in settled and at not in passed:
            passed.append(at)
            then = states[at].then
            at = "" if then is None else then.to
        if at in passed:
            circle = " -> ".join([*passed[passed.index(at) :], at])
            problems.note(("states", at, "then"), f"it would lead on for ever: {circle}")
        settled.update(passed)
