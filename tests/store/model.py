"""What a queue is, in the fewest words: no file, no index, everything looked through each time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pointsman.patterns.pattern import Pattern

MAIN = ""
OPEN = ("ready", "delayed", "leased")


@dataclass
class Message:
    """A message, and when it was finished if it was."""

    sequence: int
    id: str
    key: str
    priority: int
    put_at: float
    expires_at: float | None
    finished: str | None = None
    finished_at: float = 0.0
    addressed: tuple[tuple[str, Pattern | None], ...] = ()
    """To whom it went; a subscription of the same name that was made later is another one."""


@dataclass
class Delivery:
    """What one subscription has of one message, until it is done."""

    message: Message
    subscription: str
    status: str = "ready"
    due: float = 0.0
    attempts: int = 0
    lease: object = None
    error: str | None = None


class QueueFullError(Exception):
    """The queue is full."""


class Model:
    """The queue; ``now`` is a clock that never goes back."""

    def __init__(self, now: Callable[[], float], main: str, max_attempts: int, maxsize: int | None, dedupe: float):
        self._now = now
        self._main = main
        self._max_attempts = max_attempts
        self._maxsize = maxsize
        self._dedupe = dedupe
        self.messages: dict[int, Message] = {}
        self.deliveries: dict[tuple[str, int], Delivery] = {}
        self.subscriptions: dict[str, Pattern] = {}
        self._ids: dict[str, float] = {}
        self._last = 0

    def next_sequence(self) -> int:
        """The number of the next message."""
        return self._last + 1

    def is_known(self, id: str | None) -> bool:
        """Whether a message of this id is not put again."""
        return id in self._ids and self._now() - self._ids[id] < self._dedupe

    def put(self, id: str, key: str, priority: int, delay: float, expires: float | None, *, given: bool) -> None:
        """Puts a message that is not known. Raises ``QueueFullError``."""
        now = self._now()
        targets = [name for name, pattern in self.subscriptions.items() if pattern.matches(key)]
        if self._main == "always" or (self._main == "unclaimed" and not targets):
            targets.append(MAIN)
        if self._maxsize is not None and self.unfinished() + bool(targets) > self._maxsize:
            raise QueueFullError
        self._last += 1
        message = Message(self._last, id, key, priority, now, None if expires is None else now + expires)
        self.messages[self._last] = message
        if given:
            self._ids[id] = now
        message.addressed = tuple((name, self.subscriptions.get(name)) for name in targets)
        for name in targets:
            delivery = Delivery(message, name, "delayed" if delay else "ready", now + delay)
            self.deliveries[name, message.sequence] = delivery
        self._finish_if_over(message)

    def pop(self, subscription: str, pattern: Pattern | None, count: int, lease: float) -> list[Delivery]:
        """Leases the first deliveries."""
        now = self._now()
        self._sweep(now)
        taken: list[Delivery] = []
        for delivery in self.ready(subscription, pattern):
            if len(taken) == count:
                break
            if delivery.message.expires_at is not None and delivery.message.expires_at <= now:
                delivery.status = "dead"
                continue
            delivery.status, delivery.due = "leased", now + lease
            delivery.attempts += 1
            taken.append(delivery)
        return taken

    def ready(self, subscription: str, pattern: Pattern | None) -> list[Delivery]:
        """What can be popped, in its order."""
        found = [
            each
            for each in self.deliveries.values()
            if each.subscription == subscription
            and each.status == "ready"
            and (pattern is None or pattern.matches(each.message.key))
        ]
        return sorted(found, key=lambda each: (each.message.priority, each.message.sequence))

    def held(self, subscription: str, sequence: int, lease: object) -> Delivery | None:
        """The delivery, if it is still leased by this lease."""
        found = self.deliveries.get((subscription, sequence))
        return found if found is not None and found.status == "leased" and found.lease == lease else None

    def ack(self, delivery: Delivery) -> None:
        """It is done."""
        del self.deliveries[delivery.subscription, delivery.message.sequence]
        self._finish_if_over(delivery.message)

    def nack(self, delivery: Delivery, delay: float | None, error: str | None) -> None:
        """It failed."""
        delivery.error = delivery.error if error is None else error
        if delivery.attempts >= self._max_attempts:
            delivery.status = "dead"
            return
        wait = 2.0 ** (delivery.attempts - 1) if delay is None else delay
        delivery.status, delivery.due = ("delayed", self._now() + wait) if wait else ("ready", 0.0)

    def _sweep(self, now: float) -> None:
        for each in self.deliveries.values():
            if each.status == "leased" and each.due <= now:
                each.status = "dead" if each.attempts >= self._max_attempts else "ready"
            elif each.status == "delayed" and each.due <= now:
                each.status = "ready"

    def subscribe(self, name: str, pattern: Pattern, start: int | None) -> None:
        """Makes a subscription; one that is there stays as it is."""
        if name not in self.subscriptions:
            self.subscriptions[name] = pattern
            if start is not None:
                self.replay(start, name)

    def unsubscribe(self, name: str) -> int:
        """Ends a subscription and drops what it has."""
        del self.subscriptions[name]
        dropped = [each for each in self.deliveries.values() if each.subscription == name]
        for each in dropped:
            self.ack(each)
        return len(dropped)

    def requeue(self, ids: Iterable[str] | None, subscription: str | None) -> int:
        """Makes dead letters ready."""
        wanted = None if ids is None else {self.sequence_of(id) for id in ids}
        found = [
            each
            for each in self.deliveries.values()
            if each.status == "dead"
            and (wanted is None or each.message.sequence in wanted)
            and subscription in (None, each.subscription)
        ]
        for each in found:
            each.status, each.attempts = "ready", 0
        return len(found)

    def retry(self, id: str) -> bool:
        """Makes a message ready at once."""
        sequence = self.sequence_of(id)
        if sequence is None:
            return False
        moved = self.requeue([id], None)
        for each in self._of(sequence):
            if each.status == "delayed":
                each.status = "ready"
                moved += 1
        if not moved and self.messages[sequence].finished:
            for name, pattern in self.messages[sequence].addressed:
                if self.subscriptions.get(name) is pattern:
                    self._bring_back(self.messages[sequence], name)
                    moved += 1
        return moved > 0

    def prune(self, older_than: float, *, archive: bool) -> int:
        """Deletes or archives what was done long ago."""
        limit = self._now() - older_than
        old = [each for each in self.messages.values() if each.finished == "done" and each.finished_at <= limit]
        for each in old:
            each.finished = "archived"
            if not archive:
                del self.messages[each.sequence]
        return len(old)

    def purge(self) -> int:
        """Deletes all."""
        count = len(self.messages)
        self.messages.clear()
        self.deliveries.clear()
        self._ids.clear()
        return count

    def replay(self, start: int, subscription: str) -> int:
        """Makes ready what this subscription has nothing of."""
        pattern = self.subscriptions.get(subscription)
        found = [
            each
            for each in self.messages.values()
            if each.sequence >= start
            and (subscription, each.sequence) not in self.deliveries
            and (pattern is None or pattern.matches(each.key))
        ]
        for each in found:
            if not any(name == subscription and known is pattern for name, known in each.addressed):
                each.addressed += ((subscription, pattern),)
            self._bring_back(each, subscription)
        return len(found)

    def _bring_back(self, message: Message, subscription: str) -> None:
        message.finished = None
        self.deliveries[subscription, message.sequence] = Delivery(message, subscription)

    def sequence_of(self, id: str) -> int | None:
        """The number of the last message of this id."""
        return max((each.sequence for each in self.messages.values() if each.id == id), default=None)

    def status(self, id: str) -> str | None:
        """Where the message stands."""
        sequence = self.sequence_of(id)
        if sequence is None:
            return None
        found = {each.status for each in self._of(sequence)}
        return next((each for each in (*OPEN, "dead") if each in found), self.messages[sequence].finished)

    def unfinished(self) -> int:
        """Messages of which a delivery is open."""
        return len({each.message.sequence for each in self.deliveries.values() if each.status in OPEN})

    def sizes(self, subscription: str | None) -> tuple[int, ...]:
        """Deliveries by status, and messages that are done and archived."""
        statuses = [each.status for each in self.deliveries.values() if subscription in (None, each.subscription)]
        finished = [each.finished for each in self.messages.values()]
        return (*map(statuses.count, (*OPEN, "dead")), *map(finished.count, ("done", "archived")))

    def _of(self, sequence: int) -> list[Delivery]:
        return [each for each in self.deliveries.values() if each.message.sequence == sequence]

    def _finish_if_over(self, message: Message) -> None:
        if not self._of(message.sequence):
            message.finished, message.finished_at = "done", self._now()
