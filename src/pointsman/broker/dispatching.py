"""Dispatching: deliveries that are ready go to the consumers that are free, in one transaction for all of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial

from pointsman.broker.committer import Committer
from pointsman.broker.consumer import Consumer, as_answer
from pointsman.broker.destinations.interface import DeliveryFailed
from pointsman.broker.outcomes import Attempt, Outcomes
from pointsman.broker.received import Nack, Received, Reject
from pointsman.store.bell import LONGEST, Listener
from pointsman.store.store import Store
from pointsman.store.transaction import SECOND, Transaction

LOG = logging.getLogger("pointsman.broker")
MOST_AT_ONCE = 100
"""Deliveries that one consumer takes in one transaction."""


class Dispatcher:
    """Takes deliveries for consumers and settles them; belongs to one event loop."""

    def __init__(
        self, store: Store, outcomes: Outcomes, committer: Committer, expire: Callable[[Transaction], float | None]
    ) -> None:
        self._store = store
        self._outcomes = outcomes
        self._committer = committer
        self._expire = expire
        self._consumers: list[Consumer] = []
        self._woken = asyncio.Event()
        self._listener: Listener | None = None
        self._task: asyncio.Task[None] | None = None
        self._extending: asyncio.Task[None] | None = None
        self._stopping = False
        self.rounds = 0
        """How often it has looked; so that a test can wait until it has."""

    def start(self) -> None:
        """Begins to look for deliveries."""
        with self._store.guarded():
            self._listener = self._store.bell.listen()
        asyncio.get_running_loop().add_reader(self._listener.fileno(), self.wake)
        self._task = asyncio.create_task(self._run())
        self._extending = asyncio.create_task(self._keep_leases())

    def wake(self) -> None:
        """Looks again, soon."""
        if self._listener is not None:
            self._listener.clear()
        self._woken.set()

    def add(self, consumer: Consumer) -> None:
        """A consumer takes deliveries from now on."""
        self._consumers.append(consumer)
        self.wake()

    async def remove(self, consumer: Consumer) -> None:
        """A consumer takes no more; what it has in flight is given back."""
        self._consumers.remove(consumer)
        await self._give_back([*consumer.in_flight.items()])

    @property
    def subscriptions(self) -> set[int]:
        """The numbers of the subscriptions that have a consumer here."""
        return {consumer.subscription for consumer in self._consumers}

    @property
    def busy(self) -> bool:
        """Whether deliveries are being made that settle themselves when their handlers return."""
        return any(consumer.in_flight for consumer in self._consumers if not consumer.manual)

    async def stop(self, grace: float) -> None:
        """Takes no more, waits ``grace`` seconds for what is in flight, and gives back the rest."""
        self._stopping = True
        self.wake()
        if self._task is not None:
            await self._task
        tasks = [task for consumer in self._consumers for task in consumer.in_flight.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=grace)
        for consumer in self._consumers:
            await self._give_back([*consumer.in_flight.items()])
        if self._extending is not None:
            self._extending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._extending
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener.fileno())
            with self._store.guarded():
                self._listener.close()

    async def settle(self, received: Received, error: Exception | None, answer: object) -> bool:
        """Says what became of a delivery; False if it was said already, or the lease was lost."""
        if received.settled:
            return False
        received.settled = True
        if error is None:
            try:
                body = as_answer(answer)
            except (TypeError, ValueError) as problem:
                error = Reject(f"what the handler returned cannot be an answer: {problem}")
            else:
                return await self._committer.run(
                    lambda transaction: self._outcomes.succeeded(transaction, received.attempt, body)
                )
        retry, after, text = _read_failure(error)
        LOG.info("delivery %s failed: %s", received.delivery_id, text)
        return await self._committer.run(
            lambda transaction: self._outcomes.failed(transaction, received.attempt, text, retry=retry, after=after)
        )

    async def _run(self) -> None:
        while not self._stopping:
            self._woken.clear()
            try:
                wait = await self._look()
            except Exception:
                LOG.exception("the queue could not be read; trying again")
                wait = LONGEST
            self.rounds += 1
            if wait > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), min(wait, LONGEST))

    async def _look(self) -> float:
        """Takes what is ready, and gives how long there is nothing to do."""
        wanted = [(each, min(each.free, MOST_AT_ONCE)) for each in self._consumers if each.free > 0]

        def operation(transaction: Transaction) -> tuple[list[tuple[Consumer, Attempt]], float | None]:
            wait = self._expire(transaction)
            taken: list[tuple[Consumer, Attempt]] = []
            for consumer, count in wanted:
                for stored in self._store.taker.first(transaction, consumer.subscription, count, consumer.lease):
                    attempt = self._outcomes.begin(transaction, stored, consumer.destination)
                    if attempt is not None:
                        taken.append((consumer, attempt))
            return taken, wait

        taken, wait = await self._committer.run(operation)
        for consumer, attempt in taken:
            received = Received(attempt, self.settle)
            consumer.in_flight[received] = asyncio.create_task(self._deliver(consumer, received))
        if taken:
            return 0.0
        return LONGEST if wait is None else wait

    async def _deliver(self, consumer: Consumer, received: Received) -> None:
        try:
            answer = await consumer.act(received)
            if not consumer.manual:
                await self.settle(received, None, answer)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            if not isinstance(error, Nack | Reject | DeliveryFailed):
                LOG.warning("the handler of %s failed", consumer.name, exc_info=error)
            try:
                await self.settle(received, error, None)
            except Exception:
                LOG.exception("delivery %s could not be settled; its lease will run out", received.delivery_id)
        finally:
            consumer.in_flight.pop(received, None)
            self._woken.set()

    async def _give_back(self, deliveries: list[tuple[Received, asyncio.Task[None]]]) -> None:
        for _, task in deliveries:
            task.cancel()
        await asyncio.gather(*(task for _, task in deliveries), return_exceptions=True)
        for received, _ in deliveries:
            if not received.settled:
                received.settled = True
                await self._committer.run(partial(self._gave_back, received))

    def _gave_back(self, received: Received, transaction: Transaction) -> bool:
        return self._outcomes.gave_back(transaction, received.attempt)

    async def _keep_leases(self) -> None:
        """Makes the leases of what takes long longer, well before they end."""
        while True:
            await asyncio.sleep(0.25 * min((each.lease for each in self._consumers), default=SECOND) / SECOND)
            for consumer in self._consumers:
                for received in list(consumer.in_flight):
                    if not received.settled and self._is_old(consumer, received):
                        await self._extend(consumer, received)

    def _is_old(self, consumer: Consumer, received: Received) -> bool:
        now = self._store.settings.clock() * SECOND
        return bool(received.attempt.stored.until - now < consumer.lease / 2)

    async def _extend(self, consumer: Consumer, received: Received) -> None:
        def operation(transaction: Transaction) -> None:
            longer = self._outcomes.extended(transaction, received.attempt, consumer.lease)
            # At once, for it may be settled within the same transaction.
            received.attempt = longer or received.attempt

        try:
            await self._committer.run(operation)
        except Exception:
            LOG.exception("the lease of %s could not be made longer", received.delivery_id)


def _read_failure(error: Exception) -> tuple[bool, float | None, str]:
    """Whether to try again, after how long, and what is kept as the error."""
    if isinstance(error, Nack):
        return True, error.delay, str(error)
    if isinstance(error, Reject):
        return False, None, str(error)
    if isinstance(error, DeliveryFailed):
        return error.retry, error.after, error.reason
    return True, None, f"{type(error).__name__}: {error}"
