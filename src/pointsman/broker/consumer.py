"""Consumers: who takes the deliveries of a subscription in this process, and how many at a time."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from pointsman.broker.received import Received
from pointsman.broker.threads import in_thread

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
