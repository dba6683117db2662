"""The one writer of a process: calls that come together share one transaction, and so one sync of the disk.

Whoever calls puts its operation in line. If nobody leads, it leads: it runs all that stand in line, commits once, tells
the others, and makes the first of those who came meanwhile the next leader. A call that nobody joins pays nothing for
it, for no thread but its own takes part.

A caller may be interrupted anywhere, as by a key that ends the program. So each step can be repeated: a request leaves
the line only when it is done or its caller gave it up, and whoever leads next undoes what was left open.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock, get_ident
from typing import Any, Generic, TypeVar

import apsw

from pointsman.errors import StoreError
from pointsman.store import statements
from pointsman.store.connection import Place, as_store_error, translated
from pointsman.store.room import Room
from pointsman.store.transaction import Transaction

Result = TypeVar("Result")
Operation = Callable[[Transaction], Result]


class Request(Generic[Result]):
    """An operation that stands in line, and what became of it."""

    __slots__ = ("error", "gate", "group", "operation", "result")

    def __init__(self, operation: Operation[Result] | None) -> None:
        self.operation = operation
        """None if the caller only wants to lead."""
        self.result: Any = None
        self.error: BaseException | None = None
        self.group: Group | None = None
        """Those with whom it was last run."""
        self.gate: Lock | None = None
        """Held until the request is done, or its caller is to lead."""

    @property
    def is_done(self) -> bool:
        """Whether it is known what became of it."""
        return self.group is not None and self.group.is_settled

    def run(self, transaction: Transaction) -> None:
        """Runs the operation, and keeps its result."""
        self.error = None
        if self.operation is not None:
            self.result = self.operation(transaction)

    def wake(self) -> None:
        """Lets the caller go on; to do so twice is no mistake."""
        if self.gate is not None:
            with suppress(RuntimeError):
                self.gate.release()

    def outcome(self) -> Result:
        """The result; raises what went wrong."""
        if self.error is not None:
            raise self.error
        result: Result = self.result
        return result


class Group:
    """Requests that are run in one transaction, and are all done at the same instant."""

    __slots__ = ("is_settled", "requests")

    def __init__(self, requests: Sequence[Request[Any]]) -> None:
        self.requests = requests
        self.is_settled = False
        for request in requests:
            request.group = self


Given = TypeVar("Given")
GROUP = 1000
"""How many operations share a transaction at most, so that none waits for long."""


class Writer:
    """Runs operations, each wholly or not at all; safe between threads."""

    def __init__(
        self,
        connection: apsw.Connection,
        path: str,
        clock: Callable[[], float],
        committed: Callable[[Transaction], None],
        undone: Callable[[], None],
        room: Room | None,
    ) -> None:
        self.connection = connection
        self._room = room
        self._path = path
        self._clock = clock
        self._committed = committed
        self._undone = undone
        self._mutex = Lock()
        self._line: deque[Request[Any]] = deque()
        self._leader: object | None = None
        self._owner: int | None = None
        self._place = Place(path)

    @property
    def is_led_by_caller(self) -> bool:
        """Whether the thread that asks is in the middle of a transaction of its own."""
        return self._owner == get_ident()

    def run(self, operation: Operation[Result]) -> Result:
        """What the operation gives, once it is on disk; raises what it raises, and then nothing of it is left."""
        request = Request(operation)
        try:
            self._enter(request)
            if not request.is_done:
                self._lead()
                self._leave(request)
        except BaseException:
            self._leave(request)
            raise
        return request.outcome()

    def run_alone(self, step: Callable[[apsw.Connection, Given], Result | None], given: Given) -> Result | None:
        """What a step gives that makes a transaction by itself, or else changes nothing; None if another call writes.

        Raises what the step raises, and ``StoreError``; then nothing of it is left.
        """
        # Not a request, as nobody waits for it; but another one each time, so that it is known whose lead it is.
        lead = object()
        try:
            result = None
            with self._mutex:
                if self._leader is None:
                    self._leader = lead
            if self._leader is lead:
                self._owner = get_ident()
                connection = self.connection
                # A transaction that is open was left so by somebody who was interrupted before it could undo it.
                if not connection.in_transaction:
                    if self._room is not None and self._room.is_needed:
                        self._begin()
                        connection.execute(statements.COMMIT)
                    result = step(connection, given)
                    if result is not None:
                        # After the commit: what was written into a file that is gone is lost, and must not look done.
                        self._place.check(connection)
                self._leave(lead)
        except BaseException as error:
            if self._leader is lead and self.connection.in_transaction:
                self._roll_back()
            self._leave(lead)
            if isinstance(error, apsw.Error | UnicodeDecodeError):
                raise as_store_error(error, self._path) from error
            raise
        return result

    def run_many(self, operations: Sequence[Operation[Any]]) -> list[Request[Any]]:
        """Runs operations that may each fail by itself, and gives what became of them in their order."""
        requests = [Request(operation) for operation in operations]
        with self._leading():
            for start in range(0, len(requests), GROUP):
                self._run(Group(requests[start : start + GROUP]))
        return requests

    @contextmanager
    def exclusive(self) -> Iterator[Transaction]:
        """A transaction of the caller's own: committed at the end of the block, undone if that raises."""
        with self._leading(), translated(self._path):
            try:
                self._begin()
                transaction = Transaction(self.connection, self._clock)
                transaction.list_new()
                yield transaction
                transaction.finish()
                self.connection.execute(statements.COMMIT)
            except BaseException:
                self._roll_back()
                raise
            self._place.check(self.connection)
            self._committed(transaction)

    @contextmanager
    def alone(self) -> Iterator[apsw.Connection]:
        """The connection outside any transaction, with nobody else writing through it."""
        with self._leading(), translated(self._path):
            yield self.connection

    def watch_log(self) -> None:
        """Room in the log is made anew, as it was cut off; only by who has the connection alone."""
        if self._room is not None:
            self._room.watch(self.connection)

    def close(self) -> None:
        """Closes the connection, after what is being written."""
        with self._leading():
            self.connection.close()

    def _enter(self, request: Request[Any]) -> None:
        """Puts a request in line, and returns when it is done or its caller leads.

        Raises ``StoreError`` (``store-nested``) if the caller would wait for itself.
        """
        if self.is_led_by_caller:
            problem = "it was called by the thread that is in the middle of a transaction of it"
            raise StoreError("store-nested", problem, file=self._path)
        with self._mutex:
            self._line.append(request)
            if self._leader is None:
                self._leader = request
                return
            request.gate = gate = Lock()
            gate.acquire()
        gate.acquire()

    def _lead(self) -> None:
        """Runs those in line, up to the next who wants to lead for a purpose of its own."""
        with self._mutex:
            requests: list[Request[Any]] = []
            for request in self._line:
                if request.operation is None or len(requests) == GROUP:
                    break
                requests.append(request)
            group = Group(requests)
        self._owner = get_ident()
        self._run(group)

    @contextmanager
    def _leading(self) -> Iterator[None]:
        """The caller leads, for a purpose of its own."""
        request: Request[None] = Request(None)
        try:
            self._enter(request)
            self._owner = get_ident()
            yield
            self._leave(request)
        except BaseException:
            self._leave(request)
            raise

    def _leave(self, request: object) -> None:
        """A request's caller goes: wakes those who are done, and the next leader. May be called again."""
        line = self._line
        with self._mutex:
            if self._leader is request:
                self._owner = None
                if not line:
                    self._leader = None
                    return
                while line and (line[0] is request or line[0].is_done):
                    line[0].wake()
                    line.popleft()
                self._leader = line[0] if line else None
            elif isinstance(request, Request) and request in line and not request.is_done:
                line.remove(request)
            if isinstance(self._leader, Request):
                self._leader.wake()

    def _run(self, group: Group) -> None:
        """Runs requests in one transaction; each then has its result or its error.

        Raises only what interrupted the caller. Unless they were committed by then, the others are run by who leads
        next.
        """
        try:
            self._commit(group)
        except Exception as error:
            for request in group.requests:
                request.error = request.error or error
            group.is_settled = True

    def _commit(self, group: Group) -> None:
        is_last = False
        try:
            self._begin()
            before = self.connection.total_changes()
            transaction = Transaction(self.connection, self._clock)
            transaction.list_new()
            if len(group.requests) == 1:
                group.requests[0].run(transaction)
            else:
                self._run_each(group.requests, transaction)
            counted = transaction.is_counted(self.connection.total_changes() - before)
            if counted:
                transaction.finish()
            is_last = True
            self.connection.execute(statements.COMMIT)
            group.is_settled = True
        except BaseException as error:
            if is_last and not isinstance(error, Exception) and not self.connection.in_transaction:
                # The interruption came after the commit.
                group.is_settled = True
                raise
            self._roll_back()
            if isinstance(error, apsw.Error | UnicodeDecodeError):
                raise as_store_error(error, self._path) from error
            raise
        self._place.check(self.connection)
        if counted:
            self._committed(transaction)

    def _begin(self) -> None:
        if self.connection.in_transaction:
            # Somebody was interrupted before it could undo it.
            self._roll_back()
        self._place.check(self.connection)
        self.connection.execute(statements.BEGIN)
        if self._room is not None and self._room.is_needed:
            self._room.make()

    def _run_each(self, group: Sequence[Request[Any]], transaction: Transaction) -> None:
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
        self._undone()
        if self.connection.in_transaction:
            self.connection.execute(statements.ROLLBACK)
