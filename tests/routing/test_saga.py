"""What sagas do with events, timeouts and compensations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.errors import InputError, RoutingError, SubjectError
from pointsman.routing.saga.definition import Command, SagaDefinition, SagaState
from pointsman.routing.saga.machine import (
    Compensate,
    Complete,
    SagaEvent,
    SendCommands,
    due,
    expire,
    handle,
    is_finished,
    is_forgettable,
)
from pointsman.routing.saga.reader import definition_from_data

STEPS: dict[str, Any] = {
    "name": "steps",
    "remember": 3,
    "forget_after": 100,
    "starts": [{"on": "start", "to": "open"}],
    "states": {
        "open": {
            "edges": [
                {"on": "step.*", "to": "open", "undo": ["undo.a", "undo.b"]},
                {"on": "more", "to": "open", "undo": [{"subject": "undo.c", "metadata": {"why": "more"}}]},
                {"on": "back", "to": "open", "compensate": "last"},
                {"on": "abandon", "to": "over", "compensate": "all", "send": ["told"]},
                {"event": "Finished", "to": "over"},
            ],
            "timeout": {"after": 10, "to": "over", "compensate": "all"},
        },
        "over": {"final": True},
    },
}
SAGA = definition_from_data(STEPS)
A, B, C = Command("undo.a"), Command("undo.b"), Command("undo.c", (("why", "more"),))


def run(*subjects: str, definition: SagaDefinition = SAGA) -> tuple[SagaState, list[Any]]:
    """The state after these events, each a new message at the time 0, and all actions."""
    state: SagaState | None = None
    actions: list[Any] = []
    for number, subject in enumerate(subjects):
        outcome, state = handle(definition, state, SagaEvent("c", f"m{number}", subject), 0.0)
        actions += outcome.actions
    assert state is not None
    return state, actions


def test_compensation_runs_in_reverse_order_of_what_was_done() -> None:
    """The last step first; the commands of one step in the order in which they are written."""
    _, actions = run("start", "step.1", "more", "step.2", "abandon")
    assert actions == [SendCommands((Command("told"),)), Compensate((A, B, C, A, B)), Complete("over")]


def test_a_step_that_was_undone_is_not_undone_again() -> None:
    """One at a time from the end, then the rest, then nothing."""
    state, actions = run("start", "step.1", "more", "back")
    assert actions == [Compensate((C,))]
    state, actions = run("start", "step.1", "more", "back", "back", "back", "abandon")
    assert actions[:3] == [Compensate((C,)), Compensate((A, B)), Compensate(())]
    assert actions[4:] == [Compensate(()), Complete("over")]
    assert state.done == ()


def test_a_late_event_does_nothing_and_says_why() -> None:
    """One that fits no edge of the present state, and any after the end."""
    state, _ = run("start", "step.1")
    outcome, same = handle(SAGA, state, SagaEvent("c", "late", "start"), 1.0)
    assert same is state
    assert (outcome.actions, outcome.path, outcome.ignored) == ((), (), "no edge of 'open' fits 'start'")
    ended, _ = run("start", "abandon")
    outcome, same = handle(SAGA, ended, SagaEvent("c", "late", "step.1"), 1.0)
    assert same is ended
    assert (outcome.actions, outcome.ignored) == ((), "the saga has ended in 'over'")


def test_an_event_that_did_nothing_may_still_act_when_it_comes_again() -> None:
    """Only what has acted is remembered, so that idle messages cannot push the others out."""
    state, _ = run("start", "step.1")
    for number in range(10):
        _, state = handle(SAGA, state, SagaEvent("c", f"idle{number}", "unknown"), 0.0)
    assert state.seen == ("m0", "m1")


def test_the_number_of_remembered_messages_is_limited() -> None:
    """To the setting; the oldest is forgotten first, and acts again."""
    state, _ = run("start", "step.1", "step.2", "step.3")
    assert state.seen == ("m1", "m2", "m3")
    again, state = handle(SAGA, state, SagaEvent("c", "m1", "step.1"), 0.0)
    assert again.ignored is not None
    _, state = handle(SAGA, state, SagaEvent("c", "m4", "step.4"), 0.0)
    again, state = handle(SAGA, state, SagaEvent("c", "m1", "step.1"), 0.0)
    assert again.ignored is None
    assert len(state.done) == 5


def test_an_edge_can_ask_for_the_name_of_an_event() -> None:
    """Which is compared whole, whatever the subject."""
    state, _ = run("start")
    other, _ = handle(SAGA, state, SagaEvent("c", "x", "any.subject", "Finish"), 0.0)
    assert other.ignored == "no edge of 'open' fits 'any.subject'"
    outcome, _ = handle(SAGA, state, SagaEvent("c", "x", "any.subject", "Finished"), 0.0)
    assert outcome.actions == (Complete("over"),)


def test_the_first_edge_that_fits_decides() -> None:
    """Although a later one would fit, too."""
    both = definition_from_data(
        STEPS | {"starts": [{"on": "start", "to": "open"}, {"on": ">", "to": "over"}]},
    )
    assert run("start", definition=both)[0].state == "open"
    assert run("other", definition=both)[0].state == "over"


def test_the_timeout_of_a_state_is_taken_at_its_time_and_not_before() -> None:
    """It compensates here; afterwards there is nothing left to wait for."""
    state, _ = run("start", "step.1")
    assert due(SAGA, state) == 10.0
    assert expire(SAGA, state, 9.99) == (expire(SAGA, state, 0.0)[0], state)
    outcome, state = expire(SAGA, state, 10.0)
    assert outcome.actions == (Compensate((A, B)), Complete("over"))
    assert due(SAGA, state) is None
    assert expire(SAGA, state, 1e9)[1] is state


def test_a_timeout_that_is_due_is_taken_before_the_event() -> None:
    """So that it makes no difference whether the timer or the event comes first."""
    state, _ = run("start", "step.1")
    event = SagaEvent("c", "x", "step.2")
    together, after = handle(SAGA, state, event, 11.0)
    alone, expired = expire(SAGA, state, 11.0)
    then, same = handle(SAGA, expired, event, 11.0)
    assert (together.actions, after) == (alone.actions + then.actions, same)
    assert together.ignored == then.ignored == "the saga has ended in 'over'"


def test_the_time_in_a_state_counts_from_the_event_that_led_there() -> None:
    """Also when that is the state it was in before."""
    state, _ = run("start")
    _, state = handle(SAGA, state, SagaEvent("c", "x", "step.1"), 9.0)
    assert due(SAGA, state) == 19.0


def test_an_event_after_a_timeout_acts_in_the_state_that_the_timeout_led_to() -> None:
    """The actions of both are given, in their order."""
    waiting = definition_from_data(
        {
            "name": "w",
            "starts": [{"on": "go", "to": "a"}],
            "states": {
                "a": {"timeout": {"after": 1, "to": "b", "send": ["remind"]}},
                "b": {"edges": [{"on": "end", "to": "z", "send": ["thank"]}]},
                "z": {"final": True},
            },
        }
    )
    state, _ = run("go", definition=waiting)
    outcome, state = handle(waiting, state, SagaEvent("c", "x", "end"), 5.0)
    assert outcome.actions == (
        SendCommands((Command("remind"),)), SendCommands((Command("thank"),)), Complete("z"),
    )  # fmt: skip
    assert outcome.path == ("b", "z")


def test_a_finished_saga_may_be_forgotten_after_its_time() -> None:
    """Until then late events are known as such."""
    state, _ = run("start")
    assert not is_finished(SAGA, state)
    assert not is_forgettable(SAGA, state, 1e9)
    state, _ = run("start", "abandon")
    assert is_finished(SAGA, state)
    assert not is_forgettable(SAGA, state, 99.9)
    assert is_forgettable(SAGA, state, 100.0)


def test_an_event_of_another_correlation_id_is_refused() -> None:
    """The runtime gave it the wrong state."""
    state, _ = run("start")
    with pytest.raises(RoutingError, match="the event 'x' is of 'd', the saga of 'c'") as caught:
        handle(SAGA, state, SagaEvent("d", "x", "step.1"), 0.0)
    assert caught.value.code == "unknown-saga"


@pytest.mark.parametrize("state", [SagaState("steps", "c", "gone", 0.0), SagaState("other", "c", "open", 0.0)])
def test_a_state_of_another_definition_is_refused(state: SagaState) -> None:
    """Of another saga, or of a version that had a state more."""
    with pytest.raises(InputError) as caught:
        handle(SAGA, state, SagaEvent("c", "x", "step.1"), 0.0)
    assert caught.value.code == "bad-state"
    with pytest.raises(InputError):
        due(SAGA, state)


def test_a_subject_that_is_none_is_refused_and_changes_nothing() -> None:
    """By the dialect of the saga."""
    state, _ = run("start")
    with pytest.raises(SubjectError):
        handle(SAGA, state, SagaEvent("c", "x", "step..1"), 0.0)


def test_saga_example_order_created_payment_done_ship_failed() -> None:
    """'Advanced Pattern Overview': process the payment, ship the order, compensate."""
    example = definition_from_data(
        {
            "name": "example",
            "starts": [{"event": "Order Created", "to": "paying", "send": ["process-payment"]}],
            "states": {
                "paying": {
                    "edges": [
                        {"event": "Payment Done", "to": "shipping", "send": ["ship-order"], "undo": ["refund-payment"]}
                    ]
                },
                "shipping": {"edges": [{"event": "Ship Failed", "to": "over", "compensate": "all"}]},
                "over": {"final": True},
            },
        }
    )
    state: SagaState | None = None
    actions: list[Any] = []
    for name in ("Order Created", "Payment Done", "Ship Failed"):
        outcome, state = handle(example, state, SagaEvent("c", name, "saga", name), 0.0)
        actions += outcome.actions
    assert actions == [
        SendCommands((Command("process-payment"),)),
        SendCommands((Command("ship-order"),)),
        Compensate((Command("refund-payment"),)),
        Complete("over"),
    ]


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["start", "step.1", "more", "back", "abandon", "unknown", "expire"]),
        st.integers(0, 8),
        st.floats(0, 6),
    ),
    max_size=20,
)


@given(EVENTS)
def test_whatever_comes_every_registered_step_is_undone_at_most_once(events: list[tuple[str, int, float]]) -> None:
    """And exactly once when the saga was abandoned or timed out; the state survives being stored after each event."""
    remembering = definition_from_data(STEPS | {"remember": 100})
    _, state = handle(remembering, None, SagaEvent("c", "first", "start"), 0.0)
    now, registered, undone, acted = 0.0, 0, 0, set()
    for subject, number, pause in events:
        now += pause
        before = state
        if subject == "expire":
            outcome, state = expire(remembering, state, now)
        else:
            outcome, state = handle(remembering, state, SagaEvent("c", f"{number}", subject), now)
            if outcome.ignored is None:
                assert number not in acted
                acted.add(number)
                registered += {"step.1": 2, "more": 1}.get(subject, 0)
        if not outcome.path:
            assert state is before
        undone += sum(len(action.commands) for action in outcome.actions if isinstance(action, Compensate))
        state = SagaState.from_data(state.as_data())
        assert undone + sum(len(each.undo) for each in state.done) == registered
    if is_finished(remembering, state):
        assert undone == registered
