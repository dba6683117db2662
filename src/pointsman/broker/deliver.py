"""Delivering: a handler gets a message (``Received``), its lease is kept, and what became of it is written."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import json
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pointsman.broker.committer import Committer
from pointsman.broker.outcomes import Attempt, Outcomes
from pointsman.destinations.base import DeliveryFailed
from pointsman.errors import PointsmanError, StoreError
from pointsman.message import Message
from pointsman.store.transaction import SECOND, Transaction


async def in_thread(function: Callable[[Any], Any], given: Any) -> Any:
    """What the function gives; raises what it raises.

    A thread cannot be stopped: when the caller is cancelled it goes on, and what comes of it is dropped. It does not
    keep the process from ending.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def tell(result: Any, error: Exception | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def run() -> None:
        result: Any = None
        error: Exception | None = None
        try:
            result = context.run(function, given)
        except BaseException as raised:
            # A future cannot hold the end of an iteration, and what ends a thread must not end the event loop.
            if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
                error = raised
            else:
                error = RuntimeError(repr(raised))
        with contextlib.suppress(RuntimeError):  # The loop is closed: nobody waits any more.
            loop.call_soon_threadsafe(tell, result, error)

    threading.Thread(target=run, name="pointsman-handler", daemon=True).start()
    return await future


# -- what a handler gets: a message, and the means to say what became of it


class Received:
    """A message on its way to one handler."""

    __slots__ = ("_settle", "attempt", "message", "settled")

    def __init__(self, attempt: Attempt, settle: Callable[[Received, Exception | None, Any], Awaitable[bool]]) -> None:
        self.attempt = attempt
        self.message: Message = attempt.stored.message
        self.settled = False
        """Whether it was acknowledged or given back."""
        self._settle = settle

    @property
    def subject(self) -> str:
        """The subject, after translation."""
        return self.message.subject

    @property
    def body(self) -> bytes:
        """The body."""
        return self.message.body

    @property
    def metadata(self) -> Mapping[str, str]:
        """The metadata."""
        return self.message.metadata

    @property
    def id(self) -> str:
        """The id of the message."""
        return self.message.id

    @property
    def attempts(self) -> int:
        """How often it was tried, this time included."""
        return self.attempt.stored.attempts

    @property
    def subscriptions(self) -> tuple[str, ...]:
        """The ids of the wildcard subscriptions that made this delivery, up to 100; none if something else did."""
        return self.attempt.subscriptions

    @property
    def delivery_id(self) -> str:
        """The same for each attempt of the same delivery, and for no other."""
        stored = self.attempt.stored
        where = self.attempt.destination or str(stored.subscription)
        return f"{stored.id}/{self.attempt.route}/{where}"

    def json(self) -> Any:
        """The body, read as JSON. Raises ``MessageError`` (``bad-json``), which is a ``ValueError``."""
        return self.message.json()

    async def ack(self, answer: object = None) -> bool:
        """It is done, and never comes again; False if the lease was lost. ``answer`` is as what a handler returns."""
        return await self._settle(self, None, answer)

    async def nack(self, error: str = "given back by its handler", *, delay: float | None = None) -> bool:
        """It failed: it comes again after ``delay`` seconds, by default after the queue's backoff."""
        return await self._settle(self, Nack(error, delay), None)


class Nack(Exception):  # noqa: N818, as it is no error of the program
    """Raised by a handler to have its message again; after ``delay`` seconds, if that is given."""

    def __init__(self, error: str, delay: float | None = None) -> None:
        super().__init__(error)
        self.delay = delay


class Reject(Exception):  # noqa: N818, as it is no error of the program
    """Raised by a handler for a message that can never succeed: it becomes a dead letter at once."""


# -- consumers: who takes the deliveries of a subscription in this process, and how many at a time


Act = Callable[[Received], Awaitable[Any]]
Handler = Callable[[Received], Any]


@dataclass(slots=True, eq=False)
class Consumer:
    """One who takes deliveries."""

    subscription: int
    """Its number."""
    name: str
    act: Act
    destination: str = ""
    """The name of the destination that it is, if it is one."""
    concurrency: int = 1
    lease: int = 0
    """In microseconds."""
    manual: bool = False
    """Whether the handler itself says what became of the message."""
    handed_over: bool = False
    """Whether messages wait for a caller to ask for them, who takes his time."""
    in_flight: dict[Received, asyncio.Task[None]] = field(default_factory=dict)

    @property
    def free(self) -> int:
        """How many more it can take now."""
        return self.concurrency - len(self.in_flight)


def as_act(handler: Handler) -> Act:
    """A handler as a coroutine; a plain function runs in a thread, so that it does not keep the others waiting."""
    if inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None)):  # noqa: B004
        return handler

    async def act(received: Received) -> Any:
        returned = await in_thread(handler, received)
        return await returned if inspect.isawaitable(returned) else returned

    return act


def as_answer(returned: object) -> bytes | None:
    """What a handler returned, as the body of an answer: bytes, text, or else JSON; None is no answer.

    Raises ``TypeError``, ``ValueError`` or ``RecursionError`` for what JSON cannot hold.
    """
    if returned is None or isinstance(returned, bytes):
        return returned
    if isinstance(returned, str):
        return returned.encode()
    return json.dumps(returned, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


# -- leases of what takes long: they are made longer, well before they end


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


# -- delivering: a handler gets a message, and what became of it is written


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
