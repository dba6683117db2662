"""The consumers of the crash test, who acknowledge, give back, lease longer, forget, and prune."""

from __future__ import annotations

import random
import time
from typing import NamedTuple

from pointsman.store.message import StoredMessage
from pointsman.store.queue import Queue
from tests.crash.journal import Journal
from tests.crash.letters import name_of

SHORT = 0.3
"""Seconds of a lease that runs out while the test runs."""
LONG = 600.0
"""Seconds of a lease that does not."""


class Place(NamedTuple):
    """Where a consumer takes from."""

    pattern: str | None = None
    subscription: str | None = None


def popped(journal: Journal, message: StoredMessage) -> None:
    """Writes that a message was delivered."""
    name = name_of(message.data, message.routing_key)
    journal.write("popped", message.sequence, message.subscription, message.attempts, name)


def acked(journal: Journal, message: StoredMessage) -> None:
    """Writes that an acknowledgement came back."""
    journal.write("acked", message.sequence, message.subscription, message.attempts)


def consume(queue: Queue, journal: Journal, source: random.Random, place: Place) -> None:
    """Takes one message after the other, and does with each what a consumer may."""
    while True:
        message = queue.pop(place.pattern, subscription=place.subscription, lease=SHORT)
        if message is None:
            time.sleep(0.005)
            continue
        popped(journal, message)
        settle(queue, journal, source, message)


def settle(queue: Queue, journal: Journal, source: random.Random, message: StoredMessage) -> None:
    """Acknowledges a message mostly; gives it back, leases it longer or forgets it sometimes."""
    chance = source.random()
    if chance < 0.05:
        return
    if chance < 0.12:
        queue.nack(message, delay=source.choice((0, 0.02)), error="as the test wants it")
        return
    held: StoredMessage | None = message
    if chance < 0.2:
        held = queue.extend(message, SHORT * 2)
    if held is not None and queue.ack(held):
        acked(journal, held)


def consume_chain(queue: Queue, journal: Journal, place: Place) -> None:
    """Acknowledges each message together with taking the next; its leases never run out by themselves."""
    message: StoredMessage | None = None
    while True:
        if message is None:
            following = queue.pop(place.pattern, subscription=place.subscription, lease=LONG)
        else:
            following = queue.ack_and_pop(message, place.pattern, subscription=place.subscription, lease=LONG)
            acked(journal, message)
        message = following
        if message is None:
            time.sleep(0.005)
        else:
            popped(journal, message)


def consume_many(queue: Queue, journal: Journal, source: random.Random, place: Place) -> None:
    """Takes several at a time and acknowledges them together, if nobody else can have them meanwhile."""
    while True:
        messages = queue.pop_many(source.randint(1, 30), place.pattern, subscription=place.subscription, lease=LONG)
        for message in messages:
            popped(journal, message)
        if not messages:
            time.sleep(0.01)
        elif queue.ack_many(messages) == len(messages):
            for message in messages:
                acked(journal, message)
        else:
            raise SystemExit("a lease was lost that was long enough")


def prune(queue: Queue, source: random.Random) -> None:
    """Removes what is done, or puts it aside, again and again."""
    while True:
        queue.prune(source.choice((0.0, 0.5)), archive=source.random() < 0.2)
        time.sleep(source.random() / 10)
