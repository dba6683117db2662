"""Processes for the tests of failures: children that share what was made before the fork, and gates between them."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

from pointsman.store.queue import Queue


class Gate:
    """A place where one process waits until another has come to it."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def open(self) -> None:
        """Lets the other go on."""
        os.write(self._write, b"!")

    def wait(self) -> None:
        """Waits for the other."""
        assert os.read(self._read, 1) == b"!"

    def close(self) -> None:
        """Closes both ends."""
        os.close(self._read)
        os.close(self._write)


def fork(work: Callable[[], None]) -> int:
    """Does this in a child, whose number it gives; what the child raises it prints, and ends with 1."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def ended_well(*children: int) -> bool:
    """Waits for children; whether none of them raised anything."""
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * len(children)


def put_many(queue: Queue, name: str, count: int = 50) -> None:
    """Puts messages one by one."""
    for number in range(count):
        queue.put(f"{name} {number}", "orders.books")


def stored(queue: Queue) -> list[str | bytes]:
    """The data of all messages."""
    return [message.data for message in queue.messages(limit=100_000)]
