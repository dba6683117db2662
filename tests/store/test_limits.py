"""Limits: what is too large or too much is refused, and the rest is not touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pointsman.errors import InputError, MessageError, PatternError, StoreError
from pointsman.store.message import LONGEST, LONGEST_ID, MAX_METADATA
from pointsman.store.queue import Queue
from pointsman.store.settle import Backoff
from tests.store.conftest import Open


def test_a_full_queue_refuses_the_next_message(open_queue: Open) -> None:
    """Exactly at its maximum; what is acknowledged makes room."""
    queue = open_queue(maxsize=2)
    queue.put(b"1")
    assert not queue.full
    queue.put(b"2", delay=10)
    assert queue.full
    with pytest.raises(StoreError, match="queue-full"):
        queue.put(b"3", "new.key")
    assert (len(queue.messages()), queue.unfinished) == (2, 2)
    message = queue.pop()
    assert queue.full
    assert message is not None
    queue.ack(message)
    assert not queue.full
    queue.put(b"3", "new.key")
    assert [each.data for each in queue.pop_many(9)] == [b"3"]


def test_put_many_fits_wholly_or_not_at_all(open_queue: Open) -> None:
    """However the messages are given."""
    queue = open_queue(maxsize=3)
    queue.put(b"0")
    with pytest.raises(StoreError, match="queue-full"):
        queue.put_many([(b"x", "a")] * 3)
    assert queue.unfinished == 1
    assert len(queue.put_many([(b"x", "a")] * 2)) == 2
    assert queue.full


def test_what_is_dead_or_done_does_not_fill_a_queue(open_queue: Open) -> None:
    """A message counts once, however many have a copy of it."""
    queue = open_queue(maxsize=1, max_attempts=1)
    queue.subscribe("all", "#")
    queue.put(b"1")
    for name in (None, "all"):
        assert queue.full
        message = queue.pop(subscription=name)
        assert message is not None
        queue.nack(message)
    assert not queue.full
    queue.put(b"2")
    assert queue.requeue() == 2
    assert (queue.unfinished, queue.full) == (2, True)


def test_a_queue_without_a_maximum_is_never_full(queue: Queue) -> None:
    """As far as the queue is concerned."""
    queue.put_many([(b"", "")] * 5000)
    assert not queue.full


@pytest.mark.parametrize("data", [b"12345678901", "12345678901", "é" * 6])
def test_data_over_the_limit_is_refused(open_queue: Open, data: bytes | str) -> None:
    """The limit is in bytes."""
    queue = open_queue(max_bytes=10)
    with pytest.raises(StoreError, match="too-large"):
        queue.put(data)
    with pytest.raises(StoreError, match="too-large"):
        queue.put_many([(b"1234567890", "a"), (data, "a")])
    assert queue.messages() == []
    queue.put(data[:5])


def test_data_over_the_default_limit_is_refused(queue: Queue) -> None:
    """16 MiB and a byte."""
    with pytest.raises(StoreError, match="too-large"):
        queue.put(bytes(16 * 1024 * 1024 + 1))
    queue.put(bytes(16 * 1024 * 1024))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"id": "x" * (LONGEST_ID + 1)}, MessageError),
        ({"id": ""}, MessageError),
        ({"metadata": {"a": "x" * MAX_METADATA}}, StoreError),
        ({"delay": LONGEST + 1}, MessageError),
        ({"expires": LONGEST + 1}, MessageError),
        ({"delay": -0.1}, MessageError),
    ],
)
def test_each_limit_has_its_error(queue: Queue, options: dict[str, Any], error: type[Exception]) -> None:
    """And at the limit there is none."""
    with pytest.raises(error):
        queue.put(b"1", **options)
    assert queue.messages() == []
    queue.put(b"1", id="x" * LONGEST_ID, metadata={"a": "x" * (MAX_METADATA - 8)}, delay=LONGEST, expires=LONGEST)


@pytest.mark.parametrize(
    "settings",
    [
        {"lease": 0}, {"lease": -1}, {"lease": "1"}, {"lease": float("nan")}, {"lease": True}, {"max_attempts": 0},
        {"max_attempts": 1.5}, {"maxsize": 0}, {"maxsize": "1"}, {"dedupe": -1}, {"max_bytes": -1},
        {"busy_timeout": -1}, {"durability": "off"}, {"main": "sometimes"},
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_is_refused(settings: dict[str, Any]) -> None:
    """Before anything is opened."""
    with pytest.raises(InputError, match="bad-setting"):
        Queue(":memory:", **settings)


def test_a_dialect_that_there_is_not_is_refused() -> None:
    """As everywhere."""
    with pytest.raises(PatternError):
        Queue(":memory:", dialect="klingon")


def test_durability_is_what_sqlite_is_told(open_file: Open) -> None:
    """Full syncs each commit, normal does not."""
    for durability, level in (("full", 2), ("normal", 1)):
        queue = open_file(durability=durability)
        assert queue.store.writer.connection.pragma("synchronous") == level
        assert queue.store.writer.connection.pragma("journal_mode") == "wal"


BIG = 99999999999999999999


@pytest.mark.parametrize(
    "settings",
    [
        {"max_attempts": BIG}, {"maxsize": BIG}, {"max_bytes": BIG}, {"lease": BIG}, {"dedupe": BIG},
        {"busy_timeout": 3_000_000}, {"backoff": Backoff(BIG, 2, 3)}, {"backoff": Backoff(1, 1e308, 1e308)},
        {"backoff": Backoff(float("nan"), 2, 3)}, {"backoff": None}, {"backoff": (1, 2, 3)}, {"main": "\0"},
    ],
    ids=str,
)  # fmt: skip
def test_a_setting_beyond_what_can_be_held_is_refused(settings: dict[str, Any]) -> None:
    """When the queue is opened, not when it is first used."""
    with pytest.raises(InputError, match="bad-setting"):
        Queue(":memory:", **settings)


@pytest.mark.parametrize("number", [BIG, 1 << 63, -1, -BIG, True, 1.5, "1"])
def test_a_number_beyond_64_bits_or_below_0_is_refused(queue: Queue, number: Any) -> None:
    """Wherever one is asked for."""
    calls: list[Callable[[], object]] = [
        lambda: queue.pop_many(number),
        lambda: queue.peek(count=number),
        lambda: queue.messages(number),
        lambda: queue.messages(0, number),
        lambda: queue.dead_letters(limit=number),
        lambda: queue.dead_letters(after=number),
        lambda: queue.replay(number),
        lambda: queue.subscribe("a", "#", start=number),
        lambda: queue.subscribe("b", "#", max_attempts=number),
    ]
    for call in calls:
        with pytest.raises(InputError, match="bad-setting"):
            call()
    assert queue.subscriptions() == []


@pytest.mark.parametrize("path", ["a\0b", "\ud800"])
def test_a_path_that_no_file_can_have_is_refused(path: str) -> None:
    """By the project's error."""
    with pytest.raises(StoreError, match="store-not-opened"):
        Queue(path)


def test_what_is_no_id_is_the_id_of_no_message(queue: Queue) -> None:
    """Whatever it is."""
    for id in (7, None, "\0", "\ud800", "x" * 300):
        assert (queue.get(id), queue.status(id), queue.retry(id)) == (None, None, False)  # type: ignore[arg-type]
        assert queue.requeue([id]) == 0  # type: ignore[list-item]
