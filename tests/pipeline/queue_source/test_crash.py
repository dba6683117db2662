"""A stream from a queue to a queue that is killed again and again loses nothing and repeats nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from pointsman import Queue
from tests.pipeline.queue_source import copy_program

pytestmark = pytest.mark.spark

COUNT = 125
ROUNDS = int(os.environ.get("POINTSMAN_KILLS", "2"))
"""How often it is killed; more in the long form."""


def start(source: Path, target: Path) -> subprocess.Popen[bytes]:
    """The program, in a group of processes of its own."""
    command = [sys.executable, str(copy_program.__file__), str(source), str(target)]
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def stop(program: subprocess.Popen[bytes]) -> None:
    """Kills the driver, its Java and all."""
    os.killpg(program.pid, signal.SIGKILL)
    program.wait()


def test_killed_again_and_again(tmp_path: Path) -> None:
    """Every message arrives once, and is acknowledged once."""
    chance = random.Random(6)
    with Queue(tmp_path / "source.db") as source, Queue(tmp_path / "target.db") as target:
        source.put_many([(b"%d" % number, f"a.{number % 7}") for number in range(COUNT)])
        for number in range(ROUNDS):
            goal = COUNT * (number + 1) // (ROUNDS + 2)
            program = start(tmp_path / "source.db", tmp_path / "target.db")
            while target.unfinished < goal and program.poll() is None:
                time.sleep(0.01)
            time.sleep(chance.random() * 0.3)
            stop(program)
        program = start(tmp_path / "source.db", tmp_path / "target.db")
        try:
            assert program.wait(timeout=600) == 0
        except subprocess.TimeoutExpired:
            stop(program)
            raise
        bodies = Counter(message.body for message in target.messages(limit=10 * COUNT))
        assert bodies == Counter(b"%d" % number for number in range(COUNT))
        assert source.size("") == (0, 0, 0, 0, COUNT, 0)
    assert not (tmp_path / "target.db-staging").exists()
