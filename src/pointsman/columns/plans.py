"""Plans: what is left to ask of a message whose subject matches certain routes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pointsman.columns.questions import Question
from pointsman.conditions import Predicate
from pointsman.conditions.compiler import compile_holds
from pointsman.table.route import COMPETING, Route
from pointsman.table.routing_table import RoutingTable

IntArray = npt.NDArray[np.int32]
NO_QUESTION = -1


@dataclass(frozen=True, slots=True)
class Plan:
    """The routes that may take a message, in the order of the table, and how that is found out.

    Routes that cannot be taken any more, since one before them in their group always is, are left out.
    """

    routes: IntArray
    """Numbers of routes."""
    asked: tuple[int, ...]
    """For each of them the number of its question, or ``NO_QUESTION``."""
    groups: tuple[tuple[int, ...], ...]
    """Places among ``routes`` of which the first that holds is taken, in the order in which they are asked.

    A route that asks a question and competes with no other is a group of its own.
    """


class Plans:
    """The plans of a table, each made once for a set of routes that match together."""

    def __init__(self, table: RoutingTable) -> None:
        self.routes: tuple[Route, ...] = tuple(route for route in table.routes if route.enabled)
        """By their numbers."""
        self.questions: list[Question] = []
        self._asked = [self._question(route) for route in self.routes]
        self.reads: tuple[frozenset[str], ...] = tuple(map(self._reads, self.routes, self._asked, _keys(table)))
        """For each route the fields of a message that it reads besides the subject: ``body``, ``metadata``, …"""
        self._known: dict[bytes, int] = {}
        self.plans: list[Plan] = []

    def number(self, matching: IntArray) -> int:
        """The number of the plan for these routes, in the order of the table."""
        key = matching.tobytes()
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.plans)
            self.plans.append(self._plan(matching.tolist()))
        return found

    def _reads(self, route: Route, question: int, key: frozenset[str]) -> frozenset[str]:
        asked = frozenset[str]() if question == NO_QUESTION else self.questions[question].fields
        named = {"metadata"} if route.condition is not None else set()
        return (asked | key | named) - {"subject", "original_subject"}

    def _question(self, route: Route) -> int:
        if route.condition is None and route.predicate is None:
            return NO_QUESTION
        holds, fields = None, frozenset[str]()
        if route.predicate is not None:
            holds = compile_holds(route.predicate.tree)
            fields = frozenset(field.root for field in route.predicate.fields)
        self.questions.append(Question(route.condition, holds, fields))
        return len(self.questions) - 1

    def _plan(self, matching: Sequence[int]) -> Plan:
        competing: dict[object, list[int]] = {}
        for number in matching:
            route = self.routes[number]
            key = (route.strategy, route.group) if route.strategy in COMPETING else number
            competing.setdefault(key, []).append(number)
        ranked = [self._ranked(numbers) for numbers in competing.values()]
        kept = sorted(number for numbers in ranked for number in numbers)
        place = {number: at for at, number in enumerate(kept)}
        groups = tuple(
            tuple(place[number] for number in numbers)
            for numbers in ranked
            if len(numbers) > 1 or self._asked[numbers[0]] != NO_QUESTION
        )
        return Plan(np.array(kept, np.int32), tuple(self._asked[number] for number in kept), groups)

    def _ranked(self, numbers: list[int]) -> list[int]:
        """Those of a group that can be taken, in the order in which they are asked."""
        by_priority = self.routes[numbers[0]].strategy == "priority"
        order = sorted(numbers, key=lambda each: (-self.routes[each].priority if by_priority else 0, each))
        last = next((at for at, number in enumerate(order) if self._asked[number] == NO_QUESTION), len(order))
        return order[: last + 1]


def _keys(table: RoutingTable) -> Iterator[frozenset[str]]:
    """For each enabled route the field that its sticky key is in."""
    texts = {route.name: route.key for route in table.written.routes}
    for route in table.routes:
        if route.enabled:
            text = texts.get(route.name) if route.key is not None else None
            fields = Predicate(f"({text}) IS NOT NULL").fields if text is not None else ()
            yield frozenset(field.root for field in fields)
