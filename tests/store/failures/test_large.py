"""A payload of a hundred megabytes."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from pointsman.errors import StoreError
from pointsman.store.queue import Queue
from tests.store.failures.processes import ended_well, fork

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
MEGABYTE = 1_000_000
SIZE = 100 * MEGABYTE


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("many", [0, 1])
def test_a_payload_over_the_limit_is_refused_without_a_copy_of_it(tmp_path: Path, many: int) -> None:
    """The memory that it costs is the caller's own, and nothing is written."""
    path = tmp_path / "queue.db"

    def work() -> None:
        with Queue(path) as queue:
            queue.put("small", "orders.books")
            payload = bytes(SIZE)
            before = peak()
            messages = [("small", "orders.books")] * many + [(payload, "orders.books")]
            with pytest.raises(StoreError) as caught:
                queue.put_many(messages) if many else queue.put(*messages[0])
            assert caught.value.code == "too-large"
            assert peak() - before < 20 * MEGABYTE
            assert [message.data for message in queue.messages()] == ["small"]
        assert path.stat().st_size < MEGABYTE

    assert ended_well(fork(work))


def test_with_a_higher_limit_a_payload_of_a_hundred_megabytes_comes_back_unchanged(tmp_path: Path) -> None:
    """It is stored, popped and acknowledged as any other."""
    with Queue(tmp_path / "queue.db", max_bytes=SIZE, durability="normal") as queue:
        payload = bytes(range(256)) * (SIZE // 256)
        queue.put(payload, "orders.books")
        message = queue.pop()
        assert message is not None
        assert message.data == payload
        assert queue.ack(message)
        assert queue.prune() == 1
