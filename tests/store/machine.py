"""Two queues open on one file and the model of them: putting and taking. The rest is in ``test_model.py``."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from pointsman.errors import StoreError
from pointsman.patterns.dialect import find_dialect
from pointsman.patterns.pattern import Pattern
from pointsman.store import maintenance, pattern_pop, put, subscription_changes
from pointsman.store.message import Draft, StoredMessage
from pointsman.store.queue import Queue
from tests.store.clock import Clock
from tests.store.model import MAIN, Model, QueueFullError

SMALL = ((pattern_pop, "GLANCE", 2), (pattern_pop, "SEEK", 1), (pattern_pop, "KEPT", 2), (pattern_pop, "PAGE", 2),
         (put, "CHUNK", 2), (maintenance, "PAGE", 2), (subscription_changes, "PAGE", 2))  # fmt: skip
"""Limits made small, so that a few messages reach beyond them."""
DIALECTS = ("amqp", "nats", "zato", "mqtt")
NAMES = st.sampled_from(["one", "two", "three"])
LEASE = 10.0
DEDUPE = 20.0
either = st.booleans()
tokens = st.lists(st.sampled_from(["a", "b", "c", "B"]), min_size=1, max_size=3)
priorities = st.sampled_from([1, 5, 5, 5, 10])
delays = st.sampled_from([0.0, 0.0, 0.0, 5.0])
expiries = st.sampled_from([None, None, None, 8.0])
given_ids = st.sampled_from([None, None, "x", "y", "z"])


@st.composite
def drafts(draw: st.DrawFn) -> tuple[list[str], int, float, float | None, str | None]:
    """Segments, priority, delay, expiry and id."""
    return draw(tokens), draw(priorities), draw(delays), draw(expiries), draw(given_ids)


@st.composite
def shapes(draw: st.DrawFn) -> list[str]:
    """The tokens of a pattern, ``?`` for one and ``!`` for many, that is legal in every dialect."""
    return draw(st.lists(st.sampled_from(["a", "b", "?"]), max_size=2)) + draw(st.sampled_from([["!"], ["a"], ["?"]]))


class UndoneError(Exception):
    """Undoes a transaction."""


class PutAndTake(RuleBasedStateMachine):
    """Two queues open on one file, and the model."""

    @initialize(
        dialect=st.sampled_from(DIALECTS),
        main=st.sampled_from(["always", "always", "unclaimed", "never"]),
        max_attempts=st.integers(1, 3),
        maxsize=st.sampled_from([None, None, 6]),
    )
    def open(self, dialect: str, main: str, max_attempts: int, maxsize: int | None) -> None:
        """A new file."""
        self.patch = pytest.MonkeyPatch()
        for module, name, value in SMALL:
            self.patch.setattr(module, name, value)
        self.folder = tempfile.mkdtemp()
        self.clock = Clock()
        self.dialect = find_dialect(dialect)
        self.settings = {
            "main": main, "max_attempts": max_attempts, "maxsize": maxsize, "lease": LEASE, "dedupe": DEDUPE,
            "durability": "normal", "clock": self.clock, "random": lambda: 1.0,
        }  # fmt: skip
        self.queues = [self.opened(dialect), self.opened(None)]
        self.model = Model(self.clock, main, max_attempts, maxsize, DEDUPE)
        self.popped: list[StoredMessage] = []
        self.acked: set[tuple[int, int]] = set()
        self.ids: set[str] = {"nothing"}

    def opened(self, dialect: str | None) -> Queue:
        """The file, opened once more."""
        return Queue(Path(self.folder) / "queue.db", dialect=dialect, **self.settings)

    def teardown(self) -> None:
        """Leaves nothing behind."""
        if hasattr(self, "folder"):
            for queue in self.queues:
                queue.close()
            shutil.rmtree(self.folder)
            self.patch.undo()

    # -- putting

    def draft(self, drawn: tuple[list[str], int, float, float | None, str | None]) -> Draft:
        """A message to be put, whose data says which it is."""
        segments, priority, delay, expires, id = drawn
        return Draft(repr(drawn), self.dialect.separator.join(segments), priority, delay or None, expires, id)

    def put_in_model(self, draft: Draft) -> str:
        """Puts it there, and gives the id."""
        if draft.id is not None and self.model.is_known(draft.id):
            return draft.id
        id = draft.id or f"{self.queues[0].store.file}-{self.model.next_sequence()}"
        given = draft.id is not None
        self.model.put(id, str(draft.routing_key), draft.priority, draft.delay or 0.0, draft.expires, given=given)
        return id

    @rule(drawn=drafts(), which=either)
    def put(self, drawn: tuple[list[str], int, float, float | None, str | None], which: bool) -> None:
        """One message."""
        draft = self.draft(drawn)
        options = draft._asdict()
        data, key = options.pop("data"), options.pop("routing_key")
        try:
            expected = self.put_in_model(draft)
        except QueueFullError:
            with pytest.raises(StoreError, match="queue-full"):
                self.queues[which].put(data, key, **options)
            return
        assert self.queues[which].put(data, key, **options) == expected
        self.ids.add(expected)

    @precondition(lambda self: self.settings["maxsize"] is None)
    @rule(drawn=st.lists(drafts(), max_size=5), which=either)
    def put_many(self, drawn: list[tuple[list[str], int, float, float | None, str | None]], which: bool) -> None:
        """Several messages; plain ones as tuples."""
        chosen = [self.draft(each) for each in drawn]
        expected = [self.put_in_model(each) for each in chosen]
        plain = [each[:2] if each[2:] == (5, None, None, None, None) else each for each in chosen]
        assert self.queues[which].put_many(plain) == expected
        self.ids.update(expected)

    @precondition(lambda self: self.settings["maxsize"] is None)
    @rule(drawn=st.lists(drafts(), max_size=3), which=either, undone=either)
    def put_in_a_transaction(
        self, drawn: list[tuple[list[str], int, float, float | None, str | None]], which: bool, undone: bool
    ) -> None:
        """Several messages of an outbox, of which nothing is left if the transaction is undone."""
        chosen = [self.draft(each) for each in drawn]
        with suppress(UndoneError), self.queues[which].transaction() as outbox:
            for data, key, priority, delay, expires, id, _ in chosen:
                outbox.put(data, key, priority=priority, delay=delay, expires=expires, id=id)
            if undone:
                raise UndoneError
        if not undone:
            self.ids.update([self.put_in_model(each) for each in chosen])

    # -- taking

    def pattern(self, shape: list[str]) -> Pattern:
        """The pattern of a shape in the dialect of the file."""
        signs = {"?": self.dialect.one, "!": self.dialect.many}
        return Pattern(self.dialect.separator.join(signs.get(each, each) for each in shape), self.dialect)

    def take(self, queue: Queue, count: int, name: str, matching: Pattern | None, **asked: object) -> None:
        """Pops the same from both."""
        expected = self.model.pop(name, matching, count, LEASE)
        found = queue.pop_many(count, **asked)  # type: ignore[arg-type]
        assert [each.sequence for each in found] == [each.message.sequence for each in expected]
        for message, delivery in zip(found, expected, strict=True):
            delivery.lease = (message.token, message.until)
            assert (message.id, message.routing_key) == (delivery.message.id, delivery.message.key)
            assert (message.attempts, message.error) == (delivery.attempts, delivery.error)
            assert (message.subscription, message.sequence) not in self.acked
            assert message.put_at == delivery.message.put_at
        self.popped += found

    @rule(count=st.integers(1, 4), which=either)
    def pop(self, count: int, which: bool) -> None:
        """From the queue itself."""
        self.take(self.queues[which], count, MAIN, None)

    @precondition(lambda self: self.model.subscriptions)
    @rule(data=st.data(), count=st.integers(1, 3), which=either)
    def pop_of_subscription(self, data: st.DataObject, count: int, which: bool) -> None:
        """By its name."""
        name = data.draw(st.sampled_from(sorted(self.model.subscriptions)))
        self.take(self.queues[which], count, name, None, subscription=name)

    @rule(shape=shapes(), count=st.integers(1, 3), which=either)
    def pop_by_pattern(self, shape: list[str], count: int, which: bool) -> None:
        """From the queue itself, whether somebody subscribed to the pattern or not."""
        pattern = self.pattern(shape)
        expected = [each.message.sequence for each in self.model.ready(MAIN, pattern)[:count]]
        assert [each.sequence for each in self.queues[which].peek(pattern, count=count)] == expected
        self.take(self.queues[which], count, MAIN, pattern, pattern=pattern)

    def name_of(self, message: StoredMessage) -> str:
        """The name of the subscription that a message was popped for; one that is gone has none."""
        names = {each.id: each.name for each in self.queues[0].subscriptions()}
        return MAIN if message.subscription == 0 else names.get(message.subscription, "gone")
