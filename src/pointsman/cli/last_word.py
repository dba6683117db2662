"""An error after which nothing more is said, whoever else goes on to write to the standard error stream.

Threads that talk to Java find out one by one that it does not answer, and each says so in pages.
"""

from __future__ import annotations

import io
import os
import sys
import threading

from pointsman.cli.output import show_error
from pointsman.errors import PointsmanError

# A signal may come while its own thread writes.
_WRITING = threading.RLock()


class _ErrorStream(io.TextIOWrapper):
    """A standard error stream that one thread writes to at a time.

    The lock is its own: Python's stream has none where PYTHONUNBUFFERED is set, and elsewhere one that a process cannot
    end without, though a thread in the middle of writing keeps it for ever then.
    """

    def write(self, text: str, /) -> int:
        with _WRITING:
            return super().write(text)


def errors_one_at_a_time() -> None:
    """From now on, threads of this process wait for each other to write to the standard error stream."""
    before = sys.stderr
    if before is sys.__stderr__ and isinstance(before, io.TextIOWrapper):
        file = open(before.fileno(), "wb", buffering=0, closefd=False)  # noqa: SIM115 - open while the process lives
        sys.stderr = _ErrorStream(file, before.encoding, before.errors, write_through=True)


def show_last(error: PointsmanError, *, as_json: bool) -> None:
    """Prints an error, and lets nothing that is written to the standard error stream be seen any more."""
    with os.fdopen(os.dup(2), "w", encoding="utf-8") as file:
        # A thread that is writing writes to the stream as it was, so it has to be done first.
        with _WRITING:
            _silence()
        # What it has written may be a part of a line.
        file.write("\n")
        show_error(error, as_json=as_json, file=file)


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
