"""Delivering: a handler gets a message, and what became of it is written."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from functools import partial

from pointsman.broker.committer import Committer
from pointsman.broker.consumer import Consumer, as_answer
from pointsman.broker.destinations.interface import DeliveryFailed
from pointsman.broker.outcomes import Outcomes
from pointsman.broker.received import Nack, Received, Reject
from pointsman.errors import PointsmanError, StoreError
from pointsman.store.transaction import Transaction

LOG = logging.getLogger("pointsman.broker")


class Deliverer:
    """Makes deliveries and settles them; belongs to one event loop."""

    def __init__(self, outcomes: Outcomes, committer: Committer) -> None:
        self._outcomes = outcomes
        self._committer = committer

    async def deliver(self, consumer: Consumer, received: Received) -> None:
        """Hands a message over and writes what became of it; what cannot be written is left to its lease."""
        failure: Exception | None = None
        answer: object = None
        try:
            answer = await consumer.act(received)
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            failure = RuntimeError("something that the handler waited for was cancelled")
        except Exception as error:
            failure = error
        if failure is not None and not isinstance(failure, Nack | Reject | DeliveryFailed):
            LOG.warning("the handler of %s failed", consumer.name, exc_info=failure)
        if failure is not None or not consumer.manual:
            await self._write(received, failure, answer)

    async def settle(self, received: Received, error: Exception | None, answer: object) -> bool:
        """Says what became of a delivery; False if it was said already, or the lease was lost.

        Raises ``StoreError``, and what publishing the answer raises; then it can be said again.
        """
        if received.settled:
            return False
        received.settled = True
        try:
            return await self._settle(received, error, answer)
        except Exception:
            received.settled = False
            raise

    async def give_back(self, deliveries: Iterable[Received]) -> None:
        """Makes these ready again, as if they had never been taken."""
        left = [each for each in deliveries if not each.settled]
        for each in left:
            each.settled = True
        outcomes = await asyncio.gather(
            *(self._committer.run(partial(self._gave_back, each)) for each in left), return_exceptions=True
        )
        for received, outcome in zip(left, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                LOG.error("delivery %s could not be given back; its lease will run out", received.delivery_id)

    async def _write(self, received: Received, failure: Exception | None, answer: object) -> None:
        try:
            try:
                await self.settle(received, failure, answer)
            except PointsmanError as problem:
                if isinstance(problem, StoreError):
                    raise
                await self.settle(received, Reject(f"what follows from it cannot be published: {problem}"), None)
        except Exception:
            LOG.exception("delivery %s could not be settled; its lease will run out", received.delivery_id)

    async def _settle(self, received: Received, error: Exception | None, answer: object) -> bool:
        if error is None:
            try:
                body = as_answer(answer)
            except (TypeError, ValueError, RecursionError) as problem:
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

    def _gave_back(self, received: Received, transaction: Transaction) -> bool:
        return self._outcomes.gave_back(transaction, received.attempt)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _read_failure(error: Exception) -> tuple[bool, float | None, str]:
    """Whether to try again, after how long, and what is kept as the error."""
    if isinstance(error, Nack):
        return True, error.delay, str(error)
    if isinstance(error, Reject):
        return False, None, str(error)
    if isinstance(error, DeliveryFailed):
        return error.retry, error.after, error.reason
    return True, None, f"{type(error).__name__}: {error}"
