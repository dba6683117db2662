"""Pruning, purging, replaying and giving room back."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pointsman.errors import InputError, MessageError, StoreError
from pointsman.store import maintenance, subscription_changes
from pointsman.store.message import Sizes
from pointsman.store.queue import Queue
from tests.store.clock import Clock
from tests.store.conftest import Open


def finish(queue: Queue, count: int = 1000) -> None:
    """Takes the first messages and acknowledges them."""
    queue.ack_many(queue.pop_many(count))


def test_prune_deletes_what_is_done(queue: Queue) -> None:
    """And nothing else."""
    queue.put_many((str(number), "a") for number in range(4))
    finish(queue, 2)
    queue.pop()
    assert queue.prune() == 2
    assert [message.data for message in queue.messages()] == ["2", "3"]
    assert queue.size() == Sizes(ready=1, delayed=0, leased=1, dead=0, done=0, archived=0)
    assert queue.prune() == 0


def test_prune_leaves_what_was_done_lately(queue: Queue, clock: Clock) -> None:
    """The age counts from when it was done, not from when it was put."""
    queue.put_many([(b"1", "a"), (b"2", "a")])
    finish(queue, 1)
    clock.forward(10)
    finish(queue, 1)
    assert queue.prune(10.5) == 0
    assert queue.prune(10) == 1
    assert [message.data for message in queue.messages()] == [b"2"]


def test_archived_messages_are_kept(queue: Queue) -> None:
    """They are not pruned any more, and can be replayed."""
    queue.put_many([(b"1", "a"), (b"2", "a")])
    finish(queue, 1)
    assert queue.prune(archive=True) == 1
    assert (queue.size().archived, queue.size().done) == (1, 0)
    assert queue.prune() == 0
    assert queue.prune(archive=True) == 0
    assert queue.replay() == 1
    assert (queue.size().archived, queue.unfinished) == (0, 2)
    assert [message.data for message in queue.pop_many(9)] == [b"1", b"2"]


@pytest.mark.parametrize("older_than", [-1, "1", float("nan"), None])
def test_an_age_is_a_number_of_seconds(queue: Queue, older_than: Any) -> None:
    """Otherwise nothing is pruned."""
    queue.put(b"1")
    finish(queue)
    with pytest.raises(MessageError):
        queue.prune(older_than)
    assert queue.size().done == 1


def test_purge_deletes_every_message_and_keeps_the_subscriptions(queue: Queue, clock: Clock) -> None:
    """Whatever its status; numbers go on, and leases of the past are of no use."""
    queue.subscribe("all", "#")
    queue.put_many((str(number), "old.key") for number in range(3))
    queue.put(b"delayed", delay=1)
    leased = queue.pop()
    assert queue.pop("old.*") is not None
    assert queue.purge() == 4
    assert (queue.size(), queue.unfinished) == (Sizes(0, 0, 0, 0, 0, 0), 0)
    clock.forward(1000)
    assert leased is not None
    assert not queue.ack(leased)
    queue.put(b"new", "old.key")
    assert [message.data for message in queue.pop_many(9, subscription="all")] == [b"new"]
    message = queue.pop("old.*")
    assert message is not None
    assert message.sequence == 5


def test_replay_makes_ready_what_is_done(queue: Queue) -> None:
    """From a number on; what is not done stays as it is."""
    queue.put_many((str(number), "a") for number in range(1, 6))
    finish(queue, 3)
    leased = queue.pop()
    assert queue.replay(2) == 2
    assert queue.replay(2) == 0
    assert queue.replay(100) == 0
    assert [message.data for message in queue.pop_many(9)] == ["2", "3", "5"]
    assert leased is not None
    assert queue.ack(leased)


def test_replay_can_begin_at_a_time(queue: Queue, clock: Clock) -> None:
    """With the first message that was put then or later."""
    for number in range(3):
        queue.put(str(number), "a")
        clock.forward(10)
    finish(queue, 3)
    assert queue.replay(datetime.fromtimestamp(clock.now - 25, UTC)) == 2
    assert [message.data for message in queue.pop_many(9)] == ["1", "2"]
    assert queue.replay(datetime.fromtimestamp(clock.now, UTC)) == 0


def test_replay_is_for_one_subscription(queue: Queue) -> None:
    """It gets what matches its pattern, also what it never had; others get nothing."""
    queue.put_many([(b"1", "a"), (b"2", "b")])
    queue.subscribe("a", "a")
    queue.put_many([(b"3", "a"), (b"4", "b")])
    finish(queue)
    queue.ack_many(queue.pop_many(9, subscription="a"))
    assert queue.unfinished == 0
    assert queue.replay(subscription="a") == 2
    assert queue.unfinished == 2
    assert queue.pop() is None
    assert [message.data for message in queue.pop_many(9, subscription="a")] == [b"1", b"3"]
    with pytest.raises(StoreError, match="no-subscription"):
        queue.replay(subscription="nobody")


@pytest.mark.parametrize("start", [-1, "1", 1.0, None, True])
def test_replay_begins_at_a_number(queue: Queue, start: Any) -> None:
    """Otherwise nothing is replayed, and no subscription is made."""
    with pytest.raises(InputError, match="bad-setting"):
        queue.replay(start)
    if start is not None:
        with pytest.raises(InputError, match="bad-setting"):
            queue.subscribe("all", "#", start=start)
    assert queue.subscriptions() == []


def test_much_upkeep_is_done_in_pages(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it, however the pages fall."""
    monkeypatch.setattr(maintenance, "PAGE", 3)
    monkeypatch.setattr(subscription_changes, "PAGE", 3)
    for many in (2, 3, 4, 6, 7):
        queue.subscribe("all", "#")
        queue.put_many((str(number), "a") for number in range(many))
        finish(queue)
        queue.ack_many(queue.pop_many(99, subscription="all"))
        assert queue.replay() == many
        assert queue.replay(subscription="all") == many
        finish(queue)
        assert queue.unsubscribe("all") == many
        assert queue.prune(archive=True) == many
        assert queue.replay() == many
        finish(queue)
        assert queue.prune() == many
        assert queue.messages() == []


