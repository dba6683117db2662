"""A clock that is set back or forward: nothing is lost, the order stays, and waits do not become endless."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.store.queue import Queue
from tests.store.clock import Clock

HOUR = 3600.0


@pytest.fixture
def clock() -> Clock:
    """A clock that goes only when it is told to."""
    return Clock()


def data(queue: Queue, count: int = 100) -> list[str | bytes]:
    """What can be popped now."""
    return [message.data for message in queue.pop_many(count)]


def test_a_clock_set_back_leaves_leases_as_long_as_they_were(tmp_path: Path, clock: Clock) -> None:
    """A lease of ten seconds ends ten seconds later, though the clock shows an hour less."""
    with Queue(tmp_path / "queue.db", clock=clock) as queue:
        queue.put("one")
        assert queue.pop(lease=10) is not None
        clock.forward(-HOUR)
        assert queue.pop() is None
        clock.forward(9)
        assert queue.pop() is None
        clock.forward(1.1)
        assert data(queue) == ["one"]


def test_a_clock_set_back_leaves_delays_as_long_as_they_were(tmp_path: Path, clock: Clock) -> None:
    """Also when nothing but asking happens meanwhile."""
    with Queue(tmp_path / "queue.db", clock=clock) as queue:
        queue.put("one", delay=10)
        clock.forward(-HOUR)
        for _ in range(9):
            assert queue.pop() is None
            clock.forward(1)
        clock.forward(2)
        assert data(queue) == ["one"]


def test_every_process_has_the_same_time_after_the_clock_was_set_back(tmp_path: Path, clock: Clock) -> None:
    """What one of them found out is in the file."""
    with Queue(tmp_path / "queue.db", clock=clock) as first, Queue(tmp_path / "queue.db", clock=clock) as second:
        first.put("one", delay=10)
        clock.forward(-HOUR)
        assert first.pop() is None
        clock.forward(10.1)
        assert data(second) == ["one"]


def test_a_clock_set_forward_ends_leases_and_delays_early_and_loses_nothing(tmp_path: Path, clock: Clock) -> None:
    """Time that the clock says has passed has passed: a message may come twice, and none is lost."""
    with Queue(tmp_path / "queue.db", clock=clock) as queue:
        queue.put("leased")
        leased = queue.pop()
        assert leased is not None
        queue.put("delayed", delay=60)
        clock.forward(HOUR)
        assert data(queue) == ["leased", "delayed"]
        assert not queue.ack(leased)
        assert queue.size().dead == 0


def test_after_forward_and_back_again_the_queue_goes_on(tmp_path: Path, clock: Clock) -> None:
    """The queue's own time stays ahead, and its seconds are as long as before."""
    with Queue(tmp_path / "queue.db", clock=clock) as queue:
        clock.forward(HOUR)
        queue.put("one", delay=5)
        clock.forward(-HOUR)
        assert queue.pop() is None
        clock.forward(5.1)
        assert data(queue) == ["one"]


def test_what_expires_while_the_clock_is_ahead_is_a_dead_letter(tmp_path: Path, clock: Clock) -> None:
    """Its contents stay, for whoever looks at the dead letters."""
    with Queue(tmp_path / "queue.db", clock=clock) as queue:
        queue.put("one", expires=60)
        clock.forward(HOUR)
        assert queue.pop() is None
        (letter,) = queue.dead_letters()
        assert letter.reason == "it expired before anybody took it"
        assert letter.message is not None
        assert letter.message.data == "one"


@given(st.lists(st.sampled_from([-HOUR, -5.0, -0.5, 0.0, 0.5, 5.0, HOUR]), max_size=12))
def test_whatever_the_clock_does_messages_come_in_the_order_of_putting(steps: list[float]) -> None:
    """Their numbers decide, not the time."""
    clock = Clock()
    with Queue(":memory:", clock=clock) as queue:
        for number, step in enumerate(steps):
            queue.put(str(number))
            clock.forward(step)
        assert data(queue) == [str(number) for number in range(len(steps))]
        assert [message.sequence for message in queue.messages()] == list(range(1, len(steps) + 1))


@given(st.lists(st.tuples(st.sampled_from(["put", "pop", "ack"]), st.floats(-HOUR, HOUR)), max_size=20))
def test_whatever_the_clock_does_nothing_is_lost(steps: list[tuple[str, float]]) -> None:
    """Each message is acknowledged once, or still there in the end."""
    clock = Clock()
    with Queue(":memory:", clock=clock, max_attempts=1000, lease=60) as queue:
        accepted, acknowledged, held = set(), [], []
        for step, seconds in steps:
            clock.forward(seconds)
            if step == "put":
                accepted.add(queue.put("", delay=abs(seconds)))
            elif step == "pop":
                held += queue.pop_many(2)
            elif held:
                message = held.pop()
                acknowledged += [message.id] if queue.ack(message) else []
        clock.forward(10 * HOUR)
        rest = [message.id for message in queue.pop_many(1000)]
        assert sorted([*acknowledged, *rest]) == sorted(accepted)
