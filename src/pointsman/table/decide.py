"""The decision about one message, stage by stage: receive, authorize, translate, resolve, select, deliver.

Each stage notes what it did if a trace is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from pointsman.errors import AccessError, MessageError, NamingError, RoutingError, SubjectError
from pointsman.message import Message
from pointsman.routing import balance, breaker, gather, strategies
from pointsman.routing import translate as translation
from pointsman.routing.balance import BalanceState
from pointsman.routing.breaker import BreakerState, Way
from pointsman.routing.strategies import Selection
from pointsman.routing.translate import TranslatedMessage
from pointsman.table.correlate import explain
from pointsman.table.decision import Decision, Delivery, Problem, Step
from pointsman.table.loading.compile import UNROUTED, Destination
from pointsman.table.route import Route
from pointsman.table.state import Key, Value, Working

if TYPE_CHECKING:
    from pointsman.table.routing_table import RoutingTable

Trace = list[Step] | None
NO_NAMES: tuple[str, ...] = ()
SHOWN = 50
"""Routes that do not match which a trace names."""
POSITION = attrgetter("position")
STANDS_ALONE = attrgetter("stands_alone")
SELECT: dict[str, Callable[[Iterable[Route]], Selection[Route]]] = {
    "direct": strategies.select_direct,
    "priority": strategies.select_by_priority,
}


def decide(
    table: RoutingTable,
    message: Message,
    state: Mapping[Key, Value],
    *,
    now: float | None,
    random: Callable[[], float],
    principal: str | None,
    trace: bool,
) -> Decision:
    """See ``RoutingTable.decide``."""
    if not isinstance(message, Message):
        problem = f"decide takes a Message, not {type(message).__name__}: Message('orders.new', b'…')"
        raise MessageError("bad-message", problem)
    now = time.time() if now is None else now
    steps: Trace = [Step("receive", f"{message.subject!r}, message {message.id!r}")] if trace else None
    subject, applied = message.subject, NO_NAMES
    try:
        authorize(table, subject, principal, steps)
        if table.translations or trace:
            subject, applied = translate(table, subject, random, steps)
        if table.enforced is not None:
            table.check_name(subject)
        matched = resolve(table, subject, steps)
    except (AccessError, NamingError, SubjectError) as error:
        if isinstance(error, NamingError) and steps is not None:
            steps.append(Step("translate", f"outside the naming standard: {error.problem}"))
        return Decision(subject, (), {}, error, applied, trace=tuple(steps or ()), before=state)
    seen = message if subject == message.subject else TranslatedMessage.of(message, subject)
    chosen = select(matched, seen, steps)
    working = Working(state)
    sender = Sender(table.destinations, working, now, random, None if steps is None else [])
    deliveries = deliver(table, chosen, seen, subject, sender, steps)
    followed = table.followers.follow(seen, subject, working, now) if table.followers.any else []
    if steps is not None and followed:
        concerned = f"{len(followed)} sagas and gatherers are concerned"
        steps.append(Step("follow", concerned, tuple(explain(followed))))
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


def authorize(table: RoutingTable, subject: str, principal: str | None, steps: Trace) -> None:
    """Raises ``AccessError`` (``publish-refused``) if the principal may not publish the subject."""
    if table.access is None or principal is None:
        if steps is not None:
            why = "no access rules" if table.access is None else "no principal: a trusted caller"
            steps.append(Step("authorize", why))
        return
    verdict = table.access.check(principal, "publish", subject)
    if steps is not None:
        steps.append(Step("authorize", verdict.reason))
    if not verdict.allowed:
        raise AccessError("publish-refused", verdict.reason, text=subject)


def translate(
    table: RoutingTable, subject: str, random: Callable[[], float], steps: Trace
) -> tuple[str, tuple[str, ...]]:
    """The subject after the translations, and the names of those that were applied."""
    if table.applies_all:
        made, applied = translation.translate_in_turn(table.translations, subject, random)
    else:
        try:
            matching = sorted(table.translator.match(subject))
        except SubjectError:
            matching = []
        found = translation.explain([table.translations[number] for number in matching], subject, random)
        made, applied = found.subject, () if found.rule is None else (found.rule,)
    names = tuple([rule.name for rule in applied])
    if steps is not None:
        what = "no translation matches" if made is None else f"{' and then '.join(map(repr, names))} makes it {made!r}"
        steps.append(Step("translate", what))
    return (subject, NO_NAMES) if made is None else (made, names)


def resolve(table: RoutingTable, subject: str, steps: Trace) -> list[Route]:
    """The routes whose pattern matches. Raises ``SubjectError`` for a subject that is invalid in every dialect used."""
    try:
        matched = table.index.match(subject)
    except SubjectError as error:
        if steps is not None:
            steps.append(Step("resolve", error.problem))
        raise
    if steps is not None:
        steps.append(_resolved(table, matched))
    return matched


def _resolved(table: RoutingTable, matched: list[Route]) -> Step:
    """Which routes match, and of the others the first ones and how many there are."""
    found = {route.name for route in matched}
    steps = [Step(route.name, f"matches: {route.pattern}") for route in sorted(matched, key=POSITION)]
    others = [route for route in table.routes if route.name not in found]
    for route in others[:SHOWN]:
        what = f"does not match: {route.pattern}" if route.enabled else "not asked: it is disabled"
        steps.append(Step(route.name, what))
    if len(others) > SHOWN:
        steps.append(Step("…", f"and {len(others) - SHOWN} others that do not match or are disabled"))
    return Step("resolve", f"{len(matched)} of {len(table.routes)} routes match", tuple(steps))


def select(matched: list[Route], message: Message, steps: Trace) -> list[Route]:
    """The routes that take the message, in the order of the table."""
    inner: Trace = None if steps is None else []
    chosen = choose_routes(matched, message, inner)
    if steps is not None:
        steps.append(Step("select", f"{len(chosen)} of {len(matched)} routes take it", tuple(inner or ())))
    return chosen


def deliver(
    table: RoutingTable, chosen: list[Route], message: Message, subject: str, sender: Sender, steps: Trace
) -> list[Delivery]:
    """The deliveries of the routes that take the message, or that to the destination for unrouted messages."""
    deliveries: list[Delivery] = []
    for route in chosen:
        if route.stands_alone and not table.is_guarded:
            deliveries += [Delivery(route.name, destination, subject) for destination in route.names]
        else:
            deliveries += sender.send(route, message, subject)
    if not chosen and table.unrouted is not None:
        deliveries.append(sender.guard(UNROUTED, table.unrouted, subject))
    if steps is not None:
        sends = [*(sender.trace or ()), *(Step(each.route, f"to {each.destination!r}") for each in deliveries)]
        steps.append(Step("deliver", f"{len(deliveries)} deliveries", tuple(sends)))
    return deliveries


def choose_routes(routes: Sequence[Route], message: Message, trace: list[Step] | None) -> list[Route]:
    """Those that take the message, in the order of the table.

    Within a group, of the routes of the strategies direct, priority and content the one takes it that ``select``
    chooses. All others stand for themselves, as ``routing.strategies`` says.
    """
    if trace is None and all(map(STANDS_ALONE, routes)):
        return sorted(routes, key=POSITION)
    chosen: list[Route] = []
    reasons: dict[str, str] = {}
    competing: dict[tuple[str, str], list[Route]] = {}
    for route in routes:
        if route.strategy == "content":
            competing.setdefault(("content", route.group), []).append(route)
        elif (why := route.refuses(message)) is not None:
            reasons[route.name] = why
        elif route.strategy in SELECT:
            competing.setdefault((route.strategy, route.group), []).append(route)
        else:
            chosen.append(route)
    for (strategy, _), candidates in competing.items():
        selection = _by_content(candidates, message) if strategy == "content" else SELECT[strategy](candidates)
        chosen += selection.chosen
        reasons |= {each.candidate.name: each.reason for each in selection.rejected}
    if trace is not None:
        for route in sorted(routes, key=POSITION):
            why = reasons.get(route.name)
            trace.append(Step(route.name, f"taken: {route.strategy}" if why is None else f"not taken: {why}"))
    return sorted(chosen, key=POSITION)


def _by_content(candidates: list[Route], message: Message) -> Selection[Route]:
    return strategies.select_by_content([(route, route.takes) for route in candidates], message)


class Sender:
    """Turns a chosen route into deliveries, by its strategy and the breakers of its destinations."""

    __slots__ = ("destinations", "now", "problems", "random", "trace", "working")

    def __init__(
        self,
        destinations: dict[str, Destination],
        working: Working,
        now: float,
        random: balance.Random,
        trace: list[Step] | None,
    ) -> None:
        self.destinations = destinations
        self.working = working
        self.now = now
        self.random = random
        self.trace = trace
        self.problems: list[Problem] = []
        """The routes that could not choose."""

    def send(self, route: Route, message: Message, subject: str) -> list[Delivery]:
        """The deliveries of a route."""
        if route.strategy == "balanced" and route.balance is not None:
            names = self._balanced(route, message)
        else:
            names = [*route.names]
            if route.gather is not None:
                self._scatter(route, message, names)
        return [self.guard(route.name, name, subject) for name in names]

    def _balanced(self, route: Route, message: Message) -> list[str]:
        key = Key("balance", route.name)
        before = self.working.get(key, BalanceState())
        by = route.key(message) if route.key is not None else None
        try:
            name, after = balance.choose(
                route.balance or balance.Kind.RANDOM, route.destinations, before, key=by, random=self.random
            )
        except RoutingError as error:
            self.problems.append(Problem(route.name, error.code, error.problem))
            self._note(route.name, f"nothing is chosen: {error.problem}")
            return []
        if after is not before:
            self.working.put(key, after)
        self._note(route.name, f"{route.balance} chooses {name!r}")
        return [name]

    def _scatter(self, route: Route, message: Message, names: list[str]) -> None:
        correlation = message.correlation_id or message.id
        if route.gather is not None:
            state = gather.scatter(route.gather, correlation, names, self.now)
            self.working.put(Key("gather", route.name, correlation), state)
            self._note(route.name, f"answers with the correlation id {correlation!r} are gathered")

    def guard(self, route: str, name: str, subject: str) -> Delivery:
        """A delivery to the destination, or to its fallback while its breaker is open."""
        destination = self.destinations.get(name)
        if destination is None or destination.breaker is None:
            return Delivery(route, name, subject)
        key = Key("breaker", name)
        before = self.working.get(key, BreakerState())
        permit, after = breaker.ask(destination.breaker, before, self.now)
        if after is not before:
            self.working.put(key, after)
        if permit.way is not Way.FALLBACK:
            if permit.way is Way.PROBE:
                self._note(name, "its breaker is half-open, and this delivery tries it")
            return Delivery(route, name, subject, permit)
        if destination.fallback is None:
            self._note(name, "its breaker is open, and it has no fallback: it will be refused")
            return Delivery(route, name, subject, permit)
        self._note(name, f"its breaker is open: {destination.fallback!r} instead")
        return Delivery(route, destination.fallback, subject, instead_of=name)

    def _note(self, name: str, what: str) -> None:
        if self.trace is not None:
            self.trace.append(Step(name, what))
