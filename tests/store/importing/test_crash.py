"""An import that is killed: it goes on where it was, and nothing is lost or doubled."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from pointsman.store.migrate.run import import_database
from pointsman.store.queue import Queue
from tests.store.importing.databases import miniq, traces

ROWS = 20_000
KILLS = 5
IMPORT = """
import sys
from pointsman.store.migrate.run import import_database
from pointsman.store.queue import Queue

with Queue(sys.argv[1]) as queue:
    import_database(queue, sys.argv[2], progress=lambda done, total: print(done, flush=True))
"""

DYING = """
import os, sys
from pointsman.store.migrate import run
from pointsman.store.queue import Queue
from pointsman.store.store import Store

run.CHUNK = 10
left = int(sys.argv[3])
write = Store.write

def write_and_die(store, operation):
    global left
    result = write(store, operation)
    left -= 1
    if left == 0:
        os._exit(9)
    return result

Store.write = write_and_die
with Queue(sys.argv[1]) as queue:
    run.import_database(queue, sys.argv[2])
"""


def test_an_import_that_dies_right_after_a_commit_does_not_double(tmp_path: Path) -> None:
    """After each of its commits, first to last: messages and progress are in the same one."""
    source = miniq(tmp_path / "miniq.db", [(str(number), "a", "x", 0, 5) for number in range(30)])
    for commit in range(1, 5):
        path = tmp_path / f"queue-{commit}.db"
        died = subprocess.run([sys.executable, "-c", DYING, path, source, str(commit)], check=False)
        assert died.returncode == 9
        with Queue(path) as queue:
            report = import_database(queue, source)
            assert (report.already, report.read) == ((commit - 1) * 10, 40 - commit * 10)
            assert [message.id for message in queue.messages()] == [str(number) for number in range(30)]


def test_an_import_that_is_killed_again_and_again_takes_each_message_once(tmp_path: Path) -> None:
    """With -9, each time after some more chunks, at any instant within one; the source stays as it is."""
    source_folder = tmp_path / "source"
    source_folder.mkdir()
    statuses = (0, 0, 1, 2, 3, 4)
    rows = ((f"id-{n}", f"orders.{n % 50}", f"data {n}", statuses[n % 6], 1 + n % 10) for n in range(ROWS))
    source = miniq(source_folder / "miniq.db", rows)
    before = traces(source_folder)
    path = tmp_path / "queue.db"
    chance = random.Random()
    reached = killed = 0
    for _ in range(KILLS):
        command = [sys.executable, "-c", IMPORT, str(path), str(source)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert int(process.stdout.readline()) >= reached
            for _ in range(chance.randrange(3)):
                reached = int(process.stdout.readline() or ROWS)
            # Within the next chunk, which takes some milliseconds.
            try:
                process.wait(chance.random() * 0.03)
            except subprocess.TimeoutExpired:
                process.kill()
                killed += 1
    assert killed
    assert traces(source_folder) == before
    with Queue(path) as queue:
        report = import_database(queue, source)
        assert report.rows == report.already + report.read == ROWS
        assert report.already >= reached
        assert report.adds_up
        ids: list[str] = []
        after = 0
        while page := queue.messages(after):
            assert all(message.is_whole for message in page)
            ids += [message.id for message in page]
            after = page[-1].sequence
        sizes = queue.size()
    assert ids == [f"id-{number}" for number in range(ROWS)]
    expected = [sum(statuses[number % 6] in group for number in range(ROWS)) for group in ((0, 1), (2,), (3,), (4,))]
    assert [sizes.ready, sizes.done, sizes.dead, sizes.archived] == expected
