"""Dead letters of one message may be more than a page."""

from __future__ import annotations

from functools import partial

from pointsman import Pattern
from pointsman.store import inspect
from pointsman.store.maintenance import PAGE
from pointsman.store.message import StoredMessage
from pointsman.store.pop import receipt
from pointsman.store.queue import Queue
from pointsman.store.subscriptions import add_subscription
from pointsman.store.transaction import Transaction


def test_all_letters_of_the_first_message_are_requeued() -> None:
    """Also when they alone are more than are moved in one transaction."""
    with Queue(":memory:", max_attempts=1) as queue:
        with queue.store.exclusive() as transaction:
            for number in range(PAGE + 5):
                add_subscription(transaction, f"s{number}", Pattern("a.#", "amqp"), "amqp")
        queue.put(b"x", "a.b")
        messages = [queue.pop(subscription=f"s{number}") for number in range(PAGE + 5)]
        queue.store.write_many([partial(_give_up, queue, message) for message in messages])
        assert queue.size().dead == PAGE + 5
        assert queue.requeue() == PAGE + 5
        assert queue.size().dead == 0


def _give_up(queue: Queue, message: StoredMessage, transaction: Transaction) -> None:
    leased = queue.store.settler.take(transaction, receipt(message))
    assert leased is not None
    queue.store.settler.give_up(transaction, leased, "no")


def test_the_sizes_of_all_subscriptions_are_those_of_each() -> None:
    """Counted in one go, for thousands of them."""
    with Queue(":memory:", max_attempts=1) as queue:
        queue.subscribe("eu", "orders.eu.#")
        queue.subscribe("none", "nothing")
        for _ in range(3):
            queue.put(b"x", "orders.eu.new")
        queue.put(b"later", "orders.us", delay=60)
        taken = queue.pop_many(2, subscription="eu")
        queue.nack(taken[0], error="no")
        assert inspect.sizes(queue.store) == {"": (3, 1, 0, 0), "eu": (1, 0, 1, 1), "none": (0, 0, 0, 0)}
        for name, counts in inspect.sizes(queue.store).items():
            assert queue.size(name)[:4] == counts
        assert inspect.last_number(queue.store) == 4
