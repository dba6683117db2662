"""Popping, peeking and consuming."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from pointsman.errors import StoreError
from pointsman.store.message import StoredMessage
from pointsman.store.queue import Queue
from tests.store.clock import Clock
from tests.store.conftest import Open


def test_a_popped_message_is_given_to_nobody_else(queue: Queue) -> None:
    """As long as its lease holds."""
    queue.put_many([(b"1", "a"), (b"2", "a")])
    assert [message.data for message in (queue.pop(), queue.pop()) if message] == [b"1", b"2"]
    assert queue.pop() is None
    assert queue.size()[:4] == (0, 0, 2, 0)


@pytest.mark.parametrize("count", [0, 1, 3, 5, 100])
def test_pop_many_gives_as_many_as_there_are(queue: Queue, count: int) -> None:
    """In their order, at most the number asked for."""
    queue.put_many((str(number), "a") for number in range(5))
    found = queue.pop_many(count)
    assert [message.data for message in found] == [str(number) for number in range(min(count, 5))]
    assert len(queue.pop_many(100)) == 5 - len(found)


def test_pop_many_goes_on_past_what_has_expired(queue: Queue, clock: Clock) -> None:
    """The number asked for is given if there are so many."""
    for number in range(6):
        queue.put(str(number), expires=1 if number % 2 else None)
    clock.forward(2)
    assert [message.data for message in queue.pop_many(3)] == ["0", "2", "4"]
    assert (queue.size().dead, queue.size().ready) == (2, 1)


def test_to_peek_changes_nothing(queue: Queue) -> None:
    """What is peeked at is not leased, has no attempt, and can still be popped."""
    queue.put_many([(b"1", "a"), (b"2", "b"), (b"3", "a")])
    before = queue.size()
    (first,) = queue.peek()
    assert (first.data, first.attempts, first.until) == (b"1", 0, 0)
    assert [message.data for message in queue.peek(count=9)] == [b"1", b"2", b"3"]
    assert [message.data for message in queue.peek("a", count=9)] == [b"1", b"3"]
    assert not queue.ack(first)
    assert not queue.nack(first)
    assert queue.extend(first, 10) is None
    assert queue.size() == before
    assert len(queue.pop_many(9)) == 3


def test_peek_looks_into_a_subscription(queue: Queue) -> None:
    """By its name; its pattern asks the queue itself, as every pattern does."""
    queue.subscribe("eu", "orders.eu.#")
    queue.put_many([(b"1", "orders.eu.x"), (b"2", "orders.us.x")])
    queue.pop()
    assert [message.data for message in queue.peek(subscription="eu")] == [b"1"]
    assert queue.peek("orders.eu.#") == []
    with pytest.raises(StoreError, match="no-subscription"):
        queue.peek(subscription="us")


def test_get_finds_a_message_whatever_became_of_it(queue: Queue) -> None:
    """The last one, if several have the id."""
    id = queue.put(b"1")
    assert (queue.get("nothing"), queue.status("nothing")) == (None, None)
    message = queue.pop()
    assert message is not None
    queue.ack(message)
    found = queue.get(id)
    assert found is not None
    assert found.data == b"1"


def test_statuses_are_the_words_of_the_design(queue: Queue, clock: Clock) -> None:
    """A message goes through them."""
    id = queue.put(b"1", delay=1)
    seen = [queue.status(id)]
    clock.forward(1)
    message = queue.pop()
    seen.append(queue.status(id))
    assert message is not None
    queue.nack(message, delay=0)
    seen.append(queue.status(id))
    message = queue.pop()
    assert message is not None
    queue.ack(message)
    seen.append(queue.status(id))
    queue.prune(archive=True)
    seen.append(queue.status(id))
    queue.put(b"2", id="dead", expires=0)
    queue.pop()
    seen.append(queue.status("dead"))
    assert seen == ["delayed", "leased", "ready", "done", "archived", "dead"]
    assert queue.size() == (0, 0, 0, 1, 0, 1)


def test_messages_are_listed_in_pages(queue: Queue) -> None:
    """Each page begins after the last number of the one before."""
    queue.put_many((str(number), "a") for number in range(5))
    pages: list[list[StoredMessage]] = []
    after = 0
    while page := queue.messages(after, 2):
        pages.append(page)
        after = page[-1].sequence
    assert [[message.data for message in page] for page in pages] == [["0", "1"], ["2", "3"], ["4"]]


def test_a_consumer_acknowledges_what_it_has_gone_past(queue: Queue) -> None:
    """The message at hand is leased; the end of the loop acknowledges the last."""
    queue.put_many((str(number), "a") for number in range(3))
    sizes = [(message.data, queue.size().leased, queue.size().done) for message in queue.consume(wait=0)]
    assert sizes == [("0", 1, 0), ("1", 1, 1), ("2", 1, 2)]
    assert (queue.size().done, queue.unfinished) == (3, 0)


def test_a_consumer_that_stops_gives_the_message_back(queue: Queue) -> None:
    """It can be taken again at once, and counts as an attempt."""
    queue.put(b"1")
    consumer = queue.consume(wait=0)
    next(consumer)
    consumer.close()
    message = queue.pop()
    assert message is not None
    assert (message.data, message.attempts) == (b"1", 2)


@pytest.mark.parametrize("way", [{"pattern": "a.*"}, {"subscription": "all"}])
def test_a_consumer_takes_by_pattern_and_from_a_subscription(queue: Queue, way: dict[str, str]) -> None:
    """As pop does."""
    queue.subscribe("all", "a.#")
    queue.put_many([(b"1", "a.1"), (b"2", "b.2"), (b"3", "a.3")])
    assert [message.data for message in queue.consume(wait=0, **way)] == [b"1", b"3"]


def test_a_consumer_that_waits_is_woken(open_queue: Open) -> None:
    """By a message that another thread puts, long before it would have looked again."""
    queue = open_queue()
    got: list[StoredMessage] = []

    def consume() -> None:
        consumer: Iterator[StoredMessage] = queue.consume(wait=30)
        got.append(next(consumer))
        consumer.close()  # type: ignore[attr-defined]

    thread = threading.Thread(target=consume)
    thread.start()
    queue.put(b"1")
    thread.join(20)
    assert not thread.is_alive()
    assert [message.data for message in got] == [b"1"]


def test_acknowledging_and_popping_is_one_step(queue: Queue) -> None:
    """None when there is nothing more; what was lost stays lost, and the next is given all the same."""
    queue.put_many([(b"1", "a"), (b"2", "a"), (b"3", "b")])
    first = queue.pop()
    assert first is not None
    second = queue.ack_and_pop(first, "a")
    assert second is not None
    assert (second.data, queue.status(first.id)) == (b"2", "done")
    third = queue.ack_and_pop(first)
    assert third is not None
    assert third.data == b"3"
    assert queue.ack_and_pop(third) is None
    assert queue.size() == (0, 0, 1, 0, 2, 0)


def test_a_subscription_that_is_not_there_is_an_error(queue: Queue) -> None:
    """And nothing is popped."""
    queue.put(b"1")
    with pytest.raises(StoreError, match="no-subscription"):
        queue.pop(subscription="nobody")
    assert queue.size().ready == 1


def test_a_queue_can_be_iterated_over(queue: Queue) -> None:
    """Each message is acknowledged when the next is asked for; the one at which the loop ends comes back."""
    queue.put_many((str(number), "a") for number in range(3))
    for message in queue:
        if message.data == "1":
            break
    assert [each.data for each in queue.pop_many(9)] == ["1", "2"]
    assert queue.size().done == 1
