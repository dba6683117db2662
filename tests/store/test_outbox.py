"""The outbox: a message and a row of the caller's are both there or neither."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from pointsman.errors import InputError, PointsmanError, StoreError
from pointsman.store.queue import Queue
from tests.store.conftest import Open

ORDERS = "CREATE TABLE orders (number INTEGER PRIMARY KEY)"


def orders(queue: Queue) -> list[int]:
    """The rows of the caller's table."""
    with queue.store.read() as connection:
        return [row[0] for row in connection.execute("SELECT number FROM orders ORDER BY number")]


def data(queue: Queue) -> list[bytes | str]:
    """What is in the queue."""
    return [message.data for message in queue.messages()]


@pytest.fixture
def shop(open_queue: Open) -> Queue:
    """A queue whose file has a table of the caller's."""
    queue = open_queue(maxsize=3, max_bytes=10)
    with queue.transaction() as outbox:
        outbox.execute(ORDERS)
    return queue


def test_a_transaction_commits_message_and_row_together(shop: Queue) -> None:
    """With all that put can be told; the id is known before the end."""
    with shop.transaction() as outbox:
        outbox.execute("INSERT INTO orders VALUES (?)", (7,))
        id = outbox.put(b"7", ["orders", "new"], priority=1, metadata={"a": "b"})
        assert list(outbox.execute("SELECT number FROM orders")) == [(7,)]
    message = shop.pop("orders.*")
    assert message is not None
    assert (message.id, message.data, message.priority, message.metadata) == (id, b"7", 1, {"a": "b"})
    assert orders(shop) == [7]


def test_a_transaction_that_raises_leaves_neither(shop: Queue) -> None:
    """Keys and ids included: the next message gets the number that was not used."""

    def order() -> None:
        with shop.transaction() as outbox:
            outbox.execute("INSERT INTO orders VALUES (7)")
            outbox.put(b"7", "never.seen.before", id="seven")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        order()
    assert (orders(shop), data(shop), shop.unfinished) == ([], [], 0)
    assert shop.put(b"8", "never.seen.before", id="seven") == "seven"
    assert data(shop) == [b"8"]
    assert shop.pop("never.#") is not None


@pytest.mark.parametrize("refused", [{"data": b"x" * 11}, {"data": b"x", "priority": 0}, {"data": b"x", "delay": -1}])
def test_a_refused_message_leaves_the_rest_of_the_transaction_alone(shop: Queue, refused: dict[str, object]) -> None:
    """The caller may catch the error and go on."""
    with shop.transaction() as outbox:
        outbox.put(b"1", "a")
        with pytest.raises(PointsmanError):
            outbox.put(key="b", **refused)  # type: ignore[arg-type]
        outbox.put(b"2", "b")
    assert data(shop) == [b"1", b"2"]
    assert shop.unfinished == 2


def test_a_message_that_does_not_fit_is_not_stored_if_the_caller_goes_on(shop: Queue) -> None:
    """queue-full is found when the message is written already; it must be undone."""
    with shop.transaction() as outbox:
        for number in range(3):
            outbox.put(b"%d" % number, "a")
        with pytest.raises(StoreError, match="queue-full"):
            outbox.put(b"too many", "fresh")
        outbox.execute("INSERT INTO orders VALUES (1)")
    assert (data(shop), orders(shop), shop.unfinished) == ([b"0", b"1", b"2"], [1], 3)
    message = shop.pop()
    assert message is not None
    assert shop.ack(message)
    shop.put(b"3", "fresh")
    assert shop.pop("fresh") is not None


def test_a_call_of_the_queue_within_its_own_transaction_is_refused(shop: Queue) -> None:
    """It would wait for itself; the transaction is not touched by it."""
    with shop.transaction() as outbox:
        outbox.put(b"1")
        with pytest.raises(StoreError, match="store-nested"):
            shop.put(b"2")
        outbox.put(b"3")
    assert data(shop) == [b"1", b"3"]

    def messages() -> Iterator[tuple[bytes, str]]:
        yield b"4", "a"
        shop.pop()

    with pytest.raises(StoreError, match="store-nested"):
        shop.put_many(messages())
    assert data(shop) == [b"1", b"3"]


def test_a_wrong_statement_of_the_caller_is_an_error_of_the_store(shop: Queue) -> None:
    """And undoes the transaction."""

    def order() -> None:
        with shop.transaction() as outbox:
            outbox.put(b"1")
            outbox.execute("INSERT INTO nowhere VALUES (1)")

    with pytest.raises(StoreError, match="store-failed"):
        order()
    assert data(shop) == []


