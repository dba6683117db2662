"""The end of a durable subscription: nothing is left of it, also when it was broken off."""

from __future__ import annotations

import pytest

from pointsman.errors import StoreError
from pointsman.store import subscription_changes
from pointsman.store.queue import Queue
from tests.store.clock import Clock
from tests.store.conftest import Open


def data(queue: Queue, name: str | None = None, pattern: str | None = None) -> list[bytes | str]:
    """What can be popped, popped."""
    return [message.data for message in queue.pop_many(1000, pattern, subscription=name)]


def test_the_end_of_a_subscription_drops_what_it_had(open_queue: Open, clock: Clock) -> None:
    """Ready, delayed, leased and dead; what nobody else has is done then."""
    queue = open_queue(main="never", max_attempts=1)
    queue.subscribe("all", "#")
    queue.subscribe("some", "a")
    ids = queue.put_many([(b"1", "a"), (b"2", "b"), (b"3", "b"), (b"4", "b")])
    ids.append(queue.put(b"5", "b", delay=5))
    leased, dead = queue.pop_many(2, subscription="all")
    queue.nack(dead)
    assert queue.size("all")[:4] == (2, 1, 1, 1)
    assert queue.unsubscribe("all") == 5
    assert not queue.ack(leased)
    assert [queue.status(id) for id in ids] == ["ready", *["done"] * 4]
    assert queue.unfinished == 1
    clock.forward(1000)
    assert data(queue, "some") == [b"1"]
    assert queue.size() == (0, 0, 1, 0, 4, 0)


def test_an_end_that_is_broken_off_can_be_called_again(open_file: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """The subscription is there until all that it had is dropped, so that nothing is left of it in the end."""
    queue = open_file(main="never")
    queue.subscribe("all", "#")
    queue.put_many((b"", "a") for _ in range(5))
    monkeypatch.setattr(subscription_changes, "PAGE", 2)

    def broken(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(subscription_changes, "_end", broken)
        with pytest.raises(KeyboardInterrupt):
            queue.unsubscribe("all")
    queue.put(b"", "a")
    queue.close()
    queue = open_file(main="never")
    assert queue.unsubscribe("all") == 1
    assert (queue.unfinished, queue.size().done, queue.subscriptions()) == (0, 6, [])


def test_the_queue_itself_cannot_be_ended(queue: Queue) -> None:
    """Its name is the empty one, where there is a choice."""
    queue.put(b"1")
    with pytest.raises(StoreError, match="no-subscription"):
        queue.unsubscribe("")
    assert data(queue) == [b"1"]


def test_a_name_is_free_after_the_end(queue: Queue) -> None:
    """The new one has nothing of the old."""
    queue.subscribe("all", "#")
    queue.put(b"1", "a")
    queue.unsubscribe("all")
    with pytest.raises(StoreError, match="no-subscription"):
        queue.unsubscribe("all")
    queue.subscribe("all", "a.#")
    assert data(queue, "all") == []
