"""The stage ``select``: which of the routes that matched take the message, and where each of them sends it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter

from pointsman.errors import RoutingError
from pointsman.message import Message
from pointsman.routing import balance, breaker, gather, strategies
from pointsman.routing.balance import BalanceState
from pointsman.routing.breaker import BreakerState, Way
from pointsman.routing.strategies import Selection, in_table_order
from pointsman.table.decision import Delivery, Problem, Step
from pointsman.table.loading.compile import Destination
from pointsman.table.route import Route
from pointsman.table.state import Key, Working

STANDS_ALONE = attrgetter("stands_alone")
SELECT: dict[str, Callable[[Iterable[Route]], Selection[Route]]] = {
    "direct": strategies.select_direct,
    "priority": strategies.select_by_priority,
}


def choose_routes(routes: Sequence[Route], message: Message, trace: list[Step] | None) -> list[Route]:
    """Those that take the message, in the order of the table.

    Within a group, of the routes of the strategies direct, priority and content the one takes it that ``select``
    chooses. All others stand for themselves, as ``routing.strategies`` says.
    """
    if trace is None and all(map(STANDS_ALONE, routes)):
        # As ``select_all`` does, without what only a trace needs.
        return in_table_order(routes)
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
        for route in in_table_order(routes):
            why = reasons.get(route.name)
            trace.append(Step(route.name, f"taken: {route.strategy}" if why is None else f"not taken: {why}"))
    return [*strategies.select_all(chosen).chosen]


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
