"""Patterns that nobody subscribed to: the answer is always what looking through everything would give."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.errors import InputError, PatternError
from pointsman.patterns.pattern import Pattern
from pointsman.store import pattern_pop
from pointsman.store.message import StoredMessage
from pointsman.store.queue import Queue
from tests.store.clock import Clock
from tests.store.conftest import Open

PATTERNS = (
    "#", "*", "a.#", "a.*", "#.3", "*.b.#", "a.b.7", "nothing.here", "#.b.#", "a.*.1", "#.0.#.#", "*.*", "b.b.b",
)  # fmt: skip


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits so small that a few messages and keys reach beyond them."""
    for name, value in (("GLANCE", 3), ("SEEK", 2), ("KEPT", 2), ("PAGE", 4)):
        monkeypatch.setattr(pattern_pop, name, value)


def expected(ready: list[StoredMessage], pattern: str, dialect: str = "amqp") -> list[int]:
    """By looking through everything."""
    asked = Pattern(pattern, dialect)
    return [message.sequence for message in ready if asked.matches(message.routing_key)]


def check(queue: Queue, pattern: str, dialect: str = "amqp") -> list[StoredMessage]:
    """Pops all that match, in two steps, and compares."""
    want = expected(queue.peek(count=10_000), pattern, dialect)
    assert [message.sequence for message in queue.peek(pattern, count=10_000)] == want
    found = [*queue.pop_many(2, pattern), *queue.pop_many(10_000, pattern)]
    assert [message.sequence for message in found] == want
    assert queue.pop(pattern) is None
    return found


def fill(queue: Queue, chance: random.Random, many: int) -> None:
    """Messages of many keys and all priorities."""
    for _ in range(many):
        segments = chance.choices("ab0123456789", k=chance.randrange(0, 4))
        queue.put(b"", segments, priority=chance.choice([1, 5, 5, 5, 10]))


@pytest.mark.usefixtures("small")
@given(seed=st.integers(0, 10_000), order=st.permutations(PATTERNS))
def test_answers_are_those_of_looking_through_everything(seed: int, order: list[str]) -> None:
    """Whatever was asked before, and with messages that come, go and come back in between."""
    chance = random.Random(seed)
    with Queue(":memory:", durability="normal") as queue:
        fill(queue, chance, 30)
        for pattern in order[:6]:
            found = check(queue, pattern)
            for message in found:
                if chance.random() < 0.3:
                    queue.ack(message)
                elif chance.random() < 0.8:
                    queue.nack(message, delay=0)
            check(queue, pattern)
            fill(queue, chance, 3)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("dialect", ["nats", "zato", "mqtt"])
def test_answers_are_right_in_every_dialect(dialect: str) -> None:
    """Case, separators and wildcards are those of the dialect."""
    patterns = {
        "nats": ["a.>", "*.b", "a.b", ">", "a.*.*"],
        "zato": ["A.**", "*.b", "a.b", "**", "a*.b", "**.B"],
        "mqtt": ["a/#", "+/b", "a/b", "#", "a/+/+", "+"],
    }[dialect]
    separator = "/" if dialect == "mqtt" else "."
    with Queue(":memory:", dialect=dialect) as queue:
        for first in ("a", "b", "A", "ab"):
            for rest in (["b"], ["B"], ["b", "c"], []):
                queue.put(b"", separator.join([first, *rest]))
        for pattern in patterns:
            for message in check(queue, pattern, dialect):
                queue.nack(message, delay=0)


