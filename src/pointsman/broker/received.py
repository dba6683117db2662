"""What a handler gets: a message, and the means to say what became of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pointsman.broker.outcomes import Attempt
from pointsman.message import Message


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
