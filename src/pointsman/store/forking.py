"""What happens to the queues that are open when the process forks."""

from __future__ import annotations

import os
import weakref
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
    # In one order, as several threads may fork at a time.
    return sorted(OPEN, key=id)


def _before() -> None:
    for each in _all():
        each.before_fork()


def _in_parent() -> None:
    for each in _all():
        each.after_fork_in_parent()


def _in_child() -> None:
    for each in _all():
        each.after_fork_in_child()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
