"""A call that stands in line to be written, and those with whom it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any, Generic, TypeVar

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
