"""The one writer of a process: calls that come together share one transaction, and so one sync of the disk.

Whoever calls puts its operation in line. If nobody leads, it leads: it runs all that stand in line, commits once, tells
the others, and makes the first of those who came meanwhile the next leader. A call that nobody joins pays nothing for
it, for no thread but its own takes part.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock, get_ident
from typing import Any, Generic, TypeVar

import apsw

from pointsman.errors import StoreError
from pointsman.store import statements
from pointsman.store.connection import as_store_error, translated
from pointsman.store.transaction import Transaction

Result = TypeVar("Result")
Operation = Callable[[Transaction], Result]
GROUP = 1000
"""How many operations share a transaction at most, so that none waits for long."""


class Request(Generic[Result]):
    """An operation that stands in line, and what became of it."""

    __slots__ = ("done", "error", "gate", "leads", "operation", "result")

    def __init__(self, operation: Operation[Result] | None) -> None:
        self.operation = operation
        """None if the caller only wants to lead."""
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.gate: Lock | None = None
        """Held until the request is done, or its caller is to lead."""
        self.leads = False

    def run(self, transaction: Transaction) -> None:
        """Runs the operation, and keeps its result."""
        if self.operation is not None:
            self.result = self.operation(transaction)

    def outcome(self) -> Result:
        """The result; raises what went wrong."""
        if self.error is not None:
            raise self.error
        result: Result = self.result
        return result


class Writer:
    """Runs operations, each wholly or not at all; safe between threads."""

    def __init__(
        self,
        connection: apsw.Connection,
        path: str,
        clock: Callable[[], float],
        committed: Callable[[Transaction], None],
        undone: Callable[[], None],
    ) -> None:
        self.connection = connection
        self._path = path
        self._clock = clock
        self._committed = committed
        self._undone = undone
        self._mutex = Lock()
        self._line: deque[Request[Any]] = deque()
        self._led = False
        self._leader: int | None = None

    @property
    def is_led_by_caller(self) -> bool:
        """Whether the thread that asks is in the middle of a transaction of its own."""
        return self._leader == get_ident()

    def run(self, operation: Operation[Result]) -> Result:
        """What the operation gives, once it is on disk; raises what it raises, and then nothing of it is left."""
        request = Request(operation)
        self._enter(request)
        if not request.done:
            self._lead()
        return request.outcome()

    def run_many(self, operations: Sequence[Operation[Any]]) -> list[Request[Any]]:
        """Runs operations that may each fail by itself, and gives what became of them in their order."""
        requests = [Request(operation) for operation in operations]
        with self._leading():
            for start in range(0, len(requests), GROUP):
                self._run(requests[start : start + GROUP])
        return requests

    @contextmanager
    def exclusive(self) -> Iterator[Transaction]:
        """A transaction of the caller's own: committed at the end of the block, undone if that raises."""
        with self._leading(), translated(self._path):
            self.connection.execute(statements.BEGIN)
            try:
                transaction = Transaction(self.connection, self._clock)
                yield transaction
                transaction.finish()
                self.connection.execute(statements.COMMIT)
            except BaseException:
                self._roll_back()
                raise
            self._committed(transaction)

    @contextmanager
    def alone(self) -> Iterator[apsw.Connection]:
        """The connection outside any transaction, with nobody else writing through it."""
        with self._leading(), translated(self._path):
            yield self.connection

    def close(self) -> None:
        """Closes the connection, after what is being written."""
        with self._leading():
            self.connection.close()

    def _enter(self, request: Request[Any]) -> None:
        """Puts a request in line, and returns when it is done or its caller leads."""
        with self._mutex:
            self._line.append(request)
            if not self._led:
                self._led = True
                return
            request.gate = Lock()
            request.gate.acquire()
        try:
            request.gate.acquire()
        except BaseException:
            self._leave(request)
            raise

    def _leave(self, request: Request[Any]) -> None:
        """The caller was interrupted while it stood in line."""
        with self._mutex:
            if request in self._line:
                self._line.remove(request)
        if request.leads:
            self._hand_over()

    def _lead(self) -> None:
        with self._mutex:
            group = [self._line.popleft()]
            while self._line and self._line[0].operation is not None and len(group) < GROUP:
                group.append(self._line.popleft())
        try:
            self._run(group)
        finally:
            self._hand_over()

    @contextmanager
    def _leading(self) -> Iterator[None]:
        """The caller leads, for a purpose of its own."""
        request: Request[None] = Request(None)
        self._enter(request)
        with self._mutex:
            self._line.popleft()
        self._leader = get_ident()
        try:
            yield
        finally:
            self._leader = None
            self._hand_over()

    def _hand_over(self) -> None:
        with self._mutex:
            following = self._line[0] if self._line else None
            self._led = following is not None
            if following is not None and following.gate is not None:
                following.leads = True
                following.gate.release()

    def _run(self, group: list[Request[Any]]) -> None:
        """Runs requests in one transaction; each then has its result or its error."""
        try:
            self._commit(group)
        except BaseException as error:
            # What stopped this thread is not what the others did.
            ours = error if isinstance(error, Exception) else StoreError("store-failed", f"interrupted: {error!r}")
            for request in group:
                request.error = request.error or ours
            if not isinstance(error, Exception):
                raise
        finally:
            for request in group:
                request.done = True
                if request.gate is not None:
                    request.gate.release()

    def _commit(self, group: list[Request[Any]]) -> None:
        execute = self.connection.execute
        try:
            execute(statements.BEGIN)
        except apsw.Error as error:
            raise as_store_error(error, self._path) from error
        try:
            before = self.connection.total_changes()
            transaction = Transaction(self.connection, self._clock)
            if len(group) == 1:
                group[0].run(transaction)
            else:
                self._run_each(group, transaction)
            changed = transaction.is_shifted or self.connection.total_changes() != before
            if changed:
                transaction.finish()
            execute(statements.COMMIT)
        except BaseException as error:
            self._roll_back()
            if isinstance(error, apsw.Error | UnicodeDecodeError):
                raise as_store_error(error, self._path) from error
            raise
        if changed:
            self._committed(transaction)

    def _run_each(self, group: list[Request[Any]], transaction: Transaction) -> None:
        """Each in a part of the transaction of its own, so that one that fails leaves the others alone."""
        execute = self.connection.execute
        for request in group:
            numbers = transaction.numbers()
            execute(statements.SAVE)
            try:
                request.run(transaction)
            except Exception as error:
                if self.connection.in_transaction is False:
                    # SQLite itself has undone the whole of it, as it does when the disk is full.
                    raise
                execute(statements.UNDO)
                transaction.restore(numbers)
                self._undone()
                known = isinstance(error, apsw.Error | UnicodeDecodeError)
                request.error = as_store_error(error, self._path) if known else error
            execute(statements.RELEASE)

    def _roll_back(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute(statements.ROLLBACK)
        self._undone()
