"""Hostile keys, patterns, ids, metadata and data: unchanged, or refused with nothing left behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pointsman.errors import PointsmanError, SubjectError
from pointsman.patterns.pattern import Pattern
from pointsman.store.message import Draft
from pointsman.store.queue import Queue

DIALECTS = ("amqp", "nats", "zato", "mqtt")
TEXTS = (
    "", "'", "''; DROP TABLE message; --", '"', "%", "_", "a%b", "\\", "\0", "a\0b", "a.\0.b", "\ud800", "a\udfffb",
    "\u202eabc", "שלום.עולם", "🚂.🛤️", "e\u0301", "\ufeff", "\uffff", "\U0010ffff", " ", "\n", "a" * 255, "a" * 256,
    "é" * 128, "#", "*", ".", "..", "a..b", ">", "+", "/", "$SYS", "zato", "a" * 65_536, "1", "NULL",
)  # fmt: skip
texts = st.one_of(st.sampled_from(TEXTS), st.text(max_size=40), st.text(st.characters(), max_size=20))
"""Any text, lone surrogates included."""
anything = st.one_of(texts, st.binary(), st.integers(), st.none(), st.floats(), st.booleans(), st.lists(st.integers()))


hashable = anything.filter(lambda each: not isinstance(each, list))
mappings = st.dictionaries(hashable, anything, max_size=2)


def attempted(call: Callable[[], Any]) -> Any:
    """What the call gives, or the project's own error; any other error is a mistake."""
    try:
        return call()
    except PointsmanError as error:
        assert str(error)
        return error


def assert_is_empty(queue: Queue) -> None:
    """Nothing is left of what was refused."""
    tables = ("message", "ready", "delayed", "leased", "dead", "pending", "finished", "key")
    with queue.store.read() as connection:
        # Names of tables of the queue's own, from above.
        counts = [next(iter(connection.execute(f"SELECT count(*) FROM {table}")))[0] for table in tables]  # noqa: S608
    assert counts == [0] * len(tables)
    assert (queue.unfinished, queue.messages()) == (0, [])
    assert queue.put(b"next", "next").endswith("-1")


@given(key=texts, data=st.one_of(st.binary(max_size=2000), texts), dialect=st.sampled_from(DIALECTS))
@example(key="a" * 10_000_000, data=b"", dialect="amqp")
@example(key="a" * 10_000_000, data=b"", dialect="nats")
@example(key="'\0%_", data="\0", dialect="amqp")
def test_a_key_and_its_data_are_unchanged_or_refused(key: str, data: bytes | str, dialect: str) -> None:
    """Text stays text and bytes stay bytes; the key is found by itself as a pattern too."""
    with Queue(":memory:", dialect=dialect) as queue:
        given_id = attempted(lambda: queue.put(data, key))
        if isinstance(given_id, PointsmanError):
            assert_is_empty(queue)
            return
        (peeked,) = queue.peek()
        message = queue.pop()
        assert message is not None
        for found in (peeked, message, queue.get(given_id), queue.messages()[0]):
            assert found is not None
            assert (found.routing_key, found.data, type(found.data)) == (key, data, type(data))
        assert message.message.body == (data.encode() if isinstance(data, str) else data)
        assert queue.ack(message)


@given(id=anything, metadata=st.one_of(st.dictionaries(texts, texts, max_size=4), mappings, anything))
@example(id="\0", metadata={"\0": "\0", "": ""})
@example(id="x" * 255, metadata={"\ud800": "x"})
@example(id="x" * 256, metadata={"x": "\udfff"})
@example(id="x", metadata={"x": "y" * 70_000})
def test_an_id_and_metadata_are_unchanged_or_refused(id: Any, metadata: Any) -> None:
    """And the message is found under its id."""
    with Queue(":memory:") as queue:
        given_id = attempted(lambda: queue.put(b"data", "key", id=id, metadata=metadata))
        if isinstance(given_id, PointsmanError):
            assert_is_empty(queue)
            return
        assert given_id == id or id is None
        found = queue.get(given_id)
        assert found is not None
        assert found.id == given_id
        assert found.metadata == (metadata or {})
        assert queue.status(given_id) == "ready"
        assert queue.put(b"again", "key", id=given_id) == given_id


@given(data=anything, key=anything, priority=anything, delay=anything, expires=anything)
def test_fields_of_any_type_are_taken_or_refused(data: Any, key: Any, priority: Any, delay: Any, expires: Any) -> None:
    """By put and by put_many, which takes the same of the same."""
    draft = Draft(data, key, priority, delay, expires)
    with Queue(":memory:") as queue:
        options = {"priority": priority, "delay": delay, "expires": expires}
        one = attempted(lambda: queue.put(data, key, **options))
        if isinstance(one, PointsmanError):
            assert_is_empty(queue)
        many = attempted(lambda: queue.put_many([draft, tuple(draft)]))
        assert isinstance(one, PointsmanError) == isinstance(many, PointsmanError)
        short = attempted(lambda: queue.put_many([(data, key)]))
        assert isinstance(one, PointsmanError) or not isinstance(short, PointsmanError)


