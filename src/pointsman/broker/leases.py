"""Leases of what takes long: they are made longer, well before they end."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from pointsman.broker.committer import Committer
from pointsman.broker.consumer import Consumer
from pointsman.broker.outcomes import Outcomes
from pointsman.store.transaction import SECOND, Transaction

LOG = logging.getLogger("pointsman.broker")


class LeaseKeeper:
    """Keeps the leases of the deliveries that these consumers have in flight; belongs to one event loop."""

    def __init__(self, outcomes: Outcomes, committer: Committer, consumers: list[Consumer]) -> None:
        self._outcomes = outcomes
        self._committer = committer
        self._consumers = consumers
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins to look after them."""
        self._task = asyncio.create_task(self._run())

    def look_again(self) -> None:
        """There is a consumer more, whose leases may be shorter than the others'."""
        self._changed.set()

    async def stop(self) -> None:
        """Looks after them no more."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def extend(self, least: float) -> None:
        """Makes all leases longer that have ``least`` seconds left or less, or half of their length or less."""
        in_flight = [(consumer, received) for consumer in self._consumers for received in consumer.in_flight]
        before = [received.attempt for _, received in in_flight]

        def operation(transaction: Transaction) -> None:
            for consumer, received in in_flight:
                # By the queue's time, for the clock may have been set.
                left = received.attempt.stored.until - transaction.now
                if not received.settled and left <= max(consumer.lease / 2, least * SECOND):
                    length = consumer.lease + int(least * SECOND)
                    longer = self._outcomes.extended(transaction, received.attempt, length)
                    # At once, for it may be settled within the same transaction.
                    received.attempt = longer or received.attempt

        if not in_flight:
            return
        try:
            await self._committer.run(operation)
        except Exception:
            LOG.exception("leases could not be made longer")
            for (_, received), attempt in zip(in_flight, before, strict=True):
                received.attempt = attempt

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            pause = 0.25 * min((each.lease for each in self._consumers), default=60 * SECOND) / SECOND
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), pause)
            await self.extend(0.0)
