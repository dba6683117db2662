"""Moves of sagas that are remembered: they are those of the function that they are remembered from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pointsman.message import Message
from pointsman.pipeline.stateful.concerned import UNKNOWN, Concerned
from pointsman.pipeline.stateful.saga_moves import MOST_REMEMBERED, SagaMoves
from pointsman.routing import saga
from pointsman.routing.saga import SagaEvent
from pointsman.routing.saga_state import SagaState
from pointsman.table.routing_table import RoutingTable
from tests.pipeline.stateful.reference import SAGA, SUBJECTS
from tests.routing import order_saga as order

MOVES = SagaMoves(SAGA)
"""One for all examples, as a worker has one for all its batches."""
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*SUBJECTS, "some.thing"]), st.integers(0, 5), st.sampled_from([0.0, 1.0, 29.0, 30.0, 61.0])
    ),
    min_size=1,
    max_size=12,
)


@given(STEPS)
def test_what_is_remembered_is_what_the_saga_does(steps: list[tuple[str, int, float]]) -> None:
    """Outcome, state and due time on any walk, with messages that come twice and timeouts that are due."""
    state: SagaState | None = None
    now = 1_000.0
    for subject, message, wait in steps:
        now += wait
        event = SagaEvent("order-7", f"message-{message}", subject)
        found = MOVES.handle(state, event, now)
        try:
            outcome, after = saga.handle(SAGA, state, event, now)
        except saga.RoutingError:
            assert found is None
            continue
        if found is not None:
            assert (found.outcome, found.state) == (outcome, after)
            assert (found.state is state) == (after is state)
            if after is not state:
                forgets = after.entered_at + SAGA.forget_after
                assert found.due == (forgets if saga.is_finished(SAGA, after) else saga.due(SAGA, after))
        state = after


def test_the_saga_is_asked_itself_about_what_depends_on_more() -> None:
    """A message that comes twice, a timeout that is due, an event that starts nothing, the saga of somebody else."""
    created = SagaEvent("7", "1", order.CREATED)
    started = MOVES.handle(None, created, 100.0)
    assert started is not None
    assert MOVES.handle(started.state, SagaEvent("7", "2", order.PAYMENT_RESERVED), 101.0) is not None
    assert MOVES.handle(started.state, created, 101.0) is None
    assert MOVES.handle(started.state, SagaEvent("7", "2", order.PAYMENT_RESERVED), 131.0) is None
    assert MOVES.handle(None, SagaEvent("7", "2", order.PAYMENT_RESERVED), 101.0) is None
    assert MOVES.handle(started.state, SagaEvent("8", "2", order.PAYMENT_RESERVED), 101.0) is None


def test_no_more_is_remembered_than_there_is_room_for() -> None:
    """However many subjects come by."""
    moves = SagaMoves(SAGA)
    started = moves.handle(None, SagaEvent("7", "1", order.CREATED), 100.0)
    assert started is not None
    for number in range(MOST_REMEMBERED + 10):
        ignored = moves.handle(started.state, SagaEvent("7", "2", f"some.thing.{number}"), 100.0)
        assert ignored is not None
        assert ignored.state is started.state
    assert len(moves._known) <= MOST_REMEMBERED


def test_the_table_decides_unless_one_thing_alone_can_be_moved() -> None:
    """Not where a route takes the message, two sagas are concerned, the subject is none, or it is translated first."""
    states = {"waiting": {"edges": [{"on": "both", "to": "done"}]}, "done": {"final": True}}
    plain = {
        "sagas": {
            "one": {
                "starts": [{"on": "start.one", "to": "waiting"}, {"on": "named", "to": "waiting"}],
                "states": states,
            },
            "two": {"starts": [{"event": "begun", "to": "waiting"}], "states": states},
        },
        "routes": [
            {
                "name": "ask",
                "pattern": "ask",
                "strategy": "scatter-gather",
                "destinations": ["somebody"],
                "gather": {"answers": "answer"},
            }
        ],
    }
    concerned = Concerned(RoutingTable.from_plain(plain))
    expected = {"start.one": ("saga", "one"), "answer": ("gather", "ask"), "both": None, "ask": None, "a b": None}
    assert {subject: concerned.by(Message(subject)).moves for subject in expected} == expected
    assert concerned.by(Message("other", metadata={"event": "begun"})).moves == ("saga", "two")
    assert concerned.by(Message("start.one", metadata={"event": "begun"})) == UNKNOWN
    assert [route.name for route in concerned.by(Message("ask")).asks] == ["ask"]
    assert concerned.by(Message("start.one")).asks == ()
    [route] = plain["routes"]
    for other in ({"when": "metadata['region'] = 'EU'"}, {"gather": {"answers": "ask"}}):
        asked = Concerned(RoutingTable.from_plain(plain | {"routes": [route | other]}))
        assert asked.by(Message("ask")) == UNKNOWN
    translated = RoutingTable.from_plain(plain | {"translations": [{"from": "x", "to": "y"}]})
    assert Concerned(translated).by(Message("start.one")) == UNKNOWN
