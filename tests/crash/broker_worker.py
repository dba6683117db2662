"""A broker process of the crash test: python -m tests.crash.broker_worker FOLDER WORKER SEED BEFORE.

It publishes and handles until it is killed; as the worker ``drain`` it only handles, until nothing is left to do.
"""

from __future__ import annotations

import asyncio
import random
import sys
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from pointsman.broker.broker import Broker
from pointsman.broker.deliver import Nack, Received
from pointsman.store.settle import Backoff
from tests.crash.broker_story import ANSWERS, FILE, HANDLERS, RESULTS, TABLE, kind_of, subject_of, supply_answer
from tests.crash.journal import Journal, end_with_parent, read_journal

DRAIN = "drain"


async def publish(broker: Broker, journal: Journal, name: str) -> None:
    """Publishes the message of this name; its kind is told by the name."""
    journal.write("publishing", name)
    metadata = {"reply-to": RESULTS} if kind_of(name) == "ask" else {}
    await broker.publish(subject_of(name), name, id=name, correlation_id=name, metadata=metadata)
    journal.write("published", name)


async def publish_on(broker: Broker, journal: Journal, worker: str, source: random.Random, before: Path) -> None:
    """Publishes again what the worker before did not hear of, and then new messages, some at a time."""
    lines = list(read_journal(before)) if before.exists() else []
    heard = {line.fields[0] for line in lines if line.word == "published"}
    for name in dict.fromkeys(line.fields[0] for line in lines if line.word == "publishing"):
        if name not in heard:
            await publish(broker, journal, name)
    for number in count():
        names = [f"{source.choice(('order', 'job', 'ask', 'note'))}:{worker}:{number}:{each}" for each in range(4)]
        await asyncio.gather(*(publish(broker, journal, name) for name in names))
        await asyncio.sleep(source.random() * 0.05)


async def handle(broker: Broker, journal: Journal, source: random.Random, handler: str, received: Received) -> Any:
    """Writes that a message came, fails sometimes, and answers a command by its event, a question by a price."""
    message = received.message
    journal.write("handled", handler, message.id, message.subject, message.correlation_id, received.body.decode())
    if source.random() < 0.05:
        raise Nack("as the test wants it")
    if message.subject in ANSWERS:
        event = ANSWERS[message.subject](message.correlation_id or "")
        await broker.publish(event, message.body, id=f"{message.id}/answer", correlation_id=message.correlation_id)
    return supply_answer(handler, message.correlation_id or "") if handler.startswith("supplier") else None


async def work(folder: Path, worker: str, seed: str, before: str) -> None:
    """Runs the broker."""
    journal = Journal(folder / f"{worker}.journal")
    source = random.Random(seed)
    settings: dict[str, Any] = {
        "lease": 1.0,
        "max_attempts": 1000,
        "backoff": Backoff(0.01, 1.0, 0.01),
        "busy_timeout": 60.0,
    }
    broker = Broker(folder / FILE, TABLE, **settings)
    for handler, pattern in HANDLERS.items():
        act = partial(handle, broker, journal, source, handler)
        if pattern is None:
            broker.handler(handler, concurrency=3)(act)
        else:
            broker.on(pattern, name=handler, concurrency=3)(act)
    async with broker:
        journal.write("started")
        if worker != DRAIN:
            await publish_on(broker, journal, worker, source, folder / f"{before}.journal")
        while broker.queue.unfinished:
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    end_with_parent()
    asyncio.run(work(Path(sys.argv[1]), *sys.argv[2:]))
