"""From the input adapter to the output adapter: what is registered and gathered, in memory and beyond it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.conditions import Matcher
from pointsman.message import Message
from pointsman.store.queue import Queue
from pointsman.subscriptions.input_adapter import InputAdapter
from pointsman.subscriptions.live import LiveSubscriptions
from pointsman.subscriptions.matches import Matches, Spill
from pointsman.subscriptions.output_adapter import NAMED, OutputAdapter, SubscriptionDelivery
from pointsman.subscriptions.registry import Registry
from pointsman.subscriptions.resolver import Match
from tests.subscriptions.test_registry import made

MESSAGE = Message("a")


@pytest.fixture
def spill() -> Iterator[Spill]:
    """A database for what is too much."""
    made = Spill()
    yield made
    made.close()


def everybody(owner: str, subject: str) -> bool:
    """May read everything."""
    return bool(owner and subject)


@given(st.lists(st.lists(st.integers(1, 50), max_size=10), max_size=6), st.sampled_from([0, 3, 1000]))
def test_what_is_registered_comes_ascending_once_and_in_pages(pages: list[list[int]], few: int) -> None:
    """However much of it is in memory, and with others beside it."""
    spill = Spill()
    other, matches = Matches(spill, few), Matches(spill, few)
    for page in pages:
        other.register([1000, 1])
        matches.register(page)
    found: list[int] = []
    while page := matches.page(2, found[-1] if found else 0):
        found += page
    assert found == sorted({number for page in pages for number in page})
    matches.forget()
    assert matches.page(2) == []
    assert other.page(5) == ([1, 1000] if pages else [])
    spill.close()


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sets(st.sampled_from("xyz"), min_size=1)), max_size=12),
    st.sampled_from([0, 2, 1000]),
)
def test_each_destination_gets_a_message_once_for_each_owner(matched: list[tuple[str, set[str]]], few: int) -> None:
    """With all that matched, in their order, whether in memory or not; and the next message starts anew."""
    spill = Spill()
    output = OutputAdapter(spill, everybody, few)
    expected: dict[tuple[str, str], list[str]] = {}
    for number, (owner, destinations) in enumerate(matched):
        output.accept(MESSAGE, Match(number, str(number), owner, tuple(destinations)))
        for destination in destinations:
            expected.setdefault((destination, owner), []).append(str(number))
    wanted = [SubscriptionDelivery(*place, len(ids), tuple(ids)) for place, ids in sorted(expected.items())]
    assert (list(output), len(output), list(output)) == (wanted, len(wanted), wanted)
    output.forget()
    assert (list(output), len(output)) == ([], 0)
    spill.close()


@pytest.mark.parametrize("few", [0, 1000])
def test_a_delivery_names_some_of_very_many_and_says_how_many_there_are(spill: Spill, few: int) -> None:
    """The first ones."""
    output = OutputAdapter(spill, everybody, few)
    for number in range(3 * NAMED):
        output.accept(MESSAGE, Match(number, str(number), "ada", ("desk",)))
    (delivery,) = output
    assert delivery.matched == 3 * NAMED
    assert delivery.subscriptions == tuple(str(number) for number in range(NAMED))


def test_what_an_owner_may_not_read_is_left_out(spill: Spill) -> None:
    """It is asked once for each owner and message, not for each subscription; of many owners some twice."""
    asked: list[str] = []

    def may(owner: str, subject: str) -> bool:
        assert subject == "a"
        asked.append(owner)
        return owner == "ada"

    output = OutputAdapter(spill, may)
    for number in range(5):
        for owner in ("ada", "bob"):
            output.accept(MESSAGE, Match(number, str(number), owner, ("desk",)))
    assert [(each.owner, each.matched) for each in output] == [("ada", 5)]
    assert asked == ["ada", "bob"]
    output.forget()
    output.accept(MESSAGE, Match(1, "1", "ada", ("desk",)))
    assert asked == ["ada", "bob", "ada"]


def test_the_input_adapter_takes_messages_page_by_page(queue: Queue, registry: Registry, spill: Spill) -> None:
    """And has forgotten each of them when it is done, also when that failed."""
    for number in range(5):
        registry.create(made(str(number), owner="ada" if number % 2 else "bob"))
    registry.create(made("other", condition=Matcher("region", "US")))
    with LiveSubscriptions(queue.store, page=2).reading() as resolver:
        output = OutputAdapter(spill, everybody)
        adapter = InputAdapter(resolver, output, page=2)
        adapter.take(Message("a", id="m", metadata={"region": "EU"}))
        assert [(each.owner, each.subscriptions) for each in output] == [("ada", ("1", "3")), ("bob", ("0", "2", "4"))]
        failing = InputAdapter(resolver, OutputAdapter(spill, lambda owner, subject: len(owner + subject) < 1 / 0))
        with pytest.raises(ZeroDivisionError):
            failing.take(Message("a", id="n", metadata={"region": "EU"}))
        assert resolver.open_messages == 0