@pytest.mark.usefixtures("small")
def test_what_another_process_does_is_seen(open_file: Open, clock: Clock) -> None:
    """New keys, new messages, what it gives back, and what runs out."""
    one, two = open_file(lease=10), open_file(lease=10)
    one.put_many([(b"1", "a.1"), (b"2", "b.1"), (b"3", "a.2")])
    asked: list[Callable[[], list[int]]] = [
        lambda: [message.sequence for message in one.pop_many(9, "a.*")],
        lambda: [message.sequence for message in two.pop_many(9, "a.*")],
    ]
    taken = one.pop_many(9, "a.*")
    assert [message.sequence for message in taken] == [1, 3]
    assert asked[1]() == []
    two.put(b"4", "a.3")
    assert asked[0]() == [4]
    two.put(b"5", "a.1", priority=1)
    assert asked[0]() == [5]
    assert two.nack(taken[0], delay=0)
    assert asked[0]() == [1]
    assert two.nack(taken[1], delay=2)
    assert asked[0]() == []
    clock.forward(2)
    two.pop("nothing.at.all")
    assert asked[0]() == [3]
    clock.forward(8)
    assert asked[1]() == [5, 1, 4]
    one.purge()
    two.put(b"6", "a.1")
    assert asked[0]() == [6]
    assert asked[1]() == []


def test_answers_are_right_with_many_keys(open_file: Open) -> None:
    """More keys than are looked up one by one, and more messages than a glance sees, with the real limits."""
    queue, other = open_file(max_attempts=99), open_file(max_attempts=99)
    many = 3 * pattern_pop.SEEK
    chance = random.Random(5)
    queue.put_many(
        (b"", f"{'ab'[number % 2]}.{number % 7}.{number}", chance.choice([1, 5, 10])) for number in range(many)
    )
    ready = queue.peek(count=many)
    for pattern in ("a.#", "#", "*.3.*", f"#.{many - 1}", f"b.*.{many - 3}", "c.#", "a.0.0"):
        want = expected(ready, pattern)[:5]
        found = queue.pop_many(5, pattern)
        assert [message.sequence for message in found] == want
        assert all(other.nack(message, delay=0) for message in found)
        found = other.pop_many(5, pattern)
        assert [message.sequence for message in found] == want
        assert all(queue.nack(message, delay=0) for message in found)


def test_more_patterns_than_are_remembered_are_answered(queue: Queue) -> None:
    """Those that were forgotten are worked out again."""
    many = pattern_pop.KEPT + 10
    queue.put_many((b"", f"a.{number}") for number in range(many))
    for _ in range(2):
        for number in range(many):
            message = queue.pop(f"*.{number}")
            assert message is not None
            assert message.routing_key == f"a.{number}"
            queue.nack(message, delay=0)


def test_a_pattern_takes_from_the_queue_itself_only(queue: Queue) -> None:
    """What a subscription has is not touched by it, also when that has the same pattern."""
    queue.subscribe("all", "#")
    queue.subscribe("same", "a.*")
    queue.put_many((str(number), "a.b") for number in range(5))
    first = queue.pop("a.*")
    assert first is not None
    following = queue.ack_and_pop(first, "a.*")
    assert following is not None
    assert [first.data, following.data, *(message.data for message in queue.pop_many(2, "a.*"))] == list("0123")
    assert [message.data for message in queue.peek("a.*", count=9)] == ["4"]
    assert [message.data for message in queue.consume("a.*", wait=0)] == ["4"]
    assert (queue.pop("a.*"), queue.peek("a.*")) == (None, [])
    for name in ("all", "same"):
        assert [message.data for message in queue.pop_many(9, subscription=name)] == list("01234")


def test_with_no_main_line_a_pattern_takes_nothing(open_queue: Open) -> None:
    """A queue that keeps nothing for itself gives nothing of what its subscriptions have."""
    queue = open_queue(main="never")
    queue.subscribe("same", "a.*")
    queue.put(b"1", "a.b")
    assert (queue.pop("a.*"), queue.size("same").ready) == (None, 1)


def test_expired_messages_are_passed_over(queue: Queue, clock: Clock) -> None:
    """They become dead letters, and the next one is given."""
    queue.put(b"1", "a.1", expires=1)
    queue.put(b"2", "b.1", expires=1)
    queue.put(b"3", "a.2")
    clock.forward(1)
    message = queue.pop("a.*")
    assert message is not None
    assert message.data == b"3"
    assert (queue.size().dead, queue.size().ready) == (1, 1)


def test_a_literal_pattern_is_that_key(queue: Queue) -> None:
    """Signs of SQL mean themselves."""
    keys = ["a%b", "a_b", "axb", "a'b", "a", "", "A"]
    queue.put_many((key, key) for key in keys)
    for key in keys:
        assert [message.data for message in queue.pop_many(9, Pattern(key, "amqp"))] == [key]


