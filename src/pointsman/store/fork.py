"""What happens to the queues that are open when the process forks."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Protocol


class Forked(Protocol):
    """What is open, and knows what to do about a fork."""

    def before_fork(self) -> None:
        """Before it, in the thread that forks."""

    def after_fork_in_parent(self) -> None:
        """After it, in the process that forked."""

    def after_fork_in_child(self) -> None:
        """After it, in the new process."""


OPEN: weakref.WeakSet[Forked] = weakref.WeakSet()


def _all() -> list[Forked]:
    while True:
        try:
            # In one order, as several threads may fork at a time.
            return sorted(OPEN, key=id)
        except RuntimeError:
            # Another thread has opened one meanwhile.
            continue


def _each(act: Callable[[Forked], None]) -> None:
    """Lets each act, also if others fail; then raises the first error, which Python writes to standard error."""
    errors: list[Exception] = []
    for each in _all():
        try:
            act(each)
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _before() -> None:
    _each(lambda each: each.before_fork())


def _in_parent() -> None:
    _each(lambda each: each.after_fork_in_parent())


def _in_child() -> None:
    _each(lambda each: each.after_fork_in_child())


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
