"""Saga definitions from plain data, and what is wrong with them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.errors import InputError
from pointsman.patterns import Pattern
from pointsman.routing.saga.definition import Command, Scope
from pointsman.routing.saga.reader import definition_from_data, read_definition
from tests.routing.order_saga import ORDER

SMALL: dict[str, Any] = {
    "name": "small",
    "starts": [{"on": "go.*", "to": "a"}],
    "states": {
        "a": {
            "edges": [{"event": "Done", "to": "z", "send": ["x.y", {"subject": "x.z", "metadata": {"k": "v"}}]}],
            "timeout": {"after": 1.5, "to": "b", "undo": ["u"], "compensate": "last"},
        },
        "b": {"then": {"to": "z", "compensate": "all"}},
        "z": {"final": True},
    },
}


def changed(*path: str | int, to: object) -> dict[str, Any]:
    """The small definition with one thing in it replaced."""
    data = copy.deepcopy(SMALL)
    inner: Any = data
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = to
    return data


def test_a_definition_is_what_its_data_says() -> None:
    """Every field of it."""
    definition = definition_from_data(SMALL | {"dialect": "amqp", "remember": 7, "forget_after": 60})
    assert (definition.name, definition.dialect.name, definition.remember) == ("small", "amqp", 7)
    assert definition.forget_after == 60.0
    (start,) = definition.starts
    assert (start.trigger, start.move.to) == (Pattern("go.*", "amqp"), "a")
    assert list(definition.states) == ["a", "b", "z"]
    waiting = definition.states["a"]
    (edge,) = waiting.edges
    assert edge.trigger == "Done"
    assert edge.move.send == (Command("x.y"), Command("x.z", (("k", "v"),)))
    assert waiting.timeout is not None
    assert (waiting.timeout.after, waiting.timeout.move.undo) == (1.5, (Command("u"),))
    assert waiting.timeout.move.compensate is Scope.LAST
    assert definition.states["b"].then is not None
    assert definition.states["b"].then.compensate is Scope.ALL
    assert definition.states["z"].final


def test_what_need_not_be_said_has_a_default() -> None:
    """The dialect is nats."""
    definition = definition_from_data(SMALL)
    assert (definition.dialect.name, definition.remember, definition.forget_after) == ("nats", 100, 3600.0)


@pytest.mark.parametrize("state", [{"edges": []}, {"timeout": {"after": 0.5, "to": "z"}}])
def test_a_state_that_waits_may_have_edges_only_or_a_timeout_only(state: dict[str, Any]) -> None:
    """The time may be a part of a second."""
    assert not definition_from_data(changed("states", "a", to=state)).states["a"].final


@pytest.mark.parametrize(("remember", "allowed"), [(0, False), (1, True), (10_000, True), (10_001, False)])
def test_the_number_of_remembered_messages_has_limits(remember: int, allowed: bool) -> None:
    """So that a state stays small."""
    definition, _ = read_definition(changed("remember", to=remember))
    assert (definition is not None) == allowed


def test_a_single_problem_is_not_said_to_be_one_of_several() -> None:
    """Two are."""
    with pytest.raises(InputError) as caught:
        definition_from_data(changed("name", to=""))
    assert caught.value.problem == "name: '' is no name"
    with pytest.raises(InputError) as caught:
        definition_from_data(changed("name", to="") | {"remember": 0})
    assert caught.value.problem == "name: '' is no name (and 1 more)"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([], "the definition: it must be an object of name, dialect"),
        (changed("name", to=""), "name: '' is no name"),
        (changed("name", to=None), "name: None is no name"),
        (changed("dialect", to="smtp"), "dialect: there is no dialect 'smtp'"),
        (changed("dialect", to=[]), "dialect: a value of the type list is no name"),
        (changed("remember", to=0), "remember: 0 is no whole number from 1"),
        (changed("remember", to=True), "remember: True is no whole number from 1"),
        (
            changed("forget_after", to="1"),
            "forget_after: '1' is no number of seconds above 0 and up to 315360000 (ten years)",
        ),
        (changed("more", to=1), "the definition: there is no field 'more' here, only name"),
        (changed("starts", to=[]), "starts: there must be at least one edge"),
        (changed("starts", to={}), "starts: it must be a list"),
        (changed("starts", 0, to="go"), "starts[0]: it must be an object of on, event, to"),
        (changed("starts", 0, "on", to="a.>.b"), "starts[0].on: "),
        (changed("starts", 0, "on", to=7), "starts[0].on: "),
        (changed("starts", 0, "event", to="E"), "starts[0]: an edge has either 'on', a pattern, or 'event', a name"),
        (changed("starts", 0, to={"to": "a"}), "starts[0]: an edge has either"),
        (changed("starts", 0, "to", to="nowhere"), "starts[0].to: there is no state 'nowhere'"),
        (changed("starts", 0, "to", to=["a"]), "starts[0].to: a value of the type list is no name"),
        (changed("states", to={}), "states: there must be at least one state"),
        (changed("states", to=[]), "states: there must be at least one state"),
        (changed("states", "a", to={}), "states.a: a state either waits (edges, timeout), or leads on at once (then)"),
        (changed("states", "a", to=None), "states.a: it must be an object of edges, timeout, then, final"),
        (changed("states", "a", "final", to=True), "states.a: a state either waits"),
        (changed("states", "b", "final", to=True), "states.b: a state either waits"),
        (changed("states", "z", "final", to=False), "states.z: a state either waits"),
        (changed("states", "z", "final", to="yes"), "states.z.final: 'yes' is neither true nor false"),
        (changed("states", 1, to={"final": True}), "states.1: 1 is no name"),
        (changed("states", "a", "edges", to=None), "states.a.edges: it must be a list"),
        (changed("states", "a", "edges", 0, "to", to="q"), "states.a.edges[0].to: there is no state 'q'"),
        (changed("states", "a", "edges", 0, "event", to=""), "states.a.edges[0].event: '' is no name"),
        (changed("states", "a", "edges", 0, "send", to="x"), "states.a.edges[0].send: it must be a list"),
        (changed("states", "a", "edges", 0, "send", 0, to="x.*"), "states.a.edges[0].send[0]: "),
        (changed("states", "a", "edges", 0, "send", 0, to=""), "states.a.edges[0].send[0]: '' is no name"),
        (changed("states", "a", "edges", 0, "send", 1, "subject", to="x..y"), "states.a.edges[0].send[1].subject: "),
        (
            changed("states", "a", "edges", 0, "send", 1, "metadata", to={"k": 1}),
            "states.a.edges[0].send[1].metadata: ",
        ),
        (changed("states", "a", "edges", 0, "sent", to=[]), "states.a.edges[0]: there is no field 'sent' here"),
        (changed("states", "a", "timeout", to=5), "states.a.timeout: it must be an object of after, to"),
        (
            changed("states", "a", "timeout", "after", to=1e300),
            "states.a.timeout.after: 1e+300 is no number of seconds above 0 and up to 315360000 (ten years)",
        ),
        (
            changed("states", "a", "timeout", "after", to=0),
            "states.a.timeout.after: 0 is no number of seconds above 0 and up to 315360000 (ten years)",
        ),
        (changed("states", "a", "timeout", "after", to=float("inf")), "states.a.timeout.after: inf is no number"),
        (changed("states", "a", "timeout", "compensate", to="some"), "states.a.timeout.compensate: 'some' is neither"),
        (changed("states", "b", "then", "to", to="b"), "states.b.then: it would lead on for ever: b -> b"),
    ],
)
def test_what_is_wrong_is_named_with_the_path_to_it(data: object, problem: str) -> None:
    """As the first problem of the error."""
    with pytest.raises(InputError) as caught:
        definition_from_data(data)
    assert caught.value.code == "bad-saga"
    assert caught.value.problem.startswith(problem)
    assert read_definition(data)[0] is None


def test_all_problems_are_found_and_not_only_the_first() -> None:
    """Each with its path, as keys and positions."""
    data = changed("states", "a", "edges", 0, "to", to="q")
    data["name"] = ""
    data["states"]["b"]["then"]["to"] = "r"
    definition, problems = read_definition(data)
    assert definition is None
    assert [each.path for each in problems] == [
        ("name",), ("states", "a", "edges", 0, "to"), ("states", "b", "then", "to"),
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"name: '' is no name \(and 2 more\)"):
        definition_from_data(data)


def test_a_longer_circle_of_moves_at_once_is_named_once() -> None:
    """A saga in it would never come to rest."""
    data = changed("states", "c", to={"then": {"to": "d"}})
    data["states"] |= {"d": {"then": {"to": "e"}}, "e": {"then": {"to": "c"}}, "before": {"then": {"to": "d"}}}
    _, problems = read_definition(data)
    assert [str(each) for each in problems] == ["states.c.then: it would lead on for ever: c -> d -> e -> c"]


@pytest.mark.parametrize("path", [("dialect",), ("states", "a", "edges", 0, "send", 1, "subject")])
def test_what_is_no_text_at_all_is_one_problem(path: tuple[str | int, ...]) -> None:
    """It is not refused once more as a text of no meaning."""
    _, problems = read_definition(changed(*path, to=[1]))
    assert [(each.path, each.problem) for each in problems] == [(path, "a value of the type list is no name")]


def deep() -> Any:
    """A list of lists of lists, deeper than Python can write."""
    inner: list[Any] = []
    for _ in range(100_000):
        inner = [inner]
    return inner


@pytest.mark.parametrize("hostile", [deep(), 10**10_000, "x" * 1_000_000], ids=["deep", "large", "long"])
@pytest.mark.parametrize(
    "path",
    [
        ("name",), ("dialect",), ("remember",), ("forget_after",), ("starts",), ("states",), ("starts", 0, "on"),
        ("starts", 0, "to"), ("states", "a"), ("states", "z", "final"), ("states", "a", "timeout", "after"),
        ("states", "b", "then", "compensate"), ("states", "a", "edges", 0, "send", 0),
    ],
)  # fmt: skip
def test_hostile_values_give_short_problems(path: tuple[str | int, ...], hostile: object) -> None:
    """What cannot be written is not; a long name is cut."""
    _, problems = read_definition(changed(*path, to=hostile))
    # A text of any length is a name, and a subject of this dialect.
    assert problems or (isinstance(hostile, str) and path[-1] in ("name", "on", 0))
    assert all(len(str(each)) < 150 for each in problems)


def test_a_number_as_the_name_of_a_state_is_refused_however_large() -> None:
    """It cannot even be written."""
    _, problems = read_definition(changed("states", 10**10_000, to={"final": True}))
    assert [str(each) for each in problems] == ["states.a number of many digits: a number of many digits is no name"]


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats()
    | st.sampled_from(["", "a", "z", "x.>", "all", "Done"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "starts", "states", "edges", "to", "on", "send", "then", "timeout", "after", "a"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(PLAIN, st.data())
def test_no_data_makes_the_reader_fail(plain: object, data: st.DataObject) -> None:
    """Anything in any place gives a definition or problems, never another error."""
    hurt = copy.deepcopy(ORDER if data.draw(st.booleans()) else SMALL)
    inner: Any = hurt
    while True:
        keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(inner[key], dict | list) or not inner[key] or data.draw(st.booleans()):
            break
        inner = inner[key]
    inner[key] = plain
    definition, problems = read_definition(hurt)
    assert (definition is None) == bool(problems)