def test_an_empty_text_asks_for_every_message(queue: Queue) -> None:
    """As no pattern does; only an empty pattern that is given parsed asks for the empty key."""
    queue.put_many((str(number), key) for number, key in enumerate(["a.b", "", "c", "d.e", "f", "g"]))
    assert [message.data for message in queue.peek("", count=9)] == list("012345")
    first = queue.pop("")
    assert first is not None
    assert first.data == "0"
    following = queue.ack_and_pop(first, "")
    assert following is not None
    assert following.data == "1"
    assert [message.data for message in queue.pop_many(2, [])] == ["2", "3"]
    assert [message.data for message in queue.consume("", wait=0)] == ["4", "5"]
    queue.nack(following, delay=0)
    queue.put("6", "h")
    assert [message.data for message in queue.pop_many(9, Pattern("", "amqp"))] == ["1"]


def test_a_pattern_may_be_given_as_its_segments(queue: Queue) -> None:
    """As a key may, wherever a pattern is taken; each segment is one."""
    queue.put_many((key, key) for key in ["a.x", "b.x", "a.y", "a.z", "a.w", "a.v"])
    asked = ["a", "*"]
    assert [message.data for message in queue.peek(asked, count=9)] == ["a.x", "a.y", "a.z", "a.w", "a.v"]
    first = queue.pop(asked)
    assert first is not None
    following = queue.ack_and_pop(first, asked)
    assert following is not None
    assert [first.data, following.data] == ["a.x", "a.y"]
    assert [message.data for message in queue.pop_many(2, ("a", "#"))] == ["a.z", "a.w"]
    assert [message.data for message in queue.consume(asked, wait=0)] == ["a.v"]
    assert queue.subscribe("a", asked).pattern == "a.*"
    for wrong in (["a.b"], ["a", 1], b"a", 7):
        with pytest.raises(PatternError):
            queue.pop(wrong)  # type: ignore[arg-type]
        with pytest.raises(PatternError):
            queue.subscribe("wrong", wrong)  # type: ignore[arg-type]


def test_a_pattern_and_a_subscription_are_not_asked_for_together(queue: Queue) -> None:
    """A subscription has a pattern already, so one of the two would be ignored."""
    queue.subscribe("all", "#")
    with pytest.raises(InputError, match="bad-usage"):
        queue.pop("a.*", subscription="all")
    with pytest.raises(InputError, match="bad-usage"):
        queue.peek("a.*", subscription="all")


def test_a_pattern_may_be_given_parsed(queue: Queue) -> None:
    """Its dialect is its own."""
    queue.put(b"1", "a.b")
    message = queue.pop(Pattern("a.>", "nats"))
    assert message is not None


def test_the_index_by_key_is_made_for_who_needs_it(open_file: Open) -> None:
    """Whoever never asks ad hoc does not pay for it; who does finds it in every process."""
    queue = open_file()

    def indexes() -> list[str]:
        with queue.store.read() as connection:
            statement = "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'ready'"
            return [row[0] for row in connection.execute(statement)]

    queue.put(b"1", "a")
    queue.pop()
    assert indexes() == []
    queue.pop("a.*")
    assert indexes() == ["ready_by_key"]
    assert open_file().pop("b.*") is None


def test_a_wildcard_of_another_dialect_is_an_error_unless_the_dialect_was_chosen(tmp_path: Path) -> None:
    """A queue has amqp's keys unless it is told, where ``>`` would match nothing, in silence."""
    with Queue(tmp_path / "own.db") as queue:
        for call in (queue.pop, queue.peek, lambda pattern: queue.subscribe("all", pattern)):
            with pytest.raises(PatternError, match="'>' is a wildcard in nats"):
                call("orders.>")
    with Queue(tmp_path / "chosen.db", dialect="nats") as queue:
        queue.put(b"x", "orders.new")
        assert queue.pop("orders.#") is None
        assert queue.pop("orders.>") is not None
