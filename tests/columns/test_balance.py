"""All choices to come in a few rows: the same ones that choose makes one after the other."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.columns.balance import COUNTED, Stretch, after, choices, stretches, usable
from pointsman.errors import RoutingError
from pointsman.routing.balance import BalanceState, Kind, Weighted

NAMES = "abcdef"


@st.composite
def sets_of_destinations(draw: st.DrawFn) -> list[Weighted]:
    """Destinations of which at least one can be chosen, in any order."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    found = [Weighted(name, draw(st.integers(0, 7))) for name in names]
    return found if usable(found) else [Weighted(each.name) for each in found]


@st.composite
def states(draw: st.DrawFn) -> BalanceState:
    """States that choices of all kinds, from other destinations too, have led to."""
    state = BalanceState()
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(COUNTED))
        count = draw(st.integers(1, 12))
        state = next(islice(choices(kind, draw(sets_of_destinations()), state), count - 1, None))[1]
    return state


@given(st.sampled_from(COUNTED), sets_of_destinations(), states())
def test_the_stretches_are_the_choices_one_after_the_other(
    kind: Kind, destinations: list[Weighted], state: BalanceState
) -> None:
    """For far more choices than there are steps."""
    found = stretches(kind, destinations, state)
    count = 3 * found[-1].begin + 3 * len(found[-1].steps)
    expected = [name for name, _ in islice(choices(kind, destinations, state), count)]
    assert [looked_up(found, number) for number in range(count)] == expected


@given(st.sampled_from(COUNTED), sets_of_destinations(), states(), st.integers(1, 120))
def test_the_state_after_many_choices_is_the_one_they_lead_to(
    kind: Kind, destinations: list[Weighted], state: BalanceState, count: int
) -> None:
    """To the last field, and in its order."""
    expected = next(islice(choices(kind, destinations, state), count - 1, None))[1]
    assert after(kind, destinations, state, count) == expected


@given(sets_of_destinations(), states())
def test_a_new_order_of_the_same_weights_goes_on_with_the_old_cycle(
    destinations: list[Weighted], state: BalanceState
) -> None:
    """Also where the old order led to credits to which the new one never leads."""
    state = next(islice(choices(Kind.WEIGHTED, destinations, state), 3, None))[1]
    for other in (destinations[::-1], destinations[1:] + destinations[:1]):
        found = stretches(Kind.WEIGHTED, other, state)
        expected = [name for name, _ in islice(choices(Kind.WEIGHTED, other, state), 100)]
        assert [looked_up(found, number) for number in range(100)] == expected


def test_five_three_two_is_one_stretch_of_ten() -> None:
    """What a cycle is, as the page of the strategies shows it."""
    destinations = [Weighted("a", 5), Weighted("b", 3), Weighted("c", 2)]
    assert stretches(Kind.WEIGHTED, destinations, BalanceState()) == (Stretch(0, tuple("abcaabacba")),)


def test_weights_with_a_common_divisor_make_the_short_cycle() -> None:
    """A million of each is one of each."""
    destinations = [Weighted("a", 1_000_000), Weighted("b", 1_000_000)]
    assert stretches(Kind.WEIGHTED, destinations, BalanceState()) == (Stretch(0, ("a", "b")),)


def test_least_connections_needs_no_more_stretches_than_destinations() -> None:
    """However far the busiest is ahead."""
    state = BalanceState(in_flight=(("a", 10**9), ("b", 3), ("gone", 7)))
    destinations = [Weighted("a"), Weighted("b"), Weighted("c"), Weighted("never", 0)]
    assert stretches(Kind.LEAST_CONNECTIONS, destinations, state) == (
        Stretch(0, ("c",)),
        Stretch(3, ("b", "c")),
        Stretch(3 + 2 * (10**9 - 3), ("a", "b", "c")),
    )
    left = after(Kind.LEAST_CONNECTIONS, destinations, state, 2 * 10**9)
    assert left.in_flight == (("a", 10**9 + 1), ("b", 10**9 + 1), ("gone", 7), ("c", 10**9 + 1))


@pytest.mark.parametrize("kind", COUNTED)
def test_destinations_that_cannot_be_chosen_from_are_refused_as_choose_does(kind: Kind) -> None:
    """With the code that it has for them."""
    for destinations, code in (([], "no-destinations"), ([Weighted("a"), Weighted("a")], "bad-destinations")):
        with pytest.raises(RoutingError) as caught:
            stretches(kind, destinations, BalanceState())
        assert caught.value.code == code


def looked_up(found: tuple[Stretch, ...], number: int) -> str:
    """The choice of this number, as the description of the stretches says."""
    begin, steps = [each for each in found if each.begin <= number][-1]
    return steps[(number - begin) % len(steps)]
