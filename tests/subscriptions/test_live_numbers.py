"""The live index of number comparisons finds what each comparison by itself says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pointsman.conditions import NumberComparison
from pointsman.subscriptions import numbers as numbers_module
from pointsman.subscriptions.numbers import LiveNumberIndex

NUMBERS = [-1.0, 0.0, 0.5, 1.0, 2.0, 1e300]
comparisons = st.builds(
    NumberComparison,
    st.sampled_from(["k", "l", None]),
    st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
    st.sampled_from(NUMBERS) | st.integers(-5, 5),
)
values = st.sampled_from(["-1", "-0", "0.5", "1", "1e0", "2", "3.5", "1e300", "1e999", "one", "", " 1"])


@given(
    st.lists(comparisons, max_size=60, unique=True),
    st.sets(st.integers(0, 59)),
    st.dictionaries(st.sampled_from(["k", "l", "m"]), values),
)
def test_exactly_those_are_found_that_hold(
    some: list[NumberComparison], gone: set[int], message: dict[str, str]
) -> None:
    """Before some are taken away, and after."""
    index = LiveNumberIndex()
    numbered = dict(enumerate(some, 1))
    for number, comparison in numbered.items():
        index.add(comparison, number)
        index.add(comparison, number)
    for number in [0, *gone]:
        comparison_gone = numbered.pop(number, None)
        if comparison_gone is not None:
            assert not index.remove(comparison_gone, number + 100)
            assert index.remove(comparison_gone, number)
            assert not index.remove(comparison_gone, number)
        for key in ("k", "l", "m", None):
            texts = list(message.values()) if key is None else [message[key]] if key in message else []
            expected = [n for n, each in numbered.items() if each.key == key and each.holds(message)]
            assert index.find(key, texts) == expected


def test_many_bounds_are_divided_and_go_away_again() -> None:
    """In any order of coming and going."""
    index = LiveNumberIndex()
    count = 5 * numbers_module.BLOCK
    order = [place * 7919 % count for place in range(count)]
    for number in order:
        index.add(NumberComparison("k", "<", number), number)
    assert index.find("k", [str(count // 2)]) == list(range(count // 2 + 1, count))
    assert index.find("k", ["-1"]) == list(range(count))
    for number in order[: count // 2]:
        assert index.remove(NumberComparison("k", "<", number), number)
    left = sorted(order[count // 2 :])
    assert index.find("k", ["-1"]) == left
    for number in left:
        assert index.remove(NumberComparison("k", "<", number), number)
    assert index.find("k", ["-1"]) == []
