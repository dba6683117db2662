"""The order saga of the document, walked along every edge of its diagram."""

from __future__ import annotations

import re

import pytest

from pointsman.errors import RoutingError
from pointsman.routing.saga.definition import Command, SagaState
from pointsman.routing.saga.lint import inescapable_states, shadowed_edges, unreachable_states, untimed_states
from pointsman.routing.saga.machine import (
    Action,
    Compensate,
    Complete,
    SagaEvent,
    SendCommands,
    due,
    expire,
    handle,
    is_finished,
)
from pointsman.routing.saga.reader import definition_from_data
from tests.routing import order_saga as order

SAGA = definition_from_data(order.ORDER)
TIMEOUT = "(timeout)"
START = [
    (order.CREATED, ["order_created", "payment_processing"], [SendCommands((Command(order.RESERVE_PAYMENT),))]),
]
PAID = [
    *START,
    (order.PAYMENT_RESERVED, ["payment_reserved", "inventory_checking"], [SendCommands((Command(order.CHECK_STOCK),))]),
]
STOCKED = [
    *PAID,
    (
        order.AVAILABLE,
        ["inventory_reserved", "shipping_scheduled"],
        [SendCommands((Command(order.SCHEDULE_DELIVERY),))],
    ),
]
ROLLED_BACK = [Complete("compensation_completed")]
UNDO_PAYMENT = Compensate((Command(order.RELEASE_PAYMENT),))
UNDO_STOCK = Compensate((Command(order.RELEASE_STOCK),))
PAYMENT_UNDONE = (order.PAYMENT_RELEASED, ["compensation_completed"], ROLLED_BACK)
STOCK_UNDONE = (order.STOCK_RELEASED, ["release_payment"], [UNDO_PAYMENT])
ROLL_BACK_AT_ONCE = ["payment_failed", "compensation_started", "compensation_completed"]

Step = tuple[str, list[str], list[Action]]

WALKS: dict[str, list[Step]] = {
    "success": [*STOCKED, (order.DELIVERED, ["order_completed"], [Complete("order_completed")])],
    "payment fails": [*START, (order.PAYMENT_FAILED, ROLL_BACK_AT_ONCE, [Compensate(()), *ROLLED_BACK])],
    "payment times out": [*START, (TIMEOUT, ROLL_BACK_AT_ONCE, [UNDO_PAYMENT, *ROLLED_BACK])],
    "out of stock": [
        *PAID,
        (order.OUT_OF_STOCK, ["inventory_unavailable", "release_payment"], [UNDO_PAYMENT]),
        PAYMENT_UNDONE,
    ],
    "inventory times out": [
        *PAID,
        (
            TIMEOUT,
            ["inventory_unavailable", "release_payment"],
            [SendCommands((Command(order.RELEASE_STOCK),)), UNDO_PAYMENT],
        ),
        PAYMENT_UNDONE,
    ],
    "shipping fails": [
        *STOCKED,
        (order.DELIVERY_FAILED, ["shipping_failed", "release_inventory"], [UNDO_STOCK]),
        STOCK_UNDONE,
        PAYMENT_UNDONE,
    ],
    "shipping times out": [
        *STOCKED,
        (
            TIMEOUT,
            ["shipping_failed", "release_inventory"],
            [SendCommands((Command(order.CANCEL_DELIVERY),)), UNDO_STOCK],
        ),
        STOCK_UNDONE,
        PAYMENT_UNDONE,
    ],
    "the releases time out and are sent again": [
        *STOCKED,
        (order.DELIVERY_FAILED, ["shipping_failed", "release_inventory"], [UNDO_STOCK]),
        (TIMEOUT, ["release_inventory"], [SendCommands((Command(order.RELEASE_STOCK),))]),
        STOCK_UNDONE,
        (TIMEOUT, ["release_payment"], [SendCommands((Command(order.RELEASE_PAYMENT),))]),
        PAYMENT_UNDONE,
    ],
}


def transitions_of_the_diagram() -> set[tuple[str, str]]:
    """Pairs of states, named as the definition names them; without the end of all."""
    found = re.findall(r"(\S+) --> (\w+)", order.DIAGRAM)
    return {(snake(source), snake(target)) for source, target in found}


