"""Loading without Python's collector of circular garbage, which takes a third of the time of a large table."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collector() -> Iterator[None]:
    """Keeps the collector from going through a million new objects again and again; it goes on afterwards.

    It stands still for all threads of the process meanwhile. Memory that only it could free waits as long.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
