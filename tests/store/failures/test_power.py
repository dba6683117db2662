"""A loss of power cannot be tested by killing processes; what survives it is what was synced, and that is counted."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PUTS = 20
COUNTING = """
import sys
import apsw
from pointsman.store.queue import Queue

syncs = 0
usual = apsw.vfs_names()[0]

class File(apsw.VFSFile):
    def xSync(self, flags):
        global syncs
        syncs += 1
        super().xSync(flags)

class Counting(apsw.VFS):
    def __init__(self):
        super().__init__("counting", usual, makedefault=True)
    def xOpen(self, name, flags):
        return File(usual, name, flags)

vfs = Counting()
with Queue(sys.argv[1], durability=sys.argv[2]) as queue:
    queue.put("first")
    counts = []
    for number in range(int(sys.argv[3])):
        before = syncs
        queue.put(str(number))
        counts.append(syncs - before)
    print(*counts)
"""
PUTTING = """
import os, sys
from pointsman.store.queue import Queue
with Queue(sys.argv[1], durability=sys.argv[2]) as queue:
    queue.put("first")
    for number in range(int(sys.argv[3])):
        os.write(1, b"putting\\n")
        queue.put(str(number))
        os.write(1, b"put\\n")
    os._exit(0)
"""


def run(arguments: list[str], program: str, path: Path, durability: str) -> subprocess.CompletedProcess[str]:
    """Runs one of the programs above."""
    command = [*arguments, sys.executable, "-c", program, str(path), durability, str(PUTS)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)


@pytest.mark.parametrize(("durability", "least", "most"), [("full", 1, 3), ("normal", 0, 0)])
def test_each_put_is_synced_before_it_returns_or_none_is(
    tmp_path: Path, durability: str, least: int, most: int
) -> None:
    """Full durability syncs between any two puts, normal durability never; as SQLite asks for it."""
    counts = [int(text) for text in run([], COUNTING, tmp_path / "queue.db", durability).stdout.split()]
    assert len(counts) == PUTS
    assert all(least <= count <= most for count in counts), counts


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize(("durability", "synced"), [("full", True), ("normal", False)])
def test_the_kernel_is_asked_to_sync_before_a_put_returns(tmp_path: Path, durability: str, synced: bool) -> None:
    """The same, as the kernel sees it: between beginning a put and its return there is a sync of the log."""
    trace = tmp_path / "trace"
    watched = ["strace", "-f", "-y", "-o", str(trace), "-e", "trace=fsync,fdatasync,write"]
    run(watched, PUTTING, tmp_path / "queue.db", durability)
    calls = re.findall(
        r'(fdatasync|fsync)\(\d+<[^>]*queue\.db-wal>|write\(1<[^>]*>, "(putting|put)\\n"', trace.read_text()
    )
    text = " ".join("sync" if sync else word for sync, word in calls)
    puts = re.findall(r"putting((?: sync)*) put\b(?!ting)", text)
    assert len(puts) == PUTS, text
    assert all(bool(syncs) is synced for syncs in puts), text
