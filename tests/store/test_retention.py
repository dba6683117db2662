"""What is done is kept for a while, and then goes by itself, with all that belonged to it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pointsman.errors import InputError
from pointsman.store import maintenance
from pointsman.store.queue import Queue
from tests.store.clock import Clock
from tests.store.conftest import Open

TABLES = ("key", "message", "finished", "addressed", "pending", "seen", "subscription", "dead")


def rows(queue: Queue, tables: Sequence[str] = TABLES) -> dict[str, int]:
    """How many rows each table has."""
    with queue.store.read() as connection:
        counts = {table: connection.execute(f"SELECT count(*) FROM {table}") for table in tables}  # noqa: S608, as these are ours
        return {table: next(iter(count))[0] for table, count in counts.items()}


def one(queue: Queue, number: int) -> None:
    """Puts a message under a key of its own, for the queue itself and a subscription that ends, and is done with it."""
    name = f"temporary {number}"
    queue.subscribe(name, "orders.#")
    queue.put(data=b"x", key=f"orders.{number}", id=f"id {number}")
    for subscription in (None, name):
        message = queue.pop(subscription=subscription)
        assert message is not None
        queue.ack(message)
    queue.unsubscribe(name)


def test_the_rows_of_a_long_run_stay_as_many(open_queue: Open, clock: Clock) -> None:
    """Keys, messages, ids, subscriptions and what is done: as many after ten days as after two."""
    queue = open_queue(retention=3600, dedupe=600)
    counts = []
    for hour in range(240):
        for number in range(5):
            one(queue, 5 * hour + number)
            clock.forward(720)
        counts.append(rows(queue))
    early, late = counts[48:96], counts[192:]
    for table in TABLES:
        assert max(each[table] for each in late) <= max(each[table] for each in early)
    assert max(late[-1].values()) < 30


def test_what_is_done_goes_after_its_time_and_nothing_else_does(open_queue: Open, clock: Clock) -> None:
    """Dead letters, what is archived, and what is not done stay."""
    queue = open_queue(retention=100, max_attempts=1)
    for key in ("archived", "done", "dead", "ready", "late"):
        queue.put(data=key, key=key)
    for key in ("archived", "done", "dead", "late"):
        message = queue.pop(key)
        assert message is not None
        if key == "dead":
            queue.nack(message)
        elif key != "late":
            queue.ack(message)
        if key == "archived":
            queue.prune(archive=True)
    clock.forward(100)
    assert queue.ack(message)
    assert [each.data for each in queue.messages()] == ["archived", "dead", "ready", "late"]
    assert queue.size()[3:] == (1, 1, 1)


def test_with_no_retention_everything_is_kept(open_queue: Open, clock: Clock) -> None:
    """Until somebody prunes it."""
    queue = open_queue(retention=None)
    for _ in range(3):
        queue.put(b"x", "a")
        queue.ack_many(queue.pop_many(1))
        clock.forward(10**8)
    assert queue.size().done == 3


def test_by_default_what_is_done_is_kept_for_a_week(open_queue: Open, clock: Clock) -> None:
    """A day before it can be retried, and then it is gone."""
    queue = open_queue()
    id = queue.put(b"x", "a")
    for days in (0, 6, 2):
        clock.forward(days * 86_400)
        queue.put(b"y", "b")
        queue.ack_many(queue.pop_many(9))
        assert (queue.status(id) == "done") == (days != 2)
    assert not queue.retry(id)


def test_much_that_is_old_goes_in_small_steps(open_queue: Open, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """No transaction takes long; each that acknowledges something does a page of it."""
    monkeypatch.setattr(maintenance, "PRUNED_PAGE", 10)
    queue = open_queue(retention=50)
    queue.put_many((b"x", f"a.{number}") for number in range(35))
    queue.ack_many(queue.pop_many(35))
    clock.forward(100)
    left = []
    for number in range(20):
        queue.put(b"y", "b")
        queue.ack_many(queue.pop_many(1))
        left.append(rows(queue)["message"] - number - 1)
    assert left[:5] == [25, 15, 5, 0, 0]
    assert rows(queue)["key"] == 1


def test_a_key_that_is_used_while_unused_ones_are_looked_for_stays(
    open_file: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when another process uses it, and remembers its number."""
    monkeypatch.setattr(maintenance, "PRUNED_PAGE", 2)
    queue, other = open_file(), open_file()
    for key in "abcdef":
        other.put(key, key)
    other.ack_many(other.pop_many(5))
    queue.store.write(lambda transaction: maintenance.delete(transaction, [(1,), (2,), (3,), (4,), (5,)], 0))
    sweep = maintenance.KeySweep()
    is_over = False
    for key in ("a", "b", "e", "a", "f"):
        is_over = queue.store.write(sweep.step)
        other.put(key, key)
    while not is_over:
        is_over = queue.store.write(sweep.step)
    assert [message.data for message in queue.pop_many(9)] == ["f", "a", "b", "e", "a", "f"]
    assert queue.size().dead == 0
    with queue.store.read() as connection:
        texts = {row[0] for row in connection.execute("SELECT text FROM key")}
    assert texts >= {"a", "b", "e", "f"}
    assert not texts & {"c"}


def test_prune_deletes_keys_that_no_message_has(queue: Queue) -> None:
    """Those of what is left stay."""
    queue.put_many((str(number), f"a.{number}") for number in range(5))
    queue.ack_many(queue.pop_many(3))
    assert queue.prune() == 3
    assert rows(queue)["key"] == 2
    assert [message.routing_key for message in queue.pop_many(9, "a.*")] == ["a.3", "a.4"]


def test_a_retention_is_a_time(open_queue: Open) -> None:
    """Or none."""
    for wrong in (-1, "1", True, float("nan"), 1e12):
        with pytest.raises(InputError, match="bad-setting"):
            open_queue(retention=wrong)


def test_the_number_of_a_subscription_is_never_given_again(open_file: Open) -> None:
    """What was for one that has ended never gets to another, in another process either."""
    one, other = open_file(), open_file()
    numbers = []
    for name in ("a", "a", "b"):
        numbers.append(one.subscribe(name, "#").id)
        other.put(b"x", "k")
        assert [each.name for each in other.subscriptions()] == [name]
        assert other.size(name).ready == 1
        other.unsubscribe(name)
        one.put(b"y", "k")
        assert one.subscriptions() == []
    assert len(set(numbers)) == 3
