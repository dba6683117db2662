"""A process that resolves one message that matches all subscriptions of a file, with little more memory than it has.

    python -m tests.subscriptions.flat_process FILE COUNT MEGABYTES

Makes so many subscriptions, of as many owners, half of them found by one shared matcher and half by one of their own;
then says how many match, how many deliveries that makes, and how many megabytes the process grew by.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from pointsman.conditions import AllOf, Matcher
from pointsman.message import Message
from pointsman.store.queue import Queue
from pointsman.subscriptions.input_adapter import InputAdapter
from pointsman.subscriptions.live import LiveSubscriptions
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.output_adapter import OutputAdapter
from pointsman.subscriptions.registry import Registry

MEGABYTE = 1 << 20
WORD = "x" * 40


def subscriptions(count: int) -> Iterator[WildcardSubscription]:
    """All of them match the message."""
    shared = Matcher("title", "x*")
    for number in range(count):
        own = Matcher("title", f"*{WORD[: number % 40]}*{WORD[: number // 40 % 40]}*")
        condition = shared if number % 2 else AllOf((shared, own))
        yield WildcardSubscription(str(number), f"owner {number}", ("desk",), None, condition)


def make(path: str, count: int) -> None:
    """Stores them, in another process, so that its memory does not count."""
    with Queue(path, durability="normal") as queue:
        Registry(queue.store).import_many(subscriptions(count))


def peak() -> float:
    """Megabytes that the process had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def resolve(path: str, megabytes: int) -> None:
    """Resolves two messages, of which one matches nothing."""
    with Queue(path) as queue:
        live = LiveSubscriptions(queue.store)
        with live.reading() as resolver:
            output = OutputAdapter(live.spill, lambda owner, subject: bool(owner and subject))
            adapter = InputAdapter(resolver, output)
            adapter.take(Message("a", metadata={"title": "nothing"}))
            assert len(output) == 0
            before = peak()
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            limit = size + megabytes * MEGABYTE
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            adapter.take(Message("a", metadata={"title": WORD * 2}))
            deliveries = sum(1 for _ in output)
            print(len(output), deliveries, round(peak() - before, 1))
            output.forget()
        live.close()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        make(sys.argv[1], int(sys.argv[2]))
    else:
        subprocess.run([sys.executable, "-m", "tests.subscriptions.flat_process", *sys.argv[1:3]], check=True)
        resolve(sys.argv[1], int(sys.argv[3]))
