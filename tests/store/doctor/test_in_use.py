"""A file is diagnosed while it is used, and nothing beside it is touched."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from pathlib import Path

from pointsman.store.doctor.diagnosing import diagnose
from pointsman.store.queue import Queue
from tests.store.doctor.files import copy, killed, queue_file

WRITER = """
import sys
from pointsman.store.queue import Queue
with Queue(sys.argv[1], durability="normal") as queue:
    queue.subscribe("audit", "#")
    print("ready", flush=True)
    for number in range(100_000):
        queue.put_many([(b"x" * 200, f"a.{number % 5}")] * 20)
        queue.ack_many(queue.pop_many(15))
        queue.ack_many(queue.pop_many(15, subscription="audit"))
"""


def test_another_process_may_write_meanwhile(tmp_path: Path) -> None:
    """Each look is at one moment of the queue, which is healthy at every moment."""
    path = tmp_path / "queue.db"
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout is not None
            writer.stdout.readline()
            seen = [diagnose(path) for _ in range(8)]
        finally:
            writer.kill()
    assert [each.findings for each in seen] == [()] * 8
    assert seen[-1].counts["messages"] > seen[0].counts["messages"]
    assert diagnose(path).healthy, "as the killed process left it"


def test_no_file_is_made_or_changed(tmp_path: Path) -> None:
    """Neither for a closed queue, nor for one that a killed process left, nor for a copy without its log."""
    closed = queue_file(tmp_path / "closed.db")
    left = killed(tmp_path)
    alone = copy(closed, tmp_path / "alone.db")
    Path(f"{alone}-mark").unlink()
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    for path in (closed, left, alone):
        assert diagnose(path).healthy
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


def test_progress_is_told_up_to_the_last_message(tmp_path: Path) -> None:
    """How many of how many, rising."""
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        queue.put_many([(b"x", "a")] * 5000)
    told: list[tuple[int, int]] = []
    diagnose(path, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert len(told) == 5
    assert {total for _, total in told} == {5000}


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Neither with the number of messages nor with their sizes."""
    peaks = []
    for count, size in ((3000, 10), (12_000, 10), (300, 100_000)):
        path = tmp_path / f"{count}.db"
        with Queue(path, durability="normal") as queue:
            queue.put_many((b"x" * size, "a") for _ in range(count))
        tracemalloc.start()
        try:
            assert diagnose(path).healthy
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    few, many, large = peaks
    assert many < 1.5 * few
    assert large < few + 2_000_000
