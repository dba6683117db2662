"""Dead letters: what was given up, why, and how it comes back."""

from __future__ import annotations

import pytest

from pointsman.errors import StoreError
from pointsman.store.queue import Queue
from tests.store.clock import Clock
from tests.store.conftest import Open


def fail(queue: Queue, subscription: str | None = None, error: str | None = None) -> None:
    """Pops all there is and gives it back at once, for the last time."""
    for message in queue.pop_many(1000, subscription=subscription):
        queue.nack(message, delay=0, error=error)


@pytest.fixture
def queue(open_queue: Open) -> Queue:
    """A queue where one failure is the last."""
    return open_queue(max_attempts=1)


def test_after_the_last_attempt_a_message_is_dead_with_its_reason(open_queue: Open, clock: Clock) -> None:
    """How often it was tried, the last error, and when it was given up."""
    queue = open_queue(max_attempts=3)
    id = queue.put(b"1", "a.b")
    for attempt in range(3):
        message = queue.pop()
        assert message is not None
        queue.nack(message, delay=0, error=f"failure {attempt}")
        clock.forward(1)
    assert queue.pop() is None
    (letter,) = queue.dead_letters()
    assert letter.message is not None
    assert (letter.message.id, letter.message.data, letter.message.routing_key) == (id, b"1", "a.b")
    assert (letter.subscription, letter.route, letter.attempts, letter.last_error) == ("", None, 3, "failure 2")
    assert (letter.reason, letter.died_at) == ("it failed 3 times", clock() - 1)
    assert (queue.status(id), queue.unfinished, queue.size().dead) == ("dead", 0, 1)


def test_an_error_that_is_not_told_leaves_the_one_before(open_queue: Open) -> None:
    """It is the last that is known."""
    queue = open_queue(max_attempts=2)
    queue.put(b"1")
    for error in ("the first", None):
        message = queue.pop()
        assert message is not None
        queue.nack(message, delay=0, error=error)
    assert queue.dead_letters()[0].last_error == "the first"


def test_a_long_error_is_cut(queue: Queue) -> None:
    """What is kept is its beginning, with what UTF-8 cannot write made readable."""
    queue.put(b"1")
    fail(queue, error="\ud800" + "x" * 100_000)
    error = queue.dead_letters()[0].last_error
    assert error is not None
    assert error.startswith("\\ud800xxx")
    assert len(error) < 3000


def test_a_dead_letter_belongs_to_its_subscription(queue: Queue) -> None:
    """The copies of others go on."""
    queue.subscribe("bad", "#")
    queue.subscribe("good", "#")
    id = queue.put(b"1")
    fail(queue, "bad")
    assert [letter.subscription for letter in queue.dead_letters()] == ["bad"]
    assert (queue.dead_letters(""), len(queue.dead_letters("bad"))) == ([], 1)
    assert (queue.status(id), queue.unfinished) == ("ready", 1)
    queue.ack_many([*queue.pop_many(1), *queue.pop_many(1, subscription="good")])
    assert (queue.status(id), queue.unfinished, queue.size().done) == ("dead", 0, 0)
    with pytest.raises(StoreError, match="no-subscription"):
        queue.dead_letters("nobody")


def test_dead_letters_are_listed_in_pages(queue: Queue) -> None:
    """From the number after the last one of the page before."""
    queue.put_many((str(number), "a") for number in range(5))
    fail(queue)
    first = queue.dead_letters(limit=2)
    second = queue.dead_letters(limit=2, after=first[-1].sequence)
    third = queue.dead_letters(limit=2, after=second[-1].sequence)
    assert [letter.sequence for letter in [*first, *second, *third]] == [1, 2, 3, 4, 5]


def test_a_page_does_not_part_the_letters_of_one_message(queue: Queue) -> None:
    """The next page goes on after it, so it has all of them."""
    names = ["one", "two", "three"]
    for name in names:
        queue.subscribe(name, "#")
    queue.put_many([(b"1", "a"), (b"2", "a")])
    for name in names:
        fail(queue, name)
    found, after = [], 0
    while page := queue.dead_letters(limit=2, after=after):
        found += [(letter.sequence, letter.subscription) for letter in page]
        after = page[-1].sequence
    assert found == [(number, name) for number in (1, 2) for name in names]


