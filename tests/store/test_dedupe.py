"""Deduplication: an id is put once within its window."""

from __future__ import annotations

import pytest

from pointsman.store.message import Draft
from pointsman.store.queue import Queue
from tests.store.clock import Clock
from tests.store.conftest import Open


def finish(queue: Queue) -> None:
    """Takes all there is and acknowledges it."""
    queue.ack_many(queue.pop_many(1000))


def test_a_message_of_a_known_id_is_not_put_again(queue: Queue) -> None:
    """The id is given as before, and the first message stays what it was."""
    assert queue.put(b"first", "a", id="x") == queue.put(b"second", "b", id="x") == "x"
    assert [message.data for message in queue.pop_many(9)] == [b"first"]
    assert queue.unfinished == 1


def test_put_says_whether_the_message_was_there_already(queue: Queue) -> None:
    """By the id that it gives; so do put_many and an outbox, in which an id is there twice, too."""
    ids = [queue.put(data=b"1", key="a", id="x"), queue.put(data=b"2", key="b", id="x"), queue.put(data=b"3", key="a")]
    ids += queue.put_many([Draft(b"4", id="y"), Draft(b"5", id="y"), (b"6", "a"), Draft(b"7", id="x")])
    with queue.transaction() as outbox:
        ids += [outbox.put(data=b"8", key="a", id="z"), outbox.put(data=b"9", key="a", id="z")]
    assert [id.duplicate for id in ids] == [False, True, False, False, True, False, True, False, True]
    assert [str(id) for id in ids if id.duplicate] == ["x", "y", "x", "z"]
    assert [message.data for message in queue.pop_many(9)] == [b"1", b"3", b"4", b"6", b"8"]


def test_a_message_is_known_whatever_became_of_it(queue: Queue, clock: Clock) -> None:
    """Leased, done, archived and even pruned."""
    queue.put(b"1", id="x")
    message = queue.pop()
    queue.put(b"2", id="x")
    assert message is not None
    queue.ack(message)
    queue.put(b"3", id="x")
    queue.prune(archive=True)
    queue.put(b"4", id="x")
    queue.retry("x")
    finish(queue)
    queue.prune()
    clock.forward(3599)
    queue.put(b"5", id="x")
    assert (queue.messages(), queue.unfinished) == ([], 0)


@pytest.mark.parametrize("pruned", [False, True])
def test_after_the_window_an_id_is_new(open_queue: Open, clock: Clock, pruned: bool) -> None:
    """To the moment."""
    queue = open_queue(dedupe=10)
    queue.put(b"1", id="x")
    finish(queue)
    if pruned:
        queue.prune()
    clock.forward(9.999)
    queue.put(b"2", id="x")
    assert queue.pop() is None
    clock.forward(0.001)
    queue.put(b"3", id="x")
    message = queue.pop()
    assert message is not None
    assert message.data == b"3"
    found = queue.get("x")
    assert found is not None
    assert found.data == b"3"


def test_the_last_of_an_id_counts_also_when_an_earlier_one_is_still_there(open_queue: Open, clock: Clock) -> None:
    """The later one was done and pruned; it is known all the same."""
    queue = open_queue(dedupe=10)
    queue.put(b"1", id="x")
    assert queue.pop(lease=1000) is not None
    clock.forward(11)
    queue.put(b"2", id="x")
    finish(queue)
    assert queue.prune() == 1
    queue.put(b"3", id="x")
    assert queue.pop() is None


def test_no_window_means_no_deduplication(open_queue: Open) -> None:
    """Two messages of one id are two messages."""
    queue = open_queue(dedupe=0)
    queue.put(b"1", id="x")
    queue.put(b"2", id="x")
    assert [message.data for message in queue.pop_many(9)] == [b"1", b"2"]


def test_ids_are_known_within_one_call(queue: Queue) -> None:
    """Of put_many, and after a call that was undone they are not."""
    assert queue.put_many([(b"1", "a", 5, None, None, "x"), (b"2", "a", 5, None, None, "x")]) == ["x", "x"]
    assert len(queue.pop_many(9)) == 1
    with pytest.raises(TypeError):
        queue.put_many([(b"1", "a", 5, None, None, "y"), (1, 2, 3, 4, 5, 6, 7, 8, 9)])
    queue.put(b"2", id="y")
    assert queue.status("y") == "ready"


def test_ids_are_known_to_all_who_have_the_file_open(open_file: Open) -> None:
    """And after it was closed."""
    one, two = open_file(), open_file()
    one.put(b"1", id="x")
    two.put(b"2", id="x")
    one.close()
    open_file().put(b"3", id="x")
    assert [message.data for message in two.pop_many(9)] == [b"1"]


def test_a_purge_forgets_ids(queue: Queue) -> None:
    """As it deletes everything."""
    queue.put(b"1", id="x")
    queue.purge()
    queue.put(b"2", id="x")
    assert queue.status("x") == "ready"


def test_a_duplicate_fits_into_a_full_queue(open_queue: Open) -> None:
    """Nothing is stored, so there is nothing that does not fit."""
    queue = open_queue(maxsize=1)
    queue.put(b"1", id="x")
    assert queue.put(b"1", id="x") == "x"
