"""Balancing over several destinations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import blake2b
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.errors import RoutingError
from pointsman.routing.balance import BalanceState, Kind, Weighted, choose, finished, score, stick

NAMES = st.lists(st.text(max_size=4), min_size=1, max_size=6, unique=True)


def never() -> float:
    """A random source that must not be asked."""
    raise AssertionError


def weighted(**weights: int) -> list[Weighted]:
    """Destinations with these weights."""
    return [Weighted(name, weight) for name, weight in weights.items()]


def plain(*names: str) -> list[Weighted]:
    """Destinations of the weight 1."""
    return [Weighted(name) for name in names]


def picks(
    kind: Kind,
    destinations: Sequence[Weighted],
    count: int,
    state: BalanceState | None = None,
    random: Callable[[], float] = never,
) -> tuple[list[str], BalanceState]:
    """So many choices, each from the state that the one before left; it is stored and read in between."""
    state = state or BalanceState()
    chosen = []
    for _ in range(count):
        name, state = choose(kind, destinations, state, key=None, random=random)
        state = BalanceState.from_data(state.as_data())
        chosen.append(name)
    return chosen, state


def test_load_balancing_round_robin_first_to_fourth() -> None:
    """'1st: Handler 1, 2nd: Handler 2, 3rd: Handler 3, 4th: Handler 1'."""
    chosen, _ = picks(Kind.ROUND_ROBIN, plain("handler-1", "handler-2", "handler-3"), 4)
    assert chosen == ["handler-1", "handler-2", "handler-3", "handler-1"]


def test_load_balancing_weighted_5_of_10_3_of_10_2_of_10() -> None:
    """'Weight: 50%, 30%, 20%': exactly 5, 3 and 2 of every ten, interleaved."""
    for factor in (1, 10):
        chosen, _ = picks(Kind.WEIGHTED, weighted(a=5 * factor, b=3 * factor, c=2 * factor), 30)
        assert chosen[:10] == ["a", "b", "c", "a", "a", "b", "a", "c", "b", "a"]
        assert chosen == chosen[:10] * 3


def test_load_balancing_least_connections_2_5_1_selects_z() -> None:
    """'Conns: 2, 5, 1'; then Z has as many as X, and the first of the two is taken."""
    state = BalanceState(in_flight=(("X", 2), ("Y", 5), ("Z", 1)))
    chosen, state = picks(Kind.LEAST_CONNECTIONS, plain("X", "Y", "Z"), 2, state)
    assert chosen == ["Z", "X"]
    assert state.in_flight == (("X", 3), ("Y", 5), ("Z", 2))


def test_load_balancing_random_takes_each_as_likely_as_the_other() -> None:
    """The random source decides, and nothing is remembered."""
    numbers = iter([0.0, 0.3333, 0.34, 0.67, 0.999999])
    chosen, state = picks(Kind.RANDOM, weighted(a=1, b=99, c=1), 5, random=lambda: next(numbers))
    assert chosen == ["a", "a", "b", "c", "c"]
    assert state == BalanceState()


def test_the_same_seed_makes_the_same_random_choices() -> None:
    """The random source is an argument; one that gives 1 does no harm."""
    first, _ = picks(Kind.RANDOM, plain("a", "b", "c"), 50, random=Random(7).random)
    second, _ = picks(Kind.RANDOM, plain("a", "b", "c"), 50, random=Random(7).random)
    assert first == second
    assert set(first) == {"a", "b", "c"}
    assert picks(Kind.RANDOM, plain("a", "b"), 1, random=lambda: 1.0)[0] == ["b"]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any))
def test_of_every_sum_of_weights_each_gets_exactly_its_weight(weights: list[int]) -> None:
    """In every window from the start; and no one is served far more than its share within one."""
    destinations = [Weighted(str(number), weight) for number, weight in enumerate(weights)]
    total = sum(weights)
    chosen, state = picks(Kind.WEIGHTED, destinations, 3 * total)
    expected = Counter({str(number): weight for number, weight in enumerate(weights) if weight})
    for window in range(3):
        assert Counter(chosen[window * total : (window + 1) * total]) == expected
    assert all(credit == 0 for *_, credit in state.credits)
    for length in range(1, total):
        for name, weight in expected.items():
            assert abs(chosen[:length].count(name) - length * weight / total) < len(expected)


def test_a_destination_has_the_weight_one_unless_it_is_given() -> None:
    """So that one of the weight 2 gets twice as much."""
    assert Counter(picks(Kind.WEIGHTED, [Weighted("a"), Weighted("b", 2)], 3)[0]) == {"a": 1, "b": 2}


def test_equal_weights_go_round() -> None:
    """As round robin does."""
    assert picks(Kind.WEIGHTED, weighted(a=2, b=2, c=2), 6)[0] == ["a", "b", "c", "a", "b", "c"]


def test_round_robin_goes_on_by_name_when_destinations_change() -> None:
    """After the last chosen one where it stands now; in its place if it is gone."""
    _, state = picks(Kind.ROUND_ROBIN, plain("a", "b", "c"), 2)
    assert picks(Kind.ROUND_ROBIN, plain("new", "a", "b", "c"), 2, state)[0] == ["c", "new"]
    assert picks(Kind.ROUND_ROBIN, plain("c", "b", "a"), 1, state)[0] == ["a"]
    assert picks(Kind.ROUND_ROBIN, plain("a", "c"), 2, state)[0] == ["c", "a"]
    assert picks(Kind.ROUND_ROBIN, plain("a"), 1, state)[0] == ["a"]
    assert picks(Kind.ROUND_ROBIN, plain("x", "y"), 1, state)[0] == ["y"]


def test_least_connections_remembers_a_destination_that_was_taken_away() -> None:
    """Until its requests are finished; it has them if it returns."""
    _, state = picks(Kind.LEAST_CONNECTIONS, plain("a", "b"), 2)
    chosen, state = picks(Kind.LEAST_CONNECTIONS, plain("b", "c"), 1, state)
    assert chosen == ["c"]
    assert dict(state.in_flight) == {"a": 1, "b": 1, "c": 1}
    assert picks(Kind.LEAST_CONNECTIONS, plain("a", "d"), 1, state)[0] == ["d"]
    assert dict(finished(state, "a").in_flight) == {"b": 1, "c": 1}


def test_a_finished_request_counts_no_more() -> None:
    """And one that was never sent does not count below nothing."""
    chosen, state = picks(Kind.LEAST_CONNECTIONS, plain("a", "b"), 3)
    assert chosen == ["a", "b", "a"]
    state = finished(state, "a")
    assert dict(state.in_flight) == {"a": 1, "b": 1}
    state = finished(state, "a")
    assert state.in_flight == (("b", 1),)
    assert finished(state, "a") is state
    assert picks(Kind.LEAST_CONNECTIONS, plain("a", "b"), 1, state)[0] == ["a"]


@pytest.mark.parametrize("after", [weighted(a=1, b=2), weighted(a=5, b=3, c=2, d=1), weighted(a=5, b=3), weighted(x=3)])
def test_weighted_begins_a_new_cycle_when_names_or_weights_change(after: list[Weighted]) -> None:
    """So that every window from the change on is exact."""
    _, state = picks(Kind.WEIGHTED, weighted(a=5, b=3, c=2), 4)
    changed, _ = picks(Kind.WEIGHTED, after, 12, state)
    assert changed == picks(Kind.WEIGHTED, after, 12)[0]


def test_weighted_goes_on_when_only_the_order_changes() -> None:
    """Or when a destination of the weight 0 comes or goes."""
    destinations = weighted(a=5, b=3, c=2)
    begun, state = picks(Kind.WEIGHTED, destinations, 4)
    rest, _ = picks(Kind.WEIGHTED, [*reversed(destinations), Weighted("drained", 0)], 6, state)
    assert Counter(begun + rest) == {"a": 5, "b": 3, "c": 2}


@pytest.mark.parametrize("kind", Kind)
def test_a_weight_of_zero_is_never_chosen(kind: Kind) -> None:
    """By any way to balance."""
    state = BalanceState()
    for number in range(40):
        name, state = choose(kind, weighted(a=0, b=2, c=0, d=1), state, key=str(number), random=Random(number).random)
        assert name in ("b", "d")


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize(
    ("destinations", "problem"),
    [([], "there is no destination to choose from"), (weighted(a=0, b=0), "every weight is 0: a, b")],
)
def test_nothing_to_choose_from_is_refused(kind: Kind, destinations: list[Weighted], problem: str) -> None:
    """No destination, or all weights 0."""
    with pytest.raises(RoutingError, match=problem) as caught:
        choose(kind, destinations, BalanceState(), key="k", random=never)
    assert caught.value.code == "no-destinations"


def test_two_destinations_of_one_name_are_refused() -> None:
    """What is remembered, is remembered by name."""
    with pytest.raises(RoutingError) as caught:
        choose(Kind.ROUND_ROBIN, plain("a", "b", "a"), BalanceState(), key=None, random=never)
    assert caught.value.code == "bad-destinations"


@pytest.mark.parametrize("weight", [-1, 1.5, True, "1"])
def test_a_weight_that_is_no_whole_number_is_refused(weight: object) -> None:
    """Or is below 0."""
    with pytest.raises(RoutingError) as caught:
        Weighted("a", weight)  # type: ignore[arg-type]
    assert caught.value.code == "bad-destinations"


def test_a_sticky_choice_needs_a_key() -> None:
    """An empty one will do."""
    with pytest.raises(RoutingError) as caught:
        choose(Kind.STICKY, plain("a"), BalanceState(), key=None, random=never)
    assert caught.value.code == "no-key"
    assert choose(Kind.STICKY, plain("a"), BalanceState(), key="", random=never)[0] == "a"


@given(NAMES, st.text(), st.randoms())
def test_a_sticky_choice_depends_on_names_and_key_only(names: list[str], key: str, random: Random) -> None:
    """Not on the order, the weights, or what was chosen before."""
    chosen, state = choose(Kind.STICKY, plain(*names), BalanceState(), key=key, random=never)
    random.shuffle(names)
    others = [Weighted(name, random.randint(1, 9)) for name in names]
    assert choose(Kind.STICKY, others, BalanceState(last="x"), key=key, random=never)[0] == chosen
    assert state == BalanceState()


@given(NAMES, st.text(max_size=4), st.lists(st.text(max_size=5), max_size=20))
def test_a_new_destination_takes_keys_and_moves_no_others(names: list[str], new: str, keys: list[str]) -> None:
    """Nor does one that is taken away, which is the same seen from the other side."""
    for key in keys:
        before, after = stick(names, key), stick({*names, new}, key)
        assert after in (before, new)


def test_sticky_keys_are_spread_evenly() -> None:
    """Ten thousand keys on ten destinations, each within a tenth of its share."""
    names = [f"worker-{number}" for number in range(10)]
    shares = Counter(stick(names, f"customer-{number}") for number in range(10_000))
    assert all(900 < shares[name] < 1100 for name in names)


@pytest.mark.parametrize(
    ("name", "key", "hashed"),
    [
        ("a", "customer-17", b"\x00\x00\x00\x01acustomer-17"),
        ("", "", b"\x00\x00\x00\x00"),
        ("ü", "€", b"\x00\x00\x00\x02\xc3\xbc\xe2\x82\xac"),
    ],
)
def test_the_bytes_that_are_hashed_are_the_documented_ones(name: str, key: str, hashed: bytes) -> None:
    """Length of the name, name, key; other runtimes rely on it."""
    assert score(name, key) == int(blake2b(hashed, digest_size=8).hexdigest(), 16)


def test_sticky_choices_of_this_version_are_those_of_every_version() -> None:
    """Fixed numbers: a change of them would move keys between running systems."""
    assert f"{score('a', 'customer-17'):016x}" == "37136f0d44b34ffc"
    assert "".join(stick(["a", "b", "c"], f"k{number}") for number in range(8)) == "aabcacba"


def test_names_and_keys_cannot_run_into_each_other() -> None:
    """The length stands before them."""
    assert score("ab", "c") != score("a", "bc")
