"""Durable subscriptions: a copy for each, written when the message is put."""

from __future__ import annotations

import pytest

from pointsman.errors import InputError, PatternError, StoreError, SubjectError
from pointsman.patterns.pattern import Pattern
from pointsman.store.queue import Queue
from tests.store.conftest import Open


def data(queue: Queue, name: str | None = None) -> list[bytes | str]:
    """What can be popped, popped."""
    return [message.data for message in queue.pop_many(1000, subscription=name)]


def test_each_subscription_gets_a_copy_of_what_matches(queue: Queue) -> None:
    """And the queue itself gets all; who takes one takes it from nobody else."""
    queue.subscribe("eu", "orders.eu.#")
    queue.subscribe("laptops", "orders.*.laptops")
    queue.put_many([(b"1", "orders.eu.laptops"), (b"2", "orders.us.laptops"), (b"3", "orders.eu.phones")])
    assert data(queue, "eu") == [b"1", b"3"]
    assert data(queue, "laptops") == [b"1", b"2"]
    assert data(queue) == [b"1", b"2", b"3"]
    assert queue.size() == (0, 0, 7, 0, 0, 0)


def test_what_was_put_before_is_not_for_a_new_subscription(queue: Queue) -> None:
    """Unless it asks for it, from a number on."""
    queue.put_many([(b"1", "a"), (b"2", "b"), (b"3", "a")])
    queue.subscribe("new", "a")
    queue.subscribe("from the first", "a", start=1)
    queue.subscribe("from the third", "a", start=3)
    queue.put(b"4", "a")
    assert data(queue, "new") == [b"4"]
    assert data(queue, "from the first") == [b"1", b"3", b"4"]
    assert data(queue, "from the third") == [b"3", b"4"]
    assert queue.unfinished == 4


def test_a_late_subscription_gets_what_is_done(queue: Queue) -> None:
    """As long as it is stored; the messages are unfinished again."""
    queue.put_many([(b"1", "a"), (b"2", "a")])
    queue.ack_many(queue.pop_many(9))
    assert queue.unfinished == 0
    queue.subscribe("late", "#", start=1)
    assert (queue.unfinished, queue.size().done) == (2, 0)
    assert data(queue, "late") == [b"1", b"2"]
    assert data(queue) == []


def test_a_late_subscription_gets_what_is_a_dead_letter_of_another(open_queue: Open) -> None:
    """Each counts for itself; the message is finished when both are."""
    queue = open_queue(max_attempts=1)
    id = queue.put(b"1", "a")
    message = queue.pop()
    assert message is not None
    queue.nack(message)
    assert queue.unfinished == 0
    queue.subscribe("late", "#", start=1)
    assert queue.unfinished == 1
    copy = queue.pop(subscription="late")
    assert copy is not None
    queue.ack(copy)
    assert (queue.unfinished, queue.status(id)) == (0, "dead")
    assert queue.requeue() == 1
    message = queue.pop()
    assert message is not None
    queue.ack(message)
    assert (queue.unfinished, queue.status(id)) == (0, "done")


def test_to_subscribe_again_changes_nothing(queue: Queue) -> None:
    """Least of all does what was acknowledged come again."""
    made = queue.subscribe("all", "#", start=1)
    queue.put(b"1")
    message = queue.pop(subscription="all")
    assert message is not None
    queue.ack(message)
    assert queue.subscribe("all", "#", start=1) == made
    assert queue.subscribe("all", Pattern("#", "amqp")) == made
    assert data(queue, "all") == []
    assert queue.subscriptions() == [made]


def test_another_pattern_under_the_same_name_is_refused(queue: Queue) -> None:
    """The old one stays."""
    queue.subscribe("all", "#")
    with pytest.raises(StoreError, match="subscription-differs"):
        queue.subscribe("all", "a.#")
    with pytest.raises(PatternError):
        queue.subscribe("other", "a" * 300)
    assert [(each.name, each.pattern) for each in queue.subscriptions()] == [("all", "#")]


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 256, "\ud800"])
def test_a_name_is_a_text_that_can_be_stored(queue: Queue, name: str) -> None:
    """The empty one is the queue itself."""
    with pytest.raises(InputError, match="bad-setting"):
        queue.subscribe(name, "#")
    assert queue.subscriptions() == []


