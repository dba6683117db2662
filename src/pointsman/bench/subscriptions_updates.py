"""What a change of one subscription costs the live form, with so many others there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random
from time import process_time
from typing import Any, NamedTuple

from pointsman.bench.subscriptions_data import SUBJECT, make_data
from pointsman.bench.terms_data import Message
from pointsman.store.queue import Queue
from pointsman.store.transaction import Transaction
from pointsman.subscriptions.live import LiveSubscriptions
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.reading import read_subscription
from pointsman.subscriptions.registry import Registry

SEED = 99
"""Other than that of the subscriptions which are there."""
KEPT = 20
"""How many of those that were made are there at a time."""


class Updates(NamedTuple):
    """Microseconds of CPU time that one change takes, over all creates, changes and deletes."""

    median: float
    p90: float
    """Nine in ten take no longer."""
    mean: float


def measure_updates(
    queue: Queue, live: LiveSubscriptions, messages: Sequence[Message], made: Iterable[object]
) -> Updates:
    """Follows ``changes`` as they are made, each with a message.

    What is measured is the taking up alone: from the begin of the message's transaction until the live form can resolve
    it, with the change in effect. Not measured are the writing into the file, which is done before, and the resolving,
    which comes after it; the message is resolved, so that the next change finds memory and caches as they are in use.
    """
    spent: list[float] = []

    def take_up(transaction: Transaction) -> None:
        started = process_time()
        resolver = live.resolver(transaction)
        spent.append(process_time() - started)
        if resolver is not None:
            resolved = resolver.resolve("one", SUBJECT, dict(messages[len(spent) % len(messages)]))
            resolver.matches(resolved)
            resolver.forget(resolved)

    for _ in made:
        queue.store.write(take_up)
    return _summary(spent)


def changes(registry: Registry, count: int) -> Iterator[str]:
    """So many creates, changes and deletes, one at a time; says after each of them what it was.

    What is made is as what is there; half of the changes are to something new, and half to what another subscription
    asks for.
    """
    random = Random(SEED)  # noqa: S311 - data, not secrets
    made = list(_subscriptions(2 * count))
    last = registry.count()
    for number, new in enumerate(made[:count]):
        registry.create(new)
        yield "create"
        others = registry.list(limit=1, after=random.randrange(last))
        other = others[0].subscription if number % 2 else made[count + number]
        registry.update(replace(new, condition=other.condition))
        yield "change"
        if number >= KEPT:
            registry.delete(made[number - KEPT].id)
            yield "delete"


def _subscriptions(count: int) -> Iterator[WildcardSubscription]:
    for row in make_data(count, 0, SEED).table.to_pylist():
        yield read_subscription(
            {
                "id": f"new {row['subscription_id']}",
                "owner": "owner",
                "destinations": ["store"],
                "condition": condition_of(row),
            }
        )


def condition_of(row: dict[str, Any]) -> dict[str, Any]:
    """The condition of a row of the table of subscriptions."""
    includes, excludes = row["includes"], row["excludes"]
    return {"includes": includes} | ({"excludes": excludes} if excludes["matchers"] else {})


def _summary(seconds: list[float]) -> Updates:
    ordered = sorted(each * 1e6 for each in seconds)
    count = len(ordered)
    return Updates(ordered[count // 2], ordered[count * 9 // 10], sum(ordered) / count)
