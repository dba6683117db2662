"""A process is killed at each of its writes in turn: before it, or in the middle of it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import apsw
import pytest

from pointsman.store.message import StoredMessage
from pointsman.store.queue import Queue
from tests.crash.consistency import inconsistencies
from tests.crash.journal import Journal, read_journal
from tests.store.failures.processes import fork

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
MESSAGES = 2


class Countdown:
    """Kills its own process at the write or sync of a number."""

    def __init__(self, number: int, moment: str) -> None:
        self._left = number
        self._moment = moment

    def passes(self, part: str) -> bool:
        """Called before and in the middle of each; whether the middle is the place to stop."""
        if part == "before":
            self._left -= 1
        if self._left == 0 and part == self._moment:
            if part == "middle":
                return True
            os.kill(os.getpid(), signal.SIGKILL)
        return False


def kill_at(number: int, moment: str) -> apsw.VFS:
    """From now on SQLite writes through this, which kills the process at the write of that number."""
    usual, countdown = apsw.vfs_names()[0], Countdown(number, moment)

    class File(apsw.VFSFile):
        def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802, as apsw calls it
            countdown.passes("before")
            if countdown.passes("middle"):
                super().xWrite(data[: len(data) // 2], offset)
                os.kill(os.getpid(), signal.SIGKILL)
            super().xWrite(data, offset)

        def xSync(self, flags: int) -> None:  # noqa: N802, as apsw calls it
            countdown.passes("before")
            if countdown.passes("middle"):
                os.kill(os.getpid(), signal.SIGKILL)
            super().xSync(flags)

    class Killing(apsw.VFS):
        def __init__(self) -> None:
            super().__init__("killing", usual, makedefault=True)

        def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:  # noqa: N802, as apsw calls it
            return File(usual, name, flags)

    return Killing()


def work(path: Path, number: int, moment: str) -> None:
    """Puts, pops and acknowledges, and writes down what it heard of."""
    journal = Journal(path.with_suffix(".journal"))
    vfs = kill_at(number, moment)
    with Queue(path) as queue:
        queue.subscribe("everything", "#")
        for each in range(MESSAGES):
            queue.put(f"{each}:{'x' * 3000}", f"orders.{each}")
            journal.write("put", each)
            message = queue.pop()
            assert message is not None
            journal.write("popped", int(message.body.split(b":")[0]))
            if queue.ack(message):
                journal.write("acked", each)
        queue.prune()
    del vfs


def was_killed(child: int) -> bool:
    """Waits for a child that is killed, or has come to its end."""
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL)
    return status != 0


def left(path: Path) -> tuple[set[int], set[int]]:
    """What can still be taken from the queue itself and from the subscription, after the leases are over."""
    with Queue(path, clock=lambda: 1e10, durability="normal") as queue:
        main = queue.pop_many(100)
        everything = queue.pop_many(100, subscription="everything") if queue.subscriptions() else []
    assert all(message.body.endswith(b":" + b"x" * 3000) for message in main + everything)
    return _numbers(main), _numbers(everything)


def _numbers(messages: list[StoredMessage]) -> set[int]:
    return {int(message.body.split(b":")[0]) for message in messages}


@pytest.mark.parametrize("moment", ["before", "middle"])
def test_killed_at_any_of_its_writes_a_process_leaves_a_whole_queue(tmp_path: Path, moment: str) -> None:
    """What it heard of is there, what it did not is there whole or not at all, and the next process goes on."""
    number, killed = 0, True
    while killed:
        number += 1
        path = tmp_path / f"{number}.db"
        killed = was_killed(fork(lambda path=path, number=number: work(path, number, moment)))  # type: ignore[misc]
        lines = list(read_journal(path.with_suffix(".journal")))
        put, popped, acked = (
            {line.fields[0] for line in lines if line.word == each} for each in ("put", "popped", "acked")
        )
        main, everything = left(path)
        assert not acked & main, number
        assert put <= everything, number
        # The last put may be there though nobody heard of it, and so may the last acknowledgement.
        assert len(everything - put) <= 1, number
        assert len(put - acked - main) <= 1, number
        assert put - acked - main <= popped, number
        assert inconsistencies(path, thorough=True) == [], number
    assert number > 20
