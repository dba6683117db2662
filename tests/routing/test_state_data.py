"""States as plain data: every one survives JSON, and what is none is refused."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.errors import InputError
from pointsman.routing.balance import BalanceState
from pointsman.routing.breaker import BreakerState, Phase
from pointsman.routing.gather import GatherState
from pointsman.routing.saga.definition import Command, Done, SagaState
from pointsman.routing.state_codec import is_plain

TEXT = st.text(max_size=5)
TIME = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**9), 10**9)
COUNT = st.integers(0, 2**70)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
COMMANDS = st.lists(
    st.builds(Command, TEXT, st.dictionaries(TEXT, TEXT, max_size=2).map(lambda each: tuple(each.items()))), max_size=2
).map(tuple)
SAGAS = st.builds(
    SagaState,
    TEXT,
    TEXT,
    TEXT,
    TIME,
    st.lists(st.builds(Done, TEXT, COMMANDS), max_size=3).map(tuple),
    st.lists(TEXT, max_size=3).map(tuple),
)
BREAKERS = st.builds(BreakerState, st.sampled_from(Phase), COUNT, COUNT, TIME)


@st.composite
def gathers(draw: st.DrawFn) -> GatherState:
    """A gathering, some of whose targets have answered."""
    targets = draw(st.lists(TEXT, min_size=1, max_size=4, unique=True))
    answered = draw(st.lists(st.sampled_from(targets), unique=True))
    answers = tuple((target, draw(PLAIN)) for target in answered)
    counts = [draw(COUNT) for _ in range(3)]
    return GatherState(draw(TEXT), tuple(targets), draw(TIME), draw(COUNT), answers, draw(st.booleans()), *counts)


@st.composite
def balances(draw: st.DrawFn) -> BalanceState:
    """A state of balancing whose credits add up to nothing."""
    names = draw(st.lists(TEXT, max_size=4, unique=True))
    amounts = [draw(st.integers(-9, 9)) for _ in names[1:]]
    rows = zip(names, [*amounts, -sum(amounts)], strict=False)
    flights = draw(st.dictionaries(TEXT, st.integers(1, 9), max_size=3))
    return BalanceState(
        draw(st.none() | TEXT),
        draw(COUNT),
        tuple((name, draw(st.integers(1, 9)), amount) for name, amount in rows),
        tuple(flights.items()),
    )


STATES: list[Any] = [SAGAS, BREAKERS, gathers(), balances()]
TYPES: list[Any] = [SagaState, BreakerState, GatherState, BalanceState]
EXAMPLES: list[Any] = [
    SagaState("s", "c", "a", 1.5, (Done("a", (Command("x", (("k", "v"),)),)),), ("m",)),
    BreakerState(Phase.OPEN, 0, 3, 7.0),
    GatherState("c", ("a", "b"), 5.0, 2, (("a", {"price": [1]}),)),
    BalanceState("a", 1, (("a", 2, -1), ("b", 1, 1)), (("a", 4),)),
]


@pytest.mark.parametrize(
    ("states", "kind"), list(zip(STATES, TYPES, strict=True)), ids=lambda each: getattr(each, "__name__", "")
)
@given(st.data())
def test_a_state_survives_json(states: Any, kind: Any, data: st.DataObject) -> None:
    """As plain data, written and read."""
    state = data.draw(states)
    assert is_plain(state.as_data())
    assert kind.from_data(json.loads(json.dumps(state.as_data(), allow_nan=False))) == state


@pytest.mark.parametrize("state", EXAMPLES, ids=lambda each: type(each).__name__)
def test_a_state_is_not_taken_for_one_of_another_kind(state: Any) -> None:
    """The data says what it is of."""
    for kind in TYPES:
        if not isinstance(state, kind):
            with pytest.raises(InputError, match="is expected, and the data says") as caught:
                kind.from_data(state.as_data())
            assert caught.value.code == "bad-state"


@pytest.mark.parametrize("state", EXAMPLES, ids=lambda each: type(each).__name__)
def test_a_field_too_few_or_too_many_is_refused_by_its_name(state: Any) -> None:
    """And so is anything that is no object."""
    for name in state.as_data():
        data = state.as_data()
        del data[name]
        with pytest.raises(InputError, match=f"lacks the field '{name}'"):
            type(state).from_data(data)
    with pytest.raises(InputError, match="has no field 'more'"):
        type(state).from_data(state.as_data() | {"more": 1})
    for other in (None, [], "x", 1):
        with pytest.raises(InputError, match="where an object should be"):
            type(state).from_data(other)


@pytest.mark.parametrize(
    ("example", "name", "value"),
    [
        (0, "saga", None),
        (0, "entered_at", float("nan")),
        (0, "entered_at", True),
        (0, "done", {}),
        (0, "done", [["a"]]),
        (0, "done", [["a", [{"subject": "x"}]]]),
        (0, "done", [["a", [{"subject": "x", "metadata": {"k": 1}}]]]),
        (0, "seen", [1]),
        (1, "phase", "ajar"),
        (1, "failures", -1),
        (1, "generation", 1.0),
        (1, "since", "now"),
        (2, "complete", 1),
        (2, "needed", None),
        (2, "answers", [["a", 1], ["a", 2]]),
        (2, "answers", [["stranger", 1]]),
        (2, "answers", [["a", b"1"]]),
        (3, "last", 1),
        (3, "position", -1),
        (3, "credits", [["a", 1, 1]]),
        (3, "credits", [["a", 1, 0], ["a", 1, 0]]),
        (3, "credits", [["a", 0, 0]]),
        (3, "credits", [["a", 1, 0.0]]),
        (3, "in_flight", [["a", 0]]),
        (3, "in_flight", [["a", 1], ["a", 1]]),
        (0, "kind", [[]]),
    ],
)
def test_a_field_of_the_wrong_kind_is_refused(example: int, name: str, value: object) -> None:
    """With one code for all."""
    state = EXAMPLES[example]
    with pytest.raises(InputError) as caught:
        type(state).from_data(state.as_data() | {name: value})
    assert caught.value.code == "bad-state"


def test_a_number_that_cannot_be_written_is_refused_like_any_other() -> None:
    """Python itself would refuse to put it into the message."""
    saga, breaker, _, balance = EXAMPLES
    large = 10**10_000
    places = [(breaker, "failures", -large), (breaker, "since", large), (saga, "saga", large), (saga, "seen", [large])]
    for state, name, value in [*places, (balance, "credits", [["a", 1, [large]]])]:
        with pytest.raises(InputError) as caught:
            type(state).from_data(state.as_data() | {name: value})
        assert len(caught.value.problem) < 100


@given(PLAIN, st.sampled_from(EXAMPLES), st.data())
def test_no_data_makes_reading_fail_in_another_way(plain: object, state: Any, data: st.DataObject) -> None:
    """Anything in any place gives a state or a PointsmanError."""
    hurt = copy.deepcopy(state.as_data())
    inner: Any = hurt
    while True:
        key = data.draw(st.sampled_from(list(inner) if isinstance(inner, dict) else list(range(len(inner)))))
        if not isinstance(inner[key], dict | list) or not inner[key] or data.draw(st.booleans()):
            break
        inner = inner[key]
    inner[key] = plain
    try:
        read = type(state).from_data(hurt)
    except InputError as error:
        assert error.code == "bad-state"
    else:
        assert read.as_data() == hurt


def test_a_state_can_be_compared_with_another_one_that_was_read() -> None:
    """So that a runtime can swap it only if nobody else has changed it."""
    for state in EXAMPLES:
        assert type(state).from_data(state.as_data()) == state
