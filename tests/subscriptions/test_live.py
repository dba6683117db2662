"""What a process knows of subscriptions follows the file: what is committed, and nothing that was undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from pointsman.conditions import Matcher
from pointsman.store.queue import Queue
from pointsman.store.transaction import Transaction
from pointsman.subscriptions.limits import LIMITS
from pointsman.subscriptions.live import LiveSubscriptions
from pointsman.subscriptions.registry import Registry
from pointsman.subscriptions.storing import Storing
from tests.subscriptions.test_registry import made


def found(live: LiveSubscriptions, transaction: Transaction, region: str) -> list[str]:
    """The ids of the subscriptions that match within a transaction."""
    resolver = live.resolver(transaction)
    if resolver is None:
        return []
    resolver.resolve("m", "a", {"region": region})
    return [match.id for match in resolver.matches("m")]


def create(transaction: Transaction, id: str, region: str) -> None:
    """A subscription, within a transaction."""
    storing = Storing(transaction, LIMITS)
    storing.add(made(id, condition=Matcher("region", region)))
    storing.finish()


def test_within_a_transaction_what_others_have_committed_is_found(queue: Queue, registry: Registry) -> None:
    """Also if it has changed something itself before it asks."""
    live = LiveSubscriptions(queue.store)
    assert queue.store.write(lambda transaction: found(live, transaction, "EU")) == []
    for number in range(3):
        registry.create(made(str(number)))

        def both(transaction: Transaction) -> list[str]:
            queue.store.putter(transaction).put_each([(b"", "key")])
            assert not transaction.is_unchanged
            return found(live, transaction, "EU")

        expected = [str(each) for each in range(number + 1)]
        asked = both if number % 2 else lambda transaction: found(live, transaction, "EU")
        assert queue.store.write(asked) == expected


def test_what_was_undone_is_not_known(queue: Queue, registry: Registry) -> None:
    """A transaction that made a subscription, and resolved with it, failed; another one has its place now."""
    registry.create(made("first"))
    live = LiveSubscriptions(queue.store)
    queue.store.write(lambda transaction: found(live, transaction, "EU"))

    def fails(transaction: Transaction) -> None:
        create(transaction, "undone", "US")
        found(live, transaction, "US")
        raise RuntimeError("it is all undone")

    with pytest.raises(RuntimeError, match="undone"):
        queue.store.write(fails)
    queue.store.write(lambda transaction: create(transaction, "second", "ASIA"))
    assert queue.store.write(lambda transaction: found(live, transaction, "ASIA")) == ["second"]
    assert queue.store.write(lambda transaction: found(live, transaction, "US")) == []
    assert queue.store.write(lambda transaction: found(live, transaction, "EU")) == ["first"]


def test_a_file_that_was_replaced_by_an_older_one_is_read_anew(tmp_path: Path) -> None:
    """Its version is lower than what is known."""
    with Queue(tmp_path / "queue.db") as queue:
        registry, live = Registry(queue.store), LiveSubscriptions(queue.store)
        registry.create(made("one"))
        registry.create(made("two"))
        assert queue.store.write(lambda transaction: found(live, transaction, "EU")) == ["one", "two"]

        def back(transaction: Transaction) -> None:
            transaction.execute("DELETE FROM wildcard_use WHERE subscription = 2")
            transaction.execute("DELETE FROM wildcard_subscription WHERE number = 2")
            transaction.execute("UPDATE wildcard_control SET version = 1, subscriptions = 1")

        queue.store.write(back)
        assert queue.store.write(lambda transaction: found(live, transaction, "EU")) == ["one"]