@pytest.mark.parametrize(
    ("main", "of_all", "of_a", "done"),
    [("always", [b"1", b"2"], [b"1"], 0), ("unclaimed", [b"2"], [b"1"], 0), ("never", [], [b"1"], 1)],
)
def test_main_says_what_the_queue_itself_keeps(
    open_queue: Open, main: str, of_all: list[bytes], of_a: list[bytes], done: int
) -> None:
    """Everything, what no subscription gets, or nothing; a message for nobody is done at once."""
    queue = open_queue(main=main)
    queue.subscribe("a", "a.#")
    queue.put_many([(b"1", "a.b"), (b"2", "b.a")])
    assert queue.size().done == done
    assert data(queue) == of_all
    assert data(queue, "a") == of_a


def test_a_subscription_has_its_own_number_of_attempts(open_queue: Open) -> None:
    """Others have the queue's."""
    queue = open_queue(max_attempts=3)
    queue.subscribe("once", "#", max_attempts=1)
    queue.put(b"1")
    for name in (None, "once"):
        message = queue.pop(subscription=name)
        assert message is not None
        queue.nack(message, delay=0)
    assert (queue.size("").ready, queue.size("once").dead) == (1, 1)


def test_subscriptions_of_another_process_are_seen(open_file: Open) -> None:
    """By the next put, and by the next pop; so is their end."""
    one, two = open_file(), open_file()
    one.put(b"0", "a")
    two.put(b"0", "a")
    one.subscribe("all", "a")
    two.put(b"1", "a")
    assert data(two, "all") == [b"1"]
    one.unsubscribe("all")
    two.put(b"2", "a")
    with pytest.raises(StoreError, match="no-subscription"):
        two.pop(subscription="all")
    one.subscribe("all", "b")
    two.put_many([(b"3", "a"), (b"4", "b")])
    assert data(one, "all") == [b"4"]


def test_a_subscription_may_be_of_another_dialect(queue: Queue) -> None:
    """Its pattern judges the keys of the queue; one that is no key in its dialect does not match."""
    patterns = [Pattern("a/#", "mqtt"), Pattern("A.*", "zato"), Pattern("a.>", "nats"), Pattern("#", "amqp")]
    for pattern in patterns:
        queue.subscribe(pattern.dialect.name, pattern)
    keys = ["a/b", "a.B", "a..b", "a.#", "", "a b", "\0", "zato.a", "$a/b"]
    queue.put_many((key, key) for key in keys)
    for pattern in patterns:
        expected = [key for key in keys if matches(pattern, key)]
        assert data(queue, pattern.dialect.name) == expected
        queue.unsubscribe(pattern.dialect.name)
        assert [message.data for message in queue.peek(pattern, count=99)] == expected
        popped = queue.pop_many(99, pattern)
        assert [message.data for message in popped] == expected
        for message in popped:
            queue.nack(message, delay=0)


def matches(pattern: Pattern, key: str) -> bool:
    """Whether it does."""
    try:
        return pattern.matches(key)
    except SubjectError:
        return False


def test_a_subscription_without_a_pattern_gets_nothing_by_itself(queue: Queue) -> None:
    """Only what is sent to it by name."""
    queue.subscribe("inbox", None)
    queue.put(b"1", "inbox")
    assert data(queue, "inbox") == []
    assert data(queue) == [b"1"]


def test_many_subscriptions_get_what_pattern_says(queue: Queue) -> None:
    """A hundred patterns over some keys."""
    keys = [f"{a}.{b}.{c}" for a in "ab" for b in "xy" for c in "12"]
    patterns = {f"{a}.{b}.{c}" for a in "ab*#" for b in "xy*#" for c in "12*#"}
    for pattern in sorted(patterns):
        queue.subscribe(pattern, pattern)
    queue.put_many((key, key) for key in keys)
    for pattern in sorted(patterns):
        assert data(queue, pattern) == [key for key in keys if Pattern(pattern, "amqp").matches(key)]
