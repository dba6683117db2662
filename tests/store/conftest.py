"""Queues for the tests: on a file and in memory, with a clock that goes only when it is told to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pointsman.store.queue import Queue
from tests.store.clock import Clock

Open = Callable[..., Queue]


@pytest.fixture
def clock() -> Clock:
    """The clock of the queues that ``open_queue`` and ``open_file`` give."""
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file of ``open_file`` is."""
    return tmp_path / "queue.db"


@pytest.fixture
def open_file(path: Path, clock: Clock) -> Iterator[Open]:
    """Opens the same file each time, with any settings; what was opened is closed at the end."""
    with_settings = _Opener(clock)
    yield lambda **settings: with_settings(path, settings)
    with_settings.close()


@pytest.fixture(params=["file", "memory"])
def open_queue(request: pytest.FixtureRequest, path: Path, clock: Clock) -> Iterator[Open]:
    """Opens a queue with any settings, on a file and in memory."""
    with_settings = _Opener(clock)
    yield lambda **settings: with_settings(path if request.param == "file" else ":memory:", settings)
    with_settings.close()


@pytest.fixture
def queue(open_queue: Open) -> Queue:
    """A queue with the default settings."""
    return open_queue()


class _Opener:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._opened: list[Queue] = []

    def __call__(self, path: str | Path, settings: dict[str, Any]) -> Queue:
        # The backoff without its chance: always the whole wait.
        queue = Queue(path, **{"clock": self._clock, "random": lambda: 1.0, **settings})
        self._opened.append(queue)
        return queue

    def close(self) -> None:
        for queue in self._opened:
            queue.close()
