"""Putting: what was put is what comes out, once the call has returned."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pointsman.errors import MessageError, PointsmanError, StoreError, SubjectError
from pointsman.store.message import Draft
from pointsman.store.queue import Queue
from tests.store.clock import Clock
from tests.store.conftest import Open


def test_what_was_put_comes_out(queue: Queue, clock: Clock) -> None:
    """With all that was said about it."""
    id = queue.put(b"two laptops", "orders.eu", priority=2, expires=60, id="o-1", metadata={"region": "EU"})
    message = queue.pop()
    assert message is not None
    assert (
        (message.id, message.data, message.body) == (id, b"two laptops", b"two laptops") == ("o-1", *[message.body] * 2)
    )
    assert (message.routing_key, message.priority, message.metadata) == ("orders.eu", 2, {"region": "EU"})
    assert (message.put_at, message.expires_at) == (clock(), clock() + 60)
    assert (message.attempts, message.error, message.subscription) == (1, None, 0)


def test_a_stored_message_is_a_message_of_the_system(queue: Queue, clock: Clock) -> None:
    """Its subject is the key, and its time is when it was put."""
    queue.put("text", "orders.eu", id="o-1", metadata={"a": "b"})
    stored = queue.pop()
    assert stored is not None
    message = stored.message
    assert (str(message.subject), message.body, message.id) == ("orders.eu", b"text", "o-1")
    assert (message.metadata, message.time) == ({"a": "b"}, datetime.fromtimestamp(clock(), UTC))


def test_what_is_left_out_has_its_default(queue: Queue) -> None:
    """No key, the middle priority, at once and for ever, an id of the queue's own."""
    id = queue.put(b"")
    message = queue.pop()
    assert message is not None
    assert (message.id, message.routing_key, message.priority, message.metadata) == (id, "", 5, {})
    assert (message.expires_at, message.data) == (None, b"")


def test_messages_come_by_priority_and_then_in_the_order_of_putting(queue: Queue) -> None:
    """1 is the highest priority, 10 the lowest."""
    for number, priority in enumerate([5, 10, 1, 5, 1, 9]):
        queue.put(str(number), priority=priority)
    assert [message.data for message in queue.pop_many(9)] == ["2", "4", "0", "3", "5", "1"]


@pytest.mark.parametrize("priority", [0, 11, -1, 5.0, "5", None, True])
def test_a_priority_is_a_whole_number_from_1_to_10(queue: Queue, priority: Any) -> None:
    """Anything else is refused."""
    with pytest.raises(MessageError, match="priority"):
        queue.put(b"1", priority=priority)
    assert queue.messages() == []


def test_a_delayed_message_comes_at_its_time(queue: Queue, clock: Clock) -> None:
    """Not a moment before."""
    id = queue.put(b"1", delay=30)
    assert (queue.pop(), queue.status(id)) == (None, "delayed")
    clock.forward(29.999999)
    assert queue.pop() is None
    clock.forward(0.000001)
    message = queue.pop()
    assert message is not None
    assert message.id == id


def test_a_delayed_message_takes_its_place_by_priority_and_number(queue: Queue, clock: Clock) -> None:
    """As if it had always been there."""
    queue.put(b"delayed", delay=1)
    queue.put(b"later")
    queue.put(b"urgent", priority=1)
    clock.forward(1)
    assert [message.data for message in queue.pop_many(9)] == [b"urgent", b"delayed", b"later"]


def test_an_expired_message_becomes_a_dead_letter(queue: Queue, clock: Clock) -> None:
    """When somebody would have taken it; the next one is given instead."""
    queue.put(b"old", expires=10)
    queue.put(b"new", expires=11)
    clock.forward(10)
    message = queue.pop()
    assert message is not None
    assert message.data == b"new"
    (letter,) = queue.dead_letters()
    assert letter.message is not None
    assert (letter.message.data, letter.attempts) == (b"old", 0)
    assert "expired" in letter.reason


def test_a_message_taken_in_time_does_not_expire(queue: Queue, clock: Clock) -> None:
    """Expiry is about being taken; what was taken can be finished."""
    queue.put(b"1", expires=10)
    message = queue.pop(lease=100)
    clock.forward(50)
    assert message is not None
    assert queue.ack(message)
    assert queue.dead_letters() == []


@pytest.mark.parametrize("many", [1, 3, 1000, 2001])
def test_put_many_gives_the_ids_in_their_order(queue: Queue, many: int) -> None:
    """Also across the size of what is written at a time."""
    ids = queue.put_many((str(number), "a.b") for number in range(many))
    assert len(set(ids)) == many
    assert [message.id for message in queue.messages(limit=5000)] == ids
    assert [message.data for message in queue.pop_many(5000)] == [str(number) for number in range(many)]
    assert queue.unfinished == many


