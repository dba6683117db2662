"""Dispatching: deliveries that are ready go to the consumers that are free, in one transaction for all of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from pointsman.broker.committer import Committer
from pointsman.broker.deliver import Consumer, Deliverer, LeaseKeeper, Received
from pointsman.broker.outcomes import Attempt, Outcomes
from pointsman.broker.timers import next_due
from pointsman.store.lease import messages_of
from pointsman.store.store import Store
from pointsman.store.transaction import Transaction
from pointsman.store.wakeup import LONGEST, Listener

LOG = logging.getLogger("pointsman.broker")
MOST_AT_ONCE = 100
"""Deliveries that one consumer takes in one transaction."""
Expire = Callable[[Transaction], None]
Tick = Callable[[], float]


class Dispatcher:
    """Takes deliveries for consumers and has them made; belongs to one event loop."""

    def __init__(self, store: Store, outcomes: Outcomes, committer: Committer, expire: Expire, tick: Tick) -> None:
        self._store = store
        self._outcomes = outcomes
        self._committer = committer
        self._expire = expire
        self._tick = tick
        self._consumers: list[Consumer] = []
        self._deliverer = Deliverer(outcomes, committer)
        self.leases = LeaseKeeper(outcomes, committer, self._consumers)
        self._woken = asyncio.Event()
        self._listener: Listener | None = None
        self._descriptor = -1
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self.rounds = 0
        """How often it has looked; so that a test can wait until it has."""
        self.found = False
        """Whether the last look found something to do."""
        self.due: float | None = None
        """After how many seconds there is something to do that only waits for the time."""

    def start(self) -> None:
        """Begins to look for deliveries."""
        with self._store.guarded():
            self._listener = self._store.bell.listen()
        self._descriptor = self._listener.fileno()
        asyncio.get_running_loop().add_reader(self._descriptor, self.wake)
        self._task = asyncio.create_task(self._run())
        self.leases.start()

    def wake(self) -> None:
        """Looks again, soon."""
        # It is closed, too, if somebody closed the queue.
        if self._listener is not None and self._listener.fileno() >= 0:
            self._listener.clear()
        self._woken.set()

    def add(self, consumer: Consumer) -> None:
        """A consumer takes deliveries from now on."""
        self._consumers.append(consumer)
        self.leases.look_again()
        self.wake()

    async def remove(self, consumer: Consumer) -> None:
        """A consumer takes no more; what it has in flight is given back."""
        self._consumers.remove(consumer)
        await self._give_back(consumer)

    @property
    def listener(self) -> str:
        """The name by which other processes find that this one is there; empty unless it is started."""
        return "" if self._listener is None else self._listener.name

    @property
    def subscriptions(self) -> set[int]:
        """The numbers of the subscriptions that have a consumer here."""
        return {consumer.subscription for consumer in self._consumers}

    @property
    def busy(self) -> bool:
        """Whether deliveries are being made, other than by callers who take their time."""
        return any(consumer.in_flight for consumer in self._consumers if not consumer.handed_over)

    async def stop(self, grace: float) -> None:
        """Takes no more, waits ``grace`` seconds for what is in flight, and gives back the rest."""
        self._stopping = True
        self.wake()
        try:
            if self._task is not None:
                await self._task
            tasks = [task for consumer in self._consumers for task in consumer.in_flight.values()]
            if tasks:
                await asyncio.wait(tasks, timeout=grace)
        finally:
            await asyncio.gather(*map(self._give_back, self._consumers))
            await self.leases.stop()
            self._close_listener()

    async def _run(self) -> None:
        while not self._stopping:
            self._woken.clear()
            try:
                wait = await self._look()
            except Exception:
                LOG.exception("the queue could not be read; trying again")
                wait = LONGEST
            self.found = wait <= 0
            self.rounds += 1
            wait = min(wait, self._tick(), LONGEST)
            if wait > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), wait)

    async def _look(self) -> float:
        """Takes what is ready, and gives how long there is nothing to do."""
        wanted = [(each, min(each.free, MOST_AT_ONCE)) for each in self._consumers if each.free > 0]

        def operation(transaction: Transaction) -> tuple[list[tuple[Consumer, Attempt | None]], float | None]:
            # Also for those whom this process has no consumers of: otherwise it would find them due again and again.
            self._store.settler.sweep(transaction)
            self._expire(transaction)
            taken = [
                (consumer, self._outcomes.begin(transaction, stored, consumer.destination))
                for consumer, count in wanted
                for stored in messages_of(
                    self._store.taker.first(transaction, consumer.subscription, count, consumer.lease)
                )
            ]
            return taken, next_due(transaction)

        taken, self.due = await self._committer.run(operation)
        gone: list[Received] = []
        for consumer, attempt in taken:
            if attempt is None:
                continue
            received = Received(attempt, self._deliverer.settle)
            if consumer in self._consumers:
                consumer.in_flight[received] = asyncio.create_task(self._deliver(consumer, received))
            else:
                gone.append(received)
        await self._deliverer.give_back(gone)
        if taken:
            return 0.0
        return LONGEST if self.due is None else self.due

    async def _deliver(self, consumer: Consumer, received: Received) -> None:
        try:
            await self._deliverer.deliver(consumer, received)
        finally:
            consumer.in_flight.pop(received, None)
            self._woken.set()

    async def _give_back(self, consumer: Consumer) -> None:
        deliveries = dict(consumer.in_flight)
        for task in deliveries.values():
            task.cancel()
        await asyncio.gather(*deliveries.values(), return_exceptions=True)
        await self._deliverer.give_back(deliveries)

    def _close_listener(self) -> None:
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            with self._store.guarded():
                self._listener.close()
            self._listener = None