def joined(pattern: Any, separator: str) -> Any:
    """The text of a pattern that is given as its segments; anything else as it is."""
    is_segments = isinstance(pattern, list | tuple) and all(
        isinstance(each, str) and separator not in each for each in pattern
    )
    return separator.join(pattern) if is_segments else pattern


@given(pattern=anything | st.lists(texts, max_size=3), key=texts, dialect=st.sampled_from(DIALECTS))
@example(pattern="a" * 10_000_000, key="a", dialect="nats")
@example(pattern="#.#.#.#.#.a.#.#.#", key="a.a.a.a", dialect="amqp")
def test_a_pattern_is_judged_by_pattern_or_refused(pattern: Any, key: str, dialect: str) -> None:
    """Whether it is asked for ad hoc, is peeked for, or is subscribed to."""
    with Queue(":memory:", dialect=dialect) as queue:
        stored = attempted(lambda: queue.put(b"1", key))
        text = joined(pattern, queue.store.dialect.separator)
        expected = attempted(lambda: Pattern(text, dialect).matches(key))
        if isinstance(expected, SubjectError):
            assert isinstance(stored, PointsmanError)
            return
        popped = attempted(lambda: queue.peek(pattern) and queue.pop(pattern))
        if text == "":
            assert bool(popped) != isinstance(stored, PointsmanError)
            return
        if isinstance(expected, PointsmanError):
            assert isinstance(popped, PointsmanError) or pattern is None
            assert isinstance(attempted(lambda: queue.subscribe("name", pattern)), PointsmanError) or pattern is None
            return
        assert bool(popped) == expected
        queue.subscribe("name", pattern)
        queue.put(b"2", key)
        assert bool(queue.pop(subscription="name")) == expected


@given(name=anything, lease=anything, attempts=anything)
@example(name="\ud800", lease=None, attempts=None)
@example(name="x" * 256, lease=None, attempts=None)
def test_a_subscription_of_any_name_is_made_or_refused(name: Any, lease: Any, attempts: Any) -> None:
    """A name is a text; with it the subscription is found again."""
    with Queue(":memory:") as queue:
        made = attempted(lambda: queue.subscribe(name, "#", lease=lease, max_attempts=attempts))
        if isinstance(made, PointsmanError):
            assert queue.subscriptions() == []
            return
        assert [each.name for each in queue.subscriptions()] == [name]
        queue.put(b"1")
        assert queue.pop(subscription=name) is not None
        assert queue.unsubscribe(name) == 1


@given(id=texts)
def test_asking_for_any_id_is_no_mistake(id: str) -> None:
    """There is no such message."""
    with Queue(":memory:") as queue:
        queue.put(b"1", id="other")
        assert queue.get(id) is None
        assert queue.status(id) is None
        assert queue.retry(id) is False
        assert queue.requeue([id]) == 0
        with pytest.raises(PointsmanError):
            queue.pop(subscription=id or "nothing")


@given(error=anything, delay=anything)
@example(error="x" * 10_000_000, delay=None)
def test_any_error_can_be_told(error: Any, delay: Any) -> None:
    """It is kept as far as it can be, or refused, and then the lease is still held."""
    with Queue(":memory:", max_attempts=1) as queue:
        queue.put(b"1")
        message = queue.pop()
        assert message is not None
        if isinstance(attempted(lambda: queue.nack(message, error=error, delay=delay)), PointsmanError):
            assert queue.ack(message)
            return
        (letter,) = queue.dead_letters()
        assert (
            letter.last_error is None
            or letter.last_error[:1000] == error[:1000].encode(errors="backslashreplace").decode()[:1000]
        )


@pytest.mark.parametrize("size", [0, 1, 4096, 1_000_000, 5_000_000])
@pytest.mark.parametrize("byte", [b"\0", b"\xff"])
def test_data_of_any_size_is_unchanged(open_queue: Callable[..., Queue], size: int, byte: bytes) -> None:
    """Up to the limit."""
    queue = open_queue(max_bytes=5_000_000)
    queue.put(byte * size)
    message = queue.pop()
    assert message is not None
    assert message.data == byte * size


@pytest.mark.parametrize("segments", [["a", "b"], ("a", "", "b"), [], [""], ["#"], ["é", "\0"]])
def test_a_key_may_be_given_as_its_segments(queue: Queue, segments: list[str]) -> None:
    """They are joined by the separator of the dialect."""
    queue.put(b"1", segments)
    message = queue.pop()
    assert message is not None
    assert message.routing_key == ".".join(segments)


@pytest.mark.parametrize("segments", [["a.b"], ["a", 1], ["a", None], [b"a"], 7, None, {"a": 1}, b"a.b", object()])
def test_what_is_no_segment_is_refused(queue: Queue, segments: Any) -> None:
    """A separator within a segment would make two of one."""
    with pytest.raises(SubjectError):
        queue.put(b"1", segments)
    assert_is_empty(queue)


def test_a_message_has_one_id(queue: Queue) -> None:
    """One with an id of its own is not found by the id that it would have without."""
    first = queue.put(b"1")
    queue.put(b"2", id="two")
    assert queue.get(first) is not None
    assert queue.get(first.replace("-1", "-01")) is None
    assert queue.get(first.replace("-1", "-2")) is None
    assert queue.status(first.replace("-1", "-3")) is None
