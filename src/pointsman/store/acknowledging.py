"""Acknowledging many deliveries at a time: those that were popped together are done together."""

from __future__ import annotations

import json
from collections.abc import Iterable

from pointsman.store import statements
from pointsman.store.settling import Settler
from pointsman.store.stored import StoredMessage
from pointsman.store.transaction import Transaction

Batch = tuple[int, int, int]
"""Until, subscription and token: what deliveries that were popped together share."""


def acknowledge(settler: Settler, transaction: Transaction, messages: Iterable[StoredMessage]) -> int:
    """Ends these deliveries, and gives how many of the leases were still held."""
    batches: dict[Batch, list[StoredMessage]] = {}
    for each in messages:
        batches.setdefault((each.until, each.subscription, each.token), []).append(each)
    return sum(_acknowledge(settler, transaction, batch, each) for batch, each in batches.items())


def _acknowledge(settler: Settler, transaction: Transaction, batch: Batch, messages: list[StoredMessage]) -> int:
    if len(messages) == 1 or any(each.via for each in messages):
        # A message that came by several routes is done once for each of them.
        count = 0
        for each in messages:
            receipt = (each.until, each.subscription, each.sequence, each.via, each.token)
            if settler.take(transaction, receipt) is not None:
                settler.done(transaction, each.sequence)
                count += 1
        return count
    sequences = json.dumps([each.sequence for each in messages])
    ended = [row[0] for row in transaction.rows(statements.LEASED_TAKE_MANY, (*batch, sequences))]
    settler.done_many(transaction, ended)
    return len(ended)
