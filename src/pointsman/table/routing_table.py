"""The routing table: loaded from YAML, it decides who gets which message."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pointsman.errors import PointsmanError, SubjectError, TableError
from pointsman.matching.live import SubjectIndex
from pointsman.message import Message
from pointsman.patterns import find_dialect
from pointsman.routing import translate
from pointsman.table import document, environment, model, shape
from pointsman.table.collector import without_collector
from pointsman.table.compile import Compiled, compile_table
from pointsman.table.decision import Decision, Delivery, Step
from pointsman.table.followed import Followers, explain
from pointsman.table.route import Route
from pointsman.table.select import Sender, choose_routes
from pointsman.table.state import Key, State, Value, Working
from pointsman.table.yaml_text import Node

NO_STATE = State()
SHOWN = 50
"""Routes that do not match which a trace names."""


def _no_chance() -> float:
    return 0.0


class RoutingTable:
    """Routes, destinations, translations, access and sagas for one environment.

    >>> table = RoutingTable.parse("routes: [{name: stock, pattern: orders.>, destinations: [warehouse]}]")
    >>> [delivery.destination for delivery in table.decide(Message("orders.new")).deliveries]
    ['warehouse']

    Never changes; safe between threads.
    """

    def __init__(self, written: model.Table, parts: Compiled, plain: dict[str, Any], chosen: str | None) -> None:
        self.written = written
        self.plain = plain
        """What it says, as plain data with its environment applied; ``from_plain`` reads it. Not to be changed."""
        self.routes = tuple(parts.routes)
        self.destinations = parts.destinations
        self.translations = tuple(parts.translations)
        self.access = parts.access
        self.sagas = parts.sagas
        self.standards = parts.standards
        self.dialect = find_dialect(written.dialect)
        self.environment = chosen
        self.hash = _digest(plain)
        """Names the table by its content: the same for the same routes, whatever the files look like."""
        self.index: SubjectIndex[Route] = SubjectIndex(self.dialect)
        """From a subject to the routes that match it and are enabled."""
        for route in self.routes:
            if route.enabled:
                self.index.add(route.pattern, route)
        self._guards = any(each.breaker is not None for each in self.destinations.values())
        self._followers = Followers(self.sagas, self.routes, self.dialect)
        self._translator: SubjectIndex[int] = SubjectIndex(self.dialect)
        for number, rule in enumerate(self.translations):
            self._translator.add(rule.template.source, number)

    @classmethod
    def load(
        cls, path: str | Path, environment: str | None = None, *, seen: dict[Path, document.Stamp] | None = None
    ) -> RoutingTable:
        """The table in a file. Raises ``TableError``, which holds every mistake, each with its file, line and column;
        ``InputError`` when there is no file, no YAML or no such environment. ``seen`` gets the file and those that it
        includes, for a caller that watches them.
        """
        with without_collector():
            return cls._from_tree(document.read_document(Path(path), seen), environment)

    @classmethod
    def parse(cls, text: str, environment: str | None = None, file: str = "table.yaml") -> RoutingTable:
        """The table in a text; raises as ``load``. ``file`` is the name that errors give."""
        with without_collector():
            return cls._from_tree(document.parse_document(text, file), environment)

    @classmethod
    def from_plain(cls, plain: dict[str, Any], file: str = "table.yaml") -> RoutingTable:
        """The table that plain data says, such as ``plain`` of another one, which has the same hash then.

        Its places are all the beginning of the file. Raises as ``parse``.
        """
        with without_collector():
            return cls._from_tree(Node.of(plain, file), None)

    @classmethod
    def _from_tree(cls, root: Node, chosen: str | None) -> RoutingTable:
        failures: list[PointsmanError] = []
        overlays, rest = _overlays(root)
        if overlays is not None:
            failures += shape.read_shape(overlays, model.Overlays)[1]
        changed = environment.choose_environment(rest if chosen is None else root, chosen)
        written, mistakes = shape.read_shape(changed, model.Document)
        failures += mistakes
        if written is None:
            # What else is wrong is told too.
            changed = shape.without_mistakes(changed, model.Document)
            written, _ = shape.read_shape(changed, model.Document)
        if written is not None:
            parts = compile_table(written, changed)
            failures += parts.failures
        if failures:
            raise TableError(sorted(failures, key=lambda error: (error.file or "", error.line or 0, error.column or 0)))
        return cls(written, parts, changed.plain() or {}, chosen)

    def decide(
        self,
        message: Message,
        state: Mapping[Key, Value] = NO_STATE,
        *,
        now: float = 0.0,
        random: Callable[[], float] = _no_chance,
        principal: str | None = None,
        trace: bool = False,
    ) -> Decision:
        """Who gets the message, what that changes, and with ``trace`` why.

        ``now`` is the time in seconds, ``random`` gives numbers from 0 to 1, ``principal`` is who published it; without
        one, access is not asked. A message whose subject is invalid in every dialect used is refused, not an error.
        """
        steps: list[Step] | None = [Step("receive", f"{message.subject!r}, message {message.id!r}")] if trace else None
        refused = self._authorize(message, principal, steps)
        if refused is not None:
            return Decision(message.subject, (), {}, refused, trace=tuple(steps or ()), before=state)
        subject = self.translate(message.subject, steps) if self.translations or trace else message.subject
        try:
            matched = self.index.match(subject)
        except SubjectError as error:
            _note(steps, "resolve", error.problem)
            return Decision(subject, (), {}, error.problem, trace=tuple(steps or ()), before=state)
        if steps is not None:
            steps.append(self._resolved(matched))
        inner: list[Step] | None = None if steps is None else []
        chosen = choose_routes(matched, message, inner)
        _note(steps, "select", f"{len(chosen)} of {len(matched)} routes take it", inner)
        working = Working(state)
        sends: list[Step] | None = None if steps is None else []
        sender = Sender(self.destinations, working, now, random, sends)
        deliveries: list[Delivery] = []
        for route in chosen:
            if route.stands_alone and not self._guards:
                name = route.name
                deliveries += [Delivery(name, destination, subject) for destination in route.names]
            else:
                deliveries += sender.send(route, message, subject)
        if steps is not None and sends is not None:
            sends += [Step(each.route, f"to {each.destination!r}") for each in deliveries]
            _note(steps, "deliver", f"{len(deliveries)} deliveries", sends)
        followed = self._followers.follow(message, subject, working, now) if self._followers.any else []
        if steps is not None and followed:
            _note(steps, "follow", f"{len(followed)} sagas and gatherers are concerned", explain(followed))
        return Decision(
            subject, tuple(deliveries), working.changes, None, tuple(followed), tuple(steps or ()), before=state
        )

    def expire(self, state: Mapping[Key, Value], now: float) -> Decision:
        """What the time alone does: timeouts of sagas and of gatherers, and finished sagas that may be forgotten."""
        working = Working(state)
        followed = self._followers.expire(state, working, now)
        return Decision("", (), working.changes, followed=tuple(followed), before=state)

    def due(self, state: Mapping[Key, Value]) -> float | None:
        """The next time at which ``expire`` has something to do; None if it never has."""
        return self._followers.due(state)

    def _authorize(self, message: Message, principal: str | None, steps: list[Step] | None) -> str | None:
        if self.access is None or principal is None:
            _note(steps, "authorize", "no access rules" if self.access is None else "no principal: a trusted caller")
            return None
        verdict = self.access.check(principal, "publish", message.subject)
        _note(steps, "authorize", verdict.reason)
        return None if verdict.allowed else verdict.reason

    def translate(self, subject: str, steps: list[Step] | None = None) -> str:
        """The subject that the first translation which matches makes of it; the same one if none does.

        Raises ``TemplateError`` (``invalid-result``) when what comes out is no subject.
        """
        try:
            matching = self._translator.match(subject)
        except SubjectError:
            matching = []
        made = translate.explain([self.translations[number] for number in sorted(matching)], subject)
        if made.subject is not None and made.rule is not None:
            _note(steps, "translate", f"{made.rule.name!r} makes it {made.subject!r}")
            return made.subject
        _note(steps, "translate", "no translation matches")
        return subject

    def _resolved(self, matched: list[Route]) -> Step:
        """Which routes match, and of the others the first ones and how many there are."""
        found = {route.name for route in matched}
        steps = [Step(route.name, f"matches: {route.pattern}") for route in sorted(matched, key=_position)]
        others = [route for route in self.routes if route.name not in found]
        for route in others[:SHOWN]:
            what = f"does not match: {route.pattern}" if route.enabled else "not asked: it is disabled"
            steps.append(Step(route.name, what))
        if len(others) > SHOWN:
            steps.append(Step("…", f"and {len(others) - SHOWN} others that do not match or are disabled"))
        return Step("resolve", f"{len(matched)} of {len(self.routes)} routes match", tuple(steps))


def _note(steps: list[Step] | None, stage: str, what: str, inner: list[Step] | None = None) -> None:
    if steps is not None:
        steps.append(Step(stage, what, tuple(inner or ())))


def _position(route: Route) -> int:
    return route.position


def _overlays(root: Node) -> tuple[Node | None, Node]:
    """The environments of a tree by themselves, and the tree without them."""
    if not isinstance(root.children, dict) or "environments" not in root.children:
        return None, root
    rest = {key: child for key, child in root.children.items() if key != "environments"}
    only = Node(None, root.file, root.line, root.column, {"environments": root.children["environments"]})
    return only, Node(None, root.file, root.line, root.column, rest)


def _digest(data: dict[str, Any]) -> str:
    """The hash of the content: of what is said, and not of how it is written."""
    said = {key: value for key, value in data.items() if key not in ("include", "expectations", "silence")}
    text = json.dumps(said, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
