"""Registries for the tests: on a file and in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.store.queue import Queue
from pointsman.subscriptions.registry import Registry


@pytest.fixture(params=["file", "memory"])
def queue(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Queue]:
    """A new queue, on a file and in memory."""
    with Queue(tmp_path / "queue.db" if request.param == "file" else ":memory:") as opened:
        yield opened


@pytest.fixture
def registry(queue: Queue) -> Registry:
    """Its subscriptions."""
    return Registry(queue.store)
