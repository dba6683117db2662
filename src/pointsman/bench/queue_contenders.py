"""What the benchmark of the queue compares, behind one interface; and the project's own queue behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pointsman.store.queue import Queue

Execute = Callable[[str], Any]
LEVELS = ("off", "normal", "full", "extra")
"""What the numbers of ``PRAGMA synchronous`` mean."""
LEASE = 3600.0
"""Seconds; longer than any run, so that nothing comes back meanwhile."""
OURS, OURS_NEXT = "pointsman", "pointsman, ack_and_pop"


class Contender(ABC):
    """A queue in a file of its own, open in this process. Not safe between threads unless it says so."""

    name: ClassVar[str]
    acknowledges: ClassVar[bool] = True
    """Whether a message that was popped comes again if it is not acknowledged; otherwise popping deletes it."""
    puts_batches: ClassVar[bool] = True
    pops_batches: ClassVar[bool] = True

    @abstractmethod
    def __init__(self, folder: Path, durability: str) -> None:
        """Opens its file in a folder, and makes it if it is not there."""

    def item(self, body: bytes, key: str) -> Any:
        """What ``put`` takes; made before the time is measured."""
        return body, key

    def know(self, keys: Sequence[str]) -> object:  # noqa: ARG002 - most have no use for it
        """Is told the routing keys that are used again and again; before the time is measured."""
        return None

    @abstractmethod
    def put(self, item: Any) -> object:
        """Puts one message."""

    @abstractmethod
    def pop(self) -> Any:
        """Takes the first message; None if there is none."""

    @abstractmethod
    def body(self, message: Any) -> bytes:
        """What was put."""

    @abstractmethod
    def connections(self) -> list[Execute]:
        """How to run a statement on each of its connections."""

    @abstractmethod
    def close(self) -> None:
        """Closes the file."""

    def ack(self, message: Any) -> object:  # noqa: ARG002 - some have none
        """The message is done; nothing to do for those whose pop deletes."""
        return None

    def put_many(self, items: Sequence[Any]) -> object:
        """Puts messages in one transaction; only if it ``puts_batches``."""
        raise NotImplementedError

    def pop_many(self, count: int) -> list[Any]:
        """Takes messages in one transaction; only if it ``pops_batches``."""
        raise NotImplementedError

    def ack_many(self, messages: Sequence[Any]) -> object:  # noqa: ARG002 - some have none
        """The messages are done, in one transaction; nothing to do for those whose pop deletes."""
        return None

    def synchronise(self, level: str) -> None:
        """Sets what a commit waits for."""
        for execute in self.connections():
            list(execute(f"PRAGMA synchronous = {level}"))

    def durability(self) -> str:
        """What a commit really waits for, as each connection says: ``full`` is on disk, ``normal`` is not yet."""
        found = {LEVELS[next(iter(execute("PRAGMA synchronous")))[0]] for execute in self.connections()}
        return ", ".join(sorted(found))

    def checkpoint(self) -> None:
        """Moves what is in the write-ahead log to the file, so that nobody pays for it later."""
        list(self.connections()[0]("PRAGMA wal_checkpoint(PASSIVE)"))

    def fill(self, items: Sequence[Any]) -> None:
        """Puts messages that are to be popped, in the fastest way it has."""
        if self.puts_batches:
            for start in range(0, len(items), 1000):
                self.put_many(items[start : start + 1000])
            return
        level = self.durability()
        self.synchronise("off")
        for item in items:
            self.put(item)
        self.synchronise(level)


class Pointsman(Contender):
    """The project's queue, a call for each pop and each ack."""

    name = OURS

    def __init__(self, folder: Path, durability: str) -> None:
        self.queue = Queue(folder / "pointsman.db", durability=durability, lease=LEASE)

    def put(self, item: Any) -> object:
        """By ``Queue.put``."""
        return self.queue.put(*item)

    def put_many(self, items: Sequence[Any]) -> object:
        """By ``Queue.put_many``."""
        return self.queue.put_many(items)

    def pop(self) -> Any:
        """By ``Queue.pop``."""
        return self.queue.pop()

    def pop_many(self, count: int) -> list[Any]:
        """By ``Queue.pop_many``."""
        return self.queue.pop_many(count)

    def ack(self, message: Any) -> object:
        """By ``Queue.ack``."""
        return self.queue.ack(message)

    def ack_many(self, messages: Sequence[Any]) -> object:
        """By ``Queue.ack_many``."""
        return self.queue.ack_many(messages)

    def body(self, message: Any) -> bytes:
        """The data."""
        data: bytes = message.data
        return data

    def connections(self) -> list[Execute]:
        """The one that writes."""
        return [self.queue.store.writer.connection.execute]

    def close(self) -> None:
        """Closes the queue."""
        self.queue.close()


class PointsmanNext(Pointsman):
    """The project's queue as ``consume`` uses it: a message is acknowledged in the transaction that pops the next."""

    name = OURS_NEXT
    puts_batches = pops_batches = False

    def __init__(self, folder: Path, durability: str) -> None:
        super().__init__(folder, durability)
        self._before: Any = None

    def fill(self, items: Sequence[Any]) -> None:
        """Puts messages that are to be popped."""
        self.queue.put_many(items)

    def pop(self) -> Any:
        """By ``Queue.ack_and_pop``, once there is something to acknowledge."""
        found = self.queue.pop() if self._before is None else self.queue.ack_and_pop(self._before)
        self._before = None
        return found

    def ack(self, message: Any) -> object:
        """Left to the next pop."""
        self._before = message
        return None