def test_put_many_takes_drafts_and_tuples_of_their_first_fields(queue: Queue) -> None:
    """Mixed in any way."""
    queue.put_many([("1",), (b"2", "a"), (b"3", ["a", "b"], 1), Draft("4", priority=10, id="four"), [b"5", "a"]])
    found = queue.pop_many(9)
    assert [(message.data, message.routing_key) for message in found] == [
        (b"3", "a.b"), ("1", ""), (b"2", "a"), (b"5", "a"), ("4", ""),
    ]  # fmt: skip


def test_put_many_of_nothing_is_nothing(queue: Queue) -> None:
    """And no mistake."""
    assert queue.put_many([]) == []
    assert queue.unfinished == 0


@pytest.mark.parametrize("wrong", [(b"x", "a", 99), (b"x", "a" * 256), (7, "a"), (b"x", "a", 5, -1)])
@pytest.mark.parametrize("before", [1, 1500])
def test_put_many_puts_all_or_none(queue: Queue, wrong: tuple[Any, ...], before: int) -> None:
    """One that is refused takes the others with it, also those that were written already."""
    queue.subscribe("all", "#")
    with pytest.raises(PointsmanError):
        queue.put_many([*[(b"good", "new.key")] * before, wrong])
    assert (queue.messages(), queue.unfinished, queue.pop(subscription="all")) == ([], 0, None)
    queue.put(b"good", "new.key")
    assert queue.pop("new.*") is not None


def test_an_iterable_that_breaks_puts_nothing(queue: Queue) -> None:
    """Its own error comes out."""

    def breaking() -> Any:
        yield b"1", "a"
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        queue.put_many(breaking())
    assert queue.messages() == []


def test_a_key_that_its_dialect_refuses_is_refused(open_queue: Open) -> None:
    """Keys are amqp's unless another dialect was chosen."""
    queue = open_queue()
    with pytest.raises(SubjectError):
        queue.put(b"1", "a" * 256)
    queue.put(b"1", "a..b")


@pytest.mark.parametrize(
    ("dialect", "key", "pattern", "refused"),
    [
        ("nats", "a.b", "a.>", "a..b"),
        ("mqtt", "a/b", "a/+", "a\0"),
        ("zato", "Orders.B", "orders.*", "a#"),
        ("amqp", "", "#", "a" * 256),
    ],
)
def test_keys_may_be_of_any_dialect(open_queue: Open, dialect: str, key: str, pattern: str, refused: str) -> None:
    """And patterns are of the same."""
    queue = open_queue(dialect=dialect)
    queue.put(b"1", key)
    with pytest.raises(SubjectError):
        queue.put(b"2", refused)
    message = queue.pop(pattern)
    assert message is not None
    assert message.routing_key == key


def test_a_message_is_in_the_file_when_put_returns(open_file: Open, path: Path) -> None:
    """Another who opens the file finds it, while the first still has it open."""
    id = open_file().put(b"1")
    with Queue(path) as other:
        found = other.get(id)
        assert found is not None
        assert found.data == b"1"


def test_ids_of_two_files_differ(tmp_path: Path) -> None:
    """So that messages can be moved between them."""
    with Queue(tmp_path / "a.db") as one, Queue(tmp_path / "b.db") as two:
        assert one.put(b"1") != two.put(b"1")


def test_a_queue_that_is_closed_says_so(queue: Queue) -> None:
    """To close it twice is no mistake."""
    queue.close()
    queue.close()
    for call in (lambda: queue.put(b"1"), queue.pop, queue.size, lambda: queue.get("x")):
        with pytest.raises(StoreError, match="store-closed"):
            call()


def test_what_is_in_a_file_stays_in_it(open_file: Open) -> None:
    """Messages, leases and subscriptions."""
    with open_file() as queue:
        queue.subscribe("all", "#")
        queue.put_many([(b"1", "a"), (b"2", "b")])
        taken = queue.pop()
    with open_file() as queue:
        assert taken is not None
        assert queue.ack(taken)
        assert [message.data for message in queue.pop_many(9)] == [b"2"]
        assert [message.data for message in queue.pop_many(9, subscription="all")] == [b"1", b"2"]


def test_the_tables_of_a_queue_in_memory_are_gone_with_it() -> None:
    """Each is one of its own."""
    with Queue(":memory:") as one, Queue(":memory:") as two:
        one.put(b"1")
        assert two.pop() is None
