"""The routing table: loaded from YAML, it decides who gets which message."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import random
from typing import Any

from pointsman.errors import PointsmanError, TableError
from pointsman.matching.live import SubjectIndex
from pointsman.message import Message
from pointsman.patterns import Dialect, find_dialect
from pointsman.routing import balance, breaker
from pointsman.routing.balance import BalanceState
from pointsman.routing.breaker import BreakerSettings, BreakerState, Permit
from pointsman.table.correlate import Followers
from pointsman.table.decide import decide, translate
from pointsman.table.decision import Decision, Delivery
from pointsman.table.loading import document, schema, validation
from pointsman.table.loading.compile import Compiled, Functions, compile_table
from pointsman.table.loading.document import without_collector
from pointsman.table.loading.yaml import Node
from pointsman.table.route import Route
from pointsman.table.state import Key, State, Value, Working

NO_STATE = State()
Tell = Callable[[BreakerSettings, BreakerState, Permit, float], BreakerState]


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
        self.is_guarded = any(each.breaker is not None for each in self.destinations.values())
        self._counting = {route.name for route in self.routes if route.balance is balance.Kind.LEAST_CONNECTIONS}
        self.followers = Followers(self.sagas, self.routes, self.dialect)
        self.translator: SubjectIndex[int] = SubjectIndex(self.dialect)
        for number, rule in enumerate(self.translations):
            self.translator.add(rule.template.source, number)

    def __repr__(self) -> str:
        chosen = "" if self.environment is None else f", environment {self.environment!r}"
        return f"<RoutingTable {self.hash[:12]}: {len(self.routes)} routes{chosen}>"

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
        return decide(self, message, state, now=now, random=random, principal=principal, trace=trace)

    def expire(self, state: Mapping[Key, Value], now: float | None = None) -> Decision:
        """What the time alone does: timeouts of sagas and of gatherers, and finished sagas that may be forgotten."""
        working = Working(state)
        followed = self.followers.expire(state, working, time.time() if now is None else now)
        return Decision("", (), working.changes, followed=tuple(followed), before=state)

    def due(self, state: Mapping[Key, Value]) -> float | None:
        """The next time at which ``expire`` has something to do; None if it never has."""
        return self.followers.due(state)

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

    def translate(self, subject: str, random: Callable[[], float] = random) -> str:
        """The subject that the translations make of it; the same one if none matches.

        Raises ``TemplateError`` (``invalid-result``) when what comes out is no subject.
        """
        return translate(self, subject, random, None)[0]

    def check_name(self, subject: str) -> None:
        """Raises ``NamingError``, or ``SubjectError``, for a subject outside the naming standard that is enforced."""
        if self.enforced is not None:
            self.enforced.parse(subject)


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
