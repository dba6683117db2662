"""A process that makes and deletes subscriptions which share matchers with those of other processes."""

from __future__ import annotations

import random
import sys

from pointsman.conditions import AnyOf, Matcher
from pointsman.patterns.pattern import Pattern
from pointsman.store.queue import Queue
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.registry import Registry

SHARED = 4
"""So few matchers that all of them come and go often."""


def subscription(id: str, chance: random.Random) -> WildcardSubscription:
    """One of this id, with some of the matchers that all processes have, and a pattern likewise."""
    chosen = [Matcher("k", str(number)) for number in chance.sample(range(SHARED), 2)]
    return WildcardSubscription(id, "ada", ("inbox",), Pattern(f"a.{chance.randrange(SHARED)}"), AnyOf(tuple(chosen)))


def work(path: str, name: str, rounds: int) -> None:
    """Makes, changes and deletes; the last one of each process stays."""
    chance = random.Random(name)
    with Queue(path, busy_timeout=60) as queue:
        registry = Registry(queue.store)
        for number in range(rounds):
            registry.create(subscription(f"{name}-{number}", chance))
            if chance.random() < 0.3:
                registry.update(subscription(f"{name}-{number}", chance))
            if number:
                registry.delete(f"{name}-{number - 1}")
        registry.import_many([subscription(f"{name}-many-{number}", chance) for number in range(20)])
        for number in range(20):
            registry.delete(f"{name}-many-{number}")


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2], int(sys.argv[3]))
