"""Acknowledging, giving back, and the backoff between attempts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.errors import InputError, MessageError
from pointsman.store.queue import Queue
from pointsman.store.settle import Backoff
from tests.store.clock import Clock
from tests.store.conftest import Open


def test_an_acknowledged_message_never_comes_again(queue: Queue, clock: Clock) -> None:
    """Whatever time passes; a second ack changes nothing."""
    queue.put(b"1")
    message = queue.pop()
    assert message is not None
    assert queue.ack(message)
    assert not queue.ack(message)
    assert not queue.nack(message)
    clock.forward(1e6)
    assert queue.pop() is None
    assert (queue.status(message.id), queue.unfinished) == ("done", 0)


def test_ack_many_gives_how_many_leases_were_held(queue: Queue, clock: Clock) -> None:
    """Those that were acknowledged before, or that others have, do not count."""
    queue.put_many((str(number), "a") for number in range(6))
    together = queue.pop_many(3)
    apart = [message for message in (queue.pop(), queue.pop()) if message]
    lost = queue.pop(lease=1)
    assert lost is not None
    clock.forward(2)
    assert queue.pop() is not None
    queue.ack(together[0])
    assert queue.ack_many([*together, *apart, lost, *apart]) == 4
    assert queue.size() == (0, 0, 1, 0, 5, 0)
    assert queue.ack_many([]) == 0


@pytest.mark.parametrize("names", [[], ["one"], ["one", "two"], ["one", "two", "three"]])
def test_the_last_delivery_finishes_the_message(queue: Queue, names: list[str]) -> None:
    """A message is done when everybody is done with it."""
    for name in names:
        queue.subscribe(name, "#")
    id = queue.put(b"1", "a")
    for name in [None, *names]:
        assert (queue.unfinished, queue.size().done) == (1, 0)
        message = queue.pop(subscription=name)
        assert message is not None
        assert queue.ack(message)
    assert (queue.unfinished, queue.size().done, queue.status(id)) == (0, 1, "done")


def test_a_message_given_back_comes_again_after_its_backoff(queue: Queue, clock: Clock) -> None:
    """Twice as long each time; here without the chance."""
    queue.put(b"1")
    for attempt, wait in enumerate([1, 2, 4, 8], 1):
        message = queue.pop()
        assert message is not None
        assert message.attempts == attempt
        assert queue.nack(message, error=f"failure {attempt}")
        clock.forward(wait - 0.001)
        assert queue.pop() is None
        clock.forward(0.001)
    message = queue.pop()
    assert message is not None
    assert (message.attempts, message.error) == (5, "failure 4")


def test_a_message_may_be_given_back_for_another_time(queue: Queue, clock: Clock) -> None:
    """At once, if that is 0, and then it stands where it stood."""
    queue.put_many([(b"1", "a"), (b"2", "a")])
    message = queue.pop()
    assert message is not None
    assert queue.nack(message, delay=0)
    message = queue.pop()
    assert message is not None
    assert message.data == b"1"
    assert queue.nack(message, delay=7)
    assert [each.data for each in queue.pop_many(9)] == [b"2"]
    clock.forward(7)
    assert [each.data for each in queue.pop_many(9)] == [b"1"]


@pytest.mark.parametrize("delay", [-1, float("nan"), float("inf"), "1", True])
def test_a_delay_is_a_number_of_seconds(queue: Queue, delay: Any) -> None:
    """Otherwise the message stays leased."""
    queue.put(b"1")
    message = queue.pop()
    assert message is not None
    with pytest.raises(MessageError, match="delay"):
        queue.nack(message, delay=delay)
    assert queue.ack(message)


def test_the_backoff_is_by_chance_between_a_half_and_the_whole(open_queue: Open, clock: Clock) -> None:
    """The chance is passed in."""
    chances = iter([0.0, 0.5])
    queue = open_queue(random=lambda: next(chances), backoff=Backoff(first=8.0, factor=10.0))
    queue.put(b"1")
    for wait in (4.0, 60.0):
        message = queue.pop()
        assert message is not None
        queue.nack(message)
        clock.forward(wait - 0.001)
        assert queue.pop() is None
        clock.forward(0.001)


@given(
    backoff=st.builds(Backoff, st.floats(0, 1e6), st.floats(1, 1e6), st.floats(0, 1e6)),
    attempts=st.integers(1, 10**9),
    chance=st.floats(0, 1),
)
def test_the_backoff_has_bounds(backoff: Backoff, attempts: int, chance: float) -> None:
    """It never shrinks with attempts, is never longer than its longest, and never fails."""
    wait = backoff.wait(attempts, lambda: chance)
    assert 0 <= wait <= backoff.longest
    assert wait <= backoff.wait(attempts + 1, lambda: chance) + 1e-9


@pytest.mark.parametrize("backoff", [Backoff(first=-1), Backoff(factor=0.5), Backoff(longest=-1)])
def test_a_backoff_that_cannot_be_is_refused(backoff: Backoff) -> None:
    """When the queue is opened."""
    with pytest.raises(InputError, match="bad-setting"):
        Queue(":memory:", backoff=backoff)
