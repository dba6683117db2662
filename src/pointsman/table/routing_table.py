"""The routing table: loaded from YAML, it decides who gets which message."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import random
from typing import Any

from pointsman.errors import AccessError, MessageError, NamingError, PointsmanError, SubjectError, TableError
from pointsman.matching.live import SubjectIndex
from pointsman.message import Message
from pointsman.patterns import Dialect, find_dialect
from pointsman.routing import balance, breaker, translate
from pointsman.routing.balance import BalanceState
from pointsman.routing.breaker import BreakerSettings, BreakerState, Permit
from pointsman.routing.translate import TranslatedMessage
from pointsman.table.correlate import Followers, explain
from pointsman.table.decision import Decision, Delivery, Step
from pointsman.table.loading import document, schema, validation
from pointsman.table.loading.compile import UNROUTED, Compiled, Functions, compile_table
from pointsman.table.loading.document import without_collector
from pointsman.table.loading.yaml import Node
from pointsman.table.route import Route
from pointsman.table.select import Sender, choose_routes
from pointsman.table.state import Key, State, Value, Working

NO_STATE = State()
NO_NAMES: tuple[str, ...] = ()
Tell = Callable[[BreakerSettings, BreakerState, Permit, float], BreakerState]
SHOWN = 50
"""Routes that do not match which a trace names."""


class RoutingTable:
    """Routes, destinations, translations, access and sagas for one environment.

    >>> table = RoutingTable.parse("routes: [{name: stock, pattern: orders.>, destinations: [warehouse]}]")
    >>> [delivery.destination for delivery in table.decide(Message("orders.new")).deliveries]
    ['warehouse']

    Never changes; safe between threads.
    """

    def __init__(self, written: schema.Table, parts: Compiled, plain: dict[str, Any], chosen: str | None) -> None:
        self.written = written
        self.plain = plain
        """What it says, as plain data with its environment applied; ``from_plain`` reads it. Not to be changed."""
        self.routes = tuple(parts.routes)
        self.destinations = parts.destinations
        self.translations = tuple(parts.translations)
        self.applies_all = written.translations.apply == "all"
        """Whether translations are applied one after the other, and not only the first that matches."""
        self.unrouted = written.unrouted
        """The destination of messages that no route takes, if there is one."""
        self.functions = parts.functions
        """The Python functions that the table names, by their names; None for those that were not given."""
        self.access = parts.access
        self.sagas = parts.sagas
        self.standards = parts.standards
        self.dialect = find_dialect(written.dialect)
        self.enforced = parts.enforced
        """The naming standard that every message must follow, if there is one."""
        self.environment = chosen
        self.hash = _digest(plain)
        """Names the table by its content: the same for the same routes, whatever the files look like."""
        self.index: SubjectIndex[Route] = SubjectIndex(self.dialect)
        """From a subject to the routes that match it and are enabled."""
        for route in self.routes:
            if route.enabled:
                self.index.add(route.pattern, route)
        self._guards = any(each.breaker is not None for each in self.destinations.values())
        self._counting = {route.name for route in self.routes if route.balance is balance.Kind.LEAST_CONNECTIONS}
        self._followers = Followers(self.sagas, self.routes, self.dialect)
        self._translator: SubjectIndex[int] = SubjectIndex(self.dialect)
        for number, rule in enumerate(self.translations):
            self._translator.add(rule.template.source, number)

    @classmethod
    def load(
        cls,
        path: str | Path,
        environment: str | None = None,
        functions: Functions | None = None,
        *,
        seen: dict[Path, document.Stamp] | None = None,
    ) -> RoutingTable:
        """The table in a file. Raises ``TableError``, which holds every mistake, each with its file, line and column;
        ``InputError`` when there is no file, no YAML or no such environment.

        ``functions`` are the Python functions that the table names. Without any the table can be checked, but a message
        that needs one raises ``RoutingError`` (``function-not-given``). ``seen`` gets the file and those that it
        includes, for a caller that watches them.
        """
        with without_collector():
            return cls._from_tree(document.read_document(Path(path), seen), environment, functions)

    @classmethod
    def parse(
        cls,
        text: str,
        environment: str | None = None,
        file: str = "table.yaml",
        functions: Functions | None = None,
    ) -> RoutingTable:
        """The table in a text; raises as ``load``. ``file`` is the name that errors give."""
        with without_collector():
            return cls._from_tree(document.parse_document(text, file), environment, functions)

    @classmethod
    def from_plain(cls, plain: dict[str, Any], file: str = "table.yaml") -> RoutingTable:
        """The table that plain data says, such as ``plain`` of another one, which has the same hash then.

        Its places are all the beginning of the file. Raises as ``parse``.
        """
        with without_collector():
            return cls._from_tree(Node.of(plain, file), None, None)

    @property
    def dialects(self) -> frozenset[Dialect]:
        """The dialects in which a subject may be valid: that of the table, and those of its patterns."""
        sources = (rule.template.source for rule in self.translations)
        patterns = (*(route.pattern for route in self.routes), *sources)
        return frozenset({self.dialect, *(pattern.dialect for pattern in patterns)})

    def has_destination(self, name: str) -> bool:
        """Whether deliveries may go to it: it is declared, or the table declares none and a route names it."""
        if self.destinations:
            return name in self.destinations
        return any(name in route.names for route in self.routes)

    @classmethod
    def _from_tree(cls, root: Node, chosen: str | None, functions: Functions | None) -> RoutingTable:
        failures: list[PointsmanError] = []
        overlays, rest = _overlays(root)
        if overlays is not None:
            failures += validation.read_shape(overlays, schema.Overlays)[1]
        changed = document.choose_environment(rest if chosen is None else root, chosen)
        written, mistakes = validation.read_shape(changed, schema.Document)
        failures += mistakes
        if written is None:
            # What else is wrong is told too.
            changed = validation.without_mistakes(changed, schema.Document)
            written, _ = validation.read_shape(changed, schema.Document)
        if written is not None:
            parts = compile_table(written, changed, functions)
            failures += parts.failures
        if failures:
            raise TableError(sorted(failures, key=lambda error: (error.file or "", error.line or 0, error.column or 0)))
        return cls(written, parts, changed.plain() or {}, chosen)

    def decide(
        self,
        message: Message,
        state: Mapping[Key, Value] = NO_STATE,
        *,
        now: float | None = None,
        random: Callable[[], float] = random,
        principal: str | None = None,
        trace: bool = False,
    ) -> Decision:
        """Who gets the message, what that changes, and with ``trace`` why.

        ``now`` is the time in seconds, by default the clock's; ``random`` gives numbers from 0 to 1; ``principal`` is
        who published it, and without one access is not asked. A message whose subject is invalid in every dialect used,
        or outside an enforced naming standard, is refused, not an error. Raises ``MessageError`` for anything but a
        ``Message``, ``TemplateError`` (``invalid-result``) when a translation makes no subject, and ``RoutingError``
        (``function-not-given``).
        """
        if not isinstance(message, Message):
            problem = f"decide takes a Message, not {type(message).__name__}: Message('orders.new', b'…')"
            raise MessageError("bad-message", problem)
        now = time.time() if now is None else now
        steps: list[Step] | None = [Step("receive", f"{message.subject!r}, message {message.id!r}")] if trace else None
        subject, applied = message.subject, NO_NAMES
        try:
            self._authorize(message, principal, steps)
            if self.translations or trace:
                subject, applied = self._translate(message.subject, random, steps)
            self.check_name(subject)
            matched = self._match(subject, steps)
        except (AccessError, NamingError, SubjectError) as error:
            if isinstance(error, NamingError):
                _note(steps, "translate", f"outside the naming standard: {error.problem}")
            return Decision(subject, (), {}, error, applied, trace=tuple(steps or ()), before=state)
        seen = message if subject == message.subject else TranslatedMessage.of(message, subject)
        inner: list[Step] | None = None if steps is None else []
        chosen = choose_routes(matched, seen, inner)
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
                deliveries += sender.send(route, seen, subject)
        if not chosen and self.unrouted is not None:
            deliveries.append(sender.guard(UNROUTED, self.unrouted, subject))
        if steps is not None and sends is not None:
            sends += [Step(each.route, f"to {each.destination!r}") for each in deliveries]
            _note(steps, "deliver", f"{len(deliveries)} deliveries", sends)
        followed = self._followers.follow(seen, subject, working, now) if self._followers.any else []
        if steps is not None and followed:
            _note(steps, "follow", f"{len(followed)} sagas and gatherers are concerned", explain(followed))
        return Decision(
            subject,
            tuple(deliveries),
            working.changes,
            None,
            applied,
            tuple(sender.problems),
            tuple(followed),
            tuple(steps or ()),
            before=state,
        )

    def expire(self, state: Mapping[Key, Value], now: float | None = None) -> Decision:
        """What the time alone does: timeouts of sagas and of gatherers, and finished sagas that may be forgotten."""
        working = Working(state)
        followed = self._followers.expire(state, working, time.time() if now is None else now)
        return Decision("", (), working.changes, followed=tuple(followed), before=state)

    def due(self, state: Mapping[Key, Value]) -> float | None:
        """The next time at which ``expire`` has something to do; None if it never has."""
        return self._followers.due(state)

    def succeeded(self, delivery: Delivery, state: Mapping[Key, Value], now: float | None = None) -> Decision:
        """A delivery was made: its breaker and its balance are told. ``state`` of what is returned is the new state."""
        return self._told(delivery, state, now, breaker.succeeded, finished=True)

    def failed(self, delivery: Delivery, state: Mapping[Key, Value], now: float | None = None) -> Decision:
        """An attempt failed: the breaker is told. It counts as in flight until ``finished`` or ``succeeded``."""
        return self._told(delivery, state, now, breaker.failed, finished=False)

    def finished(self, delivery: Delivery, state: Mapping[Key, Value]) -> Decision:
        """A delivery was given up and is not tried again: it is in flight no more, for least-connections."""
        return self._told(delivery, state, 0.0, None, finished=True)

    def _told(
        self, delivery: Delivery, state: Mapping[Key, Value], now: float | None, tell: Tell | None, *, finished: bool
    ) -> Decision:
        working = Working(state)
        guarded = self.destinations.get(delivery.destination)
        if tell is not None and delivery.permit is not None and guarded is not None and guarded.breaker is not None:
            key = Key("breaker", guarded.name)
            before = working.get(key, BreakerState())
            after = tell(guarded.breaker, before, delivery.permit, time.time() if now is None else now)
            if after is not before:
                working.put(key, after)
        if finished and delivery.route in self._counting:
            key = Key("balance", delivery.route)
            balanced = working.get(key, BalanceState())
            left = balance.finished(balanced, delivery.instead_of or delivery.destination)
            if left is not balanced:
                working.put(key, left)
        return Decision(delivery.subject, (), working.changes, before=state)

    def _authorize(self, message: Message, principal: str | None, steps: list[Step] | None) -> None:
        if self.access is None or principal is None:
            _note(steps, "authorize", "no access rules" if self.access is None else "no principal: a trusted caller")
            return
        verdict = self.access.check(principal, "publish", message.subject)
        _note(steps, "authorize", verdict.reason)
        if not verdict.allowed:
            raise AccessError("publish-refused", verdict.reason, text=message.subject)

    def translate(self, subject: str, random: Callable[[], float] = random) -> str:
        """The subject that the translations make of it; the same one if none matches.

        Raises ``TemplateError`` (``invalid-result``) when what comes out is no subject.
        """
        return self._translate(subject, random, None)[0]

    def _translate(
        self, subject: str, random: Callable[[], float], steps: list[Step] | None
    ) -> tuple[str, tuple[str, ...]]:
        if self.applies_all:
            made, applied = translate.translate_in_turn(self.translations, subject, random)
        else:
            try:
                matching = sorted(self._translator.match(subject))
            except SubjectError:
                matching = []
            found = translate.explain([self.translations[number] for number in matching], subject, random)
            made, applied = found.subject, () if found.rule is None else (found.rule,)
        names = tuple(rule.name for rule in applied)
        if made is None:
            _note(steps, "translate", "no translation matches")
            return subject, ()
        _note(steps, "translate", f"{' and then '.join(map(repr, names))} makes it {made!r}")
        return made, names

    def check_name(self, subject: str) -> None:
        """Raises ``NamingError``, or ``SubjectError``, for a subject outside the naming standard that is enforced."""
        if self.enforced is not None:
            self.enforced.parse(subject)

    def _match(self, subject: str, steps: list[Step] | None) -> list[Route]:
        try:
            matched = self.index.match(subject)
        except SubjectError as error:
            _note(steps, "resolve", error.problem)
            raise
        if steps is not None:
            steps.append(self._resolved(matched))
        return matched

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
