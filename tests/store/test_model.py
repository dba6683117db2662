"""The queue does what a model of it does that is simple enough to be seen to be right."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from pointsman.errors import StoreError
from tests.store.machine import NAMES, PutAndTake, either, shapes
from tests.store.model import MAIN


class QueueMachine(PutAndTake):
    """Settling and upkeep, and what always holds."""

    # -- settling

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
        # A lease that was extended to the same instant is the same lease: it counts once.
        last = list(dict.fromkeys(self.popped[max(len(self.popped) - count, 0) :]))
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
        self.acked -= {each for each in self.acked if each[1] == sequence}
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
