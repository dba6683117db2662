"""The import: nothing is lost, what is changed is said, and it goes on where it was."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from litequeue import LiteQueue

from pointsman.errors import InputError, StoreError, SubjectError
from pointsman.patterns import Pattern
from pointsman.store.migrate.convert import Change
from pointsman.store.migrate.run import ImportReport, import_database
from pointsman.store.migrate.source import State, Status
from pointsman.store.queue import Queue
from tests.store.importing.databases import EARLIER, EXAMPLE, LATER, START, changes, litequeue, miniq, popped, traces


def test_the_example_of_miniq_is_taken_over(tmp_path: Path) -> None:
    """In its order, with its ids and times; a message without a topic has the empty key."""
    source = Path(shutil.copy(EXAMPLE, tmp_path / "miniq.db"))
    before = traces(tmp_path)
    with Queue(":memory:") as queue:
        report = import_database(queue, source)
        found = popped(queue)
    assert traces(tmp_path) == before
    assert report == ImportReport(
        str(source), "miniq", "messages", 7, 0, 7, {Status.READY: 7}, {State.READY: 7}, (), adds_up=True
    )
    assert [message.data for message in found][:3] == [
        "Hello, world!",
        "New order created",
        "Message 0 with topic orders.created",
    ]
    assert Counter(message.routing_key for message in found) == {"": 1, "orders.created": 4, "users.updated": 2}
    assert found[0].id == "01971679-fb48-7879-9396-d48731812334"
    assert found[0].put_at == 1_748_428_782.409
    assert all(message.is_whole for message in found)


def test_each_status_of_miniq_becomes_what_it_means(tmp_path: Path) -> None:
    """The numbers are 0 ready, 1 locked, 2 done, 3 failed, 4 archived; any other is a dead letter with its reason."""
    statuses = [0, 1, 2, 3, 4, 7]
    source = miniq(tmp_path / "miniq.db", ((f"id-{status}", "a.b", "x", status, 5) for status in statuses))
    with Queue(":memory:") as queue:
        report = import_database(queue, source)
        stands = {status: queue.status(f"id-{status}") for status in statuses}
        reasons = [letter.reason for letter in queue.dead_letters()]
        sizes = queue.size()
    assert stands == {0: "ready", 1: "ready", 2: "done", 3: "dead", 4: "archived", 7: "dead"}
    assert reasons == ["failed in MiniQ", "the status 7 has no meaning in MiniQ"]
    assert (sizes.ready, sizes.done, sizes.dead, sizes.archived) == (2, 1, 2, 1)
    assert report.states == {State.READY: 2, State.DONE: 1, State.DEAD: 2, State.ARCHIVED: 1}
    assert changes(report) == {Change.LOCKED: (1, ("'id-1'",)), Change.STATUS: (1, ("7",))}
    assert report.adds_up


def test_litequeue_is_taken_over(tmp_path: Path) -> None:
    """A file that litequeue itself made, with a message of each status; its times are nanoseconds."""
    path = tmp_path / "lite.db"
    queue = LiteQueue(path)
    put = [queue.put(f"message {number}") for number in range(5)]
    _, done, failed = (queue.pop() for _ in range(3))
    queue.done(done.message_id)
    queue.mark_failed(failed.message_id)
    queue.close()
    with Queue(":memory:") as taking:
        report = import_database(taking, path, key="jobs.old")
        stands = [taking.status(message.message_id) for message in put]
        found = popped(taking)
        reasons = [letter.reason for letter in taking.dead_letters()]
    assert report.kind == "litequeue"
    assert report.table == "Queue"
    assert stands == ["ready", "done", "dead", "ready", "ready"]
    assert reasons == ["failed in litequeue"]
    assert [message.data for message in found] == ["message 0", "message 3", "message 4"]
    assert {message.routing_key for message in found} == {"jobs.old"}
    assert [message.time for message in found] == [put[number].in_time // 1000 for number in (0, 3, 4)]
    assert report.adds_up


def test_priorities_are_kept_and_1_comes_first(tmp_path: Path) -> None:
    """As in MiniQ; one outside of 1 to 10 gets the nearest, and none at all the middle."""
    given_priorities = [5, 10, 1, 0, 99, -3, None]
    source = miniq(tmp_path / "miniq.db", ((str(n), "a", "x", 0, each) for n, each in enumerate(given_priorities)))
    with Queue(":memory:") as queue:
        report = import_database(queue, source)
        found = [(message.priority, message.id) for message in popped(queue)]
    assert found == [(1, "2"), (1, "3"), (1, "5"), (5, "0"), (5, "6"), (10, "1"), (10, "4")]
    assert changes(report) == {Change.PRIORITY: (3, ("0", "99", "-3"))}


def test_a_topic_that_the_dialect_refuses_is_kept_as_a_dead_letter(tmp_path: Path) -> None:
    """Under the empty key, with the topic as metadata; one that was done stays done."""
    long, odd = "x" * 300, b"caf\xe9"
    source = miniq(tmp_path / "miniq.db", [("1", long, "first", 0, 5), ("2", long, "x", 2, 5), ("3", "a", "x", 0, 5)])
    with closing(sqlite3.connect(source)) as connection, connection:
        connection.execute("UPDATE messages SET topic = CAST(? AS TEXT) WHERE message_id = '3'", (odd,))
    with Queue(":memory:") as queue:
        report = import_database(queue, source)
        letters = queue.dead_letters()
        done = queue.status("2")
        assert queue.requeue() == 2
        assert [message.id for message in popped(queue, pattern="")] == ["1", "3"]
    assert done == "done"
    first, second = (letter.message for letter in letters)
    assert first is not None
    assert second is not None
    assert (first.routing_key, first.data, first.metadata) == ("", "first", {"topic": long})
    assert letters[0].reason == (
        f"the topic '{'x' * 100}…' is refused: in amqp, a subject has at most 255 bytes; this one has 300"
    )
    assert second.metadata == {"topic": "caf\\udce9"}
    assert changes(report)[Change.TOPIC] == (3, (f"'{'x' * 100}…'", r"'caf\udce9'"))
    assert report.states == {State.DEAD: 2, State.DONE: 1}
    assert report.adds_up


def test_a_dialect_without_an_empty_key_has_one_for_messages_without_a_topic(tmp_path: Path) -> None:
    """They are not refused for that."""
    source = miniq(tmp_path / "miniq.db", [("1", None, "x", 0, 5), ("2", "", "x", 0, 5), ("3", "a..b", "x", 0, 5)])
    with Queue(":memory:", dialect="nats") as queue:
        import_database(queue, source)
        assert [message.routing_key for message in popped(queue)] == ["no-topic", "no-topic"]
        assert len(queue.dead_letters()) == 1
    with Queue(":memory:", dialect="nats") as queue, pytest.raises(SubjectError, match="empty-token"):
        import_database(queue, source, key="a..b")


def test_ids_that_cannot_be_are_replaced_and_kept(tmp_path: Path) -> None:
    """One that is there twice, an empty one, one that is too long: no message is taken for another."""
    rows = [("same", "a", "1", 0, 5), ("same", "a", "2", 0, 5), ("", "a", "3", 0, 5), ("i" * 300, "a", "4", 0, 5)]
    with Queue(":memory:") as queue:
        report = import_database(queue, miniq(tmp_path / "miniq.db", rows))
        found = popped(queue)
    assert [message.data for message in found] == ["1", "2", "3", "4"]
    assert found[0].id == "same"
    assert len({message.id for message in found}) == 4
    assert [message.metadata for message in found] == [{}, {"id": "same"}, {"id": ""}, {"id": "i" * 300}]
    assert changes(report)[Change.REPEATED] == (1, ("'same'",))
    assert changes(report)[Change.ID] == (2, ("''", f"'{'i' * 100}…'"))


def test_data_is_what_it_was(tmp_path: Path) -> None:
    """Text, bytes, what is no UTF-8, NUL, nothing, and more than the queue takes in a put."""
    path = tmp_path / "lite.db"
    litequeue(path, 0)
    large = "x" * 2000
    stored: list[Any] = ["plain", b"\xff\0", "é\0'\"%_", "", b"", large]
    with closing(sqlite3.connect(path)) as connection, connection:
        for number, data in enumerate(stored):
            connection.execute("INSERT INTO Queue VALUES (?, ?, 0, 1, NULL, NULL)", (data, str(number)))
        connection.execute("INSERT INTO Queue VALUES (CAST(x'FF41' AS TEXT), 'odd', 0, 1, NULL, NULL)")
    with Queue(":memory:", max_bytes=1000, maxsize=1) as queue:
        assert import_database(queue, path).read == 7
        assert [message.data for message in popped(queue)] == [*stored, b"\xffA"]


def test_a_database_in_utf_16_is_read(tmp_path: Path) -> None:
    """SQLite has it as a choice."""
    source = miniq(tmp_path / "miniq.db", [("né", "a.é", "dåta", 0, 5)], encoding="UTF-16le")
    with Queue(":memory:") as queue:
        import_database(queue, source)
        (found,) = popped(queue)
    assert (found.id, found.routing_key, found.data) == ("né", "a.é", "dåta")


def test_a_time_that_is_none_is_the_time_of_the_import(tmp_path: Path) -> None:
    """And is reported."""
    source = miniq(tmp_path / "miniq.db", [("1", "a", "x", 0, 5), ("2", "a", "x", 0, 5)])
    with closing(sqlite3.connect(source)) as connection, connection:
        connection.execute("UPDATE messages SET in_time = -5 WHERE message_id = '1'")
    with Queue(":memory:", clock=lambda: 2e9) as queue:
        report = import_database(queue, source)
        assert [message.put_at for message in popped(queue)] == [2e9, START / 1000 + 1]
    assert changes(report) == {Change.TIME: (1, ("'1'",))}


def test_what_was_done_long_ago_is_pruned_as_such(tmp_path: Path) -> None:
    """The time when it was done is taken over."""
    source = miniq(tmp_path / "miniq.db", [("old", "a", "x", 2, 5), ("new", "a", "x", 2, 5)])
    with closing(sqlite3.connect(source)) as connection, connection:
        connection.execute("UPDATE messages SET done_time = ? WHERE message_id = 'old'", (START,))
        connection.execute("UPDATE messages SET done_time = ? WHERE message_id = 'new'", (START + 50_000,))
    with Queue(":memory:", clock=lambda: START / 1000 + 60) as queue:
        import_database(queue, source)
        assert queue.prune(older_than=30) == 1
        assert (queue.status("old"), queue.status("new")) == (None, "done")


def test_durable_subscriptions_get_what_is_ready() -> None:
    """As if it was put now; the translation of an old pattern in the zato dialect is one, too."""
    with Queue(":memory:") as queue:
        queue.subscribe("orders", "orders.*.#")
        queue.subscribe("loose", Pattern("ORD**", "zato"))
        import_database(queue, EXAMPLE)
        for name in ("orders", "loose"):
            assert [message.routing_key for message in popped(queue, subscription=name)] == ["orders.created"] * 4
        main = popped(queue)
        assert len(main) == 7
        queue.ack_many(main)
        assert (queue.size().done, queue.unfinished) == (3, 4)


def test_nothing_is_done_because_nobody_wants_it() -> None:
    """In a queue that keeps nothing for itself, what no subscription gets is kept nevertheless."""
    with Queue(":memory:", main="never") as queue:
        queue.subscribe("orders", "orders.#")
        import_database(queue, EXAMPLE)
        assert (queue.size("orders").ready, queue.size("").ready) == (4, 3)


def test_several_tables_ask_which(tmp_path: Path) -> None:
    """Any name is a name; each table is imported for itself."""
    source = miniq(tmp_path / "miniq.db", [("1", "a", "x", 0, 5)], table='the "main" [queue]; DROP')
    with closing(sqlite3.connect(source)) as connection, connection:
        connection.execute(f"CREATE TABLE Second {EARLIER}")
        connection.execute("INSERT INTO Second VALUES ('1', 'b', 'y', 0, 1, NULL, NULL)")
        connection.execute(f"CREATE TABLE without {LATER[:-1]}, PRIMARY KEY (message_id)) WITHOUT ROWID")
    with Queue(":memory:") as queue:
        with pytest.raises(StoreError, match="source-tables") as caught:
            import_database(queue, source)
        assert "'Second', 'the \"main\" [queue]; DROP'" in str(caught.value)
        with pytest.raises(StoreError, match="source-not-queue"):
            import_database(queue, source, table="without")
        assert import_database(queue, source, table="second").read == 1
        assert import_database(queue, source, table='the "main" [queue]; DROP').read == 1
        assert [message.routing_key for message in popped(queue)] == ["b", "a"]


def test_an_unknown_kind_is_refused() -> None:
    """Before anything is taken over."""
    with Queue(":memory:") as queue, pytest.raises(InputError, match="there is no kind 'kafka'"):
        import_database(queue, EXAMPLE, kind="kafka")
