"""A process with a broker, for the tests of several processes on one file; it does what its arguments say.

``handle``: prints what its handler gets, until its input ends. ``publish``: publishes the bodies it is given. ``idle``:
has a broker and no handler, until its input ends. ``die``: is killed while it publishes.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
from typing import Any

from pointsman import Broker, RoutingTable
from pointsman.store.wakeup import Bell

TABLE = RoutingTable.parse(
    """
dialect: amqp
destinations: {one: {}, two: {}}
routes: [{name: turns, pattern: turn, strategy: balanced, balance: round-robin, destinations: [one, two]}]
"""
)


def say(*words: object) -> None:
    """One line, at once."""
    print(*words, flush=True)


def used() -> float:
    """Seconds of the processor that this process has used."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def told_to_end() -> None:
    """Waits until the input ends; each line before asks for the time that was used."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.readline():
        say("used", used())


async def handle(broker: Broker, takes: str, lease: str) -> None:
    """Handles ``work``; what it handles takes so many seconds, or for ever."""

    @broker.on("work", name="work", lease=float(lease))
    async def work(message: Any) -> bytes:
        say("begin", message.body.decode(), message.attempts)
        await asyncio.sleep(float(takes))
        say("end", message.body.decode())
        return message.body

    say("ready")
    await told_to_end()


async def publish(broker: Broker, subject: str, *bodies: str) -> None:
    """Publishes, and says when each is on disk."""
    for body in bodies:
        await broker.publish(subject, body)
        say("published", body)


async def die_after_commit(broker: Broker) -> None:
    """Is killed when the message is on disk, before anybody is told."""
    Bell.ring = lambda _: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
    await broker.publish("work", "last words")


async def idle(_: Broker) -> None:
    """Has nothing to do."""
    say("ready")
    await told_to_end()


async def main(path: str, action: str, *given: str) -> None:
    """Does it, with a broker on the file."""
    actions: dict[str, Any] = {"handle": handle, "publish": publish, "die": die_after_commit, "idle": idle}
    async with Broker(path, TABLE, grace=5) as broker:
        await actions[action](broker, *given)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
