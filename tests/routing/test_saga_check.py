"""States of sagas that cannot be reached or left."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pointsman.routing.saga.definition import SagaDefinition
from pointsman.routing.saga.lint import (
    ShadowedEdge,
    inescapable_states,
    shadowed_edges,
    unreachable_states,
    untimed_states,
)
from pointsman.routing.saga.machine import SagaEvent, expire, handle, is_finished
from pointsman.routing.saga.reader import read_definition

NAMES = ["a", "b", "c", "d", "e"]
SUBJECTS = ["x.1", "x.2", "x.other", "y"]


def saga(starts: list[Any], states: dict[str, Any], dialect: str = "nats") -> SagaDefinition:
    """A definition of these edges."""
    definition, problems = read_definition({"name": "s", "dialect": dialect, "starts": starts, "states": states})
    assert definition is not None, problems
    return definition


def test_states_that_nothing_leads_to_are_found() -> None:
    """Also those that only lead to each other."""
    found = saga(
        [{"on": "x", "to": "a"}],
        {
            "a": {"edges": [{"on": "y", "to": "z"}]},
            "b": {"timeout": {"after": 1, "to": "c"}},
            "c": {"then": {"to": "b"}},
            "z": {"final": True},
        },
    )
    assert unreachable_states(found) == ("b", "c")


def test_states_that_no_end_can_be_reached_from_are_found() -> None:
    """A dead end, a circle, and what leads only there."""
    found = saga(
        [{"on": "x", "to": "a"}],
        {
            "a": {"edges": [{"on": "y", "to": "z"}, {"on": "w", "to": "way"}]},
            "way": {"then": {"to": "ring"}},
            "ring": {"edges": [{"on": "y", "to": "way"}, {"on": "w", "to": "dead"}]},
            "dead": {"edges": []},
            "z": {"final": True},
        },
    )
    assert inescapable_states(found) == ("way", "ring", "dead")
    assert untimed_states(found) == ("a", "ring", "dead")


def test_an_edge_behind_a_wider_one_is_never_taken_and_leads_nowhere() -> None:
    """So what only it leads to cannot be reached."""
    found = saga(
        [{"on": "x.*", "to": "a"}, {"on": "x.1", "to": "b"}],
        {
            "a": {"edges": [{"event": "E", "to": "z"}, {"on": ">", "to": "z"}, {"event": "E", "to": "b"}]},
            "b": {"then": {"to": "z"}},
            "z": {"final": True},
        },
    )
    assert shadowed_edges(found) == (ShadowedEdge(None, 1, 0), ShadowedEdge("a", 2, 0))
    assert unreachable_states(found) == ("b",)


def test_a_pattern_for_every_subject_takes_the_named_events_too() -> None:
    """Unless the dialect has subjects that it does not match."""
    states = {"a": {"edges": [{"on": "#", "to": "z"}, {"event": "E", "to": "z"}]}, "z": {"final": True}}
    assert shadowed_edges(saga([{"event": "S", "to": "a"}], states, "amqp")) == (ShadowedEdge("a", 1, 0),)
    assert shadowed_edges(saga([{"event": "S", "to": "a"}], states, "mqtt")) == ()


def test_an_edge_whose_pattern_matches_nothing_leads_nowhere() -> None:
    """In the zato dialect a pattern may hold what no subject can."""
    states = {"a": {"edges": [{"on": "no#", "to": "b"}, {"on": "y", "to": "z"}]}, "b": {"then": {"to": "z"}}}
    found = saga([{"on": "x", "to": "a"}], states | {"z": {"final": True}}, "zato")
    assert unreachable_states(found) == ("b",)


EDGE = st.fixed_dictionaries({"on": st.sampled_from(["x.1", "x.2", "x.*", "y"]), "to": st.sampled_from(NAMES)})
STATE = st.one_of(
    st.fixed_dictionaries({"edges": st.lists(EDGE, max_size=3)}),
    st.fixed_dictionaries(
        {
            "edges": st.lists(EDGE, max_size=1),
            "timeout": st.fixed_dictionaries({"after": st.just(1), "to": st.sampled_from(NAMES)}),
        }
    ),
    st.fixed_dictionaries({"then": st.fixed_dictionaries({"to": st.sampled_from(NAMES)})}),
    st.just({"final": True}),
)


@given(st.lists(EDGE, min_size=1, max_size=2), st.tuples(*[STATE] * len(NAMES)))
def test_the_findings_are_what_running_the_saga_shows(starts: list[Any], states: tuple[Any, ...]) -> None:
    """Every event and the timeout, tried in every state that was reached, until nothing new comes."""
    definition, problems = read_definition(
        {"name": "s", "starts": starts, "states": dict(zip(NAMES, states, strict=True))}
    )
    if definition is None:
        assert all(each.path[-1] == "then" for each in problems)
        return
    following: dict[str, set[str]] = {}
    passed: set[str] = set()
    waiting = []
    for subject in SUBJECTS:
        if any(edge.trigger.matches(subject) for edge in definition.starts):  # type: ignore[union-attr]
            outcome, state = handle(definition, None, SagaEvent("c", "m", subject), 0.0)
            passed.update(outcome.path)
            waiting.append(state)
    finals = {name for name, each in definition.states.items() if each.final}
    while waiting:
        state = waiting.pop()
        if state.state in following:
            continue
        following[state.state] = set()
        now = state.entered_at
        events = [SagaEvent("c", f"{state.state} {subject}", subject) for subject in SUBJECTS]
        tried = [handle(definition, state, event, now) for event in events]
        for outcome, after in [*tried, expire(definition, state, now + 1)]:
            passed.update(outcome.path)
            following[state.state].update(outcome.path)
            waiting.append(after)
        assert is_finished(definition, state) == (state.state in finals)
    assert set(unreachable_states(definition)) == set(NAMES) - passed
    ending = set(finals)
    while more := {name for name, after in following.items() if after & ending} - ending:
        ending |= more
    assert set(inescapable_states(definition)) & set(following) == set(following) - ending
