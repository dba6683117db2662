"""Plain functions as handlers: each call has a thread of its own, so that the event loop goes on."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any


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
