"""The queue does what a model of it does that is simple enough to be seen to be right."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pointsman.errors import StoreError
from pointsman.patterns.dialect import find_dialect
from pointsman.patterns.pattern import Pattern
from pointsman.store import asking, putting, subscribing, upkeep
from pointsman.store.draft import Draft
from pointsman.store.queue import Queue
from pointsman.store.stored import StoredMessage
from tests.store.clock import Clock
from tests.store.model import MAIN, Model, QueueFullError

SMALL = ((asking, "GLANCE", 2), (asking, "SEEK", 1), (asking, "KEPT", 2), (asking, "PAGE", 2),
         (putting, "CHUNK", 2), (upkeep, "PAGE", 2), (subscribing, "PAGE", 2))  # fmt: skip
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


class QueueMachine(RuleBasedStateMachine):
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
    @rule(data=st.data(), count=st.integers(1, 3), by_pattern=either, which=either)
    def pop_of_subscription(self, data: st.DataObject, count: int, by_pattern: bool, which: bool) -> None:
        """By name, or by the pattern, which stands for the first that has it."""
        name = data.draw(st.sampled_from(sorted(self.model.subscriptions)))
        if by_pattern:
            text = str(self.model.subscriptions[name])
            first = next(each for each, pattern in self.model.subscriptions.items() if str(pattern) == text)
            self.take(self.queues[which], count, first, None, pattern=text)
        else:
            self.take(self.queues[which], count, name, None, subscription=name)

    @rule(shape=shapes(), count=st.integers(1, 3), which=either)
    def pop_by_pattern(self, shape: list[str], count: int, which: bool) -> None:
        """A pattern that nobody subscribed to."""
        pattern = self.pattern(shape)
        if str(pattern) not in map(str, self.model.subscriptions.values()):
            expected = [each.message.sequence for each in self.model.ready(MAIN, pattern)[:count]]
            assert [each.sequence for each in self.queues[which].peek(str(pattern), count=count)] == expected
            self.take(self.queues[which], count, MAIN, pattern, pattern=str(pattern))

    # -- settling

    def name_of(self, message: StoredMessage) -> str:
        """The name of the subscription that a message was popped for; one that is gone has none."""
        names = {each.id: each.name for each in self.queues[0].subscriptions()}
        return MAIN if message.subscription == 0 else names.get(message.subscription, "gone")

    @precondition(lambda self: self.popped)
    @rule(data=st.data(), which=either)
    def ack(self, data: st.DataObject, which: bool) -> None:
        """A message that was popped at any time."""
        message = data.draw(st.sampled_from(self.popped))
        held = self.model.held(self.name_of(message), message.sequence, (message.token, message.until))
        assert self.queues[which].ack(message) == (held is not None)
        if held is not None:
            self.model.ack(held)
            self.acked.add((message.subscription, message.sequence))

    @rule(count=st.integers(0, 6), which=either)
    def ack_many(self, count: int, which: bool) -> None:
        """The last few, whether they are held or not."""
        last = self.popped[len(self.popped) - count :] if count <= len(self.popped) else self.popped
        held = [self.model.held(self.name_of(each), each.sequence, (each.token, each.until)) for each in last]
        assert self.queues[which].ack_many(last) == len([each for each in held if each is not None])
        for message, delivery in zip(last, held, strict=True):
            if delivery is not None:
                self.model.ack(delivery)
                self.acked.add((message.subscription, message.sequence))

    @precondition(lambda self: self.popped)
    @rule(data=st.data(), delay=st.sampled_from([None, 0.0, 3.0]), error=st.sampled_from([None, "oh"]), which=either)
    def nack(self, data: st.DataObject, delay: float | None, error: str | None, which: bool) -> None:
        """A message that was popped at any time."""
        message = data.draw(st.sampled_from(self.popped))
        held = self.model.held(self.name_of(message), message.sequence, (message.token, message.until))
        assert self.queues[which].nack(message, delay=delay, error=error) == (held is not None)
        if held is not None:
            self.model.nack(held, delay, error)

    @precondition(lambda self: self.popped)
    @rule(data=st.data(), lease=st.sampled_from([0.0, 30.0]), which=either)
    def extend(self, data: st.DataObject, lease: float, which: bool) -> None:
        """A message that was popped at any time."""
        message = data.draw(st.sampled_from(self.popped))
        held = self.model.held(self.name_of(message), message.sequence, (message.token, message.until))
        anew = self.queues[which].extend(message, lease)
        assert (anew is None) == (held is None)
        if held is not None and anew is not None:
            held.due, held.lease = self.clock() + lease, (anew.token, anew.until)
            self.popped.append(anew)

    @rule(seconds=st.sampled_from([1.0, 4.0, 11.0, 25.0]))
    def time_passes(self, seconds: float) -> None:
        """Leases and delays run out."""
        self.clock.forward(seconds)

    # -- upkeep

    @rule(name=NAMES, shape=shapes(), start=st.sampled_from([None, None, 1, 3]), which=either)
    def subscribe(self, name: str, shape: list[str], start: int | None, which: bool) -> None:
        """A new one, or the same again; another of the same name is refused."""
        pattern = self.pattern(shape)
        known = self.model.subscriptions.get(name)
        if known is not None and str(known) != str(pattern):
            with pytest.raises(StoreError, match="subscription-differs"):
                self.queues[which].subscribe(name, pattern, start=start)
            return
        if known is None and start is not None:
            self.acked -= {each for each in self.acked if each[0] != 0}
        self.queues[which].subscribe(name, str(pattern), start=start)
        self.model.subscribe(name, pattern, start)

    @rule(name=NAMES, which=either)
    def unsubscribe(self, name: str, which: bool) -> None:
        """One that is there, or not."""
        if name not in self.model.subscriptions:
            with pytest.raises(StoreError, match="no-subscription"):
                self.queues[which].unsubscribe(name)
            return
        assert self.queues[which].unsubscribe(name) == self.model.unsubscribe(name)

    @rule(data=st.data(), some=either, which=either)
    def requeue(self, data: st.DataObject, some: bool, which: bool) -> None:
        """All dead letters, or those of some messages, or of one subscription."""
        ids = data.draw(st.lists(st.sampled_from(sorted(self.ids)), max_size=3, unique=True)) if some else None
        names = [None, MAIN, *sorted(self.model.subscriptions)]
        name = data.draw(st.sampled_from(names))
        assert self.queues[which].requeue(ids, subscription=name) == self.model.requeue(ids, name)

    @rule(data=st.data(), which=either)
    def retry(self, data: st.DataObject, which: bool) -> None:
        """Any message."""
        id = data.draw(st.sampled_from(sorted(self.ids)))
        sequence = self.model.sequence_of(id)
        self.acked -= {(0, sequence)}
        assert self.queues[which].retry(id) == self.model.retry(id)

    @rule(older_than=st.sampled_from([0.0, 5.0]), archive=either, which=either)
    def prune(self, older_than: float, archive: bool, which: bool) -> None:
        """What is done."""
        expected = self.model.prune(older_than, archive=archive)
        assert self.queues[which].prune(older_than, archive=archive) == expected

    @rule(which=either, sure=st.sampled_from([False, False, False, True]))
    def purge(self, which: bool, sure: bool) -> None:
        """Everything, now and then."""
        if sure:
            assert self.queues[which].purge() == self.model.purge()

    @rule(data=st.data(), start=st.integers(0, 4), which=either)
    def replay(self, data: st.DataObject, start: int, which: bool) -> None:
        """For the queue itself, or for a subscription."""
        name = data.draw(st.sampled_from([MAIN, *sorted(self.model.subscriptions)]))
        self.acked.clear()
        assert self.queues[which].replay(start, subscription=name or None) == self.model.replay(start, name)

    @rule(which=either)
    def vacuum(self, which: bool) -> None:
        """Nothing changes that can be seen."""
        self.queues[which].vacuum()

    @rule(which=either)
    def reopen(self, which: bool) -> None:
        """Everything is in the file."""
        self.queues[which].close()
        self.queues[which] = self.opened(None)

    # -- what always holds

    @invariant()
    def is_as_the_model_says(self) -> None:
        """Counts, statuses, dead letters and the order of what is ready."""
        if not hasattr(self, "model"):
            return
        queue, other = self.queues
        assert queue.unfinished == other.unfinished == self.model.unfinished()
        assert tuple(queue.size()) == self.model.sizes(None)
        for name in (MAIN, *self.model.subscriptions):
            assert tuple(other.size(name)) == self.model.sizes(name)
            expected = [each.message.sequence for each in self.model.ready(name, None)]
            assert [each.sequence for each in queue.peek(subscription=name, count=1000)] == expected
        for id in self.ids:
            assert queue.status(id) == self.model.status(id), id
        dead = sorted(
            (each.message.sequence, each.subscription, each.attempts, each.error)
            for each in self.model.deliveries.values()
            if each.status == "dead"
        )
        letters = queue.dead_letters()
        assert sorted((each.sequence, each.subscription, each.attempts, each.last_error) for each in letters) == dead
        assert [each.sequence for each in queue.messages()] == sorted(self.model.messages)
        assert [each.name for each in queue.subscriptions()] == list(self.model.subscriptions)


QueueMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=40)
test_the_queue_and_its_model_agree = QueueMachine.TestCase
