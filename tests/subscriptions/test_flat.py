"""Memory stays flat when one message matches everything: in a process that may have little more than it begins with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

COUNT = 200_000
LIMIT = 64
"""Megabytes of address space that may come on top."""
GROWTH = 24
"""Megabytes of memory that may come on top: pages of SQLite's caches, and what is held in memory of each step."""


def test_a_message_that_matches_all_subscriptions_takes_no_more_memory_than_one_that_matches_few(
    tmp_path: Path,
) -> None:
    """Each of an owner of its own, so that there are as many deliveries."""
    command = [
        sys.executable,
        "-m",
        "tests.subscriptions.flat_process",
        str(tmp_path / "queue.db"),
        str(COUNT),
        str(LIMIT),
    ]
    root = Path(__file__).parents[2]
    finished = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    matched, delivered, grown = finished.stdout.split()
    assert (int(matched), int(delivered)) == (COUNT, COUNT)
    assert float(grown) < GROWTH