def snake(name: str) -> str:
    """``OrderCreated`` as ``order_created``; the starting point is an empty name."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("[*]", "")


def walk(steps: list[Step]) -> tuple[SagaState, list[tuple[str, str]]]:
    """The state at the end and the transitions passed, with everything on the way checked."""
    state: SagaState | None = None
    now = 1000.0
    passed: list[tuple[str, str]] = []
    for number, (cause, path, actions) in enumerate(steps):
        before = "" if state is None else state.state
        if cause == TIMEOUT:
            assert state is not None
            at = due(SAGA, state)
            assert at is not None
            assert expire(SAGA, state, at - 0.001) == expire(SAGA, state, now)
            now = at
            outcome, state = expire(SAGA, state, now)
        else:
            now += 1
            outcome, state = handle(SAGA, state, SagaEvent("order-7", f"message-{number}", cause), now)
        assert (outcome.path, outcome.actions, outcome.ignored) == (tuple(path), tuple(actions), None)
        assert (state.state, state.entered_at) == (path[-1], now)
        state = SagaState.from_data(state.as_data())
        passed += zip([before, *path], path, strict=False)
    assert state is not None
    return state, passed


@pytest.mark.parametrize("name", WALKS)
def test_saga_state_machine_each_walk_acts_as_the_diagram_says(name: str) -> None:
    """Commands, compensations in reverse order, and the end; the state is stored and read between two steps."""
    state, _ = walk(WALKS[name])
    assert is_finished(SAGA, state)
    not_undone = ["payment_processing", "inventory_checking"] if name == "success" else []
    assert [each.step for each in state.done] == not_undone


def test_saga_state_machine_the_walks_pass_every_transition_of_the_diagram_and_no_other() -> None:
    """Only sending a release again is not in the diagram, which knows no timeouts."""
    passed = {pair for steps in WALKS.values() for pair in walk(steps)[1]}
    again = {("release_inventory", "release_inventory"), ("release_payment", "release_payment")}
    assert passed == transitions_of_the_diagram() | again
    assert len(transitions_of_the_diagram()) == 16


def test_saga_state_machine_the_definition_is_the_diagram() -> None:
    """Its states, its moves and its ends, timeouts apart."""
    starts = {("", edge.move.to) for edge in SAGA.starts}
    edges = {(name, edge.move.to) for name, state in SAGA.states.items() for edge in state.edges}
    at_once = {(name, state.then.to) for name, state in SAGA.states.items() if state.then is not None}
    assert starts | edges | at_once == transitions_of_the_diagram()
    ends = {snake(name) for name in re.findall(r"(\w+) --> \[\*\]", order.DIAGRAM)}
    assert {name for name, state in SAGA.states.items() if state.final} == ends


def test_the_order_saga_has_no_state_that_cannot_be_reached_or_left() -> None:
    """And none that would wait for ever."""
    assert unreachable_states(SAGA) == inescapable_states(SAGA) == untimed_states(SAGA) == ()
    assert shadowed_edges(SAGA) == ()


@pytest.mark.parametrize("name", WALKS)
def test_every_message_of_a_walk_sent_twice_acts_once(name: str) -> None:
    """The second time changes nothing but says so."""
    state: SagaState | None = None
    now = 0.0
    for number, (cause, path, _) in enumerate(WALKS[name]):
        now += 1
        if cause == TIMEOUT:
            assert state is not None
            now += SAGA.states[state.state].timeout.after  # type: ignore[union-attr]
            _, state = expire(SAGA, state, now)
            continue
        event = SagaEvent("order-7", f"message-{number}", cause)
        first, state = handle(SAGA, state, event, now)
        assert first.path == tuple(path)
        second, same = handle(SAGA, state, event, now)
        assert (second.actions, second.path, same) == ((), (), state)
        assert second.ignored == f"the message 'message-{number}' has acted already"


def test_saga_routing_an_unknown_correlation_id_is_an_error() -> None:
    """``SagaError::NotFound`` of the document; only the starting event may be the first."""
    with pytest.raises(RoutingError, match="has no saga 'order-8'") as caught:
        handle(SAGA, None, SagaEvent("order-8", "m", order.PAYMENT_RESERVED), 0.0)
    assert caught.value.code == "unknown-saga"
