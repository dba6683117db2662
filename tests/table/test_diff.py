"""What changed in meaning between two tables."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.message import Message
from pointsman.patterns import Pattern
from pointsman.table.routing_table import RoutingTable
from pointsman.table.tools.diff import compare_patterns, diff_tables
from pointsman.table.tools.message_diff import MessageDiff


def table(text: str) -> RoutingTable:
    """A table."""
    return RoutingTable.parse(text)


def changes(before: str, after: str) -> list[tuple[str, str, str]]:
    """The kind, name and effect of each change."""
    return [(each.kind, each.name, each.effect) for each in diff_tables(table(before), table(after))]


def route(**fields: Any) -> str:
    """A table of one route."""
    written = {"name": "r", "pattern": "a.*", "destinations": ["x"]} | fields
    return f"routes: [{written!r}]".replace("True", "true").replace("False", "false")


@pytest.mark.parametrize(
    ("before", "after", "effect"),
    [
        ({"pattern": "a.*"}, {"pattern": "a.>"}, "widened"),
        ({"pattern": "a.>"}, {"pattern": "a.*.c"}, "narrowed"),
        ({"pattern": "a.*"}, {"pattern": "b.*"}, "moved"),
        ({"pattern": "a.*"}, {"pattern": "*.b"}, "changed"),
        ({"pattern": "a"}, {"pattern": "a", "dialect": "amqp"}, "changed"),
        ({}, {"when": "body.x = 1"}, "narrowed"),
        ({"when": "body.x = 1"}, {}, "widened"),
        ({"when": "body.x = 1"}, {"when": "body.x = 2"}, "changed"),
        ({}, {"conditions": {"key": "k", "pattern": "v"}}, "narrowed"),
        ({"pattern": "a.>"}, {"pattern": "a.*", "when": "body.x = 1"}, "narrowed"),
        ({"pattern": "a.*"}, {"pattern": "a.>", "when": "body.x = 1"}, "changed"),
        ({}, {"destinations": ["x", "y"]}, "changed"),
        ({}, {"strategy": "scatter-gather"}, "changed"),
        ({}, {"enabled": False}, "lost"),
        ({"enabled": False}, {}, "gained"),
        ({"strategy": "priority"}, {"strategy": "priority", "priority": 1}, "changed"),
        ({"strategy": "priority"}, {"strategy": "priority", "group": "g"}, "changed"),
    ],
)
def test_a_route_of_the_same_name_is_compared(before: dict[str, Any], after: dict[str, Any], effect: str) -> None:
    """By what its pattern matches, and by what restricts it."""
    assert changes(route(**before), route(**after)) == [("route", "r", effect)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"description": "new"}),
        ({}, {"priority": 5}),
        ({}, {"group": "g"}),
        ({"pattern": "#", "dialect": "amqp"}, {"pattern": "#.#", "dialect": "amqp"}),
        ({"destinations": ["x", "y"]}, {"destinations": ["y", "x"]}),
        ({"when": "body.x = 1"}, {"when": "( body.x=1 )"}),
        ({"strategy": "scatter-gather"}, {"strategy": "scatter-gather", "gather": {"timeout": "30s"}}),
    ],
)
def test_what_means_nothing_is_no_change(before: dict[str, Any], after: dict[str, Any]) -> None:
    """However different it looks."""
    assert changes(route(**before), route(**after)) == []


def test_the_order_of_balanced_destinations_matters() -> None:
    """Their turns come in it."""
    fields = {"strategy": "balanced", "balance": "round-robin"}
    before, after = route(**fields, destinations=["x", "y"]), route(**fields, destinations=["y", "x"])
    assert changes(before, after) == [("route", "r", "changed")]


def test_routes_are_gained_and_lost() -> None:
    """By their names."""
    assert changes(route(name="one"), route(name="two")) == [("route", "one", "lost"), ("route", "two", "gained")]


CONTENT = "{{name: {0}, pattern: '{1}', strategy: content, when: 'body.x = 1', destinations: [x]}}"


def test_the_order_of_routes_that_compete_matters_where_they_meet() -> None:
    """And not where no subject can take both."""
    one, other, apart = CONTENT.format("one", "a.*"), CONTENT.format("two", "*.b"), CONTENT.format("three", "z")
    assert changes(f"routes: [{one}, {other}]", f"routes: [{other}, {one}]") == [("group", "content", "changed")]
    assert changes(f"routes: [{one}, {apart}]", f"routes: [{apart}, {one}]") == []


def test_priorities_come_before_the_order_of_the_table() -> None:
    """Only routes of one priority are asked in it."""
    high, low, same = (
        f"{{name: {name}, pattern: a, strategy: priority, priority: {priority}, destinations: [x]}}"
        for name, priority in (("high", 2), ("low", 1), ("same", 1))
    )
    assert changes(f"routes: [{high}, {low}]", f"routes: [{low}, {high}]") == []
    assert changes(f"routes: [{same}, {low}]", f"routes: [{low}, {same}]") == [("group", "priority", "changed")]
    raised = low.replace("priority: 1", "priority: 3")
    assert changes(f"routes: [{high}, {low}]", f"routes: [{high}, {raised}]") == [
        ("route", "low", "changed"),
        ("group", "priority", "changed"),
    ]


def test_destinations_and_their_breakers_are_compared() -> None:
    """A number is no truth value."""
    before = "destinations: {a: , b: {options: {x: 1}}, c: {breaker: {reset: 1m}}, d: }"
    after = "destinations: {b: {options: {x: true}}, c: {breaker: {reset: 60s, fallback: b}}, d: {description: d}, e: }"
    assert changes(before, after) == [
        ("destination", "a", "lost"),
        ("destination", "b", "changed"),
        ("destination", "c", "changed"),
        ("destination", "e", "gained"),
    ]


def test_translations_are_compared_and_so_is_their_order() -> None:
    """Those without a name are the same when they say the same."""
    one, other = "{from: 'a.*', to: 'b.$1'}", "{from: '*.b', to: 'c.$1'}"
    assert changes(f"translations: [{one}, {other}]", f"translations: [{other}, {one}]") == [
        ("translations", "", "changed")
    ]
    assert changes(f"translations: [{one}]", "translations: []") == [("translation", "a.* -> b.$1", "lost")]
    named = "translations: [{{name: n, from: '{}', to: '{}'}}]"
    assert changes(named.format("a.*", "b.$1"), named.format("*.*", "b.$1")) == [("translation", "n", "widened")]
    assert changes(named.format("a.*", "b.$1"), named.format("a.*", "c.$1")) == [("translation", "n", "changed")]


@pytest.mark.parametrize(
    ("before", "after", "effect"),
    [
        ("{publish: [a.*]}", "{publish: [a.*, b]}", "widened"),
        ("{publish: [a.*, b]}", "{publish: [a.*]}", "narrowed"),
        ("{publish: [a.*]}", "{publish: [a.*, a.b]}", None),
        ("{publish: [a.*]}", "{publish: [a.>]}", "widened"),
        ("{publish: [a.>]}", "{publish: [a.*]}", "narrowed"),
        ("{publish: [a.>], deny: {publish: [a.b]}}", "{publish: [a.>]}", "widened"),
        ("{publish: [a]}", "{dialect: amqp, publish: [a]}", "changed"),
        ("{publish: [a.*]}", "{publish: [a.*], deny: {publish: [a.b]}}", "narrowed"),
        ("{publish: [a]}", "{subscribe: [a]}", "changed"),
    ],
)
def test_the_rights_of_a_principal_are_compared(before: str, after: str, effect: str | None) -> None:
    """Patterns within others change nothing."""
    found = changes(f"access: {{p: {before}}}", f"access: {{p: {after}}}")
    assert found == ([] if effect is None else [("principal", "p", effect)])


def test_access_and_sagas_come_and_go() -> None:
    """As a whole."""
    saga = "sagas: {s: {starts: [{on: a, to: done}], states: {done: {final: true}}}}"
    assert changes("{}", "access: {p: }") == [("access", "", "gained")]
    assert changes("access: {p: }", "access: {q: }") == [("principal", "p", "lost"), ("principal", "q", "gained")]
    assert changes(saga, "{}") == [("saga", "s", "lost")]
    assert changes(saga, saga.replace("on: a", "on: b")) == [("saga", "s", "changed")]
    assert changes(saga, saga) == []


TOKENS = ("a", "b")
SUBJECTS = [".".join(tokens) for length in (1, 2, 3, 4) for tokens in product((*TOKENS, "c"), repeat=length)]
PATTERNS = st.lists(st.sampled_from([*TOKENS, "*"]), min_size=0, max_size=2).flatmap(
    lambda tokens: st.sampled_from([*TOKENS, "*", ">"]).map(lambda last: ".".join([*tokens, last]))
)


@given(PATTERNS, PATTERNS)
def test_the_effect_on_a_pattern_is_that_on_all_short_subjects(one: str, other: str) -> None:
    """By trying them; the patterns are too short to differ only in longer ones."""
    before, after = ({subject for subject in SUBJECTS if Pattern(each).matches(subject)} for each in (one, other))
    expected = (
        []
        if before == after
        else ["widened"]
        if before < after
        else ["narrowed"]
        if after < before
        else ["changed"]
        if before & after
        else ["moved"]
    )
    assert [each.effect for each in compare_patterns("pattern", Pattern(one), Pattern(other))] == expected


ROUTES = st.fixed_dictionaries(
    {
        "pattern": PATTERNS,
        "strategy": st.sampled_from(["pattern", "priority"]),
        "priority": st.integers(0, 1),
        "destinations": st.sampled_from([["x"], ["y"], ["x", "y"]]),
        "enabled": st.booleans(),
    }
)


@st.composite
def tables(draw: st.DrawFn) -> str:
    """A small table, its routes in any order."""
    names = draw(st.permutations(["one", "two", "three"]))
    routes = [{"name": name} | draw(ROUTES) for name in names[: draw(st.integers(0, 3))]]
    rules = draw(st.permutations(["{name: n, from: 'a.*', to: 'b.$1'}", "{name: m, from: '*.b', to: 'c.$1'}"]))
    written = f"routes: {routes!r}".replace("True", "true").replace("False", "false")
    return f"{written}\ntranslations: [{', '.join(rules[: draw(st.integers(0, 2))])}]"


@given(tables(), tables())
def test_where_there_is_no_change_every_message_goes_where_it_went(before: str, after: str) -> None:
    """And a message that goes elsewhere means that there is a change."""
    old, new = table(before), table(after)
    over = MessageDiff(old, new)
    for number, subject in enumerate(SUBJECTS):
        over.add(Message(subject), number)
    if over.found.differing:
        assert list(diff_tables(old, new))
    assert not list(diff_tables(old, table(before)))


def test_deliveries_gained_and_lost_are_counted_with_examples() -> None:
    """For each route and destination, the most first."""
    over = MessageDiff(table(route(pattern="a.*")), table(route(pattern="*.b", destinations=["x", "y"])))
    for number, subject in enumerate(["a.b", "a.c", "c.b", "d.b", "e.f"], 1):
        over.add(Message(subject), number)
    over.add(Message("a..b"), 6)
    assert over.found.as_dict() == {
        "messages": 6,
        "differing": 4,
        "kept": 1,
        "gained": 5,
        "lost": 1,
        "refused_before": 1,
        "refused_after": 1,
        "shifts": [
            {
                "effect": "gained",
                "route": "r",
                "destination": "y",
                "count": 3,
                "examples": [
                    {"line": 1, "subject": "a.b"},
                    {"line": 3, "subject": "c.b"},
                    {"line": 4, "subject": "d.b"},
                ],
            },
            {
                "effect": "gained",
                "route": "r",
                "destination": "x",
                "count": 2,
                "examples": [{"line": 3, "subject": "c.b"}, {"line": 4, "subject": "d.b"}],
            },
            {
                "effect": "lost",
                "route": "r",
                "destination": "x",
                "count": 1,
                "examples": [{"line": 2, "subject": "a.c"}],
            },
        ],
    }


def test_the_same_balance_on_both_sides_makes_no_difference() -> None:
    """Each table carries its own turns on."""
    text = route(strategy="balanced", balance="round-robin", destinations=["x", "y"])
    over = MessageDiff(table(text), table(text))
    for number in range(5):
        over.add(Message("a.b"), number)
    assert (over.found.messages, over.found.differing, over.found.kept) == (5, 0, 5)
