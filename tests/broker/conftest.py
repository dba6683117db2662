"""What holds for every test of the broker."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    """A broker that is closed has no thread any more."""
    yield
    left = [thread.name for thread in threading.enumerate() if thread.name.startswith("pointsman-writer")]
    assert left == []
