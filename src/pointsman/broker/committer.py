"""Writing from an event loop: what its tasks write at a time shares one transaction, made in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from pointsman.errors import StoreError
from pointsman.store.store import Store
from pointsman.store.transaction import Transaction

Result = TypeVar("Result")
Waiting = tuple[Callable[[Transaction], Any], "asyncio.Future[Any]"]


class Committer:
    """Runs operations of the tasks of one event loop, in the order in which they are given."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pointsman-writer")
        self._waiting: list[Waiting] = []
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False

    def submit(self, operation: Callable[[Transaction], Result]) -> asyncio.Future[Result]:
        """What the operation will give, once it is on disk, or raise, and then nothing of it is left.

        Raises ``StoreError`` (``store-closed``).
        """
        if self._closed:
            raise StoreError("store-closed", "the broker is closed")
        future: asyncio.Future[Result] = self._loop.create_future()
        self._waiting.append((operation, future))
        if self._idle.is_set():
            self._idle.clear()
            # In the next turn of the loop, so that all that is ready now takes part.
            self._loop.call_soon(self._start)
        return future

    async def run(self, operation: Callable[[Transaction], Result]) -> Result:
        """Submits an operation and waits for it; a task that is cancelled meanwhile does not know if it was done."""
        return await self.submit(operation)

    async def close(self) -> None:
        """Takes no more, writes what was submitted, and ends the thread."""
        self._closed = True
        await self._idle.wait()
        self._thread.shutdown(wait=True)

    def _start(self) -> None:
        group, self._waiting = self._waiting, []
        self._thread.submit(self._write, group)

    def _write(self, group: list[Waiting]) -> None:
        outcomes: list[tuple[Any, BaseException | None]]
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
            self._idle.set()
