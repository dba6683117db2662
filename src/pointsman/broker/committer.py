"""Writing from an event loop: what its tasks write at a time shares one transaction, made in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from pointsman.store.store import Store
from pointsman.store.transaction import Transaction

Result = TypeVar("Result")
Waiting = tuple[Callable[[Transaction], Any], "asyncio.Future[Any]"]


class Committer:
    """Runs operations of the tasks of one event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pointsman-writer")
        self._waiting: list[Waiting] = []
        self._busy = False

    async def run(self, operation: Callable[[Transaction], Result]) -> Result:
        """What the operation gives, once it is on disk; raises what it raises, and then nothing of it is left.

        A task that is cancelled meanwhile does not know whether it was done.
        """
        future: asyncio.Future[Result] = self._loop.create_future()
        self._waiting.append((operation, future))
        if not self._busy:
            self._busy = True
            # In the next turn of the loop, so that all that is ready now takes part.
            self._loop.call_soon(self._start)
        return await future

    def close(self) -> None:
        """Ends the thread, after what it is writing."""
        self._thread.shutdown(wait=True)

    def _start(self) -> None:
        group, self._waiting = self._waiting, []
        self._thread.submit(self._write, group)

    def _write(self, group: list[Waiting]) -> None:
        try:
            requests = self._store.write_many([operation for operation, _ in group])
            outcomes = [(request.result, request.error) for request in requests]
        except Exception as error:
            outcomes = [(None, error)] * len(group)
        futures = [future for _, future in group]
        self._loop.call_soon_threadsafe(self._tell, futures, outcomes)

    def _tell(self, futures: list[asyncio.Future[Any]], outcomes: list[tuple[Any, BaseException | None]]) -> None:
        for future, (result, error) in zip(futures, outcomes, strict=True):
            if future.done():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
        if self._waiting:
            self._start()
        else:
            self._busy = False