def test_dead_letters_are_requeued_with_all_their_attempts(open_queue: Open) -> None:
    """At their old place; the last error is still told."""
    queue = open_queue(max_attempts=2)
    queue.put_many([(b"1", "a"), (b"2", "a")])
    for _ in range(2):
        message = queue.pop()
        assert message is not None
        queue.nack(message, delay=0, error="oh")
    assert queue.requeue() == 1
    assert (queue.dead_letters(), queue.unfinished) == ([], 2)
    message = queue.pop()
    assert message is not None
    assert (message.data, message.attempts, message.error) == (b"1", 1, "oh")


def test_some_dead_letters_are_requeued(queue: Queue) -> None:
    """Those of these messages, or of one subscription, or both."""
    queue.subscribe("all", "#")
    ids = queue.put_many((str(number), "a") for number in range(4))
    fail(queue)
    fail(queue, "all")
    assert queue.requeue(ids[:1], subscription="all") == 1
    assert queue.requeue(ids[:2]) == 3
    assert queue.requeue(["nothing"]) == 0
    assert queue.requeue(subscription="") == 2
    assert queue.size("all")[:4] == (2, 0, 0, 2)
    assert queue.size("")[:4] == (4, 0, 0, 0)
    assert queue.requeue() == 2
    with pytest.raises(StoreError, match="no-subscription"):
        queue.requeue(subscription="nobody")


def test_a_dead_letter_that_is_requeued_and_done_is_done(queue: Queue) -> None:
    """The message is finished when its last copy is."""
    queue.subscribe("all", "#")
    id = queue.put(b"1")
    fail(queue)
    fail(queue, "all")
    assert queue.unfinished == 0
    queue.requeue(subscription="all")
    assert queue.unfinished == 1
    queue.ack_many(queue.pop_many(1, subscription="all"))
    assert (queue.unfinished, queue.status(id)) == (0, "dead")
    queue.requeue()
    queue.ack_many(queue.pop_many(1))
    assert (queue.unfinished, queue.status(id), queue.size().done) == (0, "done", 1)


def test_a_message_is_retried_at_once(queue: Queue, clock: Clock) -> None:
    """One that is delayed, dead, done or archived; not one that is ready, leased or not there."""
    delayed = queue.put(b"1", delay=1000)
    assert queue.retry(delayed)
    assert not queue.retry(delayed)
    message = queue.pop()
    assert message is not None
    assert not queue.retry(delayed)
    queue.nack(message)
    assert queue.retry(delayed)
    queue.ack_many(queue.pop_many(1))
    assert (queue.status(delayed), queue.unfinished) == ("done", 0)
    assert queue.retry(delayed)
    assert queue.unfinished == 1
    queue.ack_many(queue.pop_many(1))
    queue.prune(archive=True)
    assert queue.retry(delayed)
    assert (queue.status(delayed), queue.size().archived) == ("ready", 0)
    assert not queue.retry("nothing")
    clock.forward(2000)
    assert len(queue.pop_many(9)) == 1


def test_a_message_that_is_damaged_is_set_aside(open_file: Open) -> None:
    """It becomes a dead letter, and the next one is given: nothing stops."""
    queue = open_file()
    queue.put_many([(b"good", "a"), (b"bad", "a"), (b"fine", "a")])
    with queue.store.writer.alone() as connection:
        connection.execute("UPDATE message SET body = x'00' WHERE sequence = 2")
    assert [message.data for message in queue.pop_many(3)] == [b"good", b"fine"]
    (letter,) = queue.dead_letters()
    assert (letter.sequence, "checksum" in letter.reason) == (2, True)


def test_a_delivery_whose_message_is_gone_is_set_aside(open_file: Open) -> None:
    """There is nothing to show but that it was there."""
    queue = open_file()
    queue.put_many([(b"1", "a"), (b"2", "a")])
    with queue.store.writer.alone() as connection:
        connection.execute("DELETE FROM message WHERE sequence = 1")
    assert [message.data for message in queue.pop_many(2)] == [b"2"]
    (letter,) = queue.dead_letters()
    assert (letter.message, letter.sequence) == (None, 1)
