"""Choosing among the routes that matched: direct, pattern, priority and content."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman import Message, Pattern, SubjectIndex
from pointsman.errors import InputError
from pointsman.routing import strategies
from pointsman.routing.strategies import Selection


@dataclass(frozen=True)
class Route:
    """A route as a table has it."""

    name: str
    priority: int = 0
    position: int = 0


def table(*rows: tuple[str, str] | tuple[str, str, int]) -> SubjectIndex[Route]:
    """An index of routes by pattern, name and priority, in the order of the table."""
    index: SubjectIndex[Route] = SubjectIndex()
    for position, (text, name, *rest) in enumerate(rows):
        index.add(text, Route(name, *rest, position=position))
    return index


def names(selection: Selection[Route]) -> list[str]:
    """The names of the routes chosen."""
    return [route.name for route in selection.chosen]


def reasons(selection: Selection[Route]) -> dict[str, str]:
    """Why each other route was not chosen."""
    return {each.candidate.name: each.reason for each in selection.rejected}


def test_direct_routing_maps_an_exact_subject_to_one_handler() -> None:
    """The two of the diagram, and none for another subject."""
    routes = table(("graph.events.node_added", "handler-a"), ("graph.events.edge_added", "handler-b"))
    assert names(strategies.select_direct(routes.match("graph.events.node_added"))) == ["handler-a"]
    assert names(strategies.select_direct(routes.match("graph.events.edge_added"))) == ["handler-b"]
    assert strategies.select_direct(routes.match("graph.events.node_removed")) == Selection(())


def test_direct_routing_takes_the_first_of_two_for_one_subject() -> None:
    """The other is told which one."""
    routes = table(("a.b", "first"), ("a.b", "second"), ("a.b", "third"))
    selection = strategies.select_direct(routes.match("a.b"))
    assert names(selection) == ["first"]
    reason = "'first' has the same subject and comes first in the table"
    assert reasons(selection) == {"second": reason, "third": reason}


def test_direct_routing_is_an_exact_match_only() -> None:
    """A pattern with a wildcard is refused for it; a sign inside a token is a name."""
    strategies.check_direct(Pattern("graph.events.node*"))
    for text in ("graph.events.*", "graph.>"):
        with pytest.raises(InputError, match="has a wildcard") as caught:
            strategies.check_direct(Pattern(text))
        assert (caught.value.code, caught.value.text) == ("not-exact", text)


def test_pattern_based_routing_reaches_every_matching_handler() -> None:
    """'graph.events.*' to A, B and C; '*.events.>' to the event logger, for graph events, too."""
    routes = table(
        ("graph.events.*", "handler-a"),
        ("graph.events.*", "handler-b"),
        ("*.events.>", "event-logger"),
        ("graph.events.*", "handler-c"),
    )

    def reached(subject: str) -> list[str]:
        return [route.name for route in strategies.in_table_order(routes.match(subject))]

    assert reached("graph.events.node_added") == ["handler-a", "handler-b", "event-logger", "handler-c"]
    assert reached("workflow.events.execution.completed") == ["event-logger"]
    assert reached("graph.commands.add") == []


@pytest.mark.parametrize(
    ("subject", "handler"),
    [
        ("graph.events.critical.failed", "critical-handler"),
        ("graph.events.structure.node_added", "normal-handler"),
        ("graph.commands.structure.add_node", "fallback-handler"),
        ("graph.events", "fallback-handler"),
    ],
)
def test_priority_based_routing_evaluates_in_order(subject: str, handler: str) -> None:
    """Priorities 10, 5 and 1 of the diagram, written in another order."""
    routes = table(
        ("graph.>", "fallback-handler", 1),
        ("graph.events.*.*", "normal-handler", 5),
        ("graph.events.critical.*", "critical-handler", 10),
    )
    assert names(strategies.select_by_priority(routes.match(subject))) == [handler]


def test_priority_based_routing_explains_why_not_the_others() -> None:
    """A lower priority, or a later place in the table."""
    routes = table(("graph.>", "fallback", 1), ("graph.events.*", "normal", 5), ("*.events.*", "other", 5))
    selection = strategies.select_by_priority(routes.match("graph.events.x"))
    assert names(selection) == ["normal"]
    assert reasons(selection) == {
        "other": "'normal' has the same priority and comes first in the table",
        "fallback": "its priority 1 is lower than the 5 of 'normal'",
    }
    assert strategies.select_by_priority([]) == Selection(())


def test_testing_routing_router_priority() -> None:
    """'More specific pattern with higher priority wins'."""
    routes = table(("graph.>", "low_handler", 1), ("graph.events.>", "high_handler", 2))
    assert names(strategies.select_by_priority(routes.match("graph.events.structure.node_added"))) == ["high_handler"]


def amount(holds: Callable[[float], bool]) -> Callable[[Message], bool]:
    """A predicate over the amount in the body."""
    return lambda message: holds(json.loads(message.body)["amount"])


@pytest.mark.parametrize(
    ("value", "handler"), [(1000.01, "premium-handler"), (5000, "premium-handler"), (1000, "standard-handler")]
)
def test_content_based_example_check_amount(value: float, handler: str) -> None:
    """'> $1000' is premium, '<= $1000' is standard."""
    rules = [
        (Route("premium-handler", position=0), amount(lambda amount: amount > 1000)),
        (Route("standard-handler", position=1), amount(lambda amount: amount <= 1000)),
    ]
    message = Message("orders.created", json.dumps({"amount": value}).encode())
    assert names(strategies.select_by_content(rules, message)) == [handler]


def test_content_based_routing_takes_the_first_that_holds_and_asks_no_further() -> None:
    """In the order of the table, whatever order they come in and whatever their priority."""
    asked: list[str] = []

    def predicate(name: str, answer: bool) -> Callable[[object], bool]:
        def holds(_: object) -> bool:
            asked.append(name)
            return answer

        return holds

    rules = [
        (Route("third", 9, 2), predicate("third", True)),
        (Route("first", 0, 0), predicate("first", False)),
        (Route("second", 0, 1), predicate("second", True)),
    ]
    selection = strategies.select_by_content(rules, None)
    assert names(selection) == ["second"]
    assert asked == ["first", "second"]
    assert reasons(selection) == {
        "first": "its predicate does not hold",
        "third": "'second' comes first in the table, and its predicate holds",
    }


def test_content_based_routing_chooses_nothing_when_nothing_holds() -> None:
    """``None`` of the document; every route is told why."""
    selection = strategies.select_by_content([(Route("a"), lambda _: False)], None)
    assert (names(selection), list(reasons(selection))) == ([], ["a"])


ROUTES = st.lists(st.integers(-3, 3), max_size=8).map(
    lambda priorities: [Route(f"r{place}", each, place) for place, each in enumerate(priorities)]
)


def by_content(routes: list[Route]) -> Selection[Route]:
    """Those of an even priority hold."""
    rules: list[tuple[Route, Any]] = [(route, lambda _, each=route: each.priority % 2 == 0) for route in routes]
    return strategies.select_by_content(rules, None)


@pytest.mark.parametrize("select", [strategies.select_direct, strategies.select_by_priority, by_content])
@given(ROUTES, st.randoms())
def test_a_selection_accounts_for_every_candidate_in_whatever_order_they_come(
    select: Callable[[list[Route]], Selection[Route]], routes: list[Route], random: Random
) -> None:
    """Chosen or rejected with a reason, once; the order in which the index found them makes no difference."""
    shuffled = list(routes)
    random.shuffle(shuffled)
    selection = select(shuffled)
    assert selection == select(routes)
    found = [*selection.chosen, *(each.candidate for each in selection.rejected)]
    assert sorted(each.position for each in found) == [each.position for each in routes]
    assert all(each.reason for each in selection.rejected)
