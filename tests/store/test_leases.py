"""Leases: a message that was taken and not settled comes again."""

from __future__ import annotations

from typing import Any

import pytest

from pointsman.errors import MessageError
from pointsman.store import settle
from pointsman.store.queue import Queue
from tests.store.clock import Clock
from tests.store.conftest import Open


def test_a_message_whose_lease_runs_out_is_ready_again(queue: Queue, clock: Clock) -> None:
    """A minute, unless told otherwise."""
    queue.put(b"1")
    assert queue.pop() is not None
    clock.forward(59.999)
    assert queue.pop() is None
    clock.forward(0.001)
    message = queue.pop()
    assert message is not None
    assert message.attempts == 2


def test_the_nearest_word_about_the_lease_counts(open_queue: Open, clock: Clock) -> None:
    """That of the call, else that of the subscription, else that of the queue."""
    queue = open_queue(lease=10)
    queue.subscribe("own", "#", lease=20)
    for options, lease in (({}, 10), ({"subscription": "own"}, 20), ({"subscription": "own", "lease": 5}, 5)):
        queue.purge()
        queue.put(b"1")
        message = queue.pop(**options)  # type: ignore[arg-type]
        assert message is not None
        assert message.until == (clock() + lease) * 1_000_000
        clock.forward(lease)
        assert queue.pop(subscription=options.get("subscription")) is not None  # type: ignore[arg-type]


def test_whoever_lost_the_lease_cannot_settle(queue: Queue, clock: Clock) -> None:
    """The message is somebody else's now, who can."""
    queue.put(b"1")
    slow = queue.pop(lease=1)
    clock.forward(1)
    quick = queue.pop()
    assert slow is not None
    assert quick is not None
    assert not queue.ack(slow)
    assert not queue.nack(slow)
    assert queue.extend(slow, 10) is None
    assert queue.ack(quick)
    assert queue.unfinished == 0


def test_a_lease_that_ran_out_is_held_until_somebody_else_takes_it(queue: Queue, clock: Clock) -> None:
    """Work that was done is not done again for nothing."""
    queue.put(b"1")
    message = queue.pop(lease=1)
    clock.forward(100)
    assert message is not None
    assert queue.ack(message)
    assert queue.pop() is None


def test_a_lease_can_be_extended(queue: Queue, clock: Clock) -> None:
    """From now on, as often as needed; the message as it was given before is of no use then."""
    queue.put(b"1")
    message = queue.pop(lease=10)
    for _ in range(5):
        clock.forward(8)
        assert message is not None
        before, message = message, queue.extend(message, 10)
        assert not queue.ack(before)
        assert queue.pop() is None
    assert message is not None
    assert message.attempts == 1
    assert queue.ack(message)


@pytest.mark.parametrize("lease", [-1, float("nan"), "1", None, True, 1e12])
def test_a_lease_is_a_number_of_seconds(queue: Queue, lease: Any) -> None:
    """Otherwise nothing changes."""
    queue.put(b"1")
    if lease is not None:
        with pytest.raises(MessageError, match="lease"):
            queue.pop(lease=lease)
    message = queue.pop()
    assert message is not None
    with pytest.raises(MessageError, match="lease"):
        queue.extend(message, lease)
    assert queue.ack(message)


def test_after_the_last_attempt_a_lease_that_runs_out_makes_a_dead_letter(open_queue: Open, clock: Clock) -> None:
    """As a consumer that is killed by its message each time would take it for ever."""
    queue = open_queue(max_attempts=2, lease=1)
    queue.put(b"1")
    for _ in range(2):
        assert queue.pop() is not None
        clock.forward(1)
    assert queue.pop() is None
    (letter,) = queue.dead_letters()
    assert letter.attempts == 2
    assert "lease ran out" in letter.reason


def test_leases_of_all_subscriptions_run_out_whoever_pops(queue: Queue, clock: Clock) -> None:
    """A pop of anything finds what is due."""
    queue.subscribe("all", "#")
    queue.put(b"1")
    queue.pop(subscription="all", lease=1)
    queue.pop(lease=100)
    clock.forward(1)
    assert queue.pop() is None
    assert queue.size("all").ready == 1


def test_more_leases_than_are_looked_at_at_a_time_all_come_back(
    queue: Queue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that ran out first come first, and none is forgotten."""
    monkeypatch.setattr(settle, "SWEEP", 3)
    queue.put_many((str(number), "a") for number in range(10))
    queue.pop_many(10, lease=1)
    clock.forward(1)
    found = [message.data for _ in range(4) for message in queue.pop_many(10)]
    assert sorted(found, key=str) == [str(number) for number in range(10)]


@pytest.mark.parametrize("seconds", [0.5, 3600.0])
def test_a_clock_that_is_set_back_does_not_stop_leases(queue: Queue, clock: Clock, seconds: float) -> None:
    """The queue's own time goes on from where it was."""
    queue.put(b"1")
    queue.pop(lease=10)
    clock.forward(-seconds)
    assert queue.pop() is None
    queue.put(b"2")
    assert queue.pop() is not None
    clock.forward(10 + min(seconds, 1.0))
    message = queue.pop()
    assert message is not None
    assert message.data == b"1"


def test_a_clock_that_is_set_back_is_so_for_all_who_have_the_file_open(open_file: Open, clock: Clock) -> None:
    """What one has noticed the other counts with, also after the file was closed."""
    one, two = open_file(), open_file()
    one.put(b"1")
    one.pop(lease=10)
    clock.forward(-3600)
    two.put(b"2")
    two.close()
    clock.forward(10)
    three = open_file()
    assert [message.data for message in three.pop_many(9)] == [b"1", b"2"]
    assert all(
        later.time >= earlier.time for earlier, later in zip(three.messages(), three.messages()[1:], strict=False)
    )


def test_a_clock_that_is_set_forward_ends_leases_early(queue: Queue, clock: Clock) -> None:
    """Delivered again, never lost."""
    queue.put(b"1")
    queue.pop()
    clock.forward(1e8)
    assert queue.pop() is not None