def room(path: Path) -> int:
    """The size of the file and of its log."""
    return sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*") if not each.name.endswith("-shm"))


def test_vacuum_gives_room_back(open_file: Open, path: Path) -> None:
    """The file is smaller, and what is in it is still there."""
    queue = open_file()
    queue.put_many((b"x" * 10_000, f"key.{number}") for number in range(200))
    finish(queue, 199)
    queue.prune()
    before = room(path)
    queue.vacuum()
    assert room(path) < before / 10
    message = queue.pop("key.*")
    assert message is not None
    assert message.routing_key == "key.199"


def test_vacuum_forgets_keys_that_no_message_has(open_file: Open) -> None:
    """Also in another process, which had them in memory."""
    one, two = open_file(), open_file()
    for queue in (one, two):
        queue.put(b"1", "gone")
        queue.put(b"2", "kept")
        assert queue.pop("gone") is not None
    for queue in (one, two):
        queue.purge()
    one.put(b"3", "kept")
    one.vacuum()
    with one.store.read() as connection:
        assert [row[0] for row in connection.execute("SELECT text FROM key")] == ["kept"]
    two.put(b"4", "gone")
    two.put(b"5", "kept")
    assert [message.data for message in one.pop_many(9, "gone")] == [b"4"]
    assert [message.data for message in two.pop_many(9, "kept")] == [b"3", b"5"]
    assert one.get(one.messages()[0].id) is not None


def test_size_is_of_one_subscription_or_of_all(queue: Queue) -> None:
    """The empty name is the queue itself; done and archived are whole messages."""
    queue.subscribe("a", "a")
    queue.put_many([(b"1", "a"), (b"2", "b")])
    assert queue.size() == Sizes(ready=3, delayed=0, leased=0, dead=0, done=0, archived=0)
    assert (queue.size("").ready, queue.size("a").ready) == (2, 1)
    with pytest.raises(StoreError, match="no-subscription"):
        queue.size("nobody")


def test_a_done_message_is_retried_for_all_that_had_it(queue: Queue) -> None:
    """For the queue itself and its subscriptions; not for one that came later, nor for one that has ended."""
    for name in ("first", "second", "ended"):
        queue.subscribe(name, "a.#")
    id = queue.put(b"1", "a.b")
    queue.subscribe("later", "a.#")
    names = (None, "first", "second", "ended")
    queue.ack_many([message for name in names for message in queue.pop_many(9, subscription=name)])
    assert queue.status(id) == "done"
    queue.unsubscribe("ended")
    queue.subscribe("ended", "a.#")
    for _ in range(2):
        assert queue.retry(id)
        assert queue.unfinished == 1
        found = {name: queue.pop_many(9, subscription=name) for name in (*names, "later")}
        assert {name: len(each) for name, each in found.items()} == {
            None: 1, "first": 1, "second": 1, "ended": 0, "later": 0,
        }  # fmt: skip
        assert queue.ack_many(message for each in found.values() for message in each) == 3
        assert (queue.status(id), queue.unfinished) == ("done", 0)


def test_a_message_that_went_to_nobody_or_whose_subscriptions_have_ended_is_not_retried(open_queue: Open) -> None:
    """False says that nothing will come of it."""
    queue = open_queue(main="never")
    queue.subscribe("all", "a.#")
    nobody, ended = queue.put(b"1", "b"), queue.put(b"2", "a")
    queue.ack_many(queue.pop_many(9, subscription="all"))
    queue.unsubscribe("all")
    assert (queue.status(nobody), queue.status(ended)) == ("done", "done")
    assert (queue.retry(nobody), queue.retry(ended)) == (False, False)
    assert queue.size().ready == 0


def test_what_a_subscription_without_a_pattern_never_had_is_not_replayed_for_it(queue: Queue) -> None:
    """Nobody but the broker knows what is for it."""
    queue.subscribe("inbox", None)
    queue.put(b"1", "a")
    assert queue.replay(subscription="inbox") == 0