def test_a_connection_of_the_callers_commits_both(open_file: Open, path: Path) -> None:
    """Nothing is seen before, everything after; the queue goes on with the next number."""
    queue = open_file()
    connection = apsw.Connection(str(path))
    connection.execute(ORDERS)
    outbox = queue.outbox(connection)
    with connection:
        connection.execute("INSERT INTO orders VALUES (1)")
        outbox.put(b"1", "a.b", id="one")
        outbox.put(b"again", "a.b", id="one")
        assert data(queue) == []
    connection.close()
    assert (data(queue), orders(queue), queue.unfinished) == ([b"1"], [1], 1)
    queue.put(b"2", "a.b")
    assert [message.data for message in queue.pop_many(9, "a.*")] == [b"1", b"2"]


def test_a_connection_that_is_rolled_back_leaves_neither(open_file: Open, path: Path) -> None:
    """What this process remembered of it is forgotten: keys, numbers and subscriptions."""
    queue = open_file()
    connection = apsw.Connection(str(path))
    outbox = queue.outbox(connection)

    def order() -> None:
        with connection:
            outbox.put(b"1", "only.here")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        order()
    connection.close()
    queue.put(b"2", "only.here")
    queue.put(b"3", "elsewhere")
    assert [message.data for message in queue.pop_many(9, "only.*")] == [b"2"]
    assert queue.unfinished == 2


def test_a_transaction_is_begun_if_none_is_open(open_file: Open, path: Path) -> None:
    """Otherwise others could write between what it reads and what it writes."""
    queue = open_file(busy_timeout=0.0)
    connection = apsw.Connection(str(path))
    queue.outbox(connection).put(b"1")
    assert connection.in_transaction
    with pytest.raises(StoreError, match="store-busy"):
        queue.put(b"2")
    connection.execute("COMMIT")
    connection.close()
    queue.put(b"2")
    assert data(queue) == [b"1", b"2"]


def test_a_refused_message_leaves_the_callers_transaction_as_it_was(open_file: Open, path: Path) -> None:
    """The caller may catch the error and commit: the numbers of the file stay right."""
    queue = open_file(maxsize=1)
    connection = apsw.Connection(str(path))
    outbox = queue.outbox(connection)
    with connection:
        outbox.put(b"1")
        with pytest.raises(StoreError, match="queue-full"):
            outbox.put(b"2", "new.key")
    connection.close()
    assert data(queue) == [b"1"]
    message = queue.pop()
    assert message is not None
    queue.ack(message)
    queue.put(b"3", "new.key")
    assert data(queue) == [b"1", b"3"]


def test_durable_subscriptions_get_what_an_outbox_puts(open_file: Open, path: Path) -> None:
    """Also one that another process made."""
    queue, other = open_file(), open_file()
    queue.put(b"before", "a")
    other.subscribe("all", "#")
    connection = apsw.Connection(str(path))
    with connection:
        queue.outbox(connection).put(b"1", "a")
    connection.close()
    message = queue.pop(subscription="all")
    assert message is not None
    assert message.data == b"1"


def test_waking_is_for_those_who_wait(open_file: Open, path: Path) -> None:
    """A consumer in another thread gets the message."""
    queue = open_file()
    got: list[bytes | str] = []
    thread = threading.Thread(target=lambda: got.extend(each.data for each in queue.consume(wait=1.5)))
    thread.start()
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(10_000)
    outbox = queue.outbox(connection)
    with connection:
        outbox.put(b"1")
    outbox.wake()
    connection.close()
    thread.join()
    assert got == [b"1"]


def test_a_connection_of_the_other_sqlite_is_refused(open_file: Open, path: Path) -> None:
    """Two copies of SQLite in one process do not see each other's locks, and messages would be lost."""
    queue = open_file()
    connection = sqlite3.connect(path)
    with pytest.raises(InputError, match="bad-connection"):
        queue.outbox(connection)
    connection.close()


def test_a_connection_of_another_file_is_refused(open_file: Open, tmp_path: Path) -> None:
    """The message would not be in this queue."""
    queue = open_file()
    other = Queue(tmp_path / "other.db")
    connection = apsw.Connection(str(tmp_path / "other.db"))
    with pytest.raises(InputError, match="bad-connection"):
        queue.outbox(connection)
    with pytest.raises(InputError, match="bad-connection"):
        queue.outbox(apsw.Connection(":memory:"))
    with Queue(":memory:") as in_memory, pytest.raises(InputError, match="bad-connection"):
        in_memory.outbox(connection)
    connection.close()
    other.close()
